"""The compiled sums of linear classifiers. Imported only when one is taken: numba is slow to load."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

LANES = 16

_jit = numba.njit(nogil=True, cache=True, boundscheck=False, error_model="numpy", fastmath={"contract"})


@_jit
def linear_sums(X: Any, coef: Any, out: Any) -> None:
    """Write out[i, k] = ⟨w_k, x_i⟩, from sums in as many lanes, whatever the machine."""
    d, sums = X.shape[1], np.empty(LANES)
    for i in range(len(X)):
        for k in range(len(coef)):
            x, w = X[i], coef[k]
            sums[:] = 0
            whole = d - d % LANES
            for start in range(0, whole, LANES):
                for c in range(LANES):
                    sums[c] += np.float64(x[start + c]) * w[start + c]
            for c in range(d - whole):
                sums[c] += np.float64(x[whole + c]) * w[whole + c]
            value = 0.0
            for c in range(LANES):
                value += sums[c]
            out[i, k] = value


@_jit
def sparse_linear_sums(data: Any, indices: Any, indptr: Any, coef: Any, out: Any) -> None:
    """Write the same for CSR rows, in the order of their entries."""
    for i in range(len(out)):
        for k in range(len(coef)):
            value = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                value += np.float64(data[p]) * coef[k, indices[p]]
            out[i, k] = value
