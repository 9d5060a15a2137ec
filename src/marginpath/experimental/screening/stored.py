"""Products with parts of a stored kernel matrix: the rows that meet a support, and packed blocks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ... import parallel
from ...arrays import is_numpy
from ...gram.base import Gram
from ...parallel import for_all

_PARTS, _PART = 4, 2**20  # most parts of a product, whatever the cores, and the entries that are worth one


class StoredMatrix:
    """The kernel matrix that a run reads, and the block of it that was packed last.

    The block is a cache: the states of a run share it, and it can go at any time without a change of results.

    Attributes
    ----------
    gram : Gram
        Whose matrix it is.
    K : array (n, n)
        The matrix, its rows in one piece where that takes no copy.
    """

    def __init__(self, gram: Gram) -> None:
        K = gram.matrix
        if K is None or not is_numpy(K):
            raise TypeError(
                f"Screened needs a kernel matrix stored by NumPy, got a {type(gram).__name__} of "
                f"{type(gram.diagonal).__module__.partition('.')[0]} arrays. Use Gram.from_kernel or "
                f"Gram.from_matrix with NumPy arrays, or DualDescent alone."
            )
        self.gram = gram
        self.K = np.asarray(K.T if K.flags.f_contiguous else K)  # it is symmetric
        self._packed: Block | None = None

    def product(self, V: np.ndarray) -> np.ndarray:
        """Return K V, from the rows of K that meet a nonzero of V, or from half of K where that is less."""
        from .compiled import add_half, add_rows

        support = np.flatnonzero(V if V.ndim == 1 else V.any(axis=1))
        if 2 * support.size > len(V):
            return _half_product(lambda *given: add_half(self.K, *given), V)
        Vt = np.ascontiguousarray(np.atleast_2d(V[support].T))
        product = np.zeros((len(Vt), len(V)), dtype=V.dtype)
        parts = max(1, min(_PARTS, support.size * len(V) // _PART))
        ends = [len(V) * p // parts for p in range(parts + 1)]
        _share(lambda p: add_rows(self.K, support, Vt, product, ends[p], ends[p + 1]), parts)
        return np.ascontiguousarray(product.T).reshape(V.shape)

    def block(self, rows: np.ndarray) -> Block:
        """Return the block of K on some rows: the one that was packed last, if it is that."""
        block = self._packed
        if block is None or not np.array_equal(block.rows, rows):
            block = self._packed = None  # one at a time in memory
            block = self._packed = Block.pack(self.K, rows)
        return block


class Block(NamedTuple):
    """The lower half of K on some rows and the same columns, packed."""

    rows: np.ndarray
    packed: np.ndarray

    @classmethod
    def pack(cls, K: np.ndarray, rows: np.ndarray) -> Block:
        """Gather the block."""
        from .compiled import gather_half

        packed = np.empty((rows.size + 2) ** 2 // 2, dtype=K.dtype)
        ends = _ends(rows.size)
        _share(lambda p: gather_half(K, rows, packed, ends[p], ends[p + 1]), len(ends) - 1)
        return cls(rows, packed)

    def product(self, V: np.ndarray) -> np.ndarray:
        """Return the product of the block with V."""
        from .compiled import add_packed

        return _half_product(lambda *given: add_packed(self.packed, *given), V)


def _half_product(add: Callable[..., None], V: np.ndarray) -> np.ndarray:
    """Return the product of a symmetric matrix with V, parts of whose lower half ``add`` adds to sums."""
    Vt = np.ascontiguousarray(np.atleast_2d(V.T))
    ends = _ends(len(V))
    sums = np.zeros((len(ends) - 1, *Vt.shape), dtype=V.dtype)
    _share(lambda p: add(Vt, sums[p], ends[p], ends[p + 1]), len(sums))
    return np.ascontiguousarray(sums.sum(axis=0).T).reshape(V.shape)


def _ends(m: int) -> list[int]:
    """Cut the rows of half a matrix into parts of equal area and whole panels of four rows."""
    parts = max(1, min(_PARTS, m * m // (2 * _PART)))
    return [max(0, m - 4 * math.ceil(m * (1 - (p / parts) ** 0.5) / 4)) for p in range(parts + 1)]


def _share(task: Callable[[int], None], parts: int) -> None:
    """Call the task with 0 … parts − 1, in threads where there are cores for them."""
    for_all(task, range(parts), min(parts, parallel.available()))
