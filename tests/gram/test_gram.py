import numpy as np
import pytest
import scipy.sparse as sp

import marginpath as mp
from marginpath.gram import filling as matrices

KERNELS = [
    mp.Gaussian(0.8),
    mp.Laplacian(1.5),
    mp.Polynomial(3, gamma=0.5, coef0=1.0),
    mp.Linear(),
    mp.Cosine(),
]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 7, 300, 1100])  # one tile, ragged tiles, several of them
def test_from_kernel_is_the_kernel(kernel, dtype, n, rng):
    X = rng.standard_normal((n, 4)).astype(dtype)
    gram = mp.Gram.from_kernel(X, kernel)
    assert gram.shape == (n, n)
    assert gram.dtype == gram.K.dtype == dtype
    np.testing.assert_array_equal(gram.K, gram.K.T)
    tolerance = 2e-4 if dtype == np.float32 else 1e-12
    exact = kernel(X.astype(np.float64), X.astype(np.float64))
    np.testing.assert_allclose(gram.K, exact, rtol=tolerance, atol=tolerance)
    V = rng.standard_normal((n, 2)).astype(dtype)
    K, terms = gram.K.astype(float), np.abs(gram.K.astype(float)) @ np.abs(V)
    assert np.all(np.abs(gram @ V - K @ V) <= n * np.finfo(dtype).eps * terms)
    np.testing.assert_array_equal(gram.rows([0, n - 1]), gram.K[[0, n - 1]])
    np.testing.assert_array_equal(gram.diagonal, np.diag(gram.K))
    np.testing.assert_allclose(gram.accurate_product(V), gram.K.astype(float) @ V, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(gram.cross(X[:3]), gram.K[:3], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kernel", KERNELS)
def test_sparse_input_gives_the_same(kernel, rng):
    X = rng.standard_normal((40, 6)) * (rng.random((40, 6)) < 0.4)
    dense, sparse = (mp.Gram.from_kernel(A, kernel) for A in (X, sp.csr_array(X)))
    np.testing.assert_allclose(sparse.K, dense.K, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sparse.cross(sp.csr_array(X[:3])), dense.cross(X[:3]), atol=1e-12)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_linear_gram(convert, rng):
    X = rng.standard_normal((30, 5))
    gram = mp.Gram.linear(convert(X))
    K = X @ X.T
    V = rng.standard_normal((30, 3))
    np.testing.assert_allclose(gram @ V, K @ V)
    np.testing.assert_allclose(gram @ V[:, 0], K @ V[:, 0])
    np.testing.assert_allclose(gram.rows([2, 4]), K[[2, 4]])
    np.testing.assert_allclose(gram.diagonal, np.diag(K))
    np.testing.assert_allclose(gram.accurate_product(V), K @ V)
    np.testing.assert_allclose(gram.cross(convert(X[:4])) @ V, K[:4] @ V)


def test_from_matrix_takes_no_copy_and_crosses_by_blocks(rng):
    X = rng.standard_normal((20, 3))
    for dtype in (np.float32, np.float64):
        K = (X @ X.T).astype(dtype)
        gram = mp.Gram.from_matrix(K)
        assert gram.K is K
        np.testing.assert_array_equal(gram.cross(K[:2]), K[:2])
    with pytest.raises(ValueError, match="Z has 3 columns, but 20 kernel values"):
        gram.cross(X)


def test_any_callable_is_a_kernel(rng):
    X = rng.standard_normal((700, 3))
    gram = mp.Gram.from_kernel(X, lambda A, B: np.exp(-np.abs(A[:, :1] - B[:, 0])))
    np.testing.assert_allclose(gram.K, np.exp(-np.abs(X[:, :1] - X[:, 0])))
    np.testing.assert_allclose(gram.cross(X[:2]), gram.K[:2])


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda A, B: np.tanh(A @ B.T - 1), "not positive semi-definite"),
        (lambda A, B: A @ B.T + np.arange(len(B)), "not symmetric"),
        (lambda A, B: (A @ B.T)[:, :-1], r"returned shape \(\d+, 299\)"),
        (lambda A, B: A @ B.T * np.nan, "NaN or infinite"),
        ("sigmoid", "'sigmoid' is not positive semi-definite.*Use 'rbf'"),
        ("rfb", "'rfb' is unknown; known are rbf, gaussian"),
    ],
)
def test_bad_kernels(kernel, message, rng):
    with pytest.raises(ValueError, match=message):
        mp.Gram.from_kernel(rng.standard_normal((300, 4)), kernel)


@pytest.mark.parametrize("n", [3, 255, 400])
def test_bad_matrices(n, rng):
    X = rng.standard_normal((n, 4))
    K = mp.Gaussian(1.0)(X)
    mp.Gram.from_matrix(K)
    negative = 0.1 * K
    negative[:3, :3] = [[1, 0.9, 0], [0.9, 1, 0.9], [0, 0.9, 1]]  # every 2 × 2 minor is fine
    with pytest.raises(ValueError, match=r"not positive semi-definite.*eigenvalue of -"):
        mp.Gram.from_matrix(negative)
    skew = K.copy()
    skew[0, 1] += 0.01
    with pytest.raises(ValueError, match=r"not symmetric: .* up to 0.01"):
        mp.Gram.from_matrix(skew)
    large = K.copy()
    large[0, 1] = large[1, 0] = 1.5
    with pytest.raises(ValueError, match="geometric mean"):
        mp.Gram.from_matrix(large)
    with pytest.raises(ValueError, match="negative entry -1"):
        mp.Gram.from_matrix(-K)
    with pytest.raises(ValueError, match=r"square, but K has shape"):
        mp.Gram.from_matrix(K[:, :-1])
    with pytest.raises(ValueError, match="NaN or infinite"):
        mp.Gram.from_matrix(K * np.nan)


@pytest.mark.parametrize("make", [mp.Gram.linear, lambda X: mp.Gram.from_kernel(X, mp.Gaussian(1.0))])
@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[1.0, np.nan]]), "NaN or infinite"),
        (np.array([[1.0, np.inf]]), "NaN or infinite"),
        (sp.csr_array([[1.0, np.inf]]), "NaN or infinite"),
        (np.ones(3), r"shape \(3,\)"),
        (np.ones((2, 2, 2)), r"shape \(2, 2, 2\)"),
        (np.ones((0, 3)), "empty"),
        (np.array([["a"]]), "real numbers"),
        (np.array([[1j]]), "real numbers"),
    ],
)
def test_bad_samples(make, X, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make(X)


def test_a_matrix_that_does_not_fit_says_so(monkeypatch):
    X = np.zeros((2_000_000, 1), dtype=np.float32)
    with pytest.raises(MemoryError, match=r"2,000,000 samples takes 14,901\.2 GiB.*TiledGram.*Gram\.linear"):
        mp.Gram.from_kernel(X, mp.Gaussian(1.0))
    monkeypatch.setattr(matrices, "available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match="float32 input"):
        mp.Gram.from_kernel(np.zeros((20, 1)), mp.Gaussian(1.0))


def test_cross_wants_the_same_features(rng):
    X = rng.standard_normal((5, 3))
    for gram in (mp.Gram.linear(X), mp.Gram.from_kernel(X, "rbf", sigma=1.0)):
        with pytest.raises(ValueError, match="Z has 2 columns, but 3 features"):
            gram.cross(X[:, :2])


def test_integers_become_float64():
    assert mp.Gram.linear([[1, 2], [3, 4]]).dtype == np.float64
