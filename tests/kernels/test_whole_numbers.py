"""Products of bytes: the exact squared distances of small whole numbers, in any window."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marginpath as mp
from marginpath.kernels import functions as kernels
from marginpath.kernels import whole_numbers_compiled as eight_bit_product
from marginpath.kernels.whole_numbers import SignedRows, eight_bit_sides
from marginpath.kernels.whole_numbers_compiled import available

needs_bytes = pytest.mark.skipif(not available(), reason="this processor does not multiply bytes")


def whole(n=301, d=37, seed=0, top=256):
    """Return whole numbers, the smallest and largest among them."""
    k = np.random.default_rng(seed).integers(0, top, (n, d))
    k[0, 0], k[1, 0] = 0, top - 1
    return k


def exact(k):
    """Return the squared distances as whole numbers."""
    squares = (k * k).sum(axis=1)
    return squares[:, None] + squares[None, :] - 2 * k @ k.T


@needs_bytes
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("unit", [1.0, 1 / 255, 2 / 255, 0.3])
@pytest.mark.parametrize("shift", [0.0, -1.0])
def test_distances_are_exact(dtype, unit, shift):
    k = whole()
    left, right = eight_bit_sides((k * unit + shift).astype(dtype), 0.5)
    expected = (-0.5 * unit**2 * exact(k)).astype(dtype)
    np.testing.assert_allclose(left.times(right, None), expected, rtol=3 * np.finfo(dtype).eps, atol=0)


@needs_bytes
@pytest.mark.parametrize("d", [32, 33, 34, 35, 784])
def test_any_number_of_features(d):
    k = whole(300, d)
    left, right = eight_bit_sides(k.astype(np.float64), 1.0)
    assert np.array_equal(left.times(right, None), -exact(k).astype(float))


@needs_bytes
def test_the_largest_sums_do_not_overflow():
    k = np.zeros((300, 16_000), dtype=np.int64)
    k[::2] = 255
    k[1, 0] = 1  # else all samples would be two
    left, right = eight_bit_sides(k.astype(np.float64), 1.0)
    assert np.array_equal(left.times(right, None), -exact(k).astype(float))


@needs_bytes
@given(
    rows=st.tuples(st.integers(0, 300), st.integers(1, 60)),
    columns=st.tuples(st.integers(0, 300), st.integers(1, 99)),
)
@settings(max_examples=60, deadline=None)
def test_windows(rows, columns):
    k = whole()
    left, right = eight_bit_sides(k.astype(np.float64), 1.0)
    a, b = rows[0], min(rows[0] + rows[1], 301)
    c, e = columns[0], min(columns[0] + columns[1], 301)
    expected = -exact(k).astype(float)[a:b, c:e]
    out = np.full((b - a + 2, e - c + 2), np.nan)
    left[a:b, :].times(right[c:e, :], out[1:-1, 1:-1])
    assert np.array_equal(out[1:-1, 1:-1], expected)
    assert np.isnan(out).sum() == out.size - expected.size  # nothing is written beside the window
    some = np.random.default_rng(a).permutation(301)[: b - a]
    picked = left[some, :][0 : len(some), :].times(right[c:301, :][0 : e - c, :], None)
    assert np.array_equal(picked, -exact(k).astype(float)[some, c:e])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda X: X + 1e-3 * np.random.default_rng(0).standard_normal(X.shape),
        lambda X: np.where(np.arange(X.size).reshape(X.shape) == X.size - 1, X + 0.4, X),  # the last entry
        lambda X: X[:, :31],
        lambda X: X[:255],
        lambda X: X * 1e9,
        lambda X: np.where(X.max() == X, 300.0, X),
        lambda X: np.full_like(X, np.finfo(np.float64).max) * np.sign(X - 100),
    ],
)
def test_other_samples_are_left_alone(spoil):
    assert eight_bit_sides(spoil(whole().astype(np.float64)), 1.0) is None


def test_processors_without_the_instruction_take_floats(monkeypatch):
    monkeypatch.setattr(eight_bit_product, "available", lambda: False)
    X = whole().astype(np.float64) / 255
    assert eight_bit_sides(X, 1.0) is None
    expected = np.exp(-exact(whole()) / (2 * 255**2))
    np.testing.assert_allclose(mp.Gram.from_kernel(X, mp.Gaussian(1.0)).K, expected, rtol=0, atol=1e-13)


@needs_bytes
def test_constant_samples():
    left, right = eight_bit_sides(np.full((300, 40), 0.7), 1.0)
    assert np.array_equal(left.times(right, None), np.zeros((300, 300)))


@needs_bytes
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernel_matrices_are_those_of_floats(dtype, monkeypatch):
    X = (whole(900, 50) / 255).astype(dtype)
    kernel = kernels.biased(mp.Gaussian(2.0), 0.1)
    made = [mp.Gram.from_kernel(X, kernel).K, mp.TiledGram(X, kernel).rows(np.arange(900)[::-1])[::-1]]
    V = np.random.default_rng(0).standard_normal((900, 2)).astype(dtype)
    product = mp.TiledGram(X, kernel) @ V
    assert isinstance(mp.Gaussian(2.0).factors(X, X)[0], SignedRows)
    monkeypatch.setattr(kernels, "eight_bit_sides", lambda *_: None)
    K = mp.Gram.from_kernel(X.astype(np.float64), kernel).K
    tolerance = 100 * np.finfo(dtype).eps
    for matrix in made:
        np.testing.assert_allclose(matrix, K, rtol=0, atol=tolerance)
    np.testing.assert_allclose(product, K @ V, rtol=0, atol=30 * tolerance)
    assert np.array_equal(made[0], made[0].T)
