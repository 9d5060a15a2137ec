"""The benchmark of accuracy: paired differences, conclusions, and going on after an interruption."""

import numpy as np
import pytest
from marginpath_lab import bench
from marginpath_lab.bench import accuracy, accuracy_tuned, data
from marginpath_lab.bench.accuracy import BOOSTED, OURS, THEIRS, Player, conclude, flipped
from marginpath_lab.bench.measure import Benchmark, Contestant, Entry, Task, measure_task

from marginpath.datasets import Dataset


@pytest.fixture(autouse=True)
def _no_collection(monkeypatch):
    """Collecting garbage before every turn takes longer than the turns of these tests."""
    monkeypatch.setattr("gc.collect", lambda *generation: 0)


class Right:
    """A model that is right about the given share of four samples."""

    step_, C_, best_params_ = 3, 2.0, {"C": 1.0}

    def __init__(self, share):
        self.share = share

    def score(self, X, y):
        return self.share


def rounds(shares):
    """Return what fits the next of these models; the first warms up."""
    left = list(shares)
    return lambda data: Right(left.pop(0))


def test_differences_are_taken_draw_by_draw():
    ours = Player(rounds([0.0, 0.9, 0.8, 0.7]))
    theirs = Player(rounds([1.0, 0.8, 0.8, 0.5]), ours)
    pair = {"a": ours, "b": theirs}
    contestants = [Contestant(n, p.run, p.judge, prepare=p.prepare) for n, p in pair.items()]
    turns = []

    def draw(turn):
        turns.append(turn)
        return [Dataset("", None, None, None, None, ())]

    first, second = measure_task(Task("a set", draw, draw, contestants), 3)
    assert turns == [0, 0, 1, 1, 2, 2, 3, 3]
    assert first.facts == pytest.approx({"accuracy %": 80, "C": 2, "step": 3})
    assert second.facts["accuracy %"] == pytest.approx(70)
    assert second.facts["ours − theirs"] == pytest.approx(10)
    assert second.facts["±"] == pytest.approx(10 / 3**0.5, abs=1e-3)


@pytest.mark.parametrize("name", BOOSTED)
def test_boosting_has_lines_of_its_own(name):
    beside = [
        Entry("a set", BOOSTED[name], (9.0,), ratios=(9.0,), facts={"ours − theirs": 2.0, "±": 0.1}),
        Entry("another", BOOSTED[name], (9.0,), ratios=(5.0,), facts={"ours − theirs": -1.5, "±": 0.1}),
    ]
    facts = conclude([*entries("a set", 1.0, 0.1, 3), *beside])
    assert facts["mean of ours − theirs in points (wanted: at least −0.2)"] == 1.0
    assert {line.partition(": ")[2]: fact for line, fact in facts.items() if line.startswith(name)} == {
        "mean of ours − theirs in points": 0.25,
        "better by a point and more": "another: -1.5",
        "median of its time over ours": 7.0,
    }
    without = conclude([*entries("a set", 1.0, 0.1, 3)])
    assert not any(line.startswith(tuple(BOOSTED)) for line in without)


def entries(task, difference, error, step):
    yield Entry(task, OURS, (1.0,), facts={"step": step})
    yield Entry(task, THEIRS, (4.0,), ratios=(4.0,), facts={"ours − theirs": difference, "±": error})


def test_conclusions_from_known_differences():
    rows = [
        *entries("iris", 0.5, 0.1, 9),
        *entries("wine", -1.5, 0.4, 9),
        *entries("digits", -1.3, 0.4, 9),
        *entries(flipped("moons", 0.0), 0.0, 0.1, 12),
        *entries(flipped("moons", 0.1), -0.2, 0.1, 8),
        *entries(flipped("moons", 0.2), -0.5, 0.1, 6),
        *(
            row
            for share, step in ((0.0, 10), (0.1, 4), (0.2, 5))
            for row in entries(flipped("blobs", share), 0, 0, step)
        ),
        Entry("absent", THEIRS, note="left out: not installed"),
    ]
    found = conclude(rows)
    assert found["sets"] == 9
    assert found["mean of ours − theirs in points (wanted: at least −0.2)"] == pytest.approx(-3 / 9)
    assert found["worst set"] == "wine: -1.50 ± 0.40"
    assert found["sets worse than −1 point beyond the standard error (wanted: 0)"] == 1
    assert found["median of the time of a tuned SVC over ours"] == 4
    assert found["mean of ours − theirs at 20% flipped (wanted: at least −0.2)"] == -0.25
    (steps,) = [
        text for name, text in found.items() if name.startswith("median step at 0%, 10%, 20% flipped")
    ]
    assert steps == "moons 12, 8, 6; blobs 10, 4, 5; mean of them 11, 6, 5.5"
    assert conclude([]) == {}


