"""Gaussian kernels against a loop over differences: every storage has the digits of its dtype."""

import array_api_strict
import numpy as np
import pytest
import scipy.sparse as sp

import marginpath as mp
from marginpath.arrays import to_numpy
from marginpath.gram import fused
from marginpath.gram.cluster.kernel import kernel_product, kernel_rows
from marginpath.gram.device import DeviceTiledGram
from marginpath.gram.tiled import TiledCross
from marginpath.kernels import distances, functions
from marginpath.kernels.functions import Biased

DTYPES = [np.float32, np.float64]
SPREADS = [1, 10, 100, 300, 1000, 1e5]


def differences(X, Z, sigma):
    """Return the kernel from Σ (x − z)², in more than float64 where there is more."""
    X, Z = (np.asarray(S, dtype=np.longdouble) for S in (X, Z))
    halves = [(((Z - x) / np.longdouble(sigma)) ** 2).sum(axis=1) / 2 for x in X]
    return np.exp(-np.array(halves))


def clusters(spread, dtype, d=3, groups=6, each=20, seed=0):
    """Return tight clusters far apart, shuffled; σ = 1."""
    rng = np.random.default_rng(seed)
    centres = np.repeat(spread * rng.standard_normal((groups, d)), each, axis=0)
    X = centres + 0.3 / d**0.5 * rng.standard_normal(centres.shape)
    return rng.permutation(X).astype(dtype)


def strict(X):
    return array_api_strict.asarray(X)


def identity(X):
    return np.eye(X.shape[0], dtype=X.dtype)


#: Every way to the matrix k(x_i, x_j).
STORAGES = {
    "stored": lambda X, k: mp.Gram.from_kernel(X, k).K,
    "called": lambda X, k: k(X),
    "tiled product": lambda X, k: mp.TiledGram(X, k) @ identity(X),
    "tiled rows": lambda X, k: mp.TiledGram(X, k).rows(np.arange(len(X))),
    "predictions": lambda X, k: TiledCross(X.copy(), X, k) @ identity(X),
    "cross of a stored matrix": lambda X, k: mp.Gram.from_kernel(X, k).cross(X.copy()),
    "widths": lambda X, k: mp.SquaredDistances(X).gram(k.sigma).K,
    "cluster": lambda X, k: kernel_rows(X, (0, len(X)), k),
    "predictions of a cluster": lambda X, k: kernel_product(X.copy(), X, identity(X), k),
    "CSR stored": lambda X, k: mp.Gram.from_kernel(sp.csr_array(X), k).K,
    "CSR tiled": lambda X, k: mp.TiledGram(sp.csr_array(X), k) @ identity(X),
    "CSR predictions": lambda X, k: TiledCross(sp.csr_array(X), sp.csr_array(X), k) @ identity(X),
    "CSR widths": lambda X, k: mp.SquaredDistances(sp.csr_array(X)).gram(k.sigma).K,
    "strict stored": lambda X, k: mp.Gram.from_kernel(strict(X), k).K,
    "strict tiled": lambda X, k: mp.TiledGram(strict(X), k) @ strict(identity(X)),
    "strict rows": lambda X, k: mp.TiledGram(strict(X), k).rows(strict(np.arange(len(X)))),
    "strict widths": lambda X, k: mp.SquaredDistances(strict(X)).gram(k.sigma).K,
    "device product": lambda X, k: DeviceTiledGram(strict(X), k, rows=50) @ strict(identity(X)),
    "device rows": lambda X, k: DeviceTiledGram(strict(X), k).rows(strict(np.arange(len(X)))),
}


def assert_accurate(K, X, sigma=1.0):
    """Compare with differences; a sum over d features may cost √d roundings more."""
    K, tolerance = to_numpy(K), (16 + X.shape[1] ** 0.5) * np.finfo(X.dtype).eps
    assert K.dtype == X.dtype
    assert np.max(np.abs(K - differences(X, X, sigma))) <= tolerance


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("storage", STORAGES)
def test_far_apart_clusters(storage, spread, dtype):
    X = clusters(spread, dtype)
    assert_accurate(STORAGES[storage](X, mp.Gaussian(1.0)), X)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("storage", STORAGES)
def test_far_from_the_origin(storage, dtype):
    X = 1e6 + 2 * np.random.default_rng(0).standard_normal((60, 3))
    X = X.astype(dtype)
    assert_accurate(STORAGES[storage](X, mp.Gaussian(1.0)), X)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize(
    ("scale", "dtype"), [(1e-200, np.float64), (1e150, np.float64), (1e-42, np.float32), (1e35, np.float32)]
)
def test_the_scale_of_the_samples_is_that_of_the_width(storage, scale, dtype):
    X = (scale * np.random.default_rng(0).standard_normal((40, 3))).astype(dtype)
    assert_accurate(STORAGES[storage](X, mp.Gaussian(scale)), X, scale)


