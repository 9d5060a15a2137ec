"""Columns far from 0 for their spread, such as years: where 0 is makes no difference to a fit."""

import pickle
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import marginpath as mp
from marginpath.estimators.callbacks import watched
from marginpath.files.objects import load, save
from marginpath.gram.fingerprints import row_codes
from marginpath.mapped import in_file
from marginpath.tables.importance import FoldWatch

CLASSIFIERS: list[Any] = [mp.LinearMarginPathClassifier(), mp.MarginPathClassifier("linear")]
REGRESSORS: list[Any] = [mp.LinearMarginPathRegressor(), mp.MarginPathRegressor("linear")]
ALL = [model.set_params(random_state=0) for model in CLASSIFIERS + REGRESSORS]
IDS = ["features", "kernel"]
#: As many steps with the same λ, solved to many digits.
SOLVED = {"stopping": None, "max_iter": 5, "schedule": mp.GeometricDecay(4.0), "path_tol": 1e-9}


def samples(n, n_columns=5, seed=0):
    """Return rows about 0 whose sums with whole numbers up to 10⁹ are not rounded, classes and targets."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, n_columns)) * 1024) / 1024
    t = X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(n)
    return X, (t > 0).astype(int), t


def target(model, y, t):
    return t if model in REGRESSORS else y


def values(model, X):
    return model.predict(X) if hasattr(model, "epsilon") else model.decision_function(X)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=IDS)
@pytest.mark.parametrize(("dtype", "n", "shift"), [("f4", 9000, 3000), ("f8", 9000, 1e6), ("f8", 600, 1e6)])
def test_classes_are_told_apart_wherever_zero_is(model, dtype, n, shift):
    X, y, _ = samples(n + 500)
    near, far = (clone(model).fit((X[:n] + a).astype(dtype), y[:n]) for a in (0, shift))
    assert near.centre_ is None
    assert near.score(X[n:].astype(dtype), y[n:]) > 0.85
    rows = (X[n:] + shift).astype(dtype)
    assert far.score(rows, y[n:]) > near.score(X[n:].astype(dtype), y[n:]) - 0.02
    assert np.mean(far.predict(rows) == near.predict(X[n:].astype(dtype))) > 0.97
    assert abs(far.n_iter_ - near.n_iter_) <= 3


@pytest.mark.parametrize("model", REGRESSORS, ids=IDS)
@pytest.mark.parametrize(("dtype", "n"), [("f4", 600), ("f8", 600), ("f8", 5000)])
def test_targets_are_predicted_wherever_zero_is(model, dtype, n):
    X, _, t = samples(n + 300)
    near, far = (clone(model).fit((X[:n] + a).astype(dtype), t[:n]) for a in (0, 1000))
    scores = near.score(X[n:].astype(dtype), t[n:]), far.score((X[n:] + 1000).astype(dtype), t[n:])
    assert min(scores) > 0.8
    assert scores[1] > scores[0] - 0.01


@pytest.mark.parametrize("model", CLASSIFIERS, ids=IDS)
@given(shift=st.lists(st.integers(-(10**9), 10**9), min_size=5, max_size=5), seed=st.integers(0, 100))
def test_a_constant_added_to_columns_changes_no_decision(model, shift, seed):
    X, y, _ = samples(60, seed=seed)
    near, far = (clone(model).set_params(**SOLVED).fit(X + a, y) for a in (0, np.array(shift)))
    expected = near.decision_function(X)
    np.testing.assert_allclose(far.decision_function(X + shift), expected, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("model", REGRESSORS, ids=IDS)
@given(shift=st.lists(st.integers(100, 10**9), min_size=5, max_size=5), seed=st.integers(0, 100))
def test_a_constant_added_to_columns_far_from_zero_changes_no_prediction(model, shift, seed):
    """Near 0 the constant of the intercept is another one."""
    X, _, t = samples(60, seed=seed)
    settings = {**SOLVED, "epsilon": 0.1}
    one, other = (clone(model).set_params(**settings).fit(X + a, t) for a in (1000, np.array(shift)))
    assert one.centre_ is not None
    np.testing.assert_allclose(other.predict(X + shift), one.predict(X + 1000), atol=1e-4)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_weights_and_intercept_are_of_rows_as_they_are_given(dtype):
    X, y, t = samples(300)
    rows = (X + 3000).astype(dtype)
    for model in (CLASSIFIERS[0], REGRESSORS[0]):
        model = clone(model).fit(rows, target(model, y, t) if model is CLASSIFIERS[0] else t)
        assert model.X_fit_ is rows
        given = rows.astype(np.float64) @ np.atleast_2d(model.coef_).T + model.intercept_
        np.testing.assert_allclose(values(model, rows), given[:, 0], atol=1e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("model", ALL, ids=2 * IDS)
def test_all_that_a_fit_leaves_agrees(model, dtype, tmp_path):
    X, y, t, atol = *samples(400), 2e-4 if dtype == "f4" else 1e-7
    rows, new = (X[:300] + 3000).astype(dtype), (X[300:] + 3000).astype(dtype)
    fitted = clone(model).fit(rows, target(model, y, t)[:300])
    kept = values(fitted, new)
    staged = getattr(fitted, "staged_predict" if model in REGRESSORS else "staged_decision_function")
    np.testing.assert_allclose(list(staged(new))[fitted.step_ - 1], kept, atol=atol)
    np.testing.assert_allclose(values(fitted.at(2), new), list(staged(new))[1], atol=atol)
    save(tmp_path / "model", fitted)
    for other in (fitted.slim(), pickle.loads(pickle.dumps(fitted)), load(tmp_path / "model", type(fitted))):
        np.testing.assert_array_equal(values(other, new), kept)
    np.testing.assert_allclose(values(fitted, sp.csr_array(new)), kept, atol=atol)
    begun = clone(model).set_params(warm_start=True, max_iter=3)
    with pytest.warns(ConvergenceWarning):
        begun.fit(rows, target(model, y, t)[:300])
    begun.set_params(max_iter=fitted.n_iter_).fit(rows, target(model, y, t)[:300])
    np.testing.assert_allclose(values(begun, new), kept, atol=atol)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=IDS)
def test_folds_decide_as_they_did_in_the_fit(model):
    X, y, _ = samples(300)
    watch = FoldWatch()
    with watched(watch):
        fitted = clone(model).fit(X + 3000, y)
    folds = watch.kept(fitted)
    assert folds is not None
    assert folds.agree(fitted)
    coefficients = fitted.coefficients(fitted.step_)
    again = fitted.decisions_of(X + 3000, coefficients, fitted.intercept_)
    np.testing.assert_allclose(again, fitted.decision_function(X + 3000), atol=1e-9)


def test_fewer_vectors_decide_alike():
    X, y, _ = samples(300)
    fitted = mp.MarginPathClassifier("linear", random_state=0).fit(X + 3000, y)
    small = fitted.compress(n_vectors=8)
    apart = np.abs(small.decision_function(X + 3000) - fitted.decision_function(X + 3000))
    assert np.all(apart <= np.ravel(small.decision_bound(X + 3000)))
    assert np.mean(small.predict(X + 3000) == fitted.predict(X + 3000)) > 0.99


@pytest.mark.filterwarnings("ignore::marginpath.UnscaledDataWarning")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=IDS)
def test_bounds_on_the_margin_are_those_of_the_rows_as_they_are_given(model, dtype):
    """Some entries are far from the others, so that their differences to the mean are rounded."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.uniform(-1, 1, (40, 2)) + 3000
    X[:, 0] += 5 * y
    X[::8, 1] -= 2300
    X = X.astype(dtype)
    clf = clone(model).set_params(stopping=None, max_iter=60, path_tol=1e-8).fit(X, y)
    assert clf.centre_ is not None
    about = X.astype(np.longdouble) - X.mean(axis=0, dtype=np.longdouble)
    settings = {"stopping": None, "max_iter": 60, "path_tol": 1e-8}
    exact = mp.LinearMarginPathClassifier(**settings).fit(about.astype("f8"), y)
    (lower, upper), (least, most) = ((a[0], b[0]) for a, b in (clf.margin_bounds_, exact.margin_bounds_))
    assert 0 < lower <= most
    assert least <= upper <= 1.002 * lower


