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
            for q in range(height):
                if q % ROWS == 0:
                    _products(rows, q, min(q + ROWS, height), vectors, b, products)
                exponentials(products, q % ROWS, halves[q], norms, b, values, exponents)
                near = limits[0] * (halves[q] + largest[b]) <= limits[1]  # then no value is doubtful
                if not near and are_doubtful(exponents, halves[q], norms, b, values, limits):
                    _again(X[first + q], samples, b, halves[q], norms, settings, values, exponents)
                width = min(lanes, len(samples) - b * lanes)
                for k in range(len(coef)):
                    if few:
                        _add(coef, k, b * lanes, width, values, sums, q)
                    else:
                        _add_at_once(coef, k, b * lanes, width, values, sums, q)
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
def _add(coef: Any, k: int, start: int, width: int, values: Any, sums: Any, q: int) -> None:
    """Add coef · values to the sums of a row; the last block of the vectors may have fewer than others."""
    if width == LANES:
        for c in range(LANES):
            sums[q, k, c] += coef[k, start + c] * values[c]
    else:
        for c in range(width):
            sums[q, k, c] += coef[k, start + c] * values[c]


@_inlined
def _add_at_once(coef: Any, k: int, start: int, width: int, values: Any, sums: Any, q: int) -> None:
    """Add them to fewer sums than there are lanes."""
    if width == LANES:
        for part in range(0, LANES, SUMS):
            for c in range(SUMS):
                sums[q, k, c] += coef[k, start + part + c] * values[part + c]
    else:
        for c in range(width):
            sums[q, k, c % SUMS] += coef[k, start + c] * values[c]


@_inlined
def _total(sums: Any) -> float:
    """Return the sum of all lanes: of eight sums, so that no addition waits for all those before."""
    for c in range(8, sums.size):
        sums[c % 8] += sums[c]
    total: float = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]))
    return total


@_inlined
def _products(rows: Any, first: int, last: int, vectors: Any, b: int, products: Any) -> None:
    """Write ⟨x, z_c⟩ for up to four rows; the bits of each are the same by itself."""
    products[: last - first] = 0
    if last - first == ROWS:
        _four_products(rows, first, vectors, b, products)
    else:
        for q in range(first, last):
            _one_product(rows, q, vectors, b, products, q - first)


# Whole arrays and places in them, below: every part of an array that is taken is counted, which takes as long
# as many products.


@_inlined
def _one_product(rows: Any, q: int, vectors: Any, b: int, products: Any, p: int) -> None:
    """Add ⟨x, z_c⟩ to products[p, c]."""
    for f in range(0, rows.shape[1], TERMS):
        x0, x1, x2, x3 = rows[q, f], rows[q, f + 1], rows[q, f + 2], rows[q, f + 3]
        for c in range(LANES):
            u, v, w, z = vectors[b, f, c], vectors[b, f + 1, c], vectors[b, f + 2, c], vectors[b, f + 3, c]
            products[p, c] = x3 * z + (x2 * w + (x1 * v + (x0 * u + products[p, c])))


@_inlined
def _four_products(rows: Any, q: int, vectors: Any, b: int, products: Any) -> None:
    """Do the same for four rows: what is read of the block serves all of them."""
    for f in range(0, rows.shape[1], TERMS):
        a0, a1, a2, a3 = rows[q, f], rows[q, f + 1], rows[q, f + 2], rows[q, f + 3]
        b0, b1, b2, b3 = rows[q + 1, f], rows[q + 1, f + 1], rows[q + 1, f + 2], rows[q + 1, f + 3]
        c0, c1, c2, c3 = rows[q + 2, f], rows[q + 2, f + 1], rows[q + 2, f + 2], rows[q + 2, f + 3]
        e0, e1, e2, e3 = rows[q + 3, f], rows[q + 3, f + 1], rows[q + 3, f + 2], rows[q + 3, f + 3]
        for c in range(LANES):
            u, v, w, z = vectors[b, f, c], vectors[b, f + 1, c], vectors[b, f + 2, c], vectors[b, f + 3, c]
            products[0, c] = a3 * z + (a2 * w + (a1 * v + (a0 * u + products[0, c])))
            products[1, c] = b3 * z + (b2 * w + (b1 * v + (b0 * u + products[1, c])))
            products[2, c] = c3 * z + (c2 * w + (c1 * v + (c0 * u + products[2, c])))
            products[3, c] = e3 * z + (e2 * w + (e1 * v + (e0 * u + products[3, c])))


@_inlined
def exponentials(products: Any, p: int, half: float, norms: Any, b: int, values: Any, exponents: Any) -> None:
    """Write exp(⟨x, z⟩ − ‖x‖²/2 − ‖z‖²/2) for the products p and the norms b, and the exponents."""
    for c in range(values.size):
        exponents[c] = (np.float64(products[p, c]) - half) - norms[b, c]
        t = min(max(exponents[c], _LOWEST), 0.0)
        shifted = np.float64(t * _LOG2E + _ROUND)
        whole = shifted - _ROUND
        power = np.int64((shifted.view(np.int64) + 1023) << 52)  # its last bits are those of whole
        values[c] = _near_one((t - whole * _LN2_HIGH) - whole * _LN2_LOW) * power.view(np.float64)


@_inlined
def are_doubtful(exponents: Any, half: float, norms: Any, b: int, values: Any, limits: Any) -> bool:
    """Whether rounding may have changed one of the values too much."""
    doubtful = 0
    for c in range(values.size):
        doubtful += is_doubtful(exponents[c], half + norms[b, c], values[c], limits)
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
def _again(
    x: Any, samples: Any, b: int, half: float, norms: Any, settings: Any, values: Any, exponents: Any
) -> None:
    """Compute the doubtful values of a block again, from differences in float64."""
    start = b * LANES
    for c in range(min(values.size, len(samples) - start)):
        if is_doubtful(exponents[c], half + norms[b, c], values[c], settings[2]):
            values[c] = exp(-_half_square(x, samples[start + c], settings[1]))


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
