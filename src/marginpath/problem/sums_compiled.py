"""Compiled sums over the samples of a state (numba loads slowly: import late)."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np


@numba.njit(nogil=True, cache=True, boundscheck=False, error_model="numpy", fastmath={"contract"})
def sums_of_gap(y: Any, mass: Any, u: Any, scores: Any, bound: Any) -> Any:
    """Return what the duality gap of each column consists of, in one pass over the samples.

    It is ‖w‖², Σ u_i, the losses Σ b_i max(0, 1 − m_i), the least margin of either class, and Σ y_i u_i.
    """
    n, k = u.shape
    sums = np.zeros((6, k))
    sums[3] = sums[4] = np.inf
    for i in range(n):
        for j in range(k):
            if mass[i, j] > 0:
                margin, dual = -y[i, j] * np.float64(scores[i, j]), np.float64(u[i, j])
                sums[0, j] -= dual * margin
                sums[1, j] += dual
                if margin < 1:
                    sums[2, j] += bound[j] * mass[i, j] * (1 - margin)
                side = 3 if y[i, j] > 0 else 4
                sums[side, j] = min(sums[side, j], margin)
                sums[5, j] += y[i, j] * dual
    return sums
