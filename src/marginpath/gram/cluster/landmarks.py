"""Landmarks on a cluster: they travel, the rows stay, and their features are made where the rows are."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...arrays import Array
from ...kernels.functions import Kernel, Linear
from ..features import landmark_features
from ..landmarks import chosen_points
from .faults import spread
from .linear import ClusterLinearGram, FeatureCross
from .loading import is_dask
from .mapping import map_rows, matching_rows
from .rows import Rows


class ClusterLandmarkGram(ClusterLinearGram):
    """The kernel matrix of rows on a cluster as landmarks see it; see :meth:`Gram.landmarks`.

    The candidates, of which landmarks are chosen, are fetched. ``chosen``, ``trace_error`` and
    ``on_landmarks`` are those of a :class:`LandmarkGram`.
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
    ) -> None:
        self.kernel, self.constant, self.columns = kernel, constant, rows.shape[1]
        self.chosen, self.points, self.root = chosen_points(rows, kernel, landmarks, seed)
        self.mean = np.zeros(self.root.shape[1], dtype=np.float32)
        features = self._features_of(rows)
        lost = 1 - np.sum(features.diagonal(Linear()), dtype=np.float64) / np.sum(rows.diagonal(kernel))
        self.trace_error = max(0.0, float(lost))
        if centred:
            every = np.full((rows.shape[0], 1), 1 / rows.shape[0], dtype=np.float32)
            self.mean = features.transposed_product(every)[:, 0].astype(np.float32)
            del features  # there need not be room for both
            features = self._features_of(rows)
        super().__init__(features.with_constant(constant))

    @property
    def _map(self) -> dict[str, Any]:
        """What makes features of rows."""
        return {"points": self.points, "kernel": self.kernel, "root": self.root, "mean": self.mean}

    def _features_of(self, rows: Rows) -> Rows:
        shards = spread(rows.client, _features, rows.shards, **self._map)
        shape = rows.shape[0], self.root.shape[1]
        return Rows(rows.client, shards, rows.places, shape, np.dtype(np.float32))

    def on_landmarks(self, V: Array, columns: np.ndarray | None = None) -> np.ndarray:
        """Return B, and b as its last row, with K̃ V = k(X, L) B + b; of all columns, or of some."""
        V = V if columns is None else V[:, columns]
        w, m = self.features.transposed_product(V.astype(np.float32)).astype(np.float64), self.root.shape[1]
        bias = self.constant**0.5 * np.sum(w[m:], axis=0) - self.mean @ w[:m]
        return np.concatenate([self.root @ w[:m], bias[None]])

    def cross(self, Z: Any) -> FeatureCross:
        """Return K̃ between new rows and the samples as an operator; lazy where Z is a dask array."""
        Z = matching_rows(Z, self.columns)
        settings: dict[str, Any] = {**self._map, "constant": self.constant}
        if not is_dask(Z):
            return FeatureCross(_new_features(Z, **settings), self.features)
        columns = self.features.shape[1]
        return FeatureCross(map_rows(_new_features, Z, columns, dtype=np.float32, **settings), self.features)


def _features(
    shard: list[Array], points: Array, kernel: Kernel, root: np.ndarray, mean: np.ndarray
) -> list[Array]:
    features = [landmark_features(X, points, kernel, root) for X in shard]
    for part in features:
        part -= mean
    return features


def _new_features(Z: Any, constant: float, **settings: Any) -> Array:
    """Return the features of new rows, with the column of the constant, if there is one."""
    rows = Z if sp.issparse(Z) else np.asarray(Z)
    (features,) = _features([rows], **settings)
    column = np.full((len(features), 1), constant**0.5, dtype=np.float32)
    return np.hstack([features, column]) if constant else features
