"""The rows that an estimator is fitted on or applied to, behind one face wherever they are.

Rows in the memory of this machine or of a GPU, dense or sparse, are :class:`ArrayRows`. Those of Dask are
:class:`LazyRows`, which stay where they are; loaded for a fit they are :class:`cluster.Rows`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_array_api_obj

from ..arrays import Array, beside, blocks, is_numpy, namespace, take_rows, to_numpy
from ..kernels.functions import Kernel
from .cluster import Rows, collected, is_dask, load_rows, map_rows
from .cluster.kernel import kernel_product
from .cluster.loading import as_dask_array
from .cluster.mapping import columns_of, times
from .fingerprints import row_codes
from .gpu import on_gpu
from .memory import available_memory
from .products import product
from .tiled import TiledCross

_MAIN_MEMORY, _OF_FREE = 4e9, 0.4  # bytes for kernel values that are not on a GPU, or a share of what is free
_LARGE = 2**22  # numbers that are taken into memory at a time, of an array that may be a file


class ArrayRows:
    """Rows of a NumPy array, a CSR matrix, or an array of another library."""

    def __init__(self, X: Any) -> None:
        self.X = X

    @property
    def sweeps(self) -> tuple[str, ...]:
        """What coordinate sweeps, which are compiled for NumPy, run on: kernel values, the features."""
        return ("samples", "features") if sp.issparse(self.X) or is_numpy(self.X) else ()

    @property
    def memory(self) -> float | None:
        """Bytes for kernel values unless the user says otherwise; None is most of what is free."""
        return None if on_gpu(self.X) else max(_MAIN_MEMORY, _OF_FREE * available_memory())

    def take(self, index: np.ndarray) -> Array:
        """Return some of the rows, where they are."""
        return take_rows(self.X, index)

    def to_compare(self, index: np.ndarray) -> Array:
        """Return some of the rows in NumPy or CSR."""
        rows = self.take(index)
        return rows if sp.issparse(rows) else to_numpy(rows)

    def codes(self) -> np.ndarray:
        """Return the code of every row."""
        return row_codes(self.X)

    def variance(self, weight: np.ndarray | None = None) -> float:
        """Return the variance of all entries, zeros of sparse rows included, rows counted by their weight."""
        X, xp = self.X, namespace(self.X)
        if is_numpy(X) and X.size > _LARGE:
            return _variance(X, np.ones(len(X)) if weight is None else weight)
        if weight is None:
            return float(X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else xp.var(X))
        share = beside(weight / weight.sum(), X)
        if sp.issparse(X):
            mean, square = (share @ np.asarray(M.mean(axis=1)).ravel() for M in (X, X.multiply(X)))
            return float(square - mean**2)
        mean = float(share @ xp.mean(X, axis=1))
        return float(share @ xp.mean((X - mean) ** 2, axis=1))

    def checked(self, check: Callable[..., Any]) -> ArrayRows:
        """Return the rows as a check of arrays returns them."""
        return ArrayRows(check(self.X))

    def loaded(self, check: Callable[..., Any], y: Any, weight: Any) -> tuple[Array, np.ndarray, Any]:
        """Return the rows and their labels as a check of both returns them; labels and weights in NumPy."""
        X, y = check(self.X, y)
        return X, to_numpy(y), to_numpy(weight) if is_array_api_obj(weight) else weight

    def product(self, W: Array) -> Array:
        """Return X W."""
        X = self.X
        return product(X, np.ascontiguousarray(W)) if isinstance(X, np.ndarray) else X @ W

    def kernel_product(self, samples: Array, kernel: Kernel, V: Array) -> Array:
        """Return k(X, samples) V."""
        return TiledCross(self.X, samples, kernel) @ V

    def map(self, function: Callable[..., Array], columns: int | None, dtype: Any, **shared: Any) -> Array:
        """Return function(X, …), which takes every row by itself."""
        return function(self.X, **shared)


class LazyRows:
    """Rows of a dask array or dataframe; what is computed of them is another dask array.

    Examples
    --------
    >>> import dask.array as da
    >>> rows = LazyRows(da.ones((4, 3), chunks=(2, 3)))
    >>> rows.product(np.eye(3)[:, :1]).compute().ravel()
    array([1., 1., 1., 1.])
    """

    def __init__(self, X: Any) -> None:
        self.X = X

    @property
    def header(self) -> Any:
        """An empty table here with the same columns."""
        return self.X._meta if hasattr(self.X, "columns") else np.empty((0, self.X.shape[1]))

    def checked(self, check: Callable[..., Any]) -> LazyRows:
        """Return the rows, if a check of arrays takes their columns."""
        check(self.header, skip_check_array=True)
        return LazyRows(as_dask_array(self.X))

    def loaded(self, check: Callable[..., Any], y: Any, weight: Any) -> tuple[Rows, Any, Any]:
        """Return the rows on the workers, labels and weights in NumPy."""
        check(self.header, y, skip_check_array=True)
        rows, y, weight = load_rows(self.X), collected(y), collected(weight)
        if len(y) != rows.shape[0]:
            raise ValueError(
                f"X has {rows.shape[0]} rows, but y has {len(y)} labels; one for each row is needed."
            )
        return rows, y, weight

    def product(self, W: np.ndarray) -> Any:
        """Return X W."""
        return self.map(times, columns_of(W), W.dtype, W=W)

    def kernel_product(self, samples: Array, kernel: Kernel, V: np.ndarray) -> Any:
        """Return k(X, samples) V."""
        return self.map(kernel_product, columns_of(V), V.dtype, samples=samples, V=V, kernel=kernel)

    def map(self, function: Callable[..., Array], columns: int | None, dtype: Any, **shared: Any) -> Any:
        """Return function(X, …) with that many columns, a chunk of rows at a time."""
        return map_rows(function, self.X, columns, dtype=dtype, **shared)


#: What an estimator is fitted on.
Samples: TypeAlias = ArrayRows | Rows
#: What a user gives to fit or predict, or values that were computed of such rows.
AnyRows: TypeAlias = ArrayRows | LazyRows


def samples_of(X: Any) -> Samples:
    """Return the face of the rows of a fit: an array, a CSR matrix, or rows on a cluster.

    Examples
    --------
    >>> samples_of(np.array([[0.0, 2.0]])).variance()
    1.0
    """
    return X if isinstance(X, Rows) else ArrayRows(X)


def rows_of(X: Any) -> AnyRows:
    """Return the face of rows as a user gives them, or of values that were computed of such rows.

    Examples
    --------
    >>> rows_of(np.array([[0.0, 2.0]])).product(np.array([1.0, 1.0]))
    array([2.])
    """
    return LazyRows(X) if is_dask(X) else ArrayRows(X)


def _variance(X: np.ndarray, weight: np.ndarray) -> float:
    """Return the variance of all entries, rows counted by their weight; few are copied at a time."""
    spans, share = list(blocks(len(X), max(1, _LARGE // X.shape[1]))), weight / weight.sum()
    mean = sum(float(share[a:b] @ np.mean(X[a:b], axis=1, dtype=np.float64)) for a, b in spans)
    return sum(float(share[a:b] @ np.mean((X[a:b] - mean) ** 2, axis=1, dtype=np.float64)) for a, b in spans)


def float_dtypes(X: Any, *, as_given: bool) -> list[Any]:
    """Return the dtypes that stay as they are: of the library of X, if it is left there, or of NumPy.

    Examples
    --------
    >>> float_dtypes([[1, 2]], as_given=False)
    [<class 'numpy.float64'>, <class 'numpy.float32'>]
    """
    if not as_given and is_array_api_obj(X) and on_gpu(X):
        raise TypeError(
            "X is on a GPU. Fit and predict inside sklearn.config_context(array_api_dispatch=True), with "
            "SCIPY_ARRAY_API=1 in the environment before scipy is imported."
        )
    xp = namespace(X) if as_given else np
    return [xp.float64, xp.float32]
