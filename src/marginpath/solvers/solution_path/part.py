"""The matrix of a working set, and how functions on it are compiled (numba loads slowly: import late)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

_settings: Any = {"nogil": True, "cache": True, "boundscheck": False, "error_model": "numpy"}
compiled = numba.njit(fastmath={"contract"}, **_settings)
#: For minima and maxima, whose order does not matter: they may be taken side by side.
extremal = numba.njit(fastmath={"contract", "nnan", "nsz"}, **_settings)
#: For short loops within functions of either kind, which they become a part of: calls would have references
#: to arrays counted, there and in the function around them, and that takes longer than the loops.
inlined = numba.njit(inline="always", **_settings)
#: For sums that write nothing meanwhile, so that their order depends on the processor, and not on addresses.
summed = numba.njit(fastmath={"contract", "reassoc", "nsz"}, **_settings)


class Part(NamedTuple):
    """K among the samples of a working set, which may become more: rows are gathered where they are needed.

    The samples are the rows and columns ``where`` of ``rows``; ``known`` says which rows have been gathered.
    """

    where: Any
    rows: Any
    matrix: Any
    known: Any


def whole_part(matrix: np.ndarray) -> Part:
    """Return a part whose matrix is there."""
    m = len(matrix)
    return Part(np.arange(m), matrix, matrix, np.ones(m, dtype=np.bool_))


@compiled
def empty_part(rows: Any, memory: Any, room: int) -> Any:
    """Return a part without samples, whose matrix will be in the memory: near together, as caches like it."""
    matrix = memory[: room * room].reshape((room, room))
    return Part(np.empty(room, np.int64), rows, matrix, np.zeros(room, np.bool_))


@compiled
def row_of(part: Any, c: int, m: int) -> Any:
    """Return row c of the matrix, of which the first m entries count."""
    row = part.matrix[c]
    if not part.known[c]:
        part.known[c] = True
        whole, where = part.rows[part.where[c]], part.where
        for d in range(m):
            row[d] = whole[where[d]]
    return row


@compiled
def join(part: Any, sample: int, m: int) -> None:
    """Let one more sample join the first m, and their rows have its entry: K is symmetric."""
    part.where[m] = sample
    whole, where, matrix = part.rows[sample], part.where, part.matrix
    for c in range(m):
        if part.known[c]:
            matrix[c, m] = whole[where[c]]
