"""The classifiers: what a fit promises, step by step."""

from dataclasses import replace

import numpy as np
import pytest
from classifiers import BOTH, METHODS, close, decisions, solved
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import PredefinedSplit, StratifiedKFold

import marginpath as mp


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("method", METHODS)
def test_at_is_a_fit_of_that_many_steps(cls, method, iris):
    X, y = iris
    fitted = cls(method=method, random_state=3, **solved()).fit(X, y)
    step = max(1, fitted.step_ // 2)
    settings = {
        "method": method,
        "schedule": fitted.schedule_,
        "stopping": None,
        "max_iter": step,
        **solved(),
    }
    if cls is mp.MarginPathClassifier:
        settings["gamma"] = fitted.gamma_
    again = cls(random_state=3, **settings).fit(X, y)
    earlier = fitted.at(step)
    close(decisions(earlier, X), decisions(again, X))
    assert earlier.step_ == again.step_ == step
    assert pytest.approx(again.C_) == earlier.C_
    staged = list(fitted.staged_decision_function(X))
    assert len(staged) == fitted.n_iter_
    close(staged[step - 1], decisions(earlier, X))
    close(staged[fitted.step_ - 1], decisions(fitted, X))
    np.testing.assert_array_equal(list(fitted.staged_predict(X))[step - 1], earlier.predict(X))


SCHEDULES = {
    "power": mp.PowerDecay(40.0),
    "log": mp.LogDecay(8.0),
    "geometric": mp.GeometricDecay(200.0, 1.3),
    "constant": mp.Constant(1.0),
    "callable": lambda t: np.inf if t < 4 else 50 * t**-1.5,
}


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
@pytest.mark.parametrize("stopping", ["cv", "holdout", "discrepancy"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", BOTH)
def test_every_schedule_is_followed(kind, method, stopping, schedule):
    """λ0/log t leaves the box empty at first: no rule may take that for the end."""
    data = mp.datasets.gaussian_mixture(n_samples=200, n_test=500, seed=1)
    y = mp.noise.flip_exactly(data.y, 20, seed=0)
    clf = kind(
        method=method,
        schedule=schedule,
        stopping=stopping,
        noise_level=0.25,
        max_iter=150,
        random_state=0,
    ).fit(data.X, y)
    assert clf.C_ > 0
    if stopping == "discrepancy":
        assert np.mean(clf.predict(data.X) != y) <= 0.25
    else:
        assert clf.score(data.X_test, data.y_test) > 0.84
        assert clf.n_iter_ >= 10


@pytest.mark.parametrize("cls", BOTH)
def test_at_refuses_steps_that_are_not_there(cls, moons):
    fitted = cls(stopping=None, max_iter=5).fit(*moons)
    for step in (0, 6, -1, 2.5):
        with pytest.raises(ValueError, match="from 1 to n_iter_ = 5"):
            fitted.at(step)


def test_a_fold_is_the_column_run_alone(moons):
    X, y = moons
    fitted = mp.MarginPathClassifier(random_state=0, path_tol=1e-11).fit(X, y)
    _, test = next(StratifiedKFold(5).split(X, y))
    signs = np.where(y == 1, 1.0, -1.0)
    signs[test] = 0
    gram = mp.Gram.from_matrix(rbf_kernel(X, gamma=fitted.gamma_))
    solver = replace(fitted.path_.solver, schedule=fitted.schedule_)
    alone = mp.run(solver, mp.Problem(gram, signs, intercept=True), fitted.step_).last
    close(fitted.out_of_fold_[test], -alone.scores[test])


@pytest.mark.parametrize("method", METHODS)
def test_a_class_is_the_binary_fit(method, iris):
    X, y = iris
    settings = {
        "method": method,
        "stopping": None,
        "max_iter": 20,
        "path_tol": 1e-11,
        "random_state": 0,
        "multi_class": "ovr",
    }
    together = mp.MarginPathClassifier(**settings).fit(X, y)
    for j, name in enumerate(together.classes_):
        alone = mp.MarginPathClassifier(schedule=together.schedule_, gamma=together.gamma_, **settings).fit(
            X, y == name
        )
        close(decisions(alone, X), decisions(together, X)[:, j])


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("method", ["inertial", "gradient"])
def test_weight_two_is_the_sample_twice(cls, method, moons):
    X, y = moons
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 4, len(y)).astype(float)
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    folds = rng.integers(0, 4, len(y))
    width = {"gamma": 0.7} if cls is mp.MarginPathClassifier else {}
    settings = {"method": method, "random_state": 0, **width}
    weighted = cls(cv=PredefinedSplit(folds), **settings).fit(X, y, sample_weight=weight)
    repeated = cls(cv=PredefinedSplit(folds[twice]), **settings).fit(X[twice], y[twice])
    assert weighted.step_ == repeated.step_
    close(decisions(weighted, X), decisions(repeated, X))


@pytest.mark.parametrize("cls", BOTH)
def test_weight_two_is_the_sample_twice_at_the_maximum_margin(cls, separable):
    X, y = separable
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    width = {"gamma": 0.1} if cls is mp.MarginPathClassifier else {}
    weighted = cls(stopping="margin", **width).fit(X, y, sample_weight=weight)
    repeated = cls(stopping="margin", **width).fit(X[twice], y[twice])
    close(decisions(weighted, X), decisions(repeated, X))
    assert weighted.separable_ is True


def test_the_maximum_margin_is_that_of_svc(separable):
    X, y = separable
    fitted = mp.MarginPathClassifier(gamma=0.1, stopping="margin", fit_intercept=False).fit(X, y)
    signs = np.where(y == 1, 1, -1)
    exact = mp.maximum_margin(mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(0.2**-0.5)), signs))
    lower, upper = fitted.margin_bounds_
    assert lower[0] <= exact.margin_bounds[1] * (1 + 1e-12)
    assert upper[0] >= exact.margin_bounds[0] * (1 - 1e-12)
    assert upper[0] - lower[0] <= 1e-4 * upper[0]
    assert (signs * fitted.decision_function(X)).min() == pytest.approx(1, abs=1e-6)


