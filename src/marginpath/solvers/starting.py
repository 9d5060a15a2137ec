"""What a first state needs of the data: a starting point, a scale, a step size."""

from __future__ import annotations

import warnings

import numpy as np

from ..arrays import Array, to_numpy
from ..problem import Problem


def starting_point(problem: Problem, start: Array | None, *, largest: float = 0.0) -> Array:
    """Return u = 0, or the given u up to the largest allowed, with zeros for samples that do not count."""
    xp = problem.xp
    if start is None:
        return xp.zeros_like(problem.Y)
    u = to_numpy(start)
    if u.shape != problem.shape or not np.all(np.isfinite(u) & (u <= largest)):
        raise ValueError(
            f"start must be a finite u{' ≤ 0' if largest == 0 else ''} of the shape of y, "
            f"{problem.shape}; got shape {u.shape} with "
            f"values from {np.min(u, initial=np.inf):.3g} to {np.max(u, initial=-np.inf):.3g}. Pass the u "
            f"of a path, or None for u = 0."
        )
    u = xp.asarray(u, dtype=problem.gram.dtype, device=problem.gram.device)
    return xp.where(problem.mass > 0, u, xp.zeros_like(u))


def squared_radius(problem: Problem) -> Array:
    """Return κ² = max K_ii over the samples of each column; 1 where all of them are zero."""
    xp = problem.xp
    diagonal = xp.reshape(problem.gram.diagonal, (-1, *(1 for _ in problem.shape[1:])))
    inside = xp.where(problem.mass > 0, diagonal, xp.zeros_like(problem.mass))
    largest = xp.max(inside, axis=0)
    return xp.where(largest > 0, largest, xp.ones_like(largest))


def chosen_step(problem: Problem, given: float | None, safe: Array, limit: Array) -> Array:
    """Return the step size of each column, the one given or the safe one; warn where it is over the limit."""
    if given is None:
        return safe
    smallest = float(problem.xp.min(limit))
    if given > 1.001 * smallest:
        warnings.warn(
            f"step_size = {given:.6g} is over {smallest:.6g}, up to which the method is proved to converge. "
            f"Use {float(problem.xp.min(safe)):.6g}, or None for a safe choice.",
            stacklevel=4,
        )
    return problem.xp.full_like(safe, given)
