"""What a tenth of the vectors costs: on several splits of twelve sets, beside as many landmarks.

The refits of `compress` were designed on splits 0 to 2, and variants were compared on splits 3 to 7; those
from 20 on, which were looked at for nothing else, are measured: five, and of sets with many rows to test on
three. All choices within a split are made by folds of its training rows. Splits run side by side, so that the
seconds here say little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import marginpath as mp
from marginpath.datasets import Dataset
from marginpath.datasets.downloads import own_file
from marginpath.parallel import available

from . import data as sets
from . import peers
from .measure import Contestant, Entry, Facts, Task

#: How many times fewer vectors, and points of accuracy that they may cost.
FEWER, POINTS = 10, 0.2
#: Splits of a set, those of one with more than so many rows, and the first that is measured.
SPLITS, OF_LARGE, LARGE, FIRST = 5, 3, 3000, 20
#: Training rows of the sets that are not MNIST.
MOST = 4000

#: Sets of the folder `more` of MARGINPATH_DATA, where it has them.
MORE = (
    *("banknote", "german-mixed", "attrition", "phoneme", "credit_data"),
    *("glass", "vehicle", "segment", "satimage", "pendigits"),
)

COMPRESSED = "compressed"
LANDMARKS, OWN_LANDMARKS = "Nystroem, LinearSVC, 7 C, as many landmarks", "marginpath, as many landmarks"


@dataclass(frozen=True)
class Split:
    """A part of a set to fit on, the rest to test, and our classifier of it."""

    data: Dataset
    classifier: Any

    @property
    def size(self) -> int:
        """How many vectors are left."""
        return max(1, len(self.classifier.support_) // FEWER)


@dataclass(frozen=True)
class Splits:
    """A set, and splits of it; ``most`` training rows each, all of them where that is None."""

    name: str
    load: Callable[[], tuple[np.ndarray, np.ndarray]]
    most: int | None
    alone: bool = False

    @cached_property
    def fitted(self) -> list[Split]:
        """The splits with their classifiers, fitted once."""
        X, y = self.load()
        count = 1 if self.alone else SPLITS if len(y) <= LARGE else OF_LARGE
        return _each(_fitted, [split(self.name, X, y, self.most, FIRST + i) for i in range(count)])


def split(name: str, X: np.ndarray, y: np.ndarray, most: int | None, seed: int) -> Dataset:
    """Return three tenths of the samples for the test, and at most so many of the others, scaled by them."""
    fit, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed)
    fit = fit[:most]
    names = tuple(map(str, np.unique(y)))
    if X.dtype == np.float32:  # pixels, between 0 and 1
        return Dataset(name, X[fit], y[fit], X[test], y[test], names)
    scale = StandardScaler().fit(X[fit])
    return Dataset(name, scale.transform(X[fit]), y[fit], scale.transform(X[test]), y[test], names)


def tasks(quick: bool) -> Iterator[Task]:
    """Yield a task for every set; quickly, two of them with a split and few rows each."""
    digits = [(f"MNIST {a} vs {b}", partial(_mnist, a, b)) for a, b in ((3, 5), (4, 9))]
    others = [(name, partial(_more, name)) for name in MORE if own_file(f"more/{name}.npz") is not None]
    small = Splits("small", _small, sets.SMALL, alone=True)
    for name, load in [*digits, *([] if quick else others)]:
        most = sets.QUICK if quick else None if name.startswith("MNIST") else MOST
        each = Splits(name, load, most, alone=quick)
        yield Task(f"fewer vectors: {name}", each, small, list(_contestants()))


def _contestants() -> Iterator[Contestant]:
    """Yield who makes the small models of all splits, in one turn each, as the error is what counts."""
    for name, make in ((COMPRESSED, _compressed), (LANDMARKS, _landmarks), (OWN_LANDMARKS, _own_landmarks)):
        judge = _judge_compressed if make is _compressed else _judge
        yield Contestant(name, partial(_all, make), judge, _ready, repeats=1)


def _ready(splits: Splits) -> Splits:
    """Fit outside the clock."""
    assert splits.fitted
    return splits


def _all(make: Callable[[Split], Any], splits: Splits) -> list[Any]:
    return _each(make, splits.fitted)


def _each(make: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Return what is made of every one, in processes: the error is what counts here, not the time."""
    workers = min(len(items), available())
    return list(Parallel(n_jobs=workers)(delayed(make)(item) for item in items))


