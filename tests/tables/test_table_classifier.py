"""The classifier of tables: scikit-learn's tools take it, and all that is inside is there."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import marginpath as mp
from marginpath.tables.importance import FoldWatch, permutation_importance


@pytest.fixture(scope="module")
def pets():
    """Return a table with text, dates and gaps, and classes that follow two of its columns."""
    rng = np.random.default_rng(0)
    kind = rng.choice(["cat", "rabbit"], 150)
    frame = pd.DataFrame(
        {
            "ears": np.where(kind == "cat", 6.0, 8.5) + rng.normal(size=150),
            "food": np.where(rng.random(150) < 0.2, None, np.where(kind == "cat", "fish", "hay")),
            "joined": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, 150), "D"),
            "noise": rng.normal(size=150),
            "pet_id": [f"P{i}" for i in range(150)],
        }
    )
    return frame, kind


@pytest.fixture(scope="module")
def fitted(pets):
    return mp.TablePathClassifier(random_state=0).fit(*pets)


def test_all_that_the_classifier_has_is_here(fitted, pets):
    frame, _ = pets
    inner = fitted.classifier_
    for name in ("step_", "n_iter_", "C_", "cv_results_", "margin_bounds_", "separable_", "path_"):
        assert getattr(fitted, name) is getattr(inner, name) or getattr(fitted, name) == getattr(inner, name)
    X = fitted.encode(frame)
    np.testing.assert_array_equal(fitted.predict(frame), inner.predict(X))
    np.testing.assert_array_equal(fitted.predict_proba(frame), inner.predict_proba(X))
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(frame)), inner.predict_proba(X))
    np.testing.assert_array_equal(fitted.at(2).decision_function(frame), inner.at(2).decision_function(X))
    stages = list(fitted.staged_predict(frame))
    assert len(stages) == len(list(fitted.staged_decision_function(frame))) == fitted.n_iter_
    np.testing.assert_array_equal(stages[fitted.step_ - 1], fitted.predict(frame))
    assert fitted.columns_["pet_id"].kind == "left out"
    assert fitted.n_features_in_ == 5
    with pytest.raises(AttributeError, match="no attribute 'beauty'"):
        fitted.beauty  # noqa: B018


def test_labels_that_are_missing_are_named(pets):
    frame, y = pets
    holed = y.astype(object)
    holed[7] = None
    with pytest.raises(ValueError, match="y has no value in 1 rows, such as row 7"):
        mp.TablePathClassifier().fit(frame, holed)


def test_skops_holds_it(fitted, pets):
    skops = pytest.importorskip("skops.io")
    from marginpath.export.skops import SKOPS_TRUSTED

    stored = skops.dumps(fitted)
    assert set(skops.get_untrusted_types(data=stored)) <= set(SKOPS_TRUSTED)
    again = skops.loads(stored, trusted=SKOPS_TRUSTED)
    np.testing.assert_array_equal(again.predict(pets[0]), fitted.predict(pets[0]))


def test_names_of_columns_need_not_be_text(pets):
    frame, y = pets
    numbered = frame.set_axis(range(5), axis=1)
    model = mp.TablePathClassifier(mp.LinearMarginPathClassifier(random_state=0)).fit(numbered, y)
    assert list(model.columns_) == ["0", "1", "2", "3", "4"]
    assert model.score(numbered, y) > 0.9


def test_tools_of_scikit_learn(pets):
    frame, y = pets
    model = mp.TablePathClassifier(mp.LinearMarginPathClassifier(cv=3, random_state=0))
    assert cross_val_score(model, frame, y, cv=3).mean() > 0.9
    assert make_pipeline(clone(model)).fit(frame, y).score(frame, y) > 0.9
    search = GridSearchCV(model, {"classifier__selection": ["best", "one_se"]}, cv=2).fit(frame, y)
    assert search.best_score_ > 0.9
    assert pickle.loads(pickle.dumps(search.best_estimator_)).score(frame, y) > 0.9


def test_polars_and_pandas_give_the_same_model(fitted, pets):
    frame, y = pets
    columns = {name: [None if v is None or v != v else v for v in frame[name].tolist()] for name in frame}
    columns["joined"] = frame["joined"].dt.to_pydatetime().tolist()
    table = pl.DataFrame(columns)
    other = mp.TablePathClassifier(random_state=0).fit(table, pl.Series(y))
    np.testing.assert_array_equal(other.decision_function(table), fitted.decision_function(frame))


def test_strings_and_gaps_were_an_error_before(pets):
    with pytest.raises(ValueError, match=r"could not convert|Cannot"):
        mp.MarginPathClassifier().fit(pets[0].drop(columns="joined"), pets[1])


def test_text_alone_takes_the_linear_path():
    rng = np.random.default_rng(0)
    y = rng.choice(["ham", "spam"], 240)
    words = {"ham": [f"w{i}" for i in range(60)], "spam": [f"w{i}" for i in range(40, 100)]}
    text = pd.DataFrame({"message": [" ".join(rng.choice(words[label], 9)) for label in y]})
    model = mp.TablePathClassifier(random_state=0).fit(text, y)
    assert isinstance(model.classifier_, mp.LinearMarginPathClassifier)
    assert model.X_fit_.format == "csr"
    assert model.cv_results_["mean_test_score"].max() > 0.95
    (name,) = model.importance().names
    assert name == "message"
    assert model.importance().mean[0] > 0.3


def test_the_folds_choose_between_a_line_and_a_kernel():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    ring = np.where((X**2).sum(axis=1) > 1.4, "out", "in")
    line = np.where(X["a"] + X["b"] > 0, "up", "down")
    assert isinstance(
        mp.TablePathClassifier(random_state=0).fit(X, ring).classifier_, mp.MarginPathClassifier
    )
    straight = mp.TablePathClassifier(random_state=0).fit(X, line).classifier_
    assert isinstance(straight, mp.LinearMarginPathClassifier)


def test_settings_belong_to_one_of_the_two(pets):
    with pytest.raises(ValueError, match="Set class_weight of the classifier that is given"):
        mp.TablePathClassifier(mp.MarginPathClassifier(), class_weight="balanced").fit(*pets)
    with pytest.raises(NotFittedError):
        mp.TablePathClassifier().predict(pets[0])
    model = mp.TablePathClassifier(mp.MarginPathClassifier(stopping=None, max_iter=5)).fit(*pets)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(ValueError, match="Importance needs the folds"):
        model.importance()


def test_columns_that_matter_come_first(fitted):
    important = fitted.importance()
    assert set(important.names[:2]) == {"ears", "food"}
    assert "pet_id" not in important.names
    worth = dict(zip(important.names, important.mean, strict=True))
    assert worth["food"] > 0.1 > abs(worth["noise"])
    assert (important.spread >= 0).all()
    assert str(important).splitlines()[0].startswith(important.names[0])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "classifier",
    [
        mp.MarginPathClassifier(random_state=0),
        mp.MarginPathClassifier(random_state=0, gamma="tuned", class_weight="balanced"),
        mp.LinearMarginPathClassifier(random_state=0),
        mp.MarginPathClassifier("poly", method="inertial", max_iter=60, random_state=0),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_importance_is_that_of_folds_fitted_alone(classifier, classes):
    """The models of the folds, from one run, are those of as many fits: their held-out answers say so."""
    from sklearn.datasets import make_classification

    X, y = make_classification(
        120, 4, n_informative=3, n_redundant=0, n_classes=classes, n_clusters_per_class=1, random_state=0
    )
    model = mp.TablePathClassifier(classifier).fit(X, y)
    folds = model.fold_models_
    for fold in range(5):
        rows = np.flatnonzero(folds.held_out_by == fold)
        values = folds.decisions(model.classifier_, model.X_fit_[rows], fold)
        np.testing.assert_allclose(values, model.out_of_fold_[rows], rtol=1e-6, atol=1e-6)
        assert np.all(folds.coefficients[rows, fold] == 0)
    assert model.importance(n_repeats=2).mean.shape == (4,)


def test_importance_knows_other_scores(pets):
    frame, y = pets
    model = mp.TablePathClassifier(scoring=mp.PositiveScore("f1", "rabbit"), random_state=0).fit(frame, y)
    assert model.importance().score == "f1 of 'rabbit'"
    assert model.importance("roc_auc").score == "roc_auc"


def test_folds_that_say_something_else_are_not_taken(pets):
    frame, y = pets
    X = mp.TableEncoder().fit_transform(frame)
    watch = FoldWatch()
    with mp.estimators.watched(watch):
        clf = mp.MarginPathClassifier(random_state=0).fit(X, y)
    assert watch.kept(clf) is not None
    clf.out_of_fold_ = -clf.out_of_fold_
    assert watch.kept(clf) is None


def test_permuting_twice_is_the_same(fitted):
    settings = {"blocks": fitted.encoder_.blocks_, "seed": 3}
    first, second = (
        permutation_importance(fitted.classifier_, fitted.fold_models_, **settings) for _ in "ab"
    )
    np.testing.assert_array_equal(first.mean, second.mean)


def test_a_positive_class_of_any_name():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.where(X[:, 0] + rng.normal(size=200) > 1, "churned", "stayed")
    scores = {}
    for positive in ("churned", "stayed"):
        clf = mp.MarginPathClassifier(scoring=mp.PositiveScore("f1", positive), random_state=0).fit(X, y)
        predicted = np.where(clf.out_of_fold_ > 0, "stayed", "churned")
        scores[positive] = clf.path_["scores"][clf.step_].mean()
        assert scores[positive] == pytest.approx(f1_score(y, predicted, pos_label=positive), abs=0.05)
    assert scores["stayed"] > scores["churned"] + 0.1
    with pytest.raises(ValueError, match=r"f1 of 'cat' needs two classes, one of them 'cat'"):
        mp.MarginPathClassifier(scoring=mp.PositiveScore("f1", "cat")).fit(X, y)
