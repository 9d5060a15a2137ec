"""Compiled coordinate steps over features, for the columns of a group: numba loads slowly, so import late.

Every step is the exact one in a coordinate of the augmented Lagrangian

    ½‖Xᵀ(y∘u)‖² + Σ u_i + β Σ y_i u_i + ½ρ (Σ y_i u_i)²   over   −b m_i ≤ u_i ≤ 0,

where β, the offset, is the multiplier of Σ y_i u_i = 0; without an intercept, β and ρ are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .part import compiled


@compiled
def _exact(old: Any, gradient: Any, curvature: Any, low: Any, tol: Any) -> Any:
    """Return where one coordinate goes; a zero sample, whose margin nothing changes, goes to the bound."""
    if abs(gradient) <= tol:
        return old
    return low if curvature <= 0 else min(max(old - gradient / curvature, low), 0.0)


@compiled
def step_in_block(
    own: Any,
    scores: Any,
    passes: int,
    y: Any,
    mass: Any,
    u: Any,
    bound: Any,
    total: Any,
    offset: Any,
    rho: Any,
    tol: Any,
    change: Any,
) -> int:
    """Step through a block of rows, on its own Gram matrix, and return how many steps there were.

    ``scores`` and ``change``, Y∘Δu, are (rows, columns), as are y, mass and u; ``total`` is Σ y_i u_i.
    """
    size, k = scores.shape
    score, moved = np.empty(size, scores.dtype), 0
    for j in range(k):
        for i in range(size):
            score[i], change[i, j] = scores[i, j], 0
        for _ in range(passes):
            before = moved
            for i in range(size):
                if mass[i, j] == 0:
                    continue
                old, sign = u[i, j], y[i, j]
                gradient = sign * (score[i] + offset[j] + rho[j] * total[j]) + 1
                new = _exact(old, gradient, own[i, i] + rho[j], -bound[j] * mass[i, j], tol)
                if new == old:
                    continue
                moved += 1
                step = sign * (new - old)
                u[i, j] = new
                total[j] += step
                change[i, j] += step
                rounded = scores.dtype.type(step)
                for d in range(size):
                    score[d] += rounded * own[i, d]
            if moved == before:
                break
    return moved


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
def sums_of_gaps(y: Any, mass: Any, u: Any, scores: Any, bound: Any) -> Any:
    """Return ‖w‖², Σ |u_i|, the losses and the least margin of each column, in one pass over the rows."""
    n, k = u.shape
    sums = np.zeros((4, k))
    sums[3] = np.inf
    for i in range(n):
        for j in range(k):
            if mass[i, j] > 0:
                margin = -y[i, j] * np.float64(scores[i, j])
                sums[0, j] -= u[i, j] * margin
                sums[1, j] -= u[i, j]
                sums[2, j] += bound[j] * mass[i, j] * max(0.0, 1 - margin)
                sums[3, j] = min(sums[3, j], margin)
    return sums
