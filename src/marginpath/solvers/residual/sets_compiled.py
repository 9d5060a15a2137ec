"""Compiled working sets of a regression. Imported only when one is about to be solved: numba is slow to load.

A column is one of ``working_sets.Column``, where its problem is written; its a and f change in place. All of
its way is compiled, so that the threads of others need not wait for the interpreter.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..solution_path.column import follow, gather

_ROOM, _MOST = 1.25, 6  # a set has room for all free samples and some more, but not without end
_SHARE = 0.03  # of the violation that is left of a working set
_SPARE = 0.5  # of the gap asked for that a working set may keep
_SAME = 0.01  # of a set that is new: what is open is not due to others
# Coordinate steps in a set, over its size: so many, and one more for so many samples. What they take grows
# like the square, factors like the cube.
_STEPS, _MORE = 10, 30
_TINY, _FAR = 1e-300, 1e300

_jit = numba.njit(nogil=True, cache=True, fastmath={"contract"}, boundscheck=False)
# Minima and maxima of several numbers at once, if none of them need be told from not a number.
_vectorized = numba.njit(nogil=True, cache=True, fastmath={"contract", "nnan", "nsz"}, boundscheck=False)


@_jit
def solve_sets(rows: Any, column: Any, tol: float, size: int, account: Any, stop: Any) -> Any:
    """Work on sets by coordinate steps, the rows are a stored matrix, until one of them takes too many.

    Return that set: its samples, their matrix, where the steps came to, the slopes there, and the primal
    objective. It is empty where there is nothing more to do.
    """
    while True:
        index, eps, objective = next_set(column, tol, size, account)
        M = np.empty((index.size, index.size))
        if index.size == 0 or stop[0]:
            return index[:0], M, column.a[:0], column.a[:0], objective
        gather(index, index, rows, M)
        solved, new, slope = improve(M, index, column, eps)
        if not solved:
            return index, M, new, slope, objective
        moved, steps = take(index, new, column.a)
        if moved.size == 0:
            return index[:0], M, new, slope, objective
        follow(rows, moved, steps, column.f)


@_jit
def next_set(column: Any, tol: float, size: int, account: Any) -> Any:
    """Return what :func:`plan` does, and write it down: nothing once as many samples as may be were visited.

    A set that is the one before was not solved well enough: it may have a tenth of the error.
    """
    index, eps, objective = plan(column, tol, size)
    if account.left[0] <= 0:
        return index[:0], eps, objective
    fresh = index.size
    for i in index:
        fresh -= account.before[i]
    if fresh <= _SAME * index.size:
        account.spare[0] /= 10
    account.left[0] -= index.size
    account.before[:] = False
    account.before[index] = True
    return index, eps, objective


@_jit
def improve(M: Any, index: Any, column: Any, eps: float) -> Any:
    """Step to violations of at most eps in a set; M is its K, and gets the ridge.

    Return whether the steps that it may take were enough, where they came to, and the slopes there.
    """
    m = index.size
    low, high, a, slope = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    for c in range(m):
        i = index[c]
        low[c], high[c], a[c] = column.low[i], column.high[i], column.a[i]
        M[c, c] += column.ridge[i]
        slope[c] = column.f[i] - column.y[i] + column.ridge[i] * a[c]
    limit = (_STEPS + m // _MORE) * m
    return steps_in_set(M, low, high, column.epsilon, a, slope, eps, limit), a, slope


@_jit
def take(index: Any, new: Any, a: Any) -> Any:
    """Bring the samples of a set to where they go; return which of them move, and by how much."""
    moved, steps, count = np.empty(index.size, np.int64), np.empty(index.size), 0
    for c in range(index.size):
        i = index[c]
        if new[c] != a[i]:
            moved[count], steps[count], a[i] = i, new[c] - a[i], new[c]
            count += 1
    return moved[:count], steps[:count]


@_jit
def _gradient(a: float, slope: float, epsilon: float) -> float:
    """Return the slope f − y + r a plus that of ε|a|; at a = 0 the one of the side it wants to, or 0."""
    if a > 0:
        return slope + epsilon
    if a < 0:
        return slope - epsilon
    return max(slope - epsilon, 0.0) + min(slope + epsilon, 0.0)


@_jit
def survey(column: Any) -> Any:
    """Return the largest violation, the duality gap, the primal objective, Σ|a|, and how many are free."""
    y, low, high, ridge, epsilon, a, f = column
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
def plan(column: Any, tol: float, size: int) -> Any:
    """Return the samples to work on next, to which violation, and the primal objective; none at the end.

    They are those between their bounds, and of those that violate the optimality conditions the worst.
    """
    y, low, high, ridge, epsilon, a, f = column
    violation, gap, primal, total, free = survey(column)
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
