"""Newton's method among few features: late steps of a path on overlapping classes."""

import numpy as np
import pytest
from naive import svm

import marginpath as mp
from marginpath.solvers.solution_path import feature_columns, feature_newton
from marginpath.solvers.solution_path.feature_newton import Point, Rows, solve_rows
from marginpath.solvers.solution_path.feature_rows import DenseRows

BOTH = pytest.mark.parametrize("intercept", [False, True])


@pytest.fixture(autouse=True)
def _no_rows_are_few(monkeypatch):
    """Let features be swept over however few rows there are."""
    monkeypatch.setattr("marginpath.solvers.solution_path.solver.FEW", 0)


def overlapping(n=300, d=5):
    """Features of two classes that overlap, and are not balanced."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) + 0.5
    score = X[:, 0] + 1.5 * rng.standard_normal(n)
    return X, np.where(score > np.quantile(score, 0.7), 1, -1)


def objectives(X, y, u, length, offset):
    """Primal and dual objective, from their definitions."""
    w = X.T @ (y * u)
    return w @ w / 2 + np.sum(length * np.maximum(0, 1 + y * (X @ w + offset))), -w @ w / 2 - np.sum(u)


@BOTH
@pytest.mark.parametrize("C", [0.1, 1e5])
def test_some_steps_reach_the_gap_from_anywhere(intercept, C):
    X, y = overlapping()
    low, high = np.where(y > 0, -C, 0.0), np.where(y > 0, 0.0, C)
    rows = Rows(X, y, low, high, np.zeros(X.shape[1]), 0.0, intercept)
    start = Point((low + high) / 2, np.ones(X.shape[1]), 0.0)
    scale = C * len(y)
    z, v, offset = solve_rows(rows, start, 1e-6 * scale)
    primal, dual = objectives(X, y, y * z, C, offset)
    assert np.all((low <= z) & (z <= high))
    np.testing.assert_allclose(v, X.T @ z, atol=1e-9 * scale)
    assert primal - dual <= 2e-6 * scale
    assert intercept == (offset != 0)
    assert not intercept or abs(np.sum(z)) <= 1e-6 * np.sum(np.abs(z))


@BOTH
def test_late_steps_on_few_features_take_few_sweeps(intercept, monkeypatch):
    X, y = overlapping(n=600, d=12)
    Y, calls, sweep = np.repeat(y[:, None].astype(float), 6, axis=1), [], DenseRows.sweep
    for j in range(5):
        Y[j::5, j] = 0  # a fold
    monkeypatch.setattr(DenseRows, "sweep", lambda *given: calls.append(1) or sweep(*given))
    solver = mp.SolutionPath(tol=1e-3, schedule=lambda t: 0.5 / 1.5**t)
    path = mp.run(solver, mp.Problem(mp.Gram.linear(X), Y, intercept=intercept), 35, observe=["gap"])
    state = path.last
    assert np.max(path["gap"][1:]) <= 1e-3
    for j in range(6):
        C = np.atleast_1d(state.bound)[-1] * (Y[:, j] != 0)
        offset = np.broadcast_to(state.offset, 6)[j]
        primal, dual = objectives(X, Y[:, j], state.u[:, j], C, offset)
        assert primal - dual <= 1.01e-3 * primal
    assert len(calls) <= 35 * 2 * 30  # two groups of columns; thousands without Newton's method


@BOTH
def test_the_solution_is_that_of_a_slow_reference(intercept):
    X, y = overlapping(n=80, d=4)
    solver = mp.SolutionPath(tol=1e-8, schedule=lambda t: 1 / 3.0**t)
    state = mp.run(solver, mp.Problem(mp.Gram.linear(X), y, intercept=intercept), 6).last
    expected = objectives(X, y, svm(X @ X.T, y, 3.0**6, intercept=intercept)[0], 3.0**6, 0)[1]
    assert objectives(X, y, state.u, 3.0**6, 0)[1] == pytest.approx(expected, rel=1e-6)


def test_rows_that_are_too_many_are_left_to_sweeps(monkeypatch):
    X, y = overlapping()
    problem = mp.Problem(mp.Gram.linear(X), y, intercept=True)
    solver = mp.SolutionPath(schedule=lambda t: 1 / 3.0**t)
    monkeypatch.setattr(feature_newton, "_ENTRIES", 0)
    without = mp.run(solver, problem, 4, observe=["gap"])
    monkeypatch.setattr(feature_columns, "_FEW", 0)
    never = mp.run(solver, problem, 4, observe=["gap"])
    assert np.max(without["gap"][1:]) <= 1e-3
    np.testing.assert_array_equal(without.last.u, never.last.u)
