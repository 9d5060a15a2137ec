"""The features that landmarks make of rows, some rows at a time: in memory, or in a file."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable

import numpy as np

from ..arrays import Array, blocks, device, namespace
from ..kernels.functions import Kernel
from ..mapped import MEMORY, Room, in_file
from ..parallel import for_each
from .precision import PRECISIONS, Precision
from .scaled import Scaled, units_of
from .tiled import kernel_diagonal

logger = logging.getLogger("marginpath")

_ROWS, _FEATURES = 4096, 2**26  # rows whose features are computed at a time; beside NumPy, so many features
_COLUMNS = 256  # features that are multiplied at a time, by no more kernel values than they need
_ALIGNED = 8  # a row of so many numbers, or a multiple, begins where the matrix units of a GPU can read it
_LOST = 2.0**-8  # of √k(x, x), what a row may lose by rounding
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

    They are in float32, or coarser where that is the precision. Beside NumPy, columns of zeros follow. Those
    that lie in a file tell the logger so, and how far they are.
    """
    m = root.shape[1]
    out = _zeros(X.shape[0], m + (constant > 0), root, numbers, room)
    values = _values(X, points, kernel, root, numbers)

    def fill(ends: tuple[int, int]) -> None:
        values(ends, out[slice(*ends), :])
        out[slice(*ends), m : m + (constant > 0)] = constant**0.5

    _fill_all(fill, out)
    return out


def rounded_features(
    X: Array, points: Array, kernel: Kernel, root: np.ndarray, room: Room = MEMORY
) -> Scaled | None:
    """Return the same in 16 bits: whole numbers, times a unit; None where that loses much of a row.

    No feature is larger than √k(x, x), and 16 bits hold the largest of these. Of rows whose k(x, x) is much
    less, as polynomials have them, little is left: more than a 256th of √k(x, x) must not be lost, and all
    numbers must be finite.
    """
    from .scaled_compiled import round_rows

    n, m, diagonal = X.shape[0], root.shape[1], kernel_diagonal(X, kernel)
    units, lost = units_of(np.full(m, np.sqrt(np.max(diagonal)))), []
    out, values = room.zeros((n, m), np.int16, "The file of features"), _values(X, points, kernel, root)

    def fill(ends: tuple[int, int]) -> None:
        part = np.empty((ends[1] - ends[0], m), dtype=np.float32)
        values(ends, part)
        lost.append(round_rows(part, diagonal[slice(*ends)], ends[0], units, 1 / units, out))

    _fill_all(fill, out)
    return Scaled(out, units) if max(lost) <= _LOST**2 else None


def _values(
    X: Array, points: Array, kernel: Kernel, root: Array, numbers: Precision = PRECISIONS[None]
) -> Callable[[tuple[int, int], Array], None]:
    """Return what writes the features of some rows.

    R⁻ᵀ is upper triangular, so that a feature takes no landmarks after its own: NumPy leaves them out.
    """
    xp, m = namespace(root), root.shape[1]
    right = xp.astype(root, xp.float32)
    pieces = list(blocks(m, _COLUMNS if isinstance(root, np.ndarray) else max(m, 1)))

    def write(ends: tuple[int, int], out: Array) -> None:
        values = xp.astype(kernel(X[slice(*ends), :], points), xp.float32, copy=False)
        with numbers.multiplying():
            for a, b in pieces:
                out[:, a:b] = values[:, :b] @ right[:b, a:b]

    return write


def _fill_all(fill: Callable[[tuple[int, int]], None], out: Array) -> None:
    """Fill all rows, in threads here; of a file, tell how far it is."""
    here, rows = isinstance(out, np.ndarray), row_blocks(out)
    if not (here and in_file(out)):
        for_each(fill, rows, parallel=here and len(rows) > 1)
        return
    logger.info(
        "The features of %s samples take %.3g GB, more than memory has room for: they lie in a file in %s.",
        f"{len(out):,}",
        out.nbytes / 1e9,
        tempfile.gettempdir(),
    )
    for a, b in blocks(len(rows), -(-len(rows) // _TOLD)):
        for_each(fill, rows[a:b], parallel=b - a > 1)
        logger.info("Features are made of %s of %s rows.", f"{rows[b - 1][1]:,}", f"{len(out):,}")


def _zeros(n: int, width: int, like: Array, numbers: Precision, room: Room) -> Array:
    """Return room for features; on a GPU, with columns up to a round number."""
    if isinstance(like, np.ndarray):
        return room.zeros((n, width), np.float32, "The file of features")
    xp, shape = namespace(like), (n, -(-width // _ALIGNED) * _ALIGNED)
    right = xp.astype(like[:1, :1], xp.float32)
    return xp.zeros(shape, dtype=numbers.storage(right), device=device(like))


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
