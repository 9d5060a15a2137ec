"""The trial of a new user: sixteen raw tables from a file to a model, a prediction and a page."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from typer.testing import CliRunner

import marginpath as mp
from marginpath.app import cli
from marginpath.app.modelfile import Model

raw_tables = pytest.importorskip("marginpath_lab.bench.raw_tables", reason="the laboratory is not installed")

#: Most features that a table may become, and how much better than the larger class a model must be, in the
#: share of its errors that is left; None where that class is nearly all there is, and rows are to be ordered.
MADE = {
    "nursery": (30, 0.6),
    "churn": (16, None),
    "messages": (60_000, 0.7),
    "orders": (100, 0.7),
    "prices": (6, 0.8),
    "questions": (12, 0.8),
    "beans": (6, 0.4),
    "merchants": (70, 0.7),
    "silent": (8, 0.7),
    "empty": (2, 0.8),
    "varieties": (5, 0.7),
    "claims": (40, 0.8),
}

LONG = ("varieties", "merchants", "messages", "beans")  # to learn, even in Python


@pytest.fixture(scope="module")
def app():
    return cli.build_app()


def halves(table):
    classes, counts = np.unique(table.y, return_counts=True)
    rows = np.flatnonzero(np.isin(table.y, classes[counts > 1]))
    return train_test_split(rows, test_size=0.5, stratify=table.y[rows], random_state=0)


@pytest.mark.filterwarnings("ignore:Fewer than 5 samples:UserWarning")  # half of a table has rare classes
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.heavy) if name in LONG else name for name in MADE]
)
def test_every_kind_of_table_is_learnt_in_python(name):
    table = raw_tables.made(name, 500)
    fit, test = halves(table)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        model = mp.TablePathClassifier(random_state=0).fit(table.frame.iloc[fit], table.y[fit])
    features, left = MADE[name]
    assert model.X_fit_.shape[1] <= features
    usual = np.mean(table.y[test] != pd.Series(table.y[fit]).mode()[0])
    error = np.mean(model.predict(table.frame.iloc[test]) != table.y[test])
    if left is None:
        assert roc_auc_score(table.y[test], model.decision_function(table.frame.iloc[test])) > 0.95
        assert error <= usual
    else:
        assert error <= left * usual
    assert set(model.columns_) == set(table.frame.columns)


SOME = ("empty", "silent")  # the others take minutes, all together


@pytest.mark.parametrize(
    "name", [name if name in SOME else pytest.param(name, marks=pytest.mark.heavy) for name in MADE]
)
def test_every_kind_of_table_goes_from_a_file_to_a_page(app, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = raw_tables.made(name, 250)
    table.frame.assign(target=table.y).to_csv("table.csv", index=False)
    for words in (
        ["fit", "table.csv", "-t", "target", "-o", "t.model", "--kernel", "linear"],
        ["predict", "t.model", "table.csv", "--with-data", "-o", "out.csv"],
        ["inspect", "t.model"],
        ["report", "t.model", "table.csv"],
    ):
        ran = CliRunner().invoke(app, words)
        assert ran.exit_code == 0, ran.output
        assert "Warning" not in ran.stderr
    assert len(pd.read_csv("out.csv")) == 250
    assert (tmp_path / "t.model").stat().st_size < 5_000_000
    assert (tmp_path / "report.html").stat().st_size < 4_000_000


@pytest.mark.heavy
@pytest.mark.parametrize("name", raw_tables.GIVEN)
def test_the_given_tables(app, name, tmp_path, monkeypatch):
    try:
        table = raw_tables.given(name)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    monkeypatch.chdir(tmp_path)
    table.frame.assign(target=table.y).to_csv("table.csv", index=False)
    ran = CliRunner().invoke(app, ["fit", "table.csv", "-t", "target", "-o", "t.model"])
    assert ran.exit_code == 0, ran.output
    usual = 1 - pd.Series(table.y).value_counts(normalize=True).iloc[0]
    assert Model.load("t.model").facts["cv_error"] < 0.9 * usual
    assert CliRunner().invoke(app, ["report", "t.model", "table.csv"]).exit_code == 0
