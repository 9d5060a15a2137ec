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
_ROOM, _MOST = 1.25, 6  # a set has room for all free samples and some more, but not without end
_SHARE = 0.03  # of the violation that is left of a working set
_SPARE = 0.5  # of the gap asked for that a working set may keep
_TINY, _FAR = 1e-300, 1e300

_jit = numba.njit(nogil=True, cache=True, fastmath={"contract"}, boundscheck=False)
# Minima and maxima of several numbers at once, if none of them need be told from not a number.
_vectorized = numba.njit(nogil=True, cache=True, fastmath={"contract", "nnan", "nsz"}, boundscheck=False)


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


@_jit
def _gradient(a: float, slope: float, epsilon: float) -> float:
    """Return the slope f − y + r a plus that of ε|a|; at a = 0 the one of the side it wants to, or 0."""
    if a > 0:
        return slope + epsilon
    if a < 0:
        return slope - epsilon
    return max(slope - epsilon, 0.0) + min(slope + epsilon, 0.0)


@_jit
def survey(y: Any, low: Any, high: Any, ridge: Any, epsilon: float, a: Any, f: Any) -> Any:
    """Return the largest violation, the duality gap, the primal objective, Σ|a|, and how many are free."""
    worst, squared, losses, conjugates, total, free = 0.0, 0.0, 0.0, 0.0, 0.0, 0
    for i in range(a.size):
        if not low[i] < high[i]:
            continue
        e = _gradient(a[i], f[i] - y[i] + ridge[i] * a[i], epsilon)
        if (e < 0 and a[i] < high[i]) or (e > 0 and a[i] > low[i]):
            worst = max(worst, abs(e))
        t = max(y[i] - f[i] - epsilon, 0.0) + min(y[i] - f[i] + epsilon, 0.0)
        best = high[i] if t > 0 else low[i] if t < 0 else 0.0
        if ridge[i] > 0:
            best = min(max(t / ridge[i], low[i]), high[i])
        losses += best * t - ridge[i] * best * best / 2
        conjugates += epsilon * abs(a[i]) + ridge[i] * a[i] * a[i] / 2 - y[i] * a[i]
        squared += a[i] * f[i]
        total += abs(a[i])
        free += low[i] < a[i] < high[i] and (a[i] != 0 or epsilon == 0)
    return worst, max(squared + losses + conjugates, 0.0), squared / 2 + losses, total, free


@_jit
def plan(
    y: Any, low: Any, high: Any, ridge: Any, epsilon: float, a: Any, f: Any, tol: float, size: int
) -> Any:
    """Return the samples to work on next, to which violation, and the primal objective; none at the end.

    They are those between their bounds, and of those that violate the optimality conditions the worst.
    """
    violation, gap, primal, total, free = survey(y, low, high, ridge, epsilon, a, f)
    index, ranks, count = np.empty(a.size, np.int64), np.empty(a.size), 0
    if gap <= tol * primal:
        return index[:0], 0.0, primal
    most = min(max(int(_ROOM * free), size), _MOST * size)
    # Free samples are to give way to the others; where they take all the room, the others come first.
    first = violation if _ROOM * free <= most else 0.0
    for i in range(a.size):
        e = _gradient(a[i], f[i] - y[i] + ridge[i] * a[i], epsilon)
        rises, falls = a[i] < high[i], a[i] > low[i]
        if (e < 0 and rises) or (e > 0 and falls) or (a[i] != 0 and rises and falls):
            is_free = a[i] != 0 and rises and falls
            index[count], ranks[count] = i, abs(e) + (first if is_free else 0.0)
            count += 1
    if count > most:
        worst = np.sort(np.argsort(-ranks[:count])[:most])
        index, count = index[worst], most
    eps = min(max(_SHARE * violation, _SPARE * tol * primal / max(total, _TINY)), violation / 2)
    return index[:count], eps, primal


@_jit
def steps_in_set(
    M: Any, low: Any, high: Any, epsilon: float, a: Any, slope: Any, eps: float, limit: int
) -> bool:
    """Move the coordinate that gains most until no violation is over eps; whether that was reached."""
    m = a.size
    up, down, inverse, gains = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    for c in range(m):
        inverse[c] = 1 / max(M[c, c], _TINY)
        up[c], down[c] = _offsets(a[c], low[c], high[c], epsilon)
    small = eps * eps * np.max(inverse)
    _add_row(0.0, M[0], up, down, inverse, slope, gains)
    for _ in range(limit):
        i = _largest(gains)
        if gains[i] <= small and (gains[i] == 0 or _violation(slope, up, down) <= eps):
            return True
        old, square = a[i], max(M[i, i], _TINY)
        z = square * old - slope[i]
        z = max(z - epsilon, 0.0) + min(z + epsilon, 0.0)
        a[i] = min(max(z / square, low[i]), high[i])
        up[i], down[i] = _offsets(a[i], low[i], high[i], epsilon)
        _add_row(a[i] - old, M[i], up, down, inverse, slope, gains)
    return False


@_jit
def _offsets(a: float, low: float, high: float, epsilon: float) -> Any:
    """Return what the slope lacks of the one upwards and of the one downwards, far where there is no way."""
    up = (epsilon if a >= 0 else -epsilon) if a < high else _FAR
    down = (epsilon if a > 0 else -epsilon) if a > low else -_FAR
    return up, down


@_vectorized
def _add_row(step: float, row: Any, up: Any, down: Any, inverse: Any, slope: Any, gains: Any) -> None:
    """Bring the slopes up to date, and twice what an exact step in each coordinate gains."""
    for c in range(slope.size):
        new = slope[c] + step * row[c]
        e = min(new + up[c], 0.0) + max(new + down[c], 0.0)
        slope[c], gains[c] = new, e * e * inverse[c]


@_vectorized
def _largest(gains: Any) -> int:
    """Return where the largest is: four at a time, none waits for the one before."""
    p, q, r, t = 0.0, 0.0, 0.0, 0.0
    whole = gains.size - gains.size % 4
    for c in range(0, whole, 4):
        p, q, r, t = max(p, gains[c]), max(q, gains[c + 1]), max(r, gains[c + 2]), max(t, gains[c + 3])
    best, i = max(max(p, q), max(r, t)), 0
    for c in range(whole, gains.size):
        best = max(best, gains[c])
    while i < gains.size - 1 and gains[i] != best:
        i += 1
    return i


@_vectorized
def _violation(slope: Any, up: Any, down: Any) -> float:
    worst = 0.0
    for c in range(slope.size):
        worst = max(worst, -(slope[c] + up[c]), slope[c] + down[c])
    return worst
