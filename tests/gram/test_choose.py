"""The one place that decides where a Gram matrix lives, and what a Gram matrix says of itself to solvers."""

import array_api_strict
import numpy as np
import pytest
import scipy.sparse as sp

import marginpath as mp
from marginpath.gram import choose as placement
from marginpath.gram.choose import diagonal_of, fits
from marginpath.gram.cluster import Rows
from marginpath.gram.device import DeviceTiledGram
from marginpath.gram.linear import LinearGram

KERNEL = mp.Gaussian(1.0)
ROWS = Rows(None, [], [], (3, 2), np.float64)  # what is asked of it needs no cluster


def strict(x):
    return array_api_strict.asarray(np.asarray(x))


def dense(gram):
    return np.asarray(gram @ gram.xp.eye(gram.shape[0], dtype=gram.dtype))


@pytest.mark.parametrize("asarray", [np.asarray, sp.csr_array, sp.csr_matrix, strict])
def test_a_linear_kernel_is_kept_as_its_samples(asarray, rng):
    X = rng.standard_normal((9, 3))
    gram = mp.Gram.choose(asarray(X), "linear", constant=4.0, memory=1)
    assert type(gram) is LinearGram
    assert gram.features.shape == (9, 4)
    np.testing.assert_allclose(dense(gram), X @ X.T + 4)
    assert mp.Gram.choose(asarray(X), "linear").features.shape == (9, 3)


@pytest.mark.parametrize("asarray", [np.asarray, strict])
def test_a_matrix_is_taken_as_it_is(asarray, rng):
    X = rng.standard_normal((9, 3))
    K = KERNEL(X, X)
    np.testing.assert_allclose(dense(mp.Gram.choose(asarray(K), None, constant=0.5)), K + 0.5)
    with pytest.raises(ValueError, match=r"A precomputed kernel matrix is square, but X has shape \(9, 3\)"):
        mp.Gram.choose(asarray(X), None)


@pytest.mark.parametrize(
    ("asarray", "kernel"),
    [
        (np.asarray, KERNEL),
        (sp.csr_array, KERNEL),
        (strict, KERNEL),
        (np.asarray, lambda X, Z: X @ Z.T + 1.0),
        (strict, lambda X, Z: X @ Z.T + 1.0),
    ],
)
def test_kernel_values_are_stored_where_they_fit(asarray, kernel, rng):
    X = rng.standard_normal((10, 3))
    stored = mp.Gram.choose(asarray(X), kernel, constant=2.0, memory=800)
    tiled = mp.Gram.choose(asarray(X), kernel, constant=2.0, memory=799)
    assert (type(stored).__name__, type(tiled).__name__) == ("DenseGram", "TiledGram")
    assert tiled.cache_bytes == 799
    for gram in (stored, tiled):
        np.testing.assert_allclose(dense(gram), kernel(X, X) + 2)


def test_what_is_asked_for_is_no_more_than_what_is_free(rng, monkeypatch):
    X = rng.standard_normal((10, 3))
    assert fits(X, memory=1600)
    assert fits(X, 2, memory=1600)
    assert not fits(X, 2, memory=1599)
    monkeypatch.setattr(placement, "available_memory", lambda: 1000)
    assert fits(X, memory=1e9)
    assert not fits(X, 2, memory=1e9)
    monkeypatch.setattr(placement, "available_memory", lambda: 999)
    assert type(mp.Gram.choose(X, KERNEL, memory=1e9)) is mp.TiledGram


def test_a_precision_that_there_is_none_of_is_refused(rng):
    X = rng.standard_normal((3, 3))
    with pytest.raises(ValueError, match="precision='tf32' is for torch tensors on a GPU, and X is a nd"):
        fits(X, precision="tf32")
    with pytest.raises(ValueError, match=r"precision='tf32' is for torch tensors .* X is a csr_array"):
        mp.Gram.choose(sp.csr_array(X), KERNEL, precision="tf32")
    for kernel, what in (("linear", "a linear kernel"), (None, "a precomputed matrix")):
        with pytest.raises(ValueError, match=f"kernel values that are computed, and {what} has none"):
            mp.Gram.choose(X, kernel, precision="float32")
    with pytest.raises(ValueError, match=r"workers of a cluster compute in the precision of X.*'tf32'"):
        mp.Gram.choose(ROWS, KERNEL, precision="tf32")


