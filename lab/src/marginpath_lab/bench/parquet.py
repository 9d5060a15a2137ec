"""`parquet`: what a fit on rows from parquet files takes in memory, read in batches or at once by pandas.

Every turn has a process of its own, and its peak is what counts: "above data MB" is what it takes more than
the process with all code loaded, the files written and closed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import marginpath as mp
from marginpath.extras import require

from . import data as sets
from . import peers
from .landmarks import MADE_SIGMA
from .measure import Benchmark, Contestant, Entry, Facts, Task

ROWS, QUICK_ROWS, FILES = 1_000_000, 480, 4
CACHE_MB, WANTED_MB = 2000.0, 2500.0
BATCHES, PANDAS = "marginpath, read in batches", "marginpath, read by pandas"
_TARGET, _FEW = "class", 20


@dataclass(frozen=True)
class Written:
    """Files with made rows, which are gone with this object, and rows to predict."""

    folder: TemporaryDirectory[str]
    X_test: np.ndarray
    y_test: np.ndarray


def write(n: int) -> Written:
    """Write so many rows to parquet files."""
    pd = require("pandas", extra="frame", what="Parquet files")
    folder, data = TemporaryDirectory(), sets.mixture(n)
    names = [f"x{j}" for j in range(data.X.shape[1])]
    for number, part in enumerate(np.array_split(np.arange(n), FILES)):
        table = pd.DataFrame(data.X[part], columns=names).assign(**{_TARGET: data.y[part]})
        table.to_parquet(Path(folder.name, f"part-{number}.parquet"))
    return Written(folder, data.X_test, np.asarray(data.y_test))


@dataclass(frozen=True)
class FromFiles:
    """Read the files and fit the classifier."""

    batches: bool

    def __call__(self, written: Written) -> mp.MarginPathClassifier:
        """Return the fitted classifier."""
        X, y = self._rows(written.folder.name)
        landmarks: Any = "auto" if len(y) > QUICK_ROWS else _FEW
        model = mp.MarginPathClassifier(
            gamma=peers.gamma(MADE_SIGMA), cache_size=CACHE_MB, landmarks=landmarks, random_state=0
        )
        model.fit(X, y)
        return model

    def judge(self, model: mp.MarginPathClassifier, written: Written) -> Facts:
        """Return the error and the number of landmarks."""
        error = float(np.mean(model.predict(written.X_test) != written.y_test))
        assert model.landmarks_ is not None
        return {"test error": error, "n": len(model.codes_), "landmarks": len(model.landmarks_)}

    def _rows(self, folder: str) -> tuple[Any, Any]:
        if self.batches:
            return mp.datasets.read_parquet(folder, _TARGET)[:2]
        table = require("pandas", extra="frame", what="Parquet files").read_parquet(folder)
        return table.drop(columns=_TARGET), table[_TARGET]


def tasks(quick: bool) -> Iterator[Task]:
    """Yield the one task."""
    n = QUICK_ROWS if quick else ROWS
    contestants = [
        Contestant(name, run, run.judge, write, repeats=1, isolated=True)
        for name, run in ((BATCHES, FromFiles(True)), (PANDAS, FromFiles(False)))
    ]
    yield Task(f"made rows, n = {n:,}, {FILES} files", n, QUICK_ROWS, contestants)


def conclude(entries: Sequence[Entry]) -> Facts:
    """Return the peak, beside what is wanted."""
    wanted = f"peak above the process, MB (wanted: at most {WANTED_MB:,.0f})"
    return {f"{e.contestant}: {wanted}": e.facts["above data MB"] for e in entries if e.seconds}


BENCHMARK = Benchmark("parquet", "how much memory does a fit on rows in files take?", tasks, conclude)
