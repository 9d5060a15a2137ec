"""Several classes in pairs: what SVC says at the same C, and all else that one against the rest has."""

import numpy as np
import pytest
from classifiers import BOTH, METHODS
from scipy.optimize import minimize, minimize_scalar
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.model_selection import StratifiedKFold
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import SVC
from sklearn.utils.multiclass import _ovr_decision_function

import marginpath as mp
from marginpath.estimators.calibration import Coupling
from marginpath.estimators.likelihood import pair_slopes
from marginpath.files.objects import pack, unpack
from marginpath.validation.columns import OneVsOne, OneVsRest, columns_for


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600] / 16, np.array([f"digit {c}" for c in y[:600]])


@pytest.fixture(scope="module")
def fitted(digits):
    return mp.MarginPathClassifier(multi_class="ovo", path_tol=1e-7, random_state=0).fit(
        digits[0][:400], digits[1][:400]
    )


def pair_values(clf, X):
    return clf._decide(clf._validated(X))


def test_labels_of_pairs():
    codes = np.array([2, 0, 1, 3])
    signs = OneVsOne(4).signs(codes)
    for column, (a, b) in enumerate(zip(*OneVsOne(4).pairs, strict=True)):
        for row, code in enumerate(codes):
            assert signs[row, column] == (-1 if code == a else 1 if code == b else 0)


def test_values_are_those_of_scikit_learn():
    decision = np.random.default_rng(0).normal(size=(50, 10))
    expected = _ovr_decision_function(decision > 0, decision, 5)
    np.testing.assert_allclose(OneVsOne(5).values(decision), expected, rtol=1e-13)


def test_a_tie_is_decided_by_confidence():
    decision = np.array([[0.1, -2.0, 0.3]])  # 1 beats 0, 0 beats 2, 2 beats 1: one win for each
    assert OneVsOne(3).values(decision).argmax() == 0
    assert OneVsOne(3).values(np.array([[3.0, -2.0, 0.3]])).argmax() == 1


def test_what_the_columns_may_be():
    assert columns_for(3, "ovr") == OneVsRest(3)
    with pytest.raises(ValueError, match="multi_class must be one of ovr, ovo, got 'crammer'"):
        columns_for(3, "crammer")


def test_every_step_is_that_of_svc(digits, fitted):
    X, y = digits
    for step in (8, fitted.step_, fitted.n_iter_):
        here = fitted.at(step)
        svc = SVC(C=here.C_, gamma=here.gamma_, tol=1e-7, decision_function_shape="ovo").fit(X[:400], y[:400])
        np.testing.assert_allclose(pair_values(here, X[400:]), -svc.decision_function(X[400:]), atol=2e-3)
        assert np.mean(here.predict(X[400:]) == svc.predict(X[400:])) > 0.99


def test_the_linear_classifier_compares_pairs_too(digits):
    X, y = load_iris(return_X_y=True)
    clf = mp.LinearMarginPathClassifier(multi_class="ovo", random_state=0).fit(X, y)
    assert clf.coef_.shape == (3, 4)
    alone = mp.LinearMarginPathClassifier(stopping=None, max_iter=clf.step_, schedule=clf.schedule_)
    pairs = OneVsOneClassifier(alone).fit(X, y)
    assert np.mean(pairs.predict(X) == clf.predict(X)) > 0.97
    assert mp.LinearMarginPathClassifier(random_state=0).fit(X, y).multi_class_ == "ovr"


