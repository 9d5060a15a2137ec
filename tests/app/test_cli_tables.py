"""Ordinary tables at the command line: each file is like one that stopped somebody."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss
from typer.testing import CliRunner

from marginpath.app.commands import fitting, options
from marginpath.app.modelfile import Model


@pytest.fixture
def invoke(app, tmp_path, monkeypatch):
    """Run a command in an empty folder; it must say what it has to without a traceback."""
    monkeypatch.chdir(tmp_path)

    def run(*words, code=0):
        ran = CliRunner().invoke(app, [str(word) for word in words])
        assert ran.exit_code == code, ran.output
        assert "Traceback" not in ran.output
        return ran

    return run


@pytest.fixture
def nursery(tmp_path):
    """Write categories alone, three classes, and one of a single row."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.choice(list("abc"), 120) for name in ("parents", "form", "health")})
    frame["class"] = frame["health"].map({"a": "priority", "b": "not", "c": "special"})
    frame.loc[0, "class"] = "recommend"
    frame.to_csv(tmp_path / "nursery.csv", index=False)


@pytest.fixture
def churn(tmp_path):
    """Write two classes, one in twenty rows of the rarer, that overlap."""
    rng = np.random.default_rng(0)
    stayed = rng.random(400) > 0.05
    frame = pd.DataFrame({"calls": rng.poisson(3, 400) + 1.0 * ~stayed, "months": rng.normal(20, 6, 400)})
    frame["churned"] = np.where(stayed, "no", "yes")
    frame.to_csv(tmp_path / "churn.csv", index=False)
    return frame


def test_a_class_of_one_row_does_not_stop_a_fit(invoke, nursery):
    ran = invoke("fit", "nursery.csv", "-t", "class")
    assert ran.stderr.startswith(
        "Note: The class 'recommend' has 1 row: left out. --rare merge makes one class of all such, "
        "--rare keep keeps them.\n"
    )
    assert Model.load("nursery.model").classes == ["not", "priority", "special"]
    invoke("fit", "nursery.csv", "-t", "class", "--stopping", "holdout")
    ran = invoke("fit", "nursery.csv", "-t", "class", "--stopping", "holdout", "--rare", "keep", code=3)
    assert "the class 'recommend' has 1 row" in ran.stderr
    assert "least populated" not in ran.stderr
    invoke("report", "nursery.csv", "-t", "class")


def test_rare_classes_are_merged(invoke, nursery):
    frame = pd.read_csv("nursery.csv")
    frame.loc[:3, "class"] = ["u", "v", "w", "w"]
    frame.to_csv("nursery.csv", index=False)
    ran = invoke("fit", "nursery.csv", "-t", "class", "--rare", "merge", "--rare-below", 3)
    assert "merged into the class 'other'" in ran.stderr
    assert Model.load("nursery.model").classes == ["not", "other", "priority", "special"]


def test_imbalance_is_told(invoke, churn):
    ran = invoke("fit", "churn.csv", "-t", "churned", "--kernel", "rbf")
    assert "It would change:\n- The model predicts 'no' for nearly every row" in ran.stderr
    assert "Consider --balanced, --scoring balanced_accuracy." in ran.stderr
    assert "balanced accuracy 50.0%" in ran.stdout
    ran = invoke("fit", "churn.csv", "-t", "churned", "--balanced", "--scoring", "balanced_accuracy")
    assert "nearly every row" not in ran.stderr
    assert "consider --balanced" not in ran.stderr


def test_a_constant_of_even_classes_is_no_imbalance(invoke):
    rng = np.random.default_rng(0)
    pd.DataFrame({"x": rng.normal(size=200), "y": rng.random(200) < 0.45}).to_csv("coin.csv", index=False)
    ran = invoke("fit", "coin.csv", "-t", "y", "--kernel", "rbf", "--selection", "one_se")
    assert "for nearly every row" in ran.stderr
    assert "Perhaps no column tells them apart." in ran.stderr
    assert "--balanced" not in ran.stderr


def test_a_rare_class_that_is_learnt_is_told_too(invoke, churn):
    churn["calls"] += 40.0 * (churn["churned"] == "yes")
    churn.to_csv("churn.csv", index=False)
    ran = invoke("fit", "churn.csv", "-t", "churned")
    assert "% minority, class 'yes': consider --balanced, --scoring balanced_accuracy." in ran.stderr


