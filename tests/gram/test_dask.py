"""The path on a Dask cluster: the same numbers as on one machine, whatever the chunks."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp

import marginpath as mp

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

from clusters import ALGORITHMS, D, N, chunked, close, make_cluster, sparse_chunks  # noqa: E402

from marginpath import ClusterSweeps  # noqa: E402
from marginpath.gram import cluster as mc  # noqa: E402
from marginpath.gram.cluster.loading import workers_of  # noqa: E402


@pytest.fixture(scope="module", params=["linear", "sparse", "stored kernel", "computed kernel"])
def pair(request, client, samples):
    """The Gram matrix on the cluster, and here."""
    X, _ = samples
    kernel = mp.Gaussian(5.0)
    here = mp.Gram.from_kernel(X, kernel) if "kernel" in request.param else mp.Gram.linear(X)
    if request.param == "linear":
        return mp.Gram.from_dask(chunked(X, (40, 20))), here
    if request.param == "sparse":
        return mp.Gram.from_dask(sparse_chunks(X)), here
    return mp.Gram.from_dask(chunked(X), kernel, stored=request.param == "stored kernel"), here


def test_the_protocol_says_the_same_as_here(pair, samples):
    there, here = pair
    X, Y = samples
    assert there.shape == here.shape
    assert there.dtype == here.dtype
    index = np.array([200, 3, 71])
    close(there @ Y, here @ Y)
    close(there @ Y[:, 0], here @ Y[:, 0])
    close(there.diagonal, here.diagonal)
    close(there.rows(index), here.rows(index))
    close(there.block(index), here.block(index))
    close(there.norm_bounds(), here.norm_bounds())
    close(there.cross(X[:5]) @ Y, here.cross(X[:5]) @ Y)


def test_the_certified_product_is_within_its_error(pair, samples):
    there, here = pair
    V = samples[1] * np.random.default_rng(1).random((N, 3))
    exact = here.accurate_product(V)
    found, error = there.product_with_error(V)
    assert np.all(np.abs(found - exact) <= 2 * np.sqrt(here.diagonal)[:, None] * error)
    assert np.all(error < 1e-12 * np.max(np.abs(exact)) * N)


def test_workers_are_known_at_any_moment(cluster):
    """A client forgets its workers whenever it looks after the scheduler; here it does so all the time."""
    often = dask.config.set({"distributed.client.scheduler-info-interval": "1ms"})
    with often, distributed.Client(cluster, set_as_default=False) as busy:
        assert {len(workers_of(busy)) for _ in range(300)} == {2}


def test_products_of_many_columns_do_not_mix(pair):
    """What is shared by all tasks is large here: it must not be taken for that of another product."""
    there, here = pair
    for seed in range(3):
        V = np.random.default_rng(seed).normal(size=(N, 250))
        close(there @ V, here @ V)
        close(there.cross(np.eye(D)[:9]) @ V, here.cross(np.eye(D)[:9]) @ V)


@pytest.mark.parametrize("solver", ALGORITHMS.values(), ids=ALGORITHMS)
def test_iterates_are_those_of_one_machine(pair, samples, solver):
    there, here = (mp.Problem(gram, samples[1]) for gram in pair)
    found, wanted = (mp.run(solver, p, 8, observe=["margin"], every=4) for p in (there, here))
    close(found.last.u, wanted.last.u)
    close(found.last.scores, wanted.last.scores)
    close(found["margin"], wanted["margin"])
    for end, other in zip(
        mp.margin_bounds(there, found.last.u), mp.margin_bounds(here, found.last.u), strict=True
    ):
        close(end, other)


def test_a_path_knows_its_samples_in_any_chunks(client, samples):
    X, Y = samples
    other = X.copy()
    other[137, 5] += 1e-9
    for kernel in (None, mp.Gaussian(3.0)):
        here = mp.Gram.linear(X) if kernel is None else mp.TiledGram(X, kernel)
        path = mp.run(ALGORITHMS["Algorithm 1"], mp.Problem(here, Y), 3)
        for rows in (chunked(X), da.from_array(X, chunks=(64, -1))):
            assert mp.resume(path, mp.Problem(mp.Gram.from_dask(rows, kernel), Y), 1).last.t == 4
        with pytest.raises(ValueError, match="another problem: the samples"):
            mp.resume(path, mp.Problem(mp.Gram.from_dask(chunked(other), kernel), Y), 1)


def test_stopping_resuming_and_cross_validation_work_as_here(client, samples):
    X, Y = samples
    solver, y = ALGORITHMS["Algorithm 2"], Y[:, 1]
    there, here = mp.Gram.from_dask(chunked(X)), mp.Gram.linear(X)
    problem = mp.Problem(there, y)
    whole = mp.run(solver, mp.Problem(here, y), 6)
    close(mp.resume(mp.run(solver, problem, 3), problem, 3).last.u, whole.last.u)
    stopped = [mp.run(solver, mp.Problem(gram, Y), 6, stop=even_columns).stop_steps for gram in (there, here)]
    assert np.array_equal(*stopped)
    assert stopped[0].tolist() == [1, -1, 3]
    found, wanted = (mp.cross_validate_path(solver, gram, y, steps=6) for gram in (there, here))
    assert found.step == wanted.step
    close(found.u, wanted.u)
    close(found.split_scores, wanted.split_scores)


def even_columns(problem, state, path):
    """Stop column 0 at once and column 2 after three steps."""
    return np.array([True, False, state.t >= 3])


def test_float32_stays_float32_and_can_be_asked_for(client, samples):
    X, Y = samples
    single = mp.Gram.from_dask(chunked(X.astype(np.float32)))
    assert single.dtype == np.float32
    assert (single @ Y.astype(np.float32)).dtype == np.float32
    held = mp.Gram.from_dask(chunked(X), mp.Gaussian(5.0), dtype="float32")
    assert held.dtype == np.float32
    close(held @ Y.astype(np.float32), mp.Gram.from_kernel(X, mp.Gaussian(5.0)) @ Y, tol=1e-5)


def test_chunks_of_different_dtype_and_kind_become_alike(client, samples):
    X, Y = samples
    integers = np.round(X[:100] * 3).astype(np.int32)
    mixed = da.concatenate(
        [da.from_array(integers, chunks=50), da.from_array(X[100:].astype(np.float32), chunks=70)]
    )
    wanted = np.concatenate([integers, X[100:].astype(np.float32)]).astype(np.float64)
    close(mp.Gram.from_dask(mixed) @ Y, mp.Gram.linear(wanted) @ Y)
    half = da.concatenate([chunked(X)[:70], chunked(X)[70:].map_blocks(sp.csr_array)])
    close(mp.Gram.from_dask(half) @ Y, mp.Gram.linear(X) @ Y)


@pytest.mark.heavy
def test_unknown_chunk_sizes_and_dataframes(client, samples):
    pandas = pytest.importorskip("pandas")
    X, Y = samples
    kept = X[:, 0] > -0.5
    unknown = chunked(X)
    unknown = unknown[unknown[:, 0] > -0.5]
    assert np.isnan(unknown.shape[0])
    close(mp.Gram.from_dask(unknown) @ Y[kept], mp.Gram.linear(X[kept]) @ Y[kept])
    frame = dd.from_pandas(pandas.DataFrame(X), npartitions=3)
    close(mp.Gram.from_dask(frame) @ Y, mp.Gram.linear(X) @ Y)
    assert np.array_equal(mc.collected(dd.from_pandas(pandas.Series(Y[:, 0]), npartitions=2)), Y[:, 0])


def test_what_is_wrong_is_said(client, samples):
    X, Y = samples
    spoiled = X.copy()
    spoiled[100, 3] = np.nan
    with pytest.raises(ValueError, match=r"chunk 3.*NaN"):
        mp.Gram.from_dask(chunked(spoiled))
    with pytest.raises(ValueError, match="empty"):
        mp.Gram.from_dask(da.zeros((0, 3)))
    with pytest.raises(ValueError, match="2 are needed"):
        mp.Gram.from_dask(da.zeros(5))
    with pytest.raises(TypeError, match=r"Gram\.linear"):
        mp.Gram.from_dask(X)
    with pytest.raises(TypeError, match="stored"):
        mp.Gram.from_dask(chunked(X), stored=True)
    with pytest.raises(TypeError, match=r"Gram\.from_dask"):
        mp.run(ClusterSweeps(), mp.Problem(mp.Gram.linear(X), Y), 1)
    gram = mp.Gram.from_dask(chunked(X))
    with pytest.raises(ValueError, match="60 features"):
        gram.cross(chunked(X)[:, :5])
    with pytest.raises(ValueError, match="starts at u = 0"):
        mp.run(ClusterSweeps(), mp.Problem(gram, Y), 1, start=Y * 0)
    for wrong in ({"ratio": 1.0}, {"rounds": 0}, {"tol": 1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ClusterSweeps(**wrong)
    with pytest.raises(ValueError, match="returned shape"):
        mp.Gram.from_dask(chunked(X), lambda X, Z: np.ones((1, 1))) @ Y


def test_without_dask_or_a_client_the_error_says_so(monkeypatch):
    def none():
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "default_client", none)
    with pytest.raises(ValueError, match=r"distributed\.Client"):
        mp.Gram.from_dask(da.zeros((4, 2)))
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"marginpath\[dask\]"):
        mp.Gram.from_dask(da.zeros((4, 2)))


@pytest.mark.heavy
def test_four_workers_say_the_same(samples):
    X, Y = samples
    with make_cluster(4) as made, distributed.Client(made):
        for kernel in (None, mp.Gaussian(5.0)):
            here = mp.Gram.linear(X) if kernel is None else mp.Gram.from_kernel(X, kernel)
            for there in (chunked(X), sparse_chunks(X)):
                gram = mp.Gram.from_dask(there, kernel)
                for solver in ALGORITHMS.values():
                    found, wanted = (mp.run(solver, mp.Problem(g, Y), 30).last.u for g in (gram, here))
                    close(found, wanted)


@pytest.mark.heavy
@pytest.mark.parametrize(("made", "constant"), [(chunked, 0.3), (sparse_chunks, 0.0)])
def test_landmarks_there_are_those_of_one_machine(client, made, constant):
    X = np.random.default_rng(0).standard_normal((N, D))
    settings = {"landmarks": 30, "constant": constant, "seed": 1}
    here = mp.Gram.choose(X, mp.Gaussian(8.0), **settings)
    there = mp.Gram.choose(mc.load_rows(made(X), client), mp.Gaussian(8.0), **settings)
    V = np.random.default_rng(1).standard_normal((N, 2)).astype(np.float32)
    np.testing.assert_array_equal(there.chosen, here.chosen)
    assert there.trace_error == pytest.approx(here.trace_error, abs=1e-5)
    close(there @ V, here @ V, 1e-4)
    close(there.on_landmarks(V), here.on_landmarks(V), 1e-3)
    close(there.cross(X[:7]) @ V, here.cross(X[:7]) @ V, 1e-4)
    close((there.cross(made(X)) @ V).compute(), here.cross(X) @ V, 1e-4)
