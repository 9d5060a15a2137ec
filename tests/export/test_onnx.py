"""ONNX: the graph decides as the classifier does."""

import sys

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import marginpath as mp
from marginpath.export.onnx import register, to_onnx

NEEDED = "install marginpath[onnx] to test it"
skl2onnx = pytest.importorskip("skl2onnx", reason=NEEDED)
runtime = pytest.importorskip("onnxruntime", reason=NEEDED)

KERNELS = ("rbf", "poly", "linear", "laplacian", "cosine")


def session(model):
    return runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def outputs(model, X):
    return session(model).run(None, {"X": X})


def classes(number):
    X, codes = load_iris(return_X_y=True)
    part = codes < number
    return X[part], np.array(["one", "two", "three"])[codes[part]]


def kernel_classifier(kernel, **settings):
    return mp.MarginPathClassifier(kernel, coef0=1.0, random_state=0, **settings)


@pytest.mark.parametrize("number", [2, 3])
@pytest.mark.parametrize("kernel", [*KERNELS, None])
def test_the_graph_says_what_the_classifier_says(kernel, number):
    X, y = classes(number)
    clf = mp.LinearMarginPathClassifier(random_state=0) if kernel is None else kernel_classifier(kernel)
    clf.fit(X, y)
    given = np.random.default_rng(0).normal(X.mean(axis=0), X.std(axis=0), (60, 4))
    label, chance = outputs(to_onnx(clf, X), given)
    assert np.array_equal(label, clf.predict(given))
    assert len(set(label)) == number
    coefficients = clf.coef_ if kernel is None else clf.dual_coef_
    rounding = 1e-12 * np.abs(coefficients).sum()  # of a sum of terms that large, at a large C
    assert np.allclose(chance, clf.predict_proba(given), rtol=0, atol=1e-9 + rounding)
    single = given.astype(np.float32)
    label, chance = outputs(to_onnx(clf, X.astype(np.float32)), single)
    assert chance.dtype == np.float32
    assert np.array_equal(label, clf.predict(single.astype(np.float64)))
    assert np.allclose(chance, clf.predict_proba(single.astype(np.float64)), rtol=0, atol=1e-6 + rounding)


@pytest.mark.parametrize("settings", [{}, {"class_weight": "balanced"}, {"class_weight": {0: 3.0, 7: 0.2}}])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_ten_classes_with_weights(multi_class, settings):
    X, y = load_digits(return_X_y=True)
    clf = mp.MarginPathClassifier(multi_class=multi_class, random_state=0, **settings).fit(X[:300], y[:300])
    label, chance = outputs(to_onnx(clf, X), X[300:])
    assert np.array_equal(label, clf.predict(X[300:]))
    assert np.allclose(chance, clf.predict_proba(X[300:]), rtol=0, atol=1e-7)
    early = clf.at(3)
    label, scores = outputs(to_onnx(early, X), X[300:])
    assert np.array_equal(label, early.predict(X[300:]))
    assert np.allclose(scores, early.decision_function(X[300:]))


@pytest.mark.parametrize("number", [2, 3])
def test_isotonic_probabilities_have_no_graph(number):
    X, y = classes(number)
    clf = mp.MarginPathClassifier(calibration="isotonic", random_state=0).fit(X, y)
    label, scores = outputs(to_onnx(clf, X), X)
    assert np.array_equal(label, clf.predict(X))
    assert np.allclose(scores[:, 1:], clf.decision_function(X).reshape(len(X), -1)[:, -scores.shape[1] + 1 :])


@pytest.mark.parametrize("number", [2, 3])
def test_without_probabilities_there_are_decision_values(number):
    X, y = classes(number)
    clf = mp.MarginPathClassifier(stopping=None, max_iter=30, random_state=0).fit(X, y)
    _, scores = outputs(to_onnx(clf, X), X)
    decision = clf.decision_function(X)
    wanted = np.stack([-decision, decision], axis=1) if number == 2 else decision
    assert np.allclose(scores, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())


def test_any_step_of_the_path_can_be_converted():
    X, y = classes(3)
    early = mp.MarginPathClassifier(random_state=0).fit(X, y).at(2)
    label, scores = outputs(to_onnx(early, X), X)
    assert np.array_equal(label, early.predict(X))
    assert np.allclose(scores, early.decision_function(X))