@pytest.mark.parametrize(
    "settings", [{"fit_intercept": False}, {"method": "inertial"}, {"stopping": "margin"}]
)
@pytest.mark.parametrize("model", CLASSIFIERS, ids=IDS)
def test_nothing_is_centred_where_the_intercept_counts(model, settings):
    X, y, _ = samples(60)
    X[:, 0] += 4 * y
    with pytest.warns(ConvergenceWarning) if settings == {"method": "inertial"} else nullcontext():
        fitted = clone(model).set_params(max_iter=40, **settings).fit(X + 10, y)
    assert fitted.centre_ is None


@pytest.mark.parametrize("model", ALL, ids=2 * IDS)
def test_rows_near_zero_and_sparse_ones_are_taken_as_they_are(model):
    X, y, t = samples(100)
    for rows in (X + 3, sp.csr_array(X + 30)):
        assert (
            clone(model).set_params(max_iter=3, stopping=None).fit(rows, target(model, y, t)).centre_ is None
        )


@pytest.mark.parametrize("model", ALL, ids=2 * IDS)
def test_samples_without_weight_do_not_say_where_the_others_are(model):
    X, y, t = samples(120)
    rows, weight = X + 3000, np.arange(120) % 4 > 0
    rows[~weight] -= 1e5
    settings = {**SOLVED, "max_iter": 3}
    all_rows = clone(model).set_params(**settings).fit(rows, target(model, y, t), weight.astype(float))
    some = clone(model).set_params(**settings).fit(rows[weight], target(model, y, t)[weight])
    np.testing.assert_allclose(all_rows.centre_, some.centre_, rtol=1e-12)
    np.testing.assert_allclose(values(all_rows, rows[weight]), values(some, rows[weight]), atol=1e-4)


