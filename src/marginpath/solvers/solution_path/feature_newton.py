"""Columns on few features, by Newton's method among the features: how many rows there are hardly matters.

In signed variables z = y∘u a column is min ½‖Xᵀz‖² + yᵀz over low ≤ z ≤ high, with Σ z_i = 0 where it is
tied. A proximal step adds ‖z − z'‖²/2σ, where z' is the point before. Its dual has no constraints: with v,
which is Xᵀz at the end, the offset β, and the gradients g = X v + β + y, it is

    min ½‖v‖² − Σ_i min_z (z g_i + (z − z'_i)²/2σ)   over v and β,   z_i = clip(z'_i − σ g_i, low_i, high_i),

smooth and piecewise quadratic: its gradient is v − Xᵀz and −Σ z_i, its second derivative that of ½‖v‖² and of
the rows between their bounds. Some Newton steps find the minimum, and a few proximal steps the solution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...arrays import blocks
from ...gram.scaled import Scaled
from .feature_rows import DenseRows, SparseRows

_TIMES, _MORE = 4, 2048  # rows beside those that must move: so many times as many, and these
_PIECE = 2**18  # numbers of rows that are copied in float64 at a time: 2 MB
_SPARE = 0.5  # of the gap asked for, what the rows that are worked on may keep
_FIRST, _LARGER = 1.0, 10.0  # σ, over the largest |z_i|, and its factor from step to step
_PROXIMAL, _NEWTON = 6, 40  # steps at most: proximal ones, and of Newton's method for each
_INNER = 1e-3  # of the gap, how far v may be from Xᵀz, and Σ z_i from 0, after a proximal step
_ROUNDED = 1e-14  # of the largest curvature, what every feature has at least: 1 may be lost beside it
_RIDGE = 0.1  # rows more in the curvature of β, which has none where no row is between its bounds
_FLAT = 0.1  # of a slope, what a search along a line leaves of it
_HALVINGS = 40


class Rows(NamedTuple):
    """Rows whose z may change; ``field`` and ``total`` are what all others contribute."""

    X: Scaled
    y: np.ndarray
    low: np.ndarray
    high: np.ndarray
    field: np.ndarray
    total: float
    tied: bool


class Point(NamedTuple):
    """Where a column stands: z of the rows, v near Xᵀz, and the offset."""

    z: np.ndarray
    v: np.ndarray
    offset: float


def newton_column(group: Any, j: int, rows: DenseRows | SparseRows, start: Point, scores: np.ndarray) -> bool:
    """Go to the solution in one column, from z, w and an offset with these scores: over the rows that matter.

    Those are between their bounds, on the wrong side for their z, or near a margin of 1. Where more than a
    share ``group.most`` have to move, nothing is done. Return whether it was tried.
    """
    from .sweeping import ranked

    y, z, bound = group.y[:, j], start.z.copy(), float(group.bound[j])
    rank, loss = ranked(y, group.mass[:, j], bound, z, scores)
    index = _first(rank, group.most)
    if not np.any(z[index]):
        return False
    signs, length = y[index].astype(np.float64), bound * group.mass[index, j].astype(np.float64)
    low, high, begin = np.where(signs > 0, -length, 0), np.where(signs > 0, 0, length), z[index]
    z[index] = 0
    rest = _field_of(rows, z), float(np.sum(z)), bool(group.rho[j] > 0)
    part, primal = rows.X if len(index) == len(z) else rows.take(index).X, start.v @ start.v / 2 + loss
    own = Rows(part, signs, low, high, *rest)
    try:
        end = solve_rows(own, start._replace(z=begin), _SPARE * group.tol * primal, group.stopped)
    except np.linalg.LinAlgError:  # of numbers that are too large, or not finite
        return True
    if np.all(np.isfinite(end.v)):
        z[index] = end.z
        group.u[:, j], group.w[:, j], group.offset[j], group.total[j] = y * z, end.v, end.offset, np.sum(z)
    return True


def _first(rank: np.ndarray, most: float) -> np.ndarray:
    """Return the rows that have to move and those next to a margin of 1; none where too many move.

    Where that is more than half of them, all are returned: these need no copy.
    """
    count, there = int(np.sum(rank < 0)), int(np.sum(rank < np.inf))
    size = min(_TIMES * count + _MORE, there)
    if count > most * there or not size:
        return np.empty(0, dtype=np.int64)
    return np.arange(len(rank)) if 2 * size > len(rank) else np.sort(np.argpartition(rank, size - 1)[:size])


def _field_of(rows: DenseRows | SparseRows, z: np.ndarray) -> np.ndarray:
    """Return Xᵀz in float64: where C is large, most of it cancels."""
    from .sweeping import add_rows_times

    support, field = np.flatnonzero(z), np.zeros((1, rows.X.shape[1]))
    for first, last in blocks(len(support), max(1, _PIECE // field.size)):
        some = support[first:last]
        add_rows_times(rows.take(some).X.numbers, 0, len(some), z[some, None], field)
    return np.asarray(field[0] * rows.X.units)


def solve_rows(rows: Rows, start: Point, gap: float, stopped: Callable[[], bool] = lambda: False) -> Point:
    """Return a point with v = Xᵀz whose duality gap is at most so much, or as near as some steps come."""
    sigma, point = _FIRST * float(np.max(np.abs(start.z))), start
    for _ in range(_PROXIMAL):
        point, done = _proximal(rows, point, sigma, gap, stopped)
        if done or stopped():
            break
        sigma *= _LARGER
    return point._replace(v=_field(rows, point.z))


def _proximal(
    rows: Rows, last: Point, sigma: float, gap: float, stopped: Callable[[], bool]
) -> tuple[Point, bool]:
    """Return the point after a proximal step, and whether the gap is small enough there."""
    (z, v, offset), done, curvature = last, False, Curvature(rows.X)
    g = _scores(rows, v) + (offset + rows.y)
    for _ in range(_NEWTON):
        aim = last.z - sigma * g
        z = np.clip(aim, rows.low, rows.high)
        slope = v - _field(rows, z)
        excess = rows.total + float(np.sum(z)) if rows.tied else 0.0
        untied = (1 + abs(offset)) * abs(excess)  # what the constraint may add, and itself
        off = slope @ slope / 2 + untied
        if _gap(rows, z, g) + off <= gap:
            done = _gap(rows, z, g - _scores(rows, slope)) + untied <= gap
            if done:
                break
        elif off <= _INNER * gap:
            break
        if stopped():
            break
        way, turn = curvature.direction((rows.low < aim) & (aim < rows.high), slope, excess, sigma, rows.tied)
        along = _scores(rows, way) + turn
        line = way @ (v - rows.field) - rows.total * turn, way @ way
        t = _search(rows, aim, sigma * along, along, line)
        v, offset, g = v + t * way, offset + t * turn, g + t * along
    return Point(z, v, offset), done


def _scores(rows: Rows, v: np.ndarray) -> np.ndarray:
    """Return X v in float64, without a copy of X."""
    from .sweeping import score_rows

    out = np.empty((1, len(rows.X)))
    score_rows(rows.X.numbers, (v * rows.X.units)[None], 0, len(rows.X), out)
    return np.asarray(out[0])


def _field(rows: Rows, z: np.ndarray) -> np.ndarray:
    """Return Xᵀz with what the other rows contribute, in float64."""
    from .sweeping import add_rows_times

    field = np.zeros((1, rows.X.shape[1]))
    add_rows_times(rows.X.numbers, 0, len(z), z[:, None], field)
    return np.asarray(rows.field + field[0] * rows.X.units)


def _gap(rows: Rows, z: np.ndarray, g: np.ndarray) -> float:
    """Return by how much the rows miss the optimality conditions: where v = Xᵀz and Σ z_i = 0, the gap."""
    return float(z @ g - np.sum(np.minimum(rows.low * g, rows.high * g)))


class Curvature:
    """Σ x xᵀ over the rows between their bounds, with a last feature of 1; few come and go at a time."""

    def __init__(self, X: Scaled) -> None:
        self.X, self.free = X, np.zeros(len(X), dtype=np.bool_)
        self.matrix = np.zeros((X.shape[1] + 1, X.shape[1] + 1))

    def direction(
        self, free: np.ndarray, slope: np.ndarray, excess: float, sigma: float, tied: bool
    ) -> tuple[np.ndarray, float]:
        """Return the Newton step of v and of the offset, where these rows are between their bounds."""
        self._follow(free)
        matrix, d = sigma * self.matrix, len(slope)
        matrix[:d, d] *= tied
        matrix[d, :d] *= tied
        own = np.diag_indices(d)
        matrix[own] += max(1.0, _ROUNDED * float(np.max(matrix[own], initial=0)))
        matrix[d, d] += sigma * _RIDGE
        way = np.linalg.solve(matrix, np.append(-slope, excess))
        return way[:d], float(way[d])

    def _follow(self, free: np.ndarray) -> None:
        come, gone = np.flatnonzero(free & ~self.free), np.flatnonzero(self.free & ~free)
        if len(come) + len(gone) < np.sum(free):
            self._add(come, 1)
            self._add(gone, -1)
        else:
            self.matrix[...] = 0
            self._add(np.flatnonzero(free), 1)
        self.free = free

    def _add(self, index: np.ndarray, sign: int) -> None:
        """Add these rows, block by block: no copy is larger than a piece."""
        d = self.X.shape[1]
        for first, last in blocks(len(index), max(1, _PIECE // d)):
            some = np.ones((last - first, d + 1))
            some[:, :d] = self.X[index[first:last]]
            self.matrix += sign * (some.T @ some)


def _search(
    rows: Rows, aim: np.ndarray, fall: np.ndarray, along: np.ndarray, line: tuple[float, float]
) -> float:
    """Return the step along a line to where its slope is nearly 0; the slope rises."""
    first, least, most = 0.0, 0.0, np.inf
    for number in range(_HALVINGS):
        t = 0.0 if number == 0 else (2 * least or 1.0) if most == np.inf else (least + most) / 2
        slope = line[0] + t * line[1] - float(np.clip(aim - t * fall, rows.low, rows.high) @ along)
        if number == 0:
            first = slope
        elif abs(slope) <= _FLAT * abs(first):
            break
        if slope > 0:
            most = t
        else:
            least = t
    return t
