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


@numba.njit(nogil=True, cache=True, boundscheck=False, error_model="numpy", fastmath={"contract"})
def sums_of_questions(
    ends: Any, signed: Any, together: int, u: Any, fields: Any, offset: Any, bound: Any
) -> Any:
    """Return the same sums over the samples that count in each question: of pairs of many classes few do.

    u and the fields, which are the scores less the offset, are packed as the labels ``signed`` are.
    """
    sums = np.zeros((6, offset.size))
    for q in range(ends.size - 1):
        a, m = ends[q], ends[q + 1] - ends[q]
        for c in range(together):
            j, s = q * together + c, together * a + c * m
            squared, total, loss, tie, up, down = 0.0, 0.0, 0.0, 0.0, np.inf, np.inf
            for b in range(m):
                if signed[s + b] != 0:
                    y = np.sign(signed[s + b])
                    margin, dual = -y * (fields[s + b] + offset[j]), u[s + b]
                    squared -= dual * margin
                    total += dual
                    tie += y * dual
                    if margin < 1:
                        loss += bound[j] * abs(signed[s + b]) * (1 - margin)
                    if y > 0:
                        up = min(up, margin)
                    else:
                        down = min(down, margin)
            sums[0, j], sums[1, j], sums[2, j] = squared, total, loss
            sums[3, j], sums[4, j], sums[5, j] = up, down, tie
    return sums


@numba.njit(nogil=True, cache=True, boundscheck=False, error_model="numpy")
def gaps_of_sums(sums: Any, offset: Any, tied: bool) -> Any:
    """Return the duality gap of each column over its primal objective, and ‖w‖², Σ u_i, and the least margin.

    The sums are those above; an intercept is no part of ‖w‖², and at its best for the least margin.
    """
    gaps, parts = np.empty(offset.size), np.empty((3, offset.size))
    for j in range(offset.size):
        squared, total, loss, up, down, tie = sums[:, j]
        least, dual = min(up, down), -squared / 2 - total
        primal = dual + (squared + (total + loss))
        if least > 0 and squared / 2 / least**2 < primal:  # w over its least margin has no loss
            primal = squared / 2 / least**2
        gaps[j] = 1.0 if not primal < np.inf else ((primal - dual) / primal if primal > 0 else 0.0)
        if tied and total < 0:
            gaps[j] = max(gaps[j], abs(tie) / -total)
        parts[0, j], parts[1, j] = squared - offset[j] * tie, total
        parts[2, j] = (up + down) / 2 if tied else least
    return gaps, parts
