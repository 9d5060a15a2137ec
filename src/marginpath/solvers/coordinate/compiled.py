"""Compiled sweeps of coordinate descent. Imported only when a sweep is about to run: numba is slow to load.

All of them take the exact step in one coordinate after the other,

    u_i ← clip(u_i − (y_i S_i + 1) / K_ii, −b_i, 0),   S = K(Y∘u),

for every column at once, and keep two float64 vectors a column: the field f (of all samples) and the
aggregate g (of the samples at the bound, each with its weight instead of −u_i/b).

No sum is reordered, and each has one product at most, to be fused with it: so the bits of a result do not
depend on which loop, vector or scalar, is taken for arrays that lie here or there.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from .spaces import RUN

#: Columns that a feature sweep works on at a time: one cache line of float64.
WIDTH = 8

_PIECE = 2048  # entries of a field that stay near the core meanwhile

_jit = numba.njit(nogil=True, cache=True, fastmath={"contract"}, boundscheck=False)


@_jit
def _exact(old: Any, score: Any, y: Any, diagonal: Any, low: Any, tol: Any) -> Any:
    if diagonal <= 0:  # a zero sample: its margin is 0 whatever w is, so it goes to the bound
        return low if low > -np.inf else old
    gradient = y * score + 1
    if abs(gradient) <= tol:
        return old
    return min(max(old - gradient / diagonal, low), old * 0)


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
    passes: int,
    u: Any,
    f: Any,
    g: Any,
) -> None:
    """Sweep with rows of K: arrays are (k, n), and the scores are the field f itself.

    The row of sample ``order[c]`` is ``rows[where[c]]``. A block of coordinates is stepped through, so many
    passes, on its own scores, so that the rows of those that moved are added to all of f and g together: a
    row is read once for all columns, a field once for all rows.
    """
    k, n = u.shape
    scores, inside, known = np.empty((k, RUN)), np.empty((RUN, RUN)), np.empty(RUN, np.bool_)
    before = np.empty((k, RUN), u.dtype)
    moved, steps, count = np.empty((k, RUN), np.int64), np.empty((k, RUN)), np.empty(k, np.int64)
    crossed, changes, crossings = np.empty_like(moved), np.empty_like(steps), np.empty_like(count)
    for first in range(0, order.size, RUN):
        block = order[first : first + RUN]
        known[:] = False
        for j in range(k):
            for c in range(block.size):
                scores[j, c], before[j, c] = f[j, block[c]], u[j, block[c]]
        for left in range(passes - 1, -1, -1):
            still = True
            for c in range(block.size):
                i = block[c]
                for j in range(k):
                    old, weight = u[j, i], mass[j, i]
                    if weight == 0:
                        continue
                    low = -b[j] * weight
                    u[j, i] = _exact(old, scores[j, c], Y[j, i], diagonal[i], low, tol)
                    if u[j, i] == old:
                        continue
                    still = False
                    step = Y[j, i] * (np.float64(u[j, i]) - np.float64(old))
                    ahead = 0 if left else c + 1
                    if not known[c]:
                        known[c] = True
                        for d in range(ahead, block.size):
                            inside[c, d] = rows[where[first + c], block[d]]
                    for d in range(ahead, block.size):
                        scores[j, d] += step * inside[c, d]
            if still:
                break
        for j in range(k):
            lists = moved[j], steps[j], crossed[j], changes[j]
            count[j], crossings[j] = _list(block, where[first:], Y[j], mass[j], b[j], before[j], u[j], lists)
        for m in range(0, n, _PIECE):
            for j in range(k):
                add_rows(rows, moved[j, : count[j]], steps[j], f[j, m : m + _PIECE], m)
                add_rows(rows, crossed[j, : crossings[j]], changes[j], g[j, m : m + _PIECE], m)


@_jit
def _list(
    block: Any, where: Any, y: Any, mass: Any, b: Any, before: Any, u: Any, lists: Any
) -> tuple[int, int]:
    """List the rows of a block that moved, with their steps, and those that met the bound or left it."""
    moved, steps, crossed, changes = lists
    count, crossings = 0, 0
    for c in range(block.size):
        i, old = block[c], before[c]
        new, low = u[i], -b * mass[i]
        if new == old:
            continue
        moved[count], steps[count] = where[c], y[i] * (np.float64(new) - np.float64(old))
        count += 1
        if old == low or new == low:
            crossed[crossings], changes[crossings] = where[c], (-y[i] if old == low else y[i]) * mass[i]
            crossings += 1
    return count, crossings


@_jit
def add_rows(rows: Any, index: Any, factor: Any, out: Any, m: int) -> None:
    """Add the given rows times their factors to ``out``, a piece that starts at entry m: eight at a time."""
    end, eights, fours = m + out.size, index.size - index.size % 8, index.size - index.size % 4
    f = out.dtype.type
    for p in range(0, eights, 8):
        r0, r1 = rows[index[p], m:end], rows[index[p + 1], m:end]
        r2, r3 = rows[index[p + 2], m:end], rows[index[p + 3], m:end]
        r4, r5 = rows[index[p + 4], m:end], rows[index[p + 5], m:end]
        r6, r7 = rows[index[p + 6], m:end], rows[index[p + 7], m:end]
        s0, s1, s2, s3 = f(factor[p]), f(factor[p + 1]), f(factor[p + 2]), f(factor[p + 3])
        s4, s5, s6, s7 = f(factor[p + 4]), f(factor[p + 5]), f(factor[p + 6]), f(factor[p + 7])
        for c in range(out.size):
            half = s3 * f(r3[c]) + (s2 * f(r2[c]) + (s1 * f(r1[c]) + (s0 * f(r0[c]) + out[c])))
            out[c] = s7 * f(r7[c]) + (s6 * f(r6[c]) + (s5 * f(r5[c]) + (s4 * f(r4[c]) + half)))
    for p in range(eights, fours, 4):
        r0, r1 = rows[index[p], m:end], rows[index[p + 1], m:end]
        r2, r3 = rows[index[p + 2], m:end], rows[index[p + 3], m:end]
        s0, s1, s2, s3 = f(factor[p]), f(factor[p + 1]), f(factor[p + 2]), f(factor[p + 3])
        for c in range(out.size):
            out[c] = s3 * f(r3[c]) + (s2 * f(r2[c]) + (s1 * f(r1[c]) + (s0 * f(r0[c]) + out[c])))
    for p in range(fours, index.size):
        r0, s0 = rows[index[p], m:end], f(factor[p])
        for c in range(out.size):
            out[c] += s0 * f(r0[c])


@_jit
def feature_sweep(
    order: Any,
    data: Any,
    indices: Any,
    indptr: Any,
    diagonal: Any,
    b: Any,
    tol: float,
    moving: Any,
    Y: Any,
    mass: Any,
    u: Any,
    f: Any,
    g: Any,
) -> None:
    """Sweep WIDTH columns with CSR features: moving, Y, mass and u are (n, WIDTH), f and g are (d, WIDTH).

    f = Xᵀ(Y∘u) and S_i = ⟨x_i, f⟩: an update costs the non-zeros of x_i, and the columns of a feature
    are one cache line, worked on side by side. ``moving`` says which coordinates to visit, of samples with a
    weight; those that do not move are struck off.
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
            if moving[i, j]:
                low = -b[j] * weight
                u[i, j] = _exact(old, score[j], y, diagonal[i], low, tol)
                new = u[i, j]
                moving[i, j] = new != old
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
def block_sweep(
    block: Any,
    own: Any,
    scores: Any,
    diagonal: Any,
    b: Any,
    tol: float,
    moving: Any,
    Y: Any,
    mass: Any,
    u: Any,
) -> Any:
    """Step through a block of samples, whose Gram matrix is ``own``: scores are (columns, samples).

    Return Y∘Δu, and what the aggregate gains of those that met the bound or left it: (samples, columns).
    """
    k, size = scores.shape
    steps, changes = np.zeros((size, k)), np.zeros((size, k))
    for c in range(size):
        i, row = block[c], own[c]
        for j in range(k):
            if not moving[i, j]:
                continue
            y, old, low = Y[i, j], u[i, j], -b[j] * mass[i, j]
            u[i, j] = _exact(old, scores[j, c], y, diagonal[i], low, tol)
            new = u[i, j]
            moving[i, j] = new != old
            if new == old:
                continue
            step, score = y * (np.float64(new) - np.float64(old)), scores[j]
            steps[c, j] = step
            if old == low or new == low:
                changes[c, j] = (-y if old == low else y) * mass[i, j]
            for d in range(c + 1, size):
                score[d] += step * row[d]
    return steps, changes


@_jit
def feature_scores(data: Any, indices: Any, indptr: Any, f: Any, out: Any) -> None:
    """Write S = X f for up to WIDTH columns."""
    score = np.empty(WIDTH)
    for i in range(out.shape[0]):
        for j in range(WIDTH):
            score[j] = 0
        for p in range(indptr[i], indptr[i + 1]):
            value, m = np.float64(data[p]), indices[p]
            for j in range(WIDTH):
                score[j] += value * f[m, j]
        for j in range(out.shape[1]):
            out[i, j] = score[j]