def test_shapes(digits, fitted):
    X = digits[0]
    assert fitted.dual_coef_.shape == (45, len(fitted.support_))
    assert fitted.intercept_.shape == (45,)
    assert fitted.decision_function(X).shape == fitted.predict_proba(X).shape == (600, 10)
    assert fitted.out_of_fold_.shape == (400, 10)
    assert fitted.margin_bounds_[0].shape == (45,)
    assert np.all(fitted.margin_bounds_[0] <= fitted.margin_bounds_[1])
    staged = list(fitted.staged_decision_function(X))
    np.testing.assert_allclose(staged[fitted.step_ - 1], fitted.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(list(fitted.staged_predict(X))[4], fitted.at(5).predict(X))


def test_rows_of_other_classes_have_no_coefficient(digits, fitted):
    coef = fitted.coefficients(fitted.step_)
    for column, pair in enumerate(zip(*OneVsOne(10).pairs, strict=True)):
        assert not coef[~np.isin(fitted.codes_, pair), column].any()


def test_the_held_out_decisions_are_those_of_the_folds(digits, fitted):
    """The fold that did not see a sample is a classifier of the others at the same C."""
    X, y = digits[0][:400], digits[1][:400]
    train, test = next(iter(StratifiedKFold(5).split(X, y)))
    svc = SVC(C=fitted.C_, gamma=fitted.gamma_, tol=1e-7, decision_function_shape="ovo").fit(
        X[train], y[train]
    )
    expected = OneVsOne(10).values(-svc.decision_function(X[test]))
    assert np.mean(fitted.out_of_fold_[test].argmax(axis=1) == expected.argmax(axis=1)) > 0.98
    row = fitted.cv_results_["split0_test_score"][fitted.step_ - 1]
    assert row == pytest.approx(np.mean(fitted.classes_[expected.argmax(axis=1)] == y[test]), abs=0.015)


def test_auto_is_pairs_where_they_are_cheap(digits):
    X, y = make_blobs(90, 2, random_state=0)
    fit = mp.MarginPathClassifier(random_state=0).fit
    assert fit(X, y).multi_class_ == "ovo"
    assert fit(X, y == 0).columns_ == OneVsRest(2)
    assert mp.MarginPathClassifier(method="inertial", random_state=0).fit(X, y).multi_class_ == "ovr"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "stopping", ["cv", *(pytest.param(rule, marks=pytest.mark.heavy) for rule in ("holdout", "margin", None))]
)
def test_every_method_and_rule(cls, method, stopping):
    X, y = make_blobs(90, 2, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)
    clf = cls(multi_class="ovo", method=method, stopping=stopping, max_iter=900, tol=0.5, random_state=0)
    clf.fit(X, y, sample_weight=np.linspace(0.5, 2, 90))
    assert clf.score(X, y) > 0.85
    assert clf.columns_ == OneVsOne(3)


