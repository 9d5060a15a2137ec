"""Probabilities beyond a temperature, and sets of classes with a stated coverage."""

import numpy as np
import pytest
from classifiers import BOTH
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import brier_score_loss

import marginpath as mp
from marginpath.estimators import calibration
from marginpath.estimators.calibration import (
    ConformalScores,
    Coupling,
    Isotonic,
    Temperature,
    brier,
    fit_calibrator,
)
from marginpath.estimators.likelihood import pair_slopes
from marginpath.files.objects import pack, unpack


def squashed(n, seed, power=3):
    """Return values whose chances no temperature makes: P(1 | f) = (1 + sign(f) |f|^power) / 2."""
    rng = np.random.default_rng(seed)
    f = rng.uniform(-1, 1, n)
    return f[:, None], (rng.random(n) < (1 + np.sign(f) * np.abs(f) ** power) / 2).astype(int)


def blobs(n, seed=0):
    return make_blobs(n, 2, centers=[[0, 0], [2, 0], [0, 2]], cluster_std=1.2, random_state=seed)


def test_isotonic_follows_what_no_temperature_does():
    values, codes = squashed(2000, 0)
    new, happened = squashed(20000, 1)
    base = Temperature.fit(values, codes, np.ones(2000))
    fitted = fit_calibrator("isotonic", base, values, codes, np.ones(2000))
    scores = [brier(each.probabilities(new), happened, np.ones(20000)) for each in (base, fitted)]
    assert scores[1] < scores[0] - 0.005
    assert isinstance(fit_calibrator("auto", base, values, codes, np.ones(2000)), Isotonic)


def test_auto_keeps_the_temperature_where_it_is_right():
    rng = np.random.default_rng(0)
    f = rng.normal(size=(200, 1))
    codes = (rng.random(200) < 1 / (1 + np.exp(-2 * f[:, 0]))).astype(int)
    base = Temperature.fit(f, codes, np.ones(200))
    assert base.temperature == pytest.approx(0.5, abs=0.2)
    assert fit_calibrator("auto", base, f, codes, np.ones(200)) is base


