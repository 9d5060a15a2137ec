"""slim: the same predictions from less, and an error that says what is missing."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
    make_moons,
)
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import marginpath as mp
from marginpath.files.objects import load, save


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize(
    "make",
    [
        lambda: mp.MarginPathClassifier(random_state=0),
        lambda: mp.MarginPathClassifier("laplacian", random_state=0),
        lambda: mp.LinearMarginPathClassifier(random_state=0),
    ],
    ids=["rbf", "laplacian", "linear"],
)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_predictions_are_the_same(wine, make, kind):
    X, y = kind(wine[0]), wine[1]
    clf = make().fit(X, y)
    slim = pickle.loads(pickle.dumps(clf.slim()))
    assert type(slim) is type(clf)
    assert np.array_equal(slim.decision_function(X), clf.decision_function(X))
    assert np.array_equal(slim.predict_proba(X), clf.predict_proba(X))
    assert len(pickle.dumps(slim)) < len(pickle.dumps(clf)) / 3
    assert slim.fit_facts_["samples"] == len(y)
    assert slim.fit_facts_["cv_error"] == pytest.approx(1 - max_score(clf))
    assert slim.get_params() == clf.get_params()


def max_score(clf):
    return clf.cv_results_["mean_test_score"][clf.step_ - 1]


def test_what_needs_the_path_says_so(wine):
    X, y = wine
    clf = mp.MarginPathClassifier(random_state=0).fit(X, y)
    slim = clf.slim()
    for use in (
        lambda: slim.at(1),
        lambda: list(slim.staged_predict(X)),
        lambda: list(slim.staged_decision_function(X)),
        lambda: slim.models_,
        lambda: slim.coefficients(1),
        lambda: slim.separable_,
    ):
        with pytest.raises(AttributeError, match="has left behind"):
            use()
    assert clf.at(1).step_ == 1
    assert slim.slim().fit_facts_ == slim.fit_facts_
    assert clone(slim).fit(X, y).at(1).step_ == 1


def test_a_precomputed_kernel_needs_no_samples(wine):
    X, y = wine
    K = mp.Gaussian(4.0)(X, X)
    clf = mp.MarginPathClassifier("precomputed", random_state=0).fit(K, y)
    slim = clf.slim()
    assert not hasattr(slim, "X_fit_")
    assert np.array_equal(slim.decision_function(K), clf.decision_function(K))


def test_rounded_vectors_move_no_decision_value_by_more_than_they_say(wine):
    X, y = wine
    clf = mp.MarginPathClassifier(random_state=0).fit(X, y)
    slim = clf.slim(rounded=True)
    moved = np.abs(slim.decision_function(X) - clf.decision_function(X)).max()
    assert 0 < moved <= slim.fit_facts_["rounded"] <= 1e-3
    assert np.array_equal(slim.X_fit_, slim.X_fit_.astype(np.float32))
    far = mp.MarginPathClassifier(random_state=0).fit(X + 1e9, y).slim(rounded=True)
    assert "rounded" not in far.fit_facts_
    linear = mp.LinearMarginPathClassifier(random_state=0).fit(X, y)
    assert np.array_equal(linear.slim(rounded=True).coef_, linear.coef_)


def noisy():
    return make_classification(2000, 20, n_informative=10, flip_y=0.05, random_state=0)


SETS = {
    "noisy": noisy,
    "digits": lambda: load_digits(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "iris": lambda: load_iris(return_X_y=True),
    "few rare": lambda: make_classification(480, 8, weights=[0.91], class_sep=2.0, random_state=0),
    "moons": lambda: make_moons(2000, noise=0.3, random_state=0),
}


@pytest.mark.parametrize("name", SETS)
def test_files_are_no_larger_than_the_pickle_of_svc(tmp_path, name):
    X, y = SETS[name]()
    X = StandardScaler().fit_transform(X)
    clf = mp.MarginPathClassifier(random_state=0).fit(X, y)
    svc = SVC(C=clf.C_, gamma=clf.gamma_).fit(X, y)
    save(tmp_path / "slim.model", clf.slim(rounded=True))
    assert (tmp_path / "slim.model").stat().st_size <= len(pickle.dumps(svc))
    restored = load(tmp_path / "slim.model", mp.MarginPathClassifier)
    assert np.array_equal(restored.predict(X), clf.predict(X))
    assert restored.X_fit_.dtype == X.dtype


def test_files_hold_a_compressed_classifier(tmp_path, wine):
    X, y = wine
    small = mp.MarginPathClassifier(random_state=0).fit(X, y).compress(10)
    save(tmp_path / "small.model", small)
    restored = load(tmp_path / "small.model", mp.MarginPathClassifier)
    assert np.array_equal(restored.decision_function(X), small.decision_function(X))
    assert np.array_equal(restored.certain(X), small.certain(X))
