"""`tuned`: choose the amount of regularization by 5-fold cross-validation and refit.

Ours: the classifier with its default settings. Theirs: GridSearchCV over 13 values of C, liquidSVM's own
search over 10 values of λ, and TorchKM's own over the 13 values of C, all with the same kernel. A rival that
may take a quarter of an hour has a process of its own, and is ended after 120 times our time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from marginpath import datasets
from marginpath.datasets import Dataset

from . import data as sets
from . import peers
from .measure import Benchmark, Contestant, Task
from .ours import Classifier, GaussianPath
from .torchkm_path import TorchKMPath, torchkm_svc

_LONGEST = 120.0  # times ours


def tasks(quick: bool) -> Iterator[Task]:
    """Yield MNIST 3 vs 5 and HTRU2."""
    yield _task(sets.mnist(3, 5), 3.4, quick, svc=(100, 1), intelex=(30, None), liquid=(20, None))
    yield _task(
        datasets.load_htru2(dtype=np.float32),
        4.0,
        quick,
        svc=(20, None),
        intelex=(20, 1),
        liquid=(None, 1),
    )


def _task(
    whole: Dataset,
    sigma: float,
    quick: bool,
    svc: tuple[float | None, int | None],
    intelex: tuple[float | None, int | None],
    liquid: tuple[float | None, int | None],
) -> Task:
    """Return the task; a rival has its wanted ratio, and the number of turns where one takes minutes."""
    data = sets.sized(whole, quick)
    grid = {"C": peers.C_GRID}
    settings = {"kernel": "rbf", "gamma": peers.gamma(sigma), "cache_size": peers.CACHE_MB}

    def rival(name: str, run: Any, needs: Any, limits: tuple[float | None, int | None]) -> Contestant:
        return Contestant(name, run, run.judge, needs=needs, target=limits[0], repeats=limits[1])

    def limited(contestant: Contestant) -> Contestant:
        return contestant if quick else replace(contestant, isolated=True, longest=_LONGEST)

    def paper(algorithm: int) -> Contestant:
        run = GaussianPath(sigma, algorithm)
        return Contestant(f"marginpath, Algorithm {algorithm}", run, run.judge, repeats=1)

    ours = Classifier(peers.gamma(sigma))
    scikit = rival("SVC, 13 C", peers.Grid(peers.scikit_svc, grid, settings), peers.scikit_svc, svc)
    contestants = [
        Contestant("marginpath", ours, ours.judge),
        limited(scikit) if svc[1] == 1 else scikit,
        rival("intelex SVC, 13 C", peers.Grid(peers.intelex_svc, grid, settings), peers.intelex_svc, intelex),
        rival("liquidSVM, 10 λ", peers.LiquidGrid((sigma,)), peers.liquid_svm, liquid),
        limited(rival("TorchKM, 13 C", TorchKMPath(sigma), torchkm_svc, (None, 1))),
        paper(2),
        paper(1),
    ]
    return Task(
        sets.title(data, f", σ = {sigma}"),
        data,
        sets.part(whole, sets.SMALL if quick else sets.NOT_SO_SMALL),
        contestants,
        slack=0.001,
    )


BENCHMARK = Benchmark(
    "tuned", "how long to choose the regularization by 5-fold cross-validation, and refit?", tasks
)
