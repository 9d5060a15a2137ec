"""Compiled coordinate steps over features, for the columns of a group: numba loads slowly, so import late.

Every step is the exact one in a coordinate of the augmented Lagrangian

    ½‖Xᵀ(y∘u)‖² + Σ u_i + β Σ y_i u_i + ½ρ (Σ y_i u_i)²   over   −b m_i ≤ u_i ≤ 0,

where β, the offset, is the multiplier of Σ y_i u_i = 0; without an intercept, β and ρ are 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .part import compiled, summed

_FAR = 1e300  # times a gradient, beyond every bound: where a zero sample goes


class Blocks(NamedTuple):
    """Rows in blocks: block c is every m-th run of them, from run c on, and its Gram matrix is ``grams[c]``.

    ``diagonal`` has the squared norms of all rows, so that of a Gram matrix only rows that move are read.
    Scores are those of ``rows`` times w, and what moves is added to the sums. Where rows have units, w is the
    sums times a factor for each feature; else the same array, and no factor.
    """

    rows: Any
    factor: Any
    diagonal: Any
    grams: Any
    run: int


class Boxes(NamedTuple):
    """Of the rows of a block, (columns, rows): signs, lower bounds, u, and 1 over the curvature of a step."""

    sign: Any
    low: Any
    u: Any
    inverse: Any


@compiled
def _exact(old: Any, gradient: Any, curvature: Any, low: Any, tol: Any) -> Any:
    """Return where one coordinate goes; a zero sample, whose margin nothing changes, goes to the bound."""
    if abs(gradient) <= tol:
        return old
    return low if curvature <= 0 else min(max(old - gradient / curvature, low), 0.0)


@compiled
def step_in_blocks(
    order: Any,
    blocks: Any,
    passes: int,
    y: Any,
    mass: Any,
    u: Any,
    bound: Any,
    total: Any,
    offset: Any,
    rho: Any,
    tol: Any,
    w: Any,
    sums: Any,
) -> int:
    """Step through blocks of dense rows in the given order, and return how many steps there were.

    A block is stepped through some times on its own scores, before w = Xᵀ(Y∘u), here (columns, features),
    follows.
    """
    rows, factor, diagonal, grams, run = blocks
    n, m, size, k = len(rows), len(grams), grams.shape[1], len(w)
    index, moved = np.empty(size, np.int64), 0
    scores, change = np.empty((k, size), w.dtype), np.empty((k, size + 3), w.dtype)
    own = Boxes(np.empty((k, size)), np.empty((k, size)), np.empty((k, size)), np.empty((k, size)))
    limits = offset, rho, tol
    for c in order:
        count = 0
        for first in range(c * run, n, m * run):
            for i in range(first, min(first + run, n)):
                index[count] = i
                count += 1
        block, before = index[:count], moved
        _score(rows, block, w, scores)
        change[:, :] = 0
        for j in range(k):
            for r in range(count):
                i = block[r]
                own.sign[j, r], own.low[j, r], own.u[j, r] = y[i, j], -bound[j] * mass[i, j], u[i, j]
                curvature = diagonal[i] + rho[j]
                own.inverse[j, r] = 1 / curvature if curvature > 0 else _FAR
        threes = k - k % 3
        for j in range(0, threes, 3):
            moved += _step_in_three(grams[c], j, scores, passes, count, own, total, limits)
        for j in range(threes, k):
            moved += _step_in_one(grams[c], j, scores, passes, count, own, total, limits)
        for j in range(k if moved > before else 0):
            for r in range(count):
                i = block[r]
                change[j, r], u[i, j] = own.sign[j, r] * (own.u[j, r] - u[i, j]), own.u[j, r]
        if moved > before:
            _follow(rows, block, change, sums)
            for j in range(k if factor.size else 0):
                for p in range(factor.size):
                    w[j, p] = factor[p] * sums[j, p]
    return moved


@compiled
def _next(j: int, i: int, score: Any, boxes: Any, total: Any, limits: Any) -> Any:
    """Return where row i of a block goes in column j, by the exact step in this coordinate."""
    offset, rho, tol = limits
    gradient = boxes.sign[j, i] * (score + offset[j] + rho[j] * total) + 1
    down = gradient if abs(gradient) > tol else 0.0
    return min(max(boxes.u[j, i] - down * boxes.inverse[j, i], boxes.low[j, i]), 0.0)


@compiled
def _step_in_one(
    own: Any, j: int, scores: Any, passes: int, count: int, boxes: Any, total: Any, limits: Any
) -> int:
    """Step through column j of a block, and return how many steps there were."""
    moved, score, sign, u, sum_ = 0, scores[j], boxes.sign[j], boxes.u[j], total[j]
    for _ in range(passes):
        before = moved
        for i in range(count):
            new = _next(j, i, score[i], boxes, sum_, limits)
            if new == u[i]:
                continue
            moved += 1
            step = sign[i] * (new - u[i])
            u[i] = new
            sum_ += step
            rounded = score.dtype.type(step)
            for d in range(count):
                score[d] += rounded * own[i, d]
        if moved == before:
            break
    total[j] = sum_
    return moved


@compiled
def _step_in_three(
    own: Any, j: int, scores: Any, passes: int, count: int, boxes: Any, total: Any, limits: Any
) -> int:
    """Do the same in three columns from j on, side by side: a step waits for those of its own alone."""
    moved, real = 0, scores.dtype.type
    s0, s1, s2 = scores[j], scores[j + 1], scores[j + 2]
    u0, u1, u2 = boxes.u[j], boxes.u[j + 1], boxes.u[j + 2]
    sign0, sign1, sign2 = boxes.sign[j], boxes.sign[j + 1], boxes.sign[j + 2]
    t0, t1, t2 = total[j], total[j + 1], total[j + 2]
    for _ in range(passes):
        before = moved
        for i in range(count):
            new0 = _next(j, i, s0[i], boxes, t0, limits)
            new1 = _next(j + 1, i, s1[i], boxes, t1, limits)
            new2 = _next(j + 2, i, s2[i], boxes, t2, limits)
            moves = (new0 != u0[i]) + (new1 != u1[i]) + (new2 != u2[i])
            if moves == 0:
                continue
            moved += moves
            step0, step1 = sign0[i] * (new0 - u0[i]), sign1[i] * (new1 - u1[i])
            step2 = sign2[i] * (new2 - u2[i])
            u0[i], u1[i], u2[i] = new0, new1, new2
            t0, t1, t2 = t0 + step0, t1 + step1, t2 + step2
            a0, a1, a2 = real(step0), real(step1), real(step2)
            for d in range(count):
                product = own[i, d]
                s0[d], s1[d], s2[d] = s0[d] + a0 * product, s1[d] + a1 * product, s2[d] + a2 * product
        if moved == before:
            break
    total[j], total[j + 1], total[j + 2] = t0, t1, t2
    return moved


@compiled
def score_rows(rows: Any, w: Any, first: int, last: int, out: Any) -> None:
    """Write the products of some rows with every column, (columns, rows)."""
    _score(rows, np.arange(first, last), w, out[:, first:last])


@compiled
def _score(rows: Any, block: Any, w: Any, out: Any) -> None:
    """Write the products of the rows of a block with every column: four rows and three columns at a time.

    The four are a quarter of the block apart, and those after them are their neighbours: memory is read
    along four lines, which the processor sees coming.
    """
    k, end, quarter = len(w), block.size - 1, -(-block.size // 4)
    for r in range(quarter):
        at = r, min(r + quarter, end), min(r + 2 * quarter, end), min(r + 3 * quarter, end)
        four = block[at[0]], block[at[1]], block[at[2]], block[at[3]]
        threes = k - k % 3
        for j in range(0, threes, 3):
            products = _twelve_products(rows, four, w[j], w[j + 1], w[j + 2])
            for q in range(4):
                for p in range(3):
                    out[j + p, at[q]] = products[p][q]
        for j in range(threes, k):
            own = _four_products(rows, four, w[j])
            for q in range(4):
                out[j, at[q]] = own[q]


@summed
def _twelve_products(rows: Any, i: Any, v: Any, w: Any, z: Any) -> Any:
    """Return the products of four rows with v, w and z: a number that is read takes part in several."""
    real = w.dtype.type
    a0 = a1 = a2 = b0 = b1 = b2 = c0 = c1 = c2 = d0 = d1 = d2 = real(0)
    i0, i1, i2, i3 = i
    for p in range(w.size):
        a, b, c, d = real(rows[i0, p]), real(rows[i1, p]), real(rows[i2, p]), real(rows[i3, p])
        a0, b0, c0, d0 = a0 + a * v[p], b0 + b * v[p], c0 + c * v[p], d0 + d * v[p]
        a1, b1, c1, d1 = a1 + a * w[p], b1 + b * w[p], c1 + c * w[p], d1 + d * w[p]
        a2, b2, c2, d2 = a2 + a * z[p], b2 + b * z[p], c2 + c * z[p], d2 + d * z[p]
    return (a0, b0, c0, d0), (a1, b1, c1, d1), (a2, b2, c2, d2)


@summed
def _four_products(rows: Any, i: Any, w: Any) -> Any:
    """Return the products of four rows with w."""
    real = w.dtype.type
    a = b = c = d = real(0)
    i0, i1, i2, i3 = i
    for p in range(w.size):
        a += real(rows[i0, p]) * w[p]
        b += real(rows[i1, p]) * w[p]
        c += real(rows[i2, p]) * w[p]
        d += real(rows[i3, p]) * w[p]
    return a, b, c, d


@compiled
def _follow(rows: Any, block: Any, change: Any, w: Any) -> None:
    """Add the rows of a block that moved, times their change, to every column, four rows at a time."""
    count, k = 0, len(w)
    for r in range(block.size):
        moves = False
        for j in range(k):
            moves |= change[j, r] != 0
            change[j, count] = change[j, r]
        block[count] = block[r]
        count += moves
    change[:, count : count + 3] = 0
    end, threes = count - 1, k - k % 3
    for r in range(0, count, 4):
        four = block[r], block[min(r + 1, end)], block[min(r + 2, end)], block[min(r + 3, end)]
        for j in range(0, threes, 3):
            factors = _four(change[j], r), _four(change[j + 1], r), _four(change[j + 2], r)
            _add_four_to_three(rows, four, factors, w[j], w[j + 1], w[j + 2])
        for j in range(threes, k):
            _add_four(rows, four, _four(change[j], r), w[j])


@compiled
def add_rows_times(rows: Any, first: int, last: int, factors: Any, w: Any) -> None:
    """Add some rows times their factors, (rows, columns), to w, (columns, features), in its precision."""
    count, k = last - first, len(w)
    change = np.zeros((k, count + 3), w.dtype)
    for i in range(count):
        for j in range(k):
            change[j, i] = factors[first + i, j]
    _follow(rows, np.arange(first, last), change, w)


@compiled
def _four(change: Any, r: int) -> Any:
    return change[r], change[r + 1], change[r + 2], change[r + 3]


@compiled
def _add_four_to_three(rows: Any, i: Any, factors: Any, v: Any, w: Any, z: Any) -> None:
    """Add four rows times their factors to v, w and z."""
    real = w.dtype.type
    i0, i1, i2, i3 = i
    (a0, b0, c0, d0), (a1, b1, c1, d1), (a2, b2, c2, d2) = factors
    for p in range(w.size):
        a, b, c, d = real(rows[i0, p]), real(rows[i1, p]), real(rows[i2, p]), real(rows[i3, p])
        first = d0 * d + (c0 * c + (b0 * b + (a0 * a + v[p])))
        second = d1 * d + (c1 * c + (b1 * b + (a1 * a + w[p])))
        third = d2 * d + (c2 * c + (b2 * b + (a2 * a + z[p])))
        v[p], w[p], z[p] = first, second, third


@compiled
def _add_four(rows: Any, i: Any, factors: Any, w: Any) -> None:
    """Add four rows times their factors to w."""
    real = w.dtype.type
    i0, i1, i2, i3 = i
    a, b, c, d = factors
    for p in range(w.size):
        first = b * real(rows[i1, p]) + (a * real(rows[i0, p]) + w[p])
        w[p] = d * real(rows[i3, p]) + (c * real(rows[i2, p]) + first)


@compiled
def step_in_rows(
    order: Any,
    data: Any,
    indices: Any,
    indptr: Any,
    diagonal: Any,
    lanes: Any,
    y: Any,
    mass: Any,
    u: Any,
    bound: Any,
    total: Any,
    offset: Any,
    rho: Any,
    tol: Any,
    w: Any,
) -> int:
    """Step through sparse rows in the given order, and return how many steps there were.

    ``lanes`` has as many entries as there are columns: its length is known when this is compiled, and the
    columns of a feature, a row of w = Xᵀ(Y∘u), are worked on side by side.
    """
    score, step, moved = np.empty(len(lanes)), np.empty(len(lanes)), 0
    for i in order:
        first, last = indptr[i], indptr[i + 1]
        for j in range(len(lanes)):
            score[j] = offset[j] + rho[j] * total[j]
        for p in range(first, last):
            value, m = np.float64(data[p]), indices[p]
            for j in range(len(lanes)):
                score[j] += value * w[m, j]
        before = moved
        for j in range(len(lanes)):
            step[j] = 0
            if mass[i, j] == 0:
                continue
            gradient, low = y[i, j] * score[j] + 1, -bound[j] * mass[i, j]
            new = _exact(u[i, j], gradient, diagonal[i] + rho[j], low, tol)
            if new != u[i, j]:
                moved += 1
                step[j] = y[i, j] * (new - u[i, j])
                u[i, j] = new
                total[j] += step[j]
        if moved != before:
            for p in range(first, last):
                value, m = np.float64(data[p]), indices[p]
                for j in range(len(lanes)):
                    w[m, j] += value * step[j]
    return moved


@compiled
def carried(u: Any, mass: Any, before: Any, bound: Any) -> Any:
    """Return u with the samples at the old bound of their column at the new one."""
    out = np.empty_like(u)
    n, k = u.shape
    for i in range(n):
        for j in range(k):
            resting = mass[i, j] > 0 and u[i, j] == -before[j] * mass[i, j]
            out[i, j] = -bound[j] * mass[i, j] if resting else u[i, j]
    return out


@compiled
def ranked(y: Any, mass: Any, bound: float, z: Any, scores: Any) -> Any:
    """Return the ranks of the rows of a column for Newton's method, and their losses Σ b_i max(0, 1 − m_i).

    A row that has to move, between its bounds or on the wrong side for its z = y u, has a rank of −1, another
    one how far its margin is from 1.
    """
    rank, loss = np.full(z.size, np.inf), 0.0
    for i in range(z.size):
        length, sign = bound * mass[i], np.float64(y[i])
        if length > 0:
            g = np.float64(scores[i]) + sign
            low, high = (-length, 0.0) if sign > 0 else (0.0, length)
            moves = low < z[i] < high or (z[i] > low and g > 0) or (z[i] < high and g < 0)
            rank[i] = -1.0 if moves else abs(g)
            loss += length * max(0.0, sign * g)
    return rank, loss
