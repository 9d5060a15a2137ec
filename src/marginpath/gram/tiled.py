"""A kernel matrix that is never stored: tiles are computed when they are needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, as_floating, blocks, device, is_numpy, namespace, take_rows, to_numpy
from ..kernels.distances import Side
from ..kernels.functions import Kernel, ProductKernel, as_kernel
from ..parallel import for_each
from .base import Gram
from .compensated import compensated_product, relative_error
from .filling import without_zeros
from .fingerprints import fingerprint, row_codes

_TILE = 1024
_PARTS = 8  # sums that the threads share
_BLOCK_BYTES = 2**26  # rows that are computed at a time
_CORNER = 64  # samples whose kernel values with each other give a part of the diagonal
_CPU_TILE, _GPU_TILE = 2**19, 2**22  # kernel values of new samples, computed at a time


class TiledGram(Gram):
    """The kernel matrix of X, computed tile by tile in every product, with a cache of rows.

    The same protocol as a stored matrix in O(n) memory: a product computes every pair once and uses it
    twice; of the rows that coordinate sweeps ask for, those asked for most often are kept.

    Parameters
    ----------
    X : array (n, d)
        Dense, or CSR for the kernels that take it.
    kernel : Kernel, str or callable
        As in :meth:`Gram.from_kernel`; a callable is trusted to be positive semi-definite.
    cache_bytes : int
        Memory for rows.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> mp.TiledGram(X, mp.Gaussian(1.0)) @ np.ones(3)
    array([1.61763966, 1.74186594, 1.14644428])
    """

    def __init__(
        self,
        X: Array,
        kernel: str | Callable[..., Any],
        *,
        cache_bytes: int = 2**28,
        **params: Any,
    ) -> None:
        self.X = as_floating(X, "X")
        self.kernel: Kernel = as_kernel(kernel, **params)
        self.cache_bytes = cache_bytes
        self._left, self._right, self._block = sides_of(self.kernel, self.X, self.X)
        self._lock = threading.Lock()
        self._compiled = sp.issparse(self.X) or is_numpy(self.X)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self.X.shape[0], self.X.shape[0]

    @property
    def dtype(self) -> Any:
        """Floating-point type of the samples."""
        return self.X.dtype

    @cached_property
    def diagonal(self) -> Array:
        """The values k(x_i, x_i)."""
        return namespace(self.X).astype(_diagonal(self.X, self.kernel), self.dtype, copy=False)

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """That of the samples and the kernel."""
        return fingerprint(row_codes(self.X), self.X.shape[1], self.kernel, self.rows)

    def __matmul__(self, V: Array) -> Array:
        """Return K V."""
        return self._product(V, self.dtype)

    def accurate_product(self, V: Array) -> Array:
        """Return K V with float64 sums over the tiles."""
        return self._product(self.xp.astype(V, self.xp.float64), self.xp.float64)

    @property
    def numbers(self) -> int:
        """The terms of all distances."""
        return int(self.X.shape[0] ** 2 * (self.X.shape[1] + 16))

    @cached_property
    def roots(self) -> np.ndarray:
        """√k(x_i, x_i), rounded up, in float64."""
        return kernel_roots(self.kernel, self._samples, self.shape[0])

    def product_with_error(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return K V for the kernel in float64, over the samples where V is not zero."""
        product = kernel_product(self.kernel, self._samples, V)
        return product, np.outer(self.roots, kernel_rounding(*self.X.shape) * self.length(V))

    def _samples(self, index: Any) -> Array:
        """Return some of the samples in float64."""
        some = take_rows(self.X, index)
        xp = namespace(some)
        return some.astype(np.float64) if sp.issparse(some) else xp.astype(some, xp.float64, copy=False)

    def rows(self, index: Array) -> Array:
        """Return the rows K[index, :], from the cache where they are there."""
        wanted = np.array([int(i) for i in index], dtype=np.int64)
        if not self._compiled:
            left = self._left[wanted, :] if isinstance(self._left, Side) else take_rows(self._left, wanted)
            return self._block(left, self._right)
        unique, inverse = np.unique(wanted, return_inverse=True)
        found = np.empty((len(unique), self.shape[0]), dtype=self.dtype)
        for a, b in blocks(len(unique), self.chunk):
            with self.lend(unique[a:b]) as (rows, where):
                found[a:b] = rows[where]
        return found if len(unique) == len(wanted) and np.all(inverse[1:] > inverse[:-1]) else found[inverse]

    @property
    def chunk(self) -> int:
        """How many rows are computed at a time: enough for a fast product, within a share of the samples."""
        n = self.shape[0]
        within = _BLOCK_BYTES // (n * int(np.dtype(self.dtype).itemsize))
        return min(n, max(64, min(within, n // 16)))

    @contextmanager
    def lend(self, index: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Lend distinct rows, at most a chunk of them: an array, and where in it the rows K[index, :] are."""
        with self._lock:
            cache = self._cache
            where = cache.places(index)
            missing = np.flatnonzero(where < 0)
            if missing.size:
                self._compute_rows(index[missing], cache.spare[: missing.size])
                where[missing] = cache.room + np.arange(missing.size)
                cache.keep(index, where)
            yield cache.data, where

    @cached_property
    def _cache(self) -> RowCache:
        n, dtype = self.shape[0], np.dtype(self.dtype)
        return RowCache(min(n, self.cache_bytes // (n * dtype.itemsize)), self.chunk, n, dtype)

    def cross(self, Z: Array) -> TiledCross:
        """Return the kernel values between new rows and the samples, as an operator."""
        Z = as_floating(Z, "Z")
        if Z.shape[1] != self.X.shape[1]:
            raise ValueError(f"Z has {Z.shape[1]} columns, but {self.X.shape[1]} features are needed.")
        return TiledCross(Z, self.X, self.kernel)

    def _product(self, V: Array, dtype: Any) -> Array:
        """Sum tiles times blocks of V, in parts that do not depend on the number of threads."""
        xp, n = self.xp, self.shape[0]
        parts = min(_PARTS, -(-n // _TILE)) if self._compiled else 1
        sums = [xp.zeros_like(xp.asarray(V, dtype=dtype)) for _ in range(parts)]

        def add(part: int) -> None:
            total = sums[part]
            for a, b in list(blocks(n, _TILE))[part::parts]:
                for c, e in blocks(n - a, _TILE):
                    c, e = a + c, a + e
                    tile = self._block(self._left[a:b, :], self._right[c:e, :])
                    tile = xp.astype(tile, dtype, copy=False)
                    total[a:b, ...] = total[a:b, ...] + tile @ V[c:e, ...]
                    if c > a:
                        total[c:e, ...] = total[c:e, ...] + tile.T @ V[a:b, ...]

        for_each(add, range(parts), parallel=self._compiled)
        return sum(sums[1:], start=sums[0])

    def _compute_rows(self, index: np.ndarray, out: np.ndarray) -> None:
        left = self._left[index, :]

        def fill(columns: tuple[int, int]) -> None:
            a, b = columns
            out[:, a:b] = self._block(left, self._right[a:b, :])

        for_each(fill, blocks(self.shape[0], 4 * _TILE), parallel=self.shape[0] > 4 * _TILE)


def sides_of(kernel: Kernel, X: Array, Z: Array) -> tuple[Any, Any, Callable[[Any, Any], Array]]:
    """Return both sides of blocks of kernel values, to cut, and what computes a block of two cuts.

    Those of a product kernel are made once for all blocks; any other kernel takes the samples.
    """
    if not isinstance(kernel, ProductKernel):
        return X, Z, kernel
    thin = without_zeros(X) if X is Z else None
    return *(kernel.factors(X, Z) if thin is None else kernel.factors(thin, thin)), kernel.block


def kernel_product(kernel: Kernel, samples: Callable[[Any], Array], V: np.ndarray) -> np.ndarray:
    """Return K V for the kernel matrix of samples that can be had in float64, by their index.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0]])
    >>> kernel_product(as_kernel("linear"), lambda index: X[index], np.array([[1.0], [0.0]])).ravel()
    array([1., 2.])
    """
    support = np.flatnonzero(V.any(axis=1))
    product = np.zeros_like(V)
    height = max(1, _BLOCK_BYTES // (8 * max(len(support), 1)))
    for a, b in blocks(len(V) if len(support) else 0, height):
        tile = kernel(samples(support), samples(np.arange(a, b)))
        product[a:b] = compensated_product(to_numpy(tile), V[support])
    return product


def kernel_rounding(n: int, d: int) -> float:
    """Return how far off :func:`kernel_product` may be: the sums, and kernel values of d features."""
    return relative_error(n) + (d + 64) * float(np.finfo(np.float64).eps)


def kernel_roots(kernel: Kernel, samples: Callable[[Any], Array], n: int) -> np.ndarray:
    """Return √k(x_i, x_i), rounded up, for samples that can be had in float64."""
    parts = [kernel_diagonal(samples(np.arange(a, b)), kernel) for a, b in blocks(n, _TILE)]
    return np.asarray(
        np.sqrt(np.concatenate(parts)) * (1 + kernel_rounding(1, samples(np.arange(1)).shape[1]))
    )


def kernel_diagonal(X: Array, kernel: Any) -> np.ndarray:
    """Return k(x_i, x_i) for the rows of a matrix, as a NumPy array."""
    return to_numpy(_diagonal(X, kernel))


def _diagonal(X: Array, kernel: Any) -> Array:
    """Return k(x_i, x_i), from small blocks where the kernel knows no better."""
    if hasattr(kernel, "diagonal"):
        return kernel.diagonal(X)
    xp, spans = namespace(X), blocks(X.shape[0], _CORNER)
    return xp.concat([xp.linalg.diagonal(xp.asarray(kernel(X[a:b, :], X[a:b, :]))) for a, b in spans])


class RowCache:
    """A limited memory for rows: first come, first kept, until one that is asked for more often wants in.

    Not the most recent ones: sweeps in random orders ask for those last of all.

    Parameters
    ----------
    room, spare : int
        How many rows are kept, and how many can be lent beside them.
    n, dtype
        Length and type of a row.
    """

    def __init__(self, room: int, spare: int, n: int, dtype: Any) -> None:
        self.room = room
        self.data = np.empty((room + spare, n), dtype=dtype)
        self.spare = self.data[room:]
        self.owner = np.full(room, -1)
        self._place = np.full(n, -1)
        self._asked = np.zeros(n, dtype=np.int64)

    def places(self, index: np.ndarray) -> np.ndarray:
        """Return where rows are, −1 where they are not here, and count that they were asked for."""
        self._asked[index] += 1
        return np.asarray(self._place[index])

    def keep(self, index: np.ndarray, where: np.ndarray) -> None:
        """Keep those of the spare rows that were asked for more often than the least wanted ones here."""
        rank = np.where(self.owner < 0, -1, self._asked[self.owner])
        rank[where[where < self.room]] = np.iinfo(np.int64).max  # they are lent now
        new = np.flatnonzero(where >= self.room)
        new = new[np.argsort(-self._asked[index[new]], kind="stable")]
        slots = np.argsort(rank, kind="stable")[: len(new)]
        for slot, c in zip(slots, new[: len(slots)], strict=True):
            if rank[slot] >= self._asked[index[c]]:
                break
            if self.owner[slot] >= 0:
                self._place[self.owner[slot]] = -1
            self.data[slot] = self.data[where[c]]
            self.owner[slot], self._place[index[c]] = index[c], slot


class TiledCross:
    """Kernel values between new rows Z and the samples X, never stored."""

    def __init__(self, Z: Array, X: Array, kernel: Kernel) -> None:
        self.Z, self.X, self.kernel = Z, X, kernel

    def __matmul__(self, V: Array) -> Array:
        """Return k(Z, X) V, a block of rows at a time."""
        xp = namespace(V)
        if not self.X.shape[0]:  # a classifier without support
            return xp.zeros((self.Z.shape[0], *V.shape[1:]), dtype=V.dtype, device=device(V))
        if not (sp.issparse(self.Z) or is_numpy(self.Z)):
            tiles = blocks(self.Z.shape[0], max(1, _GPU_TILE // self.X.shape[0]))
            return xp.concat([self.kernel(self.Z[a:b, :], self.X) @ V for a, b in tiles])
        V = np.ascontiguousarray(V)
        out = np.empty((self.Z.shape[0], *V.shape[1:]), dtype=np.result_type(self.X.dtype, V))

        def multiply(ends: tuple[int, int]) -> None:
            part = slice(*ends)
            out[part] = self.kernel(self.Z[part, :], self.X) @ V

        for_each(multiply, blocks(len(out), max(1, _CPU_TILE // self.X.shape[0])), parallel=True)
        return out