@pytest.mark.parametrize("storage", STORAGES)
def test_distances_whose_squares_are_infinite(storage):
    X = clusters(1e200, np.float64)
    K = to_numpy(STORAGES[storage](X, mp.Gaussian(1.0)))
    np.testing.assert_array_equal(K, (X[:, None] == X[None]).all(axis=2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(2))
def test_an_outlier_does_not_cost_the_others_their_digits(dtype, seed):
    X = np.random.default_rng(seed).standard_normal((500, 5)).astype(dtype)
    X[17] += 1e7
    for storage in ("stored", "tiled product", "predictions", "widths"):
        assert_accurate(STORAGES[storage](X, mp.Gaussian(1.0)), X)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
@pytest.mark.parametrize(("n", "d"), [(400, 1), (400, 2), (400, 8), (100, 64), (40, 784)])
def test_ordinary_samples(n, d, sigma, dtype):
    X = np.random.default_rng(d).standard_normal((n, d)).astype(dtype)
    for storage in ("stored", "predictions", "widths", "strict stored"):
        assert_accurate(STORAGES[storage](X, mp.Gaussian(sigma * d**0.5)), X, sigma * d**0.5)


@pytest.mark.parametrize("sigma", [0.004, 0.02, 0.5, 4.0])
def test_pixels(sigma):
    rng = np.random.default_rng(0)
    centres = rng.integers(1, 255, (5, 40))
    X = ((np.repeat(centres, 60, axis=0) + (rng.random((300, 40)) < 0.02)) / 255).astype(np.float32)
    assert_accurate(mp.Gram.from_kernel(X, mp.Gaussian(sigma)).K, X, sigma)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("spread", SPREADS)
def test_one_matrix_of_distances_is_good_for_narrow_and_wide_kernels(spread, dtype):
    X = clusters(spread, dtype)
    distances = mp.SquaredDistances(X)
    for sigma in (0.01, 0.3, 1.0, spread, 10.0 * spread):
        assert_accurate(distances.gram(sigma).K, X, sigma)


@pytest.mark.parametrize("make", [np.asarray, strict, sp.csr_array])
@pytest.mark.parametrize("spread", [*SPREADS, 1e8])
def test_stored_matrices_are_symmetric_positive_semidefinite_with_unit_diagonal(make, spread):
    X = clusters(spread, np.float32)
    K = to_numpy(mp.Gram.from_kernel(make(X), mp.Gaussian(1.0)).K)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diag(K), 1)
    smallest = np.linalg.eigvalsh(K.astype(np.float64))[0]
    assert smallest >= -len(X) * np.finfo(np.float32).eps


@pytest.mark.parametrize("seed", range(40))
def test_close_samples_far_from_the_others_are_told_apart(seed):
    rng = np.random.default_rng(seed)
    pair, others = 150 + 0.02 * rng.standard_normal((2, 3)), -150 + 3 * rng.standard_normal((6, 3))
    X = np.concatenate([pair, others]).astype(np.float32)
    K = mp.Gram.from_kernel(X, mp.Gaussian(1.0)).K
    assert_accurate(K, X)
    smallest = [
        np.linalg.eigvalsh(M)[0] for M in (K.astype(np.float64), differences(X, X, 1.0).astype(float))
    ]
    assert abs(smallest[0] - smallest[1]) <= 8 * np.finfo(np.float32).eps


@pytest.mark.parametrize("dtype", DTYPES)
def test_new_samples_between_far_clusters(dtype):
    X, Z = clusters(300, dtype), clusters(300, dtype)[:50] + dtype(0.125)
    kernel = Biased(mp.Gaussian(1.0), 0.5)
    exact = differences(Z, X, 1.0) + 0.5
    eye = identity(X)
    for block in (
        TiledCross(Z, X, kernel) @ eye,
        mp.Gram.from_kernel(X, kernel).cross(Z),
        mp.TiledGram(X, kernel).cross(Z) @ eye,
        DeviceTiledGram(strict(X), kernel).cross(strict(Z)) @ strict(eye),
    ):
        assert np.max(np.abs(to_numpy(block) - exact)) <= 16 * np.finfo(dtype).eps


