"""Compiled parts of the path of solutions. Imported only when it is about to run: numba is slow to load.

All of them speak of one column, in signed dual variables z = y∘u and their gradient e = K z + y:

    min ½ zᵀK z + yᵀz   over   low ≤ z ≤ high,   and Σ z_i = 0 where the classifier has an intercept ("tied").

A sample can rise where z_i < high_i, and fall where z_i > low_i. At the solution there is an offset β, the
intercept with its sign turned, such that e_i + β ≥ 0 for all that can rise and ≤ 0 for all that can fall.

There is no BLAS in it, whose sums depend on the processor and the threads. No sum is reordered, and the order
of minima and maxima does not matter: the bits of a result do not depend on which loop, vector or scalar, is
taken for arrays that lie here or there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from ..coordinate.compiled import add_rows

_PIECE = 2048  # entries of a field that stay near the core meanwhile
_CLOSED = 1e300  # what keeps a coordinate out of a minimum
_FLAT = 1e-12  # least curvature of a step, over the diagonal
_TINY = 1e-300
_CLOSE = 1e-15  # what rounding may take from a margin of 1
_LEAST = 0.01  # of the objective, by which a gap is judged where nearly all of that is losses
_RIDGE = 64  # rounding units of the diagonal: rounded kernel values may have eigenvalues under 0
_ROUNDS = 10  # of steps and Newton's method
_ROOM, _MOST = 1.25, 4  # a set has room for all free samples and some more, but not without end
_SHARE = 0.3  # of the violation that is left of a working set
_SPARE = 0.5  # of the gap asked for that a working set may keep
_PAIRS_PER_CUBE = 0.05  # pair steps, over the size of the set, that take as long as inverting a matrix

_settings: Any = {"nogil": True, "cache": True, "boundscheck": False, "error_model": "numpy"}
_jit = numba.njit(fastmath={"contract"}, **_settings)
_extrema = numba.njit(fastmath={"contract", "nnan", "nsz"}, **_settings)


@_jit
def survey(y: Any, low: Any, high: Any, z: Any, f: Any, tied: bool) -> Any:
    """Return the offset β, the largest violation, the duality gap, the scale it is judged by, and a factor.

    The scale is the primal objective, or 2 ‖w‖² where that is less: at a small C the losses are nearly all of
    the objective, and say little of w.

    The gap is ‖w‖² − Σ |z_i| + Σ_i (high_i − low_i) max(0, 1 − m_i), with margins m_i = −y_i (f_i + β). It is
    that of z times the factor, which makes all margins 1 where the box allows it and the gap is smaller so.
    """
    rise, fall = np.inf, -np.inf
    for i in range(z.size):
        if low[i] < high[i]:
            e = f[i] + y[i]
            if z[i] < high[i] and e < rise:
                rise = e
            if z[i] > low[i] and e > fall:
                fall = e
    if tied and (rise == np.inf or fall == -np.inf):  # an empty box
        return 0.0, 0.0, 0.0, 0.0, 1.0
    beta = -(rise + fall) / 2 if tied else 0.0
    violation = fall - rise if tied else max(fall, -rise)
    squared, total, loss, excess, least, filled = 0.0, 0.0, 0.0, 0.0, np.inf, 0.0
    for i in range(z.size):
        if low[i] < high[i]:
            squared += z[i] * f[i]
            total += abs(z[i])
            excess += z[i]
            filled = max(filled, abs(z[i]) / (high[i] - low[i]))
            margin = -y[i] * (f[i] + beta)
            least = min(least, margin)
            if margin < 1:
                loss += (high[i] - low[i]) * (1 - margin)
    primal, factor, gap = squared / 2 + loss, 1.0, squared - total + loss
    scale = min(primal, max(2 * squared, _LEAST * primal))
    if 0 < filled < least < 1:
        without_loss = (1 + _CLOSE) / least
        if without_loss * (without_loss * squared - total) < gap:
            factor, gap = without_loss, without_loss * (without_loss * squared - total)
    off = abs(excess) / total * scale if tied and total > 0 else 0.0
    return beta, violation, max(gap, off), scale, factor


@_jit
def choose(y: Any, low: Any, high: Any, z: Any, f: Any, beta: float, most: int) -> Any:
    """Return the samples to work on: those between their bounds and those that violate, the worst first."""
    index, ranks, count = np.empty(z.size, np.int64), np.empty(z.size), 0
    for i in range(z.size):
        rises, falls, e = z[i] < high[i], z[i] > low[i], f[i] + y[i] + beta
        if (rises and falls) or (rises and e < 0) or (falls and e > 0):
            index[count], ranks[count] = i, abs(e)
            count += 1
    if count <= most:
        return index[:count]
    least, kept = _threshold(ranks[:count], most), 0
    for c in range(count):
        if ranks[c] >= least and kept < most:
            index[kept] = index[c]
            kept += 1
    return index[:kept]


@_jit
def _threshold(values: Any, most: int) -> float:
    """Return a number that at least, and nearly at most, so many of the values reach: by bisection."""
    low, high = 0.0, 0.0
    for c in range(values.size):
        high = max(high, values[c])
    for _ in range(50):
        middle, count = (low + high) / 2, 0
        for c in range(values.size):
            count += values[c] >= middle
        if count == most:
            return middle
        if count > most:
            low = middle
        else:
            high = middle
    return low


@_jit
def plan(y: Any, low: Any, high: Any, z: Any, f: Any, tied: bool, tol: float, working_set: int) -> Any:
    """Return the offset, the samples to work on next, and to which violation; none where the gap is small."""
    beta, violation, gap, scale, factor = survey(y, low, high, z, f, tied)
    if gap <= tol * scale:
        for i in range(z.size):
            z[i] *= factor
            f[i] *= factor
        return factor * beta, np.empty(0, np.int64), 0.0
    free, total = 0, 0.0
    for i in range(z.size):
        free += low[i] < z[i] < high[i]
        total += abs(z[i])
    most = min(max(int(_ROOM * free), working_set), _MOST * working_set)
    eps = min(max(_SHARE * violation, _SPARE * tol * scale / max(scale, total)), violation / 2)
    return beta, choose(y, low, high, z, f, beta, most), eps


@_jit
def solve(
    rows: Any,
    diagonal: Any,
    y: Any,
    low: Any,
    high: Any,
    z: Any,
    f: Any,
    tied: bool,
    tol: float,
    working_set: int,
    rounds: int,
    stop: Any,
) -> Any:
    """Work on sets of samples until the gap is small; the rows are a stored matrix. Return the offset."""
    for _ in range(rounds):
        beta, index, eps = plan(y, low, high, z, f, tied, tol, working_set)
        m = index.size
        if m == 0 or stop[0]:
            return beta
        part = Part(index, index, rows, np.empty((m, m), rows.dtype), np.zeros(m, np.bool_))
        steps = improve(part, diagonal, y, low, high, z, f, tied, eps)
        moved, count = np.empty(m, np.int64), 0
        for c in range(m):
            if steps[c] != 0:
                moved[count], steps[count] = index[c], steps[c]
                count += 1
        follow(rows, moved[:count], steps, f)
    return survey(y, low, high, z, f, tied)[0]


@_jit
def gather(index: Any, where: Any, rows: Any, matrix: Any) -> None:
    """Copy the columns ``index`` of the rows ``where`` into the matrix."""
    for c in range(where.size):
        row, out = rows[where[c]], matrix[c]
        for d in range(index.size):
            out[d] = row[index[d]]


@_jit
def improve(
    part: Any, diagonal: Any, y: Any, low: Any, high: Any, z: Any, f: Any, tied: bool, eps: float
) -> Any:
    """Solve the problem of the samples in the part to violations of at most eps; return how z changed there.

    The field f is not yet that of the new z.
    """
    m = part.index.size
    squares, least, most, own, e, steps = np.empty((6, m))
    for c in range(m):
        i = part.index[c]
        squares[c], least[c], most[c], own[c], e[c] = diagonal[i], low[i], high[i], z[i], f[i] + y[i]
    _solve_part(part, squares, least, most, own, e, tied, eps)
    for c in range(m):
        i = part.index[c]
        steps[c], z[i] = own[c] - z[i], own[c]
    return steps


@_jit
def follow(rows: Any, where: Any, steps: Any, f: Any) -> None:
    """Bring the field up to date: add the rows ``where``, each times the step of its sample."""
    for a in range(0, f.size, _PIECE):
        add_rows(rows, where, steps, f[a : a + _PIECE], a)


class Part(NamedTuple):
    """The matrix of a working set, K[index, index]; a row that is not known is gathered when it is needed."""

    index: Any
    where: Any
    rows: Any
    matrix: Any
    known: Any


@_jit
def _row(part: Any, c: int) -> Any:
    row = part.matrix[c]
    if not part.known[c]:
        part.known[c] = True
        whole, index = part.rows[part.where[c]], part.index
        for d in range(index.size):
            row[d] = whole[index[d]]
    return row


@_jit
def _solve_part(
    part: Any, diagonal: Any, low: Any, high: Any, z: Any, e: Any, tied: bool, eps: float
) -> None:
    """Take pair or single steps until no violation is over eps; a Newton step where they take too long."""
    m, largest, free = z.size, 0.0, 0
    for c in range(m):
        largest = max(largest, diagonal[c])
        free += low[c] < z[c] < high[c]
    ridge = _RIDGE * np.finfo(part.matrix.dtype).eps * largest
    limit = m + int(_PAIRS_PER_CUBE * free**3 / m)
    for _ in range(_ROUNDS):
        if tied:
            taken = _pairs(part, diagonal, low, high, z, e, eps, limit)
        else:
            taken = _singles(part, diagonal, low, high, z, e, eps, limit)
        if taken < limit:
            return
        _newton(part, diagonal, low, high, z, e, tied, eps / 2, ridge)


@_jit
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
    lowest, highest = _shifted(e, 0.0, _row(part, 0), _row(part, 0), no_rise, no_fall)
    for taken in range(limit):
        if highest - lowest <= eps:
            return taken
        i = 0
        while e[i] + no_rise[i] != lowest:
            i += 1
        rising = _row(part, i)
        best = _gains(e, no_fall, lowest, rising, diagonal, diagonal[i], gain)
        if best <= 0:
            return taken
        j = 0
        while gain[j] != best:
            j += 1
        curvature = max(diagonal[i] + diagonal[j] - 2 * rising[j], _FLAT * (diagonal[i] + diagonal[j]), _TINY)
        room_i, room_j = high[i] - z[i], z[j] - low[j]
        step = min((e[j] - lowest) / curvature, room_i, room_j)
        z[i] = high[i] if step == room_i else z[i] + step
        z[j] = low[j] if step == room_j else z[j] - step
        for c in (i, j):
            no_rise[c] = 0.0 if z[c] < high[c] else _CLOSED
            no_fall[c] = 0.0 if z[c] > low[c] else _CLOSED
        lowest, highest = _shifted(e, step, rising, _row(part, j), no_rise, no_fall)
    return limit


@_extrema
def _shifted(e: Any, step: float, rising: Any, falling: Any, no_rise: Any, no_fall: Any) -> Any:
    """Bring e up to date after a pair step; return its lowest that can rise, its highest that can fall."""
    lowest, highest = np.inf, -np.inf
    for c in range(e.size):
        value = e[c] + step * (np.float64(rising[c]) - np.float64(falling[c]))
        e[c] = value
        lowest = min(lowest, value + no_rise[c])
        highest = max(highest, value - no_fall[c])
    return lowest, highest


@_extrema
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


@_jit
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
        step, row = z[i] - old, _row(part, i)
        for c in range(m):
            e[c] += step * np.float64(row[c])
    return limit


@_jit
def _newton(
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
            r = _enter(inverse, ones, free, r, c, _row(part, c), diagonal[c], ridge)
    repeats = 0
    for _ in range(4 * m):
        if r == 0:
            return
        way, slope = _way(inverse, ones[:r], e, free[:r], tied)
        if not slope < 0:
            return
        image, curvature = np.zeros(m), 0.0
        for a in range(r):
            _add_multiple(image, way[a], _row(part, free[a]))
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
            r = _enter(inverse, ones, free, r, entering, _row(part, entering), diagonal[entering], ridge)
        else:
            return


@_jit
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


@_jit
def _sum(values: Any) -> float:
    total = 0.0
    for c in range(values.size):
        total += values[c]
    return total


@_jit
def _add_multiple(out: Any, factor: float, row: Any) -> None:
    for c in range(out.size):
        out[c] += factor * np.float64(row[c])


@_jit
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


@_jit
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


@_jit
def _worst(low: Any, high: Any, z: Any, e: Any, free: Any, tied: bool) -> Any:
    """Return the coordinate at a bound that violates most, by how much, and how far the free ones differ."""
    lowest, highest = np.inf, -np.inf
    for a in range(free.size):
        lowest, highest = min(lowest, e[free[a]]), max(highest, e[free[a]])
    middle = (lowest + highest) / 2 if tied else 0.0
    rest = highest - lowest if tied else max(highest, -lowest)
    entering, violation = -1, 0.0
    for c in range(z.size):
        if low[c] < high[c]:
            size = max(middle - e[c] if z[c] == low[c] else 0.0, e[c] - middle if z[c] == high[c] else 0.0)
            if size > violation:
                entering, violation = c, size
    return entering, violation, rest