def test_coupling_is_the_minimum():
    rng = np.random.default_rng(0)
    f = rng.normal(size=(1, 6)) * 2
    coupled = Coupling(0.7, 4).probabilities(f)[0]
    r = np.zeros((4, 4))
    first, second = OneVsOne(4).pairs
    r[second, first] = 1 / (1 + np.exp(-f[0] / 0.7))
    r[first, second] = 1 - r[second, first]

    def objective(p):
        return np.sum((r.T * p[:, None] - r * p[None, :]) ** 2)

    constraint = {"type": "eq", "fun": lambda p: p.sum() - 1}
    best = minimize(objective, np.full(4, 0.25), bounds=[(0, 1)] * 4, constraints=constraint, tol=1e-14)
    np.testing.assert_allclose(coupled, best.x, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_every_pair_has_its_own_slope(weighted):
    """It is the one that a general minimizer finds for the samples of that pair alone."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, 300)
    signs, scales = OneVsOne(4).signs(codes), np.array([0.01, 0.1, 1.0, 10.0, 100.0, 1.0])
    values = (signs + 1.5 * rng.normal(size=signs.shape)) * scales
    weight = rng.random(300) if weighted else np.ones(300)
    log_weight = np.log([1.0, 2.0, 3.0, 4.0]) if weighted else None
    fitted = Coupling.fit(values, codes, weight, log_weight)
    for j, (a, b) in enumerate(zip(*OneVsOne(4).pairs, strict=True)):
        own = (codes == a) | (codes == b)
        f, w, y = values[own, j], weight[own], codes[own] == b
        target = np.where(y, (w[y].sum() + 1) / (w[y].sum() + 2), 1 / (w[~y].sum() + 2))
        shift = 0.0 if log_weight is None else log_weight[b] - log_weight[a]

        def loss(log_slope, f=f, w=w, target=target, shift=shift):
            z = np.exp(log_slope) * f - shift
            return w @ (np.logaddexp(0, z) - target * z)

        best = minimize_scalar(loss, bounds=(-12, 12), method="bounded", options={"xatol": 1e-9})
        assert fitted.slopes[j] == pytest.approx(np.exp(best.x), rel=1e-4)
    np.testing.assert_allclose(fitted.temperatures, fitted.temperature / fitted.slopes)


def test_a_pair_that_is_nowhere_held_out_has_the_usual_slope():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [40, 40, 0])
    values = OneVsOne(3).signs(codes) + rng.normal(size=(80, 3))
    slopes = pair_slopes(values, codes, np.ones(80))
    assert slopes[1] == slopes[2] == slopes[0]


def test_coupling_of_certain_pairs():
    chance = Coupling(1e-3, 3).probabilities(
        np.array([[-5.0, -5.0, 1.0], [5.0, 4.0, -3.0], [5.0, -4.0, 3.0]])
    )
    np.testing.assert_allclose(chance.sum(axis=1), 1)
    np.testing.assert_allclose(chance[:2].max(axis=1), 1, atol=1e-6)
    assert np.isfinite(chance).all()
    assert Coupling(1.0, 3).probabilities(np.empty((0, 3))).shape == (0, 3)


def test_probabilities_are_calibrated():
    X, y = make_blobs(900, 2, centers=[[0, 0], [2, 0], [0, 2], [2, 2]], cluster_std=1.0, random_state=0)
    clf = mp.MarginPathClassifier(multi_class="ovo", random_state=0).fit(X[:400], y[:400])
    squares = np.sum((X[400:, None] - [[0, 0], [2, 0], [0, 2], [2, 2]]) ** 2, axis=2)
    truth = np.exp(-squares / 2) / np.exp(-squares / 2).sum(axis=1, keepdims=True)
    chance = clf.predict_proba(X[400:])
    assert np.mean(np.sum((chance - truth) ** 2, axis=1)) < 0.03
    assert np.mean(clf.predict(X[400:]) == chance.argmax(axis=1)) > 0.97


def test_class_weights_leave_the_probabilities_alone():
    X, y = make_blobs([300, 60, 60], 2, centers=[[0, 0], [2, 0], [0, 2]], random_state=0)
    clf = mp.MarginPathClassifier(multi_class="ovo", class_weight="balanced", random_state=0).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X).mean(axis=0), np.array([300, 60, 60]) / 420, atol=0.03)


@pytest.mark.parametrize("calibration", ["temperature", "isotonic"])
def test_files(digits, calibration):
    X, y = digits
    clf = mp.MarginPathClassifier(calibration=calibration, random_state=0).fit(X[:200], y[:200])
    again = unpack(*pack(clf))
    for method in ("predict", "decision_function", "predict_proba", "predict_set"):
        np.testing.assert_array_equal(getattr(again, method)(X), getattr(clf, method)(X))


def test_a_warm_start_goes_on(digits):
    X, y = digits[0][:200], digits[1][:200]
    with pytest.warns(UserWarning, match="max_iter=9 was reached"):
        part = mp.MarginPathClassifier(warm_start=True, max_iter=9, random_state=0).fit(X, y)
    whole = mp.MarginPathClassifier(warm_start=True, random_state=0).fit(X, y)
    part.set_params(max_iter="auto").fit(X, y)
    assert part.step_ == whole.step_
    np.testing.assert_array_equal(part.predict_proba(X), whole.predict_proba(X))


def test_kernels_in_tiles_and_a_tuned_width():
    X, y = make_blobs(120, 2, centers=4, random_state=0)
    stored = mp.MarginPathClassifier(path_tol=1e-6, random_state=0).fit(X, y)
    tiled = mp.MarginPathClassifier(path_tol=1e-6, cache_size=0.01, random_state=0).fit(X, y)
    assert stored.multi_class_ == tiled.multi_class_ == "ovo"
    np.testing.assert_allclose(tiled.at(9).decision_function(X), stored.at(9).decision_function(X), atol=1e-3)
    assert mp.MarginPathClassifier(gamma="tuned", random_state=0).fit(X, y).score(X, y) > 0.8


def test_threads_change_no_bit(digits):
    X, y = digits[0][:300], digits[1][:300]
    one, two = (mp.MarginPathClassifier(n_jobs=jobs, random_state=0).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