@pytest.mark.heavy
@pytest.mark.parametrize("score", ["f1", "average_precision"])
def test_a_positive_class_has_a_name(invoke, churn, score):
    ran = invoke("fit", "churn.csv", "-t", "churned", "--scoring", score, "--balanced", "--kernel", "linear")
    assert f"Note: --scoring {score} is that of the rarer class 'yes'; else --positive.\n" in ran.stderr
    assert Model.load("churn.model").classifier.scoring.positive == "yes"
    ran = invoke(
        *("fit", "churn.csv", "-t", "churned", "--scoring", score),
        *("--positive", "no", "--kernel", "linear", "--json"),
    )
    assert f"{score} of 'no'" in json.loads(ran.stdout)["reason"]
    assert "Note" not in ran.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--scoring", "f1", "--positive", "maybe"], "--positive maybe is none of the classes no, yes."),
        (["--scoring", "f2"], "--scoring f2 is none of scikit-learn's scores: accuracy, "),
        (["--positive", "yes"], "--positive goes with --scoring f1, precision"),
        (["--as", "calls:text"], "--as =calls:text: it takes COLUMN=KIND"),
        (["--as", "call=text"], "There is no column 'call' in churn.csv."),
        (["--encoding", "latin", "--kernel", "rbf"], None),
        (["--encoding", "klingon"], "--encoding klingon is none that is known"),
        (["--rare", "forget"], "--rare forget is none of drop, merge, keep."),
    ],
)
def test_options_of_tables_that_are_refused(invoke, churn, options, words):
    ran = invoke("fit", "churn.csv", "-t", "churned", *options, code=2 if words else 0)
    assert (words or "") in ran.stderr


def test_a_positive_class_needs_two(invoke, nursery):
    ran = invoke("fit", "nursery.csv", "-t", "class", "--scoring", "f1", code=2)
    assert ran.stderr.endswith(
        "--scoring f1 is about two classes and there are 3: use --scoring f1_macro or balanced_accuracy.\n"
    )


def test_text_alone_makes_a_small_and_good_model(invoke):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(600) < 0.13, "spam", "ham")
    common, spam = [f"word{i}" for i in range(400)], [f"prize{i}" for i in range(30)]
    text = [
        " ".join(rng.choice(common, 12)) + (" " + " ".join(rng.choice(spam, 3)) if label == "spam" else "")
        for label in y
    ]
    pd.DataFrame({"label": y, "message": text}).to_csv("sms.csv", index=False)
    ran = invoke("fit", "sms.csv", "-t", "label", "--json")
    found = json.loads(ran.stdout)
    assert found["kernel"] == "linear"
    assert found["cv_error"] < 0.03
    assert Path("sms.model").stat().st_size < 3_000_000
    assert "of 600 predictions" in invoke("predict", "sms.model", "sms.csv").stderr
    invoke("report", "sms.model", "sms.csv")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_dates_zips_ids_and_notes(invoke, ending):
    rng = np.random.default_rng(0)
    when = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 900, 500), "D")
    late = (when.month >= 11) ^ (rng.random(500) < 0.05)
    frame = pd.DataFrame(
        {
            "order_id": [f"O-{i:06}" for i in range(500)],
            "ordered": when,
            "stamp": when + pd.to_timedelta(rng.integers(0, 86_400, 500), "s"),
            "zip": rng.integers(1000, 9999, 500),
            "amount": [f"{int(a):,}" for a in rng.integers(10, 90_000, 500)],
            "note": [
                " ".join(rng.choice(["please", "ring", "twice", "leave", "door", "fast"], 6)) for _ in late
            ],
            "late": np.where(late, "late", "fine"),
        }
    )
    if ending == "csv":
        frame.to_csv("orders.csv", index=False)
    else:
        frame.to_parquet("orders.parquet")
    ran = invoke("fit", f"orders.{ending}", "-t", "late", "--json")
    found = json.loads(ran.stdout)
    assert {name: column["kind"] for name, column in found["columns"].items()} == {
        "order_id": "left out",
        "ordered": "date",
        "stamp": "date",
        "zip": "number",
        "amount": "number",
        "note": "text",
    }
    assert found["cv_error"] < 0.13
    assert next(iter(found["importance"]["columns"])) in ("ordered", "stamp")
    assert Path("orders.model").stat().st_size < 4_000_000
    advice = " ".join(found["advice"])
    for words in ("Left out: 'order_id' (an identifier)", "'note' is free text", "'zip' may hold codes"):
        assert words in advice
    invoke("predict", "orders.model", f"orders.{ending}")


@pytest.mark.heavy
def test_rows_without_a_target(invoke, churn):
    churn.loc[[3, 9], "churned"] = None
    churn.to_csv("churn.csv", index=False)
    ran = invoke("fit", "churn.csv", "-t", "churned", "--kernel", "linear")
    note = "Note: 2 rows have no value in the target column 'churned' (row 4, 10): left out.\n"
    assert ran.stderr.startswith(note)
    ran = invoke("predict", "churn.model", "churn.csv", "--with-data", "-o", "out.csv")
    assert "of 398 predictions" in ran.stderr
    out = pd.read_csv("out.csv")
    assert len(out) == 400
    assert list(out.columns[:4]) == ["calls", "months", "churned", "prediction"]
    assert out["churned"].isna().sum() == 2
    assert (out["churned"].dropna() == churn["churned"].dropna()).all()


