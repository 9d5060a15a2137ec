"""What the package needs to know of arrays: their namespace, dtype, finiteness, and the way to NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import array_api_compat
import numpy as np
import scipy.sparse as sp

#: An array of any library that follows the array API standard (NumPy, torch, CuPy, ...).
Array: TypeAlias = Any

_NUMPY: Any = array_api_compat.array_namespace(np.empty(0))
_NAMESPACES: dict[type, Any] = {np.ndarray: _NUMPY}


def namespace(*arrays: Array) -> Any:
    """Array-API namespace of the arrays; plain sequences and sparse matrices belong to NumPy."""
    kinds = {type(a) for a in arrays}
    if len(kinds) == 1 and (known := _NAMESPACES.get(*kinds)) is not None:  # asked several times a step
        return known
    found = [a for a in arrays if array_api_compat.is_array_api_obj(a)]
    xp = array_api_compat.array_namespace(*found) if found else _NUMPY
    if len(kinds) == 1 and found:
        _NAMESPACES[kinds.pop()] = xp
    return xp


def device(array: Array) -> Any:
    """Device of an array; that of a sparse matrix is NumPy's."""
    return None if sp.issparse(array) else array_api_compat.device(array)


def is_numpy(array: Array) -> bool:
    """Whether compiled, in-place NumPy routines apply to this array."""
    if type(array) is np.ndarray and array.dtype.kind != "V":  # asked many times a step
        return True
    return bool(array_api_compat.is_numpy_array(array))


def as_floating(array: Array, name: str, *, ndim: tuple[int, ...] = (2,)) -> Array:
    """Return the array in float32 or float64, finite, not empty; sparse matrices become CSR.

    float32 stays float32, everything else becomes float64.
    """
    if sp.issparse(array):
        array = array.tocsr()
        xp = namespace()
    else:
        xp = namespace(array)
        array = xp.asarray(array)
    if not (xp.isdtype(array.dtype, ("real floating", "integral", "bool"))):
        raise ValueError(f"{name} must be real numbers, got dtype {array.dtype}.")
    if array.dtype not in (xp.float32, xp.float64):
        array = array.astype(xp.float64) if sp.issparse(array) else xp.astype(array, xp.float64)
    if array.ndim not in ndim:
        wanted = " or ".join(str(d) for d in ndim)
        raise ValueError(
            f"{name} has shape {tuple(array.shape)}, but {wanted} dimension(s) are needed. "
            f"Reshape it: (n_samples, n_features)."
        )
    if 0 in array.shape:
        raise ValueError(f"{name} is empty: shape {tuple(array.shape)}. At least one row is needed.")
    values = array.data if sp.issparse(array) else array
    if not all_finite(values):
        raise ValueError(f"{name} contains NaN or infinite values. Impute or drop them first.")
    return array


def all_finite(values: Array) -> bool:
    """Whether no value is NaN or infinite; a sum settles most cases without a temporary."""
    xp = namespace(values)
    if is_numpy(values):
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.sum(values)):
                return True
    return bool(xp.all(xp.isfinite(values)))


def blocks(n: int, size: int) -> Iterator[tuple[int, int]]:
    """Cut 0 … n into consecutive (start, stop) of at most that size."""
    for start in range(0, n, size):
        yield start, min(start + size, n)


def take_rows(array: Array, index: Any) -> Array:
    """Return array[index, :], for dense arrays of any library, CSR matrices, and rows on a cluster."""
    if is_numpy(array) or not array_api_compat.is_array_api_obj(array):
        return array[np.asarray(index)]
    xp = namespace(array)
    return xp.take(array, xp.asarray(index, device=device(array)), axis=0)


def take_columns(array: Array, index: np.ndarray) -> Array:
    """Return a copy of array[..., index], for dense arrays of any library.

    Evenly spaced columns are a slice: no index has to go to a GPU, which would wait for all it has to do.
    """
    xp, step = namespace(array), int(index[1] - index[0]) if len(index) > 1 else 1
    if len(index) and step > 0 and np.all(np.diff(index) == step):
        return xp.asarray(array[..., int(index[0]) : int(index[-1]) + 1 : step], copy=True)
    return xp.take(array, xp.asarray(index, device=device(array)), axis=-1)


def to_numpy(array: Array) -> np.ndarray:
    """Copy an array of any library to NumPy, from its device if need be."""
    if type(array) is np.ndarray:
        return array
    if array_api_compat.is_torch_array(array):
        return np.asarray(array.detach().cpu())
    if array_api_compat.is_cupy_array(array):
        return np.asarray(array.get())
    if not is_numpy(array) and hasattr(array, "__dlpack__"):
        return np.from_dlpack(array, device="cpu", copy=True)
    return np.asarray(array)


def beside(values: np.ndarray, like: Any) -> Array:
    """Return NumPy values as an array of the library and on the device of another; else as they are.

    Examples
    --------
    >>> import array_api_strict as xp
    >>> beside(np.array([1.0]), xp.zeros(3, dtype=xp.float32))
    Array([1.], dtype=array_api_strict.float32)
    """
    if not array_api_compat.is_array_api_obj(like) or is_numpy(like):
        return values
    dtype = like.dtype if values.dtype.kind == "f" else None
    return namespace(like).asarray(values, dtype=dtype, device=device(like))


def with_columns(X: Array, *columns: Array | float) -> Array:
    """Append columns, each a vector or a constant, in the dtype of X.

    Examples
    --------
    >>> with_columns(np.array([[1.0], [2.0]]), 7.0, np.array([3.0, 4.0]))
    array([[1., 7., 3.],
           [2., 7., 4.]])
    """
    n = X.shape[0]
    if sp.issparse(X):
        blocks = [np.broadcast_to(c, n).astype(X.dtype).reshape(n, 1) for c in columns]
        return sp.hstack([X, *blocks], format="csr")
    xp = namespace(X)
    ones = xp.ones_like(X[:, :1])
    blocks = [ones * c if isinstance(c, float) else xp.astype(c[:, None], X.dtype) for c in columns]
    return xp.concat([X, *blocks], axis=1)


def product(left: Array, right: Array, out: np.ndarray | None = None) -> Array:
    """Return left rightᵀ as a dense array; a product of NumPy arrays goes into ``out``, if there is one.

    Examples
    --------
    >>> product(sp.csr_array([[1.0, 2.0]]), sp.csr_array([[3.0, 4.0]]))
    array([[11.]])
    """
    if sp.issparse(left):
        return (left @ right.T).toarray()
    return np.matmul(left, right.T, out=out) if is_numpy(left) else left @ right.T
