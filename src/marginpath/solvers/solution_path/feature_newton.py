"""Columns on few features, by Newton's method among the features: how many rows there are hardly matters.

In signed variables z = y∘u a column is min ½‖Xᵀz‖² + yᵀz over low ≤ z ≤ high, with Σ z_i = 0 where it is
tied. A proximal step adds ‖z − z'‖²/2σ, where z' is the point before. Its dual has no constraints: with v,
which is Xᵀz at the end, the offset β, and the gradients g = X v + β + y, it is

    min ½‖v‖² − Σ_i min_z (z g_i + (z − z'_i)²/2σ)   over v and β,   z_i = clip(z'_i − σ g_i, low_i, high_i),

smooth and piecewise quadratic: its gradient is v − Xᵀz and −Σ z_i, its second derivative that of ½‖v‖² and of
the rows between their bounds. Some Newton steps find the minimum, and a few proximal steps the solution.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays import blocks
from .feature_rows import DenseRows, SparseRows

_ENTRIES = 2**24  # numbers of the rows that are worked on, at most: 128 MB
_TIMES, _MORE = 4, 2048  # rows beside those that must move: so many times as many, and these
_PIECE = 8192  # rows whose copies are made at a time
_SPARE = 0.5  # of the gap asked for, what the rows that are worked on may keep
_FIRST, _LARGER = 1.0, 10.0  # σ, over the largest |z_i|, and its factor from step to step
_PROXIMAL, _NEWTON = 6, 40  # steps at most: proximal ones, and of Newton's method for each
_INNER = 1e-3  # of the gap, how far v may be from Xᵀz, and Σ z_i from 0, after a proximal step
_RIDGE = 0.1  # rows more in the curvature of β, which has none where no row is between its bounds
_FLAT = 0.1  # of a slope, what a search along a line leaves of it
_HALVINGS = 40


class Rows(NamedTuple):
    """Rows whose z may change, in float64; ``field`` and ``total`` are what all others contribute."""

    X: np.ndarray
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


def newton_column(group: Any, j: int, rows: DenseRows | SparseRows, start: Point, scores: np.ndarray) -> None:
    """Go to the solution in one column, from u, w and an offset with these scores: over the rows that matter.

    Those are between their bounds, on the wrong side for their u, or near a margin of 1. Where they are too
    many, nothing is done.
    """
    y, length = group.y[:, j].astype(np.float64), group.bound[j] * group.mass[:, j].astype(np.float64)
    low, high = np.where(y > 0, -length, 0), np.where(y > 0, 0, length)
    z, g = y * start.z, scores + y
    off = z * g - np.minimum(low * g, high * g)
    index = _chosen(length > 0, (low < z) & (z < high) | (off > 0), np.abs(g), _ENTRIES // rows.X.shape[1])
    primal = start.v @ start.v / 2 + np.sum(length * np.maximum(0, y * g))
    if not np.any(z[index]):
        return
    part, others = rows.take(index).X.astype(np.float64), z.copy()
    others[index] = 0
    rest = _exact_field(rows, others), float(np.sum(others)), bool(group.rho[j] > 0)
    own = Rows(part, y[index], low[index], high[index], *rest)
    end = solve_rows(own, start._replace(z=z[index]), _SPARE * group.tol * primal)
    if np.all(np.isfinite(end.v)):
        z[index] = end.z
        group.u[:, j], group.w[:, j], group.offset[j], group.total[j] = y * z, end.v, end.offset, np.sum(z)


def _chosen(there: np.ndarray, moving: np.ndarray, apart: np.ndarray, most: int) -> np.ndarray:
    """Return the rows that move and those least apart from a margin of 1; none where they are too many."""
    rank = np.where(there, np.where(moving, -1, apart), np.inf)
    count = int(np.sum(rank < 0))
    size = min(_TIMES * count + _MORE, most, int(np.sum(there)))
    if count > most or not size:
        return np.empty(0, dtype=np.int64)
    return np.sort(np.argpartition(rank, size - 1)[:size])


def _exact_field(rows: DenseRows | SparseRows, z: np.ndarray) -> np.ndarray:
    """Return Xᵀz in float64: where C is large, most of it cancels."""
    support, field = np.flatnonzero(z), np.zeros(rows.X.shape[1])
    for first, last in blocks(len(support), _PIECE):
        some = support[first:last]
        field += z[some] @ rows.take(some).X.astype(np.float64)
    return field


def solve_rows(rows: Rows, start: Point, gap: float) -> Point:
    """Return a point with v = Xᵀz whose duality gap is at most so much, or as near as some steps come."""
    sigma, point = _FIRST * float(np.max(np.abs(start.z))), start
    for _ in range(_PROXIMAL):
        point, done = _proximal(rows, point, sigma, gap)
        if done:
            break
        sigma *= _LARGER
    return point._replace(v=_field(rows, point.z))


def _proximal(rows: Rows, last: Point, sigma: float, gap: float) -> tuple[Point, bool]:
    """Return the point after a proximal step, and whether the gap is small enough there."""
    (z, v, offset), done = last, False
    g = rows.X @ v + (offset + rows.y)
    for _ in range(_NEWTON):
        aim = last.z - sigma * g
        z = np.clip(aim, rows.low, rows.high)
        slope = v - _field(rows, z)
        excess = rows.total + float(np.sum(z)) if rows.tied else 0.0
        untied = (1 + abs(offset)) * abs(excess)  # what the constraint may add, and itself
        off = slope @ slope / 2 + untied
        if _gap(rows, z, g) + off <= gap:
            done = _gap(rows, z, g - rows.X @ slope) + untied <= gap
            if done:
                break
        elif off <= _INNER * gap:
            break
        free = (rows.low < aim) & (aim < rows.high)
        way, turn = _direction(rows.X[free], slope, excess, sigma, rows.tied)
        along = rows.X @ way + turn
        line = way @ (v - rows.field) - rows.total * turn, way @ way
        t = _search(rows, last.z - sigma * g, sigma * along, along, line)
        v, offset, g = v + t * way, offset + t * turn, g + t * along
    return Point(z, v, offset), done


def _field(rows: Rows, z: np.ndarray) -> np.ndarray:
    return np.asarray(rows.field + z @ rows.X)


def _gap(rows: Rows, z: np.ndarray, g: np.ndarray) -> float:
    """Return by how much the rows miss the optimality conditions: where v = Xᵀz and Σ z_i = 0, the gap."""
    return float(z @ g - np.sum(np.minimum(rows.low * g, rows.high * g)))


def _direction(
    free: np.ndarray, slope: np.ndarray, excess: float, sigma: float, tied: bool
) -> tuple[np.ndarray, float]:
    """Return the Newton step of v and of the offset."""
    d = len(slope)
    matrix = np.zeros((d + 1, d + 1))
    matrix[:d, :d] = sigma * (free.T @ free)
    matrix[:d, d] = matrix[d, :d] = sigma * np.sum(free, axis=0) * tied
    matrix[np.diag_indices(d)] += 1
    matrix[d, d] = sigma * (len(free) + _RIDGE)
    way = np.linalg.solve(matrix, np.append(-slope, excess))
    return way[:d], float(way[d])


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
