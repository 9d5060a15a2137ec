"""The vectors of the interior-point method, compiled: a set is small, and NumPy's calls would outlast them.

With s = a − low and t = high − a, and multipliers p, q of the two ends, Newton's way to M a + g = p − q,
s p = lower and t q = upper (at second order) is

    (M + diag θ) Δ = lower / s − upper / t − (M a + g),   θ = p / s + q / t,
    Δp = (lower − p Δ) / s − p,   Δq = (upper + q Δ) / t − q.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

_BACK = 0.995  # of the way to the nearest end that a step may take
_CLOSE = 1e-16  # of the box: nearer than this to an end is rounding

_jit = numba.njit(nogil=True, cache=True, fastmath={"contract"}, boundscheck=False)


@_jit
def survey(low: Any, high: Any, a: Any, slope: Any, p: Any, q: Any, s: Any, t: Any, θ: Any) -> Any:
    """Set s, t and θ; return the complementarity sᵀp + tᵀq, and |M a + g − p + q| times the box."""
    gap, unbalanced = 0.0, 0.0
    for i in range(a.size):
        width = high[i] - low[i]
        s[i], t[i] = max(a[i] - low[i], _CLOSE * width), max(high[i] - a[i], _CLOSE * width)
        θ[i] = p[i] / s[i] + q[i] / t[i]
        gap += s[i] * p[i] + t[i] * q[i]
        unbalanced += abs(slope[i] - p[i] + q[i]) * width
    return gap, unbalanced


@_jit
def correct(s: Any, t: Any, slope: Any, p: Any, q: Any, Δ: Any, gap: float, lower: Any, upper: Any) -> Any:
    """Set what s p and t q are to be, from the way Δ to 0; return the right side of the system for it."""
    n = Δ.size
    for i in range(n):
        lower[i] = upper[i] = 0.0
    α, ahead = _room(s, t, p, q, Δ, lower, upper), 0.0
    for i in range(n):
        Δp, Δq = -p[i] * Δ[i] / s[i] - p[i], q[i] * Δ[i] / t[i] - q[i]
        ahead += (s[i] + α * Δ[i]) * (p[i] + α * Δp) + (t[i] - α * Δ[i]) * (q[i] + α * Δq)
    μ, right = (ahead / gap) ** 3 * gap / (2 * n), np.empty(n)
    for i in range(n):
        Δp, Δq = -p[i] * Δ[i] / s[i] - p[i], q[i] * Δ[i] / t[i] - q[i]
        lower[i], upper[i] = μ - Δ[i] * Δp, μ + Δ[i] * Δq
        right[i] = lower[i] / s[i] - upper[i] / t[i] - slope[i]
    return right


@_jit
def move(s: Any, t: Any, a: Any, p: Any, q: Any, Δ: Any, lower: Any, upper: Any) -> None:
    """Take the step, all but the last of the way to the nearest end."""
    α = _BACK * _room(s, t, p, q, Δ, lower, upper)
    for i in range(a.size):
        a[i] += α * Δ[i]
        p[i] += α * ((lower[i] - p[i] * Δ[i]) / s[i] - p[i])
        q[i] += α * ((upper[i] + q[i] * Δ[i]) / t[i] - q[i])


@_jit
def _room(s: Any, t: Any, p: Any, q: Any, Δ: Any, lower: Any, upper: Any) -> float:
    """Return the largest α ≤ 1 at which s + αΔ, t − αΔ, p + αΔp and q + αΔq are not negative."""
    rate = 1.0
    for i in range(Δ.size):
        Δp, Δq = (lower[i] - p[i] * Δ[i]) / s[i] - p[i], (upper[i] + q[i] * Δ[i]) / t[i] - q[i]
        rate = max(rate, -Δ[i] / s[i], Δ[i] / t[i], -Δp / p[i], -Δq / q[i])
    return 1 / rate
