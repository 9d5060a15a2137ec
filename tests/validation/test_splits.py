"""Folds of classes that have fewer samples than folds."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_score,
)

import marginpath as mp
from marginpath.validation.columns import class_codes
from marginpath.validation.splits import StratifiedHoldout, held_out_samples, stratified_folds

BOTH = [mp.MarginPathClassifier, mp.LinearMarginPathClassifier]
RARE = "Fewer than . samples"


@pytest.fixture(scope="module")
def ecoli_like():
    """Eight classes, two of them with two samples."""
    counts = [60, 40, 25, 12, 8, 7, 2, 2]
    X, codes = make_blobs(counts, 5, centers=np.eye(8)[:, :5] * 6 - np.eye(8)[:, 3:] * 6, random_state=0)
    return X, np.array([f"class {c}" for c in codes])


def test_frequent_classes_have_the_folds_of_scikit_learn():
    y = np.repeat([0, 1], [12, 7])
    expected = [test for _, test in StratifiedKFold(5).split(y, y)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        folds = held_out_samples(5, y)
    for test, other in zip(folds, expected, strict=True):
        np.testing.assert_array_equal(test, other)


@pytest.mark.parametrize("seed", range(10))
def test_folds_are_dealt_as_scikit_learn_does(seed):
    rng = np.random.default_rng(seed)
    codes = np.unique(rng.integers(0, rng.integers(2, 7), rng.integers(30, 90)), return_inverse=True)[1]
    folds = min(int(rng.integers(2, 9)), np.bincount(codes).max())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [test for _, test in StratifiedKFold(folds).split(codes, codes)]
    for test, other in zip(stratified_folds(codes, folds), expected, strict=True):
        np.testing.assert_array_equal(test, other)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, bool, np.float64, "U3", object])
@pytest.mark.parametrize("spread", [100, 10**9])
def test_codes_of_classes_are_those_of_numpy(dtype, spread, rng):
    labels = (rng.integers(-100, 100, 500) * (spread // 100)).astype(dtype)
    for ours, numpys in zip(class_codes(labels), np.unique(labels, return_inverse=True), strict=True):
        np.testing.assert_array_equal(ours, numpys)
        assert ours.dtype == numpys.dtype


def test_a_single_sample_is_always_trained_on():
    y = np.repeat([0, 1, 2], [12, 7, 1])
    with pytest.warns(
        UserWarning, match=r"Fewer than 5 samples, one for each fold: class 2 \(1\)\. They are trained on"
    ):
        folds = held_out_samples(5, y)
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(19))


def test_two_samples_are_scored_by_the_fold_that_trains_on_the_other():
    y = np.repeat(["a", "b", "c"], [12, 7, 2])
    with pytest.warns(UserWarning, match=r"class 'c' \(2\)"):
        folds = held_out_samples(5, y)
    assert sorted(np.sum(y[test] == "c") for test in folds) == [0, 0, 0, 1, 1]


def test_no_more_folds_than_samples_of_the_largest_class():
    y = np.repeat([0, 1, 2], [3, 3, 1])
    with pytest.warns(UserWarning, match=r"Fewer than 5 .* There are 3 folds"):
        assert len(held_out_samples(5, y)) == 3


def test_one_fold_is_refused():
    with pytest.raises(ValueError, match="n_splits=2 or more"):
        held_out_samples(1, np.repeat([0, 1], 9))


def test_many_rare_classes_are_counted():
    y = np.concatenate([np.zeros(9, int), np.arange(1, 10)])
    with pytest.warns(UserWarning, match=r"class 5 \(1\), 4 more\."):
        held_out_samples(3, y)


def test_a_splitter_may_leave_out_the_last_of_a_rare_class_only():
    y = np.repeat([0, 1], [20, 1])
    with pytest.warns(UserWarning, match=RARE):
        assert not any(20 in test for test in held_out_samples(KFold(5), y))
    y, groups = np.repeat([0, 1], 10), np.repeat([0, 1, 2], [5, 5, 10])
    with pytest.raises(ValueError, match="Fold 0 leaves no sample of class 1 to train on"):
        held_out_samples(GroupKFold(3), y, groups)


def test_repeated_folds_are_not_taken_for_many():
    y = np.repeat([0, 1], [20, 6])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(held_out_samples(RepeatedStratifiedKFold(n_splits=5, n_repeats=4), y)) == 20


def test_masks_are_folds_too():
    y = np.repeat([0, 1], 3)
    mask = np.array([True, False, False, True, False, False])
    assert [test.tolist() for test in held_out_samples([(~mask, mask)], y)] == [[0, 3]]


def test_nothing_to_hold_out():
    with pytest.raises(ValueError, match="Each of the 4 classes has one sample"):
        held_out_samples(5, np.arange(4))
    with pytest.raises(ValueError, match="Each of the 4 classes has one sample"):
        next(StratifiedHoldout(0.1, 0).split(None, np.arange(4)))


@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.5, 0.99])
def test_every_class_is_on_both_sides_of_a_holdout_where_it_can(fraction):
    y = np.repeat(np.arange(5), [30, 20, 4, 2, 1])
    ((train, test),) = StratifiedHoldout(fraction, 0).split(None, y)
    assert set(y[train]) >= {0, 1, 4}
    assert len(set(y[test])) >= min(2, len(test))
    assert 4 not in y[test]
    assert sorted([*train, *test]) == list(range(57))


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("settings", [{}, {"stopping": "holdout"}, {"cv": KFold(4)}])
def test_a_rare_class_is_learned(cls, settings):
    X, y = make_blobs([40, 40, 1], 2, centers=[[0, 0], [6, 0], [30, 30]], random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf = cls(random_state=0, **settings).fit(X, y)
    assert any("class 2 (1)" in str(w.message) for w in caught)
    assert np.isfinite(clf.cv_results_["mean_test_score"]).all()
    assert set(clf.classes_) == {0, 1, 2}
    assert clf.predict_proba(X).shape == (81, 3)


@pytest.mark.parametrize("stopping", ["cv", "holdout"])
def test_scores_of_data_with_rare_classes_are_numbers(ecoli_like, stopping):
    clf = mp.MarginPathClassifier(stopping=stopping, random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Fewer than|The least populated class", UserWarning)
        scores = cross_val_score(clf, *ecoli_like, cv=5, error_score="raise")
    assert scores.min() > 0.9


def test_a_score_of_classes_knows_that_a_fold_lacks_one():
    X, y = make_blobs([40, 40, 2, 1], 2, centers=[[0, 0], [3, 0], [9, 9], [2, 2]], random_state=0)
    with pytest.warns(UserWarning, match="Fewer than 5") as caught:
        clf = mp.MarginPathClassifier(scoring="balanced_accuracy", random_state=0).fit(X, y)
    assert len(caught) == 1
    assert np.isfinite(clf.cv_results_["mean_test_score"]).all()
