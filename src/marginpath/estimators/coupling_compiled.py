"""Probabilities of pairs, and those of classes that are nearest to them, in compiled loops (import late)."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

_jit = numba.njit(nogil=True, cache=True, boundscheck=False, error_model="numpy", fastmath={"contract"})
_TINY = 1e-300
_STEEP = 10.0  # the logarithm of a slope is looked for within ± so much …
_ROUNDS, _CLOSE = 60, 1e-12  # … by Newton's method, which halves the interval where it leaves it


@_jit
def couple(odds: Any, classes: int, ridge: float, chance: Any) -> None:
    """Write the p that minimizes Σ_{a<b} (r_ba p_a − r_ab p_b)² over Σ p_a = 1, by the log-odds of pairs.

    With Q_aa = Σ_b r_ba² and Q_ab = −r_ba r_ab, p is the solution of Q p = 1 over its sum. Q has a Cholesky
    factor, as it is positive semi-definite and the ridge is added.
    """
    Q = np.empty((classes, classes))
    for i in range(len(odds)):
        _couple(odds[i], ridge, Q, chance[i])


@_jit
def coupled_chances(
    values: Any, rates: Any, shift: Any, codes: Any, ridge: float, first: int, last: int, found: Any
) -> None:
    """Write the logarithms of p of the class of rows first to last and of 1 − p, log-odds a f − shift."""
    classes = round((1 + np.sqrt(1 + 8 * rates.size)) / 2)
    Q, p, odds = np.empty((classes, classes)), np.empty(classes), np.empty(rates.size)
    for i in range(first, last):
        for pair in range(rates.size):
            odds[pair] = rates[pair] * values[i, pair] - shift[pair]
        _couple(odds, ridge, Q, p)
        others = 0.0
        for a in range(classes):
            others += p[a] if a != codes[i] else 0.0
        found[0, i], found[1, i] = np.log(max(p[codes[i]], _TINY)), np.log(max(others, _TINY))


@_jit
def _couple(odds: Any, ridge: float, Q: Any, p: Any) -> None:
    """Write the p of one row."""
    classes, pair, total = p.size, 0, 0.0
    for a in range(classes):
        Q[a, a], p[a] = ridge, 1.0
    for a in range(classes):
        for b in range(a + 1, classes):
            less = np.exp(-abs(odds[pair]))
            more = 1 / (1 + less)
            less *= more
            first, second = (less, more) if odds[pair] > 0 else (more, less)
            Q[a, a] += second * second
            Q[b, b] += first * first
            Q[b, a] = -first * second
            pair += 1
    _solve(Q, p)
    for a in range(classes):
        p[a] = max(p[a], 0.0)
        total += p[a]
    for a in range(classes):
        p[a] /= total


@_jit
def _solve(Q: Any, p: Any) -> None:
    """Solve Q p = p, of Q the lower half, in place."""
    k = p.size
    for a in range(k):
        for c in range(a):
            if Q[a, c] != 0:
                for b in range(a, k):
                    Q[b, a] -= Q[b, c] * Q[a, c]
        root = np.sqrt(Q[a, a])
        for b in range(a, k):
            Q[b, a] /= root
    for a in range(k):
        p[a] /= Q[a, a]
        for b in range(a + 1, k):
            p[b] -= Q[b, a] * p[a]
    for a in range(k - 1, -1, -1):
        for b in range(a + 1, k):
            p[a] -= Q[b, a] * p[b]
        p[a] /= Q[a, a]


@_jit
def slopes_of_pairs(values: Any, codes: Any, weight: Any, classes: int, shift: Any) -> Any:
    """Return the most likely slope of every pair, a f − shift being its log-odds; NaN where there is none."""
    n, pair, slopes = codes.size, 0, np.empty(shift.size)
    f, target, mass = np.empty(n), np.empty(n), np.empty(n)
    for a in range(classes):
        for b in range(a + 1, classes):
            m, first, second, size = 0, 0.0, 0.0, 0.0
            for i in range(n):
                if codes[i] == a or codes[i] == b:
                    f[m], target[m], mass[m] = values[i, pair], codes[i] == b, weight[i]
                    first += 0.0 if target[m] else mass[m]
                    second += mass[m] if target[m] else 0.0
                    size += mass[m] * abs(f[m])
                    m += 1
            slopes[pair] = np.nan
            if first > 0 and second > 0 and size > 0:
                for i in range(m):
                    target[i] = (second + 1) / (second + 2) if target[i] else 1 / (first + 2)
                slopes[pair] = _slope(f[:m], target, mass, shift[pair], (first + second) / size)
            pair += 1
    return slopes


@_jit
def _slope(f: Any, target: Any, mass: Any, shift: float, unit: float) -> Any:
    """Return the slope; the loss is convex in it, so that its derivative is under 0 below the best."""
    low, high, x = -_STEEP, _STEEP, 0.0
    for _ in range(_ROUNDS):
        a, down, curve = unit * np.exp(x), 0.0, 0.0
        for i in range(f.size):
            z = a * f[i] - shift
            e = np.exp(-abs(z))
            chance = (1.0 if z > 0 else e) / (1 + e)
            down += mass[i] * f[i] * (chance - target[i])
            curve += mass[i] * f[i] * f[i] * chance * (1 - chance)
        low, high = (x, high) if down < 0 else (low, x)
        bend = a * curve + down  # the second derivative by x, over a
        to = x - down / bend if bend > 0 else np.inf
        before, x = x, to if low < to < high else (low + high) / 2
        if abs(x - before) <= _CLOSE:
            break
    return unit * np.exp(x)
