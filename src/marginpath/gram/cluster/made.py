"""Features of rows on a cluster that its workers have no room for: they are made anew in every product."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array, blocks
from ...kernels.functions import Kernel
from ...parallel import one_blas_thread
from ..features import landmark_features
from .faults import collect, itself, spread
from .rows import Rows, total

_BATCH = 4096  # rows whose features are there at a time


@dataclass(frozen=True)
class FeatureMap:
    """x ↦ k(x, L) R − mean, in float32, and √constant behind it unless that is 0: what landmarks see of x."""

    points: Array
    kernel: Kernel
    root: np.ndarray
    mean: np.ndarray
    constant: float

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.root.shape[1]) + (self.constant > 0)

    def __call__(self, X: Array) -> np.ndarray:
        """Return the features of some rows."""
        with one_blas_thread():  # whose last bits would depend on how many rows there are
            features = landmark_features(X, self.points, self.kernel, self.root, self.constant)
        features[:, : len(self.mean)] -= self.mean
        return np.asarray(features)

    def sent(self, client: Any) -> Any:
        """Return the map on a cluster: it travels once for all tasks."""
        return client.submit(itself, self, pure=False)


class MadeRows(Rows):
    """The features of rows on a cluster, in batches that are made of the rows whenever they are asked for.

    For products in float32, kernel values alone are: with C = k(X, L), F W = C (R W) − mean W and Fᵀ V =
    Rᵀ (Cᵀ V) − mean 1ᵀV, so that the root R meets what is small. Their sums are in float64, as R may magnify
    rounding. Products in float64 are those of the features as they are rounded to float32: so are proofs.
    """

    def __init__(self, rows: Rows, make: FeatureMap) -> None:
        places = [
            [slice(p.start + a, p.start + b) for p in own for a, b in blocks(p.stop - p.start, _BATCH)]
            for own in rows.places
        ]
        super().__init__(rows.client, rows.shards, places, (rows.shape[0], make.width), np.dtype(np.float32))
        self.rows, self.make = rows, make

    def spread(self, function: Callable[..., Any], *cut: Any, **shared: Any) -> list[Any]:
        """Start function(batches of features, …) of every shard."""
        shared |= {"work": function, "make": self.make.sent(self.client)}
        return spread(self.client, _of_features, self.shards, *cut, **shared)

    def transposed_product(self, V: Array, *, accurate: bool = False) -> np.ndarray:
        """Return Fᵀ V."""
        if accurate or V.dtype != self.dtype:
            return super().transposed_product(V, accurate=accurate)
        make, columns = self.make, V.reshape(len(V), -1)
        parts = spread(self.client, _values_transposed, self.shards, self.cut(columns), **self._values)
        every = np.asarray(np.sum(columns, axis=0, dtype=np.float64))
        found = make.root.T @ self.summed(parts) - np.outer(make.mean, every)
        if make.constant:
            found = np.concatenate([found, make.constant**0.5 * every[None]])
        return np.asarray(found.astype(V.dtype).reshape(self.shape[1], *V.shape[1:]))

    def product(self, W: Array) -> np.ndarray:
        """Return F W, in the dtype of W."""
        if W.dtype != self.dtype:
            return super().product(W)
        make, m = self.make, len(self.make.mean)
        columns = W.reshape(len(W), -1).astype(np.float64)
        shift = make.constant**0.5 * np.sum(columns[m:], axis=0) - make.mean @ columns[:m]
        settings: dict[str, Any] = {"W": make.root @ columns[:m], "shift": shift, "dtype": W.dtype}
        parts = collect(
            self.client, spread(self.client, _values_times, self.shards, **settings, **self._values)
        )
        return self.joined(parts).reshape(self.shape[0], *W.shape[1:])

    @property
    def _values(self) -> dict[str, Any]:
        """What makes kernel values of rows."""
        return {"points": self.make.points, "kernel": self.make.kernel}

    def take(self, index: Any) -> np.ndarray:
        """Fetch some of the rows, and make their features here."""
        return self.make(self.rows.take(index))

    def moments(self, weights: np.ndarray) -> np.ndarray:
        """Return Fᵀ W F, for the weights of all rows."""
        return self.summed(self.spread(_moments, self.cut(weights)))


def _of_features(
    shard: list[Array], *cut: Any, work: Callable[..., Any], make: FeatureMap, **shared: Any
) -> Any:
    return work(map(make, _batches(shard)), *cut, **shared)


def _batches(shard: list[Array]) -> Iterator[Array]:
    for X in shard:
        for a, b in blocks(X.shape[0], _BATCH):
            yield X[a:b]


def _kernel_values(shard: list[Array], points: Array, kernel: Kernel) -> Iterator[np.ndarray]:
    for X in _batches(shard):
        yield np.asarray(kernel(X, points), dtype=np.float64)


def _values_transposed(shard: list[Array], parts: list[Array], points: Array, kernel: Kernel) -> np.ndarray:
    pairs = zip(_kernel_values(shard, points, kernel), parts, strict=True)
    found = np.zeros((points.shape[0], parts[0].shape[1]))
    for C, V in pairs:
        found += (V.astype(np.float64).T @ C).T
    return found


def _values_times(
    shard: list[Array], W: np.ndarray, shift: np.ndarray, dtype: Any, points: Array, kernel: Kernel
) -> list[np.ndarray]:
    return [(C @ W + shift).astype(dtype) for C in _kernel_values(shard, points, kernel)]


def _moments(features: Iterator[np.ndarray], weights: list[np.ndarray]) -> np.ndarray:
    pairs = zip(features, weights, strict=True)
    return total((F.T @ (w[:, None] * F)).astype(np.float64) for F, w in pairs)
