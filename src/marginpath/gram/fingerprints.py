"""What tells data from other data: every bit of them, wherever they are and however they are stored.

With x_ij the 32-bit words of row i and fixed pseudo-random 64-bit weights w_j, the row has the code

    c_i = Σ_j w_j x_ij  mod 2⁶⁴.

Two rows that differ share it with probability at most 2⁻³³ (multilinear hashing: Lemire and Kaser, 2014). It
takes one pass at about twice the speed of SHA-256, on any device. Zeros add nothing, so that sparse rows have
the codes of dense ones, and every row stands by itself, so that chunks on a cluster may be of any size.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from numbers import Real
from typing import Any

import array_api_compat
import numpy as np
import scipy.sparse as sp

from .. import parallel
from ..arrays import Array, blocks, device, namespace, to_numpy
from ..parallel import for_all
from .gpu import on_gpu

_WORDS, _GPU_WORDS = 2**16, 2**26  # at a time: what stays in the cache of a core, or keeps a GPU busy
_MANY = 2**20  # numbers that threads share


def row_codes(X: Array) -> np.ndarray:
    """Return the code of every row, an int64 each.

    Examples
    --------
    >>> codes = row_codes(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    >>> codes == codes[0]
    array([ True, False,  True])
    >>> bool(np.all(codes == row_codes(sp.csr_array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))))
    True
    """
    if sp.issparse(X):
        return _sparse_codes(X)
    X = X if on_gpu(X) or array_api_compat.is_torch_array(X) else to_numpy(X)
    xp, width = namespace(X), X.shape[1] * max(1, X.dtype.itemsize // 4)
    weights = xp.asarray(_weights(width), device=device(X))
    size = max(1, (_GPU_WORDS if on_gpu(X) else _WORDS) // width)
    codes = np.empty(X.shape[0], dtype=np.int64)

    def write(rows: tuple[int, int]) -> None:
        part = slice(*rows)
        codes[part] = to_numpy(xp.sum(_words(X[part, :]) * weights, axis=1))

    many = isinstance(X, np.ndarray) and X.size > _MANY
    for_all(write, blocks(X.shape[0], size), parallel.available() if many else 1)
    return codes


def fingerprint(
    codes: np.ndarray,
    columns: int,
    kernel: Any,
    rows: Callable[[np.ndarray], Array],
    rounded: str | None = None,
) -> dict[str, Any]:
    """Return what tells a kernel matrix from another one, as JSON values.

    Parameters
    ----------
    codes, columns
        Those of the samples; of the matrix itself where the kernel is None.
    kernel : Kernel or None
        Told by its settings. Of a function they are not known: its name and a few rows of K stand for them.
    rows : callable
        Returns rows of K.
    rounded : str, optional
        The precision to which entries are rounded.
    """
    told = "matrix" if kernel is None else _settings(kernel)
    name = told or getattr(kernel, "__qualname__", type(kernel).__qualname__)
    return {
        "data": data_digest(codes, columns),
        "kernel": name if rounded is None else f"{name} in {rounded}",
        "probe": None if told else probe(rows, len(codes)),
    }


def data_digest(codes: np.ndarray, columns: int) -> str:
    """Return one code for all rows, in their order."""
    digest = hashlib.sha256(f"{len(codes)} × {columns}".encode())
    digest.update(np.ascontiguousarray(codes).data)
    return digest.hexdigest()


def probe(rows: Callable[[np.ndarray], Array], n: int) -> list[float]:
    """Return a few rows of K, each as one number: its product with a random vector."""
    index = np.unique(np.linspace(0, n - 1, min(n, 8)).astype(int))
    vector = np.random.default_rng(0).standard_normal(n)
    values: list[float] = (to_numpy(rows(index)).astype(np.float64) @ vector).tolist()
    return values


def _settings(kernel: Any) -> str | None:
    """Return name and settings of a kernel that has no others than numbers and such kernels."""
    if not is_dataclass(kernel):
        return None
    settings = []
    for field in fields(kernel):
        value = getattr(kernel, field.name)
        text = repr(float(value)) if isinstance(value, Real) else _settings(value)
        if text is None:
            return None
        settings.append(f"{field.name}={text}")
    return f"{type(kernel).__name__}({', '.join(settings)})"


def _sparse_codes(X: Any) -> np.ndarray:
    """Return Σ_k X_k w_k, where X_k holds the k-th words of the entries and w_k their weights."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    count = X.dtype.itemsize // 4
    weights, codes = _weights(X.shape[1] * count), np.zeros(X.shape[0], dtype=np.int64)
    for a, b in blocks(X.shape[0], max(1, _WORDS * X.shape[0] // (X.nnz + 1))):
        rows = X[a:b, :]
        for k, words in enumerate(_words(rows.data[:, None]).T):
            part = sp.csr_array((words.astype(np.int64), rows.indices, rows.indptr), shape=rows.shape)
            codes[a:b] += part @ weights[k::count]
    return codes


def _words(rows: Array) -> Array:
    """Return the same bits as whole numbers of 32 bits, or of the 16 that some numbers have."""
    rows = (
        rows.contiguous()
        if array_api_compat.is_torch_array(rows)
        else namespace(rows).ascontiguousarray(rows)
    )
    xp = namespace(rows)
    return rows.view(xp.int16 if rows.dtype.itemsize == 2 else xp.int32)


def _weights(count: int) -> np.ndarray:
    """Return the first numbers of SplitMix64 (Steele, Lea and Flood, 2014): the same for ever, everywhere."""
    z = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))).view(np.int64)
