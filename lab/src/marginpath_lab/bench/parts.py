"""`parts`: where the time of a whole path goes, and what the machine would need for the same work.

The parts of the path are timed alone, beside plain passes of the same size: the matrix product of the samples
in BLAS, which the kernel matrix has in bytes, a first write and a read of as much memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import marginpath as mp
from marginpath.arrays import blocks
from marginpath.datasets import Dataset
from marginpath.gram.filling import without_zeros
from marginpath.parallel import for_each
from marginpath.validation.columns import class_signs
from marginpath.validation.cross_validation import DEFAULT_SOLVER

from . import data as sets
from .measure import Benchmark, Contestant, Entry, Facts, Task
from .ours import GaussianPath

SIGMA, FOLDS = 3.4, 5
OPERATIONS, BYTES = "10⁹ operations", "GB"


class Ready(NamedTuple):
    """The kernel matrix of the samples, there before the clock starts, and their labels."""

    gram: mp.Gram
    y: np.ndarray


def tasks(quick: bool) -> Iterator[Task]:
    """Yield MNIST 3 vs 5."""
    whole = sets.mnist(3, 5)
    data, ours = sets.sized(whole, quick), GaussianPath(SIGMA)
    n, used = without_zeros(data.X).shape
    product, matrix = {OPERATIONS: n * n * used / 1e9}, {BYTES: 4e-9 * n * n}

    def part(name: str, run: Callable[[Any], Any], facts: Facts) -> Contestant:
        return Contestant(name, run, lambda model, data: facts)

    def of_matrix(name: str, run: Callable[[Ready], Any], facts: Facts) -> Contestant:
        return replace(part(name, run, facts), prepare=_ready)

    contestants = [
        Contestant("whole path × 5 folds", ours, ours.judge),
        part("the kernel matrix", _ready, {**product, **matrix}),
        part("— its product in float32, every pair once", _product, product),
        part("— a first write of its memory", lambda data: np.full((n, n), 1, np.float32), matrix),
        of_matrix("the path, matrix ready", _path, {}),
        of_matrix("— its first product, 6 columns", _first_product, matrix),
        of_matrix("— one read of the matrix", lambda ready: ready.gram @ ready.y, matrix),
        of_matrix("the maximum margin, matrix ready", _maximum_margin, {}),
    ]
    yield Task(sets.title(data, f", σ = {SIGMA}"), data, sets.part(whole, sets.SMALL), contestants)


def _ready(data: Dataset) -> Ready:
    gram = mp.Gram.from_kernel(data.X, mp.Gaussian(SIGMA))
    return Ready(gram, data.y.astype(gram.dtype))


def _product(data: Dataset) -> None:
    """Multiply every pair of blocks of samples once; the results are dropped."""
    X = without_zeros(data.X)
    pairs = ((X[a:b], X[a + c : a + e]) for a, b in blocks(len(X), 384) for c, e in blocks(len(X) - a, 768))
    for_each(lambda pair: pair[0] @ pair[1].T, pairs, parallel=True)


def _path(ready: Ready) -> Any:
    return mp.cross_validate_path(None, ready.gram, ready.y, cv=FOLDS)


def _first_product(ready: Ready) -> Any:
    """Start a path: K times the labels of every column, in float64."""
    signs = np.repeat(class_signs((ready.y > 0).astype(int), 2), FOLDS + 1, axis=1)
    return DEFAULT_SOLVER.init(mp.Problem(ready.gram, signs))


def _maximum_margin(ready: Ready) -> Any:
    return mp.maximum_margin(mp.Problem(ready.gram, ready.y), tol=1e-6)


def conclude(entries: Sequence[Entry]) -> Facts:
    """Return the rates of all parts that know their work."""
    rates: dict[str, float | str] = {}
    for entry in entries:
        for work, unit in ((OPERATIONS, "10⁹ operations a second"), (BYTES, "GB a second")):
            if work in entry.facts and entry.median:
                rates[f"{entry.contestant.lstrip('— ')}, {unit}"] = float(entry.facts[work]) / entry.median
    return rates


BENCHMARK = Benchmark("parts", "where does the time of a whole path go?", tasks, conclude)
