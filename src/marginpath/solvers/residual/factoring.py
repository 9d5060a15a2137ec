"""Cholesky factors in place, by LAPACK, while other threads run: SciPy's own interface stops them."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

_KINDS = {np.dtype(np.float64): "dpotrf", np.dtype(np.float32): "spotrf"}


@cache
def _potrf(name: str) -> Any:
    """Return LAPACK's function: ctypes lets go of the interpreter meanwhile."""
    from numba.extending import get_cython_function_address

    number = ctypes.POINTER(ctypes.c_int)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_char_p, number, ctypes.c_void_p, number, number)
    return kind(get_cython_function_address("scipy.linalg.cython_lapack", name))


def factor(M: np.ndarray) -> bool:
    """Put L of the symmetric M = L Lᵀ into the upper half of M, as Lᵀ; whether M is positive definite.

    Examples
    --------
    >>> M = np.array([[4.0, 2.0], [2.0, 10.0]])
    >>> factor(M), np.triu(M).tolist()
    (True, [[2.0, 1.0], [0.0, 3.0]])
    >>> factor(-np.eye(2, dtype=np.float32))
    False
    """
    assert M.flags.c_contiguous
    n, info = ctypes.c_int(len(M)), ctypes.c_int(0)
    # Its lower half in LAPACK's order of columns.
    _potrf(_KINDS[M.dtype])(b"L", n, M.ctypes.data, n, info)
    return info.value == 0
