"""The solution of a working set: steps in pairs or one by one, and Newton's method where they take long."""

from __future__ import annotations

from typing import Any

import numpy as np

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
    no_rise, no_fall, gain = np.empty(m), np.empty(m), np.empty(m)
    for c in range(m):
        no_rise[c] = 0.0 if z[c] < high[c] else _CLOSED
        no_fall[c] = 0.0 if z[c] > low[c] else _CLOSED
    lowest, highest = _shifted(e, 0.0, row_of(part, 0, m), row_of(part, 0, m), no_rise, no_fall)
    for taken in range(limit):
        if highest - lowest <= eps:
            return taken
        i = 0
        while i < m and e[i] + no_rise[i] != lowest:
            i += 1
        if i == m:  # no number is equal to itself any more: they are too large
            return taken
        rising = row_of(part, i, m)
        best = _gains(e, no_fall, lowest, rising, diagonal, diagonal[i], gain)
        j = 0
        while j < m and gain[j] != best:
            j += 1
        if best <= 0 or j == m:
            return taken
        curvature = max(diagonal[i] + diagonal[j] - 2 * rising[j], _FLAT * (diagonal[i] + diagonal[j]), _TINY)
        room_i, room_j = high[i] - z[i], z[j] - low[j]
        step = min((e[j] - lowest) / curvature, room_i, room_j)
        z[i] = high[i] if step == room_i else z[i] + step
        z[j] = low[j] if step == room_j else z[j] - step
        for c in (i, j):
            no_rise[c] = 0.0 if z[c] < high[c] else _CLOSED
            no_fall[c] = 0.0 if z[c] > low[c] else _CLOSED
        lowest, highest = _shifted(e, step, rising, row_of(part, j, m), no_rise, no_fall)
    return limit


@extremal
def _shifted(e: Any, step: float, rising: Any, falling: Any, no_rise: Any, no_fall: Any) -> Any:
    """Bring e up to date after a pair step; return its lowest that can rise, its highest that can fall."""
    lowest, highest = np.inf, -np.inf
    for c in range(e.size):
        value = e[c] + step * (np.float64(rising[c]) - np.float64(falling[c]))
        e[c] = value
        lowest = min(lowest, value + no_rise[c])
        highest = max(highest, value - no_fall[c])
    return lowest, highest


@extremal
def _gains(e: Any, no_fall: Any, lowest: float, row: Any, diagonal: Any, own: float, gain: Any) -> float:
    """Write by how much each partner would lower the objective, twice over, if nothing stood in its way."""
    best = 0.0
    for c in range(e.size):
        apart = max(e[c] - no_fall[c] - lowest, 0.0)
        both = own + diagonal[c]
        curvature = max(both - 2 * np.float64(row[c]), max(_FLAT * both, _TINY))
        gain[c] = apart * apart / curvature
        best = max(best, gain[c])
    return best


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