def test_a_matrix_is_not_on_a_cluster():
    for ask in (lambda: mp.Gram.choose(ROWS, None), lambda: diagonal_of(ROWS, None)):
        with pytest.raises(ValueError, match="stays on one machine"):
            ask()


@pytest.mark.heavy
def test_tiles_keep_their_precision(rng):
    torch = pytest.importorskip("torch")
    X = torch.asarray(rng.standard_normal((10, 3)))
    assert type(mp.Gram.choose(X, KERNEL, memory=100)) is mp.TiledGram
    gram = mp.Gram.choose(X, KERNEL, memory=100, precision="float32")
    assert type(gram) is DeviceTiledGram
    assert gram.dtype == torch.float32


def test_what_ran_out_of_memory_is_repeated_in_tiles_and_only_that(rng):
    X, kinds = rng.standard_normal((10, 3)), []

    def work(gram):
        kinds.append(type(gram).__name__)
        raise MemoryError("full")

    with pytest.raises(MemoryError, match="and with tiles too"):
        mp.with_gram(X, KERNEL, work, memory=1e9)  # there is room for many such matrices
    with pytest.raises(MemoryError, match="full"):
        mp.with_gram(X, "linear", work)
    assert kinds == ["DenseGram", "TiledGram", "LinearGram"]


@pytest.mark.parametrize("asarray", [np.asarray, sp.csr_array])
def test_features_that_overflow_are_taken_in_double(asarray):
    X = np.array([[1e30, 0.0], [0.0, 1.0]], dtype=np.float32)
    seen = []

    def work(gram):
        seen.append(gram.dtype)
        with np.errstate(over="ignore"):
            scores = gram @ np.ones(2, dtype=gram.dtype)
        last = type("State", (), {"u": np.ones(2), "scores": scores})
        return type("Path", (), {"last": last})

    with pytest.warns(UserWarning, match="not finite in precision float32; it is run again in float64"):
        mp.with_gram(asarray(X), "linear", work)
    assert seen == [np.float32, np.float64]


def test_the_diagonal_of_any_samples(rng):
    X = rng.standard_normal((130, 3))
    K = X @ X.T
    for given, kernel in (
        (X, mp.Linear()),
        (strict(X), mp.Linear()),
        (sp.csr_array(X), mp.Linear()),
        (X, lambda A, B: A @ B.T),
        (K, None),
        (strict(K), None),
    ):
        found = diagonal_of(given, kernel)
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, np.diag(K), rtol=1e-12)


def test_rows_are_lent_by_every_storage(rng):
    X = rng.standard_normal((30, 3))
    index = np.array([4, 0, 29])
    grams = {
        "samples": [mp.Gram.from_kernel(X, mp.Linear()), mp.TiledGram(X, mp.Linear())],
        "features": [mp.Gram.linear(X)],
    }
    for space, members in grams.items():
        for gram in members:
            assert gram.space == space
            assert gram.chunk >= 3
            with gram.lend(index) as (rows, where):
                np.testing.assert_allclose(rows[where], (X @ X.T)[index])
    stored, tiled = grams["samples"]
    with stored.lend(index) as (rows, where):
        assert rows is stored.K is stored.matrix  # not a copy
    assert tiled.matrix is None


@pytest.mark.parametrize("asarray", [np.asarray, sp.csr_array, strict])
def test_features_in_double(asarray, rng):
    X = rng.standard_normal((5, 2)).astype(np.float32)
    gram = mp.Gram.linear(asarray(X)).in_double()
    assert "float64" in str(gram.dtype)
    np.testing.assert_allclose(dense(gram), X.astype(float) @ X.T.astype(float), rtol=1e-14)
    stored = mp.Gram.from_kernel(X, KERNEL)
    assert stored.in_double() is stored
