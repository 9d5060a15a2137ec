"""Functions of rows, lazily mapped over the chunks of dask arrays: predictions, kernel features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ...arrays import Array, as_floating
from ..base import matching
from .loading import as_dask_array, is_dask

T = TypeVar("T")


def map_rows(
    function: Callable[..., Any],
    X: Any,
    columns: int | None = None,
    *,
    dtype: Any = np.float64,
    **shared: Any,
) -> Any:
    """Apply a function to every chunk of rows, lazily.

    Parameters
    ----------
    function : callable
        Takes a chunk of m rows and returns m values, or m rows of values. Such as the
        ``decision_function`` of a fitted classifier, or the ``transform`` of a fitted map.
    X : dask array or dataframe
    columns : int, optional
        How many values a row gives; None is one, as a vector.
    dtype
        Of the values.
    **shared
        More arguments of the function.

    Returns
    -------
    dask array
        (n,) or (n, columns), in the chunks of X.

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.ones((4, 3), chunks=(2, 3))
    >>> map_rows(lambda rows: rows.sum(axis=1), X).compute()
    array([3., 3., 3., 3.])
    """
    X = as_dask_array(X)
    shape: dict[str, Any] = {"drop_axis": 1, "meta": np.empty(0, dtype=dtype)}
    if columns is not None:
        shape = {"chunks": (X.chunks[0], (columns,)), "meta": np.empty((0, 0), dtype=dtype)}
    settings = {"function": function, "columns": columns, "values": np.dtype(dtype)}
    return X.map_blocks(_values, **settings, **shared, dtype=dtype, **shape)


def fit_on_sample(transformer: T, X: Any, rows: int = 10_000, seed: int = 0) -> T:
    """Fit a transformer of scikit-learn, such as Nystroem or RBFSampler, on random rows of a dask array.

    With :func:`map_rows` it then makes the features that the linear path takes, for n in the millions.

    Parameters
    ----------
    transformer : object with ``fit`` and ``transform``
        It is fitted and returned.
    X : dask array or dataframe
    rows, seed : int
        The size of the sample, and its seed.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.kernel_approximation import Nystroem
    >>> X = da.random.default_rng(0).normal(size=(100, 2), chunks=(25, 2))
    >>> fitted = fit_on_sample(Nystroem(gamma=0.5, n_components=10, random_state=0), X, rows=50)
    >>> map_rows(fitted.transform, X, columns=10).shape
    (100, 10)
    """
    X = as_dask_array(X).copy()
    if np.isnan(X.shape[0]):
        X.compute_chunk_sizes()
    n = int(X.shape[0])
    index = np.sort(np.random.default_rng(seed).permutation(n)[:rows])
    transformer.fit(X[index].compute())  # type: ignore[attr-defined]
    return transformer


def _values(block: Any, function: Callable[..., Any], columns: int | None, values: Any, **shared: Any) -> Any:
    """Return what the function says of a chunk; of an empty one, nothing."""
    if block.shape[0] == 0:
        return np.empty((0,) if columns is None else (0, columns), dtype=values)
    return np.asarray(function(block, **shared), dtype=values)


def matching_rows(Z: Any, columns: int) -> Any:
    """Return new rows, Dask's as they are and others checked, if they have that many columns."""
    return matching(Z if is_dask(Z) else as_floating(Z, "Z"), columns, "features")


def columns_of(W: Array) -> int | None:
    """Return the number of columns; None for a vector."""
    return None if W.ndim == 1 else int(W.shape[1])


def times(Z: Array, W: np.ndarray) -> np.ndarray:
    """Return Z W."""
    return np.asarray(Z @ W)
