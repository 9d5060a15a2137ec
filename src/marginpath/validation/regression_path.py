"""Cross-validation along a path of regressions: folds and all the data as columns of one run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from ..arrays import Array, to_numpy
from ..gram.base import Gram
from ..gram.landmarks import landmark_observer
from ..losses import ResidualLoss
from ..path.path import Path
from ..path.run import resume, run
from ..path.stopping import NoImprovement
from ..problem import Problem, RegressionProblem
from ..solvers import ResidualSweeps
from ..solvers.base import State
from .scores import takes_weight
from .selection import SELECTIONS, smoothed, standard_error

_FOLDS = 3  # whose agreement says something
_BEGUN = 0.9  # of the loss at the start: with more, the path has fitted nothing yet

Scoring = str | Callable[..., float] | None

#: Scorers that are a mean, which scikit-learn takes a millisecond for: minus that of these costs.
_COSTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "neg_mean_squared_error": np.square,
    "neg_mean_absolute_error": np.abs,
}


@dataclass(frozen=True)
class RegressionValidation:
    """What a cross-validated path of regressions needs beside its solver.

    A fold is a column in which its test rows do not count; the last column has all of them. The targets of
    each are taken relative to the location of its own training rows: what is not penalized of an intercept.

    Parameters
    ----------
    gram : Gram
        The kernel matrix of all the samples: one for all folds.
    y : array (n,)
        Targets.
    splits : list of arrays of int
        The test rows of each fold; none, for a path without folds.
    loss : ResidualLoss
        It also says what the location is: mean, median or quantile.
    scoring : str or callable, optional
        A scorer of predictions. None is minus the mean squared error for least squares, minus the mean
        quantile loss for a quantile, and else minus the mean absolute error.
    sample_weight : array (n,), optional
        Of the fit and of the scores.
    centred : bool
        Whether the targets are taken relative to their location.

    Examples
    --------
    >>> import marginpath as mp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 2))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(60)
    >>> folds = [np.arange(60)[j::3] for j in range(3)]
    >>> validation = RegressionValidation(mp.Gram.from_kernel(X, "rbf", sigma=1.0), y, folds, mp.Absolute())
    >>> path = validation.run(mp.ResidualSweeps(mp.Absolute()), steps=30)
    >>> bool(path["scores"][validation.choose(path, "best")].mean() > -0.15)
    True
    """

    gram: Gram
    y: np.ndarray
    splits: list[np.ndarray]
    loss: ResidualLoss
    scoring: Scoring = None
    sample_weight: np.ndarray | None = None
    centred: bool = True

    @cached_property
    def locations(self) -> np.ndarray:
        """The location of the targets of every fold's training rows, and of all; 0 where not centred."""
        if not self.centred:
            return np.zeros(len(self.splits) + 1)
        weight = np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight
        outside = [np.setdiff1d(np.arange(len(self.y)), test) for test in self.splits]
        rows = [*outside, np.arange(len(self.y))]
        return np.array([location(self.y[own], weight[own], self.loss) for own in rows])

    @property
    def problem(self) -> RegressionProblem:
        """The problem with a column for each fold, and one for all the data."""
        counted = np.ones((len(self.y), len(self.splits) + 1))
        for j, test in enumerate(self.splits):
            counted[test, j] = 0
        return RegressionProblem(
            self.gram, self.y[:, None] - self.locations, self.sample_weight, counted=counted
        )

    def run(
        self,
        solver: ResidualSweeps,
        steps: int,
        growth: float = 8.0,
        before: Path | None = None,
        **limits: Any,
    ) -> Path:
        """Follow the path, or go on with one, until 1/λ has grown by the factor since the best score.

        A part of that is enough where the folds agree that the score fell: late steps take longest. Three
        times the way is needed while the training rows are hardly fitted: what scores do there is chance.
        """
        stop = _ScoresFell(growth, self.loss) if self.splits else None
        problem = self.problem
        if before is not None:
            return resume(before, problem, steps, observe=self._observers, stop=stop, **limits)
        models = np.array([len(self.splits)])
        return run(solver, problem, steps, observe=self._observers, stop=stop, models=models, **limits)

    def choose(self, path: Path, selection: str = "smooth") -> int:
        """Return the step that the scores choose, or the last one without folds."""
        if selection not in SELECTIONS:
            raise ValueError(f"selection must be one of {', '.join(SELECTIONS)}, got {selection!r}.")
        if not self.splits:
            return int(path.steps[-1])
        scores, C = path["scores"][1:], path["bound"][1:]  # the start, f = 0, is no regression
        mean = scores.mean(axis=1)
        means = smoothed(mean, C) if selection == "smooth" else mean
        best = int(
            np.argmax(means >= means.max() - 1e-9 * abs(means.max()))
        )  # the first, whatever the rounding
        if selection == "one_se":
            best = int(np.argmax(mean >= mean[best] - standard_error(scores[best])))
        return int(path.steps[1 + best])

    @property
    def _observers(self) -> dict[str, Any]:
        whole = landmark_observer(self.gram, np.array([len(self.splits)]))
        observers: dict[str, Any] = {"bound": _largest_bound, "gap": _largest_gap, **whole}
        return observers | ({"scores": self._scores, "out_of_fold": self._out_of_fold} if self.splits else {})

    def _out_of_fold(self, problem: Problem, state: State) -> Array:
        """Return what the last fold that held a sample out predicts; NaN where none did."""
        values, locations = np.full(len(self.y), np.nan), self.locations
        for j, test in enumerate(self.splits):
            values[test] = locations[j] - to_numpy(state.scores)[test, j]
        return values

    def _scores(self, problem: Problem, state: State) -> Array:
        """Return the score of every fold."""
        scores, locations = to_numpy(state.scores).astype(np.float64), self.locations
        return np.array(
            [self._score(locations[j] - scores[test, j], test) for j, test in enumerate(self.splits)]
        )

    def _score(self, predicted: np.ndarray, test: np.ndarray) -> float:
        weight = None if self.sample_weight is None else self.sample_weight[test]
        return regression_score(predicted, self.y[test], self.loss, self.scoring, weight)