@pytest.mark.parametrize("name", accuracy.SYNTHETIC)
def test_only_training_labels_are_flipped(name):
    clean, noisy = (accuracy._synthetic(accuracy.SYNTHETIC[name], 3, share, 100) for share in (0.0, 0.2))
    assert np.array_equal(clean.X, noisy.X)
    assert np.sum(clean.y != noisy.y) == 20
    assert np.array_equal(clean.y_test, noisy.y_test)
    assert set(noisy.y) <= set(clean.y)
    other = accuracy._synthetic(accuracy.SYNTHETIC[name], 4, 0.2, 100)
    assert not np.array_equal(noisy.X, other.X)


def test_splits_are_disjoint_and_differ():
    load = accuracy.REAL["iris"]
    first, second = (accuracy.split(load, seed, 50) for seed in (0, 1))
    assert first.X.shape == (50, 4)
    assert np.allclose(first.X.mean(axis=0), 0)
    assert not np.array_equal(first.X, second.X)
    assert len(first.y_test) == 75


def test_an_interrupted_benchmark_goes_on(tmp_path, monkeypatch):
    ran = []

    def tasks(quick):
        for name in ("first", "second"):
            yield Task(name, name, name, [Contestant("ours", lambda data: ran.append(data))])
            if name == "first" and len(ran) < 4:
                raise KeyboardInterrupt

    monkeypatch.setattr(bench, "find", lambda name: Benchmark(name, "question?", tasks))
    with pytest.raises(KeyboardInterrupt):
        bench.run("a-name", quick=True, out=tmp_path)
    ran += ["", ""]
    report = bench.run("a-name", quick=True, out=tmp_path)
    assert ran == ["first", "first", "", "", "second", "second"]  # each warms up and takes a turn
    assert [entry.task for entry in report.entries] == ["first", "second"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a-name-quick.json", "a-name-quick.md"]


def test_parts_of_a_benchmark_are_measured_apart_and_put_together(tmp_path, monkeypatch):
    ran = []

    def tasks(quick):
        for name in ("n = 500", "n = 5,000", "Iris"):
            yield Task(name, name, name, [Contestant("ours", lambda data: ran.append(data))])

    monkeypatch.setattr(bench, "find", lambda name: Benchmark(name, "question?", tasks))
    settings = {"quick": True, "out": tmp_path}
    assert [entry.task for entry in bench.run("a-name", only="iris", **settings).entries] == ["Iris"]
    bench.run("a-name", only="n = 500", **settings)
    assert ran == ["Iris"] * 2 + ["n = 500"] * 2  # each warms up and takes a turn
    assert not list(tmp_path.glob("*.json"))
    whole = bench.run("a-name", **settings)
    assert ran[4:] == ["n = 5,000"] * 2
    assert [entry.task for entry in whole.entries] == ["n = 500", "n = 5,000", "Iris"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a-name-quick.json", "a-name-quick.md"]
    with pytest.raises(bench.NoTask, match="has 'wine' in its name; there are n = 500, n = 5,000, Iris"):
        bench.run("a-name", only="wine", **settings)


def test_tables_are_read_where_they_are(tmp_path, monkeypatch):
    monkeypatch.setenv("MARGINPATH_DATA", str(tmp_path))
    assert accuracy.tables() == []
    with pytest.raises(
        FileNotFoundError, match=r"vehicle is read from more/vehicle\.npz, with the arrays X and y"
    ):
        data.table("vehicle")
    (tmp_path / "more").mkdir()
    np.savez(tmp_path / "more" / "vehicle.npz", X=np.eye(40), y=np.arange(40) % 4)
    assert accuracy.tables() == ["vehicle"]
    names = [task.name for task in accuracy.tasks(quick=False)]
    assert "vehicle" in names
    drawn = accuracy.split(lambda: data.table("vehicle"), 0, size=1200)
    assert drawn.X.shape == drawn.X_test.shape == (20, 40)
    assert [task.name for task in accuracy_tuned.tasks(quick=False)][-1] == "vehicle"


def test_several_classes_have_a_line_of_their_own():
    lines = conclude([*entries("vehicle", -0.5, 0.1, 3), *entries("iris", 0.7, 0.1, 3)])
    assert lines["mean of the tables with several classes (wanted: at least 0)"] == pytest.approx(-0.5)


def test_the_tuned_svc_is_concluded_about():
    rows = [
        Entry("a", accuracy_tuned.THEIRS, (4.0,), ratios=(r,), facts={"ours − theirs": d, "±": 0.1})
        for d, r in ((0.2, 10.0), (0.4, 30.0))
    ]
    lines = list(accuracy_tuned.conclude(rows).values())
    assert lines == [2, pytest.approx(0.3), 20.0]
    many = Entry(accuracy_tuned.MANY, accuracy_tuned.THEIRS, (4.0,), ratios=(60.0,), facts=rows[0].facts)
    assert list(accuracy_tuned.conclude([*rows, many]).values()) == [3, pytest.approx(0.8 / 3), 20.0, 60.0]
    one = Entry("a", accuracy_tuned.ONE, (2.0,), ratios=(0.5,), facts={"ours − theirs": 0.4, "±": 0.1})
    assert list(accuracy_tuned.conclude([*rows, one]).values())[3:] == [0.4, 2.0]
    assert accuracy_tuned.conclude([]) == {}
