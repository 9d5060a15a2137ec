"""Pair steps on few samples at a time, the worst of a larger set: their arrays stay next to the core.

A pair step over thousands of samples looks at all of them three times. Here it looks at a block of them,
whose matrix is copied row by row as steps need it, and the others learn of many steps at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..coordinate.compiled import add_rows
from .extremes import LANES, highest, lowest
from .part import compiled, extremal

BLOCK = 64
_HALF, _QUARTER, _EIGHTH = BLOCK // 2, BLOCK // 4, BLOCK // 8
_CLOSED = 1e300  # what keeps a coordinate out of a minimum
_FLAT = 1e-12  # least curvature of a step, over the diagonal
_TINY = 1e-300
_SHARE = 0.3  # of the violation at which a block is left
_HALVINGS = 20  # to find a rank that nearly so many reach as a block takes
_PIECE = 2048  # entries that stay near the core meanwhile


class Block(NamedTuple):
    """Memory for a block: its samples, K among them and which rows are known, −e and e of who can move."""

    index: Any
    matrix: Any
    known: Any
    diagonal: Any
    low: Any
    high: Any
    z: Any
    up: Any
    down: Any
    gain: Any
    lane: Any


@compiled
def empty_block() -> Any:
    """Return memory for a block."""
    return Block(
        np.empty(BLOCK, np.uint32),
        np.zeros((BLOCK, BLOCK)),
        np.empty(BLOCK, np.bool_),
        np.empty(BLOCK),
        np.empty(BLOCK),
        np.empty(BLOCK),
        np.empty(BLOCK),
        np.empty(BLOCK),
        np.empty(BLOCK),
        np.empty(BLOCK),
        np.empty(_HALF),
    )


@compiled
def pairs_in_blocks(
    matrix: Any,
    unit: float,
    diagonal: Any,
    low: Any,
    high: Any,
    z: Any,
    e: Any,
    order: Any,
    eps: float,
    limit: int,
    stop: Any,
) -> int:
    """Take pair steps until no violation is over eps, or the limit is reached; count them.

    The order is that of all samples that can move. No bit depends on their places in the other arrays.
    """
    m, taken = z.size, 0
    no_rise, no_fall, ranks = np.empty_like(e), np.empty_like(e), np.empty_like(e)
    lane, closed = np.empty(LANES, e.dtype), e.dtype.type(_CLOSED)  # infinite, in 32 bits
    block, moved, steps = empty_block(), np.empty(BLOCK, np.int64), np.empty(BLOCK)
    for c in range(m):
        no_rise[c] = 0.0 if z[c] < high[c] else closed
        no_fall[c] = 0.0 if z[c] > low[c] else closed
    while taken < limit and not stop[0]:
        i = lowest(e, no_rise, lane)
        if i < 0:
            return taken
        rise, fall = e[i] + no_rise[i], highest(e, no_fall, lane)
        violation = fall - rise
        if not eps < violation < np.inf:
            return taken
        middle = (rise + fall) / 2
        _rank(e, no_rise, no_fall, e.dtype.type(middle), ranks)
        size = _worst(ranks, e, order, middle, violation / 2, block.index)
        _fill(block, size, diagonal, low, high, z, e)
        done = _pairs(block, size, matrix, unit, max(0.9 * eps, _SHARE * violation))
        if done == 0:
            return taken
        count, taken = 0, taken + done
        for a in range(size):
            c = block.index[a]
            if block.z[a] != z[c]:
                moved[count], steps[count], z[c] = c, unit * (block.z[a] - z[c]), block.z[a]
                no_rise[c] = 0.0 if z[c] < high[c] else closed
                no_fall[c] = 0.0 if z[c] > low[c] else closed
                count += 1
        for a in range(0, m, _PIECE):
            add_rows(matrix, moved[:count], steps, e[a : a + _PIECE], a)
    return taken


@extremal
def _rank(e: Any, no_rise: Any, no_fall: Any, middle: float, ranks: Any) -> None:
    """Write how far each sample violates: how far it is from the middle, on the side to which it can move."""
    for c in range(e.size):
        ranks[c] = max(e[c] - middle - no_fall[c], middle - e[c] - no_rise[c])


@compiled
def _worst(ranks: Any, e: Any, order: Any, middle: float, largest: float, index: Any) -> int:
    """List the samples of the largest ranks in order, as many as a block takes or nearly so; return how many.

    Two at least have the largest rank, one that rises and one that falls. Where more have it than a block
    takes, half of them rise and half fall.
    """
    low, high, most = 0.0, largest, 0
    for _ in range(_HALVINGS):
        threshold, count = (low + high) / 2, 0
        for c in range(ranks.size):
            count += ranks[c] > threshold
        if count > BLOCK:
            low = threshold
        else:
            high, most = threshold, count
            if 4 * count > 3 * BLOCK:
                break
    threshold, room = (high, BLOCK) if most > 1 else (low, BLOCK // 2)
    rises, falls = 0, 0
    for c in order:
        if ranks[c] > threshold:
            if e[c] < middle:
                if rises < room:
                    index[rises + falls] = c
                    rises += 1
            elif falls < room:
                index[rises + falls] = c
                falls += 1
    return rises + falls


@compiled
def _fill(block: Any, size: int, diagonal: Any, low: Any, high: Any, z: Any, e: Any) -> None:
    """Bring the samples of a block together; what is beyond them can neither rise nor fall."""
    for a in range(BLOCK):
        block.known[a] = False
        block.diagonal[a], block.up[a], block.down[a] = 1.0, -_CLOSED, -_CLOSED
    for a in range(size):
        c = block.index[a]
        block.diagonal[a], block.low[a], block.high[a], block.z[a] = diagonal[c], low[c], high[c], z[c]
        if z[c] < high[c]:
            block.up[a] = -e[c]
        if z[c] > low[c]:
            block.down[a] = e[c]


@extremal
def _pairs(block: Any, size: int, matrix: Any, unit: float, eps: float) -> int:
    """Take pair steps within a block until no violation is over eps, ten times its size at most; count them.

    As ``steps._pairs``, with −e of those that can rise in one array, e of those that can fall in another.
    Small loops stand here, not in functions of their own: to count references to a row takes longer than it.
    """
    index, inside, known, diagonal, low, high, z, up, down, gain, lane = block
    for taken in range(10 * BLOCK):
        bottom = -_most(up, lane)
        if not _most(down, lane) - bottom > eps:
            return taken
        i = 0
        while i < BLOCK - 1 and up[i] != -bottom:
            i += 1
        if not known[i]:
            known[i] = True
            for b in range(size):
                inside[i, b] = unit * matrix[index[i], index[b]]
        for b in range(BLOCK):
            apart, both = max(down[b] - bottom, 0.0), diagonal[i] + diagonal[b]
            gain[b] = apart * apart / max(both - 2 * inside[i, b], max(_FLAT * both, _TINY))
        best, j = _most(gain, lane), 0
        if not 0 < best < np.inf:
            return taken
        while j < BLOCK - 1 and gain[j] != best:
            j += 1
        if not known[j]:
            known[j] = True
            for b in range(size):
                inside[j, b] = unit * matrix[index[j], index[b]]
        both = diagonal[i] + diagonal[j]
        curvature = max(both - 2 * inside[i, j], max(_FLAT * both, _TINY))
        room_i, room_j = high[i] - z[i], z[j] - low[j]
        step = min((down[j] - bottom) / curvature, min(room_i, room_j))
        z[i] = high[i] if step == room_i else z[i] + step
        z[j] = low[j] if step == room_j else z[j] - step
        e_j = down[j]
        up[i], down[i] = (-bottom if z[i] < high[i] else -_CLOSED), (bottom if z[i] > low[i] else -_CLOSED)
        up[j], down[j] = (-e_j if z[j] < high[j] else -_CLOSED), (e_j if z[j] > low[j] else -_CLOSED)
        for b in range(BLOCK):
            change = step * (inside[i, b] - inside[j, b])
            up[b] -= change
            down[b] += change
    return 10 * BLOCK


@extremal
def _most(values: Any, lane: Any) -> Any:
    """Return the largest of the values of a block."""
    for a in range(_HALF):
        lane[a] = max(values[a], values[a + _HALF])
    for a in range(_QUARTER):
        lane[a] = max(lane[a], lane[a + _QUARTER])
    for a in range(_EIGHTH):
        lane[a] = max(lane[a], lane[a + _EIGHTH])
    most = lane[0]
    for a in range(1, _EIGHTH):
        most = max(most, lane[a])
    return most
