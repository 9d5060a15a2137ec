"""An interior-point method for the working sets of a regression that coordinate steps take too long on."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrs, spotrs

from .factoring import factor

_ITERATIONS = 50
_AWAY = 0.1  # of the box: how far from its ends the method starts
_BACK = 0.995  # of the way to the nearest end that a step may take
_RIDGE = 64  # rounding units of the diagonal: rounded kernel values may have eigenvalues under 0
_CLOSE = 1e-16  # of the box: nearer than this to an end is rounding
_TINY = 1e-300


def minimise_in_box(
    M: np.ndarray,
    g: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    a: np.ndarray,
    accuracy: float,
    dtype: Any = np.float64,
) -> np.ndarray:
    """Return argmin ½ aᵀM a + gᵀa over low ≤ a ≤ high, all finite or none, within the accuracy of it.

    The entries of M are rounded to the dtype, in which it is factored.

    Mehrotra's predictor and corrector: multipliers p ≥ 0 and q ≥ 0 of the two ends, M a + g = p − q, with
    (a − low) p and (high − a) q on their way to 0. What is at an end at last is put there exactly.

    Examples
    --------
    >>> M, g = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-6.0, -6.0])
    >>> minimise_in_box(M, g, np.zeros(2), np.array([9.0, 1.5]), np.ones(2), 1e-9).round(6)
    array([2.25, 1.5 ])
    """
    room, ridge = np.empty(M.shape, dtype), _RIDGE * float(np.finfo(dtype).eps * M.diagonal().max())
    if np.all(np.isinf(high - low)):
        return np.asarray(_solver(M, np.full(len(a), ridge), room)(-g))
    width = high - low
    a = np.clip(a, low + _AWAY * width, high - _AWAY * width)
    slope = M @ a + g
    push = float(np.abs(slope).mean()) + _TINY
    p, q = np.maximum(slope, 0) + push, np.maximum(-slope, 0) + push
    for _ in range(_ITERATIONS):
        s, t = np.maximum(a - low, _CLOSE * width), np.maximum(high - a, _CLOSE * width)
        unbalanced = slope - p + q
        gap = float(s @ p + t @ q)
        if gap <= accuracy and float(np.abs(unbalanced) @ width) <= accuracy:
            break
        solve = _solver(M, p / s + q / t + ridge, room)
        Δa, Δp, Δq = _direction(solve, unbalanced, s, t, p, q, 0.0, 0.0)
        α = _room(s, t, p, q, Δa, Δp, Δq)
        ahead = float((s + α * Δa) @ (p + α * Δp) + (t - α * Δa) @ (q + α * Δq))
        μ = (ahead / gap) ** 3 * gap / (2 * len(a))
        Δa, Δp, Δq = _direction(solve, unbalanced, s, t, p, q, μ - Δa * Δp, μ + Δa * Δq)
        α = _BACK * _room(s, t, p, q, Δa, Δp, Δq)
        a, p, q = a + α * Δa, p + α * Δp, q + α * Δq
        slope = M @ a + g
    stiffness = np.maximum(M.diagonal(), _TINY)
    return np.where(stiffness * (a - low) < p, low, np.where(stiffness * (high - a) < q, high, a))


def _direction(
    solve: Any,
    unbalanced: np.ndarray,
    s: np.ndarray,
    t: np.ndarray,
    p: np.ndarray,
    q: np.ndarray,
    lower: Any,
    upper: Any,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Newton's way to M a + g = p − q, s p = lower and t q = upper (at second order)."""
    to_p, to_q = lower / s - p, upper / t - q
    Δa = solve(to_p - to_q - unbalanced)
    return Δa, to_p - p / s * Δa, to_q + q / t * Δa


def _room(*parts: np.ndarray) -> float:
    """Return the largest α ≤ 1 at which s + αΔa, t − αΔa, p + αΔp and q + αΔq are not negative."""
    s, t, p, q, Δa, Δp, Δq = parts
    rates = [float(np.max(-change / value)) for value, change in ((s, Δa), (t, -Δa), (p, Δp), (q, Δq))]
    return 1 / max(1.0, *rates)


def _solver(M: np.ndarray, θ: np.ndarray, room: np.ndarray) -> Any:
    """Return v → (M + diag θ)⁻¹ v, whose factor is in the room."""
    diagonal = np.diag_indices(len(M))
    while True:
        np.copyto(room, M)
        room[diagonal] += θ
        if factor(room):
            potrs = dpotrs if room.dtype == np.float64 else spotrs
            return lambda v: potrs(room.T, v, lower=1)[0].astype(np.float64, copy=False)
        θ = θ + 10 * θ.min() + _TINY
