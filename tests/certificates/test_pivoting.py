import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginpath.certificates.pivoting import PrincipalSystems, principal


def random_systems(rng, n):
    """(A, E, h) with A = XXᵀ positive definite and rows of different length."""
    X = rng.standard_normal((n, 2 * n)) * rng.uniform(0.1, 10, n)[:, None]
    return X @ X.T, rng.uniform(0.1, 1, n), rng.standard_normal(n)


def naive(A, E, h, S):
    z = np.zeros_like(h)
    z[S] = np.linalg.solve((A + np.diag(E))[np.ix_(S, S)], h[S])
    return z


def flipped(S, changes):
    found = S.copy()
    found[changes] ^= True
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", [0, 1, 64, 65, 200])
def test_rows_and_columns(m, dtype, rng):
    K, index = rng.standard_normal((300, 300)).astype(dtype), rng.permutation(300)[:m]
    found = principal(K, index)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, K[index][:, index])


changes = st.tuples(st.integers(0, 2), st.integers(0, 2)).filter(any)


@given(seed=st.integers(0, 10**6), numbers=changes)
def test_one_factor_serves_the_sets_near_it(seed, numbers):
    rng = np.random.default_rng(seed)
    A, E, h = random_systems(rng, 100)
    S = rng.permutation(100) < 80
    systems = PrincipalSystems(A, E, h)
    z, residual = systems.solve(S)
    np.testing.assert_allclose(z, naive(A, E, h, S), atol=1e-11 * np.abs(z).max())
    np.testing.assert_allclose(residual, h - A @ z - E * z, atol=1e-11)
    for _ in range(2):  # both near the first set
        came, went = (
            rng.choice(np.flatnonzero(x), m, replace=False) for x, m in zip((~S, S), numbers, strict=True)
        )
        near = flipped(S, [*came, *went])
        z, residual = systems.update(near)
        assert np.all(z[~near] == 0)
        np.testing.assert_allclose(z, naive(A, E, h, near), atol=1e-11 * np.abs(z).max())
        np.testing.assert_allclose(residual, h - A @ z - E * z, atol=1e-11)
        assert np.all(np.abs(residual[near]) <= systems.noise(z)[near])


def test_without_a_factor_of_a_near_set(rng):
    A, E, h = random_systems(rng, 100)
    systems, S = PrincipalSystems(A, E, h), np.arange(100) < 80
    assert systems.update(S) is None
    systems.solve(S)
    assert systems.update(S) is None  # it would be the same solution
    assert systems.update(flipped(S, [0, 1, 2, 90])) is not None
    assert systems.update(flipped(S, [0, 1, 2, 90, 91])) is None  # one row in sixteen


def test_no_factor_of_an_indefinite_matrix():
    systems = PrincipalSystems(np.array([[1.0, 2.0], [2.0, 1.0]]), np.full(2, 0.5), np.ones(2))
    assert systems.solve(np.array([True, True])) is None
    assert systems.solve(np.array([False, True])) is not None


@pytest.mark.parametrize(("error", "serves"), [(1e-9, True), (1e-2, False)])
def test_a_factor_that_rounding_has_spoiled(error, serves, rng):
    """A second step takes away a small error; a larger one is noticed."""
    A, E, h = random_systems(rng, 100)
    systems, S = PrincipalSystems(A, E, h), np.arange(100) < 80
    systems.solve(S)
    systems.factor = systems.factor * (1 + error * rng.uniform(size=(80, 80)))
    near = flipped(S, [3, 90])
    found = systems.update(near)
    assert (found is not None) == serves
    if serves:
        np.testing.assert_allclose(found[0], naive(A, E, h, near), atol=1e-11 * np.abs(found[0]).max())
