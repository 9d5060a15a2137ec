"""`widths`: the width of the kernel chosen too, ten of them, each with its path and 5 folds.

All search the ten widths of the classifier: liquidSVM with its own 10 λ at full size, GridSearchCV with 13 C
at 3,000.
"""

from __future__ import annotations

from collections.abc import Iterator

import marginpath as mp
from marginpath.datasets import Dataset

from . import data as sets
from . import peers
from .measure import Benchmark, Contestant, Task
from .ours import Classifier


def tasks(quick: bool) -> Iterator[Task]:
    """Yield all of MNIST 3 vs 5, and 3,000 samples of it."""
    whole = sets.mnist(3, 5)
    data = sets.sized(whole, quick)
    liquid = peers.LiquidGrid(_widths(data))
    name = f"liquidSVM, {len(liquid.sigmas)} widths × 10 λ"
    yield _task(whole, data, Contestant(name, liquid, liquid.judge, needs=peers.liquid_svm, target=5))
    data = sets.part(whole, sets.SMALL if quick else 3000)
    gammas = [peers.gamma(sigma) for sigma in _widths(data)]
    settings = {"kernel": "rbf", "cache_size": peers.CACHE_MB}
    grid = peers.Grid(peers.scikit_svc, {"gamma": gammas, "C": peers.C_GRID}, settings)
    name = f"SVC, {len(gammas)} widths × 13 C"
    yield _task(whole, data, Contestant(name, grid, grid.judge, repeats=1, target=50))


def _task(whole: Dataset, data: Dataset, rival: Contestant) -> Task:
    ours = Classifier("tuned")
    contestants = [Contestant("marginpath, gamma='tuned'", ours, ours.judge), rival]
    return Task(sets.title(data), data, sets.part(whole, sets.SMALL), contestants, slack=0.001)


def _widths(data: Dataset) -> tuple[float, ...]:
    return tuple(float(sigma) for sigma in mp.default_widths(data.X))


BENCHMARK = Benchmark("widths", "how long to choose the width of the kernel too, of ten?", tasks)
