"""Benchmarks: what is measured is right, whoever is missing; every one runs on reduced sizes."""

import json
import math
import os
import re
import sys
import sysconfig
import time
from types import SimpleNamespace

import numpy as np
import pytest
from marginpath_lab.bench import data as sets
from marginpath_lab.bench import machine, memory, peers
from marginpath_lab.bench.machine import describe_machine, processor
from marginpath_lab.bench.measure import Contestant, Entry, Task, measure_task
from marginpath_lab.bench.ours import Classifier, GaussianPath
from marginpath_lab.bench.report import Report, remarks, table
from marginpath_lab.bench.torchkm_path import TorchKMPath
from sklearn.metrics.pairwise import rbf_kernel

import marginpath as mp

pytestmark = pytest.mark.usefixtures("no_collection")

COLUMNS = {"runs", "seconds", "× ours", "wanted"}


class Clock:
    """A clock that stands still until someone works."""

    def __init__(self):
        self.now, self.turns = 0.0, []

    def __call__(self):
        return self.now

    def worker(self, name, *times):
        """Return what takes the given seconds in its turns, one after the other; the first warms up."""
        left = list(times)

        def work(data):
            self.turns.append(name)
            self.now += left.pop(0)
            return name

        return work


def measured(clock, *contestants, repeats=3, slack=None):
    return measure_task(Task("a task", 1, 0, contestants, slack=slack), repeats, clock=clock)


def test_ratios_are_taken_round_by_round():
    clock = Clock()
    ours, theirs, slow = measured(
        clock,
        Contestant("ours", clock.worker("ours", 50, 1, 2, 3)),
        Contestant("theirs", clock.worker("theirs", 70, 10, 10, 60)),
        Contestant("slow", clock.worker("slow", 1, 400), repeats=1),
    )
    assert ours.seconds == (1, 2, 3)
    assert ours.median == 2
    assert ours.ratio is None
    assert theirs.ratios == (10, 5, 20)
    assert theirs.ratio == 10
    assert theirs.median == 10
    assert [e.warm_up for e in (ours, theirs, slow)] == [50, 70, 1]
    assert slow.ratios == (400,)
    assert slow.note == "1 of 3 rounds"
    assert clock.turns == ["ours", "theirs", "slow"] * 2 + ["ours", "theirs"] * 2


def test_preparing_and_judging_are_outside_the_clock():
    clock = Clock()
    idle = clock.worker("prepare", 1000, 1000, 1000, 1000)

    def prepare(data):
        idle(data)
        return data + 1

    def judge(model, data):
        idle(data)
        return {"test error": data / 10}

    (entry,) = measured(clock, Contestant("ours", clock.worker("run", 5, 5), judge, prepare), repeats=1)
    assert entry.seconds == (5,)
    assert entry.facts == {"test error": 0.2}


@pytest.mark.parametrize(
    ("target", "slack", "errors", "met"),
    [
        (10, None, (0.5, 0.1), True),
        (10.5, None, (0.1, 0.1), False),
        (10, 0.01, (0.105, 0.1), True),
        (10, 0.01, (0.12, 0.1), False),
        (None, 0.01, (0.1, 0.1), None),
    ],
)
def test_a_target_wants_the_ratio_and_the_error(target, slack, errors, met):
    clock = Clock()
    ours, theirs = measured(
        clock,
        Contestant("ours", clock.worker("ours", 1, 1), lambda m, d: {"test error": errors[0]}),
        Contestant(
            "theirs", clock.worker("theirs", 1, 10), lambda m, d: {"test error": errors[1]}, target=target
        ),
        repeats=1,
        slack=slack,
    )
    assert theirs.met is met
    assert ours.met is None


def test_one_that_fails_does_not_stop_the_others():
    def broken(data):
        if data:
            raise MemoryError("no room")

    clock = Clock()
    ours, failed = measured(
        clock, Contestant("ours", clock.worker("ours", 1, 1, 1, 1)), Contestant("theirs", broken)
    )
    assert len(ours.seconds) == 3
    assert failed.failed
    assert failed.note == "failed: MemoryError: no room"
    assert failed.seconds == ()
    report = Report("name", "question?", False, 3, entries=[ours, failed])
    assert report.failed
    assert any("no room" in line for line in remarks(report))


