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


class Account(NamedTuple):
    """What a column may still take: samples in its sets, the gap of a set. And which were in the last one."""

    left: np.ndarray
    spare: np.ndarray
    before: np.ndarray


def solve(gram: Gram, column: Column, tol: float, sweeps: int, stop: np.ndarray) -> float:
    """Work on sets of samples until the duality gap is at most tol times the primal objective; return it so.

    All sets together have at most as many samples as so many sweeps visit: of many rows, one set is few.
    """
    from .sets_compiled import solve_sets, survey, take

    n = len(column.a)
    account = Account(np.array([sweeps * n]), np.array([_SPARE * tol]), np.zeros(n, dtype=bool))
    while True:
        given = column, tol, _SET, account, stop
        hard = _solve_sets(gram, *given) if gram.matrix is None else solve_sets(gram.matrix, *given)
        index, M, a, slope, objective = hard
        if not len(index):
            break
        new = _within_sides(M, index, column, a, slope, account.spare[0] * objective, gram.dtype)
        moved, steps = take(index, new, column.a)
        if not len(moved):
            break
        _follow(gram, moved, steps, column.f)
    _, gap, primal, _, _ = survey(column)
    return float(gap / primal) if primal > 0 else float(gap)


def _solve_sets(gram: Gram, column: Column, tol: float, size: int, account: Account, stop: np.ndarray) -> Any:
    """Do what the compiled function of that name does, with rows that the Gram matrix lends."""
    from .sets_compiled import improve, next_set, take

    while True:
        index, eps, objective = next_set(column, tol, size, account)
        M = _matrix(gram, index)
        if not len(index) or stop[0]:
            return index[:0], M, column.a[:0], column.a[:0], objective
        solved, new, slope = improve(M, index, column, eps)
        if not solved:
            return index, M, new, slope, objective
        moved, steps = take(index, new, column.a)
        if not len(moved):
            return index[:0], M, new, slope, objective
        _follow(gram, moved, steps, column.f)


def _within_sides(
    M: np.ndarray,
    index: np.ndarray,
    column: Column,
    a: np.ndarray,
    slope: np.ndarray,
    accuracy: float,
    dtype: Any,
) -> np.ndarray:
    """Return the minimum in a set, within the accuracy, where each sample stays on its side of 0."""
    low, high = column.low[index], column.high[index]
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
