"""`scaling`: time and memory of a whole cross-validated path as the number of samples grows.

Every size runs in a process of its own. The kernel matrix is stored up to 20,000 samples and tiled above,
with a cache of rows of `CACHE_BYTES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import marginpath as mp
from marginpath.datasets import Dataset
from marginpath.validation.cross_validation import CrossValidatedPath

from . import data as sets
from .measure import Benchmark, Contestant, Entry, Facts, Task

SIZES, QUICK_SIZES = (1000, 2000, 5000, 10_000, 20_000, 50_000), (150, 300)
CACHE_BYTES = 4 * 10**9  # what a classifier takes by default
#: Loader and width, by name.
SETS: dict[str, tuple[Callable[[], Dataset], float]] = {
    "ijcnn1": (sets.ijcnn1, 0.5),
    "MNIST odd vs even": (sets.parity, 3.4),
}


@dataclass(frozen=True)
class Sample:
    """A recipe, light enough to be sent to another process: n samples of a set, stored or tiled."""

    name: str
    n: int
    stored: bool


@dataclass(frozen=True)
class Loaded:
    """The samples themselves."""

    data: Dataset
    sigma: float
    stored: bool


def load(sample: Sample) -> Loaded:
    """Read the data of a recipe."""
    loader, sigma = SETS[sample.name]
    return Loaded(sets.part(loader(), sample.n), sigma, sample.stored)


def whole_path(loaded: Loaded) -> CrossValidatedPath:
    """Run the path of all folds and all the data, kernel included."""
    X, kernel = loaded.data.X, mp.Gaussian(loaded.sigma)
    gram: mp.Gram = (
        mp.Gram.from_kernel(X, kernel) if loaded.stored else mp.TiledGram(X, kernel, cache_bytes=CACHE_BYTES)
    )
    return mp.cross_validate_path(None, gram, loaded.data.y)


def judge(found: CrossValidatedPath, loaded: Loaded) -> Facts:
    """Return size, storage and result."""
    return {
        "n": len(loaded.data.y),
        "Gram": "stored" if loaded.stored else "tiled",
        "steps": int(found.path.last.t),
        "CV error": 1 - found.best_score,
    }


def tasks(quick: bool) -> Iterator[Task]:
    """Yield every size of ijcnn1 and of MNIST."""
    sizes, limit = (QUICK_SIZES, 200) if quick else (SIZES, 20_000)
    for name in SETS:
        for n in sizes:
            sample, small = (Sample(name, size, n <= limit) for size in (n, min(sets.SMALL, n)))
            repeats = None if n <= limit else 1
            ours = Contestant("marginpath", whole_path, judge, load, repeats=repeats, isolated=True)
            yield Task(name, sample, small, [ours])


def conclude(entries: Sequence[Entry]) -> Facts:
    """Fit time ∝ n^exponent, over all sizes of a set and the last two; find the largest tiled peak."""
    found: dict[str, float | str] = {}
    for name in dict.fromkeys(entry.task for entry in entries):
        rows = [entry for entry in entries if entry.task == name and entry.median]
        n = np.array([float(entry.facts["n"]) for entry in rows])
        seconds = np.array([float(entry.median or 0) for entry in rows])
        if len(rows) > 1:
            found[f"exponent, {name} (wanted: at most 2)"] = exponent(n, seconds)
            found[f"exponent, {name}, the last two sizes"] = exponent(n[-2:], seconds[-2:])
    tiled = [float(entry.facts["above data MB"]) for entry in entries if entry.facts.get("Gram") == "tiled"]
    if tiled:
        limit = round(CACHE_BYTES / 1e6 + 500)
        found[f"largest peak of a tiled Gram above the data, MB (wanted: at most {limit:,})"] = max(tiled)
    return found


def exponent(n: np.ndarray, seconds: np.ndarray) -> float:
    """Return the slope of log seconds over log n.

    Examples
    --------
    >>> round(exponent(np.array([1e3, 1e4]), np.array([1.0, 100.0])), 6)
    2.0
    """
    return float(np.polyfit(np.log(n), np.log(seconds), 1)[0])


BENCHMARK = Benchmark("scaling", "how do time and memory of a whole path grow with n?", tasks, conclude)
