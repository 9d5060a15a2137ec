"""Compiled passes over parts of K. Imported only when a step is about to run: numba is slow to load.

Half of a symmetric matrix is read in panels of four rows, the last of which ends with the last row. The panel
that ends before row e has the columns 0 … e − 1; packed, it starts at (e − 2)²/2, rounded down.

The order of every sum is written out, so that equal numbers give equal bits wherever the arrays lie.
"""

from __future__ import annotations

from typing import Any

import numba

from .lanes import load, spread, store, total

_WIDTH = 4096  # entries of a row at a time: four rows and their sums stay near the core

# No liberty of fastmath: vector and scalar loops round alike only without it.
_jit = numba.njit(nogil=True, cache=True, boundscheck=False)


@_jit
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


@_jit
def gather_half(K: Any, index: Any, packed: Any, first: int, last: int) -> None:
    """Pack the rows first … last − 1 of half of K[index][:, index]."""
    for e in range(last, first, -4):
        panel = _panel(packed, e)
        for i in range(len(panel)):
            row, target = K[index[e - len(panel) + i]], panel[i]
            for c in range(e):
                target[c] = row[index[c]]


@_jit
def add_packed(packed: Any, V: Any, out: Any, first: int, last: int) -> None:
    """Add to out (k, m) the product of V (k, m) with the rows first … last − 1 and their mirror images."""
    for e in range(last, first, -4):
        _add_panel(_panel(packed, e), e, V, out)


@_jit
def add_half(K: Any, V: Any, out: Any, first: int, last: int) -> None:
    """Do the same with the lower half of a whole matrix."""
    for e in range(last, first, -4):
        _add_panel(K[max(e - 4, 0) : e], e, V, out)


@_jit
def _panel(packed: Any, e: int) -> Any:
    """Return the packed panel that ends before row e."""
    start, rows = (e - 2) ** 2 // 2, min(e, 4)
    return packed[start : start + rows * e].reshape(rows, e)


@_jit
def _add_panel(rows: Any, e: int, V: Any, out: Any) -> None:
    """Add a panel, and the mirror image of what is left of its corner."""
    a = e - len(rows)
    for j in range(len(V)):
        v, s = V[j, :e], out[j, :e]
        if a > 0:
            _add_four(rows[0], rows[1], rows[2], rows[3], v, s, a)
        for i in range(len(rows)):
            for c in range(a, e):
                s[a + i] += rows[i, c] * v[c]


@_jit
def _add_four(r0: Any, r1: Any, r2: Any, r3: Any, v: Any, s: Any, a: int) -> None:
    """Add what four rows have left of column a to s[a : a + 4], and its mirror image to s[:a]."""
    zero = v.dtype.type(0)
    lanes = 64 // v.itemsize
    v0, v1, v2, v3 = v[a], v[a + 1], v[a + 2], v[a + 3]
    w0, w1, w2, w3 = spread(v0), spread(v1), spread(v2), spread(v3)
    t0 = t1 = t2 = t3 = spread(zero)
    whole = a - a % lanes
    for c in range(0, whole, lanes):
        k0, k1, k2, k3, x = load(r0, c), load(r1, c), load(r2, c), load(r3, c), load(v, c)
        t0, t1, t2, t3 = t0 + k0 * x, t1 + k1 * x, t2 + k2 * x, t3 + k3 * x
        store(s, c, load(s, c) + (k0 * w0 + k1 * w1 + k2 * w2 + k3 * w3))
    d0, d1, d2, d3 = total(t0), total(t1), total(t2), total(t3)
    for c in range(whole, a):
        d0, d1, d2, d3 = d0 + r0[c] * v[c], d1 + r1[c] * v[c], d2 + r2[c] * v[c], d3 + r3[c] * v[c]
        s[c] += r0[c] * v0 + r1[c] * v1 + r2[c] * v2 + r3[c] * v3
    s[a] += d0
    s[a + 1] += d1
    s[a + 2] += d2
    s[a + 3] += d3
