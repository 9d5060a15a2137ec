from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from marginpath import parallel
from marginpath.gram import compensated
from marginpath.gram.compensated import compensated_product, relative_error


def exact(X, V):
    """Xᵀ V in fractions."""
    return [[sum(Fraction(x) * Fraction(v) for x, v in zip(a, b, strict=True)) for b in V.T] for a in X.T]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 8, 11])
def test_sparse_products_are_as_exact_as_they_say(columns, dtype, rng):
    X = np.where(rng.random((70, 5)) < 0.5, rng.standard_normal((70, 5)), 0).astype(dtype)
    V = rng.standard_normal((70, columns)) * 10.0 ** rng.integers(-12, 12, (70, 1))
    V[::3] = 0
    X[-1], V[-1] = 0, 1
    X, V = np.vstack([X, -X, X[:1]]), np.vstack([V, V, V[1:2]])  # nearly all of the sum cancels
    ours, size = compensated_product(sp.csr_array(X), V), np.abs(X).astype(float).T @ np.abs(V)
    for ours_, exact_, size_ in zip(
        ours.ravel(), np.ravel(exact(X.astype(float), V)), size.ravel(), strict=True
    ):
        assert abs(Fraction(ours_) - exact_) <= relative_error(len(X)) * size_


def test_sparse_products_lose_nothing_within_a_short_sum():
    rows = sp.csr_array(np.array([[1e16], [1.0], [-1e16]]))
    np.testing.assert_array_equal(compensated_product(rows, np.ones(3)), [1.0])
    np.testing.assert_array_equal(compensated_product(sp.csc_array(rows), np.ones((3, 2))), [[1.0, 1.0]])


def test_sparse_products_do_not_see_the_number_of_threads(rng):
    X, V = sp.random(300, 40, 0.2, format="csr", random_state=0), rng.standard_normal((300, 20))
    bits = set()
    for number in (1, 2, 3):
        with parallel.limited(number):
            bits.add(compensated_product(X, V).tobytes())
    assert len(bits) == 1


@pytest.mark.parametrize("rows", [1, 31, 70, 300])
def test_products_of_other_libraries_are_as_exact(rows, rng, monkeypatch):
    """Of many short sums, too, which are added up two and two, some at a time."""
    xp = pytest.importorskip("array_api_strict")
    monkeypatch.setattr(compensated, "_AT_ONCE", 300)
    X = rng.standard_normal((rows, 3))
    V = rng.standard_normal((rows, 2)) * 10.0 ** rng.integers(-12, 12, (rows, 1))
    V[1::3] = 0
    X, V = np.vstack([X, -X, X[:1]]), np.vstack([V, V, V[:1]])
    ours, size = compensated_product(xp.asarray(X), xp.asarray(V)), np.abs(X).T @ np.abs(V)
    for ours_, exact_, size_ in zip(
        np.asarray(ours).ravel(), np.ravel(exact(X, V)), size.ravel(), strict=True
    ):
        assert abs(Fraction(float(ours_)) - exact_) <= relative_error(len(X)) * size_
    assert compensated_product(xp.asarray(X), xp.asarray(V[:, 0])).shape == (3,)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_with_the_same_zeros_are_taken_together(dtype, rng):
    """Columns of pairs of classes leave most rows out; that changes the order of sums, not their error."""
    codes = rng.integers(0, 6, 150)
    first, second = np.triu_indices(6, 1)
    own = (codes[:, None] == first) | (codes[:, None] == second)
    X = rng.standard_normal((150, 3)).astype(dtype)
    V = np.where(own, rng.standard_normal((150, 15)) * 10.0 ** rng.integers(-12, 12, (150, 1)), 0)
    V[:, 4] = 0
    X, V = np.vstack([X, -X, X[:1]]), np.vstack([V, V, V[1:2]])
    ours, size = compensated_product(X, V), np.abs(X).astype(float).T @ np.abs(V)
    for ours_, exact_, size_ in zip(
        ours.ravel(), np.ravel(exact(X.astype(float), V)), size.ravel(), strict=True
    ):
        assert abs(Fraction(float(ours_)) - exact_) <= relative_error(len(X)) * size_
