"""`tables`: raw tables, as they come, against what one would take for them otherwise.

Ours has nothing to choose. Theirs are skrub's ``tabular_pipeline`` with a logistic regression, an SVC and
histogram gradient boosting, each with its default settings. Other halves of the rows in every round: a point
of error is within the luck of one, and the full table is written by ``marginpath bench tables --repeats 5``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from statistics import mean
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split

from marginpath import TablePathClassifier
from marginpath.datasets.downloads import own_file
from marginpath.extras import require

from .measure import Benchmark, Contestant, Entry, Facts, Task
from .peers import quiet
from .raw_tables import GIVEN, MADE, RawTable, given, made

OURS = "marginpath"
#: What skrub's pipelines end in: modules and names of scikit-learn.
RIVALS = {
    "skrub + LogisticRegression": ("linear_model", "LogisticRegression", {"max_iter": 2000}),
    "skrub + SVC": ("svm", "SVC", {}),
    "skrub + HistGradientBoosting": ("ensemble", "HistGradientBoostingClassifier", {"random_state": 0}),
}
BOOSTING = "skrub + HistGradientBoosting"
#: The name of the errors of all rounds, which differences and their standard errors are made of.
EACH = "error of each round %"
_QUICK = 240


@dataclass(frozen=True, eq=False)
class Halves:
    """A table with the rows to learn from and those to be judged by."""

    table: RawTable
    fit: np.ndarray
    test: np.ndarray


@dataclass
class Player:
    """A contestant that meets other rows in every turn; in the end all its models are judged."""

    make: Callable[[], Any]
    turn: int = 0
    fitted: list[tuple[Any, Halves]] = field(default_factory=list)

    def prepare(self, split: Callable[[int], Halves]) -> Halves:
        """Return the rows of the next turn; turn 0 warms up."""
        self.turn += 1
        return split(self.turn - 1)

    def run(self, halves: Halves) -> Any:
        """Fit a model; warnings, such as that nothing beats the commonest class, are no news here."""
        table = halves.table
        with quiet():
            model = self.make().fit(table.frame.iloc[halves.fit], table.y[halves.fit])
        self.fitted.append((model, halves))
        return model

    def judge(self, model: Any, halves: Halves) -> Facts:
        """Return means over all the models but the one that warmed up, in percent."""
        rows = [judged(*each) for each in self.fitted[1:]]
        means = {name: round(mean(row[name] for row in rows), 2) for name in rows[0]}
        return {**means, EACH: " ".join(f"{row['error %']:.2f}" for row in rows)}


def judged(model: Any, halves: Halves) -> dict[str, float]:
    """Return error, balanced error and area under the ROC curve of the other half, in percent."""
    X, y = halves.table.frame.iloc[halves.test], halves.table.y[halves.test]
    predicted = model.predict(X)
    scores = model.decision_function(X)
    columns = scores[:, None] if scores.ndim == 1 else scores
    names = model.classes_[1:] if scores.ndim == 1 else model.classes_
    areas = [
        roc_auc_score(y == name, column)
        for name, column in zip(names, columns.T, strict=True)
        if 0 < np.sum(y == name) < len(y)
    ]
    return {
        "error %": 100 * float(np.mean(predicted != y)),
        "balanced accuracy %": 100 * float(balanced_accuracy_score(y, predicted)),
        "AUC %": 100 * float(np.mean(areas)),
    }


def tasks(quick: bool) -> Iterator[Task]:
    """Yield the given tables, where they are, and the made ones."""
    there = [name for name in GIVEN if own_file(f"more/{name}.csv") is not None]
    for name in ("churn", "orders") if quick else (*there, *MADE):
        load = partial(given, name) if name in GIVEN else partial(made, name, _QUICK if quick else 2000)
        yield _task(name, cache(load))


def _task(name: str, load: Callable[[], RawTable]) -> Task:
    players = {OURS: Player(lambda: TablePathClassifier(random_state=0))}
    players |= {rival: Player(partial(pipeline, rival)) for rival in RIVALS}
    contestants = [
        Contestant(each, p.run, p.judge, prepare=p.prepare, needs=(_skrub if each != OURS else lambda: None))
        for each, p in players.items()
    ]
    split = partial(_halves, load)
    return Task(name, split, split, contestants)


def pipeline(rival: str) -> Any:
    """Return skrub's pipeline with one of scikit-learn's classifiers."""
    module, name, settings = RIVALS[rival]
    return _skrub().tabular_pipeline(getattr(import_module(f"sklearn.{module}"), name)(**settings))


def _skrub() -> Any:
    return require("skrub", extra="peers", what="Comparisons with skrub", of="marginpath-lab")


def _halves(load: Callable[[], RawTable], seed: int) -> Halves:
    """Return a random half of the rows of each class, less classes of a single row."""
    table = load()
    classes, counts = np.unique(table.y, return_counts=True)
    rows = np.flatnonzero(np.isin(table.y, classes[counts > 1]))
    fit, test = train_test_split(rows, test_size=0.5, stratify=table.y[rows], random_state=seed)
    return Halves(table, fit, test)


def conclude(entries: Sequence[Entry]) -> Facts:
    """Return how ours compares with the better of logistic regression and SVC, and where boosting wins."""
    errors: dict[str, dict[str, np.ndarray]] = {}
    for entry in entries:
        if entry.facts:
            rounds = np.array(str(entry.facts[EACH]).split(), dtype=float)
            errors.setdefault(entry.task, {})[entry.contestant] = rounds
    whole = {task: row for task, row in errors.items() if {OURS, *RIVALS} <= row.keys()}
    if not whole:
        return {}
    behind = {task: row[OURS] - _better(row) for task, row in whole.items()}
    worst = max(behind, key=lambda task: behind[task].mean())
    beyond = [f"{task} {_difference(d)}" for task, d in behind.items() if d.mean() > 1]
    boosted = {task: row[OURS] - row[BOOSTING] for task, row in whole.items()}
    wins = [f"{task} {_difference(d)}" for task, d in boosted.items() if d.mean() > 1]
    return {
        "tables": len(whole),
        "mean of ours − the better of logistic regression and SVC, points of error": round(
            mean(float(d.mean()) for d in behind.values()), 2
        ),
        "worst table, ± a standard error over the rounds (wanted: at most 1)": (
            f"{worst} {_difference(behind[worst])}"
        ),
        "tables more than 1 point behind (wanted: none)": ", ".join(beyond) or "none",
        "boosting is more than 1 point better on": ", ".join(wins) or "none",
    }


def _better(row: dict[str, np.ndarray]) -> np.ndarray:
    """Return the errors of that rival, boosting apart, whose mean is lower: of one rival in all rounds."""
    return min((row[rival] for rival in RIVALS if rival != BOOSTING), key=lambda rounds: float(rounds.mean()))


def _difference(rounds: np.ndarray) -> str:
    """Return the mean of differences, and its standard error where there are several.

    Examples
    --------
    >>> _difference(np.array([0.0, 1.0])), _difference(np.array([2.0]))
    ('+0.50 ± 0.50', '+2.00')
    """
    spread = f" ± {rounds.std(ddof=1) / np.sqrt(len(rounds)):.2f}" if len(rounds) > 1 else ""
    return f"{rounds.mean():+.2f}{spread}"


BENCHMARK = Benchmark(
    "tables", "how good is it on raw tables, as they come, and how long does it take?", tasks, conclude
)
