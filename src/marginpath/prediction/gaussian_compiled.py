"""The compiled sums of Gaussians. Imported only when one is taken: numba is slow to load.

Sums run over the features in their order, and over the vectors in as many lanes as a block has. Nothing is
reordered: the bits of a value depend neither on the rows beside it nor on where the arrays lie.
"""

from __future__ import annotations

from math import exp
from typing import Any

import numba
import numpy as np

#: Rows that share a pass over the vectors, and features whose terms share a pass over the lanes.
ROWS, TERMS = 4, 4
#: Vectors of a block; a constant, so that the compiler knows how often a loop runs.
LANES = 64
#: Rows that share a block of vectors while it is in the cache.
GROUP = 32
#: Columns above which there are fewer sums than a block has lanes, which would not fit a cache; and how many.
FEW, SUMS = 4, 16

_jit = numba.njit(nogil=True, cache=True, boundscheck=False, error_model="numpy", fastmath={"contract"})
# Inlined, lest the compiler fear that what is written is what is read.
_inlined = numba.njit(
    nogil=True, boundscheck=False, error_model="numpy", fastmath={"contract"}, inline="always"
)
_LOWEST = -708.0  # exp of less is no normal number
_LOG2E, _LN2_HIGH, _LN2_LOW = 1.4426950408889634, 0.6931471803691238, 1.9082149292705877e-10
_ROUND = 6755399441055744.0  # 1.5 · 2⁵²: what is added to it is rounded to a whole number


@_jit
def gaussian_sums(X: Any, vectors: Any, samples: Any, norms: Any, coef: Any, settings: Any, out: Any) -> None:
    """Write out[i, k] = Σ_j coef[k, j] exp(−‖x_i − z_j‖²/(2σ²)).

    ``vectors`` (blocks, features, lanes) are the samples z_j, centred and in units of σ; ``norms`` holds the
    halves of their squared norms, and ``settings`` the centre, σ, what rounding may do to a kernel value, and
    the largest of the ``norms`` of every block.
    """
    features, lanes = vectors.shape[1], LANES
    limits, largest = settings[2], settings[3]
    size = max(1, min(GROUP, len(X)))
    few = len(coef) <= FEW
    rows, halves = np.zeros((size, features), X.dtype), np.zeros(size)
    products, sums = np.empty((ROWS, lanes), X.dtype), np.empty((size, len(coef), lanes if few else SUMS))
    values, exponents = np.empty(lanes), np.empty(lanes)
    for first in range(0, len(X), size):
        height = min(size, len(X) - first)
        _scale(X[first : first + height], settings, rows, halves)
        sums[:] = 0
        for b in range(len(vectors)):
            start = b * lanes
            own = coef[:, start : min(start + lanes, len(samples))]
            for q in range(height):
                if q % ROWS == 0:
                    _products(rows[q : min(q + ROWS, height)], vectors[b], products)
                exponentials(products[q % ROWS], halves[q], norms[b], values, exponents)
                near = limits[0] * (halves[q] + largest[b]) <= limits[1]  # then no value is doubtful
                if not near and are_doubtful(exponents, halves[q], norms[b], values, limits):
                    _again(X[first + q], samples[start:], halves[q], norms[b], settings, values, exponents)
                for k in range(len(coef)):
                    if few:
                        _add(own[k], values, sums[q, k])
                    else:
                        _add_at_once(own[k], values, sums[q, k])
        for q in range(height):
            for k in range(len(coef)):
                out[first + q, k] = _total(sums[q, k])


@_inlined
def _scale(X: Any, settings: Any, rows: Any, halves: Any) -> None:
    """Write the rows, centred and in units of σ, and the halves of their squared norms."""
    centre, sigma = settings[0], X.dtype.type(settings[1])
    for q in range(len(X)):
        half = 0.0
        for f in range(X.shape[1]):
            rows[q, f] = (X[q, f] - centre[f]) / sigma
            half += np.float64(rows[q, f]) * np.float64(rows[q, f])
        halves[q] = half / 2


@_inlined
def _add(coef: Any, values: Any, sums: Any) -> None:
    """Add coef[c] · values[c] to sums[c]; the last block of the vectors may have fewer than others."""
    if coef.size == LANES:
        for c in range(LANES):
            sums[c] += coef[c] * values[c]
    else:
        for c in range(coef.size):
            sums[c] += coef[c] * values[c]


@_inlined
def _add_at_once(coef: Any, values: Any, sums: Any) -> None:
    """Add them to fewer sums than there are lanes."""
    if coef.size == LANES:
        for start in range(0, LANES, SUMS):
            for c in range(SUMS):
                sums[c] += coef[start + c] * values[start + c]
    else:
        for c in range(coef.size):
            sums[c % SUMS] += coef[c] * values[c]


@_inlined
def _total(sums: Any) -> float:
    """Return the sum of all lanes: of eight sums, so that no addition waits for all those before."""
    for c in range(8, sums.size):
        sums[c % 8] += sums[c]
    total: float = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]))
    return total


@_inlined
def _products(rows: Any, block: Any, products: Any) -> None:
    """Write ⟨x, z_c⟩ for up to four rows; the bits of each are the same by itself."""
    products[: len(rows)] = 0
    if len(rows) == ROWS:
        _four_products(rows, block, products)
    else:
        for q in range(len(rows)):
            _one_product(rows[q], block, products[q])


