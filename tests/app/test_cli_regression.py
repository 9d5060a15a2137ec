"""The commands on a table whose target is a quantity."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from marginpath.app.modelfile import Model


@pytest.fixture
def invoke(app, tmp_path, monkeypatch):
    """Run a command in a folder with prices of flats: a number with a gap, a category, and a quantity."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    area, town = rng.uniform(20, 120, 400), rng.choice(["Ulm", "Köln"], 400)
    price = 3.5 * area + 40 * (town == "Köln") + rng.normal(0, 10, 400)
    frame = pd.DataFrame({"area": area.round(1), "town": town, "price": price.round(2), "rooms": area // 25})
    frame.loc[5, "area"] = np.nan
    frame[:200].to_csv("flats.csv", index=False)
    frame[200:].to_csv("new.csv", index=False)
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_a_quantity_is_fitted_predicted_and_inspected(invoke):
    ran = invoke("fit", "flats.csv", "-t", "price")
    assert ran.exit_code == 0, ran.output
    assert "'price' is a quantity, so this is a regression; else --task classify." in ran.output
    assert "marginpath report" not in ran.output
    predicted = invoke("predict", "flats.model", "new.csv")
    assert "The mean absolute error is" in predicted.output
    values = np.array(predicted.stdout.splitlines()[1:], dtype=float)
    truth = pd.read_csv("new.csv")["price"]
    assert np.mean(np.abs(values - truth)) < 12  # of a deviation of 10, and a spread of 100
    early = invoke("predict", "flats.model", "new.csv", "--at", 1, "--json")
    assert np.std(json.loads(early.stdout)["prediction"]) < 0.8 * np.std(values)
    facts = json.loads(invoke("inspect", "flats.model", "--json").stdout)
    assert facts["task"] == "regression"
    assert facts["r2"] > 0.95
    assert 8 < facts["mean_absolute_error"] < 12
    steps = invoke("inspect", "flats.model", "--steps").stdout
    assert f"step {facts['step']} kept" in steps
    assert "cv score" in steps
    np.testing.assert_allclose(
        Model.load("flats.model").pipeline.predict(pd.read_csv("new.csv")), values, rtol=1e-6
    )


def test_a_quantile_covers_what_is_asked(invoke):
    words = ["--loss", "quantile", "--quantile", 0.9, "--kernel", "linear", "--json"]
    facts = json.loads(invoke("fit", "flats.csv", "-t", "price", *words).stdout)
    assert facts["loss"] == "quantile"
    values = np.array(invoke("predict", "flats.model", "new.csv").stdout.splitlines()[1:], dtype=float)
    assert np.mean(pd.read_csv("new.csv")["price"] <= values) == pytest.approx(0.9, abs=0.06)


def test_what_is_about_classes_is_refused(invoke):
    refused = {
        ("-t", "price", "--balanced"): "--balanced is about classes, and 'price' is a quantity.",
        ("-t", "price", "--stopping", "margin"): "--stopping margin is about classes",
        ("-t", "price", "--loss", "cubic"): "--loss cubic is none of epsilon_insensitive",
        ("-t", "price", "--task", "guess"): "--task guess is none of auto, classify, regress.",
        ("-t", "town", "--task", "regress"): "The target 'town' is not a number in every row.",
        ("-t", "price", "--task", "classify"): "no class of enough rows",
    }
    for words, sentence in refused.items():
        ran = invoke("fit", "flats.csv", *words)
        assert ran.exit_code in (2, 3), (words, ran.output)
        assert sentence in ran.output
    assert invoke("fit", "flats.csv", "-t", "price", "--kernel", "linear").exit_code == 0
    page = invoke("report", "flats.model")
    assert page.exit_code == 2
    assert "flats.model is a regression" in page.output


def test_whole_numbers_of_few_values_are_classes_unless_told(invoke):
    assert json.loads(invoke("fit", "flats.csv", "-t", "rooms", "--json").stdout)["classes"]
    told = invoke("fit", "flats.csv", "-t", "rooms", "--task", "regress", "--json", "--kernel", "linear")
    assert json.loads(told.stdout)["task"] == "regression"
