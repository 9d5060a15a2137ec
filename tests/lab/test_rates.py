"""The experiment behind the page on rates: its parts, a reduced run, the command, and what is published."""

import csv
import io
import re
import xml.etree.ElementTree as ElementTree
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from marginpath_lab import experiments
from marginpath_lab.experiments import drawing, rates, writing
from marginpath_lab.experiments.methods import BY_NAME, EXPECTED_ORDER
from marginpath_lab.experiments.problems import PRECISION, PROBLEMS, random_problem, separable
from marginpath_lab.experiments.trajectories import FLOOR, fitted_law, reached, settled
from typer.testing import CliRunner

import marginpath as mp
from marginpath.app import cli

SLOWEST_FIRST = (  # at 500 updates; later, mirror descent overtakes the normalized gradient
    "gradient descent, exponential",
    "mirror descent",
    "normalized gradient",
    "accelerated mirror descent",
    "Algorithm 2, α = 3",
    "Algorithm 2, α = 30",
    "coordinate descent",
)
NAMES = ("rates.csv", "rates_curves.csv", "rates.md", "rates.svg", "rates.png")
PUBLISHED = Path(__file__).parents[2] / "docs" / "_static" / "rates"


@pytest.fixture(scope="module")
def table():
    """A reduced run: the random samples, seven methods, 500 updates."""
    return rates.compute(problems=["random"], methods=SLOWEST_FIRST, steps=500)


@pytest.fixture
def invoke(table, monkeypatch):
    """Run a command in process, on the numbers of the reduced run."""
    monkeypatch.setattr(rates, "compute", lambda watch: table)
    return run_command


def run_command(*words):
    return CliRunner().invoke(cli.build_app(), ["reproduce", *map(str, words)])


def gaps_at(table, t):
    return {row.method: row.gaps[t] for row in table.rows}


def test_the_methods_come_in_their_order(table):
    assert [row.method for row in table.ranked("random")] == list(SLOWEST_FIRST)
    gap = gaps_at(table, 500)
    assert gap["gradient descent, exponential"] > 1.5 * gap["mirror descent"]
    assert gap["mirror descent"] > 30 * gap["accelerated mirror descent"]
    assert gap["accelerated mirror descent"] > 20 * gap["Algorithm 2, α = 3"]
    assert gap["Algorithm 2, α = 3"] > 20 * gap["Algorithm 2, α = 30"]
    assert gap["Algorithm 2, α = 30"] < 1e-6


def test_the_fitted_rates_are_those_of_the_theory(table):
    law = {row.method: row.law for row in table.rows}
    assert law["gradient descent, exponential"].rate < 0.6
    assert law["normalized gradient"].rate == pytest.approx(0.5, abs=0.15)
    assert law["accelerated mirror descent"].rate == pytest.approx(2, abs=0.1)
    assert all(law[name].kind == "power" for name in SLOWEST_FIRST[:4])
    assert law["Algorithm 2, α = 30"].kind == law["coordinate descent"].kind == "linear"
    assert 0.9 < law["Algorithm 2, α = 30"].rate < 0.99


def test_gaps_are_those_of_a_plain_loop(table):
    """Accelerated mirror descent again, by hand, with the margin of w itself."""
    problem = random_problem()
    Z = problem.gram.X * problem.Y[:, None]
    w, g, q = np.zeros(60), np.zeros(100), np.full(100, 0.01)
    for t in range(1, 101):
        g = t / (t + 1) * (g + q)
        w = w + Z.T @ (g + q)
        q = np.exp(-Z @ w - np.max(-Z @ w))
        q /= q.sum()
    gap = table.problems[0].margin - np.min(Z @ w) / np.linalg.norm(w)
    assert gaps_at(table, 100)["accelerated mirror descent"] == pytest.approx(gap, rel=1e-6)