def test_a_weight_is_a_number_of_samples():
    values, codes = squashed(300, 0)
    twice = np.random.default_rng(0).integers(1, 3, 300)
    for fit in (Temperature.fit, lambda *data: Isotonic.fit(Temperature(1.0), *data)):
        weighted = fit(values, codes, twice.astype(float))
        repeated = fit(np.repeat(values, twice, axis=0), np.repeat(codes, twice), np.ones(twice.sum()))
        np.testing.assert_allclose(weighted.probabilities(values), repeated.probabilities(values), rtol=1e-4)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("calibration", ["isotonic", "auto"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_calibration_gives_probabilities(cls, calibration, n_classes):
    X, y = blobs(240)
    keep = y < n_classes
    clf = cls(calibration=calibration, random_state=0).fit(X[keep], y[keep])
    chance = clf.predict_proba(X)
    assert chance.shape == (240, n_classes)
    np.testing.assert_allclose(chance.sum(axis=1), 1)
    assert chance.min() >= 0
    again = unpack(*pack(clf))
    np.testing.assert_array_equal(again.predict_proba(X), chance)
    np.testing.assert_array_equal(again.predict_set(X, 0.8), clf.predict_set(X, 0.8))


def test_isotonic_probabilities_do_not_decrease_with_the_decision():
    X, y = blobs(300)
    clf = mp.MarginPathClassifier(calibration="isotonic", random_state=0).fit(X[y < 2], y[y < 2])
    order = np.argsort(clf.decision_function(X))
    assert np.all(np.diff(clf.predict_proba(X)[order, 1]) >= 0)
    assert isinstance(clf.calibrator_, Isotonic)
    assert brier_score_loss(y[y < 2], clf.predict_proba(X[y < 2])[:, 1]) < 0.2


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.97])
@pytest.mark.parametrize("settings", [{}, {"calibration": "isotonic"}, {"class_weight": "balanced"}])
def test_sets_cover_as_often_as_asked_for(coverage, settings):
    X, y = blobs(500)
    new, labels = blobs(6000, seed=7)
    clf = mp.MarginPathClassifier(random_state=0, **settings).fit(X, y)
    sets = clf.predict_set(new, coverage)
    assert sets.dtype == bool
    covered = np.mean(sets[np.arange(6000), labels])
    # three standard deviations of the share that 500 held-out samples cover
    assert abs(covered - coverage) < 3 * (coverage * (1 - coverage) / 500) ** 0.5


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_certain_classes_are_covered_no_more_often(n_classes, multi_class, monkeypatch):
    """Probabilities of 1 are all equal, and a quantile of them has every sample in it."""
    likely = calibration.most_likely
    monkeypatch.setattr(calibration, "most_likely", lambda *given: likely(*given) / 100)
    centres = [[0, 0], [9, 0], [0, 9]][:n_classes]
    X, y = make_blobs(2400, 2, centers=centres, cluster_std=1.0, random_state=0)
    clf = mp.MarginPathClassifier(multi_class=multi_class, random_state=0).fit(X[:400], y[:400])
    assert clf.score(X[400:], y[400:]) == 1
    assert np.median(clf.predict_proba(X[400:]).max(axis=1)) > 1 - 1e-9
    for coverage in (0.8, 0.9):
        for each in (clf, clf.slim(), clf.slim(rounded=True)):
            covered = np.mean(each.predict_set(X[400:], coverage)[np.arange(2000), y[400:]])
            assert abs(covered - coverage) < 3 * (coverage * (1 - coverage) / 400) ** 0.5 + 1 / 128


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_that_are_all_right_make_nothing_certain(n_classes, multi_class):
    """So many samples do not tell of errors that are rarer than one of them."""
    X, y = make_blobs(2400, 2, centers=[[0, 0], [9, 0], [0, 9]][:n_classes], random_state=0)
    for n in (30, 300):
        clf = mp.MarginPathClassifier(multi_class=multi_class, random_state=0).fit(X[:n], y[:n])
        doubt = 1 - clf.predict_proba(X[400:]).max(axis=1)
        assert 0.1 / n < np.median(doubt) < 3 / n
        light = mp.MarginPathClassifier(multi_class=multi_class, random_state=0)
        light.fit(X[:n], y[:n], sample_weight=np.full(n, 1e-3))  # no doubt is added by a unit of weight
        assert np.median(1 - light.predict_proba(X[400:]).max(axis=1)) < 6 / n


