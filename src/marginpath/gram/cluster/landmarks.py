"""Landmarks on a cluster: they travel, the rows stay, and their features are made where the rows are."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from ...arrays import Array
from ...kernels.functions import Kernel, Linear
from ..pivots import chosen_points
from .faults import spread
from .linear import ClusterLinearGram, FeatureCross
from .loading import is_dask, memory, workers_of
from .made import FeatureMap, MadeRows
from .mapping import map_rows, matching_rows
from .rows import Rows

logger = logging.getLogger("marginpath")


class ClusterLandmarkGram(ClusterLinearGram):
    """The kernel matrix of rows on a cluster as landmarks see it; see :meth:`Gram.landmarks`.

    The candidates, of which landmarks are chosen, are fetched. ``chosen``, ``trace_error`` and
    ``on_landmarks`` are those of a :class:`LandmarkGram`. Features are held by the workers if they fit into
    half of their memory, or as ``stored`` says; otherwise they are made anew in every product.
    """

    def __init__(
        self,
        rows: Rows,
        kernel: Kernel,
        landmarks: int | np.ndarray,
        *,
        seed: int = 0,
        constant: float = 0.0,
        centred: bool = False,
        stored: bool | None = None,
    ) -> None:
        self.kernel, self.constant, self.columns = kernel, constant, rows.shape[1]
        self.chosen, self.points, self.root = chosen_points(rows, kernel, landmarks, seed)
        self.mean = np.zeros(self.root.shape[1], dtype=np.float32)
        self.stored = _fits(rows, self._map.width) if stored is None else stored
        features = self._features_of(rows)
        squares = np.sum(features.diagonal(Linear()), dtype=np.float64) - constant * rows.shape[0]
        self.trace_error = max(0.0, float(1 - squares / np.sum(rows.diagonal(kernel))))
        if centred:
            every = np.full((rows.shape[0], 1), 1 / rows.shape[0])
            self.mean = features.transposed_product(every)[: len(self.mean), 0].astype(np.float32)
            del features  # there need not be room for both
            features = self._features_of(rows)
        super().__init__(features)

    @property
    def _map(self) -> FeatureMap:
        """What makes features of rows."""
        return FeatureMap(self.points, self.kernel, self.root, self.mean, self.constant)

    def _features_of(self, rows: Rows) -> Rows:
        if not self.stored:
            return MadeRows(rows, self._map)
        shards = spread(rows.client, _features, rows.shards, make=self._map.sent(rows.client))
        shape = rows.shape[0], self._map.width
        return Rows(rows.client, shards, rows.places, shape, np.dtype(np.float32))

    def _operator(self, root: np.ndarray) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
        """Return v → XᵀW X v; of features that are made anew, by that matrix itself, in one pass."""
        if self.stored or self.features.shape[1] >= self.features.shape[0]:
            return super()._operator(root)
        weights = np.broadcast_to(root**2, self.features.shape[:1]).astype(np.float32)
        moments = cast(MadeRows, self.features).moments(weights)
        return lambda v: np.asarray(moments @ v), len(moments)

    def on_landmarks(self, V: Array, columns: np.ndarray | None = None) -> np.ndarray:
        """Return B, and b as its last row, with K̃ V = k(X, L) B + b; of all columns, or of some."""
        V = V if columns is None else V[:, columns]
        w, m = self.features.transposed_product(V.astype(np.float32)).astype(np.float64), self.root.shape[1]
        bias = self.constant**0.5 * np.sum(w[m:], axis=0) - self.mean @ w[:m]
        return np.concatenate([self.root @ w[:m], bias[None]])

    def cross(self, Z: Any) -> FeatureCross:
        """Return K̃ between new rows and the samples as an operator; lazy where Z is a dask array."""
        Z = matching_rows(Z, self.columns)
        if not is_dask(Z):
            return FeatureCross(_new_features(Z, self._map), self.features)
        columns = self.features.shape[1]
        return FeatureCross(
            map_rows(_new_features, Z, columns, dtype=np.float32, make=self._map), self.features
        )


def _fits(rows: Rows, width: int) -> bool:
    """Whether so many features of every row fit into half of the workers' memory; if not, say so."""
    workers, needed = workers_of(rows.client), 4.0 * rows.shape[0] * width
    fits = needed <= len(workers) * memory(workers) / 2
    if not fits:
        logger.info(
            "The features of %s samples take %.3g GB, over half of the workers' memory: they are made anew "
            "in every product.",
            f"{rows.shape[0]:,}",
            needed / 1e9,
        )
    return bool(fits)


def _features(shard: list[Array], make: FeatureMap) -> list[np.ndarray]:
    return [make(X) for X in shard]


def _new_features(Z: Any, make: FeatureMap) -> np.ndarray:
    """Return the features of new rows."""
    return make(Z if sp.issparse(Z) else np.asarray(Z))
