"""Products whose bits depend neither on the number of threads nor on who else computes.

BLAS cuts a product into as many pieces as it has threads, and rounds differently at each seam. Here BLAS
keeps to one thread, and products are cut into blocks of a fixed size that threads of our own share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import blocks
from ..parallel import available, for_all, one_blas_thread
from .scaled import Scaled

_BLOCK = 2**18  # entries of a matrix that one thread multiplies at a time
_SUMS = 16  # parts of a product with a transposed matrix, at most
_ABOUT = 2**22  # numbers about a centre at a time


def product(A: np.ndarray | Scaled, V: np.ndarray) -> np.ndarray:
    """Return A V, in blocks of rows that the threads share.

    Examples
    --------
    >>> product(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 1.0]))
    array([3., 7.])
    """
    out = np.empty((len(A), *V.shape[1:]), dtype=np.result_type(A.dtype, V.dtype))

    def multiply(ends: tuple[int, int]) -> None:
        np.matmul(A[slice(*ends)], V, out=out[slice(*ends)])

    _share(multiply, list(blocks(len(A), max(1, _BLOCK // A.shape[1]))))
    return out


def transposed_product(A: np.ndarray | Scaled, V: np.ndarray) -> np.ndarray:
    """Return Aᵀ V: the products of blocks of rows, added up in their order.

    Examples
    --------
    >>> transposed_product(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 1.0]))
    array([4., 6.])
    """
    rows = list(blocks(len(A), max(1, _BLOCK // A.shape[1], len(A) // _SUMS)))
    parts: list[Any] = [None] * len(rows)

    def multiply(number: int) -> None:
        a, b = rows[number]
        at_once = A.dtype == V.dtype and isinstance(A, np.ndarray)  # else the product makes a copy of rows
        some = b - a if at_once else max(1, _BLOCK // A.shape[1])
        cuts = [slice(a + c, a + d) for c, d in blocks(b - a, some)]
        parts[number] = _added([V[own].T @ A[own] for own in cuts])  # a quarter faster than Aᵀ V

    _share(multiply, range(len(rows)))
    return np.ascontiguousarray(_added(parts).T)


def transposed_product_about(A: np.ndarray, centre: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return (A − 1cᵀ)ᵀ V, with few rows about the centre c at a time.

    Examples
    --------
    >>> A, V = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 2.0])
    >>> transposed_product_about(A, np.array([1.0, 1.0]), V)
    array([4., 7.])
    """
    rows = blocks(len(A), max(1, _ABOUT // A.shape[1]))
    return np.asarray(_added([transposed_product(A[a:b] - centre, V[a:b]) for a, b in rows]))


def _added(parts: list[Any]) -> Any:
    return sum(parts[1:], start=parts[0])


def _share(task: Callable[[Any], None], items: Sequence[Any]) -> None:
    """Run the tasks with a single-threaded BLAS, in threads of our own where there is more than one."""
    with one_blas_thread(), np.errstate(invalid="ignore"):  # OpenBLAS raises it for lanes it does not use
        for_all(task, items, available() if len(items) > 1 else 1)
