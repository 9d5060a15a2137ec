"""The features that landmarks make of rows, some rows at a time: in memory, or in a file."""

from __future__ import annotations

import logging
import tempfile

import numpy as np

from ..arrays import Array, blocks, device, namespace
from ..kernels.functions import Kernel
from ..mapped import MEMORY, Room, in_file
from ..parallel import for_each
from .precision import PRECISIONS, Precision

logger = logging.getLogger("marginpath")

_ROWS, _FEATURES = 4096, 2**26  # rows whose features are computed at a time; beside NumPy, so many features
_COLUMNS = 256  # features that are multiplied at a time, by no more kernel values than they need
_ALIGNED = 8  # a row of so many numbers, or a multiple, begins where the matrix units of a GPU can read it
_TOLD = 10  # times that features in a file tell how far they are


def landmark_features(
    X: Array,
    points: Array,
    kernel: Kernel,
    root: Array,
    constant: float = 0.0,
    numbers: Precision = PRECISIONS[None],
    room: Room = MEMORY,
) -> Array:
    """Return k(X, L) R⁻ᵀ, some rows at a time, and √constant as one more column unless it is 0.

    R⁻ᵀ is upper triangular, so that a feature takes no landmarks after its own: NumPy leaves them out.
    They are in float32, or coarser where that is the precision. Beside NumPy, columns of zeros follow. Those
    that lie in a file tell the logger so, and how far they are.
    """
    xp, m = namespace(root), root.shape[1]
    right, width = xp.astype(root, xp.float32), m + (constant > 0)
    out = _zeros(X.shape[0], width, right, numbers, room)

    def fill(ends: tuple[int, int]) -> None:
        values = xp.astype(kernel(X[slice(*ends), :], points), xp.float32, copy=False)
        with numbers.multiplying():
            for a, b in pieces:
                out[slice(*ends), a:b] = values[:, :b] @ right[:b, a:b]
        out[slice(*ends), m:width] = constant**0.5

    here, rows = isinstance(out, np.ndarray), row_blocks(out)
    pieces = list(blocks(m, _COLUMNS if here else max(m, 1)))
    if not (here and in_file(out)):
        for_each(fill, rows, parallel=here and X.shape[0] > _ROWS)
        return out
    logger.info(
        "The features of %s samples take %.3g GB, more than memory has room for: they lie in a file in %s.",
        f"{len(out):,}",
        out.nbytes / 1e9,
        tempfile.gettempdir(),
    )
    for a, b in blocks(len(rows), -(-len(rows) // _TOLD)):
        for_each(fill, rows[a:b], parallel=b - a > 1)
        logger.info("Features are made of %s of %s rows.", f"{rows[b - 1][1]:,}", f"{len(out):,}")
    return out


def _zeros(n: int, width: int, like: Array, numbers: Precision, room: Room) -> Array:
    """Return room for features; on a GPU, with columns up to a round number."""
    if isinstance(like, np.ndarray):
        return room.zeros((n, width), numbers.storage(like), "The file of features")
    shape = n, -(-width // _ALIGNED) * _ALIGNED
    return namespace(like).zeros(shape, dtype=numbers.storage(like), device=device(like))


def row_blocks(features: Array) -> list[tuple[int, int]]:
    """Cut the rows into blocks: on a GPU, large ones keep it busy."""
    n, m = features.shape
    return list(blocks(n, _ROWS if isinstance(features, np.ndarray) else max(_ROWS, _FEATURES // max(m, 1))))


def mean_of(features: Array) -> Array:
    """Return the mean of the rows, in float32."""
    xp, n = namespace(features), features.shape[0]
    total = sum(xp.sum(xp.astype(features[a:b, :], xp.float64), axis=0) for a, b in row_blocks(features))
    return xp.astype(total / n, xp.float32)


def squares_of(features: Array) -> Array:
    """Return the sum of all squares, where they are: nothing waits for it."""
    xp = namespace(features)
    features = xp.astype(features, xp.float32, copy=False)
    return xp.sum(features * features, dtype=xp.float64)
