"""Stopping rules: (problem, state, path) → which columns are done.

A rule keeps no memory of its own: what it needs of the past is in the path.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Array
from .certificates import state_margin_bounds
from .path import Path
from .problem import Problem
from .solvers.base import State


@dataclass(frozen=True)
class CertifiedMargin:
    """Stop where the certified interval of the maximum margin is narrow: upper − lower ≤ tol · upper.

    Examples
    --------
    >>> import marginpath as mp
    >>> data = mp.datasets.toy()
    >>> problem = mp.Problem(mp.Gram.linear(data.X), data.y)
    >>> solver = mp.DualDescent(mp.PowerDecay(4.0), mp.Inertia(30))
    >>> path = mp.run(solver, problem, steps=5000, stop=CertifiedMargin(1e-6))
    >>> path.status.value
    'stopped'
    """

    tol: float = 1e-4

    def __post_init__(self) -> None:
        if not 0 < self.tol < 1:
            raise ValueError(f"tol must be between 0 and 1, got {self.tol!r}.")

    def __call__(self, problem: Problem, state: State, path: Path) -> Array:
        """Return whether the relative gap is at most tol."""
        lower, upper = state_margin_bounds(problem, state)
        return (lower > 0) & (upper - lower <= self.tol * upper)


@dataclass(frozen=True)
class NoImprovement:
    """Stop when a score has not improved while 1/λ grew by a factor.

    The score is what the path observed under ``name`` (several numbers, such as one a fold, are averaged),
    larger is better; the path must observe ``bound``, the box size 1/λ. A plateau at the start, where the
    score has its first value, does not count: there, every sample is given to the larger class.

    Parameters
    ----------
    name : str
    growth : float
        The factor of patience.
    """

    name: str
    growth: float = 10.0

    def __post_init__(self) -> None:
        if not self.growth > 1:
            raise ValueError(f"growth must be over 1, got {self.growth!r}.")

    def __call__(self, problem: Problem, state: State, path: Path) -> Array:
        """Return the same answer for every column."""
        score = (
            np.asarray(path.rows[self.name][1:], dtype=float).reshape(len(path.steps) - 1, -1).mean(axis=1)
        )
        bound = np.asarray(path.rows["bound"][1:], dtype=float)
        left = np.flatnonzero(score != score[0])
        best = max(int(np.argmax(score)), int(left[0]) if left.size else len(score) - 1)
        done = bound[-1] >= self.growth * bound[best]
        return np.full(problem.shape[1:], done)
