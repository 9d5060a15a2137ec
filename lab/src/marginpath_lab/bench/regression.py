"""`regression`: a tuned regression with its cross-validation, against grids of SVR and of kernel ridge.

The rivals search 7 values of C and 3 of ε (SVR), or 7 of α (kernel ridge), five folds each, in two processes.
Where SVR would take minutes or hours, it has the smaller C alone, and of many rows one of the five folds, and
the table says so: its time is then that of a part of its work. Beside it is how long all of it takes at
least: every fold counted like those that were measured, and each larger C like the largest that was, though
SVR takes longer the larger C is.

Ours follows one path, by default with the loss of SVR; up to 1,500 rows there is Huber's too. All see the
same kernel, gamma="scale" on standardized features. The first of several splits is timed. The test error is
the mean over all of them; their seeds are none that anything was tuned on. Up to 1,500 rows ours and SVR are
tuned anew on each, SVR among all ε and the C within a factor of ten of its first choice; of more rows, and
where it is intelex's or kernel ridge, a rival has its first choice on all. For a quantile, a fact is how far
the share of test targets below it is from what was asked, in points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

import marginpath as mp

from . import peers
from .measure import Benchmark, Contestant, Entry, Facts, Series, Task

FOLDS, JOBS = 5, 2
QUANTILE = 0.9
QUANTILE_ROWS = 1_500  # that a quantile is fitted on
VALUES = {1_500: 5, 5_000: 5, 20_000: 4}  # of C in SVR's grid, of so many rows; all seven of fewer
MEASURED = {5_000: 1, 20_000: 1}  # of the rivals' five folds, of so many rows; all of fewer
SPLITS = {500: 60, 1_500: 20, 5_000: 4, 20_000: 2}  # that errors are measured on; twenty of diabetes
_SEED = 1_000  # of the first split: up to 299, some were looked at while rules were chosen
_SEARCHED = 1_500  # rows up to which rivals are tuned anew on every split
_QUICK = 500  # rows up to which SVR's grid takes seconds, and part in every round
_MANY = 20_000  # rows from which on ours has one turn
_WHOLE = "× for all, at least"


class Sample(NamedTuple):
    """Standardized features, targets, and the same of the test."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def tasks(quick: bool) -> Iterator[Task]:
    """Yield diabetes, and made data from 500 rows over the size of airfoil to 20,000."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    splits = {"diabetes": [split(X, y, 300, _SEED + k) for k in range(2 if quick else 20)]}
    for n in (300,) if quick else (500, 1_500, 5_000, 20_000):
        seeds = range(_SEED, _SEED + (2 if quick else SPLITS.get(n, 20)))
        splits[f"made like California, n = {n:,}"] = [split(*houses(n + 2_000, k), n) for k in seeds]
    for name, samples in splits.items():
        small = [Sample(*(part[:100] for part in samples[0]))]
        yield Task(name, samples, small, contestants(len(samples[0].y)))


def contestants(n: int) -> list[Contestant]:
    """Return ours, and who competes with it at so many rows."""
    ours = Contestant("marginpath", Ours(), Ours.judge, trace=errors, repeats=1 if n >= _MANY else None)
    values, folds = VALUES.get(n, 7), MEASURED.get(n, FOLDS)
    part = f"{values} of 7" if values < 7 else "7", f", {folds} of {FOLDS} folds" if folds < FOLDS else ""
    rivals = []
    if n <= _SEARCHED:
        rivals.append(Contestant("marginpath, Huber's loss", Ours("huber"), judge, trace=errors))
    for rival, find in (("SVR", peers.scikit_svr), ("intelex SVR", peers.intelex_svr)):
        first = rival == "SVR"
        grid = SVRGrid(find, values, folds, _SEARCHED if first else 0)
        rivals.append(
            Contestant(
                f"GridSearchCV({rival}), {part[0]} C × 3 ε{part[1]}",
                grid,
                grid.judge,
                needs=find,
                repeats=None if first and n <= _QUICK else 1,
                target=20 if first and folds == FOLDS else None,
                trace=errors,
            )
        )
    if n < _MANY:
        name = f"GridSearchCV(KernelRidge), 7 α{part[1]}"
        rivals.append(Contestant(name, RidgeGrid(folds), judge, repeats=1, trace=errors))
    return [ours, *rivals]


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


def split(X: np.ndarray, y: np.ndarray, n: int, seed: int = 0) -> Sample:
    """Return n rows to train on, standardized, and the rest."""
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = X[order], y[order]
    X = (X - X[:n].mean(axis=0)) / X[:n].std(axis=0)
    return Sample(X[:n], y[:n], X[n:], y[n:])


@dataclass
class Tuned:
    """What was tuned on the first sample, and how to fit the same on another."""

    model: Any
    fit: Callable[[Sample], Any]
    samples: Sequence[Sample]

    @cached_property
    def errors(self) -> np.ndarray:
        """The root of the mean squared error over the deviation of the targets, of every split."""
        models = [self.model, *(self.fit(sample) for sample in self.samples[1:])]
        return np.array([_error(model, sample) for model, sample in zip(models, self.samples, strict=True)])


@dataclass(frozen=True)
class Ours:
    """One path, the folds side by side; the quantile is fitted outside the clock."""

    loss: str = "epsilon_insensitive"

    def __call__(self, samples: Sequence[Sample]) -> Tuned:
        """Return the regressor, fitted to the first sample."""
        return Tuned(self._fit(samples[0]), self._fit, samples)

    def _fit(self, sample: Sample) -> Any:
        settings: dict[str, Any] = {"cv": FOLDS, "n_jobs": JOBS, "random_state": 0}
        model = mp.MarginPathRegressor(loss=self.loss, scoring="neg_mean_squared_error", **settings)
        return model.fit(sample.X, sample.y)

    @staticmethod
    def judge(tuned: Tuned, samples: Sequence[Sample]) -> Facts:
        """Return the test error, the C, and how far a quantile is from covering what is asked."""
        off = 100 * (np.mean([_covered(sample) for sample in samples]) - QUANTILE)
        model = tuned.model
        return {
            **judge(tuned, samples),
            "C": model.C_,
            "steps": model.n_iter_,
            "coverage off, points": float(off),
        }


def _covered(sample: Sample) -> float:
    """Return the share of the test targets under the quantile."""
    upper = mp.MarginPathRegressor(loss="quantile", quantile=QUANTILE, n_jobs=JOBS, random_state=0)
    upper.fit(sample.X[:QUANTILE_ROWS], sample.y[:QUANTILE_ROWS])
    return float(np.mean(sample.y_test <= upper.predict(sample.X_test)))


@dataclass(frozen=True)
class SVRGrid:
    """Scikit-learn's grid search over the smallest so many of seven C, and three ε, by so many of the folds.

    Up to so many rows, it searches on every split.
    """

    find: Callable[[], Any]
    values: int = 7
    folds: int = FOLDS
    searched: int = _SEARCHED

    def __call__(self, samples: Sequence[Sample]) -> Tuned:
        """Return the refitted best."""
        C = float(np.std(samples[0].y)) * np.geomspace(1e-2, 1e4, 7)[: self.values]
        search = self._search(samples[0], C)
        best = search.best_params_

        def fit(sample: Sample) -> Any:
            if len(sample.y) > self.searched:
                return self.find()(cache_size=1000, **best).fit(sample.X, sample.y)
            return self._search(sample, best["C"] * np.array([0.1, 1.0, 10.0]))

        return Tuned(search, fit, samples)

    def _search(self, sample: Sample, C: np.ndarray) -> Any:
        grid = {"C": C, "epsilon": float(np.std(sample.y)) * np.array([0.02, 0.1, 0.5])}
        return _searched(self.find()(cache_size=1000), grid, sample, self.folds)

    def judge(self, tuned: Tuned, samples: Sequence[Sample]) -> Facts:
        """Return the test error, what was chosen, and how many times as much all of the grid is at least."""
        search = tuned.model
        seconds = search.cv_results_["mean_fit_time"] + search.cv_results_["mean_score_time"]
        C = search.cv_results_["param_C"].astype(float)
        by_value = np.array([float(seconds[value == C].sum()) for value in np.unique(C)])
        whole = FOLDS * (by_value.sum() + (7 - self.values) * by_value[-1]) + search.refit_time_
        measured = self.folds * by_value.sum() + search.refit_time_
        chosen = {name: float(value) for name, value in search.best_params_.items()}
        return {**judge(tuned, samples), **chosen, _WHOLE: float(whole / measured)}


@dataclass(frozen=True)
class RidgeGrid:
    """Kernel ridge over a grid, on centred targets, by so many of the folds."""

    folds: int = FOLDS

    def __call__(self, samples: Sequence[Sample]) -> Tuned:
        """Return the refitted best."""
        from sklearn.base import clone
        from sklearn.compose import TransformedTargetRegressor
        from sklearn.kernel_ridge import KernelRidge
        from sklearn.preprocessing import StandardScaler

        first = samples[0]
        ridge = KernelRidge(kernel="rbf", gamma=1 / first.X.shape[1])
        model = TransformedTargetRegressor(ridge, transformer=StandardScaler())
        search = _searched(model, {"regressor__alpha": np.geomspace(1e-4, 1e2, 7)}, first, self.folds)
        best = search.best_estimator_
        return Tuned(search, lambda sample: clone(best).fit(sample.X, sample.y), samples)


def _searched(model: Any, grid: dict[str, Any], sample: Sample, folds: int) -> Any:
    """Search a grid by the first so many of the five folds, and refit the best on all rows."""
    from sklearn.model_selection import GridSearchCV, KFold

    cv = list(KFold(FOLDS).split(sample.X))[:folds]
    search = GridSearchCV(model, grid, cv=cv, n_jobs=JOBS, scoring="neg_mean_squared_error")
    return search.fit(sample.X, sample.y)


def judge(tuned: Tuned, samples: Sequence[Sample]) -> Facts:
    """Return the mean test error over the splits, and its standard error."""
    return {"test error": float(tuned.errors.mean()), "s.e. of it": _standard_error(tuned.errors)}


def errors(tuned: Tuned, samples: Sequence[Sample]) -> Series:
    """Return the test error of every split."""
    return {"test errors": tuned.errors.tolist()}


def conclude(entries: Sequence[Entry]) -> Facts:
    """Return by how much our error is over that of each rival, split by split, with its standard error.

    And how many times as long as ours all of SVR's grid takes at least, where that was not all measured.

    Examples
    --------
    >>> ours = Entry("wine", "marginpath", (2.0,), series={"test errors": [0.5, 0.6]})
    >>> facts, errors = {_WHOLE: 2.25}, {"test errors": [0.5, 0.8]}
    >>> rival = Entry("wine", "4 of 7 C", (40.0,), ratios=(20.0,), facts=facts, series=errors)
    >>> for name, fact in conclude([ours, rival]).items():
    ...     print(f"{name}: {fact}")
    wine, our error less that of 4 of 7 C: -0.1000 ± 0.1000
    wine, all of 4 of 7 C over ours, at least: 45.0
    """
    ours = {entry.task: entry for entry in entries if entry.contestant == "marginpath"}
    facts: dict[str, float | str] = {}
    for entry in entries:
        own = ours.get(entry.task)
        if own is None or entry is own or not entry.series or not own.series:
            continue
        less = _test_errors(own) - _test_errors(entry)
        said = f"{less.mean():+.4f} ± {_standard_error(less):.4f}"
        facts[f"{entry.task}, our error less that of {entry.contestant}"] = said
        if " of 7 C" in entry.contestant and entry.ratio:
            times = float(entry.facts[_WHOLE]) * entry.ratio
            facts[f"{entry.task}, all of {entry.contestant} over ours, at least"] = round(times, 1)
    return facts


def _test_errors(entry: Entry) -> np.ndarray:
    return np.asarray(entry.series["test errors"], dtype=np.float64)


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def _error(model: Any, sample: Sample) -> float:
    off = model.predict(sample.X_test) - sample.y_test
    return float(np.sqrt(np.mean(off**2)) / np.std(sample.y_test))


BENCHMARK = Benchmark("regression", "how long to a tuned regression, and how good?", tasks, conclude)
