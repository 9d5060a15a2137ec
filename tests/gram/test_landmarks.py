"""Landmarks: a kernel of low rank, and a classifier on it that says so."""

import logging
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from array_api_compat import array_namespace
from sklearn.datasets import make_blobs, make_moons
from sklearn.kernel_approximation import Nystroem

import marginpath as mp
from marginpath import parallel
from marginpath.gram.choose import choose_gram, landmarks_for
from marginpath.gram.landmarks import landmark_gram
from marginpath.gram.pivots import _DEPENDENT, _cholesky, _row_by_row, choose_landmarks

strict = pytest.importorskip("array_api_strict")


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(1500, noise=0.3, random_state=0)
    return X.astype(np.float32), y


def by_landmarks(n=100, **settings):
    return mp.MarginPathClassifier(landmarks=n, random_state=0, **settings)


def test_the_matrix_is_that_of_nystroem(rng):
    X = rng.standard_normal((300, 3))
    gram = mp.Gram.landmarks(X, mp.Gaussian(1.0), 40)
    C, K = (mp.Gaussian(1.0)(rows, X[gram.chosen]) for rows in (X, X[gram.chosen]))
    expected = C @ np.linalg.pinv(K) @ C.T
    np.testing.assert_allclose(gram.features @ gram.features.T, expected, atol=2e-3)
    assert gram.trace_error == pytest.approx(1 - np.trace(expected) / 300, abs=1e-4)
    Z = rng.standard_normal((5, 3))
    np.testing.assert_allclose(
        gram.cross(Z) @ np.ones(300), mp.Gaussian(1.0)(Z, X[gram.chosen]) @ np.linalg.pinv(K) @ C.sum(axis=0),
        rtol=1e-3, atol=1e-3,
    )  # fmt: skip


@pytest.mark.parametrize(
    "kernel", [mp.Gaussian(1.0), mp.Laplacian(1.0), mp.Polynomial(2, 1.0, 1.0), mp.Cosine()]
)
def test_any_kernel_is_approximated_from_below(kernel, rng):
    X = rng.standard_normal((200, 3))
    K = kernel(X, X)
    errors = []
    for m in (5, 50, 200):
        features = mp.Gram.landmarks(X, kernel, m).features.astype(np.float64)
        left = np.linalg.eigvalsh(K - features @ features.T)
        assert left.min() > -1e-3 * np.abs(K).max()
        errors.append(left.sum() / np.trace(K))
    assert errors[0] + 1e-6 >= errors[1] >= errors[2] - 1e-6
    assert abs(errors[2]) < 1e-3


def test_features_leave_out_nothing_but_zeros(rng):
    X = rng.standard_normal((700, 6))
    gram = mp.Gram.landmarks(X, mp.Gaussian(1.0), 600)  # more than are multiplied at a time
    assert gram.root.shape[1] > 512
    assert not np.tril(gram.root, -1).any()
    whole = mp.Gaussian(1.0)(X, gram.points).astype(np.float32) @ gram.root.astype(np.float32)
    np.testing.assert_allclose(gram.features, whole, atol=1e-5)


def test_the_choice_does_not_depend_on_the_number_of_threads(rng):
    X = rng.standard_normal((3000, 3)).astype(np.float32)
    chosen = []
    for threads in (1, 3):
        with parallel.limited(threads):
            chosen.append(choose_landmarks(X, mp.Gaussian(0.5), 300, seed=1))
    np.testing.assert_array_equal(*chosen)


def test_pivots_are_better_than_chance(rng):
    """On many equal rows and few others, uniform landmarks miss the others."""
    X = np.concatenate([rng.standard_normal((2000, 2)) * 0.05, rng.uniform(-5, 5, (100, 2))])
    pivots = mp.Gram.landmarks(X, mp.Gaussian(1.0), 60).trace_error
    uniform = Nystroem(gamma=0.5, n_components=60, random_state=0).fit_transform(X)
    assert pivots < 0.5 * (1 - np.mean(np.sum(uniform**2, axis=1)))


def test_equal_rows_are_one_landmark():
    X = np.repeat(np.arange(7.0)[:, None], 30, axis=0)
    gram = mp.Gram.landmarks(X, mp.Gaussian(1.0), 50)
    assert len(gram.chosen) == 7
    assert gram.trace_error < 1e-5


