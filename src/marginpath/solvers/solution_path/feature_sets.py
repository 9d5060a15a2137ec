"""Rows that the columns of a group still work on, solved as sets on their Gram matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from .feature_rows import DenseRows, SparseRows

#: Rows of a set at most: their matrix has 64 MB in float32.
LARGEST_SET = 4096
_FEWEST, _MORE = 512, 0.5  # rows that are near a margin beside the active ones, at least and over these
_SHARE = 0.1  # of the violation that is left of a set


class RowSet:
    """Some of the rows with their Gram matrix, to which others can be added."""

    def __init__(self, rows: DenseRows | SparseRows) -> None:
        self.rows = rows
        self._clear()

    def _clear(self) -> None:
        self.index = np.empty(0, dtype=np.int64)
        self.part = self.rows.take(self.index)
        self.matrix = np.empty((0, 0), dtype=self.rows.dtype)

    def add(self, wanted: np.ndarray) -> None:
        """Let these rows be in it; where that is too many, these alone."""
        fresh = np.setdiff1d(wanted, self.index, assume_unique=True)
        if len(self.index) + len(fresh) > LARGEST_SET:
            self._clear()
            fresh = wanted
        if not len(fresh):
            return
        before, m = self.matrix, len(self.index)
        self.index = np.concatenate([self.index, fresh])
        self.part = self.rows.take(self.index)
        self.matrix = np.empty((len(self.index), len(self.index)), dtype=before.dtype)
        self.matrix[:m, :m] = before
        self.matrix[m:, m:] = self.rows.take(fresh).gram()
        self.matrix[m:, :m] = self.rows.take(fresh).times_rows(self.rows.take(self.index[:m]))
        self.matrix[:m, m:] = self.matrix[m:, :m].T


def near_rows(active: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """Return the active rows, and some of those that are least apart from a margin of 1.

    Examples
    --------
    >>> near_rows(np.array([False, True, False]), np.array([0.1, 9.0, np.inf]))
    array([0, 1])
    """
    count = int(np.sum(active))
    rank = np.where(active, -1, apart)
    most = min(int(np.sum(rank < np.inf)), LARGEST_SET, count + max(_FEWEST, int(_MORE * count)))
    return np.sort(np.argpartition(rank, most - 1)[:most])


def solve_column(group: Any, j: int, some: RowSet, scores: np.ndarray, finest: float) -> None:
    """Go to the solution over these rows in one column, to violations of ``finest`` or a tenth of the worst.

    With an intercept, Σ z_i of all samples is made 0 first, as far as these can, and its offset found.
    """
    from .newton import no_inverse
    from .part import whole_part
    from .steps import solve_part

    index, matrix, tied = some.index, some.matrix, bool(group.rho[j] > 0)
    y, length = group.y[index, j].astype(np.float64), group.bound[j] * group.mass[index, j]
    low, high = np.where(y > 0, -length, 0), np.where(y > 0, 0, length)
    z = y * group.u[index, j]
    after = _less(z, low, high, group.total[j]) if tied else z.copy()
    e = scores[index] + matrix @ (after - z).astype(matrix.dtype) + y
    worst = np.max(np.where((z < high) & (e < 0) | (z > low) & (e > 0), np.abs(e), 0))
    eps = max(_SHARE * float(worst), finest)
    diagonal = matrix.diagonal().astype(np.float64)
    solve_part(whole_part(matrix), no_inverse(), diagonal, low, high, after, e, tied, eps)
    group.u[index, j] = y * after
    group.total[j] += np.sum(after - z)
    group.w[:, j] += some.part.field((after - z)[:, None])[:, 0]
    if tied:
        rise, fall = np.min(e[after < high], initial=np.inf), np.max(e[after > low], initial=-np.inf)
        group.offset[j] -= (rise + fall) / 2 if rise - fall < np.inf else 0


def _less(z: np.ndarray, low: np.ndarray, high: np.ndarray, excess: float) -> np.ndarray:
    """Return z with a sum that is less by the excess, as far as its bounds allow: the first ones move."""
    room = high - z if excess < 0 else z - low
    moved = np.clip(abs(excess) - (np.cumsum(room) - room), 0, room)
    return np.asarray(np.clip(z - np.sign(excess) * moved, low, high))
