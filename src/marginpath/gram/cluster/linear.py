"""Gram matrices whose data are on a Dask cluster: which one it is, and the linear one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import Array
from ...kernels.functions import Kernel, Linear, as_kernel, biased
from ..base import Enclosure, Gram
from ..compensated import relative_error
from ..fingerprints import fingerprint
from ..linear import _EPS, LinearGram, feature_operator, norm_bounds
from .kernel import ClusterKernelGram
from .loading import is_dask, load_rows
from .mapping import columns_of, map_rows, matching_rows, times
from .rows import Rows


def from_dask(
    X: Any,
    kernel: str | Callable[..., Any] | None = None,
    *,
    client: Any = None,
    dtype: Any = None,
    stored: bool | None = None,
    **params: Any,
) -> ClusterLinearGram | ClusterKernelGram:
    """Make the Gram matrix of a dask array or dataframe; see :meth:`Gram.from_dask`."""
    if kernel is None and (params or stored is not None):
        raise TypeError("Without a kernel there are neither stored= nor parameters to give.")
    rows = load_rows(X, client, dtype)
    return gram_of(rows, None if kernel is None else as_kernel(kernel, **params), stored)


def gram_of(
    rows: Rows, kernel: Kernel | None = None, stored: bool | None = None, constant: float = 0.0
) -> ClusterLinearGram | ClusterKernelGram:
    """Make the Gram matrix of rows on a cluster, plus a constant: X Xᵀ where the kernel is linear or None."""
    if kernel is None or isinstance(kernel, Linear):
        return ClusterLinearGram(rows.with_constant(constant))
    return ClusterKernelGram(rows, biased(kernel, constant), stored)


class ClusterLinearGram(Gram):
    """The matrix X Xᵀ, kept as the rows of X on the workers: a product is X (Xᵀ V), two passes over X."""

    space = "cluster"
    features: Rows

    def __init__(self, features: Rows) -> None:
        self.features = features

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The squared norms of the rows."""
        return self.features.diagonal(Linear())

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """That of the samples with the linear kernel, from codes of rows that the workers compute."""
        return fingerprint(self.features.codes(), self.features.shape[1], Linear(), self.rows)

    def __matmul__(self, V: Array) -> np.ndarray:
        """Return X (Xᵀ V)."""
        return self.times(self.transposed_times(V))

    def times(self, W: Array) -> np.ndarray:
        """Return X W."""
        return self.features.product(W)

    def transposed_times(self, V: Array) -> np.ndarray:
        """Return Xᵀ V."""
        return self.features.transposed_product(V)

    def _operator(self, root: np.ndarray) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
        """Return v → XᵀW X v where there are fewer features than rows."""
        return feature_operator(self, root, self.features.shape) or super()._operator(root)

    def rows(self, index: Array) -> np.ndarray:
        """Return X[index] Xᵀ."""
        return self.features.joined(self.features.run(_inner, Z=self.features.take(index))).T

    def block(self, index: Array) -> np.ndarray:
        """Return the products of these rows with each other."""
        X = self.features.take(index)
        return np.asarray(Linear()(X, X))

    @cached_property
    def roots(self) -> np.ndarray:
        """‖x_i‖, rounded up, in float64."""
        return self.features.joined(self.features.run(_roots))

    @property
    def resolution(self) -> float:
        """0: X Xᵀ is what X says it is."""
        return 0.0

    def accurate_product(self, V: Array) -> np.ndarray:
        """Return X (Xᵀ V) in float64."""
        return self.features.product(self.features.transposed_product(V, accurate=True))

    def product_with_error(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return those of :meth:`enclose`."""
        return self.enclose(V)[:2]

    def enclose(self, V: np.ndarray) -> Enclosure:
        """Return X w and ‖w‖ with w = Xᵀ V from compensated sums of each block, as on one machine.

        Adding up the blocks takes as many additions as there are blocks, at most.
        """
        w = self.features.transposed_product(V, accurate=True)
        number = sum(map(len, self.features.places))
        lost = (relative_error(len(V)) + number * _EPS) * self.length(V)
        low, high = norm_bounds(w, lost)
        error = np.outer(self.roots, lost + (self.features.shape[1] + 2) * _EPS * high)
        return Enclosure(self.features.product(w), error, low, high)

    def cross(self, Z: Array) -> FeatureCross:
        """Return Z Xᵀ as an operator; its products are lazy where Z is a dask array."""
        return FeatureCross(matching_rows(Z, self.features.shape[1]), self.features)


class FeatureCross:
    """The matrix Z Xᵀ between new rows Z and the samples on the cluster."""

    def __init__(self, Z: Array, features: Rows) -> None:
        self.Z, self.features = Z, features

    def __matmul__(self, V: Array) -> Any:
        """Return Z (Xᵀ V)."""
        W = self.features.transposed_product(V)
        if is_dask(self.Z):
            return map_rows(times, self.Z, columns_of(W), dtype=W.dtype, W=W)
        return self.Z @ W


def _roots(shard: Iterable[Array]) -> list[np.ndarray]:
    return [LinearGram(X).roots for X in shard]


def _inner(shard: Iterable[Array], Z: Array) -> list[np.ndarray]:
    return [np.asarray(Linear()(X, Z)) for X in shard]