def test_targets_are_reached_when_the_curve_says_so(table):
    for row, curve in zip(table.rows, table.curves, strict=True):
        assert (row.problem, row.method) == (curve.problem, curve.method)
        assert (np.diff(curve.updates) > 0).all()
        assert (np.diff(curve.seconds) >= 0).all()
        assert (curve.gaps >= FLOOR).all()
        for target, update in row.updates.items():
            if update is None:
                assert row.seconds[target] is None
                assert curve.gaps[-1] > target
            else:
                assert (curve.gaps[curve.updates[:-1].searchsorted(update) + 1 :] <= target).all()
                assert 0 <= row.seconds[target] <= curve.seconds[-1]


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_problems_are_solved_and_scaled(name):
    known = separable(name)
    assert known.width <= PRECISION
    assert float(known.problem.gram.diagonal.max()) == pytest.approx(1)
    # At λ just under 1/size the hinge-loss solution has maximum margin, at a larger one it has not.
    for factor, best in ((0.99, True), (2.0, False)):
        solver = mp.DualDescent(mp.Constant(factor / known.size), mp.Inertia(30))
        margin = mp.run(solver, known.problem, 2000, observe=["margin"], every=2000)["margin"][-1]
        if best or name != "toy":  # of which another u* has smaller entries
            assert (known.margin - margin < 1e-7) == best


def test_a_problem_that_is_not_solved_is_refused(monkeypatch):
    monkeypatch.setitem(PROBLEMS, "hard", ("hard", lambda: random_problem(n=100, d=2, seed=3)))
    monkeypatch.setattr("marginpath_lab.experiments.problems.PRECISION", 1e-18)
    with pytest.raises(RuntimeError, match=r"known to .* only"):
        separable("hard")


def test_names_that_are_unknown_are_refused():
    with pytest.raises(ValueError, match="There is no problem 'x'; there are random"):
        rates.compute(problems=["x"])
    with pytest.raises(ValueError, match="There is no method 'x'; there are gradient"):
        rates.compute(methods=["x"])
    with pytest.raises(ValueError, match="There is no experiment 'x'; there are rates"):
        experiments.find("x")


def test_settled_gaps_and_laws():
    swinging = np.array([1.0, 0.1, 0.5, 0.01, 0.2, 0.0])
    assert settled(swinging).tolist() == [1.0, 0.5, 0.5, 0.2, 0.2, FLOOR]
    assert reached(swinging, 0.2) == 3
    assert reached(swinging, FLOOR / 2) is None
    t = np.arange(10_001)
    assert fitted_law(np.full(10_001, 0.3)).rate < 1e-12
    assert fitted_law((1 + t) ** -0.5).rate == pytest.approx(0.5, abs=1e-3)
    assert fitted_law(0.998**t).kind == "linear"
    assert fitted_law(0.998**t).rate == pytest.approx(0.998)
    assert fitted_law(0.9999**t).kind == "power"  # it falls too little to tell
    assert fitted_law(np.where(t < 5, 1.0, 0.0)) is None


