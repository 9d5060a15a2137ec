"""`one-fit`: our whole cross-validated path against one fit of a rival that was told its best C.

Ours takes one sweep at every λ, the fastest path there is; the classifier goes to the solution and has an
intercept.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from marginpath import datasets
from marginpath.datasets import Dataset

from . import data as sets
from . import peers
from .measure import Benchmark, Contestant, Task
from .ours import Classifier, GaussianPath

#: The values of `peers.C_GRID` that 5-fold cross-validation chooses, found once; `tuned` prints them again.
#: MNIST: the CV error is 0.0074 from here on, 0.0079 at C = 1. HTRU2: 0.0208, 0.0212 at 316, 0.0209 at 3162.
BEST_C = {"MNIST": 10**0.5, "HTRU2": 1000.0}


def tasks(quick: bool) -> Iterator[Task]:
    """Yield MNIST 3 vs 5, where we want to be faster, and HTRU2, where at most 3 times as slow."""
    yield _task(sets.mnist(3, 5), 3.4, BEST_C["MNIST"], 1.0, quick)
    yield _task(datasets.load_htru2(dtype=np.float32), 4.0, BEST_C["HTRU2"], 1 / 3, quick)


def _task(whole: Dataset, sigma: float, C: float, target: float, quick: bool) -> Task:
    data, ours = sets.sized(whole, quick), GaussianPath(sigma)
    settings = {"C": C, "kernel": "rbf", "gamma": peers.gamma(sigma), "cache_size": peers.CACHE_MB}
    classifier = Classifier(peers.gamma(sigma))
    contestants = [
        Contestant("marginpath, whole path × 5 folds", ours, ours.judge),
        Contestant("MarginPathClassifier", classifier, classifier.judge),
    ]
    for name, find in (("SVC", peers.scikit_svc), ("intelex SVC", peers.intelex_svc)):
        fit = peers.Fit(find, settings)
        contestants.append(Contestant(f"{name}, one fit", fit, fit.judge, needs=find, target=target))
    return Task(
        sets.title(data, f", σ = {sigma}"),
        data,
        sets.part(whole, sets.SMALL if quick else sets.NOT_SO_SMALL),
        contestants,
    )


BENCHMARK = Benchmark(
    "one-fit", "does the whole cross-validated path take longer than one fit at the best C?", tasks
)
