import numpy as np
import pytest
from scipy.linalg import eigvalsh

import marginpath as mp
from marginpath.spectrum import lanczos


def matrices(n):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 6))
    wide = rng.standard_normal((n, n)) / np.sqrt(n)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    yield "gaussian, wide", mp.Gaussian(20.0)(X)
    yield "gaussian", mp.Gaussian(1.0)(X)
    yield "gaussian, narrow", mp.Gaussian(0.05)(X)
    yield "laplacian", mp.Laplacian(2.0)(X)
    yield "signed cosine", unit @ unit.T
    yield "linear", X @ X.T
    yield "polynomial", mp.Polynomial(3, coef0=1.0)(X)
    yield "rank one", np.outer(X[:, 0], X[:, 0])
    yield "rank two, close", X[:, :1] @ X[:, :1].T + 0.99 * X[:, 1:2] @ X[:, 1:2].T
    yield "identity", np.eye(n)
    yield "near identity", np.eye(n) + 1e-3 * wide @ wide.T
    yield "Wishart", wide @ wide.T
    yield "flat top", np.diag(1 - np.linspace(0, 1, n) ** 2)
    yield "tiny scale", 1e-12 * (wide @ wide.T)
    yield "huge scale", 1e12 * (wide @ wide.T)
    yield "two blocks", np.kron(np.eye(2), np.ones(((n + 1) // 2,) * 2))[:n, :n]


@pytest.mark.parametrize("n", [2, 3, 10, 100, 600, pytest.param(3000, marks=pytest.mark.heavy)])
def test_bounds_hold_and_are_tight(n):
    for name, K in matrices(n):
        norm = eigvalsh(K, subset_by_index=[n - 1, n - 1])[0]
        for dtype, rounding in ((np.float32, 1e-5), (np.float64, 1e-10)):
            # Unchecked: float32 rounding may make a low-rank matrix slightly indefinite.
            gram = mp.gram.DenseGram(K.astype(dtype))
            lower, upper = gram.norm_bounds()
            assert lower <= norm * (1 + rounding), (name, dtype)
            assert norm * (1 - rounding) <= upper <= 1.05 * norm, (name, dtype)
            assert gram._spectrum.products <= 80, (name, dtype)


@pytest.mark.parametrize("seed", range(20))
def test_no_seed_breaks_the_bound(seed):
    K = np.diag(np.r_[1.05, np.ones(400)])  # the top eigenvector is hard to see
    spectrum = lanczos(lambda v: K @ v, 401, eps=2e-16, seed=seed)
    assert spectrum.lower <= 1.05 <= spectrum.upper <= 1.05 * 1.05


def test_linear_gram_needs_no_matrix():
    X = np.random.default_rng(0).standard_normal((2000, 3))
    lower, upper = mp.Gram.linear(X).norm_bounds()
    norm = np.linalg.norm(X, 2) ** 2
    assert lower <= norm <= upper <= 1.05 * norm


def test_zero_operator():
    assert lanczos(lambda v: 0 * v, 50, eps=2e-16)[:2] == (0.0, 0.0)
