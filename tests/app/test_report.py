"""The page: what it holds at every step is what the path holds, and it asks for nothing else."""

import base64
import json
import re
import zlib

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    confusion_matrix,
    precision_score,
    recall_score,
    roc_auc_score,
)

import marginpath as mp
from marginpath.app import demo, quality, report
from marginpath.app.modelfile import Model
from marginpath.app.report import content as contents
from marginpath.app.report.content import content
from marginpath.app.report.planes import Plane, extent, planes, staged
from marginpath.app.report.suspects import suspicion
from marginpath.app.tables import NotThere, Table

LIMIT = 4_000_000


def unpacked(text, *shape):
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8).reshape(shape)


@pytest.fixture(scope="module")
def iris():
    """Return three classes with names, four numbers and a category; a table to fit and one to judge by."""
    data = load_iris(as_frame=True)
    order = np.random.default_rng(0).permutation(150)
    X = data.data.assign(meadow=np.where(np.arange(150) % 3 == 0, "north", "south")).iloc[order]
    table = Table("flowers.csv", X, data.target_names[data.target].astype(str)[order], "species")
    return table.rows(np.arange(100)), table.rows(np.arange(100, 150))


@pytest.fixture(scope="module")
def model(iris):
    return Model.fit(iris[0], mp.MarginPathClassifier(random_state=0), rows=np.arange(201, 301))


@pytest.fixture(scope="module")
def shown(model, iris):
    return content(model, iris[1])


def moons(n=120, flipped=0, **settings):
    from sklearn.datasets import make_moons

    X, y = make_moons(n, noise=0.2, random_state=0)
    wrong = np.random.default_rng(0).choice(n, flipped, replace=False)
    y[wrong] = 1 - y[wrong]
    table = Table("moons", pd.DataFrame(X, columns=["x", "y"]), np.array(["lo", "up"])[y], "moon")
    return Model.fit(table, mp.MarginPathClassifier(random_state=0, **settings)), table, wrong


def test_every_number_is_that_of_its_step(model, iris, shown):
    clf, (fitted, new) = model.classifier, iris
    assert shown["steps"] == list(range(1, clf.n_iter_ + 1))
    assert shown["steps"][shown["chosen"]] == clf.step_
    assert shown["reason"] == model.reason
    test, training = shown["judged"]
    assert (test["kind"], training["kind"]) == ("test", "training")
    for t, step in enumerate(shown["steps"]):
        at = clf.at(step)
        predicted = at.predict(model.prepared(new))
        assert test["error"][t] == pytest.approx(np.mean(predicted != new.y))
        assert test["confusion"][t] == confusion_matrix(new.y, predicted, labels=clf.classes_).tolist()
        assert training["error"][t] == pytest.approx(np.mean(at.predict(model.prepared(fitted)) != fitted.y))
        assert shown["C"][t] == pytest.approx(at.C_, rel=1e-5)
        assert shown["support"]["all"][t] == len(at.support_)
        assert shown["gap"][t] == pytest.approx(clf.path_["gap"][step], rel=1e-5)
        assert shown["inexact"][t] is False
        assert shown["folds"]["mean"][t] == pytest.approx(1 - clf.cv_results_["mean_test_score"][t])


def test_margins_are_proved_so_far(model, shown):
    lower, upper = (np.array(shown["margin"][side]) for side in ("lower", "upper"))
    assert (np.diff(lower) >= 0).all()
    assert (np.diff(upper) <= 0).all()
    np.testing.assert_allclose([lower[:, -1], upper[:, -1]], model.classifier.margin_bounds_, rtol=2e-5)


