"""`accuracy-tuned`: the width chosen along with the step, against an SVM with the best of 6 C times 7 widths.

Beside them the default, which has the usual width: what choosing it is worth, and what it costs.
Same splits, scaling and folds as `accuracy`. None of the sets is one of those that the rule of the race was
chosen on, which `widths` names; that widths are compared by log loss was decided with a look at these, but
for HTRU2; which widths there are was not. HTRU2 has 10,000 training samples
and one round; the others up to 1,200. The table is written by ``marginpath bench accuracy-tuned --repeats
10``, as chance alone moves the mean of three splits by a fifth of a point. A set can be measured by a process
of its own, on two cores: ``taskset -c 0,1 marginpath bench accuracy-tuned --only letter``; in the end,
without ``--only``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import mean, median

import numpy as np
from sklearn.preprocessing import StandardScaler

from marginpath import datasets
from marginpath.datasets import Dataset
from marginpath.datasets.downloads import own_file
from marginpath.estimators import MarginPathClassifier

from . import data as sets
from . import peers
from .accuracy import OURS, REAL, Player, split
from .measure import Benchmark, Contestant, Entry, Facts, Task

THEIRS, ONE = "SVC, 6 C × 7 widths", "marginpath, gamma='scale'"
#: Training samples of a set.
_TRAIN = 1200
_SMALL = 300  # samples to warm up on
#: The set with many, and how many.
MANY, _MANY_ROWS = "HTRU2, n = 10,000", 10_000
_MANY_WARM = 3000  # samples to warm up on there: other loops are compiled
_SMALL_SETS = ("iris", "wine", "digits")
#: Tables, where the folder of MARGINPATH_DATA has them.
_TABLES = ("attrition", "german-mixed", "letter", "pendigits", "soybean", "vehicle", "yeast")


def grid(features: int) -> Mapping[str, Sequence[float]]:
    """Return the values that SVC may choose from: widths around 1 over the number of scaled features.

    Examples
    --------
    >>> {name: len(values) for name, values in grid(10).items()}
    {'C': 6, 'gamma': 7}
    """
    return {
        "C": tuple(float(C) for C in np.logspace(-1, 4, 6)),
        "gamma": tuple(float(gamma) for gamma in np.logspace(-2, 1, 7) / features),
    }


def tasks(quick: bool) -> Iterator[Task]:
    """Yield the sets."""
    loads: dict[str, Callable[[], Dataset]] = {name: REAL[name] for name in _SMALL_SETS}
    loads |= {name: partial(sets.table, name) for name in _TABLES if own_file(f"more/{name}.npz") is not None}
    for name, load in list(loads.items())[: 1 if quick else None]:
        yield _task(name, partial(split, load, size=100 if quick else _TRAIN))
    if not quick and own_file("htru2/HTRU_2.csv") is not None:
        yield _task(MANY, _many_rows, rounds=1, warm=_MANY_WARM)


def _many_rows(seed: int) -> Dataset:
    """Return samples of HTRU2 that were drawn at random, scaled."""
    data = sets.part(datasets.load_htru2(), _MANY_ROWS, seed)
    scaler = StandardScaler().fit(data.X)
    return replace(data, X=scaler.transform(data.X), X_test=scaler.transform(data.X_test))


def _task(name: str, draw: Callable[[int], Dataset], rounds: int | None = None, warm: int = _SMALL) -> Task:
    """Return the task with a draw a round, warmed up on so many samples."""

    def drawn(turn: int) -> list[Dataset]:
        return [draw(turn - 1)]

    def small(turn: int) -> list[Dataset]:
        return [sets.part(draw(0), warm)]

    values = grid(draw(0).X.shape[1])
    ours = Player(peers.Fit(lambda: MarginPathClassifier, {"gamma": "tuned", "random_state": 0}))
    theirs = Player(peers.Grid(peers.scikit_svc, values, {"cache_size": peers.CACHE_MB}), ours)
    one = Player(peers.Fit(lambda: MarginPathClassifier, {"random_state": 0}), ours)
    players = {OURS: ours, THEIRS: theirs, ONE: one}
    contestants = [
        Contestant(n, p.run, p.judge, prepare=p.prepare, repeats=rounds) for n, p in players.items()
    ]
    return Task(name, drawn, small, contestants)


def conclude(entries: Sequence[Entry]) -> Facts:
    """Return how much better ours is over all sets, and how much faster."""
    theirs = [e for e in entries if e.contestant == THEIRS and e.facts]
    if not theirs:
        return {}
    facts: dict[str, float | str] = {
        "sets": len(theirs),
        "mean of ours − theirs in points (wanted: at least 0.1)": mean(
            float(e.facts["ours − theirs"]) for e in theirs
        ),
    }
    for size, wanted in (("up to 1,200", 20), ("10,000", 50)):
        ratios = [e.ratio or 0.0 for e in theirs if (e.task == MANY) == (size == "10,000")]
        if ratios:
            line = f"median of the time of a tuned SVC over ours, {size} rows (wanted: at least {wanted})"
            facts[line] = median(ratios)
    one = [e for e in entries if e.contestant == ONE and e.facts]
    if one:
        gains = [float(e.facts["ours − theirs"]) for e in one]
        facts["mean of the tuned width − the usual one in points"] = mean(gains)
        facts["median of the time with a tuned width over that with the usual one"] = median(
            1 / (e.ratio or 1.0) for e in one
        )
    return facts


BENCHMARK = Benchmark(
    "accuracy-tuned",
    "is it as accurate as an SVM with C and width chosen by cross-validation, and how long does each take?",
    tasks,
    conclude,
)