@pytest.mark.parametrize("n", [1, 63, 64, 65, 300])
def test_blocks_of_rows_leave_out_what_one_row_after_the_other_does(n, rng):
    X = rng.standard_normal((n, 2))
    X[n // 2], X[-1] = X[0], X[n // 3]
    K = np.asarray(mp.Gaussian(0.5)(X, X), dtype=np.float64)
    (factor, kept), (slow, slowly) = (f(K, _DEPENDENT * np.diag(K)) for f in (_cholesky, _row_by_row))
    np.testing.assert_array_equal(kept, slowly)
    assert len(kept) < n or n == 1
    np.testing.assert_allclose(factor, slow, atol=1e-9)
    np.testing.assert_allclose(factor @ factor.T, K[np.ix_(kept, kept)], atol=1e-12)


def test_equal_rows_are_one_landmark_in_any_library():
    X = np.repeat(np.arange(7.0)[:, None], 30, axis=0)
    gram = mp.Gram.landmarks(strict.asarray(X), mp.Gaussian(1.0), 50)
    assert len(gram.chosen) == 7
    assert gram.trace_error < 1e-5


def test_the_same_seed_has_the_same_landmarks_and_bits(rng):
    X = rng.standard_normal((5000, 4)).astype(np.float32)
    first, again, other = (mp.Gram.landmarks(X, mp.Gaussian(2.0), 50, seed=s) for s in (1, 1, 2))
    assert first.features.tobytes() == again.features.tobytes()
    assert set(first.chosen) != set(other.chosen)


def test_sparse_rows_and_other_arrays(rng):
    X = rng.standard_normal((300, 5)) * (rng.random((300, 5)) < 0.4)
    dense, sparse, other = (
        mp.Gram.landmarks(each, mp.Gaussian(1.0), 30) for each in (X, sp.csr_array(X), strict.asarray(X))
    )
    np.testing.assert_array_equal(dense.chosen, sparse.chosen)
    np.testing.assert_allclose(dense.features, sparse.features, atol=1e-4)
    assert array_namespace(other.features) is strict
    there = np.asarray(other.features)
    np.testing.assert_allclose(dense.features, there[:, :30], atol=1e-4)
    assert there.shape[1] == 32  # a row begins where a GPU can read it
    assert not there[:, 30:].any()


@pytest.mark.parametrize("constant", [0.0, 0.3])
@pytest.mark.parametrize("asarray", [np.asarray, strict.asarray])
def test_centred_features_have_no_mean_and_the_same_sums(asarray, constant, rng):
    X, V = rng.standard_normal((200, 3)), rng.standard_normal((200, 2)).astype(np.float32)
    settings = {"constant": constant, "seed": 1}
    plain = landmark_gram(asarray(X), mp.Gaussian(1.5), 25, **settings)
    centred = landmark_gram(asarray(X), mp.Gaussian(1.5), 25, **settings, centred=True)
    F = np.asarray(plain.features)[:, :25].astype(np.float64)
    K = (F - F.mean(axis=0)) @ (F - F.mean(axis=0)).T + constant
    assert centred.trace_error == plain.trace_error
    np.testing.assert_allclose(np.asarray(centred @ asarray(V)), K @ V, atol=1e-4)
    np.testing.assert_allclose(np.asarray(centred.cross(asarray(X[:9])) @ asarray(V)), K[:9] @ V, atol=1e-4)
    *B, b = np.asarray(centred.on_landmarks(asarray(V)))
    np.testing.assert_allclose(mp.Gaussian(1.5)(X, X[centred.chosen]) @ B + b, K @ V, atol=1e-3)
    assert centred.norm_bounds()[1] < plain.norm_bounds()[0]


def test_how_many():
    assert landmarks_for(40_000, 1e9) == 2000
    assert landmarks_for(10**6, 2e9) == 122
    assert landmarks_for(10**7, 1e9) is None
    assert landmarks_for(9_999, 1e9) is None
    with pytest.raises(ValueError, match="at least 1"):
        choose_landmarks(np.ones((3, 1)), mp.Gaussian(1.0), 0)


def test_the_choice_goes_to_the_logger(caplog, rng, monkeypatch):
    monkeypatch.setattr("marginpath.gram.choose._MANY", 400)
    X = rng.standard_normal((400, 2)).astype(np.float32)
    with caplog.at_level(logging.INFO, "marginpath"):
        gram = choose_gram(X, mp.Gaussian(1.0), landmarks="auto", memory=600_000)
    assert f"400 samples is approximated by {len(gram.chosen)} landmarks, and lacks" in caplog.text
    assert 20 < len(gram.chosen) <= 122  # those that there is room for
    assert choose_gram(X, mp.Gaussian(1.0), landmarks="auto").chosen is None
    assert choose_gram(X, mp.Gaussian(1.0), memory=600_000).chosen is None


def test_few_landmarks_classify_as_well_as_the_kernel(moons):
    X, y = moons
    exact, approximate = (
        c.fit(X[::2], y[::2]) for c in (mp.MarginPathClassifier(random_state=0), by_landmarks())
    )
    assert approximate.score(X[1::2], y[1::2]) > exact.score(X[1::2], y[1::2]) - 0.01
    assert exact.landmarks_ is None
    assert exact.trace_error_ == 0
    assert len(approximate.landmarks_) <= 100
    assert approximate.trace_error_ < 0.01
    assert set(approximate.support_) <= set(approximate.landmarks_)
    assert np.max(approximate.path_["gap"][1:]) <= 1.01e-2


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("settings", [{}, {"method": "inertial"}, {"stopping": None, "max_iter": 8}], ids=str)
def test_decisions_are_sums_over_the_landmarks(classes, settings):
    X, y = make_blobs(300, centers=classes, cluster_std=4.0, random_state=1)
    clf = by_landmarks(40, **settings).fit(X, y)
    kernel = mp.Gaussian((2 * clf.gamma_) ** -0.5)
    values = kernel(X, X[clf.support_]) @ clf.dual_coef_.T + clf.intercept_
    staged = list(clf.staged_decision_function(X))
    np.testing.assert_allclose(clf.decision_function(X), staged[clf.step_ - 1], atol=1e-6)
    half = max(1, clf.step_ // 2)
    np.testing.assert_allclose(clf.at(half).decision_function(X), staged[half - 1], atol=1e-6)
    if classes == 2:
        np.testing.assert_allclose(clf.decision_function(X), values[:, 0], atol=1e-6)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.decision_function(X), clf.decision_function(X))


def test_out_of_fold_values_are_those_of_the_folds(moons):
    X, y = moons
    clf = by_landmarks().fit(X[::3], y[::3])
    held_out = np.mean((clf.out_of_fold_ > 0) == (y[::3] == 1))
    assert held_out == pytest.approx(clf.cv_results_["mean_test_score"][clf.step_ - 1], abs=1e-9)
    assert 0.8 < held_out < clf.score(X[::3], y[::3]) + 0.05


def test_going_on_is_going_through(moons):
    X, y = moons
    whole = by_landmarks(stopping=None, max_iter=8).fit(X, y)
    part = by_landmarks(stopping=None, max_iter=4, warm_start=True).fit(X, y)
    part.set_params(max_iter=8).fit(X, y)
    np.testing.assert_array_equal(part.decision_function(X), whole.decision_function(X))


def test_the_width_may_be_tuned(moons):
    X, y = moons
    clf = by_landmarks(50, gamma="tuned").fit(X[::3], y[::3])
    assert clf.score(X, y) > 0.88
    kernel = mp.Gaussian((2 * clf.gamma_) ** -0.5)
    values = kernel(X, X[::3][clf.support_]) @ clf.dual_coef_[0] + clf.intercept_
    rounding = 50 * np.finfo(np.float32).eps * np.abs(clf.dual_coef_).sum()  # of sums in float32
    np.testing.assert_allclose(clf.decision_function(X), values, rtol=0, atol=rounding)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "precomputed"}, "a precomputed matrix needs none"),
        ({"kernel": "linear"}, "whose features are X itself"),
    ],
)
def test_kernels_that_need_no_landmarks_say_so(settings, message, moons):
    X, y = moons
    X = X[:50] @ X[:50].T if settings["kernel"] == "precomputed" else X[:50]
    with pytest.raises(ValueError, match=message):
        by_landmarks(10, **settings).fit(X, y[:50])


