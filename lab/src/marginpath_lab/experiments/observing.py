"""Which steps of a run the experiments look at, and averages over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from marginpath.metrics import Metric
from marginpath.problem import Problem
from marginpath.solvers.base import State


def spaced_steps(last: int, per_decade: int = 40) -> np.ndarray:
    """Return steps from 1 to the last, evenly spaced in their logarithm; 200 is among them.

    Examples
    --------
    >>> spaced_steps(5)
    array([1, 2, 3, 4, 5])
    """
    count = max(2, round(per_decade * np.log10(last)) + 1)
    steps = np.geomspace(1, last, count).round().astype(int)
    wanted: np.ndarray = np.union1d(steps, [200]) if last > 200 else np.unique(steps)
    return wanted


@dataclass(frozen=True, eq=False)
class At:
    """A metric at some steps only; NaN, at no cost, at the others."""

    steps: frozenset[int]
    metric: Metric

    def __call__(self, problem: Problem, state: State) -> Any:
        """Return the metric, or NaN for every column."""
        if state.t in self.steps:
            return self.metric(problem, state)
        return np.full(problem.shape[1:], np.nan)


def average(steps: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the mean of values (…, steps) over all updates from the first observed to the last.

    Between two observed steps a straight line is assumed.

    Examples
    --------
    >>> average(np.array([1, 2, 4]), np.array([1.0, 2.0, 4.0])).item()
    2.5
    """
    mean: np.ndarray = np.trapezoid(values, steps, axis=-1) / (steps[-1] - steps[0])
    return mean
