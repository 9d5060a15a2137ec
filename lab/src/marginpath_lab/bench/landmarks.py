"""`landmarks`: kernels beyond the memory for their matrix, tuned in five folds, features included.

Ours is the classifier with a cache that the kernel matrix does not fit into, in a process of its own; beside
it the same with a given number of landmarks, and the exact path, which computes kernel values when needed.
The rivals have as many landmarks as the second, drawn uniformly; TorchKM, where it is installed, has a width
of its own, as its landmarks take no other. Whoever takes many times as long as we do is ended. A million rows
we have alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import marginpath as mp
from marginpath.datasets import Dataset

from . import data as sets
from . import peers
from .measure import Benchmark, Contestant, Entry, Facts, Task
from .ours import tuned_facts
from .scaling import SETS, exponent
from .torchkm_path import TorchKMPath, torchkm_svc

CACHE_MB = 4000.0
LANDMARKS, QUICK_LANDMARKS = 1000, 40
MADE, MADE_SIGMA = "made rows", 4.0
MADE_SIZES, QUICK_MADE_SIZES = (100_000, 1_000_000), (240, 480)
OURS, EXACT = "marginpath", "marginpath, exact kernel"
SVC, SGD = "Nystroem, LinearSVC, 7 C", "Nystroem, SGDClassifier, 7 α"
TORCHKM = "TorchKM by landmarks, its own width, 13 C"
_TO_ITS_END = "ijcnn1"  # the exact path; the rivals' quick runs have this set alone
_WHOLE = 100_000  # rows of all the sets that are not made; more than there are
_TOO_SMALL = 0.9  # of a kernel matrix, the cache at sizes where 4 GB would hold it


@dataclass(frozen=True)
class Sample:
    """A recipe, light enough to be sent to another process: n rows of a set."""

    name: str
    n: int

    @property
    def sigma(self) -> float:
        """Width of the kernel."""
        return MADE_SIGMA if self.name == MADE else SETS[self.name][1]


def load(sample: Sample) -> Dataset:
    """Read or make the rows."""
    if sample.name == MADE:
        return sets.mixture(sample.n)
    data = SETS[sample.name][0]()
    return sets.part(data if data.X_test is not None else sets.held_out(data), sample.n)


def cache_mb(n: int) -> float:
    """Return a cache that the kernel matrix of n rows in float32 does not fit into.

    Examples
    --------
    >>> round(cache_mb(1000), 3), cache_mb(100_000)
    (3.6, 4000.0)
    """
    return min(CACHE_MB, _TOO_SMALL * 4e-6 * n**2)


@dataclass(frozen=True)
class Landmarks:
    """Fit the classifier with so many landmarks; "auto" chooses their number, None takes none."""

    sigma: float
    landmarks: int | str | None

    def __call__(self, data: Dataset) -> mp.MarginPathClassifier:
        """Return the fitted classifier."""
        n = len(data.y)
        count = min(self.landmarks, n) if isinstance(self.landmarks, int) else self.landmarks
        model = mp.MarginPathClassifier(
            gamma=peers.gamma(self.sigma), cache_size=cache_mb(n), landmarks=count, random_state=0
        )
        model.fit(data.X, data.y)
        return model

    def judge(self, model: mp.MarginPathClassifier, data: Dataset) -> Facts:
        """Return errors, landmarks and what they lack."""
        facts = {"n": len(data.y), **tuned_facts(model, data), **_least_error(data)}
        if model.landmarks_ is None:
            return facts
        return {**facts, "landmarks": len(model.landmarks_), "trace error": model.trace_error_}


def _least_error(data: Dataset) -> Facts:
    return {"Bayes error": sets.mixture_error(data.X_test)} if data.name == MADE else {}


def tasks(quick: bool) -> Iterator[Task]:
    """Yield MNIST and ijcnn1 beside the exact path and the rivals, made rows beside these, and many alone."""
    count = QUICK_LANDMARKS if quick else LANDMARKS
    for name in reversed(SETS):
        sample = Sample(name, sets.QUICK if quick else _WHOLE)
        yield _task(sample, [*_ours(sample, count), _exact(sample), *_rivals(sample, count, quick)])
    smaller, larger = (Sample(MADE, n) for n in (QUICK_MADE_SIZES if quick else MADE_SIZES))
    yield _task(smaller, [*_ours(smaller, count), *_rivals(smaller, count, quick)])
    yield _task(larger, _ours(larger, count)[:1])


def _task(sample: Sample, contestants: list[Contestant]) -> Task:
    n = f", n = {sample.n:,}" if sample.name == MADE else ""
    name = f"{sample.name}{n}, σ = {sample.sigma}"
    return Task(name, sample, Sample(sample.name, sets.SMALL), contestants, slack=0.002)


def _ours(sample: Sample, count: int) -> list[Contestant]:
    chosen, fixed = Landmarks(sample.sigma, "auto"), Landmarks(sample.sigma, count)
    return [
        Contestant(OURS, chosen, chosen.judge, load, isolated=True),
        Contestant(_fixed(count), fixed, fixed.judge, load, isolated=True),
    ]


def _fixed(count: float) -> str:
    return f"marginpath, {count:,.0f} landmarks"


def _exact(sample: Sample) -> Contestant:
    run, longest = Landmarks(sample.sigma, None), 12 if sample.name == _TO_ITS_END else 6
    return Contestant(EXACT, run, run.judge, load, repeats=1, isolated=True, longest=longest)


def _rivals(sample: Sample, count: int, quick: bool) -> list[Contestant]:
    """Return those that search on features, TorchKM, and gradient boosting for orientation."""
    if quick and sample.name != _TO_ITS_END:
        return []
    svc = peers.NystroemGrid(
        peers.linear_svc,
        {"C": peers.LINEAR_C_GRID},
        {"loss": "hinge", "random_state": 0},
        sample.sigma,
        count,
    )
    sgd = peers.NystroemGrid(
        peers.stochastic, {"alpha": peers.ALPHA_GRID}, {"random_state": 0}, sample.sigma, count
    )
    settings = {**peers.BOOSTING, **({"max_iter": 5} if quick else {})}
    trees = peers.Grid(peers.boosting, peers.BOOSTING_GRID, settings)
    torchkm = TorchKMPath(sample.sigma, landmarks=count)
    once: dict[str, Any] = {"repeats": 1, "isolated": True}
    return [
        Contestant(SVC, svc, svc.judge, load, target=10, longest=11, **once),
        Contestant(SGD, sgd, sgd.judge, load, target=1, longest=5, **once),
        Contestant(TORCHKM, torchkm, torchkm.judge, load, target=1, longest=11, needs=torchkm_svc, **once),
        Contestant("HistGradientBoosting, 3 rates", trees, trees.judge, load, longest=5, **once),
    ]


def conclude(entries: Sequence[Entry]) -> Facts:
    """Return what the exact path and the rivals need of our time, and how time and memory grow with n."""
    facts: dict[str, float | str] = {}
    by_task: dict[str, dict[str, Entry]] = {}
    for entry in entries:
        if entry.median:
            by_task.setdefault(entry.task, {})[entry.contestant] = entry
    for task, rows in by_task.items():
        facts |= _beside(task, rows)
    made = [rows for rows in by_task.values() if OURS in rows and "Bayes error" in rows[OURS].facts]
    return {**facts, **_growth(made)}


def _beside(task: str, rows: dict[str, Entry]) -> Facts:
    """Compare ours with the exact path, and with the rival on as many landmarks."""
    facts: dict[str, float | str] = {}
    if {OURS, EXACT} <= rows.keys():
        if "test error" in rows[EXACT].facts:  # it came to an end
            for where, name in (("", "test error"), (", in cross-validation", "CV error")):
                above = _fact(rows[OURS], name) - _fact(rows[EXACT], name)
                facts[f"{task}: error above that of the exact kernel{where} (wanted: at most 0.002)"] = above
        share = _seconds(rows[OURS]) / _seconds(rows[EXACT])
        facts[f"{task}: time over that of the exact kernel (wanted: at most 0.2)"] = share
    same = next((name for name in rows if name.endswith(" landmarks")), "")
    if {SVC, same} <= rows.keys():
        ratio = _seconds(rows[SVC]) / _seconds(rows[same])
        facts[f"{task}: LinearSVC over ours on as many landmarks (wanted: at least 10)"] = ratio
    return facts


def _growth(made: Sequence[dict[str, Entry]]) -> Facts:
    """Return time and memory of the most rows, and the exponents of time in n."""
    if not made:
        return {}
    last = made[-1][OURS]
    facts: dict[str, float | str] = {
        f"seconds of {_fact(last, 'n'):,.0f} made rows (wanted: at most 180)": _seconds(last),
        f"peak above the data, MB (wanted: at most {CACHE_MB:,.0f})": _fact(last, "above data MB"),
    }
    for name in made[-1]:
        rows = [each[name] for each in made if name in each]
        if len(rows) > 1:
            n, seconds = (np.array([f(row) for row in rows]) for f in (_size, _seconds))
            facts[f"exponent, {name} (wanted: at most 1.1)"] = exponent(n, seconds)
    return facts


def _fact(entry: Entry, name: str) -> float:
    return float(entry.facts[name])


def _size(entry: Entry) -> float:
    return _fact(entry, "n")


def _seconds(entry: Entry) -> float:
    assert entry.median is not None
    return entry.median


BENCHMARK = Benchmark(
    "landmarks", "how long to tune a kernel classifier whose matrix does not fit?", tasks, conclude
)