@pytest.mark.parametrize("cls", [mp.MarginPathClassifier, mp.LinearMarginPathClassifier])
def test_models_of_single_precision_and_of_sparse_samples(cls):
    X, y = make_classification(120, 6, random_state=0)
    single = cls(random_state=0).fit(X.astype(np.float32), y)
    _, chance = outputs(to_onnx(single, X.astype(np.float32)), X.astype(np.float32))
    assert np.allclose(chance, single.predict_proba(X.astype(np.float32)), rtol=0, atol=1e-5)
    X[np.abs(X) < 0.5] = 0
    sparse = cls(random_state=0).fit(csr_array(X), y)
    label, chance = outputs(to_onnx(sparse, X), X)
    assert label.dtype == np.int64
    assert np.allclose(chance, sparse.predict_proba(csr_array(X)), rtol=0, atol=1e-9)


def test_a_zero_row_has_no_direction():
    X, y = classes(2)
    clf = kernel_classifier("cosine").fit(X, y)
    zero = np.zeros((1, 4))
    assert np.allclose(outputs(to_onnx(clf, X), zero)[1], clf.predict_proba(zero))


@pytest.mark.parametrize("labels", [[False, True], [0.0, 1.0], [-1, 1]])
def test_labels_are_numbers_too(labels):
    X, y = classes(2)
    clf = mp.LinearMarginPathClassifier(random_state=0).fit(X, np.array(labels)[(y == "two").astype(int)])
    label, _ = outputs(to_onnx(clf, X), X)
    assert label.dtype == np.int64
    assert np.array_equal(label, clf.predict(X))


def test_older_versions_of_onnx():
    X, y = classes(3)
    clf = mp.MarginPathClassifier(random_state=0).fit(X, y)
    label, _ = outputs(to_onnx(clf, X, target_opset=13), X)
    assert np.array_equal(label, clf.predict(X))


def test_pipelines_are_converted_whole():
    X, y = classes(3)
    pipe = make_pipeline(StandardScaler(), mp.MarginPathClassifier(random_state=0)).fit(X, y)
    label, chance = outputs(to_onnx(pipe, X), X)
    assert np.array_equal(label, pipe.predict(X))
    assert np.allclose(chance, pipe.predict_proba(X), rtol=0, atol=1e-9)


def test_skl2onnx_knows_the_classifiers_once_registered():
    X, y = classes(3)
    clf = mp.LinearMarginPathClassifier(random_state=0).fit(X, y)
    register()
    X = X.astype(np.float32)
    label, maps = outputs(skl2onnx.to_onnx(clf, X[:1]), X)
    assert np.array_equal(label, clf.predict(X))
    assert maps[0]["one"] == pytest.approx(clf.predict_proba(X)[0, list(clf.classes_).index("one")], abs=1e-6)


def test_scores_are_not_sold_as_probabilities():
    X, y = classes(2)
    clf = mp.LinearMarginPathClassifier(stopping=None, max_iter=5).fit(X, y)
    register()
    with pytest.raises(ValueError, match="raw_scores"):
        skl2onnx.to_onnx(clf, X[:1])


def test_what_has_no_graph_is_refused():
    X, y = classes(2)
    called = mp.MarginPathClassifier(lambda A, B: A @ B.T, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"code is no graph.*rbf, poly"):
        to_onnx(called, X)
    given = mp.MarginPathClassifier("precomputed", random_state=0).fit(X @ X.T, y)
    with pytest.raises(ValueError, match="computed elsewhere"):
        to_onnx(given, X @ X.T)
    with pytest.raises(TypeError, match=r"got StandardScaler.*register\(\)"):
        to_onnx(StandardScaler().fit(X), X)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r"marginpath\[onnx\]"):
        register()


@pytest.mark.parametrize("refit", ["projection", "vectors"])
def test_a_compressed_classifier_is_a_small_graph(refit):
    X, y = make_classification(400, 6, n_informative=4, n_redundant=0, flip_y=0.1, random_state=0)
    clf = kernel_classifier("rbf").fit(X, y)
    small = clf.compress(9, refit=refit)
    whole, graph = (to_onnx(each, X) for each in (clf, small))
    label, chance = outputs(graph, X)
    assert np.array_equal(label, small.predict(X))
    assert np.allclose(chance, small.predict_proba(X), rtol=0, atol=1e-9)
    assert len(graph.SerializeToString()) < len(whole.SerializeToString()) / 4


@pytest.mark.parametrize("kernel", ["linear", None])
def test_columns_far_from_zero(kernel):
    X, y = classes(3)
    X = (X + 3000).astype(np.float32)
    clf = mp.LinearMarginPathClassifier(random_state=0) if kernel is None else kernel_classifier(kernel)
    clf.fit(X, y)
    assert clf.centre_ is not None
    label, chance = outputs(to_onnx(clf, X), X)
    assert np.mean(label == clf.predict(X)) > 0.98
    np.testing.assert_allclose(chance, clf.predict_proba(X), atol=1e-3)
