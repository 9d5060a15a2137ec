"""Models in files: all of a model comes back, and nothing but a model is ever made."""

import json
import pickle
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import marginpath as mp
from marginpath.app.modelfile import Model, is_model
from marginpath.app.tables import Table
from marginpath.files import archive as storage
from marginpath.files import objects as packing
from marginpath.files.objects import pack, unpack


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = rng.choice(["cat", "dog", "rabbit"], 60)
    X = pd.DataFrame(
        {
            "weight": np.where(y == "dog", 9.0, 3.0) + rng.normal(size=60),
            "ears": np.where(y == "rabbit", 9.0, 4.0) + rng.normal(size=60),
            "food": rng.choice(["hay", "fish"], 60),
        }
    )
    X.loc[3, "weight"] = np.nan
    X.loc[5, "food"] = None
    return Table("animals.csv", X, y, "kind")


@pytest.fixture(scope="module")
def model(table):
    return Model.fit(table, mp.MarginPathClassifier(random_state=0))


@pytest.fixture
def file(model, tmp_path):
    model.save(tmp_path / "a.model", keep="path")
    return tmp_path / "a.model"


@pytest.mark.parametrize(
    "classifier",
    [
        mp.MarginPathClassifier(random_state=0),
        mp.MarginPathClassifier(random_state=0, gamma="tuned", class_weight="balanced"),
        mp.MarginPathClassifier("poly", stopping="margin", random_state=0),
        mp.MarginPathClassifier(method="inertial", max_iter=30, stopping=None),
        mp.LinearMarginPathClassifier(random_state=0, stopping="holdout"),
        mp.LinearMarginPathClassifier(random_state=0, method="gradient", max_iter=30),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_all_of_a_model_comes_back(table, tmp_path, classifier):
    model = Model.fit(table, classifier, missing=["?"])
    model.save(tmp_path / "a.model", keep="path")
    again = Model.load(tmp_path / "a.model")
    X = model.prepared(table)
    np.testing.assert_array_equal(again.prepared(table), X)
    np.testing.assert_array_equal(again.classifier.decision_function(X), classifier.decision_function(X))
    np.testing.assert_array_equal(again.classifier.at(2).predict(X), classifier.at(2).predict(X))
    assert again.reason == model.reason
    assert again.classes == ["cat", "dog", "rabbit"]
    assert again.columns == model.columns
    assert again.classifier.path_.ended is classifier.path_.ended
    assert again.classifier.separable_ == classifier.separable_
    assert (again.target, again.source, again.missing) == ("kind", "animals.csv", ("?",))
    assert (again.importance is None) == (model.importance is None)


def test_a_sparse_model_comes_back(tmp_path):
    X = sp.random_array((40, 30), density=0.2, rng=np.random.default_rng(0), format="csr")
    table = Table("text.svm", X, np.arange(40) % 2, "label")
    model = Model.fit(table, mp.LinearMarginPathClassifier(random_state=0))
    model.save(tmp_path / "a.model", keep="path")
    again = Model.load(tmp_path / "a.model")
    np.testing.assert_array_equal(again.pipeline.predict(X), model.pipeline.predict(X))


def test_the_pipeline_is_one_of_scikit_learn(model, table):
    assert [type(step).__name__ for step in model.pipeline] == ["TableEncoder", "MarginPathClassifier"]
    assert (model.pipeline.predict(table.X) == model.classifier.predict(model.prepared(table))).all()
    assert model.feature_names == [
        *("weight", "weight is missing", "ears"),
        *("food = fish", "food = hay", "food is missing"),
    ]


def test_what_watches_sees_every_step_and_leaves_no_trace(table):
    seen = []
    classifier = mp.MarginPathClassifier(random_state=0, max_iter=4, stopping=None)
    Model.fit(table, classifier, watch=lambda problem, state, path: seen.append(state.t) and None)
    assert seen == [1, 2, 3, 4]
    alone = mp.MarginPathClassifier(random_state=0, max_iter=4, stopping=None)
    Model.fit(table, alone)
    assert vars(classifier).keys() == vars(alone).keys()
    assert seen == [1, 2, 3, 4]


def test_gaps_that_the_fit_had_not_are_told(table):
    whole = table.rows(np.flatnonzero(table.X.notna().all(axis=1)))
    model = Model.fit(whole, mp.MarginPathClassifier(random_state=0))
    assert model.remarks(table) == [
        "Column 'weight' has no value in 1 row, and had one in every row of the fit: the median stands in."
    ]
    assert np.isfinite(model.prepared(table)).all()


def test_new_categories_are_told(model, table):
    other = Table("new.csv", table.X.assign(food=["pizza", *table.X["food"][1:]]))
    (remark,) = model.remarks(other)
    assert remark.startswith(
        "Column 'food' has values that the model has not seen, such as 'pizza', in 1 row:"
    )


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"hello",
        lambda data: data[: len(data) // 2],
        lambda data: data[:300] + b"x" * 50 + data[350:],
        lambda data: pickle.dumps({"a": 1}),
    ],
)
def test_damaged_and_foreign_files_get_one_sentence(file, damage):
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(ValueError, match="is not a marginpath model, or it is damaged") as raised:
        Model.load(file)
    assert "\n" not in str(raised.value)


def test_every_damaged_byte_is_noticed_or_harmless(file, model, table):
    whole = file.read_bytes()
    expected = model.classifier.decision_function(model.prepared(table))
    for at in np.random.default_rng(0).integers(0, len(whole), 15):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
        try:
            again = Model.load(file)
        except ValueError:
            continue
        np.testing.assert_array_equal(again.classifier.decision_function(again.prepared(table)), expected)


def test_other_files_of_this_package_are_no_models(tmp_path):
    problem = mp.Problem(mp.Gram.linear(np.array([[1.0], [-2.0]])), [1, -1])
    mp.run(mp.DualDescent(mp.PowerDecay(1.0)), problem, steps=3).save(tmp_path / "path.npz")
    with pytest.raises(ValueError, match="not a marginpath model"):
        Model.load(tmp_path / "path.npz")
    np.savez(tmp_path / "d.npz", X=np.eye(2))
    assert not is_model(tmp_path / "d.npz")
    with pytest.raises(FileNotFoundError, match="There is no file"):
        Model.load(tmp_path / "none.model")


def test_a_later_format_is_named(file, model, monkeypatch):
    monkeypatch.setattr(packing, "FORMAT", 99)
    with pytest.raises(ValueError, match="another version of marginpath"):
        Model.load(file)
    older = replace(model, versions={**model.versions, "scikit-learn": "1.1.0"})
    assert "scikit-learn 1.1.0" in older.age
    assert model.age is None


def test_the_file_holds_no_module_paths(file):
    with open(file, "rb") as stream:
        header, _ = storage.read(stream)
    text = json.dumps(header["content"])
    assert '"ModelHistory"' in text
    assert "marginpath." not in text
    assert "sklearn." not in text


def test_the_file_holds_no_pickles(file):
    with zipfile.ZipFile(file) as stored:
        for name in stored.namelist():
            with stored.open(name) as stream:
                assert not np.lib.format.read_array(stream, allow_pickle=False).dtype.hasobject


def test_packing_refuses_what_it_does_not_know():
    with pytest.raises(TypeError, match=r"cannot hold an object of the class builtins.set"):
        pack({"a": {1, 2}})
    value = {1: (None, 2.5, "x"), "a": [np.float32(1.5), np.array(["b", None], dtype=object), slice(1, 3)]}
    again = unpack(*pack(value))
    assert again[1] == value[1]
    assert again["a"][0] == np.float32(1.5)
    assert again["a"][0].dtype == np.float32
    assert again["a"][1].tolist() == ["b", None]
    assert again["a"][2] == slice(1, 3)
