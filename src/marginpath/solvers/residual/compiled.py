"""Compiled sweeps for regression. Imported only when a sweep is about to run: numba is slow to load.

All of them take the exact step in one coordinate of the dual after the other, with f = K a,

    a_i ← clip(soft(K_ii a_i + y_i − f_i, ε) / (K_ii + c/b_i), −p b_i, q b_i),   b_i = weight_i / λ.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..coordinate.compiled import add_rows
from ..coordinate.spaces import RUN

_PIECE = 2048  # entries of a field that stay near the core meanwhile

_jit = numba.njit(nogil=True, cache=True, fastmath={"contract"}, boundscheck=False)


@_jit
def _exact(old: Any, residual: Any, diagonal: Any, b: Any, shape: Any) -> Any:
    ε, c, low, high = shape
    lower, upper = low * b, high * b
    steepness = diagonal + c / b
    z = diagonal * old + residual
    z = max(z - ε, 0.0) + min(z + ε, 0.0)
    if steepness <= 0:  # a zero sample and a loss with a corner: no f but 0, so it goes to an end of the box
        end = upper if z > 0 else lower if z < 0 else old
        return end if abs(end) < np.inf else old
    return min(max(z / steepness, lower), upper)


@_jit
def kernel_sweep(
    order: Any,
    where: Any,
    rows: Any,
    diagonal: Any,
    targets: Any,
    mass: Any,
    b: Any,
    shape: Any,
    passes: int,
    a: Any,
    f: Any,
) -> None:
    """Sweep with rows of K: arrays are (k, n). The row of sample ``order[c]`` is ``rows[where[c]]``.

    A block of coordinates is stepped through, so many passes, on its own part of f. Then the rows of those
    that moved are added to all of f.
    """
    k, n = a.shape
    inside, near = np.empty((RUN, RUN)), np.empty(RUN)
    moved, steps = np.empty((k, RUN), np.int64), np.empty((k, RUN))
    count = np.empty(k, np.int64)
    for first in range(0, order.size, RUN):
        block = order[first : first + RUN]
        for c in range(block.size):
            for d in range(block.size):
                inside[c, d] = rows[where[first + c], block[d]]
        for j in range(k):
            for c in range(block.size):
                near[c], steps[j, c] = f[j, block[c]], a[j, block[c]]
            for _ in range(passes):
                still = True
                for c in range(block.size):
                    i = block[c]
                    if mass[j, i] == 0:
                        continue
                    old = a[j, i]
                    new = _exact(old, targets[j, i] - near[c], diagonal[i], b[j] * mass[j, i], shape)
                    if new != old:
                        still = False
                        a[j, i] = new
                        for d in range(block.size):
                            near[d] += (new - old) * inside[c, d]
                if still:
                    break
            count[j] = 0
            for c in range(block.size):
                change = a[j, block[c]] - steps[j, c]
                if change != 0:
                    moved[j, count[j]], steps[j, count[j]] = where[first + c], change
                    count[j] += 1
        for m in range(0, n, _PIECE):
            for j in range(k):
                add_rows(rows, moved[j, : count[j]], steps[j], f[j, m : m + _PIECE], m)


@_jit
def feature_sweep(
    order: Any,
    data: Any,
    indices: Any,
    indptr: Any,
    diagonal: Any,
    targets: Any,
    mass: Any,
    b: Any,
    shape: Any,
    a: Any,
    w: Any,
) -> None:
    """Sweep with CSR features: targets, mass and a are (n, k), w = Xᵀa is (d, k)."""
    k = a.shape[1]
    score, step = np.empty(k), np.empty(k)
    for i in order:
        score[:] = 0
        for p in range(indptr[i], indptr[i + 1]):
            value, m = np.float64(data[p]), indices[p]
            for j in range(k):
                score[j] += value * w[m, j]
        moved = False
        for j in range(k):
            step[j] = 0
            if mass[i, j] > 0:
                old = a[i, j]
                a[i, j] = _exact(old, targets[i, j] - score[j], diagonal[i], b[j] * mass[i, j], shape)
                step[j] = a[i, j] - old
                moved |= step[j] != 0
        if moved:
            for p in range(indptr[i], indptr[i + 1]):
                value, m = np.float64(data[p]), indices[p]
                for j in range(k):
                    w[m, j] += value * step[j]
