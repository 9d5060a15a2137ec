"""What compiled loops over columns of few samples read and write, and the memory that they work in."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .part import compiled


class Few(NamedTuple):
    """What does not change from step to step: K, K_ii, the questions, and whose scores are watched.

    The questions are those of ``PackedQuestions``. In column j the scores of the samples
    ``watched[begins[k]:begins[k + 1]]`` are brought up to date, k being j modulo the number of such lists:
    they are those numbers of row j // lists of ``outside``.
    """

    rows: Any
    diagonal: Any
    ends: Any
    samples: Any
    signed: Any
    together: Any
    watched: Any
    begins: Any


class FewDuals(NamedTuple):
    """Columns of few samples before and after a step, as in ``PackedColumns``; bounds and offsets.

    ``start`` and ``u`` are the dual variable, ``fields`` and ``outside`` K(Y∘u) of own and watched samples.
    """

    start: Any
    u: Any
    fields: Any
    outside: Any
    before: Any
    bound: Any
    offset: Any


class Desk(NamedTuple):
    """Memory for a question: K among its samples and which rows are known, and of a column what steps need.

    ``up`` is −e of the samples that can rise and ``down`` e of those that can fall; ``z0`` and ``f0``
    are where z and f began, and steps are listed as ``moved`` and ``steps``.
    """

    inside: Any
    known: Any
    squares: Any
    y: Any
    low: Any
    high: Any
    z: Any
    f: Any
    z0: Any
    f0: Any
    up: Any
    down: Any
    gain: Any
    lane: Any
    steps: Any
    moved: Any


@compiled
def room_for(m: int) -> int:
    """Return the length of arrays for m samples: one that is taken in four parts, and these again."""
    return -(-m // 64) * 64 if m > 32 else (32 if m > 16 else 16)


@compiled
def empty_desk(m: int) -> Any:
    """Return memory for questions of up to m samples."""
    n = room_for(m)
    return Desk(
        np.empty((n, n)),
        np.zeros(n, np.bool_),
        np.ones(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n, np.uint32),
    )


@compiled
def desk_for(few: Any, first: int, last: int) -> Any:
    """Return memory for the largest of the questions first to last."""
    largest = 0
    for q in range(first, last):
        largest = max(largest, few.ends[q + 1] - few.ends[q])
    return empty_desk(largest)


@compiled
def cleared(desk: Any, few: Any, q: int) -> Any:
    """Return the desk for question q: as long as it needs, no row known, and nobody beyond its samples."""
    inside, known, squares, y, low, high, z, f, z0, f0, up, down, gain, lane, steps, moved = desk
    a, m = few.ends[q], few.ends[q + 1] - few.ends[q]
    n = room_for(m)
    desk = Desk(
        inside, known[:n], squares[:n], y[:n], low[:n], high[:n], z[:n], f[:n], z0[:n], f0[:n],
        up[:n], down[:n], gain[:n], lane[:n], steps[:n], moved[:n],
    )  # fmt: skip
    for b in range(n):
        desk.known[b] = False
        desk.squares[b] = few.diagonal[few.samples[a + b]] if b < m else 1.0
        desk.y[b] = desk.low[b] = desk.high[b] = desk.z[b] = desk.f[b] = desk.z0[b] = desk.f0[b] = 0.0
    return desk
