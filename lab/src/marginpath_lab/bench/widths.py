"""`widths`: the width of the kernel chosen too, of eleven, with the path and 5 folds.

Rivals search the eleven widths of the classifier: liquidSVM with its own 10 λ at full size, GridSearchCV with
13 C at 3,000; who takes 60 times as long is ended. Then the race of the classifier against a path for every
width, and against one path; other samples in every round. The rule, a parabola through scores on a part of
the rows and by how much narrower the best width is on all, was chosen on banknote, breast cancer,
credit_data, glass, ijcnn1, page-blocks, phoneme, satimage, segment and vowel, and on moons, circles, blobs
and classification of `accuracy` with 400 and 1,000 rows, eight splits each; none of them is in the table,
whose sets had been seen by earlier rules. That the score of a short path is a log loss was decided on those
ten sets and the four made ones. How long a path waits (`validation.patience`) was chosen on paths of all
these sets; that the widths go from a quarter to a dozen times the usual one on the same, a9a and HTRU2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from statistics import mean, median
from typing import Any

import marginpath as mp
from marginpath.datasets import Dataset
from marginpath.datasets.downloads import own_file

from . import data as sets
from . import peers
from .accuracy import REAL, Player, split
from .measure import Benchmark, Contestant, Entry, Facts, Task
from .ours import Classifier

TUNED = "marginpath, gamma='tuned'"
RACE, ONE, EVERY = "race", "one path, gamma='scale'", "a path for every width"
#: Sets of the race, the tables where the folder of MARGINPATH_DATA has them, and their training samples.
_TABLES = ("attrition", "german-mixed", "letter", "pendigits", "vehicle", "yeast")
_TRAIN = 1200


def tasks(quick: bool) -> Iterator[Task]:
    """Yield all of MNIST 3 vs 5, and 3,000 samples of it; then the sets of the race."""
    whole = sets.mnist(3, 5)
    data = sets.sized(whole, quick)
    liquid = peers.LiquidGrid(_widths(data))
    name = f"liquidSVM, {len(liquid.sigmas)} widths × 10 λ"
    once: dict[str, Any] = {"repeats": 1, "isolated": True, "longest": 60}
    yield _task(whole, data, Contestant(name, liquid, liquid.judge, needs=peers.liquid_svm, target=5, **once))
    data = sets.part(whole, sets.SMALL if quick else 3000)
    gammas = [peers.gamma(sigma) for sigma in _widths(data)]
    settings = {"kernel": "rbf", "cache_size": peers.CACHE_MB}
    grid = peers.Grid(peers.scikit_svc, {"gamma": gammas, "C": peers.C_GRID}, settings)
    name = f"SVC, {len(gammas)} widths × 13 C"
    yield _task(whole, data, Contestant(name, grid, grid.judge, target=50, **once))
    loads = {name: REAL[name] for name in ("digits", "wine")}
    loads |= {name: partial(sets.table, name) for name in _TABLES if own_file(f"more/{name}.npz") is not None}
    for name, load in list(loads.items())[: 1 if quick else None]:
        yield _race(name, partial(split, load, size=100 if quick else _TRAIN))


def every_width(data: Dataset) -> mp.MarginPathClassifier:
    """Return the best classifier of one for each width, the wider one of equals."""
    gammas = [1 / (2 * sigma**2) for sigma in _widths(data)[::-1]]
    fitted = [mp.MarginPathClassifier(gamma=gamma, random_state=0).fit(data.X, data.y) for gamma in gammas]
    scores = [float(clf.cv_results_["mean_test_score"][clf.step_ - 1]) for clf in fitted]
    best: mp.MarginPathClassifier = max(zip(scores, fitted, strict=True), key=lambda pair: pair[0])[1]
    return best


def conclude(entries: Sequence[Entry]) -> Facts:
    """Return what all of MNIST 3 vs 5 takes, what the race costs in paths, and how much accuracy it loses."""
    return {**_whole(entries), **_races(entries)}


def _whole(entries: Sequence[Entry]) -> Facts:
    first = next((e for e in entries if e.contestant == TUNED and e.median), None)
    if first is None or first.median is None:
        return {}
    return {
        f"{first.task}: seconds (wanted: at most 4)": first.median,
        f"{first.task}: error (wanted: at most 0.0048)": first.facts["test error"],
    }


def _races(entries: Sequence[Entry]) -> Facts:
    one, every = ([e for e in entries if e.contestant == name and e.ratio] for name in (ONE, EVERY))
    if not (one and every):
        return {}
    lost = [float(e.facts["ours − theirs"]) for e in every]
    return {
        "sets of the race": len(every),
        "median time of the race in paths (wanted: at most 2.5)": median(1 / (e.ratio or 1) for e in one),
        "median time of a path for every width, in races": median(e.ratio or 0.0 for e in every),
        "mean of race − every width in points (wanted: at least −0.05)": mean(lost),
    }


def _race(name: str, draw: partial[Dataset]) -> Task:
    """Return the task with a draw a round."""
    race = Player(lambda data: Classifier("tuned")(data))
    one, every = Player(lambda data: Classifier("scale")(data), race), Player(every_width, race)
    players = {RACE: race, ONE: one, EVERY: every}
    contestants = [Contestant(n, p.run, p.judge, prepare=p.prepare) for n, p in players.items()]
    return Task(name, lambda turn: [draw(turn - 1)], lambda turn: [sets.part(draw(0), 100)], contestants)


def _task(whole: Dataset, data: Dataset, rival: Contestant) -> Task:
    ours = Classifier("tuned")
    contestants = [Contestant(TUNED, ours, ours.judge), rival]
    return Task(sets.title(data), data, sets.part(whole, sets.SMALL), contestants, slack=0.001)


def _widths(data: Dataset) -> tuple[float, ...]:
    return tuple(float(sigma) for sigma in mp.default_widths(data.X))


BENCHMARK = Benchmark("widths", "how long to choose the width of the kernel too, of eleven?", tasks, conclude)
