"""The compiled prediction alone, row by row, and the least that it could do: one pass over the vectors.

One pass reads every number of the packed vectors once, from the same memory, and multiplies and adds it: m d
products into as many sums as a block has lanes, nothing by vector. A prediction has, above that, to keep the
products apart, and to take m exponentials and their weighted sum.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from marginpath.prediction.gaussian_compiled import LANES, gaussian_sums
from marginpath.prediction.predictors import Gaussians


@numba.njit(nogil=True)
def _each_alone(X: Any, blocks: Any, samples: Any, halves: Any, coef: Any, settings: Any, out: Any) -> None:
    for i in range(len(X)):
        gaussian_sums(X[i : i + 1], blocks, samples, halves, coef, settings, out[i : i + 1])


@numba.njit(nogil=True, fastmath={"contract"})
def _one_pass(X: Any, blocks: Any, out: Any) -> None:
    """Add up the products of every row with every vector: what no prediction can do without."""
    sums = np.empty(LANES, X.dtype)
    for i in range(len(X)):
        sums[:] = 0
        for b in range(len(blocks)):
            for f in range(X.shape[1]):
                for c in range(LANES):
                    sums[c] += X[i, f] * blocks[b, f, c]
        out[i, 0] = sums.sum()


def predicted(predict: Gaussians, X: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """Return Σ_j coef[k, j] k(x, z_j), each row by a call of its own, and all calls from compiled code."""
    out = np.empty((len(X), len(coef)))
    coef = np.ascontiguousarray(coef, dtype=np.float64)
    _each_alone(X, predict.blocks, predict.vectors, predict.halves, coef, predict.settings, out)
    return out


def passed(predict: Gaussians, X: np.ndarray) -> np.ndarray:
    """Return Σ_j ⟨x, z_j⟩ of the packed vectors."""
    out = np.empty((len(X), 1))
    _one_pass(X, predict.blocks, out)
    return out
