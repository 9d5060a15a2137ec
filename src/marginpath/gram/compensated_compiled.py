"""The compiled part of compensated products. Imported only when one is taken: numba is slow to load.

No sum is reordered, and each has one product at most, to be fused with it: the bits of a result do not depend
on where the arrays lie.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

#: Columns that sparse rows are multiplied with at a time: one cache line of float64.
WIDTH = 8


@numba.njit(nogil=True, cache=True, fastmath={"contract"}, boundscheck=False)
def add_rows(rows: Any, index: Any, V: Any, short: int, out: Any, first: int, last: int) -> None:
    """Write out[j, c] = Σ_i V[j, i] rows[index[i], c] for c = first … last − 1, from sums of ``short`` terms.

    The number of rows, and of terms, is a multiple of four. Arrays are filled entry by entry: sums of arrays
    take a second to compile. The part of a row is taken first: for all that a compiler knows, first + c may
    count from the end, and a loop that asks each time takes three times as long.
    """
    k, width = len(V), last - first
    near, part = np.empty((4, width)), np.zeros((k, width))
    total, lost = np.zeros((k, width)), np.zeros((k, width))
    has_terms = np.empty(k, np.bool_)
    for start in range(0, index.size, short):
        for j in range(k):
            has_terms[j] = False
        for i in range(start, min(start + short, index.size), 4):
            for q in range(4):
                row, own = rows[index[i + q]][first:last], near[q]
                for c in range(width):
                    own[c] = row[c]
            r0, r1, r2, r3 = near[0], near[1], near[2], near[3]
            for j in range(k):
                v0, v1, v2, v3, s = V[j, i], V[j, i + 1], V[j, i + 2], V[j, i + 3], part[j]
                if v0 == v1 == v2 == v3 == 0:
                    continue
                has_terms[j] = True
                for c in range(width):
                    s[c] = v3 * r3[c] + (v2 * r2[c] + (v1 * r1[c] + (v0 * r0[c] + s[c])))
        for j in range(k):
            if not has_terms[j]:
                continue
            for c in range(width):
                old, term = total[j, c], part[j, c]
                new = old + term
                share = new - old
                lost[j, c] += (old - (new - share)) + (term - share)
                total[j, c], part[j, c] = new, 0.0
    for j in range(k):
        for c in range(width):
            out[j, first + c] = total[j, c] + lost[j, c]


@numba.njit(nogil=True, cache=True, boundscheck=False)  # no fused products: the two-sum needs the term itself
def add_sparse_rows(data: Any, indices: Any, indptr: Any, V: Any, out: Any, first: int, last: int) -> None:
    """Write out[c, first + j] = Σ_i X[i, c] V[i, j] for CSR rows X and last − first of the WIDTH columns."""
    total, lost = np.zeros((len(out), WIDTH)), np.zeros((len(out), WIDTH))
    for i in range(len(V)):
        if not np.any(V[i]):
            continue
        for p in range(indptr[i], indptr[i + 1]):
            value, c = np.float64(data[p]), indices[p]
            for j in range(WIDTH):
                old, term = total[c, j], value * V[i, j]
                new = old + term
                share = new - old
                lost[c, j] += (old - (new - share)) + (term - share)
                total[c, j] = new
    for c in range(len(out)):
        for j in range(last - first):
            out[c, first + j] = total[c, j] + lost[c, j]
