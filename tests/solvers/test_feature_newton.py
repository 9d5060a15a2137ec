"""Newton's method among few features: late steps of a path on overlapping classes."""

import tracemalloc

import numpy as np
import pytest
from naive import svm

import marginpath as mp
from marginpath.gram.scaled import Scaled
from marginpath.mapped import Room
from marginpath.solvers.solution_path import feature_columns, feature_newton
from marginpath.solvers.solution_path.feature_newton import Curvature, Point, Rows, solve_rows
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


@pytest.fixture
def newtons(monkeypatch):
    """A list that has an entry for each column that went by Newton's method."""
    calls, solve = [], feature_newton.solve_rows
    monkeypatch.setattr(feature_newton, "solve_rows", lambda *given: calls.append(1) or solve(*given))
    return calls


@BOTH
@pytest.mark.parametrize("C", [0.1, 1e5])
def test_some_steps_reach_the_gap_from_anywhere(intercept, C):
    X, y = overlapping()
    low, high = np.where(y > 0, -C, 0.0), np.where(y > 0, 0.0, C)
    rows = Rows(Scaled.of(X), y, low, high, np.zeros(X.shape[1]), 0.0, intercept)
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


@BOTH
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_and_folds_count_as_in_a_slow_reference(intercept, dtype, newtons):
    X, y = overlapping(n=80, d=4)
    X, mass = X.astype(dtype), np.random.default_rng(1).uniform(0.5, 2.0, len(y)).astype(dtype)
    Y = np.column_stack([y, np.where(np.arange(len(y)) % 4 == 0, 0, y)]).astype(dtype)
    problem = mp.Problem(mp.Gram.linear(X), Y, sample_weight=mass, intercept=intercept)
    state = mp.run(mp.SolutionPath(tol=1e-5, schedule=lambda t: 1 / 3.0**t), problem, 5).last
    assert len(newtons) > 0
    for j in range(2):
        kept = Y[:, j] != 0
        K, C = X[kept].astype(float) @ X[kept].astype(float).T, 3.0**5 * mass[kept].astype(float)
        expected = svm(K, Y[kept, j].astype(float), C, intercept=intercept)[1]
        dual = objectives(X[kept].astype(float), Y[kept, j], state.u[kept, j].astype(float), C, 0)[1]
        assert not np.any(state.u[~kept, j])
        assert dual == pytest.approx(-expected, rel=2e-5)


@BOTH
def test_bits_depend_neither_on_threads_nor_on_a_rest(intercept, newtons, tmp_path):
    X, y = overlapping(n=400, d=8)
    Y = np.repeat(y[:, None].astype(np.float32), 6, axis=1)
    for j in range(5):
        Y[j::5, j] = 0
    problem = mp.Problem(mp.Gram.linear(X.astype(np.float32)), Y, intercept=intercept)
    paths = [mp.run(mp.SolutionPath(ratio=3.0, threads=n), problem, 14, observe=["gap"]) for n in (1, 2, 3)]
    mp.run(mp.SolutionPath(ratio=3.0), problem, 9, observe=["gap"]).save(tmp_path / "path.npz")
    rested = mp.resume(mp.Path.load(tmp_path / "path.npz"), problem, 5)
    assert len(newtons) > 0
    for path in (*paths[1:], rested):
        assert path["gap"].tobytes() == paths[0]["gap"].tobytes()
        for name, values in paths[0].last.arrays().items():
            assert path.last.arrays()[name].tobytes() == values.tobytes(), name


@pytest.mark.parametrize("spoilt", [0.0, np.nan])
def test_what_does_not_lower_the_gap_is_undone(spoilt, monkeypatch):
    X, y = overlapping()
    problem = mp.Problem(mp.Gram.linear(X), y, intercept=True)
    solver, calls = mp.SolutionPath(schedule=lambda t: 10 / 1.2**t), []
    monkeypatch.setattr(feature_columns, "_MOST", 1.0)

    def nowhere(rows, start, *_):
        calls.append(len(rows.X))
        return Point(np.zeros(len(rows.X)), np.full(X.shape[1], spoilt), 0.0)  # a gap of 1

    monkeypatch.setattr(feature_newton, "solve_rows", nowhere)
    undone = mp.run(solver, problem, 8, observe=["gap"])
    monkeypatch.setattr(feature_columns, "_EARLY", np.inf)
    never = mp.run(solver, problem, 8, observe=["gap"])
    assert 0 < len(calls) <= 8 * 3  # in a step where it did not help, it is not asked again
    np.testing.assert_array_equal(undone.last.u, never.last.u)
    assert undone["gap"].tobytes() == never["gap"].tobytes()


