"""Squared distances of samples that are small whole numbers times a unit, such as pixels or counts.

Written as bytes k, with x = low + unit · k, samples x and z are at the squared distance

    ‖x − z‖² = unit² (‖k_x‖² + ‖k_z‖² − 2⟨k_x, k_z⟩),

whole numbers up to the factor: exact, and processors multiply bytes four times as fast as float32. Their
instruction wants one side signed: ⟨k_x, k_z⟩ = ⟨k_x − 128, k_z⟩ + 128 Σ k_z.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from .. import parallel
from ..arrays import blocks
from ..parallel import for_all

ROWS, WIDTH = 12, 16  # of the tile that the product keeps in registers
_FEATURES = 32, 16_000  # fewer are no work, more overflow a sum
_SAMPLES = 256  # fewer are no work
_LARGEST = 1e6  # value that is looked at
_ROUNDINGS = 8  # units in the last place of the largest value, by which a sample may be off


@dataclass(frozen=True)
class SignedRows:
    """Rows k − 128, with ‖k‖² of each; some more rows follow, so that tiles can read beyond the last."""

    values: np.ndarray
    squares: np.ndarray
    factor: np.floating[Any]

    def __getitem__(self, key: tuple[Any, slice]) -> Self:
        """Return some rows: a slice of them without a copy."""
        index = key[0]
        if isinstance(index, slice):
            first, last, _ = index.indices(len(self.squares))
            return replace(self, values=self.values[first : last + ROWS], squares=self.squares[first:last])
        values = np.zeros((len(index) + ROWS, self.values.shape[1]), dtype=np.int8)
        np.take(self.values, index, axis=0, out=values[: len(index)])
        return replace(self, values=values, squares=self.squares[index])

    def times(self, right: Panels, out: np.ndarray | None) -> np.ndarray:
        """Return the factor times the squared distances, written into ``out`` where one is given."""
        from .whole_numbers_compiled import write_distances

        if out is None:
            out = np.empty((len(self.squares), right.last - right.first), dtype=self.factor.dtype)
        write_distances(self.values, self.squares, right.values, right.squares, right.first, self.factor, out)
        return out


@dataclass(frozen=True)
class Panels:
    """Rows k in panels of WIDTH, four features of each side by side, with ‖k‖² − 256 Σ k of each.

    ``first`` and ``last`` say which of the rows are meant.
    """

    values: np.ndarray
    squares: np.ndarray
    first: int
    last: int

    def __getitem__(self, key: tuple[slice, slice]) -> Self:
        """Return some rows, without a copy."""
        first, last, _ = key[0].indices(self.last - self.first)
        return replace(self, first=self.first + first, last=self.first + last)


def eight_bit_sides(X: np.ndarray, scale: float, movable: float = np.inf) -> tuple[SignedRows, Panels] | None:
    """Return two sides whose product is −scale ‖x − z‖², or None where bytes cannot hold the samples.

    ``movable`` is by how much a feature may differ from the whole number that stands for it.
    """
    n, d = X.shape
    if n < _SAMPLES or not _FEATURES[0] <= d <= _FEATURES[1]:
        return None
    low, high = X.min(axis=0), X.max(axis=0)
    size = float(max(abs(low.min()), abs(high.max())))
    if size > _LARGEST:
        return None
    spread, rounding = float((high - low).max()), _ROUNDINGS * float(np.finfo(X.dtype).eps) * size
    for unit in (1.0, 1 / 255, spread / 255 or 1.0):
        if spread > 255.5 * unit or rounding > 1e-3 * unit:
            continue
        codes = (X[:_SAMPLES].astype(np.float64) - low) / unit
        off = min(rounding, movable) / unit
        if np.all(np.abs(codes - np.rint(codes)) <= off):
            return _encoded(X, low, unit, off, scale)
    return None


def _encoded(
    X: np.ndarray, low: np.ndarray, unit: float, off: float, scale: float
) -> tuple[SignedRows, Panels] | None:
    from .whole_numbers_compiled import available, encode

    if not available():
        return None
    n, d = X.shape
    groups, panels = -(-d // 4), -(-n // WIDTH)
    rows = np.zeros((n + ROWS, 4 * groups), dtype=np.int8)
    values = np.zeros((panels, groups, WIDTH, 4), dtype=np.uint8)
    squares, shifted = np.zeros((2, panels * WIDTH), dtype=np.int32)
    fits = np.zeros(n, dtype=np.bool_)

    def part(ends: tuple[int, int]) -> None:
        encode(X, low, unit, off, *ends, rows, values, squares, shifted, fits)

    for_all(part, blocks(n, 1024), parallel.available())
    if not fits.all():
        return None
    factor = X.dtype.type(-scale * unit**2)
    return SignedRows(rows, squares[:n], factor), Panels(values, shifted, 0, n)
