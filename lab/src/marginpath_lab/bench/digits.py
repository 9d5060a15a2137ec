"""`digits`: all of MNIST, ten classes and 60,000 rows, from the rows to a classifier with nothing to set.

Ours chooses width and regularization by a tenth of the rows, held out, on the exact kernel: its matrix has
14.4 GB in float32, so that it needs a machine with 20 GB free. Beside it the same by landmarks, where 4 GB
are all there is. The rival has one fit, and is told width and C. Each has a process of its own, and is a task
of its own (``--only landmarks``): where others use the machine, compare processor times, "CPU s".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import marginpath as mp
from marginpath import datasets
from marginpath.datasets import Dataset

from . import data as sets
from . import peers
from .measure import Benchmark, Contestant, Entry, Facts, Task

OURS, FEW = "marginpath, exact kernel", "marginpath, landmarks in 4 GB"
THEIRS = {"intelex SVC, one fit": peers.intelex_svc}
#: Megabytes for the matrix of 60,000 rows, and for landmarks; a rival may keep as many rows as it likes.
CACHE_MB, LANDMARKS_MB, RIVAL_MB = 15_500.0, 4_000.0, 4_000.0
#: What a rival is told: near what ours chooses.
SIGMA, BEST_C = 4.4, 10.0
SMALL, QUICK = 600, 900
_SECONDS, _ERROR = 300, 0.016


def load(n: int) -> Dataset:
    """Read n rows of MNIST."""
    return sets.part(datasets.load_mnist(), n)


@dataclass(frozen=True)
class Ours:
    """Fit the classifier, its width chosen too, with so much memory for kernel values."""

    cache_mb: float

    def __call__(self, data: Dataset) -> mp.MarginPathClassifier:
        """Return the fitted classifier."""
        clf = mp.MarginPathClassifier(
            gamma="tuned", stopping="holdout", cache_size=self.cache_mb, random_state=0
        )
        clf.fit(data.X, data.y)
        return clf

    def judge(self, clf: mp.MarginPathClassifier, data: Dataset) -> Facts:
        """Return the errors, and what was chosen."""
        assert clf.gamma_ is not None
        return {
            "test error": _error(clf, data),
            "held-out error": 1 - float(clf.cv_results_["mean_test_score"][clf.step_ - 1]),
            "C": float(clf.C_),
            "sigma": (2 * clf.gamma_) ** -0.5,
            "steps": int(clf.n_iter_),
            "classes": str(clf.multi_class_),
            "landmarks": 0 if clf.landmarks_ is None else len(clf.landmarks_),
        }


@dataclass(frozen=True)
class Theirs:
    """One fit of a rival that knows its width and C."""

    name: str

    def __call__(self, data: Dataset) -> Any:
        """Return the fitted rival."""
        settings = {"C": BEST_C, "gamma": peers.gamma(SIGMA), "cache_size": RIVAL_MB}
        return peers.Fit(THEIRS[self.name], settings)(data)

    def judge(self, model: Any, data: Dataset) -> Facts:
        """Return the error, and what it was told."""
        return {"test error": _error(model, data), "C": BEST_C, "sigma": SIGMA}


def _error(model: Any, data: Dataset) -> float:
    return float(np.mean(model.predict(data.X_test) != data.y_test))


def tasks(quick: bool) -> Iterator[Task]:
    """Yield a task for each, of few rows where quick: one at a time has so much memory."""
    n = QUICK if quick else 60_000
    players: dict[str, Ours | Theirs] = {OURS: Ours(CACHE_MB), FEW: Ours(LANDMARKS_MB)}
    for name, run in (players | {name: Theirs(name) for name in THEIRS}).items():
        needs = THEIRS.get(name, tuple)
        contestant = Contestant(name, run, run.judge, load, needs=needs, isolated=True)
        yield Task(f"MNIST, ten classes, n = {n:,}: {name}", n, SMALL, [contestant])


def conclude(entries: Sequence[Entry]) -> Facts:
    """Return whether time and error are what is wanted."""
    facts: dict[str, float | str] = {}
    for entry in entries:
        if entry.contestant in (OURS, FEW) and entry.median:
            facts[f"{entry.contestant}: seconds (wanted: at most {_SECONDS})"] = entry.median
            facts[f"{entry.contestant}: error (wanted: at most {_ERROR})"] = entry.facts["test error"]
    return facts


BENCHMARK = Benchmark(
    "digits", "how long to tune ten classes of 60,000 rows, and how many are wrong?", tasks, conclude
)
