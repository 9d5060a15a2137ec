"""The regression picture: ridge and Landweber lead to the minimum-norm interpolant."""

import array_api_strict
import numpy as np
import pytest

from marginpath.regression import discrepancy_step, landweber, minimum_norm, ridge_path


def shapes():
    rng = np.random.default_rng(0)
    wide, tall = rng.standard_normal((5, 12)), rng.standard_normal((12, 5))
    low_rank = rng.standard_normal((8, 2)) @ rng.standard_normal((2, 6))
    return {"wide": wide, "tall": tall, "low rank": low_rank, "zero": np.zeros((3, 2))}


SHAPES = shapes()


@pytest.mark.parametrize("shape", SHAPES)
def test_all_ways_lead_to_the_minimum_norm_solution(shape):
    X = SHAPES[shape]
    y = np.random.default_rng(1).standard_normal(len(X))
    expected = np.linalg.pinv(X) @ y
    np.testing.assert_allclose(minimum_norm(X, y), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ridge_path(X, y, [1e-10])[0], expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(landweber(X, y, 20_000)[-1], expected, rtol=0, atol=1e-8)


def test_ridge_is_the_minimiser():
    X, y = SHAPES["tall"], np.arange(12.0)
    for λ, w in zip([10.0, 0.1], ridge_path(X, y, [10.0, 0.1]), strict=True):
        np.testing.assert_allclose(w, np.linalg.solve(X.T @ X + λ * np.eye(5), X.T @ y), rtol=1e-10)


def test_landweber_residuals_never_increase_and_norms_never_decrease():
    X, y = SHAPES["wide"], np.random.default_rng(1).standard_normal(5)
    path = landweber(X, y, 500)
    assert path.shape == (501, 12)
    assert np.all(np.diff(np.linalg.norm(path @ X.T - y, axis=1)) <= 1e-14)
    assert np.all(np.diff(np.linalg.norm(path, axis=1)) >= -1e-14)


def test_early_stopping_is_better_than_the_interpolant():
    rng = np.random.default_rng(3)
    U, V = (np.linalg.qr(rng.standard_normal((40, 40)))[0] for _ in range(2))
    X = U * 0.8 ** np.arange(40) @ V.T
    w = V @ (0.7 ** np.arange(40))
    noise = 0.02 * rng.standard_normal(40)
    path = landweber(X, X @ w + noise, 3000)
    errors = np.linalg.norm(path - w, axis=1)
    t = discrepancy_step(X, X @ w + noise, path, float(np.linalg.norm(noise)))
    assert 0 < t < 3000
    assert errors[t] < 2 * errors.min()
    assert errors[t] < 0.1 * np.linalg.norm(minimum_norm(X, X @ w + noise) - w)
    assert discrepancy_step(X, X @ w + noise, path, 0.0) == 3000


def test_other_arrays_and_dtypes():
    xp = array_api_strict
    X, y = (xp.asarray(a, dtype=xp.float32) for a in (SHAPES["tall"], np.arange(12.0)))
    for result in (ridge_path(X, y, [1.0, 0.5]), landweber(X, y, 50), minimum_norm(X, y)):
        assert result.dtype == xp.float32
    assert discrepancy_step(X, y, landweber(X, y, 50), 1e9) == 0


def test_errors():
    X, y = SHAPES["tall"], np.arange(12.0)
    with pytest.raises(ValueError, match="y has 11 values, but X has 12 rows"):
        landweber(X, y[:11], 3)
    with pytest.raises(ValueError, match=r"cannot converge: it must be under 2/‖X‖²"):
        landweber(X, y, 3, step_size=2.01 / np.linalg.norm(X, 2) ** 2)
    with pytest.raises(ValueError, match="step_size must be a positive"):
        landweber(X, y, 3, step_size=-1.0)
    with pytest.raises(ValueError, match="Each λ must be finite and at least 0"):
        ridge_path(X, y, [-1.0])
    with pytest.raises(ValueError, match="factor at least 1"):
        discrepancy_step(X, y, landweber(X, y, 3), 1.0, factor=0.5)
