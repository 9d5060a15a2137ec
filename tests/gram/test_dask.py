"""The path on a Dask cluster: the same numbers as on one machine, whatever the chunks, whoever dies."""

import contextlib
import gc
import logging
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

import marginpath as mp

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

from marginpath import Checkpoint, ClusterSweeps  # noqa: E402
from marginpath.gram import cluster as mc  # noqa: E402
from marginpath.gram.cluster.loading import workers_of  # noqa: E402

ALGORITHMS = {
    "Algorithm 1": mp.DualDescent(mp.PowerDecay(1.0)),
    "Algorithm 2": mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3)),
}
CHUNKS = (70, 30, 0, 90, 50)  # ragged, one of them empty
N, D = sum(CHUNKS), 60


def make_cluster(workers=2, **settings):
    """Processes of one thread; a killed one may take its time to come back on a busy machine."""
    dask.config.set({"distributed.deploy.lost-worker-timeout": "300s"})
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
        **settings,
    )


@pytest.fixture(scope="module")
def cluster():
    with make_cluster() as made:
        yield made


@pytest.fixture(scope="module")
def client(cluster):
    with distributed.Client(cluster) as made:
        yield made


@pytest.fixture(scope="module")
def samples():
    """Labels follow three directions; two classes are missing from the first chunk of column 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.5)
    Y = np.where(X[:, :3] + 0.5 * rng.normal(size=(N, 3)) > 0, 1.0, -1.0)
    Y[: CHUNKS[0], 0] = 1.0
    return X, Y


def chunked(X, columns=(D,)):
    return da.from_array(X, chunks=(CHUNKS, columns))


def sparse_chunks(X):
    return chunked(X).map_blocks(sp.csr_array)


def close(found, wanted, tol=1e-10):
    np.testing.assert_allclose(found, wanted, rtol=tol, atol=tol * max(1, np.max(np.abs(wanted))))


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


@pytest.mark.parametrize("make", [chunked, sparse_chunks], ids=["dense", "sparse"])
def test_sweeps_reach_the_solution_with_a_certificate(client, samples, make):
    X, Y = samples
    problem = mp.Problem(mp.Gram.from_dask(make(X)), Y, sample_weight=1 + np.arange(N) % 2)
    here = mp.Problem(mp.Gram.linear(X), Y, sample_weight=1 + np.arange(N) % 2)
    solver = ClusterSweeps(mp.Constant(100.0), rounds=8, refresh=2)
    path = mp.run(solver, problem, 4, observe={"gap": mp.duality_gap, "objective": dual_objective})
    objective = path["objective"][1:]
    assert np.all(np.diff(objective, axis=0) <= 1e-13 * np.abs(objective[:-1]))  # but for rounding
    assert np.all(path["gap"][-1] <= 1e-3 * -path["objective"][-1])
    close(path.last.scores, here.scores(path.last.u))
    assert np.any(path.last.u == 0)
    assert np.any(path.last.u == -problem.box(path.last.bound))
    close(mp.duality_gap(problem, path.last), mp.duality_gap(here, path.last))


def dual_objective(problem, state):
    return problem.dual_objective(state.u, state.scores)


def test_sweeps_keep_their_field_while_the_bound_rises(client, samples):
    X, Y = samples
    problem = mp.Problem(mp.Gram.from_dask(chunked(X)), Y)
    last = mp.run(ClusterSweeps(rounds=2), problem, 8).last
    at_bound = np.where(last.u == -last.bound, 1.0, 0.0)
    close(last.field, X.T @ (Y * last.u))
    close(last.aggregate, X.T @ (Y * at_bound))
    again = mp.run(ClusterSweeps(rounds=2), problem, 8).last
    assert np.array_equal(last.u, again.u)


def test_a_round_never_raises_the_dual_objective(client, samples):
    """Also where all shards hold the same samples, the worst case for adding up their steps."""
    X = np.tile(samples[0][:30], (8, 1))
    y = np.tile(samples[1][:30, 1], 8)
    problem = mp.Problem(mp.Gram.from_dask(da.from_array(X, chunks=(30, D))), y)
    path = mp.run(ClusterSweeps(mp.Constant(0.1), rounds=1), problem, 10, observe={"d": dual_objective})
    assert np.all(np.diff(path["d"][1:]) < 0)  # the first step raised the bound


@pytest.mark.parametrize("kernel", [None, mp.Gaussian(5.0)], ids=["linear", "kernel"])
def test_decisions_on_dask_arrays_are_lazy_and_chunked(client, samples, kernel):
    X, Y = samples
    problem = mp.Problem(mp.Gram.from_dask(chunked(X), kernel), Y)
    u = -np.random.default_rng(2).random((N, 3))
    decision = problem.decision(u, chunked(X))
    assert isinstance(decision, da.Array)
    assert decision.chunks == (CHUNKS, (3,))
    close(decision.compute(), problem.decision(u, X))
    one = mp.Problem(problem.gram, Y[:, 0]).decision(u[:, 0], chunked(X))
    close(one.compute(), problem.decision(u, X)[:, 0])


def test_nystroem_features_feed_the_linear_path(client, samples):
    from sklearn.kernel_approximation import Nystroem

    X, Y = samples
    unknown = chunked(X)[chunked(X)[:, 0] > -10]
    fitted = mc.fit_on_sample(Nystroem(gamma=0.02, n_components=N, random_state=0), unknown, rows=N)
    features = mc.map_rows(fitted.transform, unknown, columns=N)
    gram = mp.Gram.from_dask(features)
    exact = mp.Gram.from_kernel(X, mp.Gaussian(sigma=5.0))
    close(gram @ Y, exact @ Y, tol=1e-6)  # with all the samples as components it is the kernel itself
    small = mc.fit_on_sample(Nystroem(n_components=5, random_state=0), sparse_chunks(X), rows=40)
    assert mc.map_rows(small.transform, sparse_chunks(X), columns=5).compute().shape == (N, 5)


def test_what_an_estimator_needs(client, samples):
    X, Y = samples
    rows, weight = mc.load_rows(chunked(X)), np.random.default_rng(3).integers(0, 4, N)
    sparse = mc.load_rows(sparse_chunks(X))
    close(rows[10:13], X[10:13])
    close(rows.T @ Y, X.T @ Y)
    for kernel in (None, mp.Gaussian(5.0)):
        here = mp.Gram.from_kernel(X, kernel or mp.Linear())
        close(mc.gram_of(rows, kernel, constant=0.25) @ Y, here @ Y + 0.25 * Y.sum(axis=0))
    close(mc.gram_of(sparse, constant=4.0) @ Y, X @ (X.T @ Y) + 4 * Y.sum(axis=0))
    for one in (rows, sparse):
        close(one.variance(), X.var())
        close(one.variance(weight), np.repeat(X, weight, axis=0).var())


def known_tasks(client, at_most=np.inf):
    """Return how many tasks the scheduler knows of, once they are few enough, or after ten seconds."""
    gc.collect()
    for _ in range(200):
        number = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
        if number <= at_most:
            break
        time.sleep(0.05)
    return number


def test_everything_is_released(client, samples):
    X, Y = samples
    before = known_tasks(client)
    problem = mp.Problem(mp.Gram.from_dask(chunked(X)), Y)
    kernel = mp.Problem(mp.Gram.from_dask(chunked(X), mp.Gaussian(5.0)), Y)
    mp.run(ClusterSweeps(), problem, 1)
    held = known_tasks(client)
    kernel.gram @ Y
    problem.gram @ Y
    assert known_tasks(client, held) <= held
    del problem, kernel
    assert known_tasks(client, before) <= before


def test_a_checkpoint_survives_the_scheduler(samples, tmp_path):
    X, Y = samples
    file, solver = tmp_path / "run.npz", ALGORITHMS["Algorithm 2"]
    wanted = mp.run(solver, mp.Problem(mp.Gram.linear(X), Y), 9).last.u

    def lose(problem, state, path):
        if state.t == 5:
            doomed.close()

    with make_cluster(1, processes=False) as doomed, distributed.Client(doomed) as client:
        problem = mp.Problem(mp.Gram.from_dask(chunked(X), client=client), Y)
        with pytest.raises(mc.SchedulerLost, match="resume"):
            mp.run(solver, problem, 9, callbacks=[Checkpoint(file, seconds=0), lose])
        with pytest.raises(mc.SchedulerLost):
            problem.gram @ Y
    path = mp.Path.load(file)
    assert path.last.t == 5
    with make_cluster(1, processes=False) as fresh, distributed.Client(fresh) as client:
        problem = mp.Problem(mp.Gram.from_dask(chunked(X), client=client), Y)
        close(mp.resume(path, problem, 4).last.u, wanted)


def test_a_checkpoint_is_not_written_before_its_time(samples, tmp_path):
    X, Y = samples
    saving = Checkpoint(tmp_path / "run.npz", seconds=3600)
    mp.run(ALGORITHMS["Algorithm 1"], mp.Problem(mp.Gram.linear(X), Y), 3, callbacks=[saving])
    assert not (tmp_path / "run.npz").exists()


def kill_one(cluster, which):
    os.kill(sorted(nanny.pid for nanny in cluster.workers.values() if nanny.pid)[which], signal.SIGKILL)


@pytest.mark.parametrize("kernel", [None, mp.Gaussian(5.0)], ids=["linear", "kernel"])
def test_a_killed_worker_changes_nothing(cluster, client, samples, kernel):
    X, Y = samples
    client.wait_for_workers(2, timeout=300)
    here = mp.Gram.linear(X) if kernel is None else mp.Gram.from_kernel(X, kernel)
    problem = mp.Problem(mp.Gram.from_dask(chunked(X), kernel), Y)
    path = mp.run(
        ALGORITHMS["Algorithm 2"],
        problem,
        7,
        callbacks=[lambda problem, state, path: kill_one(cluster, 0) if state.t == 4 else None],
    )
    close(path.last.u, mp.run(ALGORITHMS["Algorithm 2"], mp.Problem(here, Y), 7).last.u)


def workers(number, gigabytes):
    return {str(j): {"nthreads": 1, "memory_limit": int(gigabytes * 1e9)} for j in range(number)}


def test_the_kernel_matrix_is_held_where_it_fits():
    from marginpath.gram.cluster.kernel import _block_rows, _fits

    samples = mc.Rows(None, [], [], (20_000, 100), np.float64)  # K takes 3.2 GB, X 16 MB
    assert _fits(samples, workers(4, 2.0))
    assert not _fits(samples, workers(2, 2.0))
    assert _fits(samples, workers(2, 0))  # no limit
    with pytest.raises(ValueError, match="Nystroem"):
        _fits(samples, workers(100, 0.05))
    assert _block_rows(20_000, np.float64, workers(4, 100)) == 5000
    assert _block_rows(20_000, np.float64, workers(4, 2.0)) == 390  # 62 MB


def test_chunks_are_grouped_by_thread_and_by_size():
    from marginpath.gram.cluster.loading import _Block, _packed

    known = [_Block((1, 1), "float64", False, 10)] * 8
    assert [len(run) for run in _packed(list(range(8)), known, 80)] == [8]
    assert [len(run) for run in _packed(list(range(8)), known, 40)] == [4, 4]
    assert [len(run) for run in _packed(list(range(8)), known, 1)] == [1] * 8


def test_the_prices_of_a_step_are_those_that_were_paid():
    from marginpath_lab.bench.dask_cost import StepCost, bytes_a_step, conclude, tasks_a_step
    from marginpath_lab.bench.measure import Entry

    paid = StepCost(fixed=0.01, task=0.001, byte=2e-9, entry=1e-9)

    def entry(task, contestant, n, d, seconds):
        name = f"{task}: n = {n:,}, d = {d:,}"
        return Entry(name, contestant, (1.0,), facts={"ms a step": 1000 * seconds})

    def on_cluster(task, n, d):
        return entry(task, "cluster", n, d, paid.seconds(n, d, workers=2))

    entries = [
        on_cluster("a step, 16 chunks, 2 workers", 10, 1),
        entry("a step, 16 chunks, 2 workers", "one thread", 10, 1, 0.001),
        Entry("empty tasks: 100", "cluster", (0.1,)),
        on_cluster("moving", 1_000_000, 1),
        on_cluster("passes over X", 100_000, 100),
        entry("passes over X", "one thread", 100_000, 100, 1e7 * paid.entry),
    ]
    found = conclude(entries)
    assert found["a task, ms"] == pytest.approx(1.0)
    assert found["fixed, ms"] == pytest.approx(10.0, rel=0.05)
    assert found["moving, MB/s"] == pytest.approx(500.0, rel=0.05)
    assert found["passes over X: predicted, ms"] == pytest.approx(
        found["passes over X: measured, ms"], rel=0.05
    )
    assert found["overhead of a step, 16 chunks, 2 workers, ms (wanted: under 50)"] == pytest.approx(
        13, abs=0.1
    )
    assert found["predicted for n = 10⁷, d = 1,000, 10 workers, s a step"] == pytest.approx(1.35, rel=0.05)
    assert (tasks_a_step(4), tasks_a_step(64), tasks_a_step(100)) == (8, 136, 215)
    assert bytes_a_step(10, 3, 2) == 8 * (20 + 12)


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
@pytest.mark.parametrize("kernel", [None, mp.Gaussian(5.0)], ids=["linear", "kernel"])
def test_twenty_killed_workers_change_nothing(samples, kernel):
    """Ten for each kernel, at any time of a run, also in the middle of a step."""
    X, Y = samples
    rng, solver = np.random.default_rng(0), ALGORITHMS["Algorithm 2"]
    here = mp.Gram.linear(X) if kernel is None else mp.Gram.from_kernel(X, kernel)
    wanted = mp.run(solver, mp.Problem(here, Y), 30).last.u
    with make_cluster() as made, distributed.Client(made) as client:
        problem = mp.Problem(mp.Gram.from_dask(chunked(X), kernel), Y)
        problem.norm_bounds()
        for _ in range(10):
            client.wait_for_workers(2, timeout=300)
            killer = threading.Timer(rng.uniform(0.1, 1.5), kill_one, [made, rng.integers(2)])
            killer.start()
            found = mp.run(solver, problem, 30).last.u
            killer.join()
            close(found, wanted)


@pytest.mark.heavy
def test_nothing_grows_over_a_thousand_steps(samples):
    X, Y = samples
    with make_cluster() as made, distributed.Client(made) as client:
        problem = mp.Problem(mp.Gram.from_dask(chunked(X)), Y)
        path = mp.run(ALGORITHMS["Algorithm 2"], problem, 200, keep=0)
        tasks, futures, memory = known_tasks(client), len(client.futures), worker_memory(client)
        mp.resume(path, problem, 1000)
        assert known_tasks(client, tasks) <= tasks
        assert len(client.futures) == futures
        assert worker_memory(client) <= memory + 20e6


def worker_memory(client):
    import psutil

    return max(client.run(lambda: psutil.Process().memory_info().rss).values())


@pytest.mark.heavy
def test_sweeps_are_as_accurate_as_on_one_machine():
    from marginpath_lab.bench import data as sets
    from marginpath_lab.bench.dask import relative_gap

    data = sets.mnist(3, 5)
    X, X_test = (sets.with_constant(sp.csr_array(x)) for x in (data.X, data.X_test))
    here = mp.Problem(mp.Gram.linear(X), data.y)
    lazy = da.from_array(X.toarray(), chunks=(3000, X.shape[1])).map_blocks(sp.csr_array)
    errors = {}
    with make_cluster(4) as made, distributed.Client(made):
        there = mp.Problem(mp.Gram.from_dask(lazy), data.y)
        for solver, problem in ((mp.CoordinateDescent(sweeps=4), here), (ClusterSweeps(), there)):
            last = mp.run(solver, problem, 16, keep=0).last
            errors[type(solver)] = np.mean(np.sign(here.decision(last.u, X_test)) != data.y_test)
            assert relative_gap(problem, last) < 0.02
    assert abs(errors[ClusterSweeps] - errors[mp.CoordinateDescent]) <= 0.002


@pytest.mark.heavy
def test_data_of_three_times_a_workers_memory():
    from marginpath_lab.bench import dask as bench

    with bench.workers(4, quick=False, memory=bench.MEMORY) as client:
        before = client.run(os.getpid)
        X, y = bench.shifted_digits(client, bench.COPIES)
        assert X.nbytes > 3 * bench.MEMORY
        problem = mp.Problem(mp.Gram.from_dask(X), y)
        path = mp.run(ClusterSweeps(rounds=1), problem, 4, observe={"gap": bench.relative_gap}, keep=0)
        assert path["gap"][-1] < 0.1
        assert bench.paused(client) == 0
        assert client.run(os.getpid) == before


@pytest.mark.heavy
def test_a_killed_scheduler_is_one_clear_error(samples, tmp_path):
    X, Y = samples
    address = tmp_path / "scheduler.json"
    common = ["--scheduler-file", str(address), "--no-dashboard"]
    commands = {"scheduler": ["--port", "0"], "worker": ["--nthreads", "1", "--no-nanny"]}
    started = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{name}", *common, *extra],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for name, extra in commands.items()
    ]
    try:
        while not address.exists():
            time.sleep(0.1)
        client = distributed.Client(scheduler_file=str(address), set_as_default=False)
        client.wait_for_workers(1, timeout=120)
        problem = mp.Problem(mp.Gram.from_dask(chunked(X), client=client), Y)
        saving = Checkpoint(tmp_path / "run.npz", seconds=0)

        def lose(problem, state, path):
            if state.t == 3:
                started[0].kill()

        with pytest.raises(mc.SchedulerLost, match="resume"):
            mp.run(ALGORITHMS["Algorithm 1"], problem, 9, callbacks=[saving, lose])
        assert mp.Path.load(tmp_path / "run.npz").last.t == 3
    finally:
        for process in started:
            process.kill()
            process.wait()
        with contextlib.suppress(Exception):
            client.close(timeout=1)