@pytest.mark.parametrize("model", ALL, ids=2 * IDS)
@pytest.mark.parametrize("place", [0, 60])
def test_a_row_without_weight_may_be_anywhere(model, place):
    X, y, t = samples(120)
    rows, weight = X + 1e6, np.ones(120)
    rows[place], weight[place] = 1e13, 0
    centre = clone(model).set_params(max_iter=2, stopping=None).fit(rows, target(model, y, t), weight).centre_
    np.testing.assert_allclose(centre, np.delete(rows, place, axis=0).mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("offset", [1e2, 1e5])
def test_coefficients_in_float32_decide_what_the_classifier_does(offset):
    """Weights that were rounded would belong to another intercept."""
    X, y, _ = samples(300)
    rows = (X + offset).astype(np.float32)
    clf = mp.LinearMarginPathClassifier(stopping=None, max_iter=40, random_state=0).fit(rows, y)
    again = clf.decisions_of(rows, clf.coefficients(clf.step_), clf.intercept_)
    np.testing.assert_allclose(again, clf.decision_function(rows), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("model", ALL, ids=2 * IDS)
def test_few_rows_and_constant_columns(model):
    rows, y = np.array([[1e6, 7.0], [1e6 + 2, 7.0]]), np.array([0, 1])
    fitted = clone(model).set_params(stopping=None, max_iter=30).fit(rows, y)
    below, above = fitted.predict(rows)
    assert below < above
    equal = np.full((6, 2), 0.1)
    assert clone(model).set_params(stopping=None, max_iter=2).fit(equal, [0, 1] * 3).centre_ is None


def test_rows_in_a_file_are_copied_into_another(tmp_path, monkeypatch):
    X, y, _ = samples(300)
    np.save(tmp_path / "X.npy", X + 3000)
    rows, grams = np.load(tmp_path / "X.npy", mmap_mode="r"), []
    monkeypatch.setattr(mp.LinearMarginPathClassifier, "_begin", lambda _, gram: grams.append(gram))
    there, here = (mp.LinearMarginPathClassifier(random_state=0).fit(a, y) for a in (rows, X + 3000))
    np.testing.assert_array_equal(there.decision_function(X + 3000), here.decision_function(X + 3000))
    assert np.shares_memory(there.X_fit_, rows)
    assert [in_file(gram.X) for gram in grams] == [True, False]
    one, other = (row_codes(np.asarray(gram.X)) for gram in grams)
    np.testing.assert_array_equal(one, other)


def test_steps_do_not_depend_on_how_far(rng):
    """Where 0 is used to decide how small the first C was, and with it how many steps there were."""
    X, y, _ = samples(500)
    fits = [mp.LinearMarginPathClassifier(random_state=0).fit(X + a, y) for a in (10.0, 1e3, 1e6)]
    for one, other in pairwise(fits):
        assert one.n_iter_ == other.n_iter_
        assert pytest.approx(one.C_, rel=1e-6) == other.C_
