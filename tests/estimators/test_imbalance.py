"""Classes of which one is rare: warnings, weights and probabilities."""

import warnings

import numpy as np
import pytest
from classifiers import BOTH
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

import marginpath as mp


def drawn(n, seed):
    """Return samples of which about one in fourteen is of class 1, and the chance of each."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    chance = expit(X[:, 0] + X[:, 1] - 3.4)
    return X, np.where(rng.random(n) < chance, "rare", "common"), chance


@pytest.mark.parametrize("cls", BOTH)
def test_one_answer_for_all_is_warned_of(cls):
    X, y, _ = drawn(300, 0)
    expected = (
        r"than class 'common' for all of them, 9.*To find the others, use class_weight='balanced' and "
        r"scoring='balanced_accuracy'"
    )
    with pytest.warns(UserWarning, match=expected):
        cls(random_state=0).fit(X, y)


@pytest.mark.parametrize("settings", [{"class_weight": {"rare": 1.1}}, {"scoring": "roc_auc"}])
def test_who_has_met_it_is_not_advised(settings):
    X, y, _ = drawn(300, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mp.MarginPathClassifier(random_state=0, **settings).fit(X, y)


def test_classes_of_the_same_size_are_no_reason_to_warn():
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mp.MarginPathClassifier(random_state=0).fit(rng.normal(size=(80, 3)), np.arange(80) % 2)


@pytest.mark.parametrize("cls", BOTH)
def test_the_advice_helps(cls):
    X, y, _ = drawn(300, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = cls(class_weight="balanced", scoring="balanced_accuracy", random_state=0).fit(X, y)
    new, labels, _ = drawn(2000, 1)
    assert np.mean(clf.predict(new[labels == "rare"]) == "rare") > 0.5


def test_a_limit_that_was_asked_for_is_no_reason_to_warn():
    X, y, _ = drawn(300, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        mp.MarginPathClassifier(max_iter=3, random_state=0).fit(X, y)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("class_weight", ["balanced", {"rare": 10.0}])
def test_probabilities_are_those_of_the_samples_whatever_the_weights(cls, class_weight):
    X, y, _ = drawn(600, 0)
    clf = cls(class_weight=class_weight, scoring="balanced_accuracy", random_state=0).fit(X, y)
    new, _, truth = drawn(4000, 1)
    chance = clf.predict_proba(new)[:, 1]
    assert np.mean(chance) == pytest.approx(np.mean(truth), abs=0.02)
    assert np.mean((chance - truth) ** 2) < 0.6 * np.var(truth)


def test_the_most_probable_class_times_its_weight_is_predicted():
    X, y, _ = drawn(600, 0)
    weight = {"common": 0.5, "rare": 7.0}
    clf = mp.MarginPathClassifier(class_weight=weight, random_state=0).fit(X, y)
    chance = clf.predict_proba(X)
    weighted = chance * [weight[label] for label in clf.classes_]
    np.testing.assert_array_equal(clf.classes_[weighted.argmax(axis=1)], clf.predict(X))
    assert np.any(clf.classes_[chance.argmax(axis=1)] != clf.predict(X))


def test_three_classes_with_weights(iris):
    X, y = iris
    keep = np.r_[0:50, 50:65, 100:150]
    clf = mp.MarginPathClassifier(class_weight="balanced", random_state=0).fit(X[keep], y[keep])
    chance = clf.predict_proba(X[keep])
    np.testing.assert_allclose(chance.sum(axis=1), 1)
    np.testing.assert_allclose(chance.mean(axis=0), np.array([50, 15, 50]) / 115, atol=0.03)