def test_a_missing_peer_is_left_out_with_what_to_install(monkeypatch):
    for module in ("sklearnex", "sklearnex.svm", "liquidSVM", "lightgbm", "rehline"):
        monkeypatch.setitem(sys.modules, module, None)
    clock = Clock()
    entries = measured(
        clock,
        Contestant("ours", clock.worker("ours", 1, 1, 1, 1)),
        *(
            Contestant(find.__name__, pytest.fail, needs=find)
            for find in (peers.intelex_svc, peers.liquid_svm, peers.lightgbm, peers.rehline_svm)
        ),
    )
    packages = ("scikit-learn-intelex", "liquidSVM", "LightGBM", "rehline")
    for entry, package in zip(entries[1:], packages, strict=True):
        assert entry.seconds == ()
        assert not entry.failed
        assert entry.note.startswith(f"left out: Comparisons with {package} need ")
        assert 'pip install "marginpath-lab[peers]"' in entry.note


def test_liquidsvm_has_the_kernel_that_was_asked_for(rng):
    asked = sysconfig.get_config_var
    try:
        peers.liquid_svm()
    except ImportError as missing:
        pytest.skip(str(missing))
    assert sysconfig.get_config_var is asked
    assert sys.modules.get("pkg_resources", mp).__name__ != "pkg_resources" or hasattr(
        sys.modules["pkg_resources"], "resource_filename"
    )
    data = mp.datasets.gaussian_mixture()
    grid = peers.LiquidGrid((1.5,))
    model = grid(data)
    np.testing.assert_allclose(model.errTrain[:, 3], 1.5 * 2**0.5)
    assert len(np.unique(model.errTrain[:, 5])) == 10
    assert grid.judge(model, data)["test error"] < 0.25


@pytest.mark.heavy
def test_torchkm_has_the_kernel_and_the_grid_of_the_others():
    torchkm, torch = pytest.importorskip("torchkm"), pytest.importorskip("torch")
    data, path = mp.datasets.gaussian_mixture(), TorchKMPath(0.5)
    model = path(data)
    facts = path.judge(model, data)
    K = torchkm.rbf_kernel(torch.as_tensor(data.X), model.kernel_state_["sigma"])
    np.testing.assert_allclose(K.numpy(), rbf_kernel(data.X, gamma=peers.gamma(0.5)))
    assert np.isclose(facts["C"], peers.C_GRID).any()
    assert len(model.cv_mis_) == len(peers.C_GRID)
    assert 1 <= facts["C converged"] <= len(peers.C_GRID)
    svc = peers.Fit(peers.scikit_svc, {"C": facts["C"], "gamma": peers.gamma(0.5)})
    assert abs(facts["test error"] - svc.judge(svc(data), data)["test error"]) < 0.02
    few = TorchKMPath(0.5, landmarks=30)
    assert few.judge(few(data), data)["test error"] < 0.25


def test_the_commit_is_that_of_the_package(tmp_path):
    assert re.fullmatch(r"[0-9a-f]{7,}(-dirty)?|", machine.commit())
    (tmp_path / "__init__.py").touch()
    assert machine.commit(tmp_path) == ""


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system binds no threads")
def test_what_a_rival_does_to_the_cores_is_undone():
    before = os.sched_getaffinity(0)
    with peers._same_cores():
        os.sched_setaffinity(0, {min(before)})
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize(
    "path", [Classifier(2.0), GaussianPath(0.5), GaussianPath(0.5, 1), GaussianPath(0.5, 2)]
)
def test_our_test_error_is_that_of_a_tuned_svc(path, monkeypatch):
    monkeypatch.setattr(peers, "cores", lambda: 1)
    data = mp.datasets.gaussian_mixture()
    grid = peers.Grid(peers.scikit_svc, {"C": [0.1, 1.0]}, {"gamma": peers.gamma(0.5)})
    wanted = grid.judge(grid(data), data)
    facts = path.judge(path(data), data)
    assert abs(facts["test error"] - wanted["test error"]) < 0.02
    assert abs(facts["CV error"] - wanted["CV error"]) < 0.02


def test_the_classifier_says_which_width_it_chose():
    data = mp.datasets.gaussian_mixture()
    ours = Classifier("tuned")
    facts = ours.judge(ours(data), data)
    assert np.isclose(facts["sigma"], mp.default_widths(data.X)).any()
    assert facts["CV error"] < 0.25


