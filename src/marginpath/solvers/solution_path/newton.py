"""Newton's method on a working set, by an inverse that coordinates enter and leave."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .part import compiled, row_of

_REPEATS = 30  # of steps to the same minimum, whose matrix has a ridge in the inverse


class Inverse(NamedTuple):
    """The inverse of K among the free coordinates, in the order in which they entered, and its row sums."""

    matrix: Any
    ones: Any
    free: Any
    size: Any


@compiled
def no_inverse() -> Any:
    """Return an inverse without a coordinate."""
    return Inverse(np.empty((0, 0)), np.empty(0), np.empty(0, np.int64), np.zeros(1, np.int64))


@compiled
def with_room(inverse: Any, room: int) -> Any:
    """Return the inverse in an array with room for so many coordinates."""
    if inverse.ones.size >= room:
        return inverse
    wider = Inverse(np.empty((room, room)), np.empty(room), np.empty(room, np.int64), inverse.size)
    for c in range(inverse.size[0]):  # entry by entry: copies of slices take seconds to compile
        wider.ones[c], wider.free[c] = inverse.ones[c], inverse.free[c]
        for d in range(inverse.size[0]):
            wider.matrix[c, d] = inverse.matrix[c, d]
    return wider


@compiled
def newton(
    part: Any,
    inverse: Any,
    diagonal: Any,
    low: Any,
    high: Any,
    z: Any,
    e: Any,
    tied: bool,
    eps: float,
    ridge: float,
) -> None:
    """Go from minimum to minimum over the free coordinates until no violation is over eps.

    The inverse of their part of K gives the way to the next minimum. A coordinate that meets its bound on the
    way leaves the inverse and stays there; at a minimum, the one that violates most enters. An inverse that
    shows no way down is dropped.
    """
    m, repeats, last, before = z.size, 0, np.empty(0), 0.0
    _renew(part, inverse, diagonal, low, high, z, ridge)
    free = inverse.free
    for _ in range(4 * m):
        r = inverse.size[0]
        if r == 0:
            return
        way = _way(inverse.matrix, inverse.ones[:r], e, free[:r], tied)
        slope = _slope(way, e, free)
        if repeats > 0:  # conjugate to the last one: the inverse is only nearly that of K
            _add_multiple(way, slope / before, last)
        last, before, slope = way, slope, _slope(way, e, free)
        if not slope < 0:
            break
        image, curvature = np.zeros(m), 0.0
        for a in range(r):
            _add_multiple(image, way[a], row_of(part, free[a], m))
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
            break
        for a in range(r):
            z[free[a]] += step * way[a]
        _add_multiple(e, step, image)
        if hit >= 0:
            c = free[hit]
            z[c] = high[c] if way[hit] > 0 else low[c]
            _leave(inverse, hit)
            repeats = 0
            continue
        entering, violation, rest = _worst(low, high, z, e, free[:r], tied)
        if violation + rest <= eps:
            return
        if rest > violation and repeats < _REPEATS:
            repeats += 1
        elif entering >= 0 and violation > 0:
            repeats = 0
            _enter(inverse, entering, row_of(part, entering, m), diagonal[entering], ridge)
        else:
            return
    inverse.size[0] = 0


@compiled
def _renew(part: Any, inverse: Any, diagonal: Any, low: Any, high: Any, z: Any, ridge: float) -> None:
    """Let those leave the inverse that are at a bound now, and those enter that are free."""
    m, free, inside = z.size, inverse.free, np.zeros(z.size, np.bool_)
    for a in range(inverse.size[0]):
        c = free[a]
        inside[c] = low[c] < z[c] < high[c]
    if 2 * np.sum(inside) < inverse.size[0]:
        inverse.size[0] = 0
        inside[:] = False
    for a in range(inverse.size[0] - 1, -1, -1):
        if not inside[free[a]]:
            _leave(inverse, a)
    for c in range(m):
        if low[c] < z[c] < high[c] and not inside[c]:
            _enter(inverse, c, row_of(part, c, m), diagonal[c], ridge)


@compiled
def _way(inverse: Any, ones: Any, e: Any, free: Any, tied: bool) -> Any:
    """Return the way to the minimum over the free coordinates, their sum unchanged if tied."""
    way = np.zeros(free.size)
    for a in range(free.size):
        _add_multiple(way, -e[free[a]], inverse[a, : free.size])
    if tied:
        _add_multiple(way, -_sum(way) / _sum(ones), ones)
        left = _sum(way) / way.size  # by cancellation, where the inverse is large
        for a in range(way.size):
            way[a] -= left
    return way


@compiled
def _slope(way: Any, e: Any, free: Any) -> float:
    """Return the derivative of the objective on the way."""
    slope = 0.0
    for a in range(way.size):
        slope += way[a] * e[free[a]]
    return slope


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
def _enter(inverse: Any, c: int, row: Any, square: float, ridge: float) -> None:
    """Border the inverse with coordinate c, which has at least the ridge of its own."""
    matrix, ones, free, r = inverse.matrix, inverse.ones, inverse.free, inverse.size[0]
    image, square = np.zeros(r), square + ridge
    for a in range(r):
        _add_multiple(image, np.float64(row[free[a]]), matrix[a, :r])
    for a in range(r):
        square -= np.float64(row[free[a]]) * image[a]
    square = max(square, ridge)
    for a in range(r):
        _add_multiple(matrix[a, :r], image[a] / square, image)
        matrix[a, r] = matrix[r, a] = -image[a] / square
    matrix[r, r] = 1 / square
    gain = (_sum(image) - 1) / square
    _add_multiple(ones[:r], gain, image)
    free[r], ones[r] = c, -gain
    inverse.size[0] = r + 1


@compiled
def _leave(inverse: Any, a: int) -> None:
    """Eliminate the free coordinate number a from the inverse and its sums; the last one takes its place."""
    matrix, ones, free, r = inverse.matrix, inverse.ones, inverse.free, inverse.size[0]
    own = np.empty(r)
    for b in range(r):
        own[b] = matrix[a, b]
    _add_multiple(ones[:r], -ones[a] / own[a], own)
    for b in range(r):
        _add_multiple(matrix[b, :r], -own[b] / own[a], own)
    for b in range(r):
        matrix[a, b] = matrix[r - 1, b]
    for b in range(r):
        matrix[b, a] = matrix[b, r - 1]
    free[a], ones[a] = free[r - 1], ones[r - 1]
    inverse.size[0] = r - 1


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
