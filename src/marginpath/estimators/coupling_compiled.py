"""Probabilities that are nearest to those of all pairs, row by row in a compiled loop (import late)."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

_jit = numba.njit(nogil=True, cache=True, boundscheck=False, error_model="numpy", fastmath={"contract"})


@_jit
def couple(odds: Any, classes: int, ridge: float, chance: Any) -> None:
    """Write the p that minimizes Σ_{a<b} (r_ba p_a − r_ab p_b)² over Σ p_a = 1, by the log-odds of pairs.

    With Q_aa = Σ_b r_ba² and Q_ab = −r_ba r_ab, p is the solution of Q p = 1 over its sum. Q has a Cholesky
    factor, as it is positive semi-definite and the ridge is added.
    """
    Q, p = np.empty((classes, classes)), np.empty(classes)
    for i in range(len(odds)):
        for a in range(classes):
            Q[a, a], p[a] = ridge, 1.0
        pair = 0
        for a in range(classes):
            for b in range(a + 1, classes):
                second = 1 / (1 + np.exp(-odds[i, pair]))
                first = 1 / (1 + np.exp(odds[i, pair]))
                Q[a, a] += second * second
                Q[b, b] += first * first
                Q[b, a] = -first * second
                pair += 1
        _solve(Q, p)
        total = 0.0
        for a in range(classes):
            p[a] = max(p[a], 0.0)
            total += p[a]
        for a in range(classes):
            chance[i, a] = p[a] / total


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
