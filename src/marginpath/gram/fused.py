"""Gaussian kernel tiles times columns in one pass on a GPU: no tile ever reaches its memory.

A program owns some rows and goes along the samples in tiles: products of centred samples on the matrix units,
2^(…) of them in registers, and these times the columns, again on the matrix units. For that, the columns, and
for TF32 the kernel values too, are cut into two bfloat16 parts. So TF32 is the exact kernel of samples that
have moved by their rounding; with bfloat16, its values are rounded as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import import_module

import array_api_compat

from ..arrays import Array

try:
    import triton  # type: ignore[import-not-found, import-untyped, unused-ignore]
    import triton.language as tl  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from triton.tools.tensor_descriptor import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
        TensorDescriptor,
    )
except ImportError:
    triton = None

_ROUNDING = {"tf32": 2.0**-11, "bfloat16": 2.0**-8}  # of a number, relative to it
_STEP = 1 / 16  # of σ, by which rounding may move a sample: a kernel value then moves by 0.08 at most
_MULTIPLE = 16  # of features: rows begin at multiples of 32 bytes
_COLUMNS = (16, 32, 64)  # how many go through the kernel at a time, at most 64


@dataclass(frozen=True)
class Samples:
    """Centred samples as the matrix units take them, and log₂e/(2σ²) times their squared norms."""

    values: Array
    norms: Array


def available(X: Array, precision: str | None) -> bool:
    """Whether the fused product works for these samples: torch on a Hopper GPU or later, with Triton."""
    if triton is None or precision not in ("tf32", "bfloat16") or not array_api_compat.is_torch_array(X):
        return False
    torch = import_module("torch")
    return bool(X.device.type == "cuda" and torch.cuda.get_device_capability(X.device) >= (9, 0))


def rounds_finely(farthest: float, sigma: float, precision: str) -> bool:
    """Whether samples at most so far from the centre can be rounded without harm to a kernel of that width.

    Examples
    --------
    >>> rounds_finely(10.0, 1.0, "tf32"), rounds_finely(1000.0, 1.0, "tf32")
    (True, False)
    """
    return _ROUNDING[precision] * farthest <= _STEP * sigma


def prepare(X: Array, centre: Array, sigma: float, precision: str) -> Samples:
    """Centre the samples and round them to the precision; their norms are those of the rounded samples."""
    torch = import_module("torch")
    values = torch.zeros((X.shape[0], -(-X.shape[1] // _MULTIPLE) * _MULTIPLE), device=X.device)
    torch.sub(X, centre, out=values[:, : X.shape[1]])
    values = values.bfloat16() if precision == "bfloat16" else _round_tf32(values)
    squares = torch.linalg.vector_norm(values, dim=1, dtype=torch.float32) ** 2
    return Samples(values, squares * _scale(sigma))


def product(left: Samples, right: Samples, V: Array, sigma: float) -> Array:
    """Return k(left, right) V for a float32 block of columns."""
    torch = import_module("torch")
    parts = [
        _group(left, right, V[:, a : a + _COLUMNS[-1]], sigma) for a in range(0, V.shape[1], _COLUMNS[-1])
    ]
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


def _group(left: Samples, right: Samples, V: Array, sigma: float) -> Array:
    """Return the product with at most 64 columns."""
    torch = import_module("torch")
    (m, d), n, k = left.values.shape, V.shape[0], V.shape[1]
    width = next(c for c in _COLUMNS if c >= k)
    columns = torch.zeros((n, 2 * width), dtype=torch.bfloat16, device=V.device)
    columns[:, :k] = V
    columns[:, width : width + k] = V - columns[:, :k].float()
    out = torch.empty((m, 2 * width), device=V.device)
    tile = _tile(left.values.dtype == torch.bfloat16, width, d)
    height, breadth, depth = tile["BM"], tile["BN"], tile["BK"]
    _kernel[(triton.cdiv(m, height),)](
        TensorDescriptor.from_tensor(left.values, [height, depth]),
        TensorDescriptor.from_tensor(right.values, [breadth, depth]),
        left.norms,
        right.norms,
        TensorDescriptor.from_tensor(columns, [breadth, 2 * width]),
        out,
        m,
        n,
        2 * _scale(sigma),
        D=d,
        COLUMNS=2 * width,
        SPLIT=left.values.dtype == torch.float32,
        **tile,
    )
    return out[:, :k] + out[:, width : width + k]


def _tile(half: bool, width: int, d: int) -> dict[str, int]:
    """Return rows, samples and features at a time, the fastest of those tried on an H200."""
    depth = 64 if half else 32
    if d <= 2 * depth:  # the columns are then loaded ahead too, and need room
        breadth, stages = 128, 2
    elif width < _COLUMNS[-1]:
        breadth, stages = 256, 4
    else:
        breadth, stages = (256, 3) if half else (128, 4)
    return {"BM": 128, "BN": breadth, "BK": depth, "num_warps": 8, "num_stages": stages}


def _scale(sigma: float) -> float:
    return math.log2(math.e) / (2 * float(sigma) ** 2)


def _round_tf32(values: Array) -> Array:
    """Round float32 numbers to the nearest with 11 significant bits; they stay float32."""
    torch = import_module("torch")
    bits = values.view(torch.int32)
    return ((bits + 0x1000) & ~0x1FFF).view(torch.float32)


if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator, unused-ignore]
    def _kernel(  # type: ignore[no-untyped-def]
        left,
        right,
        left_norms,
        right_norms,
        columns,
        out,
        m,
        n,
        scale,
        D: tl.constexpr,
        COLUMNS: tl.constexpr,
        SPLIT: tl.constexpr,
        BM: tl.constexpr,
        BN: tl.constexpr,
        BK: tl.constexpr,
    ):
        """Multiply BM rows of the kernel matrix by the columns."""
        start = tl.program_id(0) * BM
        rows = start + tl.arange(0, BM)
        row_norms = tl.load(left_norms + rows, mask=rows < m, other=0.0)
        total = tl.zeros((BM, COLUMNS), tl.float32)
        inner = tl.zeros((BM, BN), tl.float32)
        steps: tl.constexpr = (D + BK - 1) // BK
        for t in tl.range(0, (n + BN - 1) // BN * steps):  # one loop, so that loads run ahead across tiles
            tile = t // steps * BN
            a = left.load([start, t % steps * BK])
            b = right.load([tile, t % steps * BK])
            inner = tl.dot(a, b.T, inner, input_precision="tf32")
            if t % steps == steps - 1:
                samples = tile + tl.arange(0, BN)
                norms = tl.load(right_norms + samples, mask=samples < n, other=0.0)
                values = tl.exp2(tl.minimum(inner * scale - row_norms[:, None] - norms[None, :], 0.0))
                part = columns.load([tile, 0])
                rounded = values.to(tl.bfloat16)
                total = tl.dot(rounded, part, total)
                if SPLIT:
                    total = tl.dot((values - rounded.to(tl.float32)).to(tl.bfloat16), part, total)
                inner = tl.zeros((BM, BN), tl.float32)
        places = rows[:, None].to(tl.int64) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
        tl.store(out + places, total, mask=rows[:, None] < m)
