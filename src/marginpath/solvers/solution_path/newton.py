"""Newton's method on a working set, by an inverse that coordinates enter and leave."""

from __future__ import annotations

from typing import Any

import numpy as np

from .part import compiled, row_of


@compiled
def newton(
    part: Any, diagonal: Any, low: Any, high: Any, z: Any, e: Any, tied: bool, eps: float, ridge: float
) -> None:
    """Go from minimum to minimum over the free coordinates until no violation is over eps.

    The inverse of their part of K gives the way to the next minimum. A coordinate that meets its bound on the
    way leaves the inverse and stays there; at a minimum, the one that violates most enters.
    """
    m = z.size
    free, inverse, ones, r = np.empty(m, np.int64), np.zeros((m, m)), np.zeros(m), 0
    for c in range(m):
        if low[c] < z[c] < high[c]:
            r = _enter(inverse, ones, free, r, c, row_of(part, c), diagonal[c], ridge)
    repeats = 0
    for _ in range(4 * m):
        if r == 0:
            return
        way, slope = _way(inverse, ones[:r], e, free[:r], tied)
        if not slope < 0:
            return
        image, curvature = np.zeros(m), 0.0
        for a in range(r):
            _add_multiple(image, way[a], row_of(part, free[a]))
        for a in range(r):
            curvature += way[a] * image[free[a]]
        step, hit = (-slope / curvature if curvature > 0 else np.inf), -1
        for a in range(r):
            c = free[a]
            if way[a] != 0:
                room = max(0.0, ((high[c] if way[a] > 0 else low[c]) - z[c]) / way[a])
                if room <= step:
                    step, hit = room, a
        if step == np.inf:
            return
        for a in range(r):
            z[free[a]] += step * way[a]
        _add_multiple(e, step, image)
        if hit >= 0:
            c = free[hit]
            z[c] = high[c] if way[hit] > 0 else low[c]
            r = _leave(inverse, ones, free, r, hit)
            continue
        entering, violation, rest = _worst(low, high, z, e, free[:r], tied)
        if violation + rest <= eps:
            return
        if rest > violation and repeats < 10:  # the inverse is that of a matrix with a ridge
            repeats += 1
        elif entering >= 0 and violation > 0:
            repeats = 0
            r = _enter(inverse, ones, free, r, entering, row_of(part, entering), diagonal[entering], ridge)
        else:
            return


@compiled
def _way(inverse: Any, ones: Any, e: Any, free: Any, tied: bool) -> Any:
    """Return the way to the minimum over the free coordinates, their sum unchanged if tied; and its slope."""
    way = np.zeros(free.size)
    for a in range(free.size):
        _add_multiple(way, -e[free[a]], inverse[a, : free.size])
    if tied:
        _add_multiple(way, -_sum(way) / _sum(ones), ones)
        left = _sum(way) / way.size  # by cancellation, where the inverse is large
        for a in range(way.size):
            way[a] -= left
    slope = 0.0
    for a in range(way.size):
        slope += way[a] * e[free[a]]
    return way, slope


@compiled
def _worst(low: Any, high: Any, z: Any, e: Any, free: Any, tied: bool) -> Any:
    """Return the coordinate at a bound that violates most, by how much, and how far the free ones differ.

    One that is free may be at its bound, by rounding: it does not enter twice.
    """
    lowest, highest, is_free = np.inf, -np.inf, np.zeros(z.size, np.bool_)
    for a in range(free.size):
        lowest, highest = min(lowest, e[free[a]]), max(highest, e[free[a]])
        is_free[free[a]] = True
    middle = (lowest + highest) / 2 if tied else 0.0
    rest = highest - lowest if tied else max(highest, -lowest)
    entering, violation = -1, 0.0
    for c in range(z.size):
        if low[c] < high[c] and not is_free[c]:
            size = max(middle - e[c] if z[c] == low[c] else 0.0, e[c] - middle if z[c] == high[c] else 0.0)
            if size > violation:
                entering, violation = c, size
    return entering, violation, rest


@compiled
def _enter(inverse: Any, ones: Any, free: Any, r: int, c: int, row: Any, square: float, ridge: float) -> int:
    """Border the inverse with coordinate c, which has at least the ridge of its own."""
    image, square = np.zeros(r), square + ridge
    for a in range(r):
        _add_multiple(image, np.float64(row[free[a]]), inverse[a, :r])
    for a in range(r):
        square -= np.float64(row[free[a]]) * image[a]
    square = max(square, ridge)
    for a in range(r):
        _add_multiple(inverse[a, :r], image[a] / square, image)
        inverse[a, r] = inverse[r, a] = -image[a] / square
    inverse[r, r] = 1 / square
    gain = (_sum(image) - 1) / square
    _add_multiple(ones[:r], gain, image)
    free[r], ones[r] = c, -gain
    return r + 1


@compiled
def _leave(inverse: Any, ones: Any, free: Any, r: int, a: int) -> int:
    """Eliminate the free coordinate number a from the inverse and its sums; the last one takes its place."""
    own = np.empty(r)
    for b in range(r):
        own[b] = inverse[a, b]
    _add_multiple(ones[:r], -ones[a] / own[a], own)
    for b in range(r):
        _add_multiple(inverse[b, :r], -own[b] / own[a], own)
    for b in range(r):
        inverse[a, b] = inverse[r - 1, b]
    for b in range(r):
        inverse[b, a] = inverse[b, r - 1]
    free[a], ones[a] = free[r - 1], ones[r - 1]
    return r - 1


@compiled
def _add_multiple(out: Any, factor: float, row: Any) -> None:
    for c in range(out.size):
        out[c] += factor * np.float64(row[c])


@compiled
def _sum(values: Any) -> float:
    total = 0.0
    for c in range(values.size):
        total += values[c]
    return total
