"""What `path` measures: the steps of a classifier's path beside references, and which of them miss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from marginpath.datasets import Dataset

from .measure import Entry, Facts, Series
from .objectives import Objectives

OURS, THEIRS = "marginpath", "SVC, tol 1e-5"
#: What is wanted of the excess of an objective, and of the difference of errors.
NEAR, POINTS = 1e-3, 0.5
#: By what an objective exceeds SVC's: see `Objectives`.
EXCESS = ("dual", "primal", "scaled")
#: What makes a step a proof by itself, and how much imbalance is rounding.
PROOF, BALANCED = ("gap", "imbalance"), 1e-8
#: Differences of training errors, of a column and of the classifiers.
ERRORS = ("points", "points, all")


@dataclass(frozen=True)
class Models:
    """Coefficients (columns, samples, steps) and intercepts (columns, steps); NaN where there is no model."""

    coefficients: np.ndarray
    intercepts: np.ndarray

    @classmethod
    def of_path(cls, clf: Any) -> Models:
        """Return all steps of a fitted classifier."""
        steps = range(1, clf.n_iter_ + 1)
        a = np.array([clf.coefficients(step) for step in steps], dtype=np.float64)
        b = np.array([clf.at(step).intercept_ for step in steps], dtype=np.float64)
        return cls(a.transpose(2, 1, 0), b.T)

    def errors(self, K: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the share of samples whose class is wrong, at every step."""
        f = K @ self.coefficients + self.intercepts[:, None]
        chosen = f[0] > 0 if len(f) == 1 else f.argmax(axis=0)
        wrong = np.mean(chosen != codes[:, None], axis=0)
        return np.where(np.isnan(self.intercepts).any(axis=0), np.nan, wrong)

    def objectives(self, K: np.ndarray, y: np.ndarray, C: np.ndarray, column: int) -> Objectives:
        """Measure one column at every step."""
        a, b = self.coefficients[column], self.intercepts[column]
        return Objectives.of(K, y, coefficients=a, intercepts=b, C=C)


def bounds(clf: Any) -> np.ndarray:
    """Return the C of every step."""
    return np.array([clf.models_.bound(step) for step in range(1, clf.n_iter_ + 1)])


def compare(clf: Any, references: Models, data: Dataset) -> Series:
    """Return the numbers of every step of a fitted classifier beside those of the references.

    Of several columns it is the worst one's at each step. "gap" and "imbalance" need no reference, "dual" to
    "scaled" are the excess over it, "points" is the difference of training errors; "points, all", that of the
    classifiers, which take the column with the largest decision value.
    """
    ours, C = Models.of_path(clf), bounds(clf)
    X, X_test = (np.asarray(rows, dtype=np.float64) for rows in (data.X, data.X_test))
    K, across = rbf_kernel(X, gamma=clf.gamma_), rbf_kernel(X_test, X, gamma=clf.gamma_)
    test_codes = np.searchsorted(clf.classes_, np.asarray(data.y_test))
    series = {"C": C, "complete": ~np.isnan(references.intercepts).any(axis=0)}
    for who, models in {OURS: ours, THEIRS: references}.items():
        series[f"training error, {who}"] = models.errors(K, clf.codes_)
        series[f"test error, {who}"] = models.errors(across, test_codes)
    whole = series[f"training error, {OURS}"] - series[f"training error, {THEIRS}"]
    series["points, all"] = 100 * np.abs(whole)
    columns = []
    for j, y in enumerate(clf.columns_.signs(clf.codes_).T):
        own, reference = (models.objectives(K, y, C, j) for models in (ours, references))
        points = 100 * np.abs(own.error - reference.error)
        proof = {"gap": own.gap, "imbalance": own.imbalance}
        columns.append({**proof, **own.excess(reference), "points": points})
    for name in columns[0]:
        series[name] = np.fmax.reduce([column[name] for column in columns])
    return {name: [_plain(value) for value in values] for name, values in series.items()}


