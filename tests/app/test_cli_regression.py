"""The commands on a table whose target is a quantity."""

import json
from pathlib import Path

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
    ran = invoke("fit", "flats.csv", "-t", "price", "--keep", "path")
    assert ran.exit_code == 0, ran.output
    assert "'price' is a quantity, so this is a regression; else --task classify." in ran.output
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
    predicted = invoke("predict", "flats.model", "new.csv")
    share = np.mean(
        pd.read_csv("new.csv")["price"] <= np.array(predicted.stdout.splitlines()[1:], dtype=float)
    )
    assert share == pytest.approx(0.9, abs=0.06)
    told = f"{share:.1%} of the targets lie below, on 200 rows with 'price'; 90.0% is asked for."
    assert told in predicted.stderr
    shown = invoke("inspect", "flats.model").stdout  # of a quantile, how far targets are off says nothing
    assert "of the targets lie below" in shown
    assert "mean absolute error" not in shown


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
    page = invoke("report", "flats.model", "--plane", "area,town")
    assert page.exit_code == 2
    assert "--plane is about classes, and 'price' is a quantity." in page.output


def test_a_slim_file_predicts_the_same_and_says_what_it_left(invoke):
    assert invoke("fit", "flats.csv", "-t", "price", "--keep", "path", "-o", "whole.model").exit_code == 0
    assert invoke("fit", "flats.csv", "-t", "price").exit_code == 0
    whole, slim = (invoke("predict", f"{name}.model", "new.csv").stdout for name in ("whole", "flats"))
    assert whole == slim
    assert Path("flats.model").stat().st_size < Path("whole.model").stat().st_size / 2
    facts = [json.loads(invoke("inspect", f"{name}.model", "--json").stdout) for name in ("whole", "flats")]
    assert facts[0] == facts[1]
    assert "--keep path" in invoke("inspect", "flats.model", "--steps").output
    at = invoke("predict", "flats.model", "new.csv", "--at", 1)
    assert at.exit_code == 2
    assert "--keep path" in at.output
    assert "These are the rows it was fitted on" in invoke("predict", "flats.model", "flats.csv").output


@pytest.mark.parametrize("keep", ["model", "path"])
def test_the_page_of_a_regression(invoke, keep):
    assert invoke("fit", "flats.csv", "-t", "price", "--keep", keep).exit_code == 0
    for words in (["flats.model"], ["flats.model", "new.csv"], ["flats.csv", "-t", "price"]):
        ran = invoke("report", *words, "-o", "page.html")
        assert ran.exit_code == 0, ran.output
        page = Path("page.html").read_text("utf-8")
        assert page.count("<svg") == 3
        for heading in ("Error along the path", "Observed against predicted", "Residuals"):
            assert heading in page
        assert "nan" not in page
        assert "http://" not in page.replace("http://www.w3.org", "")
    # What the page says of the new rows is what their targets say.
    invoke("report", "flats.model", "new.csv", "-o", "page.html")
    values = np.array(invoke("predict", "flats.model", "new.csv").stdout.splitlines()[1:], dtype=float)
    error = np.mean(np.abs(values - pd.read_csv("new.csv")["price"]))
    assert f"<dd>{error:.4g}</dd>" in Path("page.html").read_text("utf-8")
    assert Path("page.html").read_text("utf-8").count("<circle") == 200


def test_a_page_without_folds_has_new_rows_alone(invoke):
    assert (
        invoke("fit", "flats.csv", "-t", "price", "--stopping", "none", "--kernel", "linear").exit_code == 0
    )
    assert invoke("report", "flats.model", "-o", "none.html").exit_code == 0
    assert "<svg" not in Path("none.html").read_text("utf-8")
    assert invoke("report", "flats.model", "new.csv", "-o", "page.html").exit_code == 0
    assert Path("page.html").read_text("utf-8").count("<svg") == 2


def test_whole_numbers_of_few_values_are_classes_unless_told(invoke):
    assert json.loads(invoke("fit", "flats.csv", "-t", "rooms", "--json").stdout)["classes"]
    told = invoke("fit", "flats.csv", "-t", "rooms", "--task", "regress", "--json", "--kernel", "linear")
    assert json.loads(told.stdout)["task"] == "regression"
