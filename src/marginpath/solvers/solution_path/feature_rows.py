"""The rows of X as sweeps take them: blocks of dense ones, or sparse ones one by one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ...arrays import Array, blocks
from ...gram.linear import RUN, interleaved_blocks
from ...gram.scaled import Scaled
from ...mapped import MEMORY, Room, in_file, read_ahead
from ...parallel import available, for_all

_CHUNK = 64  # blocks between two looks at the clock
_PIECE = 2**18  # numbers of rows whose scores a thread computes at a time
_SUMS = 16  # pieces of rows at most whose sums a field adds up
_PASSES = 2  # through a block before the field follows: a step is cheap, reading a row of X is not


class DenseRows:
    """Dense rows in blocks, each with its own Gram matrix: see ``gram.linear.interleaved_blocks``.

    ``rounded`` has the same in 16 bits, which take half the time to read.
    """

    lanes = None  # a group may have any number of columns

    def __init__(
        self,
        X: Scaled,
        diagonal: Array,
        blocks: np.ndarray | None = None,
        room: Room = MEMORY,
        rounded: Callable[[], Scaled | None] = lambda: None,
    ) -> None:
        self.X, self.diagonal, self.dtype, self.room, self.rounded = X, diagonal, X.dtype, room, rounded
        self.features = X.shape[1]  # whose matrices take Newton's method the longer, the more they are
        if blocks is not None:
            self.blocks = blocks

    @cached_property
    def blocks(self) -> np.ndarray:
        """The Gram matrices of the blocks."""
        return interleaved_blocks(self.X, self.room)

    @property
    def rough(self) -> DenseRows:
        """The same rows for early sweeps: rounded, where that changes little."""
        rounded = self.rounded()
        return self if rounded is None else DenseRows(rounded, self.diagonal, self.blocks, self.room)

    def sweep(self, group: Any, rng: np.random.Generator) -> int:
        """Visit the blocks in a random order."""
        from .sweeping import Blocks, step_in_blocks

        moved, m, units = 0, len(self.blocks), self.X.units[:, None]
        sums = np.ascontiguousarray((group.w / units).T)
        factor = self.X.units**2 if self.X.whole else self.X.units[:0]
        w = factor * sums if self.X.whole else sums
        rows = Blocks(self.X.numbers, factor, self.diagonal, self.blocks, RUN)
        orders = np.array_split(rng.permutation(m), max(1, m // _CHUNK))
        self._read_ahead(orders[0])
        for order, following in pairwise([*orders, orders[0][:0]]):
            if group.stopped():
                break
            self._read_ahead(following)
            own = group.y, group.mass, group.u
            moved += step_in_blocks(order, rows, _PASSES, *own, *group.settings, w, sums)
        group.w[...] = sums.T * units
        return moved

    def _read_ahead(self, order: np.ndarray) -> None:
        """Let the system read what lies in a file of some blocks."""
        X = self.X.numbers
        if not in_file(X):
            return
        whole, m = len(X) // RUN, len(self.blocks)
        runs = np.add.outer(order, np.arange(0, whole, m)).ravel()
        read_ahead(X[: whole * RUN].reshape(whole, RUN * X.shape[1]), np.sort(runs[runs < whole]))
        read_ahead(self.blocks, np.sort(order))

    def take(self, index: np.ndarray) -> DenseRows:
        """Return some of the rows, copied."""
        return DenseRows(self.X.take(index, self.room), self.diagonal[index], room=self.room)

    def gram(self) -> np.ndarray:
        """Return X Xᵀ."""
        X = self.X[:]
        return np.asarray(X @ X.T)

    def times_rows(self, other: Any) -> np.ndarray:
        """Return the products with other rows."""
        return np.asarray(self.X[:] @ other.X[:].T)

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return X w, in pieces of rows that the threads share: of few columns, twice as fast as BLAS."""
        from .sweeping import score_rows

        n, d = self.X.shape
        columns = np.ascontiguousarray((w * self.X.units[:, None]).T)
        pieces, out = list(blocks(n, max(1, _PIECE // d))), np.empty((w.shape[1], n), self.dtype)
        for_all(lambda ends: score_rows(self.X.numbers, columns, *ends, out), pieces, available())
        return np.ascontiguousarray(out.T)

    def field(self, V: np.ndarray) -> np.ndarray:
        """Return Xᵀ V, over the rows where V is not 0."""
        from .sweeping import add_rows_times

        (n, d), k = self.X.shape, V.shape[1]
        pieces = list(blocks(n, max(1, _PIECE // d, n // _SUMS)))
        sums = np.zeros((len(pieces), k, d), self.dtype)

        def add(number: int) -> None:
            add_rows_times(self.X.numbers, *pieces[number], V, sums[number])

        for_all(add, range(len(pieces)), available())
        return np.ascontiguousarray((np.sum(sums, axis=0) * self.X.units).T)


class SparseRows:
    """Sparse rows, with float64 fields, for groups of so many columns (lanes), some of which may be empty."""

    dtype = np.dtype(np.float64)
    features = np.inf  # not for Newton's method

    def __init__(self, X: Any, diagonal: Array, lanes: int) -> None:
        self.X, self.diagonal, self.lanes = X, diagonal, lanes

    @property
    def rough(self) -> SparseRows:
        """The rows for early sweeps: the same."""
        return self

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
    if gram.is_sparse:
        return SparseRows(gram.features, gram.diagonal, 4 if width <= 4 else 8)
    return DenseRows(gram.by_rows, gram.diagonal, gram.interleaved, gram.room, lambda: gram.rounded)
