"""`widths`: the width of the kernel chosen too, ten of them, each with its path and 5 folds.

All search the same ten widths: liquidSVM with its own 10 λ at full size, GridSearchCV with 13 C at 3,000.
"""

from __future__ import annotations

from collections.abc import Iterator

import marginpath as mp

from ..datasets import Dataset
from . import data as sets
from . import peers
from .measure import Benchmark, Contestant, Task
from .ours import WidthPaths


def tasks(quick: bool) -> Iterator[Task]:
    """Yield all of MNIST 3 vs 5, and 3,000 samples of it."""
    whole = sets.mnist(3, 5)
    small = sets.part(whole, sets.SMALL)
    number = 3 if quick else 10
    sigmas = tuple(float(sigma) for sigma in mp.default_widths(whole.X, number))
    ours = WidthPaths(sigmas)

    def task(data: Dataset, rival: Contestant) -> Task:
        contestants = [Contestant(f"marginpath, {number} widths", ours, ours.judge), rival]
        return Task(sets.title(data), data, small, contestants, slack=0.001)

    liquid = peers.LiquidGrid(sigmas)
    yield task(
        sets.sized(whole, quick),
        Contestant(
            f"liquidSVM, {number} widths × 10 λ",
            liquid,
            liquid.judge,
            needs=peers.liquid_svm,
            repeats=1,
            target=5,
        ),
    )
    gammas = [peers.gamma(sigma) for sigma in sigmas]
    settings = {"kernel": "rbf", "cache_size": peers.CACHE_MB}
    grid = peers.Grid(peers.scikit_svc, {"gamma": gammas, "C": peers.C_GRID}, settings)
    yield task(
        sets.part(whole, sets.SMALL if quick else 3000),
        Contestant(f"SVC, {number} widths × 13 C", grid, grid.judge, repeats=1, target=50),
    )


BENCHMARK = Benchmark("widths", "how long to choose the width of the kernel too, of ten?", tasks)
