"""compress: fewer vectors, and a bound on what changes that holds without exception."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_moons

import marginpath as mp
from marginpath.estimators import compressor, refitting
from marginpath.estimators.refitting import REFITS
from marginpath.prediction.reduction import Pursuit, difference_bounds
from marginpath.validation.columns import OneVsOne


def data(n=120, d=3, classes=2, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(dtype)
    score = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(n)
    return X, np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)


def fit(X, y, **settings):
    return mp.MarginPathClassifier(**{"random_state": 0, **settings}).fit(X, y)


def holds(clf, small, X, **diagonal):
    """Whether the bound holds on every row, and every label that is called certain is the same."""
    return all_hold(clf, [small], X, **diagonal)


def all_hold(clf, compressed, X, **diagonal):
    """The same of several classifiers that were compressed from one."""
    before, labels = np.asarray(clf.decision_function(X), float), np.asarray(clf.predict(X))
    return all(
        np.all(np.abs(before - np.asarray(small.decision_function(X))) <= small.decision_bound(X, **diagonal))
        and np.array_equal(labels[certain], np.asarray(small.predict(X))[certain])
        for small in compressed
        for certain in [small.certain(X, **diagonal)]
    )


def linear(X, Z):
    return X @ Z.T + 1.0


KERNELS = [
    {"kernel": "rbf"},
    {"kernel": "poly", "coef0": 1.0},
    {"kernel": "laplacian"},
    {"kernel": "cosine"},
    {"kernel": "linear"},
    {"kernel": linear},
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: str(kernel["kernel"])[:12])
@pytest.mark.parametrize("classes", [2, 3])
def test_every_kernel(kernel, classes):
    X, y = data(classes=classes)
    clf = fit(X, y, **kernel)
    small = clf.compress(8)
    assert type(small) is type(clf)
    assert small.dual_coef_.shape == (len(clf.intercept_), small.compression_.n_vectors)
    assert len(small.support_vectors_) == small.compression_.n_vectors <= 8
    apart = np.abs(np.asarray(small.intercept_) - clf.intercept_)
    assert np.all(apart <= small.compression_.constant)
    assert holds(clf, small, np.concatenate([X, 100 * X, data(seed=1)[0]]))
    assert np.array_equal(clf.compress(8, refit="projection").intercept_, clf.intercept_)


@pytest.mark.parametrize("refit", REFITS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_refit(refit, dtype):
    X, y = data(dtype=dtype, classes=3)
    clf = fit(X, y)
    small = clf.compress(10, refit=refit)
    assert small.compression_.refit == refit
    assert small.X_fit_.dtype == small.dual_coef_.dtype == dtype
    assert holds(clf, small, data(500, dtype=dtype, seed=2)[0])
    assert small.predict_proba(X).shape == (len(X), 3)


def test_the_projection_has_the_smallest_distance():
    X, y = data()
    clf = fit(X, y)
    distances = [clf.compress(10, refit=refit).compression_.distance[0] for refit in REFITS]
    assert distances[0] == min(distances)
    K = mp.Gaussian((2 * clf.gamma_) ** -0.5)
    small = clf.compress(10, refit="projection")
    Z, S = small.support_vectors_, clf.support_vectors_
    w, v = clf.dual_coef_[0], small.dual_coef_[0]
    exact = w @ K(S, S) @ w - 2 * w @ K(S, Z) @ v + v @ K(Z, Z) @ v
    assert small.compression_.distance[0] == pytest.approx(np.sqrt(exact), rel=1e-6)
    assert np.abs(K(Z, S) @ w - K(Z, Z) @ v).max() < 1e-7  # what is left is orthogonal to the vectors


def test_the_bound_is_smaller_near_the_vectors():
    X, y = make_moons(300, noise=0.2, random_state=0)
    clf = fit(X, y)
    small = clf.compress(len(clf.support_) // 2, refit="projection")
    near, far = small.decision_bound(X), small.decision_bound(1e3 * np.ones((1, 2)))
    assert far >= small.compression_.distance
    assert np.median(near) < far / 10
    assert np.all(small.decision_bound(small.support_vectors_) < 1e-2 * far)
    assert np.mean(small.certain(X)) > 0.5


def test_moons_need_few_vectors():
    X, y = make_moons(600, noise=0.2, random_state=0)
    X_test, y_test = make_moons(4000, noise=0.2, random_state=1)
    clf = mp.MarginPathClassifier(random_state=0).fit(X, y)
    small = clf.compress(len(clf.support_) // 10)
    assert small.score(X_test, y_test) >= clf.score(X_test, y_test) - 0.002


def test_few_vectors_need_not_make_up_for_a_large_intercept():
    X, y = make_moons(300, noise=0.2, random_state=0)
    clf = fit(X, y, gamma=4.0)
    clf.intercept_ = clf.intercept_ + 8
    small = clf.compress(8, refit="coefficients")
    assert small.score(X, y) > 0.93
    assert holds(clf, small, np.concatenate([X, 100 * X]))


def test_tol_is_the_share_of_labels_that_change():
    X, y = data(200)
    clf = fit(X, y)
    sizes = []
    for tol in (0.0, 0.02, 0.2):
        small = clf.compress(tol=tol)
        assert np.mean(small.predict(X) != clf.predict(X)) <= tol
        assert small.compression_.changed == np.mean(small.predict(X) != clf.predict(X))
        sizes.append(small.compression_.n_vectors)
    assert sizes[0] >= sizes[1] >= sizes[2]
    assert sizes[0] < len(clf.support_)


def test_what_is_measured_on_the_out_of_fold_values():
    X, y = data()
    clf = fit(X, y)
    small = clf.compress(6, refit="projection")
    held_out = clf.out_of_fold_
    shifted = held_out + small.decision_function(X) - clf.decision_function(X)
    assert small.compression_.accuracy_before == np.mean((held_out > 0) == y)
    assert small.compression_.accuracy_after == np.mean((shifted > 0) == y)


@pytest.mark.parametrize("refit", ["auto", "projection"])
def test_sparse_rows(refit):
    X, y = data()
    X = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0))
    clf = fit(X, y)
    small = clf.compress(10, refit=refit)
    assert sp.issparse(small.X_fit_)
    assert holds(clf, small, X)
    with pytest.raises(ValueError, match="moves dense vectors"):
        clf.compress(10, refit="vectors")


def test_a_precomputed_kernel_has_coefficients_alone():
    X, y = data()
    K = mp.Gaussian(1.0)(X, X)
    clf = fit(K, y, kernel="precomputed")
    small = clf.compress(10)
    assert set(small.support_) <= set(clf.support_)
    assert not hasattr(small, "X_fit_")
    assert holds(clf, small, K, diagonal=np.ones(len(K)))
    with pytest.raises(ValueError, match="diagonal="):
        small.certain(K)


def test_a_classifier_by_landmarks():
    X, y = make_moons(600, noise=0.2, random_state=0)
    clf = fit(X, y, landmarks=60)
    small = clf.compress(len(clf.support_) // 3)
    assert small.compression_.n_before == len(clf.support_) <= 60
    assert holds(clf, small, np.concatenate([X, 100 * X]))
    assert small.score(X, y) > clf.score(X, y) - 0.02
    assert clf.compress(tol=0.05).compression_.changed <= 0.05


def test_many_rows_are_looked_at_in_part(monkeypatch):
    X, y = make_moons(600, noise=0.2, random_state=0)
    clf = fit(X, y)
    monkeypatch.setattr(compressor, "_ROWS", 100)
    work = compressor.Compressor(clf)
    assert 100 <= len(work.rows) <= 100 + len(clf.support_)
    small = clf.compress(20)
    assert holds(clf, small, X)
    assert np.array_equal(X[work.rows[work.support]], clf.support_vectors_)
    same = clf.predict(X[work.rows]) == small.predict(X[work.rows])
    assert small.compression_.changed == 1 - np.mean(same)


@pytest.mark.parametrize("weight", [{0: 1, 1: 30}, {0: 30, 1: 1}])
def test_refits_count_rows_as_the_fit_did(weight):
    X, y = data(300)
    y ^= np.random.default_rng(1).random(300) < 0.25  # where labels are noise, weights decide
    clf = fit(X, y, class_weight=weight)
    small = clf.compress(6)
    heavy = max(weight, key=weight.get)
    assert np.mean(clf.predict(X) == heavy) > 0.7
    assert np.mean(small.predict(X) == heavy) > 0.7


def test_noise_is_not_learnt_by_heart():
    rng = np.random.default_rng(0)
    X, X_test = rng.standard_normal((300, 30)), rng.standard_normal((3000, 30))
    y, y_test = (X[:, 0] > 0) ^ (rng.random(300) < 0.2), X_test[:, 0] > 0
    clf = fit(X, y)
    small = clf.compress(len(clf.support_) // 10)
    assert small.compression_.ridge > 0
    assert small.score(X_test, y_test) >= clf.score(X_test, y_test) - 0.002


ELSEWHERE = """
import array_api_strict as xp, numpy as np, sklearn, marginpath as mp
sklearn.set_config(array_api_dispatch=True)
X = np.random.default_rng(0).standard_normal((60, 3))
X, y = xp.asarray(X), xp.asarray((X[:, 0] * X[:, 1] > 0).astype(int))
for landmarks in (None, 30):
    clf = mp.MarginPathClassifier(random_state=0, stopping=None, max_iter=100, landmarks=landmarks).fit(X, y)
    small = clf.compress(10)
    assert type(small.dual_coef_) is type(small.X_fit_) is type(X)
    difference = np.asarray(xp.abs(small.decision_function(X) - clf.decision_function(X)))
    assert np.all(difference <= small.decision_bound(X))
    assert small.certain(X).shape == (60,)
