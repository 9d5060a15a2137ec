"""The matrix of a working set, and how functions on it are compiled (numba loads slowly: import late)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba

_settings: Any = {"nogil": True, "cache": True, "boundscheck": False, "error_model": "numpy"}
compiled = numba.njit(fastmath={"contract"}, **_settings)
#: For minima and maxima, whose order does not matter: they may be taken side by side.
extremal = numba.njit(fastmath={"contract", "nnan", "nsz"}, **_settings)


class Part(NamedTuple):
    """The matrix of a working set, K[index, index]; a row that is not known is gathered when it is needed."""

    index: Any
    where: Any
    rows: Any
    matrix: Any
    known: Any


@compiled
def row_of(part: Any, c: int) -> Any:
    """Return row c of the matrix."""
    row = part.matrix[c]
    if not part.known[c]:
        part.known[c] = True
        whole, index = part.rows[part.where[c]], part.index
        for d in range(index.size):
            row[d] = whole[index[d]]
    return row
