"""One face of rows: the same answers from NumPy, CSR and the array API, lazy ones from Dask."""

import array_api_strict
import numpy as np
import pytest
import scipy.sparse as sp

import marginpath as mp
from marginpath.arrays import to_numpy
from marginpath.gram.samples import LazyRows, rows_of, samples_of

HOMES = {
    "NumPy": np.asarray,
    "CSR": sp.csr_array,
    "CSR matrix": sp.csr_matrix,
    "array API": lambda X: array_api_strict.asarray(X),
}


@pytest.fixture
def X(rng):
    return np.where(rng.random((30, 4)) < 0.6, rng.standard_normal((30, 4)), 0.0)


def here(rows):
    return rows.toarray() if sp.issparse(rows) else to_numpy(rows)


@pytest.mark.parametrize("home", HOMES)
def test_every_home_gives_the_same_answers(X, home, rng):
    samples, index, weight = samples_of(HOMES[home](X)), np.array([3, 0, 7]), rng.integers(0, 4, 30)
    np.testing.assert_array_equal(here(samples.take(index)), X[index])
    compared = samples.to_compare(index)
    assert isinstance(compared, np.ndarray) or sp.issparse(compared)
    np.testing.assert_array_equal(here(compared), X[index])
    np.testing.assert_array_equal(samples.codes(), samples_of(X).codes())
    assert samples.variance() == pytest.approx(X.var(), rel=1e-12)
    assert samples.variance(weight) == pytest.approx(np.repeat(X, weight, axis=0).var(), rel=1e-12)
    assert samples.sweeps == (() if home == "array API" else ("samples", "features"))


@pytest.mark.parametrize("home", HOMES)
def test_products_with_new_rows(X, home, rng):
    moved = HOMES["array API" if home == "array API" else "NumPy"]
    rows, W, V = rows_of(HOMES[home](X)), rng.standard_normal((4, 2)), rng.standard_normal((9, 2))
    np.testing.assert_allclose(here(rows.product(moved(W))), X @ W, atol=1e-12)
    found = rows.kernel_product(HOMES[home](X[:9]), mp.Gaussian(2.0), moved(V))
    np.testing.assert_allclose(here(found), mp.Gaussian(2.0)(X, X[:9]) @ V, atol=1e-12)


def test_rows_of_dask_are_lazy(X, rng):
    da = pytest.importorskip("dask.array")
    chunks = ((20, 0, 10), (4,))
    rows, W, V = rows_of(da.from_array(X, chunks=chunks)), rng.standard_normal((4, 2)), X[:9, :2]
    assert isinstance(rows, LazyRows)
    values = rows.product(W)
    assert values.chunks == (chunks[0], (2,))
    np.testing.assert_allclose(values.compute(), X @ W, atol=1e-12)
    found = rows.kernel_product(X[:9], mp.Gaussian(2.0), V)
    np.testing.assert_allclose(found.compute(), mp.Gaussian(2.0)(X, X[:9]) @ V, atol=1e-12)
    words = rows_of(values).map(lambda v: np.where(v[:, 0] > 0, "up", "down"), None, np.dtype("<U4"))
    assert words.dtype == np.dtype("<U4")
    assert set(words.compute()) == {"up", "down"}


def test_large_arrays_have_their_variance_by_parts(X, rng, monkeypatch):
    monkeypatch.setattr("marginpath.gram.samples._LARGE", 25)
    weight, far = rng.integers(0, 4, 30), X.astype(np.float32) + 1000
    assert samples_of(X).variance() == pytest.approx(X.var(), rel=1e-12)
    assert samples_of(X).variance(weight) == pytest.approx(np.repeat(X, weight, axis=0).var(), rel=1e-12)
    assert samples_of(far).variance() == pytest.approx(far.astype(np.float64).var(), rel=1e-5)
