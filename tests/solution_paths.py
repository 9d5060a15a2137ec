"""Problems for the tests of the path of solutions, and what a state is by definition."""

import numpy as np
import pytest

import marginpath as mp

BOTH = pytest.mark.parametrize("intercept", [False, True])


def overlapping(n=40, seed=0, positive=0.4):
    """X and labels that hardly depend on it."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    y = np.where(X[:, 0] + 1.5 * rng.standard_normal(n) > np.quantile(X[:, 0], 1 - positive), 1, -1)
    y[:2] = 1, -1
    return X, y


def gaussian_problem(n=40, seed=0, *, intercept=True, dtype=np.float64, **settings):
    X, y = overlapping(n, seed)
    return mp.Problem(
        mp.Gram.from_kernel(X.astype(dtype), mp.Gaussian(1.0)), y, intercept=intercept, **settings
    )


def states(solver, problem, steps):
    path = mp.run(solver, problem, steps, keep=2**30)
    return [path.state(t) for t in range(1, steps + 1)]


def decisions(problem, state):
    """Return f(x_i) of every sample from u and the offset alone."""
    return -np.asarray(problem.gram.matrix, dtype=np.float64) @ (problem.Y * state.u) - state.offset


def objectives(K, y, u, bound, offset=0.0):
    """Primal and dual objective, from their definitions."""
    w_squared = (y * u) @ K @ (y * u)
    margins = -y * (K @ (y * u) + offset)
    return w_squared / 2 + np.sum(bound * np.maximum(0, 1 - margins)), -w_squared / 2 - np.sum(u)


def relative_gap(K, y, state, bound):
    """(P − D)/P, where P is also that of w over its smallest margin, which has no loss if it is positive."""
    primal, dual = objectives(K, y, state.u, bound, state.offset)
    least = np.min(-y * (K @ (y * state.u) + state.offset))
    if least > 0:
        primal = min(primal, (y * state.u) @ K @ (y * state.u) / 2 / least**2)
    return (primal - dual) / primal


def assert_same_classifier(f, g, tolerance=1e-6):
    np.testing.assert_allclose(f, g, rtol=0, atol=tolerance * max(1.0, np.abs(g).max()))
