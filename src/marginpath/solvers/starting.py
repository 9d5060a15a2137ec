"""What a first state needs of settings and data: a starting point, a first λ, a scale, a step size."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..arrays import Array, is_numpy, to_numpy
from ..gram.base import Gram
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


def require_zero(solver: Any, start: Array | None) -> None:
    """Refuse a start other than u = 0."""
    if start is not None:
        raise ValueError(f"{type(solver).__name__} starts at u = 0; pass no start, or use DualDescent.")


def require_numpy(name: str, gram: Gram) -> None:
    """Refuse a Gram matrix that is not of NumPy arrays."""
    if not is_numpy(gram.diagonal):
        raise TypeError(
            f"{name} works on NumPy arrays, but this Gram matrix holds {type(gram.diagonal).__name__}. Use "
            f"DualDescent, which runs on any array library."
        )


def first_lambda(problem: Problem, scores: Array) -> float:
    """Return where a path leaves the solution with all samples at the bound, max_i y_i (K y)_i; 1 if none is.

    The scores are K(Y∘mass).
    """
    largest = float(problem.xp.max(problem.Y * scores * problem.box_scale))
    return largest if largest > 0 else 1.0


def check_settings(solver: Any, *counts: str) -> None:
    """Refuse settings that make no sense: ratio, tol, and the named counts."""
    if not 1 < solver.ratio < np.inf:
        raise ValueError(f"ratio must be a finite number over 1, got {solver.ratio!r}.")
    if not 0 <= solver.tol < 1:
        raise ValueError(f"tol must be at least 0 and under 1, got {solver.tol!r}.")
    for name in counts:
        if getattr(solver, name) < 1:
            raise ValueError(f"{name} must be at least 1, got {getattr(solver, name)!r}.")


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