@pytest.mark.parametrize("dear", [False, True])
def test_many_rows_that_move_and_many_features_are_left_to_sweeps(dear, newtons, monkeypatch):
    X, y = overlapping()
    problem = mp.Problem(mp.Gram.linear(X), y, intercept=True)
    monkeypatch.setattr(feature_columns, "_DEAR", 1e9 if dear else 0.0)
    monkeypatch.setattr(feature_columns, "_MOST", 1.0 if dear else 0.0)
    path = mp.run(mp.SolutionPath(schedule=lambda t: 1 / 3.0**t), problem, 4, observe=["gap"])
    assert np.max(path["gap"][1:]) <= 1e-3
    assert not newtons


def test_rows_that_nearly_all_move_are_taken_after_some_more_rounds(newtons, monkeypatch):
    monkeypatch.setattr(feature_columns, "LARGEST_SET", 0)  # as if they were thousands
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 10))
    y = np.where(np.abs(X[:, 0]) + rng.standard_normal(600) > 1.5, 1, -1)  # no plane helps: w is nearly 0
    problem = mp.Problem(mp.Gram.linear(X), y, intercept=True)
    path = mp.run(mp.SolutionPath(schedule=lambda t: 30 / 2.0**t), problem, 12, observe=["gap"])
    assert len(newtons) > 0
    assert np.max(path["gap"][1:]) <= 1e-3


def test_curvature_follows_the_rows_between_their_bounds(monkeypatch):
    monkeypatch.setattr(feature_newton, "_PIECE", 20)
    X, _ = overlapping(n=50)
    rng, curvature = np.random.default_rng(0), feature_newton.Curvature(Scaled.of(X.astype(np.float32)))
    for share in (0.5, 0.6, 0.55, 0.1, 0.0, 1.0):
        free = rng.uniform(size=50) < share
        slope, excess, sigma = rng.standard_normal(5), 0.3, 7.0
        way, turn = curvature.direction(free, slope, excess, sigma, tied=True)
        whole = np.hstack([X.astype(np.float32)[free], np.ones((free.sum(), 1))]).astype(float)
        ends = np.diag([1.0] * 5 + [sigma * feature_newton._RIDGE])
        expected = np.linalg.solve(ends + sigma * whole.T @ whole, np.append(-slope, excess))
        np.testing.assert_allclose(np.append(way, turn), expected, rtol=1e-9)


def test_no_array_is_as_large_as_the_features_in_float64():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40_000, 64)).astype(np.float32)
    y = np.where(X[:, 0] + rng.standard_normal(len(X)) > 0, 1.0, -1.0)
    low, high = np.where(y > 0, -10.0, 0), np.where(y > 0, 0, 10.0)
    rows = Rows(Scaled.of(X), y, low, high, np.zeros(64), 0.0, True)
    start = Point((low + high) / 2, np.zeros(64), 0.0)
    solve_rows(rows, start, 1e-2)  # compiled
    tracemalloc.start()
    solve_rows(rows, start, 1e-2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes


def test_features_in_a_file_have_the_bits_of_those_in_memory(newtons, monkeypatch):
    X, y = overlapping(n=400, d=8)
    X, paths = X.astype(np.float32), []
    for room in (Room(), Room(most=64, advice="")):
        gram = mp.Gram.linear(X)
        monkeypatch.setattr(gram, "room", room)
        problem = mp.Problem(gram, y.astype(np.float32), intercept=True)
        paths.append(mp.run(mp.SolutionPath(ratio=3.0), problem, 12))
    assert len(newtons) > 0
    np.testing.assert_array_equal(paths[0].last.u, paths[1].last.u)


def test_features_that_are_equal_are_solved_at_any_C(rng):
    """One-hot columns, of which some are others, and of which every block sums to 1."""
    blocks = [np.eye(3)[a] for a in rng.integers(0, 3, (3, 9000))]
    X = np.concatenate([*blocks, blocks[0]], axis=1)
    y = np.where(rng.random(9000) < 0.02, 1, -1)
    problem = mp.Problem(mp.Gram.linear(X), y, intercept=True)
    path = mp.run(mp.SolutionPath(ratio=1e3, tol=0.01, rounds=5), problem, 6)
    assert np.all(np.isfinite(path.last.u))
    assert np.all(np.isfinite(path.last.scores))


def test_a_direction_is_found_beside_curvatures_that_1_is_lost_in(rng):
    X = np.repeat(rng.standard_normal((40, 2)), 2, axis=1)
    for sigma in 10.0 ** np.arange(0, 26, 2):
        way, turn = Curvature(Scaled.of(X)).direction(np.ones(40, dtype=bool), np.ones(4), 1.0, sigma, True)
        assert np.all(np.isfinite(way))
        assert np.isfinite(turn)
