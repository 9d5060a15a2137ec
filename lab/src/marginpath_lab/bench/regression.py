"""`regression`: a tuned regression with its cross-validation, against grids of SVR and of kernel ridge.

The rivals search 7 values of C and 3 of ε (SVR), or 7 of α (kernel ridge), five folds each, in two processes.
At 20,000 rows SVR has the four smaller C alone: each of the larger ones would take it hours.
Ours follows one path. All see the same kernel, gamma="scale" on standardized features. The facts are the test
error, and for a quantile how far the share of test targets below it is from what was asked, in points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import marginpath as mp

from . import peers
from .measure import Benchmark, Contestant, Facts, Task

FOLDS, JOBS = 5, 2
QUANTILE = 0.9


class Sample(NamedTuple):
    """Standardized features, targets, and the same of the test."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def tasks(quick: bool) -> Iterator[Task]:
    """Yield diabetes, and made data from the size of airfoil to 20,000 rows."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    sets = {"diabetes": split(X, y, 300)}
    for n in (300,) if quick else (1_500, 5_000, 20_000):
        X, y = houses(n + 2_000)
        sets[f"made like California, n = {n:,}"] = split(X, y, n)
    for name, data in sets.items():
        n = len(data.y)
        contestants = [Contestant("marginpath", Ours(), Ours.judge)]
        values = 7 if n <= 5_000 else 4
        for rival, find in (("SVR", peers.scikit_svr), ("intelex SVR", peers.intelex_svr)):
            grid, target = SVRGrid(find, values), 20 if rival == "SVR" and values == 7 else None
            called = f"GridSearchCV({rival}), {values} C × 3 ε"
            contestants.append(Contestant(called, grid, judge, needs=find, repeats=1, target=target))
        if n <= 5_000:
            contestants.append(Contestant("GridSearchCV(KernelRidge), 7 α", RidgeGrid(), judge, repeats=1))
        yield Task(name, data, Sample(*(part[:100] for part in data)), contestants)


def houses(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows like those of the California housing data: eight features, skewed targets with a ceiling.

    Examples
    --------
    >>> X, y = houses(50)
    >>> X.shape, bool(y.max() <= 5.0)
    ((50, 8), True)
    """
    rng = np.random.default_rng(seed)
    income, age = rng.gamma(4.0, 1.0, n), rng.uniform(1, 52, n)
    rooms, crowd = rng.lognormal(1.6, 0.3, n), rng.lognormal(1.0, 0.3, n)
    north, east = rng.uniform(32.5, 42.0, n), rng.uniform(-124.0, -114.5, n)
    people, bedrooms = rng.lognormal(7.0, 0.6, n), rng.lognormal(0.05, 0.1, n)
    coast = np.exp(-(((north - 34.0) / 1.5) ** 2)) + np.exp(-(((east + 122.0) / 1.0) ** 2))
    value = 0.45 * income + 0.8 * coast + 0.1 * rooms - 0.25 * crowd + 0.004 * age
    y = np.minimum(value * np.exp(0.2 * rng.standard_normal(n)), 5.0)
    return np.column_stack([income, age, rooms, bedrooms, people, crowd, north, east]), y


def split(X: np.ndarray, y: np.ndarray, n: int) -> Sample:
    """Return n rows to train on, standardized, and the rest."""
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    X = (X - X[:n].mean(axis=0)) / X[:n].std(axis=0)
    return Sample(X[:n], y[:n], X[n:], y[n:])


@dataclass(frozen=True)
class Ours:
    """One path, the folds side by side; the quantile is fitted outside the clock."""

    def __call__(self, data: Sample) -> Any:
        """Return the fitted regressor."""
        return mp.MarginPathRegressor(
            scoring="neg_mean_squared_error", cv=FOLDS, n_jobs=JOBS, random_state=0
        ).fit(data.X, data.y)

    @staticmethod
    def judge(model: Any, data: Sample) -> Facts:
        """Return the test error, the C, and how far a quantile is from covering what is asked."""
        upper = mp.MarginPathRegressor(loss="quantile", quantile=QUANTILE, n_jobs=JOBS, random_state=0)
        rows = slice(0, 3_000)  # minutes otherwise
        covered = float(np.mean(data.y_test <= upper.fit(data.X[rows], data.y[rows]).predict(data.X_test)))
        points = 100 * abs(covered - QUANTILE)
        return {**judge(model, data), "C": model.C_, "steps": model.n_iter_, "coverage off, points": points}


@dataclass(frozen=True)
class SVRGrid:
    """Scikit-learn's grid search over the smallest so many of seven C, and three ε."""

    find: Callable[[], Any]
    values: int = 7

    def __call__(self, data: Sample) -> Any:
        """Return the refitted best."""
        from sklearn.model_selection import GridSearchCV

        spread = float(np.std(data.y))
        C = spread * np.geomspace(1e-2, 1e4, 7)[: self.values]
        grid = {"C": C, "epsilon": spread * np.array([0.02, 0.1, 0.5])}
        search = GridSearchCV(
            self.find()(cache_size=1000), grid, cv=FOLDS, n_jobs=JOBS, scoring="neg_mean_squared_error"
        )
        return search.fit(data.X, data.y)


@dataclass(frozen=True)
class RidgeGrid:
    """Kernel ridge over a grid, on centred targets."""

    def __call__(self, data: Sample) -> Any:
        """Return the refitted best."""
        from sklearn.compose import TransformedTargetRegressor
        from sklearn.kernel_ridge import KernelRidge
        from sklearn.model_selection import GridSearchCV
        from sklearn.preprocessing import StandardScaler

        gamma = 1 / data.X.shape[1]
        model = TransformedTargetRegressor(
            KernelRidge(kernel="rbf", gamma=gamma), transformer=StandardScaler()
        )
        grid = {"regressor__alpha": np.geomspace(1e-4, 1e2, 7)}
        return GridSearchCV(model, grid, cv=FOLDS, n_jobs=JOBS, scoring="neg_mean_squared_error").fit(
            data.X, data.y
        )


def judge(model: Any, data: Sample) -> Facts:
    """Return the root of the mean squared error over the deviation of the targets, as the test error."""
    off = model.predict(data.X_test) - data.y_test
    return {"test error": float(np.sqrt(np.mean(off**2)) / np.std(data.y_test))}


BENCHMARK = Benchmark("regression", "how long to a tuned regression, and how good?", tasks)
