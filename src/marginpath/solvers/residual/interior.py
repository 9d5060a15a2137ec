"""An interior-point method for the working sets of a regression that coordinate steps take too long on."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrs, spotrs

from .factoring import factor

_ITERATIONS = 50
_AWAY = 0.02  # of the box: how far from its ends the method starts
_RIDGE = 64  # rounding units of the diagonal: rounded kernel values may have eigenvalues under 0
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
    from .barrier import correct, move, survey

    room, ridge = np.empty(M.shape, dtype), _RIDGE * float(np.finfo(dtype).eps * M.diagonal().max())
    if np.all(np.isinf(high - low)):
        return np.asarray(_solver(M, np.full(len(a), ridge), room)(-g))
    width = high - low
    a = np.clip(a, low + _AWAY * width, high - _AWAY * width)
    slope = M @ a + g
    push = float(np.abs(slope).mean()) + _TINY
    p, q = np.maximum(slope, 0) + push, np.maximum(-slope, 0) + push
    s, t, θ, lower, upper = np.empty((5, len(a)))
    for _ in range(_ITERATIONS):
        gap, unbalanced = survey(low, high, a, slope, p, q, s, t, θ)
        if gap <= accuracy and unbalanced <= accuracy:
            break
        solve = _solver(M, θ + ridge, room)
        right = correct(s, t, slope, p, q, solve(-slope), gap, lower, upper)
        move(s, t, a, p, q, solve(right), lower, upper)
        slope = M @ a + g
    stiffness = np.maximum(M.diagonal(), _TINY)
    return np.where(stiffness * (a - low) < p, low, np.where(stiffness * (high - a) < q, high, a))


def _solver(M: np.ndarray, θ: np.ndarray, room: np.ndarray) -> Any:
    """Return v → (M + diag θ)⁻¹ v, whose factor is in the room."""
    potrs = dpotrs if room.dtype == np.float64 else spotrs
    while True:
        np.copyto(room, M)
        room.flat[:: len(M) + 1] += θ
        if factor(room):
            return lambda v: potrs(room.T, v, lower=1)[0].astype(np.float64, copy=False)
        θ = θ + 10 * θ.min() + _TINY