def _plain(value: float) -> float | None:
    """Return five digits, which a file can hold, and None for NaN, which it cannot."""
    return None if np.isnan(value) else float(f"{value:.5g}")


def _numbers(series: Series, name: str) -> np.ndarray:
    return np.array(series[name], dtype=np.float64)


def summary(series: Series) -> Facts:
    """Return how many steps were compared, and how near they are."""
    numbers = {name: _numbers(series, name) for name in series}
    near = _near(series)
    return {
        "steps": len(near),
        "up to C": float(numbers["C"][numbers["complete"] > 0].max(initial=0.0)),
        "within 1e-3, %": 100 * float(np.mean(near)),
        **{name: float(np.fmax.reduce(numbers[name])) for name in (*EXCESS, *PROOF, *ERRORS)},
    }


def _near(series: Series, names: Sequence[str] = EXCESS[:2]) -> np.ndarray:
    """Return whether a step is within 1e-3, for all that were compared."""
    excess = np.max([_numbers(series, name) for name in names], axis=0)
    return np.asarray(excess[~np.isnan(excess)] <= NEAR)


def conclude(entries: Sequence[Entry]) -> Facts:
    """Return the share of all steps that are near, the worst of them, and every one that misses."""
    traced = {e.task: e.series for e in entries if e.series}
    if not traced:
        return {}
    worst = {
        name: max(float(np.fmax.reduce(_numbers(series, name))) for series in traced.values())
        for name in (*EXCESS, *PROOF, *ERRORS)
    }
    near = {
        name: 100 * float(np.mean(np.concatenate([_near(series, [name]) for series in traced.values()])))
        for name in EXCESS
    }
    steps = sum(len(series["C"]) for series in traced.values())
    compared = sum(len(_near(series)) for series in traced.values())
    return {
        "sets": len(traced),
        "steps compared with SVC, of all": f"{compared} of {steps}",
        **{f"{name} objective: % of steps within 1e-3 (wanted: at least 99)": near[name] for name in EXCESS},
        **{f"{name} objective: largest excess (wanted: at most 1e-2)": worst[name] for name in EXCESS},
        "largest duality gap of a step, compared or not": worst["gap"],
        "largest imbalance of dual coefficients, without which the gap is a proof": worst["imbalance"],
        "training errors of a class against the rest differ by points (wanted: at most 0.5)": worst["points"],
        "training errors of the classifiers differ by points (wanted: at most 0.5)": worst["points, all"],
        **{f"missed, {task}": text for task, series in traced.items() if (text := misses(series))},
    }


def misses(series: Series) -> str:
    """Return the steps that are farther from SVC than wanted, or not proved to be near, run by run."""
    rows = np.array([_numbers(series, name) for name in ("C", *EXCESS, *PROOF, *ERRORS)])
    _, dual, primal, _, gap, imbalance, *points = rows
    far = (dual > NEAR) | (primal > NEAR) | ~(gap <= NEAR * (1 + 1e-6)) | (imbalance > BALANCED)
    missed = far | (np.fmax.reduce(points) > POINTS)
    ends = np.flatnonzero(np.diff(np.r_[0, missed, 0]))
    return "; ".join(_run(rows[:, i:j]) for i, j in ends.reshape(-1, 2))


def _run(rows: np.ndarray) -> str:
    """Say what the worst of some consecutive steps is."""
    C, dual, primal, scaled, gap, imbalance, *points = rows
    one = len(C) == 1
    where = f"C = {C[0]:.3g}" if one else f"C = {C[0]:.3g} to {C[-1]:.3g} ({len(C)} steps)"
    worst = [f"{np.fmax.reduce(values):.1e}" for values in (dual, primal, scaled, gap, imbalance)]
    return (
        f"{where}: dual {worst[0]}, primal {worst[1]} (scaled {worst[2]}), gap {worst[3]}, "
        f"imbalance {worst[4]}, {np.fmax.reduce(points[0]):.2f} and {np.fmax.reduce(points[1]):.2f} points"
    )