"""


@pytest.mark.heavy
def test_arrays_of_another_library():
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}  # scikit-learn wants it before scipy is imported
    run = subprocess.run([sys.executable, "-c", ELSEWHERE], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_a_slim_classifier_can_be_compressed():
    X, y = data()
    clf = fit(X, y)
    small = clf.slim().compress(10)
    assert small.compression_.refit == "projection"
    assert small.compression_.changed is None
    assert holds(clf, small, X)
    with pytest.raises(AttributeError, match="training samples"):
        clf.slim().compress(tol=0.1)


@pytest.mark.parametrize("refit", REFITS)
def test_the_bound_holds_of_rounded_vectors_too(refit):
    X, y = data()
    clf = fit(X, y)
    small = clf.compress(len(clf.support_) - 1, refit=refit)
    rounded = small.slim(rounded=True)
    assert np.array_equal(rounded.X_fit_, small.X_fit_.astype(np.float32))
    assert holds(clf, rounded, np.concatenate([X, 100 * X, rounded.X_fit_, clf.support_vectors_]))
    assert np.all(rounded.decision_bound(X) <= small.decision_bound(X) + 1e-3)


def test_more_vectors_than_there_are_change_nothing():
    X, y = data()
    clf = fit(X, y)
    with pytest.warns(UserWarning, match="no fewer than the"):
        same = clf.compress(10**6)
    assert np.array_equal(same.decision_function(X), clf.decision_function(X))
    assert same.compression_.distance[0] < 1e-4


@pytest.mark.parametrize("support", [0, 1])
def test_almost_no_vectors(support):
    X, y = data(40)
    clf = fit(X, y)
    clf.support_, clf.dual_coef_ = clf.support_[:support], clf.dual_coef_[:, :support]
    for size in ({"n_vectors": 1}, {"tol": 0.0}):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "n_vectors")
            small = clf.compress(**size)
        assert small.compression_.n_vectors == support
        assert np.array_equal(small.decision_function(X), clf.decision_function(X))
        assert small.certain(X).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "one of n_vectors"),
        ({"n_vectors": 3, "tol": 0.1}, "one of n_vectors"),
        ({"n_vectors": 0}, "at least 1"),
        ({"n_vectors": 2.5}, "whole number"),
        ({"tol": 1.0}, "0 ≤ tol < 1"),
        ({"tol": "much"}, "0 ≤ tol < 1"),
        ({"n_vectors": 3, "refit": "anew"}, "refit must be"),
    ],
)
def test_bad_settings(settings, message):
    X, y = data(40)
    with pytest.raises(ValueError, match=message):
        fit(X, y).compress(**settings)


def test_a_classifier_that_is_not_fitted_or_not_compressed():
    with pytest.raises(sklearn.exceptions.NotFittedError):
        mp.MarginPathClassifier().compress(3)
    X, y = data(40)
    with pytest.raises(AttributeError) as raised:
        fit(X, y).certain(X)
    assert "was not compressed" in str(raised.value.__cause__)
    assert not hasattr(mp.LinearMarginPathClassifier(), "compress")


def test_a_new_fit_forgets_the_compression():
    X, y = data()
    small = fit(X, y).compress(10).fit(X, y)
    assert not hasattr(small, "compression_")
    assert len(small.path_.steps) > 1


@settings(deadline=None, max_examples=25)
@given(
    kernel=st.sampled_from(KERNELS[:5]),
    dtype=st.sampled_from([np.float64, np.float32]),
    classes=st.integers(2, 4),
    k=st.integers(1, 30),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    refit=st.sampled_from(["projection", "coefficients"]),
    seed=st.integers(0, 50),
)
@pytest.mark.filterwarnings("ignore:n_vectors", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_bound_holds_whatever_the_model(kernel, dtype, classes, k, scale, refit, seed):
    X, y = data(60, 4, classes, dtype, seed)
    clf = fit(dtype(scale) * X, y, stopping=None, max_iter=6, **kernel)
    with pytest.MonkeyPatch.context() as few:
        few.setattr(refitting, "_RIDGES", (1.0,))  # which ridge the folds choose is no matter here
        small = clf.compress(k, refit=refit)
    rng = np.random.default_rng(seed)
    far = (rng.standard_normal((200, 4)) * 10.0 ** rng.uniform(-3, 3, (200, 1))).astype(dtype)
    assert holds(clf, small, np.concatenate([dtype(scale) * X, far]))


@pytest.mark.heavy
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("classes", [2, 4], ids=["two classes", "pairs"])
def test_the_bound_holds_on_a_million_rows(dtype, classes):
    """Rows on the training rows but for rounding, near them and far; each is judged with all three refits."""
    X, y = data(400, 5, classes, dtype)
    clf = fit(X, y, cv=3)
    assert (classes == 2) != isinstance(clf.columns_, OneVsOne)
    sizes = (3, 30, len(clf.support_) - 1)
    models = [[clf.compress(k, refit=refit) for refit in REFITS] for k in sizes]
    rng = np.random.default_rng(0)
    for batch in range(50):
        near = X[rng.integers(len(X), size=10_000)] + rng.standard_normal((10_000, 5)) * 10.0 ** rng.uniform(
            -8, 1, (10_000, 1)
        )
        far = rng.standard_normal((10_000, 5)) * 10.0 ** rng.uniform(-4, 4, (10_000, 1))
        rows = np.concatenate([near, far]).astype(dtype)
        assert all_hold(clf, models[batch % len(sizes)], rows)


def test_the_distance_is_bounded_where_differences_cancel():
    rng = np.random.default_rng(0)
    for _ in range(50):
        X = rng.standard_normal((20, 2)) * 10.0 ** rng.uniform(-6, 2)
        V = rng.standard_normal((20, 3)) * 10.0 ** rng.uniform(-8, 8, (1, 3))
        V[10:] = -V[:10]
        X[10:] = X[:10] + 1e-9 * rng.standard_normal((10, 2))
        D = X.astype(np.longdouble)
        K = np.exp(-((D[:, None] - D[None]) ** 2).sum(axis=2) / 2)
        exact = np.sqrt(np.maximum(np.einsum("ij,ik,kj->j", V, K, V), 0))
        assert np.all(difference_bounds(mp.TiledGram(X, mp.Gaussian(1.0)), V).distance >= exact)


def test_pursuit_stops_where_nothing_is_left():
    X = np.repeat(np.arange(3.0), 4)[:, None]  # twelve rows, three different ones
    K = np.exp(-((X - X.T) ** 2))
    pursuit = Pursuit(lambda j: K[:, j], np.arange(12), K @ np.ones((12, 1)), np.ones(12))
    steps = list(pursuit.steps(range(1, 13)))
    assert len(steps) == 3
    assert [len(step.chosen) for step in pursuit.steps([12, 2])] == [2, 3]
    assert np.allclose(K[:, steps[-1].chosen] @ steps[-1].coef.T, K @ np.ones((12, 1)))
