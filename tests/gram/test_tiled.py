import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import marginpath as mp

KERNELS = [mp.Gaussian(0.8), mp.Laplacian(1.5), mp.Polynomial(2, coef0=1.0), lambda A, B: np.exp(A @ B.T / 9)]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n", [1, 50, 2500])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_is_the_stored_matrix(kernel, n, dtype, rng):
    X = rng.standard_normal((n, 3)).astype(dtype)
    tiled, stored = mp.TiledGram(X, kernel), mp.Gram.from_kernel(X, kernel)
    tolerance = {"rtol": 1e-4, "atol": 1e-3} if dtype == np.float32 else {"rtol": 1e-10, "atol": 1e-9}
    assert tiled.shape == stored.shape
    assert tiled.dtype == dtype
    for shape in ((n,), (n, 3)):
        V = rng.standard_normal(shape).astype(dtype)
        assert (tiled @ V).dtype == dtype
        np.testing.assert_allclose(tiled @ V, stored @ V, **tolerance)
        np.testing.assert_array_equal(tiled @ V, tiled @ V)
        assert tiled.accurate_product(V).dtype == np.float64
        np.testing.assert_allclose(tiled.accurate_product(V), stored.accurate_product(V), **tolerance)
    index = [0, n - 1, n // 2]
    np.testing.assert_allclose(tiled.rows(index), stored.rows(index), **tolerance)
    np.testing.assert_allclose(tiled.diagonal, stored.diagonal, **tolerance)
    np.testing.assert_allclose(tiled.cross(X[:2]) @ V, stored.cross(X[:2]) @ V, **tolerance)


def test_solvers_run_on_it(rng):
    X = rng.standard_normal((200, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    tiled = mp.Problem(mp.TiledGram(X, mp.Gaussian(1.0), cache_bytes=50 * 200 * 8), y)
    stored = mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(1.0)), y)
    descent = mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3), 0.9 / stored.norm_bounds()[1])
    a, b = mp.run(descent, tiled, 50).last, mp.run(descent, stored, 50).last
    np.testing.assert_allclose(a.u, b.u, rtol=1e-9, atol=1e-11)
    # Coordinates that begin to move inside a chunk wait for the next sweep: another order, the same end.
    sweeps = mp.CoordinateDescent(mp.Constant(2.0))
    a, b = mp.run(sweeps, tiled, 300).last, mp.run(sweeps, stored, 300).last
    np.testing.assert_allclose(a.scores, b.scores, rtol=1e-4, atol=1e-4)


def test_rows_are_cached_within_the_limit(rng):
    X = rng.standard_normal((100, 2))
    computed = []

    def kernel(A, B):
        computed.append(len(A))
        return A @ B.T

    gram = mp.TiledGram(X, kernel, cache_bytes=10 * 100 * 8)
    first = gram.rows(range(8))
    np.testing.assert_array_equal(gram.rows(range(8)), first)
    assert computed == [8]
    gram.rows([20, 21, 22, 23])  # there is room for two of them
    assert np.sum(gram._cache.owner >= 0) == 10
    gram.rows([7, 0, 20, 21])
    assert computed == [8, 4]
    for _ in range(3):  # in the end 22 is asked for more often than 1, and 1 goes
        np.testing.assert_allclose(gram.rows([22, 3, 22]), X[[22, 3, 22]] @ X.T)
    assert computed == [8, 4, 1, 1]
    gram.rows([22, 20, 1])
    assert computed == [8, 4, 1, 1, 1]
    nothing = mp.TiledGram(X, kernel, cache_bytes=0)
    np.testing.assert_allclose(nothing.rows([3]), X[[3]] @ X.T)
    assert len(nothing._cache.owner) == 0
    np.testing.assert_allclose(nothing.rows(np.arange(99, -1, -1)), X[::-1] @ X.T)
    assert gram.rows([]).shape == (0, 100)


def test_sparse_samples_and_bad_shapes(rng):
    X = sp.random_array((60, 20), density=0.2, rng=rng, format="csr")
    V = rng.standard_normal(60)
    dense = mp.Gram.from_kernel(X.toarray(), mp.Gaussian(1.0))
    np.testing.assert_allclose(mp.TiledGram(X, "rbf", sigma=1.0) @ V, dense @ V, rtol=1e-10)
    with pytest.raises(ValueError, match="Z has 3 columns, but 20 features"):
        mp.TiledGram(X, mp.Gaussian(1.0)).cross(np.ones((2, 3)))


SCRIPT = """
import numpy as np, marginpath as mp

def peak():
    # Not ru_maxrss: that keeps the peak of the process which started this one.
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024

def run(n):
    X = np.random.default_rng(0).standard_normal((n, 5)).astype(np.float32)
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    problem = mp.Problem(mp.TiledGram(X, mp.Gaussian(1.0), cache_bytes=2**26), y)
    path = mp.run(mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3)), problem, 2, keep=0)
    mp.margin_bounds(problem, path.last.u)

run(500)  # imports what is imported late
before = peak()
run(20_000)
print((peak() - before) / 2**20)
"""


@pytest.mark.heavy
def test_memory_stays_small():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 300