def test_odds_are_those_of_the_probabilities(rng):
    log_weight = np.log([1.0, 2.0, 0.5])
    f = 3 * rng.standard_normal((200, 3))
    for base in (Temperature(0.7, log_weight), Coupling(0.7, 3, log_weight), Temperature(0.7)):
        chance = base.probabilities(f)
        np.testing.assert_allclose(base.odds_against(f), np.log((1 - chance) / chance), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(Temperature(1.0).odds_against(np.array([[80.0]])), [[80.0, -80.0]])
    certain = Coupling(1.0, 3).odds_against(np.array([[-80.0, -70.0, 0.0], [-80.0, -75.0, 0.0]]))
    np.testing.assert_allclose(certain[:, 0], [-70.0, -75.0])


def test_sets_grow_with_the_coverage():
    X, y = load_digits(return_X_y=True)
    clf = mp.MarginPathClassifier(random_state=0).fit(X[:500], y[:500])
    small, large = (clf.predict_set(X[500:], coverage) for coverage in (0.9, 0.999))
    assert np.all(small <= large)
    assert small.sum() < large.sum()
    assert np.all(clf.predict_set(X[500:], 1 - 1e-9))  # of so many samples none can tell
    for coverage in (0, 1, 90):
        with pytest.raises(ValueError, match=r"coverage must be between 0 and 1, such as 0.9"):
            clf.predict_set(X, coverage)


@pytest.mark.parametrize("calibration", ["temperature", "isotonic"])
def test_only_the_chosen_step_has_probabilities_and_sets(calibration):
    X, y = blobs(150)
    clf = mp.MarginPathClassifier(calibration=calibration, random_state=0).fit(X, y)
    other = clf.at(clf.step_ + 1)
    assert not hasattr(other, "predict_proba")
    assert not hasattr(other, "predict_set")
    np.testing.assert_array_equal(clf.at(clf.step_).predict_set(X), clf.predict_set(X))
    assert not hasattr(mp.MarginPathClassifier(stopping=None, max_iter=5).fit(X, y), "predict_set")


def test_scores_without_weights_are_those_of_equal_ones(rng):
    scores = rng.standard_normal(50).round(1)
    plain, weighted = ConformalScores.of(scores, np.ones(50)), ConformalScores.of(scores, np.full(50, 2.0))
    np.testing.assert_array_equal(plain.scores, weighted.scores)
    np.testing.assert_array_equal(2 * plain.mass, weighted.mass)
    assert 2 * plain.new == weighted.new


@pytest.mark.parametrize("spread", [0.5, 50.0, 1000.0])
def test_coupled_chances_solve_the_conditions_of_the_minimum(spread, rng):
    """Q p + β = 0 and Σ p = 1, with Q_aa = Σ_b r_ba² and Q_ab = −r_ba r_ab."""
    f = spread * rng.standard_normal((20, 10))
    first, second = np.triu_indices(5, 1)
    for values, chance in zip(f, Coupling(1.0, 5).probabilities(f), strict=True):
        r = np.zeros((5, 5))
        r[second, first], r[first, second] = expit(values), expit(-values)
        Q = np.ones((6, 6))
        Q[:5, :5], Q[5, 5] = np.diag(np.sum(r**2, axis=0) + 1e-10) - r * r.T, 0
        exact = np.linalg.solve(Q, np.eye(6)[5])[:5]
        np.testing.assert_allclose(chance, np.maximum(exact, 0) / np.maximum(exact, 0).sum(), atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_slope_of_a_pair_is_the_most_likely_one(weighted, rng):
    """By SciPy, pair after pair; a pair of which one class is nowhere held out has the median."""
    codes, weight = rng.integers(0, 3, 120), rng.uniform(0.5, 2, 120) if weighted else np.ones(120)
    values = rng.standard_normal((120, 3)) + 2 * (codes[:, None] == [1, 2, 2])
    shift, slopes = np.array([0.3, -0.2, 0.0]), []
    for pair, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
        own = (codes == a) | (codes == b)
        f, mass, second = values[own, pair], weight[own], codes[own] == b
        counts = mass[~second].sum(), mass[second].sum()
        target = np.where(second, (counts[1] + 1) / (counts[1] + 2), 1 / (counts[0] + 2))

        def loss(log_slope, f=f, mass=mass, target=target, pair=pair):
            z = np.exp(log_slope) * f - shift[pair]
            return mass @ (np.logaddexp(0, z) - target * z)

        slopes.append(np.exp(minimize_scalar(loss, bounds=(-10, 10), options={"xatol": 1e-9}).x))
    np.testing.assert_allclose(pair_slopes(values, codes, weight, shift), slopes, rtol=1e-6)
    absent = np.where(codes == 2, 1, codes)
    alone = pair_slopes(values, absent, weight, shift)
    np.testing.assert_array_equal(alone[1:], alone[0])


def test_a_coupling_tells_of_right_and_wrong_what_its_probabilities_do(rng):
    values, codes = 3 * rng.standard_normal((300, 6)), rng.integers(0, 4, 300)
    base = Coupling(1.7, 4, slopes=rng.uniform(0.5, 2, 6))
    chance = base.probabilities(values)[np.arange(300), codes]
    right, wrong = base.right_and_wrong(values, codes)
    np.testing.assert_allclose(np.exp(right), chance, rtol=1e-12)
    np.testing.assert_allclose(np.exp(wrong), 1 - chance, rtol=1e-9, atol=1e-15)
