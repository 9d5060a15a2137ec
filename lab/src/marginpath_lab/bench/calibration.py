"""`calibration`: probabilities and sets of classes, against scikit-learn's calibration of an SVM.

Ours come with the fit, from the decision values that its folds have of samples they did not see. Theirs is
CalibratedClassifierCV of an SVC that is told the C that ours found, so that its time has no search in it: the
mean of five models, each calibrated on the fold that it did not see. A round is one split of every table; the
Brier score is the squared distance of all the probabilities from what happened, between 0 and 2. How sets are
made was decided looking at splits 0 to 19 of these tables; here they are others. ``marginpath bench
calibration --repeats 5`` writes the full table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import mean
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss

from marginpath.datasets import Dataset
from marginpath.datasets.downloads import own_file
from marginpath.estimators import MarginPathClassifier
from marginpath.estimators.calibration import brier

from . import data as sets
from . import peers
from .accuracy import REAL, Player, split
from .measure import Benchmark, Contestant, Entry, Facts, Task

OURS, AUTO = "marginpath", "marginpath, calibration='auto'"
THEIRS = {kind: f"SVC told C, {kind}" for kind in ("sigmoid", "isotonic")}
#: What is asked of sets of classes.
COVERAGES = (0.8, 0.9, 0.95)
#: Where the folder of MARGINPATH_DATA has them.
TABLES = (
    "attrition",
    "banknote",
    "credit_data",
    "german-mixed",
    "glass",
    "letter",
    "page-blocks",
    "pendigits",
    "phoneme",
    "satimage",
    "segment",
    "soybean",
    "vehicle",
    "vowel",
    "yeast",
)
_TRAIN = 1200
_SMALL = 300  # samples to warm up on
_FIRST_SPLIT = 20


@dataclass
class Forecaster(Player):
    """A player that is judged by its probabilities, and by its sets of classes where it has any."""

    briers: np.ndarray = field(default_factory=lambda: np.empty(0))

    def judge(self, models: list[Any], drawn: list[Dataset]) -> Facts:
        """Return the mean scores of all the models but the one that warmed up."""
        judged = self.fitted[1:]
        scores = [forecast_scores(model, data) for model, data in judged]
        self.briers = np.array([each["Brier"] for each in scores])
        facts: dict[str, float | str] = {name: mean(each[name] for each in scores) for name in scores[0]}
        if isinstance(self.rival, Forecaster):
            difference = self.rival.briers - self.briers
            facts["ours − theirs"] = float(difference.mean())
            facts["±"] = (
                float(difference.std(ddof=1) / len(difference) ** 0.5) if len(difference) > 1 else 0.0
            )
        return facts


@dataclass(frozen=True)
class CalibratedSVC:
    """Calibrate an SVC with the C that ours has chosen: five folds, fewer where a class has fewer samples."""

    kind: str
    ours: Forecaster

    def __call__(self, data: Dataset) -> Any:
        """Return the calibrated classifier."""
        C = self.ours.fitted[-1][0].C_
        folds = min(5, max(2, int(np.unique(data.y, return_counts=True)[1].min())))
        svc = peers.scikit_svc()(C=C, cache_size=peers.CACHE_MB)
        with peers.quiet():
            return CalibratedClassifierCV(svc, method=self.kind, cv=folds).fit(data.X, data.y)


def forecast_scores(model: Any, data: Dataset) -> dict[str, float]:
    """Return Brier score and log loss on the test part, and in percent what sets of classes cover."""
    assert data.y_test is not None
    codes = np.searchsorted(model.classes_, data.y_test)
    chance = model.predict_proba(data.X_test)
    scores = {
        "Brier": brier(chance, codes, np.ones(len(codes))),
        "log loss": float(log_loss(codes, chance, labels=np.arange(len(model.classes_)))),
    }
    for asked in COVERAGES if hasattr(model, "predict_set") else ():
        covered = model.predict_set(data.X_test, coverage=asked)[np.arange(len(codes)), codes]
        scores[_covered(asked)] = 100 * float(np.mean(covered))
    return scores


def _covered(asked: float) -> str:
    return f"covered of {asked:.0%}"


def tasks(quick: bool) -> Iterator[Task]:
    """Yield the tables; quick, iris alone."""
    if quick:
        yield _task("iris", partial(split, REAL["iris"], size=100))
        return
    for name in TABLES:
        if own_file(f"more/{name}.npz") is not None:
            yield _task(name, partial(split, partial(sets.table, name), size=_TRAIN))


def _task(name: str, draw: Callable[[int], Dataset]) -> Task:
    """Return the task with a split a round."""

    def drawn(turn: int) -> list[Dataset]:
        return [draw(_FIRST_SPLIT + turn)]

    def small(turn: int) -> list[Dataset]:
        return [sets.part(draw(0), _SMALL)]

    ours = Forecaster(peers.Fit(lambda: MarginPathClassifier, {"random_state": 0}))
    auto = Forecaster(
        peers.Fit(lambda: MarginPathClassifier, {"random_state": 0, "calibration": "auto"}), ours
    )
    theirs = {THEIRS[kind]: Forecaster(CalibratedSVC(kind, ours), ours) for kind in THEIRS}
    contestants = [
        Contestant(n, p.run, p.judge, prepare=p.prepare)
        for n, p in {OURS: ours, AUTO: auto, **theirs}.items()
    ]
    return Task(name, drawn, small, contestants)


def conclude(entries: Sequence[Entry]) -> Facts:
    """Return the mean scores over the tables that all have taken part in, and the coverages."""
    known = [e for e in entries if e.facts]
    names = (OURS, AUTO, *THEIRS.values())
    whole = [t for t in {e.task: None for e in known} if sum(e.task == t for e in known) == len(names)]
    if not whole:
        return {}
    facts: dict[str, float | str] = {"tables": len(whole)}
    for score in ("Brier", "log loss"):
        for name in names:
            facts[f"mean {score}, {name}"] = mean(_of(known, name, score, whole))
    for asked in COVERAGES:
        share = _of(known, OURS, _covered(asked), whole)
        facts[f"covered where {asked:.0%} is asked for (wanted: within a point)"] = (
            f"{mean(share):.1f} % on average, {min(share):.1f} to {max(share):.1f}"
        )
    return facts


def _of(entries: Sequence[Entry], name: str, fact: str, tasks: Sequence[str]) -> list[float]:
    return [float(e.facts[fact]) for e in entries if e.contestant == name and e.task in tasks]


BENCHMARK = Benchmark(
    "calibration",
    "how good are its probabilities, and do its sets of classes cover what is asked for?",
    tasks,
    conclude,
)
