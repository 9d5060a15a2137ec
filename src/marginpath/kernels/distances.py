"""Squared distances that keep their digits, wherever the samples are.

With rows x and z centred and in units of the width σ, one matrix product gives

    −‖x − z‖²/2 = ⟨x, z⟩ − ‖x‖²/2 − ‖z‖²/2,

but its rounding is that of the norms: far from the centre, all digits of a small distance are lost. So the
entries whose kernel value this may change are computed again: from the differences x − z, and where they are
many and in float32, by a product in float64 first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, blocks, is_numpy, namespace, product, take_rows, with_columns

_ROUNDINGS = 16  # of 1, by which a kernel value may be off, before those of the sum over the features
_PIECE, _DEVICE_PIECE = 2**20, 2**26  # entries that are looked at together
_WIDE_PIECE, _NUMBERS = 2**24, 2**26  # beside NumPy: entries, and numbers of rows, in float64 at a time
_MANY = 1 / 8  # share of the entries from which a product in float64 is cheaper than differences
_PAIRS = 2**12  # rows of sparse matrices that are subtracted together


@dataclass(frozen=True)
class Settings:
    """What both sides of a product share.

    Attributes
    ----------
    sigma : float
        The width σ: the unit of the distances.
    centre : array (d,) or None
        What is subtracted from the rows; None for CSR, which would not stay sparse.
    unit : float
        Rounding of an entry of the product, times ‖x‖²/2 + ‖z‖²/2.
    tolerance : float
        By how much exp(−‖x − z‖²/2) may be off.
    every_width : bool
        Whether that goes for exp(−c‖x − z‖²/2) with any c, too.
    """

    sigma: float
    centre: Array | None
    unit: float
    tolerance: float
    every_width: bool


@dataclass(frozen=True)
class Side:
    """Rows as one side of the product, with ‖x‖²/2 of each, and as they came."""

    samples: Array
    factors: Array
    halves: Array
    settings: Settings

    @property
    def limits(self) -> Array:
        """Those of :func:`_limits`."""
        return _limits(self.halves, self.settings)

    def __getitem__(self, key: tuple[Any, slice]) -> Side:
        """Return some rows: a slice of them without a copy, or those of an index."""
        rows = key[0]

        def some(part: Array) -> Array:
            if not isinstance(rows, slice):
                return take_rows(part, rows)
            return part[rows] if part.ndim == 1 else part[rows, :]

        return Side(some(self.samples), some(self.factors), some(self.halves), self.settings)

    def times(self, right: Side, out: np.ndarray | None = None) -> Array:
        """Return −‖x − z‖²/2, written into ``out`` where one is given and it is NumPy's."""
        with np.errstate(all="ignore"):  # what is not finite is computed again
            block = product(self.factors, right.factors, out)
            if _is_accurate(self, right):
                return block
            settle, room = (_settle_compiled, _PIECE) if is_numpy(block) else (_settle, _DEVICE_PIECE)
            for a, b in blocks(block.shape[0], max(1, room // block.shape[1])):
                settle(self[a:b, :], right, block, a, b)
        return block


def distance_sides(X: Array, Z: Array, sigma: float, every_width: bool = False) -> tuple[Any, Any]:
    """Return two sides whose product is −‖x − z‖²/(2σ²): arrays where rounding cannot harm the kernel.

    Parameters
    ----------
    X, Z : array (m, d) and (n, d), or CSR
    sigma : float
        The width σ.
    every_width : bool
        Whether distances must be good enough for kernels of other widths, too.

    Examples
    --------
    >>> left, right = distance_sides(np.array([[1e9]]), np.array([[1e9 + 2], [-1e9]]), sigma=1.0)
    >>> left.times(right)
    array([[-2.e+00, -2.e+18]])
    """
    xp = namespace(Z)
    tolerance = tolerated(Z.shape[1], float(xp.finfo(Z.dtype).eps))
    centre = None
    if not sp.issparse(Z):  # any centre is right, as long as both sides share it; the mean makes norms small
        with np.errstate(all="ignore"):
            centre = xp.astype(xp.sum(Z, axis=0, dtype=xp.float64) / Z.shape[0], Z.dtype)
    holds_sigma = float(xp.finfo(Z.dtype).smallest_normal) <= sigma <= float(xp.finfo(Z.dtype).max)
    unit = product_unit(Z.shape[1], float(xp.finfo(Z.dtype).eps)) if holds_sigma else math.inf
    left, right = _sides(X, Z, Settings(float(sigma), centre, unit, tolerance, every_width))
    return (left.factors, right.factors) if _is_accurate(left, right) else (left, right)


def tolerated(d: int, eps: float) -> float:
    """Return by how much a kernel value of d features may be off."""
    return (_ROUNDINGS + math.sqrt(d)) * eps


def product_unit(d: int, eps: float) -> float:
    """Return the rounding of an entry where ‖x‖²/2 + ‖z‖²/2 is 1: the largest that was seen."""
    return (2 + 0.4 * math.sqrt(d)) * eps


def _is_accurate(left: Side, right: Side) -> bool:
    """Whether rounding changes no kernel value by more than the tolerance."""
    given = left.settings
    if given.every_width:
        return False
    largest = namespace(left.halves).max if not is_numpy(left.halves) else np.max
    return bool(given.unit * (float(largest(left.halves)) + float(largest(right.halves))) <= given.tolerance)


def _sides(X: Array, Z: Array, settings: Settings) -> tuple[Side, Side]:
    with np.errstate(all="ignore"):
        rows, halves = _scaled(X, settings)
        left = Side(X, with_columns(rows, -halves, 1.0), halves, settings)
        if Z is X:
            return left, replace(left, factors=with_columns(rows, 1.0, -halves))
        rows, halves = _scaled(Z, settings)
        return left, Side(Z, with_columns(rows, 1.0, -halves), halves, settings)


def _scaled(X: Array, settings: Settings) -> tuple[Array, Array]:
    """Return the rows, centred and in units of σ, and the halves of their squared norms."""
    if sp.issparse(X):
        rows = X.copy()
        rows.data = rows.data / settings.sigma
        return rows, np.asarray(rows.multiply(rows).sum(axis=1)).ravel() / 2
    rows, xp = (X - settings.centre) / settings.sigma, namespace(X)
    return rows, (np.einsum("ij,ij->i", rows, rows) if is_numpy(rows) else xp.sum(rows * rows, axis=1)) / 2


def _limits(halves: Array, settings: Settings) -> Array:
    """Return (h, s) of every row x: an entry −t is good enough where −t ≤ h − s ‖z‖²/2.

    If t is off by at most δ = unit (‖x‖²/2 + ‖z‖²/2), exp(−t) is by δ exp(δ − t) at most. That is within the
    tolerance where t ≥ δ + log(δ/tolerance); to make the limit linear in ‖z‖², the logarithm gives way to
    its tangent at ‖z‖ = ‖x‖. For every width, it is δ ≤ e (t − δ) tolerance, as ct exp(−ct) ≤ 1/e for all c.
    """
    xp, unit, tolerance = namespace(halves), settings.unit, settings.tolerance
    if settings.every_width:
        slopes = unit * (1 + 1 / (math.e * tolerance)) * xp.ones_like(halves)
        return xp.stack([-slopes * halves, slopes], axis=1)
    ratios = 2 * unit / tolerance * halves
    ratios = xp.where(ratios < 1, xp.ones_like(ratios), ratios)
    slopes = unit * (1 + 1 / (tolerance * ratios))
    return xp.stack([1 - xp.log(ratios) - slopes * halves, slopes], axis=1)


def _settle_compiled(left: Side, right: Side, block: np.ndarray, a: int, b: int) -> None:
    """Compute again the doubtful ones of the entries of rows a … b − 1."""
    from .distances_compiled import doubtful_entries, half_squares

    part = block[a:b]
    i, j = doubtful_entries(part, left.limits, right.halves)
    if not len(i):
        return
    if block.dtype == np.float32 and len(i) > _MANY * part.size:
        part[...] = _wide_product(left, right)
        return
    squares = _sparse_half_squares if sp.issparse(left.samples) else half_squares
    part[i, j] = -squares(left.samples, right.samples, i, j, left.settings.sigma)


def _settle(left: Side, right: Side, block: Array, a: int, b: int) -> None:
    """Compute again the doubtful ones of the entries of rows a … b − 1, in any array library."""
    xp, limits, part = namespace(block), left.limits, block[a:b, :]
    doubtful = ~(part <= limits[:, :1] - limits[:, 1:] * right.halves[None, :])  # NaN is
    i, j = xp.nonzero(doubtful)
    if not i.shape[0]:
        return
    if i.shape[0] <= _MANY * math.prod(part.shape):
        part[doubtful] = xp.astype(-_half_squares(left, right, i, j), block.dtype)
        return
    recomputed = _wide_product if left.samples.dtype != xp.float64 else _by_differences
    for c, e in blocks(part.shape[0], max(1, _WIDE_PIECE // part.shape[1])):
        part[c:e, :] = xp.astype(recomputed(left[c:e, :], right), block.dtype)


def _half_squares(left: Side, right: Side, i: Array, j: Array) -> Array:
    """Return ‖x_i − z_j‖²/(2σ²) of pairs of rows, in float64."""
    xp, sigma = namespace(i), left.settings.sigma

    def rows(side: Side, index: Array) -> Array:
        return xp.astype(xp.take(side.samples, index, axis=0), xp.float64)

    pairs = blocks(i.shape[0], max(1, _NUMBERS // left.samples.shape[1]))
    parts = [xp.sum(((rows(left, i[a:b]) - rows(right, j[a:b])) / sigma) ** 2, axis=1) / 2 for a, b in pairs]
    return xp.concat(parts)


def _wide_product(left: Side, right: Side) -> Array:
    """Return the entries from a product in float64, which is looked at in turn."""
    given, double = left.settings, namespace(left.halves).float64
    X, Z = _as(left.samples, double), _as(right.samples, double)
    centre = None if given.centre is None else _as(given.centre, double)
    unit = product_unit(Z.shape[1], float(np.finfo(np.float64).eps))
    wide_left, wide_right = _sides(X, Z, replace(given, centre=centre, unit=unit))
    return wide_left.times(wide_right)


def _by_differences(left: Side, right: Side) -> Array:
    X, Z, sigma = left.samples, right.samples, left.settings.sigma
    return sum(-(((X[:, f, None] - Z[None, :, f]) / sigma) ** 2) / 2 for f in range(X.shape[1]))


def _sparse_half_squares(X: Any, Z: Any, i: np.ndarray, j: np.ndarray, sigma: float) -> np.ndarray:
    halves = np.empty(len(i))
    for a, b in blocks(len(i), _PAIRS):
        difference = (X[i[a:b]].astype(np.float64) - Z[j[a:b]].astype(np.float64)) / sigma
        halves[a:b] = np.asarray(difference.multiply(difference).sum(axis=1)).ravel() / 2
    return halves


def _as(X: Array, dtype: Any) -> Array:
    return X.astype(dtype, copy=False) if sp.issparse(X) else namespace(X).astype(X, dtype, copy=False)
