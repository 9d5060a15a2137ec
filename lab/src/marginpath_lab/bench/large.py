"""`large`: tens of thousands of rows, and 26 classes: the regularization chosen by 5-fold cross-validation.

Ours: the classifier with its default settings, on the exact kernel. Theirs: GridSearchCV over 13 values of C,
with the same kernel; whoever takes ten times as long as we do is ended. Before every turn, as much memory as
a matrix takes is written and freed by the process that takes it. Shuttle is one of the sets where the folder
of MARGINPATH_DATA has more/shuttle.npz, such as that of the R package mlbench.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import marginpath as mp
from marginpath import datasets
from marginpath.datasets import Dataset
from marginpath.datasets.downloads import own_file

from . import data as sets
from . import peers
from .measure import Benchmark, Contestant, Entry, Facts, Task
from .ours import tuned_facts

OURS = "marginpath"
#: Training rows of the tables, and the seconds that are wanted at most, of a9a too.
ROWS = {"letter": 15_000, "shuttle": 43_500}
SECONDS = {"letter": 40, "shuttle": 20, "a9a": 40}
_LONGEST = 10.0  # times ours
_BESIDE = 2**30  # bytes that a fit takes beside its matrix, about


def tasks(quick: bool) -> Iterator[Task]:
    """Yield the tables, and a9a."""
    for name, rows in ROWS.items():
        if own_file(f"more/{name}.npz") is not None:
            yield _task(scaled(sets.table(name), rows), quick)
    adult = datasets.load_a9a()
    X, X_test = (part.toarray().astype(np.float32) for part in (adult.X, adult.X_test))
    yield _task(replace(adult, X=X, X_test=X_test), quick)


def scaled(table: Dataset, rows: int) -> Dataset:
    """Return so many training rows, every class in proportion, and the others to test; columns are scaled."""
    share = min(rows, int(0.9 * len(table.y)))
    parts = train_test_split(table.X, table.y, train_size=share, random_state=0, stratify=table.y)
    scaler = StandardScaler().fit(parts[0])
    X, X_test = (scaler.transform(part).astype(np.float32) for part in parts[:2])
    return replace(table, X=X, X_test=X_test, y=parts[2], y_test=parts[3])


@dataclass(frozen=True)
class Ours:
    """Fit the classifier as it comes, with room for the whole matrix."""

    def __call__(self, data: Dataset) -> mp.MarginPathClassifier:
        """Return the fitted classifier."""
        classifier = mp.MarginPathClassifier(landmarks=None, random_state=0)
        classifier.fit(data.X, data.y)
        return classifier

    def judge(self, model: mp.MarginPathClassifier, data: Dataset) -> Facts:
        """Return the test error, and what was chosen."""
        return tuned_facts(model, data)


def _task(whole: Dataset, quick: bool) -> Task:
    data, grid = sets.sized(whole, quick), {"C": peers.C_GRID}
    ours = Ours()
    contestants = [Contestant(OURS, ours, ours.judge, isolated=True)]
    for name, find in (("SVC, 13 C", peers.scikit_svc), ("intelex SVC, 13 C", peers.intelex_svc)):
        search = peers.Grid(find, grid, {"cache_size": peers.CACHE_MB})
        contestants.append(
            Contestant(
                name, search, search.judge, needs=find, repeats=1, target=1, isolated=True, longest=_LONGEST
            )
        )
    classes = f", {len(np.unique(data.y))} classes" if len(np.unique(data.y)) > 2 else ""
    small, title = sets.part(whole, sets.SMALL), sets.title(data, classes)
    return Task(title, data, small, contestants, slack=0.001, memory=4 * len(data.y) ** 2 + _BESIDE)


def conclude(entries: Sequence[Entry]) -> Facts:
    """Return our seconds, beside what is wanted."""
    return {
        f"{entry.task}: seconds (wanted: at most {SECONDS[entry.task.split(',')[0]]})": entry.median
        for entry in entries
        if entry.contestant == OURS and entry.median
    }


BENCHMARK = Benchmark("large", "how long do tens of thousands of rows take, and 26 classes?", tasks, conclude)