def test_an_interrupted_run_makes_no_table(monkeypatch):
    known = separable("toy")
    actual = mp.run

    def interrupted(*args, **kwargs):
        path = actual(*args, **kwargs)
        path.ended = mp.Status.INTERRUPTED
        return path

    monkeypatch.setattr(mp, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rates._measure(known, BY_NAME["perceptron"], 3)


def test_reproduce_writes_whole_files(invoke, tmp_path):
    ran = invoke("rates", "--out", tmp_path / "new" / "folder")
    assert ran.exit_code == 0, ran.output
    assert "Algorithm 2, α = 30" in ran.stdout
    assert re.search(r"rates took \d+ s\.", ran.stdout)
    folder = tmp_path / "new" / "folder"
    assert sorted(path.name for path in folder.iterdir()) == sorted(NAMES)

    lines = list(csv.DictReader(io.StringIO((folder / "rates.csv").read_text())))
    assert [line["method"] for line in lines] == list(SLOWEST_FIRST)
    assert float(lines[0]["gap_500"]) > float(lines[-1]["gap_500"]) > 0
    assert lines[0]["updates_1e-06"] == ""
    points = list(csv.DictReader(io.StringIO((folder / "rates_curves.csv").read_text())))
    assert {point["method"] for point in points} == set(SLOWEST_FIRST)
    assert all(float(point["gap"]) >= FLOOR for point in points)

    page = (folder / "rates.md").read_text()
    for name in ("proved", "problems", "fitted", "measured", "order"):
        piece = page.partition(f"<!-- begin {name} -->")[2].partition(f"<!-- end {name} -->")[0]
        rows = [line for line in piece.splitlines() if line.startswith("|")]
        assert len(rows) >= 3
        assert len({line.count("|") for line in rows}) == 1
    assert ElementTree.parse(folder / "rates.svg").getroot().tag.endswith("svg")
    assert (folder / "rates.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_reproduce_from_data_to_picture(monkeypatch, tmp_path):
    """Two problems, two methods, 30 updates, nothing replaced but the size."""
    small = partial(
        rates.compute, problems=["toy", "random"], methods=["perceptron", "Algorithm 1"], steps=30
    )
    monkeypatch.setattr(rates, "compute", small)
    ran = run_command("rates", "--out", tmp_path)
    assert ran.exit_code == 0, ran.output
    assert len((tmp_path / "rates.csv").read_text().splitlines()) == 5


def test_same_table_same_files(table):
    assert rates.files(table) == rates.files(table)


def test_labels_do_not_overlap(table):
    figure = rates.draw(table)
    figure.savefig(io.BytesIO(), dpi=100)
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert len(boxes) == len(SLOWEST_FIRST)
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_labels_are_spread():
    heights = drawing.spread([0.0, -0.1, -0.2, -5.0, -5.0], distance=0.4, lowest=-5.0)
    assert np.diff(heights).max() <= -0.4 + 1e-12
    assert heights[-1] == -5.0
    assert drawing.spread([3.0, 1.0], 0.5, 0.0) == [3.0, 1.0]
    assert drawing.spread([], 0.5, 0.0) == []


def test_out_must_not_be_a_file(invoke, tmp_path):
    (tmp_path / "file").write_text("mine")
    assert invoke("rates", "--out", tmp_path / "file").exit_code == 2
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_told_before_the_work(invoke, monkeypatch, tmp_path):
    def compute(watch):
        raise AssertionError("the work began")

    monkeypatch.setattr(rates, "compute", compute)
    (tmp_path / "file").touch()
    ran = invoke("rates", "--out", tmp_path / "file" / "folder")
    assert ran.exit_code == 1
    assert "Nothing reproduced" in ran.stderr
    assert "folder" in ran.stderr
    assert "choose another one" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_files_are_all_written_or_none(tmp_path):
    (tmp_path / "b.csv").mkdir()
    (tmp_path / "a.csv").write_text("old")
    with pytest.raises(OSError, match="is a folder"):
        writing.write_files(tmp_path, {"a.csv": b"new", "b.csv": b"new"})
    assert (tmp_path / "a.csv").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "b.csv"]


def test_an_unknown_name_is_refused(invoke):
    ran = invoke("nonsense")
    assert ran.exit_code == 2
    assert "rates" in ran.stderr


def test_the_published_numbers_say_what_the_page_says():
    """The page's prose holds no numbers; these are its claims."""
    with (PUBLISHED / "rates.csv").open(encoding="utf-8") as file:
        lines = {(line["problem"], line["method"]): line for line in csv.DictReader(file)}
    assert len(lines) == len(PROBLEMS) * len(BY_NAME)

    def order(problem):
        def key(name):
            line = lines[problem, name]
            return -float(line["gap_10000"]), -int(line["updates_done"] or 0)

        return tuple(sorted(EXPECTED_ORDER, key=key))

    assert order("random") == order("mixture") == EXPECTED_ORDER
    assert order("toy") != EXPECTED_ORDER
    assert order("toy")[-1] == "accelerated mirror descent"
    proved = {"normalized gradient": 0.5, "mirror descent": 1, "accelerated mirror descent": 2}
    for problem in ("random", "mixture"):
        for name, exponent in proved.items():
            assert float(lines[problem, name]["rate"]) == pytest.approx(exponent, abs=0.1)
        assert float(lines[problem, "perceptron"]["rate"]) == pytest.approx(1, abs=0.1)
    assert lines["toy", "mirror descent"]["law"] == "linear"
    for problem in PROBLEMS:
        gap = {name: float(lines[problem, name]["gap_10000"]) for name in BY_NAME}
        assert gap["smooth perceptron"] == pytest.approx(gap["accelerated mirror descent"], rel=0.02)
        assert gap["Algorithm 2, α = 30"] <= gap["Algorithm 2, α = 3"] <= gap["Algorithm 1"]


@pytest.mark.heavy
def test_the_published_numbers_come_out_again():
    again = rates.compute()
    with (PUBLISHED / "rates.csv").open(encoding="utf-8") as file:
        for line, row in zip(csv.DictReader(file), again.rows, strict=True):
            assert (line["problem"], line["method"]) == (row.problem, row.method)
            for t, gap in row.gaps.items():
                published = float(line[f"gap_{t}"])
                assert max(gap, 1e-9) == pytest.approx(max(published, 1e-9), rel=0.02)