def test_margin_without_a_margin_says_so(moons):
    X, y = moons
    X, y = np.vstack([X, X[:1]]), np.append(y, 1 - y[0])
    with pytest.warns(ConvergenceWarning, match="stopping='cv'"):
        fitted = mp.MarginPathClassifier(stopping="margin", max_iter=30).fit(X, y)
    assert fitted.separable_ is False
    assert np.isfinite(fitted.decision_function(X)).all()


def test_cross_validation_table(iris):
    X, y = iris
    fitted = mp.MarginPathClassifier(random_state=0).fit(X, y)
    table = fitted.cv_results_
    assert len(table["params"]) == fitted.n_iter_ == len(table["mean_test_score"])
    splits = np.stack([table[f"split{j}_test_score"] for j in range(5)])
    np.testing.assert_allclose(table["mean_test_score"], splits.mean(axis=0))
    np.testing.assert_allclose(table["std_test_score"], splits.std(axis=0))
    assert table["params"][fitted.step_ - 1] == {"step": fitted.step_, "C": fitted.C_}
    np.testing.assert_array_equal(table["gap"], fitted.path_["gap"][1:])
    assert np.all((table["gap"] >= 0) & (table["gap"] <= 1.000001e-3))
    assert fitted.score(X, y) > 0.95
    by_fold = fitted.classes_[fitted.out_of_fold_.argmax(axis=1)]
    assert np.mean(by_fold == y) == pytest.approx(table["mean_test_score"][fitted.step_ - 1])
    best = mp.MarginPathClassifier(selection="best", random_state=0).fit(X, y)
    assert np.argmin(best.cv_results_["rank_test_score"]) == best.step_ - 1


def test_width_chosen_too(moons):
    X, y = moons
    settings = {"selection": "best", "path_tol": 1e-11, "random_state": 0}
    fitted = mp.MarginPathClassifier(gamma="tuned", **settings).fit(X, y)
    table = fitted.cv_results_
    assert len(table["gap"]) == len(table["params"])
    assert fitted.gamma_ in fitted.width_results_["param_gamma"]
    row = np.flatnonzero((table["param_gamma"] == fitted.gamma_) & (table["param_step"] == fitted.step_))
    assert table["mean_test_score"][row[0]] == table["mean_test_score"].max()
    settings |= {"gamma": fitted.gamma_, "schedule": fitted.schedule_}
    plain = mp.MarginPathClassifier(**settings).fit(X, y)
    assert plain.n_iter_ == fitted.n_iter_
    close(decisions(fitted, X), decisions(plain, X), 1e-6)


@pytest.mark.parametrize(("stopping", "settings"), [("holdout", {}), ("discrepancy", {"noise_level": 0.1})])
def test_other_ways_to_stop(stopping, settings, moons):
    X, y = moons
    fitted = mp.MarginPathClassifier(stopping=stopping, random_state=0, **settings).fit(X, y)
    assert fitted.score(X, y) > 0.8
    if stopping == "discrepancy":
        assert np.mean(fitted.predict(X) != y) <= 0.1
        assert np.mean(fitted.at(fitted.step_ - 1).predict(X) != y) > 0.1


def test_a_rule_object_chooses(moons):
    X, y = moons
    rule = mp.LeaveOneOut()
    fitted = mp.MarginPathClassifier(stopping=rule, random_state=0).fit(X, y)
    assert 1 <= fitted.step_ < fitted.n_iter_
    assert fitted.step_ == rule.choose(fitted.path_)[0]


def test_patience_in_steps(moons):
    best = mp.MarginPathClassifier(n_iter_no_change=3, selection="best", random_state=0).fit(*moons)
    assert best.n_iter_ == best.step_ + 3
    smooth = mp.MarginPathClassifier(n_iter_no_change=3, random_state=0).fit(*moons)
    assert smooth.n_iter_ == best.n_iter_


def test_one_standard_error_is_earlier(moons):
    best, simple = (
        mp.MarginPathClassifier(selection=s, random_state=0).fit(*moons) for s in ("best", "one_se")
    )
    assert simple.step_ <= best.step_
    assert simple.C_ <= best.C_


def test_the_toy_set_with_the_schedule_of_the_paper():
    data = mp.datasets.toy()
    settings = {"schedule": mp.GeometricDecay(8.0), "fit_intercept": False, "random_state": 0}
    clf = mp.MarginPathClassifier("linear", stopping=None, max_iter=49, **settings).fit(data.X, data.y)
    assert clf.score(data.X, data.y) == 1
    lower, upper = clf.margin_bounds_
    assert lower <= 2**0.5 <= upper <= 1.01 * lower


def test_linear_weights_of_columns_far_from_zero(rng):
    """In float32 their sums over the samples would cancel: another classifier than the validated one."""
    X = rng.standard_normal((1500, 10))
    y = (X[:, :5].sum(axis=1) + rng.standard_normal(1500) > 0).astype(int)
    rows = (X + 1000).astype(np.float32)
    clf = mp.LinearMarginPathClassifier(random_state=0).fit(rows, y)
    assert clf.score(rows, y) > max(clf.cv_results_["mean_test_score"]) - 0.02
    *_, last = zip(range(clf.step_), clf.staged_predict(rows), strict=False)
    assert np.mean(last[1] == clf.predict(rows)) > 0.99
