"""Cholesky factors in place, by LAPACK, while other threads run: SciPy's own interface stops them."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np


@cache
def _potrf() -> Any:
    """Return LAPACK's dpotrf: ctypes lets go of the interpreter meanwhile."""
    from numba.extending import get_cython_function_address

    number = ctypes.POINTER(ctypes.c_int)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_char_p, number, ctypes.c_void_p, number, number)
    return kind(get_cython_function_address("scipy.linalg.cython_lapack", "dpotrf"))


def factor(M: np.ndarray) -> bool:
    """Put L of the symmetric M = L Lᵀ into the upper half of M, as Lᵀ; whether M is positive definite.

    Examples
    --------
    >>> M = np.array([[4.0, 2.0], [2.0, 10.0]])
    >>> factor(M), np.triu(M).tolist()
    (True, [[2.0, 1.0], [0.0, 3.0]])
    >>> factor(-np.eye(2))
    False
    """
    assert M.dtype == np.float64
    assert M.flags.c_contiguous
    n, info = ctypes.c_int(len(M)), ctypes.c_int(0)
    _potrf()(b"L", n, M.ctypes.data, n, info)  # its lower half in LAPACK's order of columns
    return info.value == 0
