"""The compiled part of products of bytes. Imported only when there are bytes: numba is slow to load.

The tile below is written out for LLVM, because no loop of Python's becomes the instruction that it stands on:
vpdpbusd adds, in each of 16 lanes, four products of unsigned with signed bytes to a whole number.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from .whole_numbers import ROWS, WIDTH

_NUMBER = ir.IntType(32)
_LANES = ir.VectorType(_NUMBER, WIDTH)

_jit = numba.njit(nogil=True, cache=True, boundscheck=False)


@cache
def available() -> bool:
    """Whether the processor, as numba compiles for it, multiplies bytes."""
    return "+avx512vnni" in cpu_target.target_context.codegen().magic_tuple()[2]


@intrinsic
def _tile(typing: Any, rows: Any, panel: Any, out: Any) -> Any:
    """Write ⟨rows[r], panel[:, c]⟩ for ROWS signed rows and the WIDTH unsigned rows of a panel."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows, panel, out = (
            context.make_array(of)(context, builder, value)
            for of, value in zip(signature.args, args, strict=True)
        )
        (stride, _), (groups, *_) = (cgutils.unpack_tuple(builder, x) for x in (rows.strides, panel.shape))
        whole = stride.type
        multiply = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_LANES, [_LANES] * 3), "llvm.x86.avx512.vpdpbusd.512"
        )

        def pointer(base: Any, offset: Any, to: Any) -> Any:
            return builder.bitcast(builder.gep(base, [offset]), to.as_pointer())

        starts = [pointer(rows.data, builder.mul(stride, whole(r)), _NUMBER) for r in range(ROWS)]
        columns, results = (pointer(x.data, whole(0), _LANES) for x in (panel, out))
        sums = [cgutils.alloca_once_value(builder, ir.Constant(_LANES, None)) for _ in range(ROWS)]
        none = ir.Constant(_LANES, ir.Undefined)
        with cgutils.for_range(builder, groups) as loop:
            column = builder.load(builder.gep(columns, [loop.index]), align=1)
            for start, total in zip(starts, sums, strict=True):
                four = builder.load(builder.gep(start, [loop.index]), align=1)
                first = builder.insert_element(none, four, _NUMBER(0))
                spread = builder.shuffle_vector(first, none, ir.Constant(_LANES, [0] * WIDTH))
                builder.store(builder.call(multiply, [builder.load(total), column, spread]), total)
        for r, total in enumerate(sums):
            builder.store(builder.load(total), builder.gep(results, [whole(r)]), align=1)
        return context.get_dummy_value()

    return types.void(rows, panel, out), build


@_jit
def write_distances(
    rows: Any, row_squares: Any, panels: Any, squares: Any, first: int, factor: Any, out: Any
) -> None:
    """Write factor · (‖k_i‖² + ‖k_j‖² − 2⟨k_i, k_j⟩) for all rows i and those of the panels from first on."""
    m, n = out.shape
    tile = np.empty((ROWS, WIDTH), np.int32)
    for p in range(first // WIDTH, (first + n - 1) // WIDTH + 1):
        start = p * WIDTH - first
        c, e = max(0, start), min(n, start + WIDTH)
        offsets = squares[first + c : first + e]
        for a in range(0, m, ROWS):
            _tile(rows[a : a + ROWS], panels[p], tile)
            for i in range(a, min(a + ROWS, m)):
                target, products = out[i, c:e], tile[i - a, c - start : e - start]
                for j in range(e - c):
                    target[j] = factor * (row_squares[i] + offsets[j] - 2 * products[j])


@_jit
def encode(
    X: Any,
    low: Any,
    unit: float,
    off: float,
    first: int,
    last: int,
    rows: Any,
    panels: Any,
    squares: Any,
    shifted: Any,
    fits: Any,
) -> None:
    """Write both sides of the rows first … last − 1, and whether these are whole numbers of units."""
    for i in range(first, last):
        row, p, c = X[i], i // WIDTH, i % WIDTH
        total, square, worst = 0, 0, 0.0
        for j in range(row.size):
            code = (np.float64(row[j]) - np.float64(low[j])) / unit
            k = int(np.rint(code))
            worst = max(worst, abs(code - k))
            rows[i, j] = k - 128
            panels[p, j // 4, c, j % 4] = k
            total += k
            square += k * k
        squares[i], shifted[i] = square, square - 256 * total
        fits[i] = worst <= off
