"""Features on a Dask cluster that are made anew in every product: those that the workers would hold."""

import logging
from itertools import product

import numpy as np
import pytest

import marginpath as mp

pytest.importorskip("dask")
pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from clusters import ALGORITHMS, close, sparse_chunks  # noqa: E402

from marginpath.gram import cluster as mc  # noqa: E402
from marginpath.kernels.functions import Linear  # noqa: E402

N = 9000  # rows in more than one batch


@pytest.fixture(scope="module")
def rows(client):
    X = np.random.default_rng(0).standard_normal((N, 3)).astype(np.float32)
    return mc.load_rows(da.from_array(X, chunks=((4000, 5000), (3,))), client)


@pytest.fixture(scope="module", params=[(0.0, False), (0.3, False), (0.3, True)], ids=str)
def pair(request, rows):
    """Features that are held, and such that are made."""
    constant, centred = request.param
    settings = {"seed": 1, "constant": constant, "centred": centred}
    return [
        mc.ClusterLandmarkGram(rows, mp.Gaussian(1.0), 40, stored=stored, **settings)
        for stored in (True, False)
    ]


def test_products_are_those_of_features_that_are_held(pair):
    held, made = pair
    rng = np.random.default_rng(1)
    for k, (dtype, tol) in product([(), (3,)], {np.float32: 1e-5, np.float64: 1e-12}.items()):
        V = rng.standard_normal((N, *k)).astype(dtype)
        W = rng.standard_normal((held.features.shape[1], *k)).astype(dtype)
        close(made.transposed_times(V), held.transposed_times(V), tol)
        close(made.times(W), held.times(W), tol)
        close(made @ V, held @ V, 2 * tol)
        assert (made @ V).dtype == dtype
    close(made.accurate_product(V), held.accurate_product(V), 1e-12)
    close(made.on_landmarks(V), held.on_landmarks(V), 1e-3)


def test_all_else_is_said_of_the_same_features(pair):
    held, made = pair
    assert made.features.shape == held.features.shape
    assert made.trace_error == pytest.approx(held.trace_error, abs=1e-7)
    close(made.diagonal, held.diagonal, 1e-6)
    close(made.features.diagonal(Linear()), held.features.diagonal(Linear()), 1e-6)
    some = np.array([8999, 0, 4100])
    close(made.features.take(some), held.features.take(some), 1e-5)
    close(made.rows(some[:2]), held.rows(some[:2]), 1e-5)
    close(made.roots, held.roots, 1e-6)
    weights = np.linspace(0, 2, N)
    for given in (None, weights):
        (a, b), (c, d) = (gram.norm_bounds(given) for gram in (made, held))
        assert max(a, c) <= min(b, d)


@pytest.mark.heavy
def test_a_path_and_its_proofs_are_the_same(pair):
    """Up to the rounding of products in float32."""
    held, made = pair
    y = np.where(np.random.default_rng(2).random(N) < 0.5, 1, -1)
    problems = [mp.Problem(gram, y) for gram in (held, made)]
    first, second = (mp.run(ALGORITHMS["Algorithm 2"], problem, 20).last for problem in problems)
    close(second.u, first.u, 1e-3)
    close(second.scores, first.scores, 1e-3)
    bounds = [mp.margin_bounds(problem, first.u) for problem in problems]
    np.testing.assert_allclose(bounds[1], bounds[0], rtol=1e-6)


def test_they_are_made_where_memory_has_no_room(rows, monkeypatch, caplog):
    monkeypatch.setattr("marginpath.gram.cluster.landmarks.memory", lambda workers: 1e5)
    caplog.set_level(logging.INFO, logger="marginpath")
    gram = mp.Gram.choose(rows, mp.Gaussian(1.0), landmarks=20)
    assert not gram.stored
    assert "over half of the workers' memory: they are made anew" in caplog.text
    monkeypatch.setattr("marginpath.gram.cluster.landmarks.memory", lambda workers: np.inf)
    assert mp.Gram.choose(rows, mp.Gaussian(1.0), landmarks=20).stored


def test_sparse_rows_have_features_too(client):
    X = np.random.default_rng(0).standard_normal((240, 60))
    rows = mc.load_rows(sparse_chunks(X), client)
    held, made = (
        mc.ClusterLandmarkGram(rows, mp.Gaussian(8.0), 30, stored=stored) for stored in (True, False)
    )
    V = np.random.default_rng(1).standard_normal((240, 2))
    close(made @ V, held @ V, 1e-12)
    close(made @ V.astype(np.float32), held @ V.astype(np.float32), 1e-5)
