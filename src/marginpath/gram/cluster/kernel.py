"""A kernel matrix on a Dask cluster: blocks of rows that the workers hold, or compute when needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...arrays import Array, all_finite, as_floating, blocks
from ...kernels.functions import Kernel
from ..base import Gram
from ..compensated import compensated_product, relative_error
from ..fingerprints import fingerprint, row_codes
from ..tiled import kernel_diagonal
from .faults import collect, dask_module, spread
from .loading import block_bytes, is_dask, memory, workers_of
from .mapping import columns_of, map_rows, matching_rows
from .rows import Rows

_TILE = 2**22  # kernel values that a task computes at a time


class ClusterKernelGram(Gram):
    """A kernel matrix in blocks of rows, held by the workers or computed anew in every product.

    Every worker has a copy of X. Blocks are held if they fit into half of the workers' memory, or as
    ``stored`` says.
    """

    def __init__(self, samples: Rows, kernel: Kernel, stored: bool | None = None) -> None:
        self.client, self.kernel = samples.client, kernel
        self._shape, self._dtype = samples.shape, samples.dtype
        workers = workers_of(self.client)
        self.stored = _fits(samples, workers) if stored is None else stored
        copies = [
            self.client.submit(_stacked, samples.shards, samples.places, pure=False, **_at(worker))
            for worker in workers
        ]
        spans = list(blocks(self._shape[0], _block_rows(self._shape[0], self._dtype, workers)))
        own = [j * len(copies) // len(spans) for j in range(len(spans))]
        self._whole = copies[0]
        if not self.stored:
            self._task: Callable[..., np.ndarray] = _computed_product
            self._held: list[Any] = [[copies[j] for j in own], spans]
            return
        self._task = _stored_product
        addresses = list(workers)
        held = [
            self.client.submit(kernel_rows, copies[j], span, kernel, pure=False, **_at(addresses[j]))
            for j, span in zip(own, spans, strict=True)
        ]
        self._held = [held]

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self._shape[0], self._shape[0]

    @property
    def dtype(self) -> Any:
        """Floating-point type of the samples."""
        return self._dtype

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The values k(x_i, x_i)."""
        return np.asarray(self._ask(kernel_diagonal, self.kernel))

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """That of the samples and the kernel, from codes of rows that one worker computes."""
        return fingerprint(self._ask(row_codes), self._shape[1], self.kernel, self.rows)

    def __matmul__(self, V: Array) -> np.ndarray:
        """Return K V, a task for each block of rows."""
        return self._product(V, accurate=False)

    def accurate_product(self, V: Array) -> np.ndarray:
        """Return K V from compensated float64 sums."""
        return self._product(V, accurate=True)

    def product_with_error(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return K V from compensated sums; where K is not stored, of entries that may differ by rounding."""
        relative = relative_error(len(V)) + (0 if self.stored else self.resolution)
        return self.accurate_product(V), np.outer(self.roots, relative * self.length(V))

    def rows(self, index: Array) -> np.ndarray:
        """Return the rows K[index, :], computed by one worker."""
        return np.asarray(self._ask(kernel_rows, np.asarray(index), self.kernel))

    def cross(self, Z: Array) -> KernelCross:
        """Return the kernel values between new rows and the samples; products are lazy where Z is Dask's."""
        return KernelCross(matching_rows(Z, self._shape[1]), self)

    def _product(self, V: Array, accurate: bool) -> np.ndarray:
        shared = {"kernel": self.kernel} if not self.stored else {}
        parts = spread(self.client, self._task, *self._held, V=V, accurate=accurate, **shared)
        return np.concatenate(collect(self.client, parts))

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return function(X, …), computed where a copy of X is."""
        wrapped = [[argument] for argument in arguments]
        return collect(self.client, spread(self.client, function, [self._whole], *wrapped))[0]


class KernelCross:
    """Kernel values between new rows Z and the samples on the cluster."""

    def __init__(self, Z: Array, gram: ClusterKernelGram) -> None:
        self.Z, self.gram = Z, gram

    def __matmul__(self, V: Array) -> Any:
        """Return k(Z, X) V."""
        gram = self.gram
        shared: dict[str, Any] = {"V": V, "kernel": gram.kernel}
        if is_dask(self.Z):
            samples = dask_module("dask").delayed(gram._whole)
            return map_rows(
                kernel_product, self.Z, columns_of(V), dtype=gram.dtype, samples=samples, **shared
            )
        size = -(-self.Z.shape[0] // len(workers_of(gram.client)))
        pieces = [self.Z[a:b] for a, b in blocks(self.Z.shape[0], size)]
        parts = spread(gram.client, kernel_product, pieces, samples=gram._whole, **shared)
        return np.concatenate(collect(gram.client, parts))


def kernel_rows(X: Array, index: Any, kernel: Kernel) -> np.ndarray:
    """Return the rows K[index, :], their diagonal entries exact; a pair of numbers is a span of rows."""
    span = isinstance(index, tuple)
    part = X[index[0] : index[1]] if span else X[index]
    where = np.arange(*index) if span else index
    block = np.asarray(kernel(part, X))
    if block.shape != (part.shape[0], X.shape[0]) or not all_finite(block):
        raise ValueError(
            f"The kernel returned shape {block.shape} for {part.shape[0]} and {X.shape[0]} rows, or values "
            f"that are not finite. It must take (X, Z) and return the block of their kernel values."
        )
    block = block.astype(X.dtype, copy=False)
    if hasattr(kernel, "diagonal"):
        block[np.arange(len(where)), where] = kernel.diagonal(part)
    return block


def _stored_product(K: np.ndarray, V: np.ndarray, accurate: bool) -> np.ndarray:
    return np.asarray(compensated_product(K.T, V) if accurate else K @ V)


def _computed_product(
    X: Array, span: tuple[int, int], V: np.ndarray, accurate: bool, kernel: Kernel
) -> np.ndarray:
    first, last = span
    tiles = blocks(last - first, max(1, _TILE // X.shape[0]))
    parts = [_stored_product(kernel_rows(X, (first + a, first + b), kernel), V, accurate) for a, b in tiles]
    return np.concatenate(parts)


def kernel_product(Z: Array, samples: Array, V: np.ndarray, kernel: Kernel) -> np.ndarray:
    """Return k(Z, samples) V, a block of rows at a time."""
    Z = as_floating(Z, "Z").astype(samples.dtype, copy=False)
    tiles = blocks(Z.shape[0], max(1, _TILE // samples.shape[0]))
    return np.concatenate([np.asarray(kernel(Z[a:b], samples)) @ V for a, b in tiles])


def _stacked(shards: list[list[Array]], places: list[list[slice]]) -> Array:
    """Return the rows of all shards as one matrix, in their order."""
    found = {p.start: X for ps, Xs in zip(places, shards, strict=True) for p, X in zip(ps, Xs, strict=True)}
    ordered = [found[start] for start in sorted(found)]
    return sp.vstack(ordered, format="csr") if sp.issparse(ordered[0]) else np.concatenate(ordered)


def _fits(samples: Rows, workers: dict[str, dict[str, Any]]) -> bool:
    """Whether the kernel matrix fits into half of the workers' memory beside their copies of X."""
    (n, d), width = samples.shape, samples.dtype.itemsize
    if n * d * width > memory(workers) / 4:
        raise ValueError(
            f"X takes {n * d * width / 1e9:.1f} GB, over a quarter of a worker's memory, but every one has "
            f"a copy of it. Give a number of landmarks, such as MarginPathClassifier(landmarks=500), whose "
            f"features are made where the rows are."
        )
    return bool(n * n * width <= len(workers) * (memory(workers) / 2 - n * d * width))


def _block_rows(n: int, dtype: Any, workers: dict[str, dict[str, Any]]) -> int:
    """Return the rows of a block: a block for each thread, or smaller ones where memory asks for them."""
    threads = sum(int(worker["nthreads"]) for worker in workers.values())
    most = block_bytes(workers) / (n * np.dtype(dtype).itemsize)
    return max(1, int(min(-(-n // threads), most)))


def _at(worker: str) -> dict[str, Any]:
    return {"workers": [worker], "allow_other_workers": True}