def test_more_landmarks_than_samples_are_all_samples(moons):
    X, y = moons
    clf = by_landmarks(10_000).fit(X[:200], y[:200])
    assert len(clf.landmarks_) <= 200
    assert clf.trace_error_ < 1e-3


def test_memory_decides(moons, monkeypatch):
    X, y = moons
    assert mp.MarginPathClassifier(random_state=0, cache_size=4).fit(X, y).landmarks_ is None  # few rows
    monkeypatch.setattr("marginpath.gram.choose._MANY", 1500)
    clf = mp.MarginPathClassifier(random_state=0, cache_size=4).fit(X, y)  # of 9 MB
    assert 20 < len(clf.landmarks_) < 310
    assert clf.score(X, y) > 0.88
    assert mp.MarginPathClassifier(random_state=0, cache_size=4, landmarks=None).fit(X, y).landmarks_ is None


def test_steps_are_as_near_to_the_solution_as_asked(moons):
    """By default ten times further off than those of an exact kernel, which a model without a path knows.

    With a trace error of 2 % or more, twenty times.
    """
    X, y = moons
    for m, largest in ((60, 1e-2), (15, 2e-2)):
        clf = by_landmarks(m).fit(X, y)
        assert 1e-3 < clf.path_["gap"][1:].max() <= 1.1 * largest
        assert (clf.trace_error_ >= 2e-2) == (largest == 2e-2)
    assert by_landmarks(30, path_tol=1e-5).fit(X, y).path_["gap"][1:].max() <= 1.1e-5
    exact = mp.MarginPathClassifier(random_state=0).fit(X[:300], y[:300])
    assert exact.path_["gap"][1:].max() <= 1.1e-3
    assert by_landmarks(30).fit(X, y).slim().fit_facts_["inexact"] is False
