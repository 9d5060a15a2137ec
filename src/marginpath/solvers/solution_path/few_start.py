"""Where the path of columns of few samples begins: at the bound, both classes with the same weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from .few_desk import cleared, desk_for
from .few_samples import follow_watched
from .part import compiled


@compiled
def begin_few(few: Any, first: int, last: int, begin: int, end: int, duals: Any) -> None:
    """Put the samples of these columns at the bound, of the larger class the worst ones only, in ``start``.

    Both classes weigh the same then: as ``kernel_columns.balanced``. The fields are those of Y∘mass at first.
    """
    desk = desk_for(few, first, last)
    for q in range(first, last):
        own = cleared(desk, few, q)
        for c in range(begin, end):
            _begin(own, few, q, c, duals)


@compiled
def _begin(desk: Any, few: Any, q: int, c: int, duals: Any) -> None:
    a, m, j = few.ends[q], few.ends[q + 1] - few.ends[q], q * few.together + c
    s, bound, f, steps, moved, chosen = (
        few.together * a + c * m,
        duals.bound[j],
        desk.f,
        desk.steps,
        desk.moved,
        desk.z,
    )
    for b in range(m):
        f[b], chosen[b] = duals.fields[s + b], few.signed[s + b]
    _balance(chosen, f, m, desk.lane, desk.moved)
    kept, left = 0, 0
    for b in range(m):
        duals.start[s + b] = -bound * abs(chosen[b])
        kept += chosen[b] != 0
        left += chosen[b] != few.signed[s + b]
    # The smaller part of the samples makes the field.
    factor, count = (-bound if left < kept else 0.0), 0
    for b in range(m):
        step = bound * (few.signed[s + b] - chosen[b]) if left < kept else -bound * chosen[b]
        if step != 0:
            steps[count], moved[count] = step, few.samples[a + b]
            count += 1
    for b in range(m):
        f[b] *= factor
    for p in range(count):  # row by row, as they lie in memory
        for b in range(m):
            f[b] += steps[p] * np.float64(few.rows[moved[p], few.samples[a + b]])
    follow_watched(few, j, factor, moved, steps, count, duals.outside)
    for b in range(m):
        if few.signed[s + b] != 0:
            duals.fields[s + b] = f[b]


@compiled
def _balance(chosen: Any, f: Any, m: int, keys: Any, order: Any) -> None:
    """Take weight from the larger class, those with the largest margins first, until both weigh the same."""
    excess, room, count = 0.0, 0.0, 0
    for b in range(m):
        excess += chosen[b]
    for b in range(m):
        if excess != 0 and chosen[b] * excess > 0:
            key, p = np.sign(excess) * f[b], count
            while p > 0 and keys[p - 1] > key:
                keys[p], order[p] = keys[p - 1], order[p - 1]
                p -= 1
            keys[p], order[p] = key, b
            room += abs(chosen[b])
            count += 1
    room -= abs(excess)
    for p in range(count):
        b = order[p]
        weight = abs(chosen[b])
        chosen[b] = np.sign(chosen[b]) * min(max(room, 0.0), weight)
        room -= weight
