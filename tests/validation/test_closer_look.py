"""The winner of a race has its short steps where its short path was at its best."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_moons

import marginpath as mp
from marginpath.schedules import LongThenShort
from marginpath.validation.closer_look import closer_look
from marginpath.validation.cross_validation import PathValidation
from marginpath.validation.short_path import LONG, short_path


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.3, random_state=0)


@pytest.fixture(scope="module")
def tuned(moons):
    return mp.MarginPathClassifier(gamma="tuned", random_state=0).fit(*moons)


def short_of(X, y, sigma, **settings):
    gram = mp.Gram.from_kernel(X, mp.Gaussian(sigma))
    return short_path(PathValidation(gram, y, intercept=True, whole=False, **settings), 100)


@pytest.mark.parametrize("sigma", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("selection", ["smooth", "best"])
@pytest.mark.parametrize("scoring", [None, "balanced_accuracy"])
def test_the_best_step_of_the_short_path_is_among_the_short_steps(moons, sigma, selection, scoring):
    short = short_of(*moons, sigma, scoring=scoring)
    schedule = closer_look(short, selection)
    bounds, scores = short.observed["bound"], short.observed["scores"].mean(axis=1)
    long = [1 / schedule(t) for t in range(1, schedule.turn + 1)]
    ahead = 0 if np.isclose(long[0], bounds[0]) else 2  # steps, so that two short ones end at a long one
    np.testing.assert_allclose(long, bounds[: len(long)] * schedule.short**ahead)
    assert ahead == 0 or np.isclose(1 / schedule(schedule.turn + 2), bounds[schedule.turn])
    best = bounds[scores.argmax()]
    assert 1 / schedule(schedule.turn) <= best
    if schedule.end is not None:
        last = 1 / schedule(schedule.end)
        assert last > best if selection == "best" else last > long[-1]
        assert last <= bounds[-1] * mp.SolutionPath.ratio


def test_there_is_no_end_where_a_larger_c_could_be_better(moons):
    short = short_of(*moons, 0.5)
    scores = short.observed["scores"].copy()
    scores[-1] = scores.max() + 0.1
    still_rising = replace(short, observed={**short.observed, "scores": scores}, is_settled=False)
    assert closer_look(still_rising, "best").end is None
    assert closer_look(replace(still_rising, is_settled=True), "best").end is not None


def test_every_step_of_the_winner_is_a_solution(tuned):
    schedule = tuned.schedule_
    assert isinstance(schedule, LongThenShort)
    assert (schedule.long, schedule.short) == (schedule.short**LONG, mp.SolutionPath.ratio)
    assert tuned.step_ <= tuned.n_iter_ <= schedule.end
    sizes = [1 / schedule(t) for t in range(1, tuned.n_iter_ + 1)]
    np.testing.assert_allclose(tuned.path_["bound"][1:], sizes)
    assert np.all(tuned.cv_results_["gap"] <= 1e-3 * (1 + 1e-6))
    assert len(tuned.cv_results_["mean_test_score"]) == tuned.n_iter_
    assert tuned.path_["bound"][tuned.step_] == tuned.C_


def test_the_steps_can_be_asked_for(tuned, moons):
    X, _ = moons
    staged = list(tuned.staged_decision_function(X[:9]))
    assert len(staged) == tuned.n_iter_
    np.testing.assert_allclose(
        staged[tuned.step_ - 1], tuned.at(tuned.step_).decision_function(X[:9]), rtol=1e-9, atol=1e-9
    )


def test_it_chooses_about_what_all_short_steps_choose(tuned, moons):
    whole = mp.MarginPathClassifier(gamma=tuned.gamma_, random_state=0).fit(*moons)
    assert whole.n_iter_ > tuned.n_iter_
    assert abs(np.log(whole.C_ / tuned.C_)) < np.log(mp.SolutionPath.ratio**LONG)
    scores = (c.cv_results_["mean_test_score"][c.step_ - 1] for c in (whole, tuned))
    assert abs(np.subtract(*scores)) < 0.02


@pytest.mark.parametrize("settings", [{"n_iter_no_change": 20}, {"time_limit": 60.0}])
def test_who_asks_for_something_else_has_all_short_steps(settings, moons):
    clf = mp.MarginPathClassifier(gamma="tuned", random_state=0, **settings).fit(*moons)
    assert isinstance(clf.schedule_, mp.GeometricDecay)
    np.testing.assert_allclose(np.diff(np.log(clf.path_["bound"][1:])), np.log(1.5))


def test_a_warm_start_finds_the_path_at_its_end(moons):
    clf = mp.MarginPathClassifier(gamma="tuned", random_state=0, warm_start=True).fit(*moons)
    before = clf.n_iter_, clf.step_, clf.C_, clf.schedule_
    clf.set_params(max_iter=200).fit(*moons)
    assert (clf.n_iter_, clf.step_, clf.C_, clf.schedule_) == before


def test_a_path_in_two_paces_is_resumed_to_the_bit(moons):
    X, y = moons
    problem = mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(0.5)), np.where(y, 1, -1), intercept=True)
    solver = mp.SolutionPath(LongThenShort(40.0, 5.0, 1.5, turn=3))
    whole, part = mp.run(solver, problem, 8), mp.run(solver, problem, 2)
    assert mp.resume(part, problem, 6).last.u.tobytes() == whole.last.u.tobytes()
