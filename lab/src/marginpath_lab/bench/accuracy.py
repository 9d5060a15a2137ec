"""`accuracy`: a classifier with nothing to choose against an SVM with the best of 13 C, and against boosting.

Same kernel, same splits, same scaling, same folds; other samples in every round. Training labels are flipped
in some sets, test labels never. The full table is written by ``marginpath bench accuracy --repeats 5``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from statistics import mean, median
from typing import Any

import numpy as np
from sklearn import datasets as scikit
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from marginpath import datasets
from marginpath.datasets import Dataset
from marginpath.datasets.downloads import own_file
from marginpath.estimators import MarginPathClassifier

from . import data as sets
from . import peers
from .measure import Benchmark, Contestant, Entry, Facts, Task

#: Shares of flipped training labels.
FLIPPED = (0.0, 0.1, 0.2)
#: Draws of a synthetic set in a round: five rounds make twenty.
DRAWS = 4
#: Tables with several classes, read from the folder of MARGINPATH_DATA where it has them. What the classifier
#: does with several classes was decided on five others: glass, page-blocks, satimage, soybean and vowel.
SEVERAL_CLASSES = ("letter", "pendigits", "segment", "vehicle", "yeast")
#: Training samples of such a table.
_TABLE = 1200
#: Of a set: training samples where there are labels to flip, training samples and samples where it is large.
_NOISY, _TRAIN, _ROWS = 400, 1500, 5000

OURS, THEIRS = "marginpath", "SVC, 13 C"
#: Gradient boosting: what the conclusions call it, and its name in the table.
BOOSTED = {"HistGradientBoosting": "HistGradientBoosting, 3 rates", "LightGBM": "LightGBM, 3 rates × 2 sizes"}
#: What raises ImportError where a contestant is not installed.
NEEDS: Mapping[str, Callable[[], object]] = {BOOSTED["LightGBM"]: peers.lightgbm}


@dataclass
class Player:
    """A contestant that meets other samples in every turn; in the end all its models are judged.

    Parameters
    ----------
    fit : callable, data → model
    rival : Player, optional
        Whose scores are compared with these, sample by sample.
    """

    fit: Callable[[Dataset], Any]
    rival: Player | None = None
    turn: int = 0
    fitted: list[tuple[Any, Dataset]] = field(default_factory=list)
    scores: np.ndarray = field(default_factory=lambda: np.empty(0))

    def prepare(self, draw: Callable[[int], list[Dataset]]) -> list[Dataset]:
        """Return the samples of the next turn; turn 0 warms up."""
        self.turn += 1
        return draw(self.turn - 1)

    def run(self, drawn: list[Dataset]) -> list[Any]:
        """Fit a model to each."""
        models = [self.fit(data) for data in drawn]
        self.fitted += zip(models, drawn, strict=True)
        return models

    def judge(self, models: list[Any], drawn: list[Dataset]) -> Facts:
        """Return the mean accuracy of all the models but the one that warmed up, in percent."""
        judged = self.fitted[1:]
        self.scores = 100 * np.array([model.score(data.X_test, data.y_test) for model, data in judged])
        facts: dict[str, float | str] = {"accuracy %": float(self.scores.mean())}
        if self.rival is None:
            return {**facts, **_medians([model for model, _ in judged])}
        difference = self.rival.scores - self.scores
        spread = difference.std(ddof=1) / len(difference) ** 0.5 if len(difference) > 1 else 0.0
        grids = [getattr(model, "best_params_", {}) for model, _ in judged]
        chosen = [best["C"] for best in grids if "C" in best]
        return {
            **facts,
            **({"C": float(np.median(chosen))} if chosen else {}),
            "ours − theirs": round(float(difference.mean()), 3),
            "±": round(float(spread), 3),
        }


def _medians(models: Sequence[Any]) -> dict[str, float]:
    return {
        name.rstrip("_"): float(np.median([getattr(m, name) for m in models])) for name in ("C_", "step_")
    }


def tasks(quick: bool) -> Iterator[Task]:
    """Yield real sets as they are, and synthetic ones with some labels flipped."""
    size = 100 if quick else None
    for name, load in (dict(list(REAL.items())[:1]) if quick else REAL).items():
        yield _task(name, partial(split, load, size=size or _TRAIN), 1, quick)
    for name in () if quick else tables():
        yield _task(name, partial(split, partial(sets.table, name), size=_TABLE), 1, quick)
    for name, make in (dict(list(SYNTHETIC.items())[:1]) if quick else SYNTHETIC).items():
        for share in FLIPPED[::2] if quick else FLIPPED:
            draw = partial(_synthetic, make, share=share, size=size or _NOISY)
            yield _task(flipped(name, share), draw, 1 if quick else DRAWS, quick)


def tables() -> list[str]:
    """Return which of the tables are there."""
    return [name for name in SEVERAL_CLASSES if own_file(f"more/{name}.npz") is not None]


def flipped(name: str, share: float) -> str:
    """Return the name of a set with so many labels flipped."""
    return f"{name}, {share:.0%} flipped"


def _task(name: str, draw: Callable[[int], Dataset], each: int, quick: bool) -> Task:
    """Return the task with ``each`` draws a round."""

    def drawn(turn: int) -> list[Dataset]:
        return [draw(seed) for seed in range((turn - 1) * each, turn * each)]

    def small(turn: int) -> list[Dataset]:
        first = draw(0)
        # Of many classes a small part has too few samples each for folds and early stopping.
        return [sets.part(first, 100) if len(np.unique(first.y)) <= 3 else first]

    grid = {"C": peers.C_GRID[4:9] if quick else peers.C_GRID}
    ours = Player(peers.Fit(lambda: MarginPathClassifier, {"random_state": 0}))
    theirs = Player(peers.Grid(peers.scikit_svc, grid, {"cache_size": peers.CACHE_MB}), ours)
    players = {OURS: ours, THEIRS: theirs, **_boosters(ours, quick)}
    contestants = [
        Contestant(n, p.run, p.judge, prepare=p.prepare, needs=NEEDS.get(n, tuple))
        for n, p in players.items()
    ]
    return Task(name, drawn, small, contestants)


def _boosters(ours: Player, quick: bool) -> dict[str, Player]:
    """Return gradient boosting of two libraries, few rounds of it where quick."""
    histogram = {**peers.BOOSTING, **({"max_iter": 5} if quick else {})}
    light = {**peers.LIGHTGBM, **({"n_estimators": 5} if quick else {})}
    return {
        BOOSTED["HistGradientBoosting"]: Player(
            peers.Grid(peers.boosting, peers.BOOSTING_GRID, histogram), ours
        ),
        BOOSTED["LightGBM"]: Player(peers.Grid(peers.lightgbm, peers.LIGHTGBM_GRID, light), ours),
    }


def split(load: Callable[[], Dataset], seed: int, size: int) -> Dataset:
    """Return a random part of a set, split and scaled: at most ``size`` for training, half of a small set."""
    whole = load()
    X, X_test, y, y_test = train_test_split(
        whole.X,
        whole.y,
        train_size=min(size, len(whole.y) // 2),
        test_size=min(_ROWS - size, len(whole.y) // 2),
        stratify=whole.y,
        random_state=seed,
    )
    if whole.name != "MNIST 3 vs 5":  # pixels are between 0 and 1
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return replace(whole, X=X, y=y, X_test=X_test, y_test=y_test)


def _synthetic(make: Callable[[int, int], tuple[Any, Any]], seed: int, share: float, size: int) -> Dataset:
    """Return a draw with that share of the training labels flipped; equal seeds differ in nothing else."""
    X, y = make(size + 2000, seed)
    scaler = StandardScaler().fit(X[:size])
    noisy, classes = y[:size].copy(), int(y.max()) + 1
    rng = np.random.default_rng(seed)
    wrong = rng.permutation(size)[: round(share * size)]
    noisy[wrong] = (noisy[wrong] + rng.integers(1, classes, len(wrong))) % classes
    return _dataset(scaler.transform(X[:size]), noisy, scaler.transform(X[size:]), y[size:])


def _dataset(X: Any, y: Any, X_test: Any = None, y_test: Any = None, name: str = "") -> Dataset:
    return Dataset(name, X, y, X_test, y_test, ())


def _of_scikit(load: Callable[..., Any]) -> Dataset:
    return _dataset(*load(return_X_y=True))


def _dense(data: Dataset) -> Dataset:
    """Return the training part as a dense array with at most two rows for each that is drawn."""
    smaller = sets.part(data, 2 * _ROWS)
    X = smaller.X if isinstance(smaller.X, np.ndarray) else smaller.X.toarray()
    return _dataset(X.astype(np.float64), smaller.y, name=data.name)


#: Sets as they are: what loads them.
REAL: Mapping[str, Callable[[], Dataset]] = {
    "iris": lambda: _of_scikit(scikit.load_iris),
    "wine": lambda: _of_scikit(scikit.load_wine),
    "breast cancer": lambda: _of_scikit(scikit.load_breast_cancer),
    "digits": lambda: _of_scikit(scikit.load_digits),
    "HTRU2": cache(lambda: _dense(datasets.load_htru2())),
    "a9a": cache(lambda: _dense(datasets.load_a9a())),
    "ijcnn1": cache(lambda: _dense(sets.ijcnn1())),
    "MNIST 3 vs 5": cache(lambda: _dense(sets.mnist(3, 5))),
}


#: Synthetic sets: (samples, seed) → X, y.
SYNTHETIC: Mapping[str, Callable[[int, int], tuple[Any, Any]]] = {
    "moons": lambda n, seed: scikit.make_moons(n, noise=0.2, random_state=seed),
    "circles": lambda n, seed: scikit.make_circles(n, noise=0.1, factor=0.5, random_state=seed),
    "blobs": lambda n, seed: scikit.make_blobs(n, 5, centers=4, cluster_std=3.0, random_state=seed),
    "classification": lambda n, seed: scikit.make_classification(
        n, 20, n_informative=5, n_clusters_per_class=2, flip_y=0.0, random_state=seed
    ),
}


def conclude(entries: Sequence[Entry]) -> Facts:
    """Return how much better ours is over all sets, and what flipped labels do."""
    theirs = {e.task: e for e in entries if e.contestant == THEIRS and e.facts}
    found = {task: (float(e.facts["ours − theirs"]), float(e.facts["±"])) for task, e in theirs.items()}
    if not found:
        return {}
    worst = min(found, key=lambda task: found[task][0])
    several = [found[name][0] for name in SEVERAL_CLASSES if name in found]
    return {
        "sets": len(found),
        **(
            {"mean of the tables with several classes (wanted: at least 0)": mean(several)} if several else {}
        ),
        "mean of ours − theirs in points (wanted: at least −0.2)": mean(d for d, _ in found.values()),
        "worst set": f"{worst}: {found[worst][0]:.2f} ± {found[worst][1]:.2f}",
        "sets worse than −1 point beyond the standard error (wanted: 0)": sum(
            difference + error < -1 for difference, error in found.values()
        ),
        "median of the time of a tuned SVC over ours": median(e.ratio or 0.0 for e in theirs.values()),
        **{line: fact for name in BOOSTED for line, fact in _boosting(entries, name).items()},
        **_noise(entries, found),
    }


def _boosting(entries: Sequence[Entry], name: str) -> dict[str, float | str]:
    """Return how much better ours is than boosting, where it is worse by a point and more, and the times."""
    own = [e for e in entries if e.contestant == BOOSTED[name] and e.facts]
    if not own:
        return {}
    points = {e.task: float(e.facts["ours − theirs"]) for e in own}
    worse = [f"{task}: {difference:.1f}" for task, difference in points.items() if difference <= -1]
    return {
        f"{name}: mean of ours − theirs in points": mean(points.values()),
        f"{name}: better by a point and more": "; ".join(worse) or "nowhere",
        f"{name}: median of its time over ours": median(e.ratio or 0.0 for e in own),
    }


def _noise(entries: Sequence[Entry], found: Mapping[str, tuple[float, float]]) -> dict[str, float | str]:
    """Return the differences by the share of flipped labels, and the median steps of each set."""
    steps = {e.task: float(e.facts["step"]) for e in entries if e.contestant == OURS and e.facts}
    lines: dict[str, float | str] = {}
    for share in FLIPPED[1:]:
        known = [found[task][0] for n in SYNTHETIC if (task := flipped(n, share)) in found]
        if known:
            lines[f"mean of ours − theirs at {share:.0%} flipped (wanted: at least −0.2)"] = mean(known)
    of_sets = {name: [steps.get(flipped(name, share)) for share in FLIPPED] for name in SYNTHETIC}
    whole = {name: row for name, row in of_sets.items() if None not in row}
    if len(whole) > 1:
        whole["mean of them"] = [mean(column) for column in zip(*whole.values(), strict=True)]
    told = [f"{name} {', '.join(f'{step:g}' for step in row)}" for name, row in whole.items()]
    if told:
        shares = ", ".join(f"{share:.0%}" for share in FLIPPED)
        lines[f"median step at {shares} flipped (wanted: earlier with noise than without)"] = "; ".join(told)
    return lines


BENCHMARK = Benchmark(
    "accuracy",
    "is it as accurate as an SVM with its C chosen by cross-validation, and how long does each take?",
    tasks,
    conclude,
)
