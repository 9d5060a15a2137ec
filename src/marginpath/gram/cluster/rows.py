"""The rows of a matrix on the workers of a cluster, and functions mapped over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...arrays import Array, blocks
from ..compensated import compensated_product
from ..fingerprints import row_codes
from ..tiled import kernel_diagonal
from .faults import collect, spread

_FAN = 8  # partial sums that are added up in one place


class Rows:
    """A matrix whose rows are in shards, each a list of blocks on one worker.

    A shard is what one task works on. The order of all sums is fixed by the shards, whoever computes them,
    so that a worker lost in between changes nothing.
    """

    #: Coordinate sweeps run on the features there, each worker on its own, and not on kernel values.
    sweeps = ("features",)
    #: The memory of the workers decides what is stored.
    memory = None

    def __init__(
        self, client: Any, shards: list[Any], places: list[list[slice]], shape: tuple[int, int], dtype: Any
    ) -> None:
        self.client, self.shards, self.places = client, shards, places
        self.shape, self.dtype = shape, np.dtype(dtype)

    def cut(self, values: Array) -> list[list[Array]]:
        """Return the rows of an array that belong to each block of each shard."""
        return [[values[place] for place in places] for places in self.places]

    def joined(self, parts: Sequence[Sequence[Array]]) -> np.ndarray:
        """Put together what was cut."""
        first = parts[0][0]
        out = np.empty((self.shape[0], *first.shape[1:]), dtype=first.dtype)
        for places, blocks_ in zip(self.places, parts, strict=True):
            for place, block in zip(places, blocks_, strict=True):
                out[place] = block
        return out

    def run(self, function: Callable[..., Any], *cut: Sequence[Any], **shared: Any) -> list[Any]:
        """Return function(blocks, …) of every shard."""
        return collect(self.client, self.spread(function, *cut, **shared))

    def spread(self, function: Callable[..., Any], *cut: Sequence[Any], **shared: Any) -> list[Any]:
        """Start function(blocks, …) of every shard; it goes through the blocks once, in their order."""
        return spread(self.client, function, self.shards, *cut, **shared)

    def transposed_product(self, V: Array, *, accurate: bool = False) -> np.ndarray:
        """Return Xᵀ V: a product for each shard, and a tree of sums."""
        return self.summed(self.spread(_transposed_product, self.cut(V), accurate=accurate))

    def summed(self, parts: list[Any]) -> np.ndarray:
        """Return the sum of what the shards have come to, added up by a tree."""
        while len(parts) > _FAN:
            parts = spread(self.client, total, [parts[a:b] for a, b in blocks(len(parts), _FAN)])
        return total(collect(self.client, parts))

    def product(self, W: Array) -> np.ndarray:
        """Return X W, in the dtype of W."""
        return self.joined(self.run(_product, W=W))

    @property
    def T(self) -> Transposed:
        """The transposed matrix, for products ``rows.T @ V``."""
        return Transposed(self)

    def __getitem__(self, index: Any) -> Array:
        """Fetch some of the rows, as :meth:`take`."""
        return self.take(np.arange(self.shape[0])[index])

    def with_constant(self, square: float) -> Rows:
        """Return the rows with a further column of the root of ``square``, or as they are where it is 0."""
        if not square:
            return self
        shards = spread(self.client, _with_constant, self.shards, root=square**0.5)
        return Rows(self.client, shards, self.places, (self.shape[0], self.shape[1] + 1), self.dtype)

    def variance(self, weight: np.ndarray | None = None) -> float:
        """Return the variance of all entries, zeros of sparse rows included, rows counted by their weight."""
        weight = np.ones(self.shape[0]) if weight is None else weight
        sums = total(self.run(_moments, self.cut(weight))) / (weight.sum() * self.shape[1])
        return float(max(sums[1] - sums[0] ** 2, 0.0))

    def diagonal(self, kernel: Any) -> np.ndarray:
        """Return k(x_i, x_i) for every row."""
        return self.joined(self.run(_diagonal, kernel=kernel))

    def codes(self) -> np.ndarray:
        """Return the code of every row; see :mod:`marginpath.gram.fingerprints`."""
        return self.joined(self.run(_codes))

    def take(self, index: Any) -> Array:
        """Fetch some of the rows."""
        index = np.asarray(index)
        wanted = [[np.flatnonzero((index >= p.start) & (index < p.stop)) for p in ps] for ps in self.places]
        local = [
            [index[w] - p.start for w, p in zip(ws, ps, strict=True)]
            for ws, ps in zip(wanted, self.places, strict=True)
        ]
        found = [block for shard in self.run(_take, local) for block in shard]
        order = np.concatenate([w for ws in wanted for w in ws])
        stacked = sp.vstack(found, format="csr") if sp.issparse(found[0]) else np.concatenate(found)
        return stacked[np.argsort(order)]

    def to_compare(self, index: np.ndarray) -> None:
        """Return None: to compare the rows would bring them all here."""


class Transposed:
    """The transposed matrix of rows on a cluster."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def __matmul__(self, V: Array) -> np.ndarray:
        """Return Xᵀ V."""
        return self.rows.transposed_product(V)


def total(parts: Iterable[np.ndarray]) -> np.ndarray:
    """Add arrays, the first ones first."""
    left = iter(parts)
    out = np.array(next(left))
    for part in left:
        out += part
    return out


def _transposed_product(shard: Iterable[Array], parts: list[Array], accurate: bool) -> np.ndarray:
    pairs = zip(shard, parts, strict=True)
    if accurate:
        return total(compensated_product(X, V) for X, V in pairs)
    return total(X.T @ V if sp.issparse(X) else (V.T @ X).T for X, V in pairs)  # faster than Xᵀ V


def _product(shard: Iterable[Array], W: np.ndarray) -> list[np.ndarray]:
    return [X.astype(W.dtype, copy=False) @ W for X in shard]


def _diagonal(shard: Iterable[Array], kernel: Any) -> list[np.ndarray]:
    return [kernel_diagonal(X, kernel) for X in shard]


def _codes(shard: Iterable[Array]) -> list[np.ndarray]:
    return [row_codes(X) for X in shard]


def _take(shard: Iterable[Array], index: list[np.ndarray]) -> list[Array]:
    return [X[i] for X, i in zip(shard, index, strict=True)]


def _with_constant(shard: Iterable[Array], root: float) -> list[Array]:
    columns = [np.full((X.shape[0], 1), root, dtype=X.dtype) for X in shard]
    pairs = zip(shard, columns, strict=True)
    return [sp.hstack([X, c], format="csr") if sp.issparse(X) else np.hstack([X, c]) for X, c in pairs]


def _moments(shard: Iterable[Array], weights: list[np.ndarray]) -> np.ndarray:
    """Return the sum of all entries, and that of their squares, rows counted by their weight."""
    sums = np.zeros(2)
    for X, w in zip(shard, weights, strict=True):
        squares = X.multiply(X) if sp.issparse(X) else X * X
        sums += [w @ np.asarray(M.sum(axis=1, dtype=np.float64)).ravel() for M in (X, squares)]
    return sums
