"""Rows whose columns have units: as they are, or as whole numbers of 16 bits, half the memory to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import blocks
from ..kernels.functions import squared_norms
from ..mapped import MEMORY, Room, in_file
from ..parallel import for_each

_LARGEST = 2**15 - 1  # of 16 bits, in either direction
_AT_ONCE = 2**18  # numbers that a thread rounds at a time
_LOST = 2.0**-10  # of the length of a row, what rounding may change


@dataclass(frozen=True)
class Scaled:
    """Rows x_ij = numbers_ij · units_j, which are read like an array of floats: ``rows[a:b]``.

    Units are powers of 2, so that no product with one is rounded: what whole numbers of 16 bits stand for is
    float32 to the bit.

    Examples
    --------
    >>> rows = Scaled(np.array([[3, 1], [-2, 4]], dtype=np.int16), np.array([0.5, 2.0], dtype=np.float32))
    >>> rows.shape, rows[1], len(rows.take(np.array([1])))
    ((2, 2), array([-1.,  8.], dtype=float32), 1)
    """

    numbers: np.ndarray
    units: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray) -> Scaled:
        """Return rows as they are."""
        return cls(X, np.ones(X.shape[1], dtype=X.dtype))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.numbers.shape[0], self.numbers.shape[1]

    @property
    def dtype(self) -> Any:
        """That of the rows as floats."""
        return self.units.dtype

    @property
    def whole(self) -> bool:
        """Whether they are whole numbers."""
        return self.numbers.dtype.kind == "i"

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: Any) -> np.ndarray:
        if isinstance(index, tuple):
            index, columns = index
            if columns != slice(None):
                raise IndexError(f"Rows in units are read with all of their columns, not with {columns!r}.")
        rows = np.asarray(self.numbers[index])
        return np.multiply(rows, self.units, dtype=self.dtype) if self.whole else rows

    def take(self, index: np.ndarray, room: Room = MEMORY) -> Scaled:
        """Return some of the rows, copied."""
        return Scaled(room.rows(self.numbers, index), self.units)


def units_of(largest: np.ndarray) -> np.ndarray:
    """Return the least powers of 2 of which 16 bits hold so many, for each column; 1 for a column of zeros.

    Examples
    --------
    >>> units_of(np.array([32767.0, 32768.0, 0.5, 0.0])).tolist()
    [1.0, 2.0, 3.0517578125e-05, 1.0]
    """
    fraction, exponent = np.frexp(np.asarray(largest, dtype=np.float64) / _LARGEST)
    exponent = np.where(largest > 0, exponent - (fraction == 0.5), 0)
    return np.asarray(np.ldexp(np.ones(len(exponent), dtype=np.float32), np.clip(exponent, -100, 100)))


def in_16_bits(X: np.ndarray) -> Scaled | None:
    """Return rows in 16 bits a number; None where that changes a row too much, as a few huge numbers do.

    Of rows in float32 only, that do not lie in a file.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4)).astype(np.float32)
    >>> float(np.max(np.abs(in_16_bits(X)[:] - X))) < 1e-4
    True
    >>> in_16_bits(np.array([[1e-6], [1e6]], dtype=np.float32)) is None
    True
    """
    from .scaled_compiled import largest_of_columns, round_rows

    if in_file(X) or X.dtype != np.float32:
        return None
    pieces = list(blocks(len(X), max(1, _AT_ONCE // X.shape[1])))
    tops = np.zeros((len(pieces), X.shape[1]), dtype=np.float32)
    numbers, lost = np.empty(X.shape, dtype=np.int16), np.zeros(len(pieces))

    def look(k: int) -> None:
        largest_of_columns(X, *pieces[k], tops[k])

    for_each(look, range(len(pieces)), parallel=len(pieces) > 1)
    units = units_of(np.max(tops, axis=0))

    def write(k: int) -> None:
        a, b = pieces[k]
        lost[k] = round_rows(X[a:b], squared_norms(X[a:b]), a, units, 1 / units, numbers)

    for_each(write, range(len(pieces)), parallel=len(pieces) > 1)
    return Scaled(numbers, units) if np.max(lost) <= _LOST**2 else None
