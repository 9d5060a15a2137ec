"""The solution of a working set: steps in pairs or one by one, and Newton's method where they take long."""

from __future__ import annotations

from typing import Any

import numpy as np

from .extremes import LANES, highest, largest, lowest
from .newton import newton, with_room
from .part import compiled, extremal, row_of

_CLOSED = 1e300  # what keeps a coordinate out of a minimum
_FLAT = 1e-12  # least curvature of a step, over the diagonal
_TINY = 1e-300
_RIDGE = 64  # rounding units of the diagonal: rounded kernel values may have eigenvalues under 0
_FIRMER = 100  # times the ridge, after an inverse that was lost to rounding
_ROUNDS = 10  # of steps and Newton's method
_PAIRS_PER_CUBE = 0.05  # pair steps, over the size of the set, that take as long as inverting a matrix


@compiled
def solve_part(
    part: Any, inverse: Any, diagonal: Any, low: Any, high: Any, z: Any, e: Any, tied: bool, eps: float
) -> Any:
    """Take pair or single steps until no violation is over eps; a Newton step where they take too long.

    Return the inverse that Newton's method has made, if it has: with it, Newton's next step costs little.
    """
    m, largest, free = z.size, 0.0, 0
    for c in range(m):
        largest = max(largest, diagonal[c])
        free += low[c] < z[c] < high[c]
    ridge = _RIDGE * np.finfo(part.matrix.dtype).eps * largest
    for _ in range(_ROUNDS):
        limit = m if inverse.size[0] > 0 else m + int(_PAIRS_PER_CUBE * free**3 / m)
        if tied:
            taken = _pairs(part, diagonal, low, high, z, e, eps, limit)
        else:
            taken = _singles(part, diagonal, low, high, z, e, eps, limit)
        if taken < limit:
            break
        inverse = with_room(inverse, m)
        newton(part, inverse, diagonal, low, high, z, e, tied, eps / 2, ridge)
        if inverse.size[0] == 0:
            ridge *= _FIRMER
    return inverse


@compiled
def _pairs(part: Any, diagonal: Any, low: Any, high: Any, z: Any, e: Any, eps: float, limit: int) -> int:
    """Let one coordinate rise and another fall by as much until no violation is over eps; count the steps.

    The first is the one with the lowest e of those that can rise, the second the one that, with it, lowers
    the objective most: the second-order choice of Fan, Chen and Lin (2005).
    """
    m = z.size
    no_rise, no_fall, gain, lane = np.empty(m), np.empty(m), np.empty(m), np.empty(LANES)
    for c in range(m):
        no_rise[c] = 0.0 if z[c] < high[c] else _CLOSED
        no_fall[c] = 0.0 if z[c] > low[c] else _CLOSED
    for taken in range(limit):
        i = lowest(e, no_rise, lane)
        if i < 0 or highest(e, no_fall, lane) - (e[i] + no_rise[i]) <= eps:
            return taken
        bottom = e[i] + no_rise[i]
        rising = row_of(part, i, m)
        _gains(e, no_fall, bottom, rising, diagonal, diagonal[i], gain)
        j = largest(gain, lane)
        if j < 0 or gain[j] == 0:  # or no number is equal to itself any more: they are too large
            return taken
        curvature = max(diagonal[i] + diagonal[j] - 2 * rising[j], _FLAT * (diagonal[i] + diagonal[j]), _TINY)
        room_i, room_j = high[i] - z[i], z[j] - low[j]
        step = min((e[j] - bottom) / curvature, room_i, room_j)
        z[i] = high[i] if step == room_i else z[i] + step
        z[j] = low[j] if step == room_j else z[j] - step
        for c in (i, j):
            no_rise[c] = 0.0 if z[c] < high[c] else _CLOSED
            no_fall[c] = 0.0 if z[c] > low[c] else _CLOSED
        _shift(e, step, rising, row_of(part, j, m))
    return limit


@extremal
def _shift(e: Any, step: float, rising: Any, falling: Any) -> None:
    """Bring e up to date after a pair step."""
    for c in range(e.size):
        e[c] += step * (np.float64(rising[c]) - np.float64(falling[c]))


@extremal
def _gains(e: Any, no_fall: Any, bottom: float, row: Any, diagonal: Any, own: float, gain: Any) -> None:
    """Write by how much each partner would lower the objective, twice over, if nothing stood in its way."""
    for c in range(e.size):
        apart = max(e[c] - no_fall[c] - bottom, 0.0)
        both = own + diagonal[c]
        curvature = max(both - 2 * np.float64(row[c]), max(_FLAT * both, _TINY))
        gain[c] = apart * apart / curvature


@compiled
def _singles(part: Any, diagonal: Any, low: Any, high: Any, z: Any, e: Any, eps: float, limit: int) -> int:
    """Move the coordinate that gains most until no violation is over eps; count the steps."""
    m = z.size
    for taken in range(limit):
        i, best, worst = -1, 0.0, 0.0
        for c in range(m):
            if (e[c] < 0 and z[c] < high[c]) or (e[c] > 0 and z[c] > low[c]):
                size = abs(e[c])
                worst = max(worst, size)
                gain = size * size / max(diagonal[c], _TINY)
                if gain > best:
                    i, best = c, gain
        if i < 0 or worst <= eps:
            return taken
        old = z[i]
        z[i] = min(max(old - e[i] / max(diagonal[i], _TINY), low[i]), high[i])
        step, row = z[i] - old, row_of(part, i, m)
        for c in range(m):
            e[c] += step * np.float64(row[c])
    return limit
