"""A fit that ends early: limits of time and steps, and interruption."""

import signal
import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import marginpath as mp


def test_time_limit_keeps_the_best_so_far(moons):
    X, y = moons
    with pytest.warns(ConvergenceWarning, match="time limit of 1e-06 s was over after 1 steps"):
        fitted = mp.MarginPathClassifier(time_limit=1e-6).fit(X, y)
    assert fitted.n_iter_ == fitted.step_ == 1
    assert fitted.predict(X).shape == y.shape


def test_time_limit_holds_for_the_exact_finish(moons, monkeypatch):
    from marginpath.estimators import choices as following

    def slow(problem, tol, time_limit):
        assert 0 < time_limit < 0.5
        time.sleep(time_limit + 0.01)
        return maximum_margin(problem, tol, time_limit=1e-9)

    maximum_margin = following.maximum_margin
    monkeypatch.setattr(following, "maximum_margin", slow)
    with pytest.warns(ConvergenceWarning, match="time limit of 0.5 s was over after 3 steps; step 3 is kept"):
        clf = mp.MarginPathClassifier(stopping="margin", time_limit=0.5, max_iter=3).fit(*moons)
    assert clf.n_iter_ == clf.step_ == 3


def test_an_interrupt_of_the_exact_finish_keeps_the_path(moons, monkeypatch):
    from marginpath.estimators import choices as following

    def interrupted(problem, tol, time_limit):
        raise KeyboardInterrupt

    monkeypatch.setattr(following, "maximum_margin", interrupted)
    with pytest.warns(ConvergenceWarning, match="Interrupted after 5 steps; step 5 is kept"):
        clf = mp.MarginPathClassifier(stopping="margin", max_iter=5).fit(*moons)
    assert clf.predict(moons[0]).shape == moons[1].shape


def test_max_iter_too_small_warns(moons):
    with pytest.warns(ConvergenceWarning, match="max_iter=3 was reached"):
        mp.MarginPathClassifier(max_iter=3).fit(*moons)


def test_ctrl_c_keeps_the_best_so_far(moons):
    X, y = moons
    calls = []

    def scorer(estimator, X, y):
        calls.append(1)
        if len(calls) == 21:  # once for the check of the scorer, then once a fold: in the third step
            signal.raise_signal(signal.SIGINT)
        return np.mean(estimator.predict(X) == y)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.warns(ConvergenceWarning, match=r"Interrupted after 3 steps; step \d is kept"):
            fitted = mp.MarginPathClassifier(scoring=scorer, random_state=0).fit(X, y)
    finally:
        signal.signal(signal.SIGINT, before)
    assert fitted.n_iter_ == 3
    assert fitted.predict(X).shape == y.shape