def regression_score(
    predicted: np.ndarray,
    y: np.ndarray,
    loss: ResidualLoss,
    scoring: Scoring = None,
    weight: np.ndarray | None = None,
) -> float:
    """Return the score of predictions, the higher the better: that of the scorer, or what suits the loss.

    Examples
    --------
    >>> import marginpath as mp
    >>> regression_score(np.array([1.0, 2.0]), np.array([1.0, 4.0]), mp.LeastSquares())
    -2.0
    """
    cost = _COSTS.get(scoring) if isinstance(scoring, str) else None
    if scoring is not None and cost is None:
        from sklearn.metrics import get_scorer

        scorer = get_scorer(scoring)
        extra = {"sample_weight": weight} if weight is not None and takes_weight(scorer) else {}
        return float(scorer(_Predicted(predicted), predicted, y, **extra))
    values = (cost or loss.error)(y - predicted)
    if weight is not None and not weight.any():
        weight = None
    return -float(np.average(values, weights=weight))


def location(y: np.ndarray, weight: np.ndarray, loss: ResidualLoss) -> float:
    """Return the constant that fits best: the mean, the median, or the quantile, of weighted values.

    Examples
    --------
    >>> import marginpath as mp
    >>> y, weight = np.array([0.0, 1.0, 5.0]), np.array([1.0, 1.0, 2.0])
    >>> [location(y, weight, loss) for loss in (mp.LeastSquares(), mp.Quantile(0.25))]
    [2.75, 0.0]
    """
    if not weight.any():
        return 0.0
    if loss.share is None:
        return float(np.average(y, weights=weight))
    order = np.argsort(y, kind="stable")
    below = np.cumsum(weight[order])
    return float(y[order][np.searchsorted(below, loss.share * below[-1] * (1 - 1e-12))])


@dataclass(frozen=True)
class _ScoresFell:
    """Stop where 1/λ has grown by the factor since the best mean score; by less the more the folds agree.

    What they lost, over its standard error: from 1 on two thirds of the way are enough, on a scale of
    logarithms, from 2 on a third. The way is three times as long while nothing is fitted.
    """

    growth: float
    loss: ResidualLoss

    def __call__(self, problem: Problem, state: State, path: Path) -> Array:
        scores = path["scores"][1:]
        lost = scores[int(scores.mean(axis=1).argmax())] - scores[-1]
        error = lost.std(ddof=1) / np.sqrt(len(lost)) if len(lost) >= _FOLDS else np.inf
        sure = int(lost.mean() > error) + int(lost.mean() > 2 * error)
        done = NoImprovement("scores", self.growth / np.cbrt(self.growth) ** sure)(problem, state, path)
        if np.any(done) and not self._has_begun(problem, state):
            return NoImprovement("scores", self.growth**3)(problem, state, path)
        return done

    def _has_begun(self, problem: Any, state: State) -> bool:
        """Whether the column of all the data fits its rows better than a constant does."""
        now, start = (
            float(np.sum(problem.mass[:, -1] * self.loss.value(residuals[:, -1])))
            for residuals in (problem.residuals(state.scores), problem.targets)
        )
        return now <= _BEGUN * start


class _Predicted(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted regressor that knows its predictions, for scikit-learn's scorers."""

    def __init__(self, predicted: np.ndarray) -> None:
        self.predicted = predicted

    def predict(self, X: object) -> np.ndarray:
        return self.predicted


def _largest_gap(problem: Problem, state: Any) -> Array:
    return problem.xp.max(state.gap)


def _largest_bound(problem: Problem, state: State) -> Array:
    return problem.xp.max(state.bound)