def test_a_part_keeps_the_classes_in_proportion():
    data = mp.datasets.gaussian_mixture(n_samples=200)
    smaller = sets.part(data, 50)
    assert smaller.X.shape == (50, 2)
    assert smaller.X_test.shape == (50, 2)
    assert smaller.y.sum() == 0
    assert sets.part(data, 200) is data


def test_memory_of_a_child():
    (entry,) = measure_task(Task("array", 30_000_000, 10, [Contestant("ones", np.ones, isolated=True)]), 1)
    assert entry.note == ""
    assert 235 < entry.facts["above data MB"] < 260
    assert entry.facts["peak MB"] < 1000
    assert entry.seconds[0] > 0
    assert entry.warm_up > 0


def test_whoever_takes_too_long_is_ended():
    slow = Contestant("slow", time.sleep, prepare=math.exp, isolated=True, longest=3, target=2)
    ours, theirs = measure_task(Task("sleep", 0.2, 0.0, [Contestant("ours", time.sleep), slow]), 1)
    assert theirs.ratios == pytest.approx([3.0])
    assert (theirs.met, theirs.failed, theirs.facts) == (True, False, {})
    assert "unfinished" in theirs.note
    assert ours.note == ""


def test_an_error_in_a_child_is_told():
    (entry,) = measure_task(Task("array", -1, 1, [Contestant("ones", np.ones, isolated=True)]), 1)
    assert entry.failed
    assert "negative dimensions" in entry.note


def test_the_peak_can_be_forgotten():
    large = np.ones(20_000_000)
    peak = memory.peak_bytes()
    assert peak > large.nbytes
    del large
    memory.reset_peak()
    assert memory.peak_bytes() <= peak


def test_the_peak_on_windows(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "none")
    monkeypatch.setitem(sys.modules, "resource", None)
    process = SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=7, peak_wset=9))
    monkeypatch.setattr(memory.psutil, "Process", lambda: process)
    assert memory.peak_bytes() == 9


def test_the_machine_is_named(tmp_path):
    listing = tmp_path / "cpuinfo"
    listing.write_text("processor : 0\nmodel name\t: Abacus 9000\n")
    assert processor(listing) == "Abacus 9000"
    assert processor(tmp_path / "none")
    assert describe_machine()["cores"] >= 1


def test_the_table_and_the_file_show_the_same(tmp_path):
    entries = [
        Entry("a task", "ours", (2.0, 2.0, 2.0), 1.5, facts={"test error": 0.1}),
        Entry("a task", "theirs", (10.0, 20.0, 60.0), 1.0, (5.0, 10.0, 30.0), 8, True, {"test error": 0.2}),
        Entry("a task", "absent", note="left out: not installed"),
    ]
    report = Report("name", "question?", False, 3, entries=entries, conclusions={"exponent": 1.25})
    made = table(report)
    assert {column.header for column in made.columns} >= COLUMNS
    shown = [list(column.cells) for column in made.columns]
    assert shown[0][1:] == ["  ours", "  theirs"]
    assert shown[3][2] == "10 (5 to 30)"
    assert shown[4][2] == "≥ 8 met"
    lines = remarks(report)
    assert lines[0] == "exponent: 1.25"
    assert "absent (a task) left out: not installed" in lines
    record = json.loads(report.write(tmp_path / "new").read_text("utf-8"))
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == ["name.json", "name.md"]
    page = (tmp_path / "new" / "name.md").read_text("utf-8").splitlines()
    assert page[2:5] == [
        "| **a task** | | | | | |",
        "| ours | 3 | 2 |  |  | 0.1 |",
        "| theirs | 3 | 20 | 10 (5 to 30) | ≥ 8 met | 0.2 |",
    ]
    assert record["entries"][1]["ratio"] == {"median": 10.0, "lowest": 5.0, "highest": 30.0}
    assert record["entries"][1]["target_met"] is True
    assert record["conclusions"] == {"exponent": 1.25}
    assert {"processor", "cores", "date"} <= set(record["machine"])
    assert record["versions"]["marginpath"] == mp.__version__


def test_no_classifier_is_better_than_the_bayes_error_of_the_mixture():
    data = sets.mixture(500)
    model = mp.MarginPathClassifier(gamma=1 / 32, random_state=0).fit(data.X, data.y)
    least = sets.mixture_error(data.X_test)
    assert least + 0.02 < 1 - model.score(data.X_test, data.y_test) < least + 0.2
