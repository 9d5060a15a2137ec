"""A time limit that passes in the midst of a step."""

import time

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

import marginpath as mp
from marginpath.solvers.solution_path.feature_columns import FeatureColumns
from marginpath.solvers.solution_path.feature_rows import DenseRows
from marginpath.solvers.solution_path.few_columns import FewColumns
from marginpath.solvers.solution_path.kernel_columns import KernelColumns

LIMIT = 1.0


def wait_for(stopped):
    """Do what a step of minutes would: it ends when it is told to, or fails the test."""
    begin = time.monotonic()
    while not stopped():
        assert time.monotonic() - begin < 60, "nobody stopped this step"
        time.sleep(0.01)


@pytest.fixture(params=["features", "kernel values", "few samples"])
def problem_and_slow_from(request, monkeypatch):
    """A problem of three columns, and what lets every step from the given one on take for ever."""
    X, y = make_moons(300, noise=0.3, random_state=0)
    Y = np.where(np.arange(300)[:, None] % 3 == np.arange(3), 0, 2 * y[:, None] - 1)
    on_features = request.param == "features"
    monkeypatch.setattr("marginpath.solvers.solution_path.solver.FEW", 10)
    if request.param == "kernel values":
        monkeypatch.setattr("marginpath.solvers.solution_path.few_columns.FEW", 0)
    gram = (mp.Gram.landmarks if on_features else mp.Gram.from_kernel)(
        X, mp.Gaussian(1.0), *([40] if on_features else [])
    )
    columns, now = FeatureColumns if on_features else KernelColumns, {"t": 0}
    solve, sweep, solve_one = columns.solve, DenseRows.sweep, KernelColumns._solve
    solve_few = FewColumns._solve_some

    def slow_from(first):
        def noted(self, settings, t):
            now["t"] = t
            solve(self, settings, t)

        def slow_sweep(self, group, rng):
            if now["t"] >= first:
                wait_for(group.stopped)
            return sweep(self, group, rng)

        def slow_column(self, j, settings, stop):
            if now["t"] >= first:
                wait_for(lambda: stop[0])
            solve_one(self, j, settings, stop)

        def slow_few(self, settings, workers, share, stop):
            if now["t"] >= first:
                wait_for(lambda: stop[0])
            return solve_few(self, settings, workers, share, stop)

        monkeypatch.setattr(columns, "solve", noted)
        monkeypatch.setattr(FewColumns, "_solve_some", slow_few)
        monkeypatch.setattr(DenseRows, "sweep", slow_sweep)
        monkeypatch.setattr(KernelColumns, "_solve", slow_column)

    return mp.Problem(gram, Y, intercept=True), slow_from


def test_a_step_that_is_cut_short_does_not_count(problem_and_slow_from, monkeypatch):
    problem, slow_from = problem_and_slow_from
    whole = mp.run(mp.SolutionPath(), problem, 8, observe=["gap"])
    slow_from(4)
    path = mp.run(mp.SolutionPath(), problem, 8, observe=["gap"], time_limit=LIMIT)
    assert path.status == (mp.Status.TIME_LIMIT,) * 3
    assert path.last.t == 3
    slow_from(100)
    resumed = mp.resume(path, problem, 5)
    assert resumed["gap"].tobytes() == whole["gap"].tobytes()
    assert resumed.last.u.tobytes() == whole.last.u.tobytes()


def test_a_first_step_that_is_cut_short_says_so_by_its_gap(problem_and_slow_from):
    problem, slow_from = problem_and_slow_from
    solver = mp.SolutionPath(mp.GeometricDecay(0.01))  # far along the path at once
    slow_from(1)
    path = mp.run(solver, problem, 8, observe=["gap"], time_limit=LIMIT)
    assert path.last.t == 1
    assert np.all(path["gap"][1] > solver.gap_tol)


def test_a_classifier_of_one_step_cut_short_warns_of_its_gap(monkeypatch):
    solve = FewColumns._solve_some

    def slow(self, settings, workers, share, stop):
        wait_for(lambda: stop[0])
        return solve(self, settings, workers, share, stop)

    monkeypatch.setattr(FewColumns, "_solve_some", slow)
    X, y = make_moons(100, noise=0.3, random_state=0)
    clf = mp.MarginPathClassifier(schedule=mp.GeometricDecay(0.01), time_limit=0.1)
    with pytest.warns(ConvergenceWarning, match="after 1 steps; .* it is not the SVM at its C"):
        clf.fit(X, y)
