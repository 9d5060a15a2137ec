"""The rows of X as sweeps take them: blocks of dense ones, or sparse ones one by one."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...arrays import Array, blocks
from ...gram.linear import RUN, interleaved_blocks
from ...gram.products import transposed_product
from ...mapped import MEMORY, Room, in_file, read_ahead
from ...parallel import available, for_all

_CHUNK = 64  # blocks between two looks at the clock
_PIECE = 2**18  # numbers of rows whose scores a thread computes at a time
_PASSES = 3  # through a block before the field follows: a step is cheap, reading a row of X is not


class DenseRows:
    """Dense rows in blocks, each with its own Gram matrix: see ``gram.linear.interleaved_blocks``."""

    lanes = None  # a group may have any number of columns

    def __init__(
        self, X: Array, diagonal: Array, blocks: np.ndarray | None = None, room: Room = MEMORY
    ) -> None:
        self.X, self.diagonal, self.dtype, self.room = X, diagonal, X.dtype, room
        self.features = X.shape[1]  # whose matrices take Newton's method the longer, the more they are
        if blocks is not None:
            self.blocks = blocks

    @cached_property
    def blocks(self) -> np.ndarray:
        """The Gram matrices of the blocks."""
        return interleaved_blocks(self.X, self.room)

    def sweep(self, group: Any, rng: np.random.Generator) -> int:
        """Visit the blocks in a random order."""
        from .sweeping import step_in_blocks

        moved, w, m = 0, np.ascontiguousarray(group.w.T), len(self.blocks)
        orders = np.array_split(rng.permutation(m), max(1, m // _CHUNK))
        self._read_ahead(orders[0])
        for order, following in pairwise([*orders, orders[0][:0]]):
            if group.stopped():
                break
            self._read_ahead(following)
            own = group.y, group.mass, group.u
            rows = self.X, self.diagonal, self.blocks
            moved += step_in_blocks(order, *rows, RUN, _PASSES, *own, *group.settings, w)
        group.w[...] = w.T
        return moved

    def _read_ahead(self, order: np.ndarray) -> None:
        """Let the system read what lies in a file of some blocks."""
        if not in_file(self.X):
            return
        whole, m = len(self.X) // RUN, len(self.blocks)
        runs = np.add.outer(order, np.arange(0, whole, m)).ravel()
        read_ahead(self.X[: whole * RUN].reshape(whole, RUN * self.X.shape[1]), np.sort(runs[runs < whole]))
        read_ahead(self.blocks, np.sort(order))

    def take(self, index: np.ndarray) -> DenseRows:
        """Return some of the rows, copied."""
        return DenseRows(self.room.rows(self.X, index), self.diagonal[index], room=self.room)

    def gram(self) -> np.ndarray:
        """Return X Xᵀ."""
        return np.asarray(self.X @ self.X.T)

    def times_rows(self, other: Any) -> np.ndarray:
        """Return the products with other rows."""
        return np.asarray(self.X @ other.X.T)

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return X w, in pieces of rows that the threads share: of few columns, twice as fast as BLAS."""
        from .sweeping import score_rows

        n, d = self.X.shape
        columns, out = np.ascontiguousarray(w.T), np.empty((w.shape[1], n), self.dtype)
        pieces = list(blocks(n, max(1, _PIECE // d)))
        for_all(lambda ends: score_rows(self.X, columns, *ends, out), pieces, available())
        return np.ascontiguousarray(out.T)

    def field(self, V: np.ndarray) -> np.ndarray:
        """Return Xᵀ V."""
        return transposed_product(self.X, V.astype(self.dtype))


class SparseRows:
    """Sparse rows, with float64 fields, for groups of so many columns (lanes), some of which may be empty."""

    dtype = np.dtype(np.float64)
    features = np.inf  # not for Newton's method

    def __init__(self, X: Any, diagonal: Array, lanes: int) -> None:
        self.X, self.diagonal, self.lanes = X, diagonal, lanes

    def sweep(self, group: Any, rng: np.random.Generator) -> int:
        """Visit the rows in a random order."""
        from .sweeping import step_in_rows

        csr = self.X.data, self.X.indices, self.X.indptr, self.diagonal
        lanes, moved = (0,) * self.lanes, 0
        for order in np.array_split(rng.permutation(len(self.diagonal)), max(1, len(self.diagonal) // 1024)):
            if group.stopped():
                break
            moved += step_in_rows(order, *csr, lanes, group.y, group.mass, group.u, *group.settings, group.w)
        return moved

    def take(self, index: np.ndarray) -> SparseRows:
        """Return some of the rows."""
        return SparseRows(self.X[index], self.diagonal[index], self.lanes)

    def gram(self) -> np.ndarray:
        """Return X Xᵀ in float64."""
        return self.times_rows(self)

    def times_rows(self, other: Any) -> np.ndarray:
        """Return the products with other rows in float64."""
        return np.asarray((self.X.astype(np.float64) @ other.X.T.astype(np.float64)).toarray())

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return X w."""
        return np.asarray(self.X @ w)

    def field(self, V: np.ndarray) -> np.ndarray:
        """Return Xᵀ V."""
        return np.asarray(self.X.T @ V)


def rows_of(gram: Any, width: int) -> DenseRows | SparseRows:
    """Return the rows of a Gram matrix that is kept as its features, for groups of so many columns."""
    if sp.issparse(gram.features):
        return SparseRows(gram.features, gram.diagonal, 4 if width <= 4 else 8)
    return DenseRows(gram.by_rows, gram.diagonal, gram.interleaved, gram.room)
