"""Displays: they show what the classifier knows, in axes that are given or made."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_diabetes, load_iris, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import marginpath as mp
from marginpath.plotting import CompressionDisplay, MarginDisplay, PathDisplay, RegressionPathDisplay

plt = pytest.importorskip("matplotlib.pyplot", reason="install marginpath[plot] to test it")


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(120, noise=0.3, random_state=0)
    return X, y, mp.MarginPathClassifier(random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def iris():
    X, codes = load_iris(return_X_y=True)
    y = load_iris().target_names[codes]
    return X, y, mp.MarginPathClassifier(random_state=0, max_iter=12, stopping=None).fit(X, y)


def drawn(panel, label):
    (line,) = [line for line in panel.lines if line.get_label() == label]
    return line.get_ydata()


def test_the_path_is_what_the_fit_found(moons):
    X, _, clf = moons
    fresh, truth = make_moons(200, noise=0.3, random_state=1)
    display = PathDisplay.from_estimator(clf, fresh, truth)
    assert np.array_equal(display.errors["cross-validation"], 1 - clf.cv_results_["mean_test_score"])
    assert display.errors["test"][clf.step_ - 1] == pytest.approx(1 - clf.score(fresh, truth))
    assert display.errors["test"][0] == pytest.approx(1 - clf.at(1).score(fresh, truth))
    assert (display.lower[-1], display.upper[-1]) == tuple(np.ravel(clf.margin_bounds_))
    assert display.support[clf.step_ - 1] == len(clf.support_) / len(X)
    assert display.C[clf.step_ - 1] == clf.C_
    assert np.all(np.diff(display.upper) <= 0)
    assert np.all(np.diff(display.lower) >= 0)
    fold_scores = np.array([clf.cv_results_[f"split{j}_test_score"] for j in range(5)])
    assert np.allclose(display.spread, fold_scores.std(axis=0, ddof=1) / 5**0.5)


def test_the_picture_shows_it_and_marks_the_step(moons):
    display = PathDisplay.from_estimator(moons[2])
    errors, margins, support = display.ax_
    assert np.array_equal(drawn(errors, "cross-validation"), display.errors["cross-validation"])
    assert np.array_equal(drawn(margins, "at most"), display.upper)
    assert np.array_equal(support.lines[0].get_ydata(), display.support)
    for panel in display.ax_:
        assert panel.get_xlabel() == "step"
        assert panel.get_ylabel()
        assert any(set(line.get_xdata()) == {display.step} for line in panel.lines)
    assert f"step {moons[2].step_} " in errors.get_title(loc="left")
    display.figure_.canvas.draw()


def test_axes_may_be_given(moons):
    clf = moons[2]
    figure, three = plt.subplots(1, 3)
    display = PathDisplay.from_estimator(clf, ax=three)
    assert display.figure_ is figure
    assert all(given is used for given, used in zip(three, display.ax_, strict=True))
    figure, one = plt.subplots()
    display.plot(ax=one)
    assert display.figure_ is figure
    assert len(figure.axes) == 4
    with pytest.raises(ValueError, match="one Axes or 3 of them, got 2"):
        display.plot(ax=three[:2])
    again = MarginDisplay.from_estimator(clf, *moons[:2], ax=one)
    assert again.ax_ is one


def test_without_held_out_samples_the_training_error_is_shown(iris):
    X, y, clf = iris
    display = PathDisplay.from_estimator(clf)
    assert list(display.errors) == ["training"]
    assert display.errors["training"][-1] == pytest.approx(1 - clf.score(X, y))
    assert display.spread is None


def test_the_exact_finish_is_the_last_step():
    X, y = make_moons(60, noise=0.05, random_state=0)
    clf = mp.MarginPathClassifier(stopping="margin", random_state=0).fit(X, y)
    display = PathDisplay.from_estimator(clf)
    assert len(display.upper) == len(display.support) == clf.n_iter_ == display.step
    assert display.lower[-1] == pytest.approx(display.upper[-1], rel=1e-4)
    assert display.errors["training"][-1] == 0
    assert "∞" in display.ax_[0].get_title(loc="left")


@pytest.mark.parametrize(
    "settings",
    [{"gamma": "tuned"}, {"stopping": "holdout"}, {"method": "inertial"}, {"scoring": "roc_auc"}, {"at": 3}],
)
def test_every_kind_of_path_can_be_drawn(moons, settings):
    X, y, fitted = moons
    clf = fitted.at(3) if "at" in settings else mp.MarginPathClassifier(random_state=0, **settings).fit(X, y)
    display = PathDisplay.from_estimator(clf)
    assert len(next(iter(display.errors.values()))) == clf.n_iter_
    assert display.step == clf.step_
    assert display.measure == ("1 − roc_auc" if "scoring" in settings else "error")


def test_the_plane_has_the_boundary_and_the_support_vectors(moons):
    X, y, clf = moons
    display = MarginDisplay.from_estimator(clf, X, y, resolution=30)
    assert display.values.shape == (30, 30, 1)
    corner = np.array([[display.grid[0][-1], display.grid[1][0]]])
    assert display.values[0, -1, 0] == pytest.approx(clf.decision_function(corner)[0])
    assert np.array_equal(np.flatnonzero(display.support), clf.support_)
    assert np.mean(display.margins > 0) == clf.score(X, y)
    names = {text.get_text() for text in display.ax_.get_legend().get_texts()}
    assert names == {"boundary", "f(x) = ±1", "class 0", "class 1", "support vector"}
    other = MarginDisplay.from_estimator(clf, X[1:], y[1:], resolution=10)
    assert other.support is None


def test_frames_name_the_axes_and_pipelines_scale_first(iris):
    X, y, _ = iris
    frame = pd.DataFrame(X[:, 2:], columns=["length", "width"])
    pipe = make_pipeline(StandardScaler(), mp.MarginPathClassifier(random_state=0, max_iter=9, stopping=None))
    display = MarginDisplay.from_estimator(pipe.fit(frame, y), frame, y, resolution=20)
    assert display.values.shape == (20, 20, 3)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("length", "width")
    assert display.support.sum() == len(pipe[-1].support_)
    assert np.mean(display.margins > 0) == pipe.score(frame, y)
    path = PathDisplay.from_estimator(pipe, frame, y)
    assert path.errors["test"][-1] == pytest.approx(1 - pipe.score(frame, y))


@pytest.mark.parametrize("number", [2, 3])
def test_many_features_have_a_distribution(iris, number):
    X, y, _ = iris
    part = np.isin(y, np.unique(y)[-number:])
    clf = mp.LinearMarginPathClassifier(random_state=0).fit(X[part], y[part])
    display = MarginDisplay.from_estimator(clf, csr_array(X[part]), y[part])
    decision = clf.decision_function(X[part])
    if number == 2:
        assert np.allclose(display.margins, np.where(y[part] == clf.classes_[1], 1, -1) * decision)
    heights = [patch.get_height() for patch in display.ax_.patches]
    assert sum(heights) == part.sum()
    edges = np.array([patch.get_x() for patch in display.ax_.patches])
    assert np.abs(edges).min() < 1e-12
    wrong = 100 * (1 - clf.score(X[part], y[part]))
    assert f"{wrong:.1f}%" in display.ax_.get_title(loc="left")


def test_what_cannot_be_drawn_is_refused(moons):
    X, y, clf = moons
    with pytest.raises(TypeError, match="got StandardScaler"):
        PathDisplay.from_estimator(StandardScaler())
    with pytest.raises(ValueError, match=r"none of the classes \[0, 1\]"):
        MarginDisplay.from_estimator(clf, X, y + 5)
    with pytest.raises(ValueError, match="not fitted"):
        PathDisplay.from_estimator(mp.MarginPathClassifier())


def test_a_missing_package_is_named(moons, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"marginpath\[plot\]"):
        PathDisplay.from_estimator(moons[2])


def test_fewer_vectors_are_drawn_with_their_errors(moons):
    X, y, clf = moons
    fresh, truth = make_moons(200, noise=0.3, random_state=1)
    display = CompressionDisplay.from_estimator(
        make_pipeline("passthrough", clf), fresh, truth, sizes=[3, 12]
    )
    assert display.sizes.tolist() == [3, 12, len(clf.support_)]
    assert display.errors["test"] == pytest.approx([1 - s.score(fresh, truth) for s in display.classifiers])
    assert display.errors["out of fold"][-1] == pytest.approx(1 - np.mean((clf.out_of_fold_ > 0) == y))
    assert display.changed[0] == np.mean(display.classifiers[0].predict(X) != clf.predict(X))
    assert np.allclose(drawn(display.ax_, "test"), 100 * display.errors["test"])
    assert np.array_equal(display.classifiers[1].dual_coef_, clf.compress(12).dual_coef_)
    assert len(CompressionDisplay.from_estimator(clf).sizes) > 4
    with pytest.raises(ValueError, match=r"from 1 to one fewer .* got sizes=\[0, 600\]"):
        CompressionDisplay.from_estimator(clf, sizes=[0, 600])
    with pytest.raises(AttributeError, match="training samples"):
        CompressionDisplay.from_estimator(clf.slim())


def test_the_path_of_a_regression():
    X, y = load_diabetes(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), mp.MarginPathRegressor(random_state=0)).fit(X[:200], y[:200])
    model = pipe[-1]
    display = RegressionPathDisplay.from_estimator(pipe, X[200:], y[200:])
    assert np.array_equal(display.errors["cross-validation"], -model.cv_results_["mean_test_score"])
    absolute = np.mean(np.abs(pipe.predict(X[200:]) - y[200:]))
    assert display.errors["test"][model.step_ - 1] == pytest.approx(absolute)
    assert display.support[model.step_ - 1] == len(model.support_) / 200
    assert np.array_equal(drawn(display.ax_[0], "test"), display.errors["test"])
    assert f"step {model.step_} is kept" in display.ax_[0].get_title(loc="left")
    assert display.ax_[0].get_ylabel() == "mean absolute error"
    bare = mp.LinearMarginPathRegressor(stopping=None, max_iter=5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="no folds"):
        RegressionPathDisplay.from_estimator(bare)
    _, ax = plt.subplots()
    assert list(RegressionPathDisplay.from_estimator(bare, X, y, ax=ax).errors) == ["test"]
    for settings, measure in (
        ({"loss": "squared"}, "mean squared error"),
        ({"loss": "quantile"}, "mean quantile loss"),
        ({"scoring": "neg_max_error"}, "max error"),
        ({"scoring": "r2"}, "−r2"),
    ):
        fitted = bare.set_params(**settings).fit(X, y)
        assert RegressionPathDisplay.from_estimator(fitted, X, y).measure == measure
    with pytest.raises(TypeError, match="A classifier of marginpath is needed"):
        PathDisplay.from_estimator(bare)
    with pytest.raises(TypeError, match="A regressor of marginpath is needed"):
        RegressionPathDisplay.from_estimator(StandardScaler())