@pytest.mark.parametrize("make", [np.asarray, strict, sp.csr_array])
def test_laplacian_in_float32(make):
    X = clusters(300, np.float32, d=30)
    kernel = mp.Laplacian(5.0)
    exact = np.exp(-np.abs(X[:, None].astype(float) - X[None].astype(float)).sum(axis=2) / 5)
    K = to_numpy(mp.Gram.from_kernel(make(X), kernel).K)
    assert K.dtype == np.float32
    assert np.max(np.abs(K - exact)) <= 16 * np.finfo(np.float32).eps
    np.testing.assert_array_equal(np.diag(K), 1)


@pytest.mark.parametrize("make", [np.asarray, strict, sp.csr_array])
@pytest.mark.parametrize(
    ("scale", "dtype"), [(1e-200, np.float64), (1e200, np.float64), (1e-30, np.float32), (1e30, np.float32)]
)
def test_cosines_do_not_see_the_scale(make, scale, dtype):
    X = np.random.default_rng(0).standard_normal((20, 4)).astype(dtype)
    X[3] = 0
    kernel, far = mp.Cosine(), make((X * scale).astype(dtype))
    expected = mp.Gram.from_kernel(X, kernel).K
    np.testing.assert_allclose(to_numpy(kernel(far)), expected, atol=8 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(to_numpy(kernel.diagonal(far)), np.arange(20) != 3)


@pytest.mark.parametrize("kernel", [mp.Gaussian(1.0), mp.Laplacian(1.0)])
def test_diagonals_are_ones_for_any_samples(kernel):
    for X in (np.full((3, 2), 1e300), strict(np.full((3, 2), 1e300)), sp.csr_array(np.full((3, 2), 1e300))):
        np.testing.assert_array_equal(to_numpy(kernel.diagonal(X)), np.ones(3))


def test_products_stay_plain_arrays_where_rounding_is_harmless(rng):
    near, far = rng.standard_normal((50, 8)), 100 * rng.standard_normal((50, 8))
    assert isinstance(mp.Gaussian(4.0).factors(near, near)[0], np.ndarray)
    assert not isinstance(mp.Gaussian(4.0).factors(far, far)[0], np.ndarray)


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["tf32", "bfloat16"])
def test_samples_are_rounded_only_where_the_kernel_stays(name, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(fused, "available", lambda X, precision: precision == name)
    X = torch.asarray(clusters(300, np.float32))
    assert DeviceTiledGram(X, mp.Gaussian(300.0), precision=name).fused
    gram = DeviceTiledGram(X, mp.Gaussian(1.0), precision=name)
    assert not gram.fused
    assert_accurate(gram @ torch.eye(len(X)), to_numpy(X))


@pytest.mark.heavy
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("spread", SPREADS)
def test_torch(spread, dtype):
    torch = pytest.importorskip("torch")
    X = clusters(spread, dtype)
    T = torch.asarray(X)
    assert_accurate(mp.Gram.from_kernel(T, mp.Gaussian(1.0)).K, X)
    assert_accurate(DeviceTiledGram(T, mp.Gaussian(1.0)) @ torch.asarray(identity(X)), X)
    assert_accurate(mp.TiledGram(T, mp.Gaussian(1.0)).rows(torch.arange(len(X))), X)
    half = mp.Gram.from_kernel(T, mp.Gaussian(1.0), precision="bfloat16").K.float()
    single = X.astype(np.float32)  # as the samples are taken; the kernel is rounded once, at the end
    assert np.max(np.abs(to_numpy(half) - differences(single, single, 1.0))) <= 2.0**-9 + 2.0**-20


def test_few_doubtful_entries_are_computed_again_alone(monkeypatch, rng):
    X = rng.standard_normal((60, 8)).astype(np.float32)
    X[:4] = 0.01 * X[:4] + [[400], [400], [-400], [-400]]  # close to each other and far from the centre
    monkeypatch.setattr(distances, "_wide_product", None)
    assert_accurate(mp.Gaussian(1.0)(strict(X)), X)


@pytest.mark.parametrize("dtype", DTYPES)
def test_many_doubtful_entries_are_computed_again_some_rows_at_a_time(dtype, monkeypatch):
    monkeypatch.setattr(distances, "_WIDE_PIECE", 300)
    monkeypatch.setattr(distances, "_MANY", 0.0)
    X = clusters(300, dtype)
    assert_accurate(mp.Gaussian(1.0)(strict(X)), X)


def test_tiles_of_a_device_share_their_sides(monkeypatch, rng):
    made, sides = [], distances.distance_sides
    monkeypatch.setattr(functions, "distance_sides", lambda *args: made.append(args) or sides(*args))
    X = rng.standard_normal((50, 3))
    product = DeviceTiledGram(strict(X), mp.Gaussian(1.0), room=5000) @ strict(np.ones(50))
    assert len(made) == 1
    np.testing.assert_allclose(to_numpy(product), mp.Gaussian(1.0)(X).sum(axis=1))
