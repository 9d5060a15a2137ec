"""The classifiers: what a fit promises, step by step, and what bad input is told."""

import os
import pickle
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from naive import far_apart
from sklearn.datasets import load_iris, make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, PredefinedSplit, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import marginpath as mp

BOTH = [mp.MarginPathClassifier, mp.LinearMarginPathClassifier]
METHODS = ["coordinate", "inertial", "gradient"]


@pytest.fixture(scope="module")
def moons():
    return make_moons(120, noise=0.3, random_state=0)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def separable():
    X, y = make_classification(
        80, 4, n_informative=4, n_redundant=0, n_clusters_per_class=1, class_sep=3, random_state=0
    )
    return X, y


def decisions(classifier, X):
    return classifier.decision_function(X)


def close(a, b, tolerance=1e-8):
    scale = max(1.0, float(np.max(np.abs(b))))
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("method", METHODS)
def test_at_is_a_fit_of_that_many_steps(cls, method, iris):
    X, y = iris
    fitted = cls(method=method, random_state=3).fit(X, y)
    step = max(1, fitted.step_ // 2)
    settings = {"method": method, "schedule": fitted.schedule_, "stopping": None, "max_iter": step}
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
    assert clf.score(data.X_test, data.y_test) > 0.84
    if stopping != "discrepancy":
        assert clf.n_iter_ >= 15


@pytest.mark.parametrize("cls", BOTH)
def test_at_refuses_steps_that_are_not_there(cls, moons):
    fitted = cls(stopping=None, max_iter=5).fit(*moons)
    for step in (0, 6, -1, 2.5):
        with pytest.raises(ValueError, match="from 1 to n_iter_ = 5"):
            fitted.at(step)


def test_a_fold_is_the_column_run_alone(moons):
    X, y = moons
    fitted = mp.MarginPathClassifier(random_state=0).fit(X, y)
    _, test = next(StratifiedKFold(5).split(X, y))
    signs = np.where(y == 1, 1.0, -1.0)
    signs[test] = 0
    constant = fitted.constant_
    gram = mp.Gram.from_matrix(rbf_kernel(X, gamma=fitted.gamma_) + constant)
    solver = replace(fitted.path_.solver, schedule=fitted.schedule_)
    alone = mp.run(solver, mp.Problem(gram, signs), fitted.step_).last
    close(fitted.out_of_fold_[test], -alone.scores[test])


@pytest.mark.parametrize("method", METHODS)
def test_a_class_is_the_binary_fit(method, iris):
    X, y = iris
    together = mp.MarginPathClassifier(method=method, stopping=None, max_iter=20, random_state=0).fit(X, y)
    for j, name in enumerate(together.classes_):
        alone = mp.MarginPathClassifier(
            method=method,
            stopping=None,
            max_iter=20,
            random_state=0,
            schedule=together.schedule_,
            gamma=together.gamma_,
        ).fit(X, y == name)
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
    assert fitted.score(X, y) > 0.95
    by_fold = fitted.classes_[fitted.out_of_fold_.argmax(axis=1)]
    assert np.mean(by_fold == y) == pytest.approx(table["mean_test_score"][fitted.step_ - 1])
    best = mp.MarginPathClassifier(selection="best", random_state=0).fit(X, y)
    assert np.argmin(best.cv_results_["rank_test_score"]) == best.step_ - 1


def test_width_chosen_too(moons):
    X, y = moons
    fitted = mp.MarginPathClassifier(gamma="tuned", selection="best", random_state=0).fit(X, y)
    table = fitted.cv_results_
    assert len(np.unique(table["param_gamma"])) == 10
    assert fitted.gamma_ in table["param_gamma"]
    row = np.flatnonzero((table["param_gamma"] == fitted.gamma_) & (table["param_step"] == fitted.step_))
    assert table["mean_test_score"][row[0]] == table["mean_test_score"].max()
    plain = mp.MarginPathClassifier(gamma=fitted.gamma_, selection="best", random_state=0).fit(X, y)
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


def test_warm_start_goes_on(moons):
    X, y = moons
    whole = mp.MarginPathClassifier(stopping=None, max_iter=12, random_state=0).fit(X, y)
    part = mp.MarginPathClassifier(stopping=None, max_iter=5, random_state=0, warm_start=True).fit(X, y)
    first = part.at(5)
    part.set_params(max_iter=12).fit(X, y)
    np.testing.assert_array_equal(decisions(part, X), decisions(whole, X))
    assert (part.n_iter_, first.n_iter_) == (12, 5)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("stopping", [None, "cv"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_warm_start_refuses_other_data(cls, stopping):
    (X, replaced, y), moved = far_apart(), far_apart()[0]
    kernel = {"gamma": 1.0} if cls is mp.MarginPathClassifier else {}
    part = cls(stopping=stopping, max_iter=3, random_state=0, warm_start=True, **kernel).fit(X, y)
    before = decisions(part, X)
    moved[77, 1] = np.nextafter(moved[77, 1], 9.0)
    weights, others = np.where(np.arange(200) < 9, 2.0, 1.0), y[::-1].copy()
    part.set_params(max_iter=6)
    for name, data in {
        "X": (replaced, y),
        "X ": (moved, y),
        "X, y": (X[:-1], y[:-1]),
        "y": (X, others),
        "sample_weight": (X, y, weights),
    }.items():
        with pytest.raises(ValueError, match=f"same samples and classes .* but {name.strip()} differ"):
            part.fit(*data)
    np.testing.assert_array_equal(decisions(part, X), before)  # what was refused has changed nothing
    assert part.fit(X.copy(), y).n_iter_ == 6


def test_warm_start_sees_samples_that_were_changed_in_place():
    X, y = np.random.default_rng(0).standard_normal((40, 2)), np.arange(40) % 2
    part = mp.MarginPathClassifier(stopping=None, max_iter=3, random_state=0, warm_start=True).fit(X, y)
    X[7] = 0
    with pytest.raises(ValueError, match="but X differ"):
        part.set_params(max_iter=6).fit(X, y)


@pytest.mark.parametrize(
    "changed",
    [
        {"gamma": 0.7},
        {"kernel": "laplacian"},
        {"degree": 2, "kernel": "poly"},
        {"class_weight": {0: 2.0, 1: 1.0}},
        {"class_weight": "balanced"},
        {"fit_intercept": False},
        {"intercept_scaling": 2.0},
        {"method": "inertial"},
        {"schedule": mp.PowerDecay(1.0)},
        {"stopping": "cv"},
        {"cv": [(np.arange(9), np.arange(9, 12))]},
        {"random_state": 1},
    ],
)
def test_warm_start_refuses_other_settings(changed, moons):
    X, y = moons
    part = mp.MarginPathClassifier(stopping=None, max_iter=3, random_state=0, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=f"but {', '.join(changed)} differ"):
        part.set_params(max_iter=6, **changed).fit(X, y)


def test_warm_start_lets_the_limits_change(moons):
    X, y = moons
    part = mp.MarginPathClassifier(
        stopping=None, max_iter=3, random_state=0, warm_start=True, class_weight={0: 2.0, 1: 1.0}
    ).fit(X, y)
    part.set_params(max_iter=6, time_limit=100.0, tol=1e-3, verbose=0, n_jobs=1, cache_size=0.01)
    assert part.set_params(class_weight={0: 2.0, 1: 1.0}).fit(X, y).n_iter_ == 6


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_without_warm_start_is_not_gone_on_with(moons):
    X, y = moons
    late = mp.MarginPathClassifier(random_state=0, max_iter=3).fit(X, y)
    late.set_params(warm_start=True, max_iter=6).fit(X, y)
    whole = mp.MarginPathClassifier(random_state=0, max_iter=6).fit(X, y)
    np.testing.assert_array_equal(decisions(late, X), decisions(whole, X))
    assert late.n_iter_ == 6


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_warm_start_of_cross_validation(moons):
    X, y = moons
    whole = mp.MarginPathClassifier(random_state=0).fit(X, y)
    part = mp.MarginPathClassifier(random_state=0, max_iter=3, warm_start=True).fit(X, y)
    part.set_params(max_iter="auto").fit(X, y)
    assert part.step_ == whole.step_
    np.testing.assert_array_equal(decisions(part, X), decisions(whole, X))
    np.testing.assert_array_equal(part.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"])


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


def test_the_toy_set_with_the_schedule_of_the_paper():
    data = mp.datasets.toy()
    settings = {"schedule": mp.GeometricDecay(8.0), "fit_intercept": False, "random_state": 0}
    clf = mp.MarginPathClassifier("linear", stopping=None, max_iter=49, **settings).fit(data.X, data.y)
    assert clf.score(data.X, data.y) == 1
    lower, upper = clf.margin_bounds_
    assert lower <= 2**0.5 <= upper <= 1.01 * lower


def test_max_iter_too_small_warns(moons):
    with pytest.warns(ConvergenceWarning, match="max_iter=3 was reached"):
        mp.MarginPathClassifier(max_iter=3).fit(*moons)


def test_kernels_by_name_match_scikit_learn(moons):
    X, y = moons
    for kernel, settings in {
        "rbf": {"gamma": 0.5},
        "poly": {"gamma": 0.5, "degree": 2, "coef0": 1.0},
        "linear": {},
    }.items():
        ours = mp.MarginPathClassifier(kernel, random_state=0, **settings).fit(X, y)
        theirs = SVC(kernel=kernel, C=ours.C_, **settings).fit(X, y)
        assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.9
    laplacian = mp.MarginPathClassifier("laplacian", gamma=0.5, stopping=None, max_iter=20, random_state=0)
    by_hand = mp.MarginPathClassifier(
        laplacian_kernel, kernel_params={"gamma": 0.5}, stopping=None, max_iter=20, random_state=0
    )
    close(decisions(laplacian.fit(X, y), X), decisions(by_hand.fit(X, y), X))


def test_precomputed_is_the_kernel(moons):
    X, y = moons
    named = mp.MarginPathClassifier(gamma=0.5, random_state=0).fit(X[:90], y[:90])
    given = mp.MarginPathClassifier("precomputed", random_state=0).fit(rbf_kernel(X[:90], gamma=0.5), y[:90])
    close(decisions(given, rbf_kernel(X[90:], X[:90], gamma=0.5)), decisions(named, X[90:]))
    with pytest.raises(ValueError, match="square"):
        mp.MarginPathClassifier("precomputed").fit(X, y)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_is_dense_and_float32_stays(cls, dtype, moons):
    X, y = moons
    X = np.where(np.abs(X) < 0.3, 0, X).astype(dtype)
    dense = cls(random_state=0).fit(X, y)
    sparse = cls(random_state=0).fit(sp.csr_array(X), y)
    assert dense.decision_function(X).dtype == dtype
    assert sparse.step_ == dense.step_
    close(decisions(sparse, sp.csr_matrix(X)), decisions(dense, X), 1e-4 if dtype == np.float32 else 1e-8)


def test_not_stored_is_stored(moons):
    X, y = moons
    for method in ("coordinate", "inertial"):
        stored = mp.MarginPathClassifier(method=method, random_state=0).fit(X, y)
        tiled = mp.MarginPathClassifier(method=method, random_state=0, cache_size=0.01).fit(X, y)
        for step in (5, 10, 15):  # the choice between them may differ
            assert np.mean(tiled.at(step).predict(X) == stored.at(step).predict(X)) > 0.97
    close(decisions(tiled, X), decisions(stored, X))


def test_probabilities(iris, moons):
    for X, y in (iris, moons):
        fitted = mp.MarginPathClassifier(random_state=0).fit(X, y)
        chance = fitted.predict_proba(X)
        np.testing.assert_allclose(chance.sum(axis=1), 1)
        np.testing.assert_array_equal(fitted.classes_[chance.argmax(axis=1)], fitted.predict(X))
        np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), chance)
        other = fitted.at(1 if fitted.step_ > 1 else 2)
        with pytest.raises(AttributeError, match="predict_proba"):
            other.predict_proba(X)
    without = mp.MarginPathClassifier(stopping=None, max_iter=3)
    assert not hasattr(without, "predict_proba")
    with pytest.raises(AttributeError) as caught:
        without.predict_proba(X)
    assert "stopping='cv'" in str(caught.value.__cause__)


def test_probabilities_are_calibrated():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 2))
    y = (rng.random(1500) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
    fitted = mp.MarginPathClassifier(random_state=0).fit(X[:750], y[:750])
    chance = fitted.predict_proba(X[750:])[:, 1]
    for low, high in ((0.1, 0.4), (0.6, 0.9)):
        part = (chance > low) & (chance < high)
        assert abs(chance[part].mean() - y[750:][part].mean()) < 0.1


def test_class_weight_moves_the_boundary():
    X, y = make_classification(200, 4, weights=[0.85], class_sep=0.6, random_state=0)
    plain, balanced = (
        mp.MarginPathClassifier(class_weight=w, stopping=None, max_iter=12, random_state=0).fit(X, y)
        for w in (None, "balanced")
    )
    assert np.mean(balanced.predict(X) == 1) > np.mean(plain.predict(X) == 1)
    ratio = {0: 1.0, 1: (y == 0).sum() / (y == 1).sum()}
    settings = {"gamma": 0.5, "stopping": None, "max_iter": 9, "random_state": 0}  # weights count in "scale"
    as_dict = mp.MarginPathClassifier(class_weight=ratio, **settings)
    weighted = mp.MarginPathClassifier(**settings)
    weight = np.where(y == 1, ratio[1], 1.0)
    close(decisions(as_dict.fit(X, y), X), decisions(weighted.fit(X, y, sample_weight=weight), X), 1e-6)


def test_groups_reach_the_splitter(moons):
    X, y = moons
    groups = np.arange(len(y)) % 6
    fitted = mp.MarginPathClassifier(cv=GroupKFold(3), random_state=0).fit(X, y, groups=groups)
    assert "split2_test_score" in fitted.cv_results_
    with pytest.raises(ValueError, match="groups"):
        mp.MarginPathClassifier(cv=LeaveOneGroupOut()).fit(X, y)
    with pytest.raises(TypeError, match="monday"):
        mp.MarginPathClassifier().fit(X, y, monday=1)


def test_pickling_and_size(moons):
    X, y = make_moons(400, noise=0.3, random_state=0)
    fitted = mp.MarginPathClassifier(random_state=0).fit(X, y)
    stored = pickle.dumps(fitted)
    again = pickle.loads(stored)
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(again.at(3).predict(X), fitted.at(3).predict(X))
    assert len(stored) < 400**2 * 8 / 2  # the kernel matrix is not in it


@pytest.mark.parametrize("cls", BOTH)
class TestBadInput:
    def test_one_class(self, cls, moons):
        with pytest.raises(ValueError, match="at least 2 classes"):
            cls().fit(moons[0], np.ones(120))

    def test_not_numbers(self, cls, moons):
        X = moons[0].copy()
        X[3, 1] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            cls().fit(X, moons[1])

    def test_shapes(self, cls, moons):
        X, y = moons
        with pytest.raises(ValueError, match="1D array"):
            cls().fit(X[:, 0], y)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            cls().fit(X, y[:-1])
        with pytest.raises(ValueError, match="features"):
            cls(stopping=None, max_iter=2).fit(X, y).predict(X[:, :1])

    def test_weights(self, cls, moons):
        X, y = moons
        with pytest.raises(ValueError, match=r"[Nn]egative"):
            cls().fit(X, y, sample_weight=np.where(np.arange(120) == 7, -1.0, 1.0))
        with pytest.raises(ValueError, match="zero"):
            cls().fit(X, y, sample_weight=np.zeros(120))
        with pytest.raises(ValueError, match="no sample of class"):
            cls(stopping=None).fit(X, y, sample_weight=y.astype(float))

    def test_unknown_names(self, cls, moons):
        with pytest.raises(ValueError, match=r"'stopping'.*'cv'"):
            cls(stopping="luck").fit(*moons)
        with pytest.raises(ValueError, match=r"'method'.*'coordinate'"):
            cls(method="magic").fit(*moons)
        if cls is mp.MarginPathClassifier:
            with pytest.raises(ValueError, match=r"'kernel'.*'rbf'"):
                cls(kernel="quantum").fit(*moons)

    def test_fewer_samples_than_folds(self, cls, moons):
        X, y = moons
        few = np.where(np.arange(120) == 0, 2, y)
        with (
            pytest.warns(UserWarning, match="least populated class"),
            pytest.raises(ValueError, match="leaves no sample of class 2 to train on"),
        ):
            cls().fit(X, few)

    def test_constant_features(self, cls, moons):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = cls().fit(np.ones((90, 3)), np.repeat([0, 1, 1], 30))
        assert set(fitted.predict(np.ones((4, 3)))) == {1}

    def test_not_fitted(self, cls, moons):
        with pytest.raises(NotFittedError):
            cls().predict(moons[0])
        with pytest.raises(NotFittedError):
            cls().at(1)

    def test_settings_that_belong_together(self, cls, moons):
        with pytest.raises(ValueError, match="needs noise_level"):
            cls(stopping="discrepancy").fit(*moons)
        if cls is mp.MarginPathClassifier:
            with pytest.raises(ValueError, match="gamma='tuned'"):
                cls(gamma="tuned", stopping=None).fit(*moons)
            with pytest.raises(TypeError, match=r"[Ss]parse"):
                cls(kernel=rbf_kernel).fit(sp.csr_array(moons[0]), moons[1])


def test_scores_that_need_probabilities_are_refused(moons):
    with pytest.raises(ValueError, match="neg_log_loss"):
        mp.MarginPathClassifier(scoring="neg_log_loss").fit(*moons)


OTHER_LIBRARY = """
import logging
import warnings
import array_api_strict as xp, numpy as np, pytest, sklearn
from sklearn.datasets import load_iris, make_moons
import marginpath as mp

warnings.simplefilter("ignore")
sklearn.set_config(array_api_dispatch=True)
for cls in (mp.MarginPathClassifier, mp.LinearMarginPathClassifier):
    here, there = cls(method="inertial", max_iter=60, random_state=0), cls(max_iter=60, random_state=0)
    for X, y in (load_iris(return_X_y=True), make_moons(120, noise=0.3, random_state=0)):
        given = xp.asarray(X)
        there.fit(given, xp.asarray(y))
        here.fit(X, y)
        assert there.method_ == "inertial"
        for name in ("decision_function", "predict", "predict_proba", "predict_log_proba"):
            result = getattr(there, name)(given)
            assert type(result) is type(given)
            np.testing.assert_allclose(np.asarray(result), getattr(here, name)(X), atol=1e-8)
        np.testing.assert_allclose(np.asarray(there.at(3).predict(given)), here.at(3).predict(X))
        np.testing.assert_allclose(np.asarray(list(there.staged_predict(given))[2]), here.at(3).predict(X))
        assert there.separable_ == here.separable_
        with pytest.raises(ValueError, match="method='auto'"):
            cls(method="coordinate").fit(given, xp.asarray(y))

weight = np.random.default_rng(0).integers(0, 4, len(y))
few = {"stopping": None, "max_iter": 2, "method": "inertial"}
there = mp.MarginPathClassifier(**few).fit(given, xp.asarray(y), sample_weight=xp.asarray(weight))
here = mp.MarginPathClassifier(**few).fit(X, y, sample_weight=weight)
np.testing.assert_allclose(there.gamma_, here.gamma_, rtol=1e-12)
np.testing.assert_array_equal(np.asarray(there.support_vectors_), here.support_vectors_)

told, handler, logger = [], logging.Handler(), logging.getLogger("marginpath")
handler.emit = lambda record: told.append(record.getMessage())
logger.addHandler(handler)
logger.setLevel(logging.INFO)
for megabytes in (8 * 120**2 / 1e6, 8 * 119**2 / 1e6):
    mp.MarginPathClassifier(cache_size=megabytes, max_iter=3, stopping=None).fit(given, xp.asarray(y))
assert ["in tiles" in message for message in told] == [False, True], told
"""


def test_arrays_of_another_library():
    pytest.importorskip("array_api_strict")
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}  # scikit-learn wants it before scipy is imported
    done = subprocess.run(
        [sys.executable, "-c", OTHER_LIBRARY], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_ctrl_c_keeps_the_best_so_far(moons):
    X, y = moons
    calls = []

    def scorer(estimator, X, y):
        calls.append(1)
        if len(calls) == 21:  # once for the check of the scorer, then once a fold: in the third step
            os.kill(os.getpid(), signal.SIGINT)
        return np.mean(estimator.predict(X) == y)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.warns(ConvergenceWarning, match=r"Interrupted after 3 steps; step \d is kept"):
            fitted = mp.MarginPathClassifier(scoring=scorer, random_state=0).fit(X, y)
    finally:
        signal.signal(signal.SIGINT, before)
    assert fitted.n_iter_ == 3
    assert fitted.predict(X).shape == y.shape
