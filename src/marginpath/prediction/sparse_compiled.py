"""The compiled sums of Gaussians around sparse vectors. Imported only when one is taken."""

from __future__ import annotations

from math import exp
from typing import Any

import numba
import numpy as np

from .gaussian_compiled import are_doubtful, exponentials, is_doubtful

LANES = 32

_jit = numba.njit(nogil=True, cache=True, boundscheck=False, error_model="numpy", fastmath={"contract"})


@_jit
def sparse_gaussian_sums(
    rows: Any, columns: Any, vectors: Any, norms: Any, coef: Any, settings: Any, out: Any
) -> None:
    """Write out[i, k] = Σ_j coef[k, j] exp(−‖x_i − z_j‖²/(2σ²)).

    ``rows`` and ``vectors`` are the arrays of CSR matrices, ``columns`` those of the vectors in units of σ,
    column by column.
    """
    (data, indices, indptr), (entries, owners, starts) = rows, columns
    sigma, limits = settings[0], settings[1:]
    m = norms.size
    products, values, exponents = np.empty((1, m)), np.empty(m), np.empty(m)
    norms = norms.reshape((1, m))
    sums = np.empty(LANES)
    for i in range(len(out)):
        products[:] = 0
        half, own = 0.0, slice(indptr[i], indptr[i + 1])
        for p in range(own.start, own.stop):
            x, f = np.float64(data[p]) / sigma, indices[p]
            half += x * x
            for r in range(starts[f], starts[f + 1]):
                products[0, owners[r]] += x * entries[r]
        half /= 2
        exponentials(products, 0, half, norms, 0, values, exponents)
        if are_doubtful(exponents, half, norms, 0, values, limits):
            for j in range(m):
                if is_doubtful(exponents[j], half + norms[0, j], values[j], limits):
                    values[j] = exp(-_half_square(data[own], indices[own], vectors, j, sigma))
        for k in range(len(coef)):
            sums[:] = 0
            for start in range(0, m, LANES):
                for c in range(min(LANES, m - start)):
                    sums[c] += coef[k, start + c] * values[start + c]
            value = 0.0
            for c in range(LANES):
                value += sums[c]
            out[i, k] = value


@_jit
def _half_square(data: Any, indices: Any, vectors: Any, j: int, sigma: float) -> float:
    """Return ‖x − z_j‖²/(2σ²), from the differences at the features of either."""
    entries, features, starts = vectors
    p, r, last, total = 0, starts[j], starts[j + 1], 0.0
    while p < data.size or r < last:
        if r >= last or (p < data.size and indices[p] < features[r]):
            difference = np.float64(data[p])
            p += 1
        elif p >= data.size or features[r] < indices[p]:
            difference = -np.float64(entries[r])
            r += 1
        else:
            difference = np.float64(data[p]) - np.float64(entries[r])
            p += 1
            r += 1
        total += (difference / sigma) ** 2
    return total / 2
