"""The matrix of a working set, and how functions on it are compiled (numba loads slowly: import late)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

_settings: Any = {"nogil": True, "cache": True, "boundscheck": False, "error_model": "numpy"}
compiled = numba.njit(fastmath={"contract"}, **_settings)
#: For minima and maxima, whose order does not matter: they may be taken side by side.
extremal = numba.njit(fastmath={"contract", "nnan", "nsz"}, **_settings)
#: For sums that write nothing meanwhile, so that their order depends on the processor, and not on addresses.
summed = numba.njit(fastmath={"contract", "reassoc", "nsz"}, **_settings)


class Part(NamedTuple):
    """K among the samples of a working set, which may become more: rows are gathered where they are needed.

    The samples are the rows and columns ``where`` of ``rows``, and ``width`` says how much of a row is there.
    """

    where: Any
    rows: Any
    matrix: Any
    width: Any


def whole_part(matrix: np.ndarray) -> Part:
    """Return a part whose matrix is there."""
    m = len(matrix)
    return Part(np.arange(m), matrix, matrix, np.full(m, m))


@compiled
def empty_part(rows: Any, memory: Any, room: int) -> Any:
    """Return a part without samples, whose matrix will be in the memory: near together, as caches like it."""
    matrix = memory[: room * room].reshape((room, room))
    return Part(np.empty(room, np.int64), rows, matrix, np.zeros(room, np.int64))


@compiled
def row_of(part: Any, c: int, m: int) -> Any:
    """Return row c of the matrix, of which the first m entries count."""
    row, first = part.matrix[c], part.width[c]
    if first < m:
        part.width[c] = m
        whole, where = part.rows[part.where[c]], part.where
        for d in range(first, m):
            row[d] = whole[where[d]]
    return row
