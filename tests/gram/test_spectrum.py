import array_api_strict as xp
import numpy as np
import pytest
import scipy.sparse as sp

import marginpath as mp
from marginpath.gram.spectrum import EXACT, lanczos


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
        norm = np.linalg.eigvalsh(K)[-1]
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


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, xp.asarray], ids=["dense", "sparse", "strict"])
@pytest.mark.parametrize("d", [1, 30, 800])
def test_fewer_features_than_rows_are_looked_at_instead(kind, d, rng):
    X, weights = rng.standard_normal((600, d)), rng.integers(0, 4, 600).astype(float)
    gram = mp.Gram.linear(kind(X))
    assert gram._operator(np.ones(()))[1] == min(600, d)
    for root, given in ((np.ones(600), None), (np.sqrt(weights), weights)):
        norm = np.linalg.norm(root[:, None] * X, 2) ** 2
        lower, upper = gram.norm_bounds(given)
        assert lower <= norm * (1 + 1e-12)
        assert norm * (1 - 1e-12) <= upper <= 1.05 * norm


def test_zero_operator():
    assert lanczos(lambda v: 0 * v, 50, eps=2e-16, seed=0)[:2] == (0.0, 0.0)
    assert mp.Gram.from_matrix(np.zeros((5, 5))).norm_bounds() == (0.0, 0.0)


def hidden(n, seed, rng):
    """Return I + 99 v vᵀ of norm 100, v orthogonal to the start vector of Lanczos' method for that seed."""
    b = np.random.default_rng(seed).standard_normal(n)
    v = rng.standard_normal(n)
    v -= (v @ b) / (b @ b) * b
    v /= np.linalg.norm(v)
    K = np.eye(n) + 99 * np.outer(v, v)
    return (K + K.T) / 2


@pytest.mark.parametrize("n", [50, EXACT, EXACT + 1, 600])
def test_no_matrix_hides_its_norm(n):
    """Against a start that is known beforehand, a top eigenvector orthogonal to it leaves a bound of 1."""
    rng = np.random.default_rng(5)
    K = hidden(n, 0, rng)
    assert lanczos(lambda v: K @ v, n, eps=2e-16, seed=0).upper < 1.1
    for _ in range(4):  # aim at the start of this matrix: that makes another one, with another start
        gram = mp.Gram.from_matrix(K)
        lower, upper = gram.norm_bounds()
        assert 100 / 1.05 <= lower <= 100 + 1e-9
        assert 100 - 1e-9 <= upper <= 105
        lower, upper = gram.norm_bounds(np.full(n, 4.0))
        assert 380 <= lower <= 400 + 1e-9 <= upper + 1e-6 <= 420
        K = hidden(n, gram._seed, rng)


def test_a_step_size_from_a_hidden_norm_does_not_diverge():
    rng = np.random.default_rng(5)
    n = 50
    problem = mp.Problem(mp.Gram.from_matrix(hidden(n, 0, rng)), np.where(rng.random(n) < 0.5, 1, -1))
    path = mp.run(mp.DualDescent(mp.PowerDecay(1e-3)), problem, 50, observe=["dual_objective"])
    assert np.all(np.diff(path["dual_objective"]) <= 0)


def test_different_matrices_start_lanczos_differently():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3))
    other = X.copy()
    other[77, 1] = np.nextafter(X[77, 1], 9.0)
    K = mp.Gaussian(1.0)(X)
    nudged = K.copy()
    nudged[400, 3] = nudged[3, 400] = np.nextafter(K[3, 400], 9.0)
    pairs = [
        (mp.Gram.from_matrix(K), mp.Gram.from_matrix(nudged)),
        (mp.Gram.linear(X), mp.Gram.linear(other)),
        (mp.Gram.linear(sp.csr_array(X)), mp.Gram.linear(sp.csr_array(other))),
        (mp.TiledGram(X, mp.Gaussian(1.0)), mp.TiledGram(other, mp.Gaussian(1.0))),
        (mp.Gram.from_matrix(xp.asarray(K)), mp.Gram.from_matrix(xp.asarray(K + np.eye(500)))),
    ]
    assert all(one._seed != two._seed for one, two in pairs)
    assert mp.Gram.from_matrix(K)._seed == mp.Gram.from_matrix(np.asfortranarray(K))._seed


def test_the_bounds_of_few_samples_hold_to_the_last_digits():
    for name, K in matrices(100):
        norm = np.linalg.eigvalsh(K)[-1]
        lower, upper = mp.gram.DenseGram(K).norm_bounds()
        assert norm * (1 - 1e-10) <= lower <= norm <= upper <= norm * (1 + 1e-10), name
    X = np.random.default_rng(1).standard_normal((80, 30)).astype(np.float32)
    norm = np.linalg.norm(X.astype(np.float64), 2) ** 2
    lower, upper = mp.Gram.linear(X).norm_bounds()
    assert norm * (1 - 1e-5) <= lower <= norm <= upper <= norm * (1 + 1e-5)
