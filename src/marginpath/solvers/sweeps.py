"""Compiled sweeps of coordinate descent. Imported only when a sweep is about to run: numba is slow to load.

All of them take the exact step in one coordinate after the other,

    u_i ← clip(u_i − (y_i S_i + 1) / K_ii, −b_i, 0),   S = K(Y∘u),

for every column at once, and keep two float64 vectors a column: the field f (of all samples) and the
aggregate g (of the samples at the bound, each with its weight instead of −u_i/b).
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

#: Columns that a feature sweep works on at a time: one cache line of float64.
WIDTH = 8

# Contraction to fused multiply-add is the only liberty: results stay reproducible.
_jit = numba.njit(nogil=True, cache=True, fastmath={"contract"}, boundscheck=False)


@_jit
def _exact(old: Any, score: Any, y: Any, diagonal: Any, low: Any, tol: Any) -> Any:
    if diagonal <= 0:  # a zero sample: its margin is 0 whatever w is, so it goes to the bound
        return low if low > -np.inf else old
    gradient = y * score + 1
    if abs(gradient) <= tol:
        return old
    return min(max(old - gradient / diagonal, low), old * 0)


@numba.njit(nogil=True, cache=True, fastmath={"contract", "reassoc"}, boundscheck=False)
def accurate_product(K: Any, V: Any, out: Any, first: int, last: int) -> None:
    """Write rows first … last − 1 of K Vᵀ, for V (k, n), with float64 sums in one pass over K."""
    k, n = V.shape
    for i in range(first, last):
        row = K[i]
        for j in range(k):
            v, total = V[j], 0.0
            for m in range(n):
                total += row[m] * v[m]
            out[j, i] = total


@_jit
def kernel_sweep(
    order: Any,
    where: Any,
    rows: Any,
    diagonal: Any,
    Y: Any,
    mass: Any,
    b: Any,
    tol: float,
    u: Any,
    f: Any,
    g: Any,
) -> None:
    """Sweep with rows of K: arrays are (k, n), and the scores are the field f itself.

    The row of sample ``order[c]`` is ``rows[where[c]]``: a row is read once for all columns.
    """
    k, n = u.shape
    for c in range(order.size):
        i = order[c]
        row = rows[where[c]]
        for j in range(k):
            weight = mass[j, i]
            if weight == 0:
                continue
            y, old, low = Y[j, i], u[j, i], -b[j] * weight
            u[j, i] = _exact(old, f[j, i], y, diagonal[i], low, tol)
            new = u[j, i]
            if new == old:
                continue
            step, field = y * (np.float64(new) - np.float64(old)), f[j]
            if old == low or new == low:
                change, aggregate = (-y if old == low else y) * weight, g[j]
                for m in range(n):
                    field[m] += step * row[m]
                    aggregate[m] += change * row[m]
            else:
                for m in range(n):
                    field[m] += step * row[m]


@_jit
def feature_sweep(
    order: Any,
    data: Any,
    indices: Any,
    indptr: Any,
    diagonal: Any,
    b: Any,
    tol: float,
    Y: Any,
    mass: Any,
    u: Any,
    f: Any,
    g: Any,
) -> None:
    """Sweep WIDTH columns with CSR features: Y, mass and u are (n, WIDTH), f and g are (d, WIDTH).

    f = Xᵀ(Y∘u) and S_i = ⟨x_i, f⟩: an update costs the non-zeros of x_i, and the columns of a feature
    are one cache line, worked on side by side.
    """
    score, step, change = np.empty(WIDTH), np.empty(WIDTH), np.empty(WIDTH)
    for i in order:
        first, last = indptr[i], indptr[i + 1]
        for j in range(WIDTH):
            score[j] = 0
        for p in range(first, last):
            value, m = np.float64(data[p]), indices[p]
            for j in range(WIDTH):
                score[j] += value * f[m, j]
        moved, crossed = False, False
        for j in range(WIDTH):
            y, old, weight = Y[i, j], u[i, j], mass[i, j]
            step[j], change[j] = 0, 0
            if weight > 0:
                low = -b[j] * weight
                u[i, j] = _exact(old, score[j], y, diagonal[i], low, tol)
                new = u[i, j]
                if new != old:
                    step[j] = y * (np.float64(new) - np.float64(old))
                    moved = True
                    if old == low or new == low:
                        change[j] = (-y if old == low else y) * weight
                        crossed = True
        if moved:
            for p in range(first, last):
                value, m = np.float64(data[p]), indices[p]
                for j in range(WIDTH):
                    f[m, j] += value * step[j]
        if crossed:
            for p in range(first, last):
                value, m = np.float64(data[p]), indices[p]
                for j in range(WIDTH):
                    g[m, j] += value * change[j]


@_jit
def feature_scores(data: Any, indices: Any, indptr: Any, f: Any, out: Any) -> None:
    """Write S = X f for WIDTH columns."""
    score = np.empty(WIDTH)
    for i in range(out.shape[0]):
        for j in range(WIDTH):
            score[j] = 0
        for p in range(indptr[i], indptr[i + 1]):
            value, m = np.float64(data[p]), indices[p]
            for j in range(WIDTH):
                score[j] += value * f[m, j]
        for j in range(WIDTH):
            out[i, j] = score[j]
