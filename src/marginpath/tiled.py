"""A kernel matrix that is never stored: tiles are computed when they are needed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp

from .arrays import Array, as_floating, blocks, device, is_numpy, namespace, take_rows
from .gram import Gram
from .kernels import Kernel, ProductKernel, as_kernel
from .matrices import for_each

_TILE = 1024


class TiledGram(Gram):
    """The kernel matrix of X, computed tile by tile in every product, with a cache of rows.

    The same protocol as a stored matrix in O(n) memory: a product computes every pair once and uses it
    twice; rows that coordinate sweeps ask for are kept, the least recently used ones go first.

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
        # The two sides of a product kernel are made once; any other kernel takes the samples.
        self._left = self._right = self.X
        self._block: Callable[[Array, Array], Array] = self.kernel
        if isinstance(self.kernel, ProductKernel):
            self._left, self._right = self.kernel.factors(self.X, self.X)
            self._block = self.kernel.block
        self._rows: OrderedDict[int, np.ndarray] = OrderedDict()
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
        if hasattr(self.kernel, "diagonal"):
            return self.kernel.diagonal(self.X)
        n, xp = self.X.shape[0], namespace(self.X)
        one = [self.kernel(self.X[i : i + 1, :], self.X[i : i + 1, :])[0, 0] for i in range(n)]
        return xp.asarray(one, dtype=self.X.dtype, device=device(self.X))

    def __matmul__(self, V: Array) -> Array:
        """Return K V."""
        return self._product(V, self.dtype)

    def accurate_product(self, V: Array) -> Array:
        """Return K V with float64 sums over the tiles."""
        return self._product(self.xp.astype(V, self.xp.float64), self.xp.float64)

    def rows(self, index: Array) -> Array:
        """Return the rows K[index, :], from the cache where they are there."""
        wanted = [int(i) for i in index]
        if not self._compiled:
            return self._compute_rows(wanted)
        with self._lock:
            missing = [i for i in wanted if i not in self._rows]
            found = {i: self._rows[i] for i in wanted if i in self._rows}
        computed = self._compute_rows(missing)
        found.update(zip(missing, computed, strict=True))
        self._remember(wanted, found)
        out = np.empty((len(wanted), self.shape[0]), dtype=self.dtype)
        for place, i in enumerate(wanted):
            out[place] = found[i]
        return out

    def cross(self, Z: Array) -> TiledCross:
        """Return the kernel values between new rows and the samples, as an operator."""
        Z = as_floating(Z, "Z")
        if Z.shape[1] != self.X.shape[1]:
            raise ValueError(f"Z has {Z.shape[1]} columns, but {self.X.shape[1]} features are needed.")
        return TiledCross(Z, self.X, self.kernel)

    def _product(self, V: Array, dtype: Any) -> Array:
        """Sum tiles times blocks of V; every core has rows of its own, fixed, so sums are reproducible."""
        xp, n = self.xp, self.shape[0]
        cores = joblib.cpu_count() if self._compiled else 1
        sums = [xp.zeros_like(xp.asarray(V, dtype=dtype)) for _ in range(cores)]

        def add(core: int) -> None:
            total = sums[core]
            for a, b in list(blocks(n, _TILE))[core::cores]:
                for c, e in blocks(n - a, _TILE):
                    c, e = a + c, a + e
                    tile = self._block(self._left[a:b, :], self._right[c:e, :])
                    tile = xp.astype(tile, dtype, copy=False)
                    total[a:b, ...] = total[a:b, ...] + tile @ V[c:e, ...]
                    if c > a:
                        total[c:e, ...] = total[c:e, ...] + tile.T @ V[a:b, ...]

        for_each(add, range(cores), parallel=cores > 1)
        return sum(sums[1:], start=sums[0])

    def _compute_rows(self, index: list[int]) -> Array:
        if not index:
            return np.empty((0, self.shape[0]), dtype=self.dtype)
        return self._block(take_rows(self._left, index), self._right)

    def _remember(self, wanted: list[int], rows: dict[int, np.ndarray]) -> None:
        room = self.cache_bytes // (self.shape[0] * rows[wanted[0]].itemsize) if wanted else 0
        with self._lock:
            for i in wanted:
                self._rows[i] = rows[i] if rows[i].base is None else rows[i].copy()
                self._rows.move_to_end(i)
            while len(self._rows) > room:
                self._rows.popitem(last=False)


class TiledCross:
    """Kernel values between new rows Z and the samples X, never stored."""

    def __init__(self, Z: Array, X: Array, kernel: Kernel) -> None:
        self.Z, self.X, self.kernel = Z, X, kernel

    def __matmul__(self, V: Array) -> Array:
        """Return k(Z, X) V, a block of rows at a time."""
        xp = namespace(V)
        rows = max(1, 2**22 // self.X.shape[0])
        parts = [self.kernel(self.Z[a:b, :], self.X) @ V for a, b in blocks(self.Z.shape[0], rows)]
        return xp.concat(parts)
