"""A time limit finds large steps taken first."""

import numpy as np
import pytest
from classifiers import close, decisions
from sklearn.exceptions import ConvergenceWarning

import marginpath as mp
from marginpath.path.path import Status
from marginpath.validation.cross_validation import PathValidation


def test_a_limit_that_is_long_enough_changes_nothing(moons):
    limited = mp.MarginPathClassifier(random_state=0, time_limit=1000).fit(*moons)
    free = mp.MarginPathClassifier(random_state=0).fit(*moons)
    assert limited.step_ == free.step_
    close(decisions(limited, moons[0]), decisions(free, moons[0]), 0)


@pytest.mark.parametrize("steps", [1, 8])
def test_the_better_of_large_steps_and_small_ones_is_kept(steps, moons, monkeypatch):
    """Time is over after so many of the small steps; large ones have been through all C by then."""
    best = mp.MarginPathClassifier(random_state=0).fit(*moons).cv_results_["mean_test_score"].max()
    run = PathValidation.run

    def short(self, solver, most, **settings):
        path = run(self, solver, most if solver.ratio > 2 else steps, **settings)
        path.ended = path.ended if solver.ratio > 2 else Status.TIME_LIMIT
        return path

    monkeypatch.setattr(PathValidation, "run", short)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        clf = mp.MarginPathClassifier(random_state=0, time_limit=1000).fit(*moons)
    assert clf.path_.solver.ratio == pytest.approx(1.5**4)
    assert clf.cv_results_["mean_test_score"].max() > best - 0.03
    assert np.all(np.diff(clf.cv_results_["param_C"]) > 0)


def test_a_limit_within_the_large_steps_gives_the_best_of_them(moons):
    with pytest.warns(ConvergenceWarning, match="time limit"):
        clf = mp.MarginPathClassifier(random_state=0, time_limit=1e-6).fit(*moons)
    assert clf.n_iter_ >= 1
    assert set(clf.predict(moons[0])) <= set(moons[1])
