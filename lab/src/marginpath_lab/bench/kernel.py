"""`kernel`: a Gaussian kernel matrix against the one product that no way of computing it can do without.

The product is X Zᵀ of two different arrays of the same shape, so that NumPy does not use the symmetry.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import marginpath as mp
from marginpath import datasets
from marginpath.datasets import Dataset

from . import data as sets
from .measure import Benchmark, Contestant, Facts, Task


@dataclass(frozen=True)
class Pair:
    """Samples X, and other ones Z of the same shape."""

    X: np.ndarray
    Z: np.ndarray
    sigma: float


def tasks(quick: bool) -> Iterator[Task]:
    """Yield MNIST 3 vs 5 in both precisions, and HTRU2."""
    digits = sets.mnist(3, 5)
    for whole, sigma, dtype in (
        (digits, 3.4, np.float32),
        (digits, 3.4, np.float64),
        (datasets.load_htru2(), 4.0, np.float64),
    ):
        data = sets.sized(whole, quick)
        pair, small = (_pair(part, sigma, dtype) for part in (data, sets.part(whole, sets.SMALL)))
        contestants = [
            Contestant("marginpath, Gaussian Gram", _gram, _judge),
            Contestant("NumPy, X @ Z.T", lambda pair: pair.X @ pair.Z.T, target=0.5),
        ]
        yield Task(sets.title(data, f", {np.dtype(dtype).name}"), pair, small, contestants)


def _pair(data: Dataset, sigma: float, dtype: Any) -> Pair:
    X = np.ascontiguousarray(data.X, dtype=dtype)
    return Pair(X, X[::-1].copy(), sigma)


def _gram(pair: Pair) -> mp.Gram:
    return mp.Gram.from_kernel(pair.X, mp.Gaussian(pair.sigma))


def _judge(gram: Any, pair: Pair) -> Facts:
    """Return the largest error of some entries, against differences in float64."""
    some = np.random.default_rng(0).permutation(len(pair.X))[:200]
    X = pair.X[some].astype(np.float64)
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    exact = np.exp(squared / (-2 * pair.sigma**2))
    return {"largest error": float(np.abs(np.asarray(gram.rows(some))[:, some] - exact).max())}


BENCHMARK = Benchmark("kernel", "is a kernel matrix at most twice as long as one matrix product?", tasks)