@_inlined
def _one_product(row: Any, block: Any, products: Any) -> None:
    """Add ⟨x, z_c⟩ to products[c]."""
    for f in range(0, row.size, TERMS):
        z0, z1, z2, z3 = block[f], block[f + 1], block[f + 2], block[f + 3]
        x0, x1, x2, x3 = row[f], row[f + 1], row[f + 2], row[f + 3]
        for c in range(LANES):
            products[c] = x3 * z3[c] + (x2 * z2[c] + (x1 * z1[c] + (x0 * z0[c] + products[c])))


@_inlined
def _four_products(rows: Any, block: Any, products: Any) -> None:
    """Do the same for four rows: what is read of the block serves all of them."""
    p0, p1, p2, p3 = products[0], products[1], products[2], products[3]
    for f in range(0, rows.shape[1], TERMS):
        z0, z1, z2, z3 = block[f], block[f + 1], block[f + 2], block[f + 3]
        a0, a1, a2, a3 = rows[0, f], rows[0, f + 1], rows[0, f + 2], rows[0, f + 3]
        b0, b1, b2, b3 = rows[1, f], rows[1, f + 1], rows[1, f + 2], rows[1, f + 3]
        c0, c1, c2, c3 = rows[2, f], rows[2, f + 1], rows[2, f + 2], rows[2, f + 3]
        e0, e1, e2, e3 = rows[3, f], rows[3, f + 1], rows[3, f + 2], rows[3, f + 3]
        for c in range(LANES):
            u, v, w, z = z0[c], z1[c], z2[c], z3[c]
            p0[c] = a3 * z + (a2 * w + (a1 * v + (a0 * u + p0[c])))
            p1[c] = b3 * z + (b2 * w + (b1 * v + (b0 * u + p1[c])))
            p2[c] = c3 * z + (c2 * w + (c1 * v + (c0 * u + p2[c])))
            p3[c] = e3 * z + (e2 * w + (e1 * v + (e0 * u + p3[c])))


@_inlined
def exponentials(products: Any, half: float, norms: Any, values: Any, exponents: Any) -> None:
    """Write exp(⟨x, z⟩ − ‖x‖²/2 − ‖z‖²/2), and the exponents."""
    for c in range(values.size):
        exponents[c] = (np.float64(products[c]) - half) - norms[c]
        t = min(max(exponents[c], _LOWEST), 0.0)
        shifted = np.float64(t * _LOG2E + _ROUND)
        whole = shifted - _ROUND
        power = np.int64((shifted.view(np.int64) + 1023) << 52)  # its last bits are those of whole
        values[c] = _near_one((t - whole * _LN2_HIGH) - whole * _LN2_LOW) * power.view(np.float64)


@_inlined
def are_doubtful(exponents: Any, half: float, norms: Any, values: Any, limits: Any) -> bool:
    """Whether rounding may have changed one of the values too much."""
    doubtful = 0
    for c in range(values.size):
        doubtful += is_doubtful(exponents[c], half + norms[c], values[c], limits)
    return doubtful > 0


@_inlined
def is_doubtful(exponent: float, halves: float, value: float, limits: Any) -> bool:
    """Whether exp(t) may be off by more than is tolerated: by δ exp(t + δ), where t is off by δ."""
    unit, tolerance = limits
    off = unit * halves
    small = (off <= 1.0) & (2.72 * off * value <= tolerance)
    far = (off <= 1e9) & (exponent + off <= -60.0)
    return not ((off <= tolerance) | small | far)


@_jit
def _again(x: Any, samples: Any, half: float, norms: Any, settings: Any, values: Any, exponents: Any) -> None:
    """Compute the doubtful values of a block again, from differences in float64."""
    for c in range(min(values.size, len(samples))):
        if is_doubtful(exponents[c], half + norms[c], values[c], settings[2]):
            values[c] = exp(-_half_square(x, samples[c], settings[1]))


@numba.njit(nogil=True, cache=True, boundscheck=False, fastmath={"reassoc", "contract"})
def _half_square(x: Any, z: Any, sigma: float) -> float:
    """Return ‖x − z‖²/(2σ²)."""
    total = 0.0
    for f in range(x.size):
        difference = (np.float64(x[f]) - np.float64(z[f])) / sigma
        total += difference * difference
    return total / 2


@_inlined
def _near_one(r: float) -> float:
    """Return exp(r) for |r| ≤ ln 2 / 2: the nearest polynomial 1 + r + r² q(r), off by 1.1e-17 of it."""
    p = 2.5000061602835666e-08
    p = p * r + 2.763024837921144e-07
    p = p * r + 2.7557586373840165e-06
    p = p * r + 2.480149309890655e-05
    p = p * r + 0.00019841269506578688
    p = p * r + 0.0013888888943630114
    p = p * r + 0.008333333333494461
    p = p * r + 0.041666666666530155
    p = p * r + 0.16666666666666413
    p = p * r + 0.5000000000000011
    p = p * r + 1.0
    return p * r + 1.0


@numba.njit(nogil=True, cache=True, boundscheck=False, error_model="numpy", fastmath={"reassoc", "contract"})
def scale_in_single(X: Any, kept: Any, centre: Any, sigma: float, rows: Any, halves: Any) -> None:
    """Write some features of x = (X_i − c)/σ, −‖x‖²/2 and 1, one side of a product in float32; and ‖x‖²/2."""
    width = 1 / sigma
    for i in range(len(X)):
        half = 0.0
        for f in range(X.shape[1]):
            value = (X[i, f] - centre[f]) * width
            half += value * value
        for k in range(kept.size):
            rows[i, k] = (X[i, kept[k]] - centre[kept[k]]) * width
        halves[i] = half / 2
        rows[i, kept.size], rows[i, kept.size + 1] = -halves[i], 1.0
