"""What a classifier of scikit-learn's kind needs to fit and predict on dask arrays and dataframes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..gram.base import Gram
from ..gram.cluster.kernel import kernel_product
from ..gram.cluster.loading import as_dask_array, collected, load_rows
from ..gram.cluster.mapping import columns_of, map_rows, times
from ..gram.cluster.rows import Rows
from ..kernels.functions import Kernel
from ..solvers import CoordinateDescent, Solver
from ..solvers.coordinate.cluster import ClusterSweeps
from .calibration import probabilities


def loaded(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> tuple[Rows, Any, Any]:
    """Bring X to the workers, labels and weights here, and tell the estimator of the features."""
    rows, y, sample_weight = load_rows(X), collected(y), collected(sample_weight)
    if len(y) != rows.shape[0]:
        raise ValueError(
            f"X has {rows.shape[0]} rows, but y has {len(y)} labels; one for each row is needed."
        )
    estimator.n_features_in_ = rows.shape[1]
    if hasattr(X, "columns"):
        estimator.feature_names_in_ = np.asarray(X.columns, dtype=object)
    return rows, y, sample_weight


def new_rows(estimator: Any, X: Any) -> Any:
    """Return new samples as a dask array, if they have the features that the estimator was fitted on."""
    if (given := X.shape[1]) != estimator.n_features_in_:
        raise ValueError(
            f"X has {given} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    return as_dask_array(X)


def adapted(solver: Solver[Any], gram: Gram) -> Solver[Any]:
    """Return the sweeps for features on a cluster in place of those for one machine."""
    if not (isinstance(solver, CoordinateDescent) and gram.space == "cluster"):
        return solver
    return ClusterSweeps(
        solver.schedule, solver.ratio, tol=solver.tol, refresh=solver.refresh, seed=solver.seed
    )


def lazy_product(X: Any, W: np.ndarray) -> Any:
    """Return X W, lazily."""
    return map_rows(times, X, columns_of(W), dtype=W.dtype, W=W)


def lazy_kernel_product(X: Any, samples: Array, kernel: Kernel, V: np.ndarray) -> Any:
    """Return k(X, samples) V, lazily."""
    return map_rows(kernel_product, X, columns_of(V), dtype=V.dtype, samples=samples, V=V, kernel=kernel)


def lazy_labels(decision: Any, classes: np.ndarray) -> Any:
    """Return the classes of decision values, lazily."""
    index = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
    return index.map_blocks(_picked, classes=classes, dtype=classes.dtype)


def lazy_probabilities(decision: Any, n_classes: int, temperature: float) -> Any:
    """Return the probabilities of the classes, lazily."""
    chunks = (decision.chunks[0], (n_classes,))
    if decision.ndim == 1:
        return decision.map_blocks(
            probabilities, temperature=temperature, dtype=decision.dtype, chunks=chunks, new_axis=1
        )
    return decision.map_blocks(probabilities, temperature=temperature, dtype=decision.dtype, chunks=chunks)


def _picked(index: np.ndarray, classes: np.ndarray) -> np.ndarray:
    return np.asarray(classes[index])
