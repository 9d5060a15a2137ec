"""The commands on files, as a beginner meets them: exit codes and messages, word for word."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris
from typer.testing import CliRunner

from marginpath.app.commands import fitting
from marginpath.app.modelfile import Model
from marginpath.validation.columns import OneVsOne

PROGRAM = Path(sys.executable).with_name("marginpath")


@pytest.fixture
def invoke(app, tmp_path, monkeypatch):
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def animals(tmp_path):
    """Write a csv as people make them: text, gaps, an id, three classes."""
    rng = np.random.default_rng(0)
    kind = rng.choice(["cat", "dog", "rabbit"], 60)
    frame = pd.DataFrame(
        {
            "animal_id": [f"A{i:03}" for i in range(60)],
            "weight kg": np.where(kind == "dog", 15, 4) + rng.normal(0, 2, 60).round(1),
            "ears": np.where(kind == "rabbit", 12, 7) + rng.normal(0, 1.5, 60).round(1),
            "food": np.where(kind == "rabbit", "hay", rng.choice(["fish", "meat"], 60)),
            "kind": kind,
        }
    )
    frame.loc[[3, 40], "weight kg"] = np.nan
    frame.loc[7, "food"] = None
    frame.to_csv(tmp_path / "animals.csv", index=False)
    return frame


@pytest.fixture
def model(invoke, animals):
    words = ["--target", "kind", "--kernel", "rbf", "-o", "a.model", "--keep", "path"]
    ran = invoke("fit", "animals.csv", *words)
    assert ran.exit_code == 0, ran.output
    return ran


@pytest.fixture
def slim(invoke, model):
    """Write the same model without its path."""
    Model.load("a.model").save("slim.model")
    return Model.load("slim.model")


def test_fit_writes_a_slim_model_unless_told_otherwise(invoke, model, slim):
    words = ["-t", "kind", "--kernel", "rbf", "-o", "b.model"]
    assert invoke("fit", "animals.csv", *words).exit_code == 0
    fitted = Model.load("b.model")
    assert fitted.is_slim
    assert not Model.load("a.model").is_slim
    assert np.array_equal(fitted.classifier.dual_coef_, slim.classifier.dual_coef_)
    assert Path("b.model").stat().st_size < Path("a.model").stat().st_size / 3
    ran = invoke("fit", "animals.csv", *words, "--keep", "all")
    assert ran.exit_code == 2
    assert ran.stderr == "--keep all is none of model, path.\n"


def test_a_slim_model_predicts_the_same(invoke, slim):
    whole, small = (invoke("predict", name, "animals.csv") for name in ("a.model", "slim.model"))
    assert small.exit_code == 0
    assert [line.split(",")[0] for line in small.stdout.splitlines()] == [
        line.split(",")[0] for line in whole.stdout.splitlines()
    ]
    assert "These are the rows it was fitted on" in small.stderr
    ran = invoke("predict", "slim.model", "animals.csv", "--at", 2)
    assert ran.exit_code == 2
    assert "the file has no steps" in ran.stderr


def test_a_slim_model_is_inspected_and_shown(invoke, slim):
    whole, small = (
        json.loads(invoke("inspect", name, "--json").stdout) for name in ("a.model", "slim.model")
    )
    assert small == whole
    ran = invoke("inspect", "slim.model", "--steps")
    assert ran.exit_code == 2
    assert "--keep path" in ran.stderr
    ran = invoke("report", "slim.model", "animals.csv")
    assert ran.exit_code == 0, ran.output
    page = Path("report.html").read_text("utf-8")
    assert "The file has only the kept step" in page
    assert '"kind":"training"' in page  # the table is the one of the fit
    assert invoke("report", "slim.model").exit_code == 0
    ran = invoke("report", "slim.model", "--plane", "ears,weight kg")
    assert ran.exit_code == 2
    assert "--keep path" in ran.stderr


def test_five_classes_in_pairs(invoke):
    rng = np.random.default_rng(0)
    kind = rng.integers(5, size=200)
    numbers = 3 * rng.normal(size=(5, 3))[kind] + rng.normal(size=(200, 3))
    frame = pd.DataFrame(numbers, columns=list("abc")).assign(kind=np.array(list("vwxyz"))[kind])
    frame.to_csv("five.csv", index=False)
    ran = invoke("fit", "five.csv", "-t", "kind", "--kernel", "rbf")
    assert ran.exit_code == 0, ran.output
    assert "2 more: --json has them all" in ran.stdout
    fitted = Model.load("five.model")
    assert isinstance(fitted.classifier.columns_, OneVsOne)
    assert fitted.is_slim
    facts = json.loads(invoke("inspect", "five.model", "--json").stdout)
    assert list(facts["margin_bounds"])[:2] == ["v or w", "v or x"]
    assert len(facts["margin_bounds"]) == 10
    assert list(facts["recall"]) == list("vwxyz")
    assert invoke("predict", "five.model", "five.csv").exit_code == 0
    assert invoke("report", "five.model", "five.csv").exit_code == 0
    page = Path("report.html").read_text("utf-8")
    assert '"v or w"' in page


def test_what_a_beginner_meets(invoke, animals):
    columns = "animals.csv has the columns animal_id, weight kg, ears, food, kind."
    ran = invoke("fit", "animals.csv")
    assert ran.exit_code == 2
    assert ran.stderr == f"Which column holds the classes? Pass --target COLUMN. {columns}\n"

    ran = invoke("fit", "animals.csv", "--target", "species")
    assert ran.exit_code == 2
    assert ran.stderr == f"There is no column 'species'. {columns}\n"

    assert list(Path().glob("*.model")) == []

    ran = invoke("fit", "animals.csv", "--target", "kind")
    assert ran.exit_code == 0
    assert ran.stderr.splitlines()[:2] == [
        "It would change:",
        "- Left out: 'animal_id' (an identifier). To keep one: --as COLUMN=category",
    ]
    for words in (
        "cat, dog, rabbit",
        "1 left out, 2 numbers, 1 category",
        "cv error",
        "maximum margin of dog",
        "is kept",
    ):
        assert words in ran.stdout
    assert "Model: animals.model" in ran.stdout
    assert "Next: marginpath report animals.model animals.csv" in ran.stderr


def test_fit_for_machines(invoke, animals):
    ran = invoke("fit", "animals.csv", "-t", "kind", "--drop", "animal_id", "--keep", "path", "--json")
    found = json.loads(ran.stdout)
    fitted = Model.load("animals.model").classifier
    assert (found["step"], found["steps"]) == (fitted.step_, fitted.n_iter_)
    assert found["cv_error"] == pytest.approx(1 - fitted.cv_results_["mean_test_score"].max())
    assert found["classes"] == ["cat", "dog", "rabbit"]
    assert found["margin_bounds"].keys() == {"cat", "dog", "rabbit"}
    assert found["numbers"] == ["weight kg", "ears"]
    assert found["model"] == "animals.model"


def test_predict(invoke, model, animals):
    new = animals.drop(columns="kind").head(5)
    new.to_csv("new.csv", index=False)
    ran = invoke("predict", "a.model", "new.csv")
    assert ran.exit_code == 0
    assert ran.stderr == ""
    lines = ran.stdout.splitlines()
    assert lines[0] == "prediction,probability cat,probability dog,probability rabbit"
    assert [line.split(",")[0] for line in lines[1:]] == animals["kind"].head(5).tolist()
    ran = invoke("predict", "a.model", "new.csv", "--with-data", "-o", "out.csv")
    assert (ran.exit_code, ran.stdout, ran.stderr) == (0, "", "Written: out.csv, 5 rows.\n")
    out = pd.read_csv("out.csv")
    assert list(out.columns[:5]) == ["animal_id", "weight kg", "ears", "food", "prediction"]
    np.testing.assert_allclose(out.filter(like="probability").sum(axis=1), 1, atol=1e-5)


def test_predict_at_a_step(invoke, model, animals):
    fitted = Model.load("a.model")
    ran = invoke("predict", "a.model", "animals.csv", "--at", 2, "--json")
    assert ran.exit_code == 0
    found = json.loads(ran.stdout)
    X = fitted.prepared(table_of(animals))
    assert found["prediction"] == fitted.classifier.at(2).predict(X).tolist()
    assert "decision cat" in found
    assert "of 60 predictions" in ran.stderr
    assert "These are the rows it was fitted on: expect more on new ones." in ran.stderr
    ran = invoke("predict", "a.model", "animals.csv", "--at", 1000)
    assert ran.exit_code == 2
    assert ran.stderr == f"--at 1000: the model has the steps 1 to {fitted.classifier.n_iter_}.\n"


def table_of(frame):
    from marginpath.app.tables import Table

    return Table("animals.csv", frame)


def test_predict_what_does_not_fit(invoke, model, animals):
    animals.drop(columns=["ears", "kind"]).to_csv("new.csv", index=False)
    ran = invoke("predict", "a.model", "new.csv")
    assert ran.exit_code == 3
    assert ran.stderr == "new.csv lacks the columns 'ears', which the fit had.\n"
    animals.head(3).assign(food="pizza").to_csv("new.csv", index=False)
    ran = invoke("predict", "a.model", "new.csv")
    assert ran.exit_code == 0
    assert ran.stderr.startswith(
        "Note: Column 'food' has values that the model has not seen, such as 'pizza', in 3 rows: "
        "they count as "
        "none of the known ones.\n"
    )


@pytest.mark.parametrize("command", ["predict", "inspect", "report"])
def test_files_that_are_no_models(invoke, animals, command):
    more = [] if command == "inspect" else ["animals.csv"]
    ran = invoke(command, "none.model", *more)
    assert (ran.exit_code, ran.stderr) == (1, "There is no file none.model.\n")
    ran = invoke(command, "animals.csv", *more)
    assert ran.exit_code == 2
    assert ran.stderr == (
        "animals.csv is not a marginpath model, or it is damaged. Write one with: marginpath fit\n"
    )


def test_inspect(invoke, model):
    ran = invoke("inspect", "a.model", "--steps")
    assert ran.exit_code == 0
    fitted = Model.load("a.model").classifier
    assert f"step {fitted.step_} kept" in ran.stdout
    assert sum(line.startswith("│") for line in ran.stdout.splitlines()) > fitted.n_iter_
    found = json.loads(invoke("inspect", "a.model", "--json").stdout)
    assert found["fitted_on"] == "animals.csv"
    assert found["gap"] == pytest.approx(fitted.path_["gap"][fitted.step_], rel=1e-7)
    assert 0 < found["gap"] <= 1e-3


def test_inspect_marks_steps_that_are_not_what_their_c_says(invoke, model):
    fitted = Model.load("a.model")
    fitted.classifier.path_.rows["gap"][3] = np.float64(0.25)
    fitted.save("b.model", keep="path")
    ran = invoke("inspect", "b.model", "--steps")
    rows = [line.split("│") for line in ran.stdout.splitlines() if line.startswith("│")][
        -fitted.classifier.n_iter_ :
    ]
    assert [float(row[-2].split()[0]) for row in rows] == pytest.approx(fitted.gap, rel=0.06)
    assert [row[1].strip() for row in rows if "!" in row[-2]] == ["3"]
    assert "! duality gap over path_tol: not the SVM at its C" in ran.stdout
    assert "!" not in invoke("inspect", "a.model", "--steps").stdout


def test_report_of_a_model(invoke, model, animals):
    ran = invoke("report", "a.model", "animals.csv", "--plane", "ears,weight kg")
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.startswith("Page: report.html (")
    assert Path("report.html").stat().st_size < 4_000_000
    animals.drop(columns="kind").to_csv("new.csv", index=False)
    ran = invoke("report", "a.model", "new.csv")
    assert ran.exit_code == 2
    assert ran.stderr == (
        "new.csv has no column 'kind' with the true classes or values, which a report compares with.\n"
    )
    ran = invoke("report", "a.model", "--plane", "ears,food")
    assert ran.exit_code == 2
    assert "There is no column of numbers 'food' in the model; it has weight kg, ears." in ran.stderr
    animals.assign(kind="fish").to_csv("new.csv", index=False)
    ran = invoke("report", "a.model", "new.csv")
    assert ran.exit_code == 3
    assert "None of the classes in new.csv is one of the model's: cat, dog, rabbit." in ran.stderr


def test_report_of_data_alone(invoke, animals):
    ran = invoke("report", "animals.csv", "-t", "kind", "--drop", "animal_id", "-o", "page.html")
    assert ran.exit_code == 0, ran.output
    assert "is kept" in ran.stderr
    html = Path("page.html").read_text(encoding="utf-8")
    assert '"kind":"test"' in html
    assert '"rows":15' in html  # a quarter of 60
    ran = invoke("report", "animals.csv", "-t", "kind", "--test", 0.02)
    assert ran.exit_code == 3
    assert "pass --test 0" in ran.stderr


@pytest.mark.parametrize("ending", ["parquet", "npz", "svm"])
def test_every_format_from_fit_to_report(invoke, ending):
    X, y = load_iris(return_X_y=True)
    file = f"iris.{ending}"
    if ending == "parquet":
        pd.DataFrame(X, columns=list("abcd")).assign(y=y).to_parquet(file)
    elif ending == "npz":
        np.savez(file, X=X, y=y)
    else:
        dump_svmlight_file(X, y, file)
    target = ["-t", "y"] if ending == "parquet" else []
    assert invoke("fit", file, *target, "--kernel", "linear").exit_code == 0
    ran = invoke("predict", "iris.model", file)
    assert ran.exit_code == 0, ran.output
    assert len(ran.stdout.splitlines()) == 151
    assert "of 150 predictions" in ran.stderr
    assert invoke("report", "iris.model", file).exit_code == 0


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--kernel", "rbff"], 2, "--kernel rbff is none of auto, rbf, linear, poly, laplacian, cosine."),
        (["--gamma", "wide"], 2, "--gamma wide is neither scale, auto or tuned nor a positive number."),
        (["--stopping", "soon"], 2, "--stopping soon is none of cv, holdout, margin, discrepancy, none."),
        (["--stopping", "discrepancy"], 2, "needs noise_level"),
        (["--scoring", "beauty"], 2, "beauty"),
        (["--drop", "tail"], 2, "There is no column 'tail' to drop."),
        (["-o", "nowhere/a.model"], 2, "There is no folder nowhere."),
        (["--format", "xlsx"], 2, "--format xlsx is none of csv, parquet, svmlight, npz."),
        (["--cv", "50"], 3, "No class has as many rows as there are folds, 50: pass --cv 21"),
        (["--cv", "1"], 2, "--cv"),
    ],
)
def test_options_that_are_refused(invoke, animals, options, code, words):
    ran = invoke("fit", "animals.csv", "-t", "kind", *options)
    assert ran.exit_code == code, ran.output
    assert words in ran.stderr
    assert "Traceback" not in ran.output
    assert list(Path().glob("*.model")) == []


def test_a_limit_is_told(invoke, animals):
    ran = invoke("fit", "animals.csv", "-t", "kind", "--drop", "animal_id", "--time-limit", 1e-6)
    assert ran.exit_code == 0
    assert (
        "Note: The time limit of 1e-06 s was over after 1 steps; step 1 is kept, whose duality gap"
        in ran.stderr
    )


def test_a_word_for_missing_values_is_stored(invoke, animals):
    """Predict and report take the same kind of file with no word said again."""
    animals["weight kg"] = animals["weight kg"].astype(object).fillna("lost")
    animals.to_csv("words.csv", index=False)
    ran = invoke("fit", "words.csv", "-t", "kind")
    assert ran.exit_code == 0
    assert (
        "- Column 'weight kg' has numbers and also 'lost', so each value is taken as a category. If that "
        "means a missing value: --missing lost\n"
    ) in ran.stderr
    ran = invoke("fit", "words.csv", "-t", "kind", "--missing", "lost", "--kernel", "rbf")
    assert ran.exit_code == 0
    assert Model.load("words.model").columns["weight kg"].kind == "number"
    for command in ("predict", "report"):
        ran = invoke(command, "words.model", "words.csv")
        assert ran.exit_code == 0, ran.output


@pytest.mark.parametrize("command", ["fit", "predict", "inspect", "report"])
def test_help_has_examples(invoke, command):
    ran = invoke(command, "--help")
    assert ran.exit_code == 0
    assert f"marginpath {command} " in ran.stdout.split("Examples:")[1]


def test_the_help_tells_the_exit_codes(invoke):
    assert "3 the data need a change" in " ".join(invoke("--help").stdout.split())


def test_progress_on_a_terminal(animals, tmp_path):
    """A pseudo-terminal sees step, error and margin pass by."""
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    near, far = pty.openpty()
    words = ["fit", "animals.csv", "-t", "kind", "--drop", "animal_id"]
    with subprocess.Popen(
        [PROGRAM, *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=far,
        env={**os.environ, "COLUMNS": "120"},
    ) as ran:
        os.close(far)
        seen = b""
        while True:
            try:
                part = os.read(near, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            seen += part
        ran.wait(timeout=120)
    os.close(near)
    text = seen.decode(errors="replace")
    assert ran.returncode == 0, text
    assert "cv error" in text
    assert "maximum margin in about [" in text


def test_an_interrupted_fit_keeps_what_it_has(invoke, animals, monkeypatch):
    def interrupted(path):
        if path.steps[-1] == 3:
            signal.raise_signal(signal.SIGINT)
        return ""

    monkeypatch.setattr(fitting, "progress_line", interrupted)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    ran = invoke("fit", "animals.csv", "-t", "kind", "--drop", "animal_id")
    signal.signal(signal.SIGINT, handler)
    assert ran.exit_code == 130, ran.output
    assert "Note: Interrupted after 3 steps; step" in ran.stderr
    assert Model.load("animals.model").classifier.n_iter_ == 3
