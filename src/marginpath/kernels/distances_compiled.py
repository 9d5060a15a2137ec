"""The compiled part of distances. Imported only where digits are in doubt: numba is slow to load."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

_jit = numba.njit(nogil=True, cache=True, boundscheck=False, error_model="numpy")


@_jit
def doubtful_entries(block: Any, limits: Any, halves: Any) -> Any:
    """Return the rows i and columns j of the entries over limits[i, 0] − limits[i, 1] halves[j], or NaN."""
    m, n = block.shape
    numbers = np.zeros(m, np.int64)
    for i in range(m):
        height, slope, number = limits[i, 0], limits[i, 1], 0
        for j in range(n):
            number += not block[i, j] <= height - slope * halves[j]
        numbers[i] = number
    rows, columns, p = np.empty(numbers.sum(), np.int64), np.empty(numbers.sum(), np.int64), 0
    for i in range(m):
        for j in range(n if numbers[i] else 0):
            if not block[i, j] <= limits[i, 0] - limits[i, 1] * halves[j]:
                rows[p], columns[p] = i, j
                p += 1
    return rows, columns


@numba.njit(nogil=True, cache=True, boundscheck=False, fastmath={"reassoc", "contract"})
def half_squares(X: Any, Z: Any, i: Any, j: Any, sigma: float) -> Any:
    """Return ‖x_i − z_j‖²/(2σ²) for pairs of rows, from differences in float64."""
    halves = np.empty(len(i))
    for p in range(len(i)):
        x, z, total = X[i[p]], Z[j[p]], 0.0
        for f in range(x.size):
            difference = (np.float64(x[f]) - np.float64(z[f])) / sigma
            total += difference * difference
        halves[p] = total / 2
    return halves
