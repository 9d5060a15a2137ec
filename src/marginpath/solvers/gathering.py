"""Compiled passes over chosen rows of K. Imported only when a step is about to run: numba is slow to load."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

_WIDTH = 4096  # entries of a row at a time: four rows and their sums stay near the core

# Contraction to fused multiply-add is the only liberty: results stay reproducible.
_jit = numba.njit(nogil=True, cache=True, fastmath={"contract"}, boundscheck=False)


@_jit  # type: ignore[untyped-decorator]
def add_rows(K: Any, index: Any, V: Any, out: Any, first: int, last: int) -> None:
    """Add Σ_i V[j, i] K[index[i], c] to out[j, c], for the columns c = first … last − 1 of K."""
    whole = index.size - index.size % 4
    for a in range(first, last, _WIDTH):
        b = min(a + _WIDTH, last)
        for i in range(0, whole, 4):
            r0, r1 = K[index[i], a:b], K[index[i + 1], a:b]
            r2, r3 = K[index[i + 2], a:b], K[index[i + 3], a:b]
            for j in range(V.shape[0]):
                v0, v1, v2, v3 = V[j, i], V[j, i + 1], V[j, i + 2], V[j, i + 3]
                s = out[j, a:b]
                for c in range(s.size):
                    s[c] += (v0 * r0[c] + v1 * r1[c]) + (v2 * r2[c] + v3 * r3[c])
        for i in range(whole, index.size):
            r0 = K[index[i], a:b]
            for j in range(V.shape[0]):
                v0, s = V[j, i], out[j, a:b]
                for c in range(s.size):
                    s[c] += v0 * r0[c]


@_jit  # type: ignore[untyped-decorator]
def gather(K: Any, index: Any, columns: Any, out: Any, first: int, last: int) -> None:
    """Write K[index[i], columns] to out[i], for i = first … last − 1."""
    for i in range(first, last):
        row, o = K[index[i]], out[i]
        for c in range(np.int64(columns.size)):
            o[c] = row[columns[c]]
