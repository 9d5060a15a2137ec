"""Compiled passes over parts of K. Imported only when a step is about to run: numba is slow to load.

A triangle is the lower half of a symmetric matrix, row after row in one vector: row i starts at i(i + 1)/2.
"""

from __future__ import annotations

from typing import Any

import numba

_WIDTH = 4096  # entries of a row at a time: four rows and their sums stay near the core

# Sums may be taken in lanes, always the same ones: results stay reproducible.
_jit = numba.njit(nogil=True, cache=True, fastmath={"contract", "reassoc"}, boundscheck=False)


@_jit  # type: ignore[untyped-decorator]
def add_rows(K: Any, index: Any, V: Any, out: Any, first: int, last: int) -> None:
    """Add Σ_i V[j, i] K[index[i], c] to out[j, c], for the columns c = first … last − 1."""
    fours = index.size - index.size % 4
    for a in range(first, last, _WIDTH):
        b = min(a + _WIDTH, last)
        for i in range(0, fours, 4):
            r0, r1 = K[index[i], a:b], K[index[i + 1], a:b]
            r2, r3 = K[index[i + 2], a:b], K[index[i + 3], a:b]
            for j in range(V.shape[0]):
                v0, v1, v2, v3 = V[j, i], V[j, i + 1], V[j, i + 2], V[j, i + 3]
                s = out[j, a:b]
                for c in range(s.size):
                    s[c] += v0 * r0[c] + v1 * r1[c] + v2 * r2[c] + v3 * r3[c]
        for i in range(fours, index.size):
            r0 = K[index[i], a:b]
            for j in range(V.shape[0]):
                v0, s = V[j, i], out[j, a:b]
                for c in range(s.size):
                    s[c] += v0 * r0[c]


@_jit  # type: ignore[untyped-decorator]
def gather_triangle(K: Any, index: Any, triangle: Any, first: int, last: int) -> None:
    """Write the rows first … last − 1 of the triangle of K[index][:, index]."""
    for i in range(first, last):
        start, row = i * (i + 1) // 2, K[index[i]]
        for c in range(i + 1):
            triangle[start + c] = row[index[c]]


@_jit  # type: ignore[untyped-decorator]
def add_triangle(triangle: Any, V: Any, out: Any, first: int, last: int) -> None:
    """Add to out (k, m) the product of V (k, m) with the rows first … last − 1 and their mirror images."""
    for i in range(first, last):
        start = i * (i + 1) // 2
        _add_row(triangle[start : start + i + 1], V, out)


@_jit  # type: ignore[untyped-decorator]
def add_half(K: Any, V: Any, out: Any, first: int, last: int) -> None:
    """Do the same with the lower half of a whole matrix."""
    for i in range(first, last):
        _add_row(K[i, : i + 1], V, out)


@_jit  # type: ignore[untyped-decorator]
def _add_row(row: Any, V: Any, out: Any) -> None:
    """Add a row of a symmetric matrix, up to its diagonal, and its mirror image."""
    i = row.size - 1
    for j in range(V.shape[0]):
        v, s, v_i = V[j, :i], out[j, :i], V[j, i]
        total = row[i] * v_i
        for c in range(i):
            total += row[c] * v[c]
            s[c] += row[c] * v_i
        out[j, i] += total
