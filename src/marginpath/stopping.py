"""Stopping rules: (problem, state, path) → which columns are done.

A rule keeps no memory of its own: what it needs of the past is in the path.
"""

from __future__ import annotations

from dataclasses import dataclass

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
