"""The compiled part of rows in 16 bits. Imported only when they are made: numba is slow to load."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

_LARGEST = np.float32(2**15 - 1)
_compiled = numba.njit(nogil=True, cache=True, boundscheck=False, error_model="numpy")


@_compiled
def largest_of_columns(X: Any, first: int, last: int, out: Any) -> None:
    """Write the largest absolute value that each column has in some rows."""
    for i in range(first, last):
        row = X[i]
        for p in range(out.size):
            out[p] = max(out[p], abs(row[p]))


@_compiled
def round_rows(X: Any, squares: Any, first: int, units: Any, inverse: Any, out: Any) -> float:
    """Write rows as whole numbers of their units, from row ``first`` of out on.

    Return the largest ‖change‖² over the squares that are given for rows; infinity where that is no number.
    """
    worst = 0.0
    for i in range(len(X)):
        row, own, change, square = X[i], out[first + i], 0.0, np.float64(squares[i])
        for p in range(units.size):
            own[p] = np.int16(np.rint(min(max(row[p] * inverse[p], -_LARGEST), _LARGEST)))
        for p in range(units.size):
            off = np.float64(row[p]) - np.float64(own[p]) * np.float64(units[p])
            change += off * off
        if not change <= worst * square:
            worst = change / square if change < np.inf and square > 0 else np.inf
    return worst
