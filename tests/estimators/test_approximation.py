"""What landmarks change, measured, and more of them."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

import marginpath as mp
from marginpath.gram.landmarks import landmark_gram


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(1200, noise=0.3, random_state=0)
    return X[:800].astype(np.float32), y[:800], X[800:].astype(np.float32)


def by_landmarks(n, **settings):
    return mp.MarginPathClassifier(landmarks=n, random_state=0, **settings)


@pytest.mark.parametrize("m", [4, 8])
@pytest.mark.parametrize("settings", [{}, {"class_weight": {0: 1, 1: 3}}], ids=str)
def test_on_all_samples_the_disagreement_is_that_with_the_svm(m, settings, moons):
    X, y, Z = moons
    clf = by_landmarks(m, path_tol=1e-6, **settings).fit(X, y)
    svm = SVC(C=clf.C_, gamma=clf.gamma_, tol=1e-6, **settings).fit(X, y)
    share = np.mean(svm.predict(Z) != clf.predict(Z))
    assert share > 0.01
    assert clf.disagreement(Z, n_rows=len(X)) == pytest.approx(share, abs=2.1 / len(Z))


def test_more_landmarks_disagree_less(moons):
    X, y, Z = moons
    few, many = (by_landmarks(m).fit(X, y).disagreement(Z, n_rows=300, random_state=0) for m in (3, 80))
    assert few > 0.03
    assert many < 0.01


def test_the_samples_of_a_disagreement_are_drawn(moons):
    X, y, Z = moons
    clf = by_landmarks(4).fit(X, y)
    first, again, *others = (clf.disagreement(Z, n_rows=100, random_state=s) for s in (0, 0, 1, 2, 3))
    assert first == again
    assert len({first, *others}) > 1


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_rare_classes_are_among_the_samples(multi_class):
    X, y = make_blobs([300, 300, 3], centers=[[0, 0], [3, 0], [0, 3]], random_state=0)
    with pytest.warns(UserWarning, match="Fewer than 5"):
        clf = by_landmarks(5, multi_class=multi_class).fit(X, y)
    assert 0 <= clf.disagreement(X, n_rows=20, random_state=0) < 0.2


def test_the_kernel_itself_agrees(moons):
    X, y, Z = moons
    clf = mp.MarginPathClassifier(random_state=0).fit(X, y)
    assert clf.disagreement(Z) == 0
    with pytest.raises(ValueError, match="n_rows must be at least 2"):
        clf.disagreement(Z, n_rows=1)
    with pytest.raises(AttributeError, match="needs the steps of the path"):
        by_landmarks(5).fit(X, y).slim().disagreement(Z)


@pytest.mark.parametrize("settings", [{}, {"stopping": None, "max_iter": 20}], ids=str)
def test_refining_keeps_landmarks_and_adds_others(settings, moons):
    X, y, Z = moons
    clf = by_landmarks(5, **settings).fit(X, y)
    before = pickle.loads(pickle.dumps(clf))
    assert clf.refine(X, y, landmarks=40) is clf
    np.testing.assert_array_equal(clf.landmarks_[:5], before.landmarks_)
    assert 35 <= len(clf.landmarks_) <= 40
    assert clf.trace_error_ < before.trace_error_
    assert clf.gamma_ == before.gamma_
    assert clf.get_params() == before.get_params()
    whole = mp.MarginPathClassifier(random_state=0, **{**settings, "gamma": clf.gamma_}).fit(X, y)
    wrong = [np.mean(each.predict(Z) != whole.predict(Z)) for each in (before, clf)]
    assert wrong[1] < 0.3 * wrong[0]


def test_a_refined_path_is_shorter_and_its_steps_are_those_of_the_whole(moons):
    X, y, _ = moons
    clf = by_landmarks(6, path_tol=1e-6).fit(X, y)
    C, first = clf.C_, clf.path_["bound"][1]
    clf.refine(X, y, landmarks=40)
    assert 2 * first < clf.path_["bound"][1] < C / 100
    svm = SVC(C=clf.C_, gamma=clf.gamma_, kernel="precomputed", tol=1e-6)
    features = mp.Gram.landmarks(X, mp.Gaussian((2 * clf.gamma_) ** -0.5), clf.landmarks_).features
    svm.fit(features @ features.T, y)
    np.testing.assert_allclose(
        clf.decision_function(X), svm.decision_function(features @ features.T), atol=0.02
    )


def test_a_tuned_width_is_not_tuned_again(moons, monkeypatch):
    X, y, _ = moons
    clf = by_landmarks(30, gamma="tuned").fit(X[::2], y[::2])
    gamma, lost = clf.gamma_, clf.trace_error_
    monkeypatch.setattr(mp.MarginPathClassifier, "_search_widths", None)
    clf.refine(X[::2], y[::2], landmarks=60)
    assert clf.gamma_ == gamma
    assert clf.trace_error_ < lost
    assert clf.gamma == "tuned"


def test_a_path_whose_best_step_is_the_first_is_followed_from_its_start(moons, monkeypatch):
    X, y, _ = moons
    monkeypatch.setattr("marginpath.estimators.approximation._BEFORE", 1.1)
    clf = by_landmarks(30, n_iter_no_change=15, path_tol=1e-3).fit(X, y)
    clf, first = clf.at(clf.n_iter_), clf.path_["bound"][1]  # where it has learned the wrong labels
    fits = []
    fit = mp.MarginPathClassifier.fit
    monkeypatch.setattr(
        mp.MarginPathClassifier, "fit", lambda self, *data: fits.append(self.schedule) or fit(self, *data)
    )
    clf.refine(X, y, landmarks=100)
    assert fits[0] != fits[1] == "auto"
    assert clf.path_["bound"][1] < 2 * first


def test_no_more_landmarks_are_the_same_model(moons):
    X, y, Z = moons
    clf = by_landmarks(20).fit(X, y)
    values, steps = clf.decision_function(Z), clf.n_iter_
    clf.refine(X, y, landmarks=len(clf.landmarks_))
    np.testing.assert_array_equal(clf.decision_function(Z), values)
    assert clf.n_iter_ == steps


def test_what_cannot_be_refined_says_so_and_stays(moons):
    X, y, Z = moons
    clf = by_landmarks(20).fit(X, y)
    values = clf.decision_function(Z)
    for wrong in (5, "auto", 30.5):
        with pytest.raises(ValueError, match="to the 20 there are, and needs their number in all; got"):
            clf.refine(X, y, landmarks=wrong)
    labels = np.array(["one", "two"])[np.asarray(y == y.max(), dtype=int)]
    others = (
        (X[::-1], y[::-1]),
        (X, y.max() + y.min() - y),
        (X, labels),
        (np.vstack([X, X]), np.hstack([y, y])),
    )
    for given in others:
        with pytest.raises(ValueError, match="needs the samples of the fit"):
            clf.refine(*given, landmarks=30)
    with pytest.raises(ValueError, match="no landmarks to add to"):
        mp.MarginPathClassifier(random_state=0).fit(X, y).refine(X, y, landmarks=5)
    np.testing.assert_array_equal(clf.decision_function(Z), values)


def test_landmarks_may_be_given_by_their_numbers(moons):
    X, _, _ = moons
    gram = mp.Gram.landmarks(X, mp.Gaussian(1.0), np.array([7, 3, 300, 7]))
    assert gram.chosen.tolist() == [7, 3, 300]
    K = mp.Gaussian(1.0)(X, X[gram.chosen])
    expected = K @ np.linalg.inv(K[gram.chosen]) @ K.T
    np.testing.assert_allclose(gram.features @ gram.features.T, expected, atol=1e-4)
    equal = np.concatenate([X[:5], X[:5]])
    assert mp.Gram.landmarks(equal, mp.Gaussian(1.0), np.array([9, 0, 4, 1])).chosen.tolist() == [9, 0, 1]
    for wrong in (np.array([-1, 3]), np.array([800]), np.array([0.5]), np.array([], dtype=int)):
        with pytest.raises(ValueError, match="from 0 to 799"):
            mp.Gram.landmarks(X, mp.Gaussian(1.0), wrong)
    with pytest.raises(ValueError, match="'auto' or None; got 'many'"):
        mp.Gram.choose(X, mp.Gaussian(1.0), landmarks="many")


@pytest.mark.parametrize("settings", [{}, {"stopping": None, "max_iter": 40}, {"stopping": "holdout"}])
def test_algorithm_2_decides_by_features_about_their_mean(settings):
    X, y = make_moons(700, noise=0.3, random_state=0)
    clf = mp.MarginPathClassifier(method="inertial", landmarks=30, random_state=0, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf.fit(X, y)
    gram = landmark_gram(X, clf.kernel_, clf.landmarks_, constant=clf.constant_, centred=True)
    for step in (1, clf.step_):
        decided = clf.at(step).decision_function(X)
        np.testing.assert_allclose(decided, (gram @ clf.coefficients(step))[:, 0], atol=1e-3)
