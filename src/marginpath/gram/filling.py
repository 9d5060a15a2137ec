"""Stored kernel matrices: filling them, and refusing those that are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import Array, all_finite, blocks, device, is_numpy, namespace, to_numpy
from ..kernels.functions import Kernel, Laplacian, ProductKernel
from ..parallel import for_each
from .fingerprints import data_digest, row_codes
from .gpu import free_bytes, on_gpu
from .memory import available_memory
from .spectrum import lanczos, seed_of

_ROWS, _COLUMNS = 384, 512
_TILE_BYTES = 9 * 2**17  # what the passes over a tile find again in the cache of a core

_GPU_ROWS, _GPU_TILE_BYTES = 2048, 2**30  # a GPU wants few large tiles
_GPU_WIDTH = 64  # rows of a matrix on a GPU begin at multiples of so many numbers


def fill_symmetric(kernel: ProductKernel | Laplacian, X: Array, dtype: Any = None) -> Array:
    """Compute k(x_i, x_j), each pair once, in tiles written in place and shared between the cores.

    ``dtype`` is that of the matrix, where it is not that of the samples.
    """
    xp, n = namespace(X), X.shape[0]
    K = _square(X, X.dtype if dtype is None else dtype)
    height, room = (_GPU_ROWS, _GPU_TILE_BYTES) if on_gpu(X) else (_ROWS, _TILE_BYTES)
    columns = room // (height * int(xp.finfo(X.dtype).bits) // 8)
    write = _tile_writer(kernel, without_zeros(X))
    diagonal = xp.astype(kernel.diagonal(X), K.dtype)  # exact, where a product is rounded

    def fill_rows(rows: tuple[int, int]) -> None:
        a, b = rows
        write(K[a:b, a:b], a, b, a, b)
        _mirror(K, a, b, diagonal)
        aside = np.empty((b - a, columns), dtype=K.dtype) if is_numpy(K) else None
        for c, e in blocks(n - b, columns):
            c, e = c + b, e + b
            tile = K[a:b, c:e] if aside is None else aside[:, : e - c]
            write(tile, a, b, c, e)
            if aside is not None:  # rows of K are pages apart: slow to transpose
                K[a:b, c:e] = tile
            K[c:e, a:b] = tile.T

    for_each(fill_rows, blocks(n, height), parallel=is_numpy(K))
    return K


def _mirror(K: Array, a: int, b: int, diagonal: Array) -> None:
    """Make the square K[a:b, a:b] that of its upper part, and of the diagonal."""
    xp, corner = namespace(K), K[a:b, a:b]
    if is_numpy(K):
        for i in range(b - a):
            corner[i + 1 :, i] = corner[i, i + 1 :]
        np.fill_diagonal(corner, diagonal[a:b])
        return
    mirrored = xp.triu(corner) + xp.triu(corner, k=1).T
    on_diagonal = xp.eye(b - a, dtype=xp.bool, device=device(K))
    K[a:b, a:b] = xp.where(on_diagonal, diagonal[a:b, None], mirrored)


def _square(X: Array, dtype: Any) -> Array:
    """Return an empty n × n matrix where the samples are; matrix products on a GPU want aligned rows."""
    xp, n = namespace(X), X.shape[0]
    width = -(-n // _GPU_WIDTH) * _GPU_WIDTH if on_gpu(X) else n
    K = xp.empty((n, width), dtype=dtype, device=device(X))
    return K if width == n else K[:, :n]


def fill_from_callable(kernel: Callable[[Array, Array], Any], X: Array) -> Array:
    """Compute the kernel matrix of any callable, in row blocks, and check the shape of what came back."""
    xp, n = namespace(X), X.shape[0]
    K = xp.empty((n, n), dtype=X.dtype, device=device(X))
    for a, b in blocks(n, _COLUMNS):
        rows = X[a:b, :]
        block = xp.asarray(kernel(rows, X))
        if tuple(block.shape) != (rows.shape[0], n):
            raise ValueError(
                f"The kernel returned shape {tuple(block.shape)} for {rows.shape[0]} and {n} rows. "
                f"It must take (X, Z) and return the block of shape ({rows.shape[0]}, {n})."
            )
        K[a:b, :] = xp.astype(block, X.dtype)
    if not all_finite(K):
        raise ValueError("The kernel returned NaN or infinite values. Check it on a few rows.")
    return K


def check_positive_semidefinite(K: Array) -> float:
    """Refuse a matrix that is not square, not symmetric, or provably has a negative eigenvalue.

    Return the excess of its entries over the geometric mean of their two diagonal entries: that of rounding.
    """
    xp, n = namespace(K), K.shape[0]
    if K.shape[1] != n:
        raise ValueError(f"A kernel matrix is square, but K has shape {tuple(K.shape)}.")
    eps = float(xp.finfo(K.dtype).eps)
    diagonal = xp.linalg.diagonal(K)
    scale = float(xp.max(diagonal))
    if float(xp.min(diagonal)) < 0:
        raise ValueError(_not_kernel(f"its diagonal has the negative entry {float(xp.min(diagonal)):.3g}"))
    root, largest = xp.sqrt(diagonal), 0.0
    for a, b in blocks(n, _COLUMNS):
        rows = K[a:b, :]
        skew = float(xp.max(xp.abs(rows - K[:, a:b].T)))
        if skew > 1e3 * eps * scale:
            raise ValueError(
                f"K is not symmetric: entries differ from their mirror image by up to {skew:.3g}. "
                f"Pass (K + K.T) / 2 if that is rounding."
            )
        excess = float(xp.max(xp.abs(rows) - root[a:b, None] * root[None, :]))
        largest = max(largest, excess)
        if excess > 1e3 * eps * scale:
            raise ValueError(_not_kernel("an entry exceeds the geometric mean of its two diagonal entries"))
    lowest, highest = _extreme_eigenvalues(K, eps)
    if lowest < -np.sqrt(eps) * highest:
        raise ValueError(_not_kernel(f"it has an eigenvalue of {lowest:.3g} or less"))
    return largest + 4 * eps * scale


def require_memory(n: int, dtype: Any, X: Array | None = None, matrices: int = 1) -> None:
    """Raise where stored n × n matrices would not fit into the memory that is free, where X is."""
    gpu = on_gpu(X)
    size, free = matrix_bytes(n, dtype), free_bytes(X) if gpu else available_memory()
    if matrices * size > free:
        number = "" if matrices == 1 else f", and there are to be {matrices} such matrices"
        raise MemoryError(
            f"The kernel matrix of {n:,} samples takes {size / 2**30:,.1f} GiB{number}, but only "
            f"{free / 2**30:,.1f} GiB of {'GPU ' if gpu else ''}memory are free. Use float32 input (half the "
            f"size), {'DeviceTiledGram' if gpu else 'TiledGram'}(X, kernel), which is never stored, or "
            f"Gram.linear(X) for a linear kernel."
        )


def matrix_bytes(n: int, dtype: Any) -> int:
    """Return the size of a stored n × n matrix.

    Examples
    --------
    >>> matrix_bytes(1000, "float32")
    4000000
    """
    return n * n * next((w for name, w in (("bfloat16", 2), ("float32", 4)) if name in str(dtype)), 8)


def _tile_writer(kernel: Kernel, X: Array) -> Callable[[Array, int, int, int, int], None]:
    if isinstance(kernel, ProductKernel):
        left, right = kernel.factors(X, X)

        def write(out: Array, a: int, b: int, c: int, e: int) -> None:
            kernel.block(left[a:b, :], right[c:e, :], out=out)
    else:

        def write(out: Array, a: int, b: int, c: int, e: int) -> None:
            out[...] = kernel(X[a:b, :], X[c:e, :])

    return write


def without_zeros(X: Array) -> Array:
    """Drop the features that are 0 in every sample, such as pixels at the edge: no kernel here sees them."""
    if not isinstance(X, np.ndarray) or (used := X.any(axis=0)).all() or not used.any():
        return X
    return np.compress(used, X, axis=1)


def _extreme_eigenvalues(K: Array, eps: float) -> tuple[float, float]:
    """Return an upper bound on the smallest eigenvalue and one on the largest; exact where small."""
    xp, n = namespace(K), K.shape[0]
    if n <= _ROWS:
        values = np.linalg.eigvalsh(to_numpy(K).astype(np.float64))
        return float(values[0]), float(values[-1])

    def product(v: np.ndarray) -> np.ndarray:
        return to_numpy(K @ xp.asarray(v, dtype=K.dtype, device=device(K)))

    seed = seed_of(data_digest(row_codes(K), n))
    spectrum = lanczos(product, n, eps=eps, seed=seed)
    return spectrum.smallest, spectrum.upper


def _not_kernel(reason: str) -> str:
    return (
        f"K is not positive semi-definite: {reason}. A kernel matrix must be; check the kernel, or add "
        f"a multiple of the identity to K."
    )