def test_grids_hold_the_decision_values(model, shown):
    for drawn, plane in zip(shown["planes"], planes(model), strict=True):
        h, w = drawn["shape"]
        steps = shown["steps"]
        high, low_bits = unpacked(drawn["values"], 2, len(steps), 3, h, w).astype(int)
        left, right, bottom, top = drawn["box"]
        cells = np.array([(0, 0), (h // 2, w // 3), (h - 1, w - 1)])
        points = np.stack(
            [left + (right - left) * cells[:, 1] / (w - 1), top - (top - bottom) * cells[:, 0] / (h - 1)]
        )
        exact = staged(model, plane.lift(points.T), steps)
        for t in range(len(steps)):
            low, up = drawn["ranges"][t]
            value = low + (up - low) * (4 * high + low_bits)[t] / 1023
            got = np.array([value[:, i, j] for i, j in cells])
            np.testing.assert_allclose(got, np.clip(exact[t], low, up), atol=(up - low) / 1000 + 1e-4)


def test_points_lie_where_their_columns_say(model, shown, iris):
    pair = next(p for p in shown["planes"] if "×" in p["name"])
    np.testing.assert_allclose(pair["points"][0], iris[0].X[pair["x"]], rtol=1e-4)
    np.testing.assert_allclose(pair["points"][1], iris[0].X[pair["y"]], rtol=1e-4)
    assert shown["points"]["row"] == list(range(201, 301))


def test_states_of_the_points(model, shown):
    clf = model.classifier
    state = unpacked(shown["points"]["state"], len(shown["steps"]), 100)
    for t in (0, shown["chosen"], -1):
        step = shown["steps"][t]
        np.testing.assert_array_equal(np.flatnonzero(state[t]), clf.at(step).support_)
        u = -clf.models_.u(step)
        np.testing.assert_array_equal(state[t] == 2, np.isclose(u, clf.models_.bound(step)).any(axis=1))


def test_flipped_labels_are_found():
    model, _, wrong = moons(300, flipped=30)
    found = suspicion(model)
    truth = np.isin(np.arange(300), wrong)
    assert average_precision_score(truth, found.contradiction) > 0.8
    assert average_precision_score(truth, found.steps_at_bound) > 0.4  # chance is 0.1
    listed = content(model)["suspects"]
    assert np.mean([s["row"] - 1 in wrong for s in listed[:20]]) >= 0.9
    assert all(s["given"] != s["suggested"] for s in listed)
    values = [s["contradiction"] for s in listed]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize(
    "settings",
    [
        {"stopping": "margin"},
        {"stopping": "discrepancy", "noise_level": 0.1},
        {"stopping": "holdout"},
        {"stopping": None, "max_iter": 1},
        {"method": "inertial", "max_iter": 300},
        {"gamma": "tuned", "selection": "one_se"},
        {"scoring": "roc_auc"},
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_way_to_stop_has_a_page(settings):
    model, table, _ = moons(60, **settings)
    shown = content(model, table)
    assert len(shown["steps"]) <= contents.STEPS + 1
    assert shown["steps"][shown["chosen"]] == model.classifier.step_
    assert [one["kind"] for one in shown["judged"]] == ["training"]  # its own rows are no test
    assert len(shown["margin"]["upper"][0]) == len(shown["C"]) == len(shown["steps"])
    json.dumps(shown, allow_nan=False)


def test_the_kept_step_is_judged_by_rows_it_did_not_see(model, iris, shown):
    new, held = iris[1], shown["quality"]
    predicted = model.classifier.predict(model.prepared(new))
    assert (held["name"], held["rows"]) == ("flowers.csv", 50)
    assert held["error"] == pytest.approx(np.mean(predicted != new.y))
    assert held["balanced"] == pytest.approx(balanced_accuracy_score(new.y, predicted))
    assert held["recall"] == pytest.approx(recall_score(new.y, predicted, average=None))
    assert held["precision"] == pytest.approx(precision_score(new.y, predicted, average=None))
    decision = model.classifier.decision_function(model.prepared(new))
    areas = [
        roc_auc_score(new.y == name, column) for name, column in zip(model.classes, decision.T, strict=True)
    ]
    assert held["auc"] == pytest.approx(np.mean(areas))
    assert sum(n for *_, n in held["calibration"]) == 50
    assert held["threshold"] is None
    alone = content(model)["quality"]
    assert (alone["name"], alone["rows"]) == ("rows held out by the folds", 100)


def test_a_threshold_for_two_classes():
    model, _table, _ = moons(200, flipped=20)
    held = content(model)["quality"]
    rows, clf = held["threshold"], model.classifier
    assert rows["chance"] == sorted(rows["chance"], reverse=True)
    assert sum(rows["so"]) == np.sum(clf.codes_ == rows["positive"])
    flagged = np.array(rows["chance"]) >= 0.5
    misses = np.sum(~flagged & (np.array(rows["so"]) == 1)) + np.sum(flagged & (np.array(rows["so"]) == 0))
    assert misses / 200 == pytest.approx(held["error"], abs=0.011)
    for said, so, n in held["calibration"]:
        assert abs(said - so) < 4 * np.sqrt(0.25 / n)


@pytest.mark.parametrize("rows", [200, 20])
def test_a_slim_file_knows_what_the_folds_said(rows, tmp_path, monkeypatch):
    """The page of a model as ``fit`` writes it by default has classes, calibration and threshold too."""
    monkeypatch.setattr(quality, "ROWS", rows)
    model, _table, _ = moons(200, flipped=20)
    model.save(tmp_path / "slim.model")
    assert content(Model.load(tmp_path / "slim.model"))["quality"] == content(model)["quality"]
    assert len(content(model)["quality"]["threshold"]["so"]) == rows


def test_columns_that_matter_are_those_of_the_model(model, shown):
    bars = shown["importance"]["bars"]
    assert [name for name, *_ in bars] == list(model.importance.names)
    assert bars[0][0] in ("petal length (cm)", "petal width (cm)")


def test_fewer_vectors_are_what_compress_makes(model, shown, iris):
    clf, fewer = model.classifier, shown["fewer"]
    *sizes, whole = fewer["vectors"]
    assert sizes == sorted(set(sizes))
    assert whole == len(clf.support_) > max(sizes)
    folds, test = fewer["lines"]
    X, y = model.prepared(iris[1]), iris[1].y.astype(str)
    for i, size in enumerate(sizes):
        small = clf.compress(size, refit="coefficients")
        assert folds["error"][i] == 1 - small.compression_.accuracy_after
        assert fewer["changed"][i] == small.compression_.changed
        assert test["error"][i] == np.mean(small.predict(X) != y)
    assert folds["error"][-1] == 1 - np.mean(clf.out_of_fold_.argmax(axis=1) == clf.codes_)
    assert test["error"][-1] == np.mean(clf.predict(X) != y)
    assert len(content(model)["fewer"]["lines"]) == 1
    assert content(model.slim())["fewer"] is None


def test_a_constant_model_suspects_no_label():
    """One in twenty rows, and nothing to tell it by: it lists no row of the rarer class."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(300) < 0.05, "rare", "usual")
    table = Table("t", pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"]), y, "y")
    with pytest.warns(UserWarning, match="No step has a better accuracy"):
        model = Model.fit(table, mp.MarginPathClassifier(random_state=0))
    shown = content(model)
    assert shown["constant"]
    assert shown["suspects"] == []
    assert shown["suspects_total"] == 0
    assert shown["quality"]["balanced"] == 0.5
    assert not content(moons(120, flipped=10)[0])["constant"]


def test_one_column_has_no_plane():
    X = pd.DataFrame({"a": np.linspace(0, 1, 40)})
    model = Model.fit(Table("t", X, np.arange(40) // 20, "y"), mp.MarginPathClassifier(random_state=0))
    assert content(model)["planes"] == []


def test_sparse_and_linear():
    X = sp.random_array((60, 200), density=0.1, rng=np.random.default_rng(0), format="csr")
    table = Table("text.svm", X, np.arange(60) % 2, "label")
    model = Model.fit(table, mp.LinearMarginPathClassifier(random_state=0))
    assert [p["name"] for p in content(model, pair=["x3", "x7"])["planes"]] == [
        "x3 × x7",
        "principal components",
    ]
    assert content(model)["fewer"] is None


def test_a_chosen_pair(model):
    first, second = planes(model, ["sepal width (cm)", "petal length (cm)"])
    assert (first.x, first.y) == ("sepal width (cm)", "petal length (cm)")
    assert second.name == "principal components"
    for pair in (["sepal width (cm)", "meadow_north"], ["nothing", "petal length (cm)"]):
        with pytest.raises(NotThere, match="no column of numbers"):
            planes(model, pair)
    with pytest.raises(NotThere, match="two different columns"):
        planes(model, ["petal length (cm)"])


def test_a_plane_returns_to_itself(rng):
    axes = np.linalg.qr(rng.normal(size=(5, 2)))[0].T
    plane = Plane("", "", "", rng.normal(size=5), axes, np.array([2.0, 3.0]), rng.normal(size=2))
    points = rng.normal(size=(7, 2))
    np.testing.assert_allclose(plane.coordinates(plane.lift(points)), points)
    left, right, bottom, top = extent(points)
    assert left < points[:, 0].min() < points[:, 0].max() < right
    assert bottom < points[:, 1].min() < points[:, 1].max() < top


def test_one_small_file_that_asks_for_nothing(model, iris, tmp_path):
    file = report.write(model, tmp_path / "new" / "report.html", iris[1])
    html = file.read_text(encoding="utf-8")
    assert file.stat().st_size < LIMIT
    own = html.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//|url\(|@import|fetch\(|XMLHttpRequest", own)
    assert "default-src 'none'" in html
    stored = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL).group(1)
    assert json.loads(stored)["classes"] == ["setosa", "versicolor", "virginica"]


def test_names_cannot_break_out_of_the_page():
    evil = "</script><script>alert(1)</script>"
    X = pd.DataFrame({evil: np.arange(40.0), "b": np.arange(40.0) % 7})
    table = Table(evil, X, np.where(np.arange(40) < 20, evil, "$$b"), evil)
    html = report.render(Model.fit(table, mp.MarginPathClassifier(random_state=0)))
    assert evil not in html
    assert html.count("<script>") == 2


def test_ten_classes_and_many_points_stay_small():
    X, y = load_digits(return_X_y=True)
    table = Table("digits", pd.DataFrame(X, columns=[f"p{j}" for j in range(64)]), y, "digit").rows(
        np.arange(600)
    )
    model = Model.fit(table, mp.MarginPathClassifier(random_state=0, cv=2))
    html = report.render(model)
    assert len(html.encode()) < LIMIT


def test_the_page_of_the_demo_tells_its_story(tmp_path):
    file = demo.write_page(tmp_path / "new")
    html = file.read_text(encoding="utf-8")
    assert file.name == "report.html"
    assert file.stat().st_size < LIMIT
    shown = json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL).group(1))
    test, training = (np.array(one["error"]) for one in shown["judged"])
    kept = shown["chosen"]
    assert 0 < kept < len(test) - 1
    assert test[kept] < 0.08 < 2 * test[kept] < test[-1]  # it pays to stop
    assert training[-1] == 0 < training[kept]  # the end has learnt the wrong labels too
    assert 0 < shown["margin"]["lower"][0][-1] <= shown["margin"]["upper"][0][-1] < 0.02
