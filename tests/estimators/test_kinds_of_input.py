"""Kernels, sparse rows, weights, groups and arrays of other libraries; probabilities and pickling."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from classifiers import BOTH, close, decisions, solved
from sklearn.datasets import make_classification, make_moons
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut
from sklearn.svm import SVC

import marginpath as mp


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
    settings = {"random_state": 0, "path_tol": 1e-11}
    named = mp.MarginPathClassifier(gamma=0.5, **settings).fit(X[:90], y[:90])
    given = mp.MarginPathClassifier("precomputed", **settings).fit(rbf_kernel(X[:90], gamma=0.5), y[:90])
    close(decisions(given, rbf_kernel(X[90:], X[:90], gamma=0.5)), decisions(named, X[90:]))
    with pytest.raises(ValueError, match="square"):
        mp.MarginPathClassifier("precomputed").fit(X, y)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_is_dense_and_float32_stays(cls, dtype, moons):
    X, y = moons
    X = np.where(np.abs(X) < 0.3, 0, X).astype(dtype)
    settings = solved(1e-7 if dtype == np.float32 else 1e-11)
    dense = cls(random_state=0, **settings).fit(X, y)
    sparse = cls(random_state=0, **settings).fit(sp.csr_array(X), y)
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


OTHER_LIBRARY = """
import logging
import warnings
import array_api_strict as xp, numpy as np, pytest, sklearn
from sklearn.datasets import load_iris, make_moons
import marginpath as mp
from marginpath.arrays import to_numpy

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

# Nothing comes from elsewhere than where the samples are: a GPU would refuse it.
elsewhere = xp.asarray(X, device=xp.Device("device1"))
for settings in ({}, {"landmarks": 20}, {"cache_size": 0.1}):
    there = mp.MarginPathClassifier(max_iter=10, random_state=0, **settings).fit(elsewhere, y)
    here = mp.MarginPathClassifier(max_iter=10, method="inertial", random_state=0, **settings).fit(X, y)
    for name in ("decision_function", "predict_proba"):
        result = getattr(there, name)(elsewhere)
        assert result.device == elsewhere.device
        np.testing.assert_allclose(to_numpy(result), getattr(here, name)(X), atol=1e-5)

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


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("cls", [mp.MarginPathClassifier, mp.MarginPathRegressor])
def test_the_usual_width_does_not_depend_on_the_unit(cls, kernel, rng):
    X = rng.standard_normal((80, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    one, other = (cls(kernel, random_state=0).fit(unit * X, y) for unit in (1.0, 1024.0))
    np.testing.assert_allclose(one.predict(X), other.predict(1024.0 * X), atol=0.05)
