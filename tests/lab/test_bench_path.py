"""The benchmark of the path: its measures know a solution from what is none, and say which step misses."""

import numpy as np
import pytest
from marginpath_lab.bench import path, path_steps
from marginpath_lab.bench.measure import Entry
from marginpath_lab.bench.objectives import Objectives
from marginpath_lab.bench.path_picture import draw
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from marginpath.datasets import Dataset


def overlapping(n_classes, n=120):
    """Return classes that overlap, with as many samples to train as to test."""
    rng = np.random.default_rng(0)
    y = np.arange(2 * n) % n_classes
    X = rng.normal(y[:, None], 1.0, (2 * n, 3))
    return Dataset("a set", X[:n], y[:n], X[n:], y[n:], ())


@pytest.fixture(scope="module", params=[2, 3])
def compared(request):
    """A fitted classifier, the references at its steps, and the data."""
    data = overlapping(request.param)
    ours = path.Path()
    ours.run(data)
    return ours.clf, path.References(ours).run(data), data


def test_references_are_svc_at_the_bounds_of_the_steps(compared):
    clf, references, data = compared
    step = clf.n_iter_ // 2
    y = data.y == clf.classes_[-1]
    svc = SVC(C=clf.models_.bound(step), gamma=clf.gamma_, tol=1e-5).fit(data.X, y)
    K = rbf_kernel(data.X_test, data.X, gamma=clf.gamma_)
    decisions = K @ references.coefficients[-1][:, step - 1] + references.intercepts[-1, step - 1]
    np.testing.assert_allclose(decisions, svc.decision_function(data.X_test), atol=1e-8)


def test_the_errors_are_those_of_the_classifier(compared):
    clf, references, data = compared
    series = path_steps.compare(clf, references, data)
    for part, X, y in (("training", data.X, data.y), ("test", data.X_test, data.y_test)):
        wanted = [np.mean(labels != y) for labels in clf.staged_predict(X)]
        np.testing.assert_allclose(series[f"{part} error, {path_steps.OURS}"], wanted, rtol=1e-4)


def test_a_path_to_its_tolerance_is_near_svc(compared):
    clf, references, data = compared
    series = path_steps.compare(clf, references, data)
    assert len(series["C"]) == clf.n_iter_
    assert max(series["gap"]) <= 1e-3 * (1 + 1e-4)
    assert max(series["imbalance"]) < 1e-12
    facts = path_steps.summary(series)
    assert facts["steps"] == clf.n_iter_
    assert facts["dual"] < 1e-3


@pytest.mark.parametrize("spoil", ["intercept", "coefficients", "out of the box"])
def test_a_wrong_model_has_a_large_excess(compared, spoil, monkeypatch):
    clf, references, data = compared
    ours = path_steps.Models.of_path(clf)
    a, b = ours.coefficients.copy(), ours.intercepts.copy()
    if spoil == "intercept":
        b[-1, 5] += 0.5
    else:
        a[-1, :, 5] *= 0.5 if spoil == "coefficients" else 1.5
    monkeypatch.setattr(path_steps.Models, "of_path", lambda clf: path_steps.Models(a, b))
    series = path_steps.compare(clf, references, data)
    assert max(series["dual"][5], series["primal"][5]) > 0.05
    assert (series["dual"][5] > 0.05) == (spoil != "intercept")
    assert series["dual"][4] < 1e-3
    text = path_steps.misses(series)
    assert f"C = {series['C'][5]:.3g}: " in text
    (found,) = [
        v
        for k, v in path_steps.conclude([Entry("t", path_steps.THEIRS, series=series)]).items()
        if "missed" in k
    ]
    assert found == text


def test_svc_that_gives_up_leaves_what_is_proved(compared, monkeypatch):
    clf, _, data = compared
    monkeypatch.setattr(path, "ITERATIONS", 100)
    ours = path.Path(clf)
    series = path_steps.compare(clf, path.References(ours).run(data), data)
    missing = [value is None for value in series["dual"]]
    assert missing == sorted(missing)  # from one C on
    assert missing[-1]
    assert not missing[0]
    assert None not in series["gap"]
    facts = path_steps.summary(series)
    assert facts["steps"] == missing.count(False)
    assert facts["up to C"] < series["C"][-1]
    assert draw([Entry("a set, n = 120", path_steps.THEIRS, series=series)]).axes


def test_scaled_objectives_of_a_classifier_that_separates():
    K, y = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([1.0, -1.0])
    half = Objectives.of(K, y, coefficients=[[0.25], [-0.25]], intercepts=[0.0], C=[100.0])
    assert half.dual == pytest.approx([0.375])
    assert half.primal == pytest.approx([0.125 + 100])  # both margins are 0.5
    assert half.scaled == pytest.approx([0.5])
    assert half.gap == pytest.approx([0.25])
    assert half.imbalance == 0
    assert Objectives.of(
        K, y, coefficients=[[0.3], [-0.1]], intercepts=[0.0], C=[1.0]
    ).imbalance == pytest.approx(0.5)
    moved = Objectives.of(K, y, coefficients=[[0.25], [-0.25]], intercepts=[0.6], C=[100.0])
    assert moved.error == pytest.approx([0.5])
    assert moved.scaled == moved.primal


def test_a_set_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("MARGINPATH_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"more/phoneme\.npz .* MARGINPATH_DATA"):
        path.SETS["phoneme"]()


def test_parts_are_scaled_and_in_proportion():
    data = overlapping(3)
    part = path.split(data, "a set", 60)
    assert part.X.shape == (60, 3)
    assert np.bincount(part.y).tolist() == [20, 20, 20]
    assert np.allclose(part.X.mean(axis=0), 0)
    assert len(part.y_test) == 60