def _fitted(data: Dataset) -> Split:
    return Split(data, mp.MarginPathClassifier(random_state=0).fit(data.X, data.y))


def _compressed(each: Split) -> Any:
    return each.classifier.compress(each.size)


def _landmarks(each: Split) -> Any:
    sigma = float((2 * each.classifier.gamma_) ** -0.5)
    settings = {"loss": "hinge", "max_iter": 10_000, "random_state": 0}
    grid = peers.NystroemGrid(
        peers.linear_svc, {"C": peers.LINEAR_C_GRID}, settings, sigma, components=each.size
    )
    return grid(each.data)


def _own_landmarks(each: Split) -> Any:
    clf = mp.MarginPathClassifier(gamma=each.classifier.gamma_, landmarks=each.size, random_state=0)
    return clf.fit(each.data.X, each.data.y)


def _errors(models: Sequence[Any], splits: Splits) -> np.ndarray:
    pairs = zip(models, splits.fitted, strict=True)
    return np.array([np.mean(model.predict(each.data.X_test) != each.data.y_test) for model, each in pairs])


def _judge(models: Sequence[Any], splits: Splits) -> Facts:
    """Return the error over the splits, and the points that it is above that of all vectors, ± its error."""
    before = _errors([each.classifier for each in splits.fitted], splits)
    after = _errors(models, splits)
    lost = 100 * (after - before)
    facts = {
        "test error": float(after.mean()),
        "before": float(before.mean()),
        "points lost": float(lost.mean()),
        "vectors": float(np.mean([each.size for each in splits.fitted])),
        "splits": float(len(lost)),
    }
    if len(lost) > 1:
        facts["standard error"] = float(lost.std(ddof=1) / len(lost) ** 0.5)
    return facts


def _judge_compressed(models: Sequence[Any], splits: Splits) -> Facts:
    """Return what fewer vectors cost, and what is certain."""
    found = [model.compression_ for model in models]
    tests = [each.data.X_test for each in splits.fitted]
    certain = [np.mean(model.certain(X)) for model, X in zip(models, tests, strict=True)]
    ways = Counter(f"{each.refit}, {each.target}, ridge {each.ridge:g}" for each in found)
    return {
        **_judge(models, splits),
        "vectors": float(np.mean([each.n_vectors for each in found])),
        "vectors before": float(np.mean([each.n_before for each in found])),
        "bound": float(max(np.max(each.distance) for each in found)),
        "certain": float(np.mean(certain)),
        "refit": "; ".join(f"{way} ({count})" for way, count in ways.most_common()),
    }


def conclude(entries: Sequence[Entry]) -> Facts:
    """Return on how many sets a tenth of the vectors is nearly as accurate, and beats as many landmarks."""
    by_name: dict[str, dict[str, Facts]] = {}
    for entry in entries:
        if entry.task.startswith("fewer") and entry.facts:
            by_name.setdefault(entry.contestant, {})[entry.task.partition(": ")[2]] = entry.facts
    ours = by_name.get(COMPRESSED, {})
    kept = [name for name, facts in ours.items() if float(facts["points lost"]) <= POINTS]
    facts: dict[str, float | str] = {
        f"sets where {FEWER} times fewer vectors cost at most {POINTS} points": listed(kept, ours)
    }
    for rival in (LANDMARKS, OWN_LANDMARKS):
        theirs = by_name.get(rival, {})
        both = [name for name in ours if name in theirs]
        better = [name for name in both if _error(ours[name]) <= _error(theirs[name])]
        facts[f"sets where they are as accurate as {rival}, or more"] = listed(better, both)
    return facts


def listed(good: Sequence[str], whole: Any) -> str:
    """Say how many, and which not."""
    missing = [name for name in whole if name not in good]
    return f"{len(good)} of {len(whole)}" + (f"; not {', '.join(missing)}" if missing else "")


def _error(facts: Facts) -> float:
    return float(facts["test error"])


def _mnist(first: int, second: int) -> tuple[np.ndarray, np.ndarray]:
    data = sets.mnist(first, second)
    assert data.X_test is not None
    assert data.y_test is not None
    return np.concatenate([data.X, data.X_test]), np.concatenate([data.y, data.y_test])


def _more(name: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(str(own_file(f"more/{name}.npz"))) as file:
        return file["X"].astype(np.float64), file["y"]


def _small() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import make_moons

    X, y = make_moons(2 * sets.SMALL, noise=0.2, random_state=0)
    return X, y