def test_probabilities_sum_to_one_for_scikit_learn(invoke, nursery):
    invoke("fit", "nursery.csv", "-t", "class")
    invoke("predict", "nursery.model", "nursery.csv", "-o", "out.csv")
    P = pd.read_csv("out.csv").filter(like="probability").to_numpy()
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-9)
    log_loss(np.arange(len(P)) % 3, P)  # which warns where they do not


def test_an_encoding_for_all_commands(invoke):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"größe": rng.normal(size=60), "sorte": rng.choice(["Äpfel", "Öl"], 60)})
    frame.to_csv("waren.csv", index=False, encoding="cp1252")
    ran = invoke("fit", "waren.csv", "-t", "sorte", code=3)
    assert "--encoding cp1252" in ran.stderr
    invoke("fit", "waren.csv", "-t", "sorte", "--encoding", "cp1252")
    invoke("predict", "waren.model", "waren.csv", "--encoding", "cp1252")
    invoke("report", "waren.model", "waren.csv", "--encoding", "cp1252")


@pytest.mark.filterwarnings("error")
def test_an_empty_column_is_no_trouble(invoke, churn):
    churn.assign(empty=None).to_csv("churn.csv", index=False)
    invoke("fit", "churn.csv", "-t", "churned", "--kernel", "rbf")
    ran = invoke("predict", "churn.model", "churn.csv")
    assert "Warning" not in ran.stderr


def test_unscaled_columns_are_told(invoke):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.normal(50_000, 9000, 90), "roundness": rng.normal(0.8, 0.05, 90)})
    frame["bean"] = np.where(frame["roundness"] > 0.8, "round", "long")
    frame.to_csv("beans.csv", index=False)
    ran = invoke("fit", "beans.csv", "-t", "bean", "--no-scale", "--kernel", "linear")
    assert "- Unscaled columns: the spread of 'area' is" in ran.stderr
    scaled = json.loads(invoke("fit", "beans.csv", "-t", "bean", "--json").stdout)
    assert scaled["cv_error"] < 0.1
    assert scaled["advice"] == []


@pytest.mark.heavy
def test_progress_where_there_is_no_terminal(invoke, churn, monkeypatch):
    monkeypatch.setattr(fitting, "SECONDS", 0.0)
    ran = invoke("fit", "churn.csv", "-t", "churned", "--kernel", "linear")
    lines = [line for line in ran.stderr.splitlines() if " s: step " in line]
    assert lines
    assert "cv error" in lines[0]


def test_columns_and_what_they_are_worth_are_inspected(invoke, churn):
    churn["calls"] += 5.0 * (churn["churned"] == "yes")
    churn.to_csv("churn.csv", index=False)
    invoke("fit", "churn.csv", "-t", "churned", "--balanced", "--scoring", "balanced_accuracy")
    ran = invoke("inspect", "churn.model")
    table = ran.stdout.split("Columns, and the balanced_accuracy lost without each")[1]
    assert table.index("calls") < table.index("months")
    worth = json.loads(invoke("inspect", "churn.model", "--json").stdout)["importance"]["columns"]
    assert worth["calls"][0] > 0.1 > abs(worth["months"][0])


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "none.csv", "-t", "kind"],
        ["predict", "there.model", "none.csv"],
        ["inspect", "none.csv"],
        ["report", "there.model", "none.csv"],
    ],
)
def test_what_a_wrong_command_does_not_import(tmp_path, words):
    """An answer that needs no model comes before scikit-learn and the solvers are loaded."""
    (tmp_path / "there.model").touch()
    script = (
        f"import sys; sys.argv = ['marginpath', *{words}]\n"
        "from marginpath.app.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n"
        "    print(end.code, sorted({'sklearn', 'scipy', 'numba', 'pandas'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, env=os.environ
    )
    assert ran.stderr == "There is no file none.csv.\n"
    assert ran.stdout == "1 []\n"


def test_words_that_are_written_down_twice_agree():
    """The command line knows the options by heart, so that it needs no solver to refuse others."""
    from marginpath.app.modelfile import KEEP
    from marginpath.estimators.choices import CHOICES
    from marginpath.tables import kinds
    from marginpath.validation.selection import SELECTIONS

    assert (*CHOICES, "none") == options.STOPPING
    assert options.SELECTIONS == SELECTIONS
    assert options.KEEP == KEEP
    assert (*options.KINDS, "left out") == kinds.KINDS
