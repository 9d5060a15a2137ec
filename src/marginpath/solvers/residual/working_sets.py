"""A column of a regression on its way to the solution, from working set to working set.

The dual of one column, with its field f = K a, is

    min ½ aᵀK a − yᵀa + ε‖a‖₁ + ½ Σ r_i a_i²   over   low ≤ a ≤ high,   r_i = c λ / mass_i.

A set is solved by exact steps in the coordinate that gains most. Where these take too long, many samples are
between their bounds and K is nearly singular on them: then by an interior-point method, each sample on its
side of 0. One that wants to the other side stops at 0, and the next set has it on that side.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays import blocks
from ...gram.base import Gram
from .interior import minimise_in_box

_SET = 1024  # samples in a set, at most; up to six times as many where more are between their bounds
# Coordinate steps in a set, over its size: so many, and one more for so many samples. What they take grows
# like the square, factors like the cube.
_STEPS, _MORE = 10, 30
_SAME = 0.01  # of a set that is new: what is open is not due to others
_SPARE = 0.1  # of the gap asked for that the interior-point method may keep


class Column(NamedTuple):
    """One column: targets, the box, r, ε, and where it stands; a and f = K a change in place."""

    y: np.ndarray
    low: np.ndarray
    high: np.ndarray
    ridge: np.ndarray
    epsilon: float
    a: np.ndarray
    f: np.ndarray


def solve(gram: Gram, column: Column, tol: float, sweeps: int, stop: np.ndarray) -> None:
    """Work on sets of samples until the duality gap is at most tol times the primal objective.

    All sets together have at most as many samples as so many sweeps visit: of many rows, one set is few.
    """
    from .compiled import plan

    spare, before, left = _SPARE * tol, np.zeros(len(column.a), dtype=bool), sweeps * len(column.a)
    while left > 0:
        index, eps, objective = plan(*column, tol, _SET)
        if not len(index) or stop[0]:
            return
        left -= len(index)
        if np.count_nonzero(~before[index]) <= _SAME * len(index):
            spare /= 10  # at a large C, a small dual error may be a large primal one
        before[:] = False
        before[index] = True
        M = _matrix(gram, index)
        M.flat[:: len(index) + 1] += column.ridge[index]
        new = improve(M, column, index, eps, spare * objective, gram.dtype)
        moved = new != column.a[index]
        if not moved.any():
            return
        _follow(gram, index[moved], (new - column.a[index])[moved], column.f)
        column.a[index] = new


def improve(
    M: np.ndarray, column: Column, index: np.ndarray, eps: float, accuracy: float, dtype: Any
) -> np.ndarray:
    """Return where the samples of a set go, M is theirs: to violations of at most eps, or the accuracy."""
    from .compiled import steps_in_set

    a: np.ndarray = column.a[index]
    low, high = column.low[index], column.high[index]
    slope = column.f[index] - column.y[index] + column.ridge[index] * a
    limit = (_STEPS + len(a) // _MORE) * len(a)
    if steps_in_set(M, low, high, column.epsilon, a, slope, eps, limit):
        return a
    if column.epsilon > 0:
        side = np.where(a != 0, np.sign(a), -np.sign(slope))
        low, high = np.where(side > 0, 0.0, low), np.where(side < 0, 0.0, high)
        slope = slope + column.epsilon * side
    return minimise_in_box(M, slope - M @ a, low, high, a, accuracy, dtype)


def _matrix(gram: Gram, index: np.ndarray) -> np.ndarray:
    """Return K of some samples, in float64."""
    from ..solution_path.column import gather

    matrix = np.empty((len(index), len(index)))
    for first, last in blocks(len(index), gram.chunk):
        with gram.lend(index[first:last]) as (rows, where):
            gather(index, where, rows, matrix[first:last])
    return matrix


def _follow(gram: Gram, index: np.ndarray, steps: np.ndarray, f: np.ndarray) -> None:
    """Add the rows of the samples, each times its step, to the field."""
    from ..solution_path.column import follow

    for first, last in blocks(len(index), gram.chunk):
        with gram.lend(index[first:last]) as (rows, where):
            follow(rows, where, steps[first:last], f)
