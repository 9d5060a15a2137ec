"""Classes in pairs: slim, compressed and stored as any other classifier, and with bounds that hold."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler

import marginpath as mp
from marginpath.estimators.calibration import ConformalScores
from marginpath.files.objects import load, pack, save, unpack
from marginpath.validation.columns import OneVsOne


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    return mp.MarginPathClassifier(random_state=0, cv=3).fit(X[::6], y[::6]), X[1::6], y[1::6]


def test_slim_keeps_probabilities_and_sets(digits, tmp_path):
    clf, X, _ = digits
    assert isinstance(clf.columns_, OneVsOne)
    slim = pickle.loads(pickle.dumps(clf.slim()))
    save(tmp_path / "a.model", clf.slim())
    for other in (slim, load(tmp_path / "a.model", mp.MarginPathClassifier)):
        assert not hasattr(other, "out_of_fold_proba_")
        for use in ("decision_function", "predict", "predict_proba", "predict_set"):
            np.testing.assert_array_equal(getattr(other, use)(X), getattr(clf, use)(X))


def test_rounded_sets_cover_a_little_more(digits):
    clf, X, _ = digits
    rounded = clf.slim(rounded=True)
    for coverage in (0.5, 0.9, 0.99, 0.999):
        exact, sets = (each.predict_set(X, coverage) for each in (clf, rounded))
        assert np.all(sets >= exact)
        low, high = (clf.conformal_.threshold(min(c, 1 - 1e-9)) for c in (coverage, coverage + 1 / 100))
        assert low <= rounded.conformal_.threshold(coverage) <= high + 1e-6


def test_quantiles_of_weighted_scores_are_rounded_up():
    rng = np.random.default_rng(0)
    scores = ConformalScores.of(rng.random(1000), rng.exponential(size=1000))
    for coverage in rng.random(200):
        assert scores.threshold(coverage) <= scores.rounded().threshold(coverage)


@pytest.mark.parametrize(
    "refit",
    [
        "projection",
        "coefficients",
        *(pytest.param(way, marks=pytest.mark.heavy) for way in ("vectors", "auto")),
    ],
)
def test_compressed_pairs_have_bounds_that_hold(digits, refit):
    clf, X, y = digits
    small = clf.compress(len(clf.support_) // 3, refit=refit)
    difference = np.abs(small.decision_function(X) - clf.decision_function(X))
    assert small.decision_bound(X).shape == difference.shape == (len(X), 10)
    assert np.all(difference <= small.decision_bound(X))
    certain = small.certain(X)
    assert np.all(small.predict(X)[certain] == clf.predict(X)[certain])
    assert small.score(X, y) > clf.score(X, y) - 0.05
    assert small.predict_proba(X).shape == (len(X), 10)


def test_some_labels_of_pairs_are_certain(digits):
    clf, X, _ = digits
    small = clf.compress(int(0.95 * len(clf.support_)), refit="projection")
    assert 0 < small.certain(X).mean() < 1


def test_held_out_accuracy_is_that_of_the_classes(digits):
    clf, *_ = digits
    lost = clf.compress(len(clf.support_) // 2, refit="projection").compression_
    assert lost.accuracy_before == np.mean(clf.out_of_fold_.argmax(axis=1) == clf.codes_)
    assert lost.accuracy_after > lost.accuracy_before - 0.05


def test_enclosed_values_are_those_of_all_columns_within_the_bound():
    rng = np.random.default_rng(0)
    pairs = OneVsOne(5)
    decision, bound = rng.normal(size=(200, 10)), rng.random((200, 10))
    low, high = pairs.enclosed(decision, bound)
    for _ in range(50):
        values = pairs.values(decision + bound * rng.uniform(-1, 1, bound.shape))
        assert np.all((low <= values) & (values <= high))


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_that_are_mostly_zero_come_back(order):
    array = np.asarray(np.where(np.arange(1920).reshape(40, 48) % 7, 0.0, np.pi), order=order)
    array[3, 3] = -0.0
    description, arrays = pack(array)
    again = unpack(description, arrays)
    assert sum(part.nbytes for part in arrays.values()) < array.nbytes / 2
    assert np.array_equal(again.view(np.uint64), array.view(np.uint64))
    assert again.flags.c_contiguous == array.flags.c_contiguous
    for zeros in (-np.zeros((10, 12)), np.zeros((10, 12))):  # −0 is no 0 of the map
        assert np.array_equal(unpack(*pack(zeros)).view(np.uint64), zeros.view(np.uint64))
    with pytest.raises(ValueError, match="fit its shape"):
        unpack([description[0], [10**9], *description[2:]], arrays)


def test_tables_are_slim_and_compressed_as_tables():
    frame, y = load_wine(return_X_y=True, as_frame=True)
    clf = mp.TablePathClassifier(mp.MarginPathClassifier(random_state=0)).fit(frame, y)
    slim, small = clf.slim(), clf.compress(20)
    np.testing.assert_array_equal(slim.predict_set(frame), clf.predict_set(frame))
    assert type(small) is mp.TablePathClassifier
    certain = small.certain(frame)
    assert np.all(small.predict(frame)[certain] == clf.predict(frame)[certain])
    assert small.decision_bound(frame).shape == (len(y), 3)
    for other in (slim, small):
        with pytest.raises(AttributeError, match=r"Importance needs .* left behind"):
            other.importance()
    linear = mp.TablePathClassifier(mp.LinearMarginPathClassifier(random_state=0)).fit(frame, y)
    assert not hasattr(linear, "compress")
