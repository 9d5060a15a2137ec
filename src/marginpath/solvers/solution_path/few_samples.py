"""Columns of few samples: all of them are one working set, and their arrays stay next to the core.

A question of few samples, such as a pair of classes, needs little of K: rows among its own samples, which are
copied where a step needs them and shared by its columns. The steps of a column know the field of its own
samples at every moment; the field of others that are watched learns of all steps at once, in the end.

As in ``column.py``, no sum is reordered, and each has one product at most to be fused with it. Functions have
one way out: only then does numba see that the references to their arrays need not be counted, which takes
longer than a short loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .column import CLOSE, LEAST
from .few_desk import cleared, desk_for
from .part import compiled, extremal, inlined

_CLOSED = 1e300  # what keeps a coordinate out of a maximum
_FLAT = 1e-12  # least curvature of a step, over the diagonal
_TINY = 1e-300
_SHARE = 0.3  # of the violation that is left until the gap is looked at again
_SPARE = 0.5  # of the gap asked for that the samples may keep
_AHEAD = 0.6  # rounds of pair steps until the gap is small, over the logarithm of what it is too large by
_PATIENCE = 2**18  # pair steps times samples, of a column, that are too many: Newton's method may be faster


@extremal
def pair_steps(desk: Any, few: Any, q: int, eps: float, limit: int) -> int:
    """Take pair steps until no violation is over eps or the limit is reached; count them.

    As ``steps._pairs``, with −e of those that can rise in one array, e of those that can fall in another.
    Small loops stand here, not in functions: to count references to a row takes longer than it.
    """
    inside, known, squares, _, low, high, z, _, _, _, up, down, gain, lane, _, _ = desk
    rows, samples, a, m, room = few.rows, few.samples, few.ends[q], few.ends[q + 1] - few.ends[q], up.size
    taken = 0
    while taken < limit:
        top = _most(up, lane)
        if not _most(down, lane) + top > eps:
            break
        i = _where(up, top)
        if not known[i]:
            known[i] = True
            copy_row(inside, rows, samples, a, m, i)
        for b in range(room):
            apart, both = max(down[b] + top, 0.0), squares[i] + squares[b]
            gain[b] = apart * apart / max(both - 2 * inside[i, b], max(_FLAT * both, _TINY))
        best = _most(gain, lane)
        if not 0 < best < np.inf:
            break
        j = _where(gain, best)
        if not known[j]:
            known[j] = True
            copy_row(inside, rows, samples, a, m, j)
        both, e = squares[i] + squares[j], down[j]
        curvature = max(both - 2 * inside[i, j], max(_FLAT * both, _TINY))
        room_i, room_j = high[i] - z[i], z[j] - low[j]
        step = min((e + top) / curvature, min(room_i, room_j))
        z[i] = high[i] if step == room_i else z[i] + step
        z[j] = low[j] if step == room_j else z[j] - step
        up[i], down[i] = (top if z[i] < high[i] else -_CLOSED), (-top if z[i] > low[i] else -_CLOSED)
        up[j], down[j] = (-e if z[j] < high[j] else -_CLOSED), (e if z[j] > low[j] else -_CLOSED)
        for b in range(room):
            change = step * (inside[i, b] - inside[j, b])
            up[b] -= change
            down[b] += change
        taken += 1
    return taken


@inlined
def copy_row(inside: Any, rows: Any, samples: Any, a: int, m: int, i: int) -> None:
    """Copy a row of K among samples a to a + m; neighbours of each other are copied as they lie.

    It is given arrays one by one: to count references to all of a desk takes longer than it.
    """
    first, row = np.uint64(samples[a]), samples[a + i]
    if np.uint64(samples[a + m - 1]) - first == np.uint64(m - 1):
        for b in range(np.uint64(m)):
            inside[i, b] = rows[row, first + b]
    else:
        for b in range(m):
            inside[i, b] = rows[row, samples[a + b]]
    for b in range(m, inside.shape[1]):
        inside[i, b] = 0.0


@inlined
def _most(values: Any, lane: Any) -> Any:
    """Return the largest value: of four at a time, and again of four at a time, as a processor does it."""
    q = np.uint64(values.size // 4)
    for k in range(q):
        lane[k] = max(max(values[k], values[k + q]), max(values[k + 2 * q], values[k + 3 * q]))
    r = q // np.uint64(4)
    for k in range(r):
        lane[k] = max(max(lane[k], lane[k + r]), max(lane[k + 2 * r], lane[k + 3 * r]))
    most = lane[0]
    for k in range(r):
        most = max(most, lane[k])
    return most


@inlined
def _where(values: Any, most: float) -> Any:
    """Return the first place of the largest value, without asking one after the other."""
    place = values.size - 1
    for b in range(values.size):
        place = min(place, b if values[b] == most else values.size - 1)
    return place


@compiled
def advance_few(
    few: Any, first: int, last: int, begin: int, end: int, duals: Any, asked: Any, stop: Any, solved: Any
) -> None:
    """Bring the columns begin to end of the questions first to last to their solutions.

    Where pair steps take too long, a column is left as it is then, under its new bound, and not marked as
    solved.
    """
    desk = desk_for(few, first, last)
    for q in range(first, last):
        own = cleared(desk, few, q)
        for c in range(end - 1, begin - 1, -1):
            j = q * few.together + c
            grown = enter(own, few, q, c, duals.start, duals.fields, (duals.before[j], duals.bound[j]))
            duals.offset[j], factor, solved[j] = _settle(own, few, q, asked, stop)
            leave(own, few, q, c, (grown, factor), duals)


@compiled
def enter(desk: Any, few: Any, q: int, c: int, start: Any, fields: Any, bounds: Any) -> Any:
    """Put column c of question q on the desk, under its new bound; return the factor: ``advance.enter``."""
    y, low, high, z, f = desk.y, desk.low, desk.high, desk.z, desk.f
    a, m = few.ends[q], few.ends[q + 1] - few.ends[q]
    s, (before, bound) = few.together * a + c * m, bounds
    total, squared = 0.0, 0.0
    for b in range(m):
        length = bound * abs(few.signed[s + b])
        y[b] = np.sign(few.signed[s + b])
        low[b], high[b] = (-length, 0.0) if y[b] > 0 else (0.0, length)
        z[b], f[b] = y[b] * start[s + b], fields[s + b]
        total += abs(z[b])
        squared += z[b] * f[b]
    grown = bound / before if before > 0 else bound
    best = total / squared if squared > 0 else (grown if grown < np.inf else 1.0)
    factor = min(max(best, 1.0), grown)
    if factor != 1:
        for b in range(m):
            rest = before * abs(few.signed[s + b])
            if factor == grown and rest > 0 and abs(z[b]) == rest:
                z[b] = -y[b] * (high[b] - low[b])
            else:
                z[b] = min(max(factor * z[b], low[b]), high[b])
            f[b] *= factor
    for b in range(m):
        desk.z0[b], desk.f0[b] = z[b], f[b]
    return factor


@compiled
def _settle(desk: Any, few: Any, q: int, asked: Any, stop: Any) -> Any:
    """Take pair steps until the gap is small. Return the offset, a factor for z and f, and if it ended."""
    y, low, high, z, f, up, down = desk.y, desk.low, desk.high, desk.z, desk.f, desk.up, desk.down
    left, tol = _PATIENCE // max(1, few.ends[q + 1] - few.ends[q]), asked.tol
    open_ends(desk)
    beta, violation, gap, scale, factor, total = closeness(desk)
    is_over, took_long, rounds = gap <= tol * scale, left <= 0 or stop[0], 0
    while not is_over and not took_long:
        eps = min(max(_SHARE * violation, _SPARE * tol * scale / max(scale, total)), violation / 2)
        taken = pair_steps(desk, few, q, eps, left)
        for b in range(z.size):
            f[b] = (down[b] if z[b] > low[b] else -up[b]) - y[b] if low[b] < high[b] else 0.0
        left -= taken if taken > 0 else left  # none: rounding is all that is left
        if taken * _AHEAD * np.log(gap / (tol * scale)) > left:
            left = 0
        rounds += 1
        beta, violation, gap, scale, factor, total = closeness(desk)
        is_over = gap <= tol * scale or rounds >= asked.rounds
        took_long = left <= 0 or stop[0]
    if not gap <= tol * scale:
        factor = 1.0
    return factor * beta, factor, is_over


@inlined
def open_ends(desk: Any) -> None:
    """Write −e of the samples that can rise and e of those that can fall."""
    for b in range(desk.z.size):
        e = desk.f[b] + desk.y[b]
        desk.up[b] = -e if desk.z[b] < desk.high[b] else -_CLOSED
        desk.down[b] = e if desk.z[b] > desk.low[b] else -_CLOSED


@extremal
def closeness(desk: Any) -> Any:
    """Return what ``column.survey`` does, and Σ |z_i|, from what pair steps need: no loop asks or adds up."""
    y, low, high, z, f, up, down, term = (
        desk.y,
        desk.low,
        desk.high,
        desk.z,
        desk.f,
        desk.up,
        desk.down,
        desk.gain,
    )
    lane, margin = desk.lane, desk.steps
    top, bottom = _most(up, lane), _most(down, lane)
    is_empty = top < -_CLOSED / 2 or bottom < -_CLOSED / 2  # no box is open
    beta, violation = (0.0, 0.0) if is_empty else ((top - bottom) / 2, bottom + top)
    for b in range(z.size):
        term[b] = z[b] * f[b]
    squared = _sum(term, lane)
    for b in range(z.size):
        term[b] = abs(z[b])
    total, excess = _sum(term, lane), _sum(z, lane)
    for b in range(z.size):
        short = y[b] * (f[b] + beta)  # minus the margin
        margin[b] = short if low[b] < high[b] else -_CLOSED
        term[b] = (high[b] - low[b]) * max(1.0 + short, 0.0)
    loss, least = _sum(term, lane), -_most(margin, lane)
    primal, factor, gap = squared / 2 + loss, 1.0, squared - total + loss
    scale = min(primal, max(2 * squared, LEAST * primal))
    if 0 < least < 1 and total > 0 and not is_empty:
        for b in range(z.size):
            term[b] = abs(z[b]) - least * (high[b] - low[b]) if low[b] < high[b] else -1.0
        without_loss = (1 + CLOSE) / least
        if _most(term, lane) < 0 and without_loss * (without_loss * squared - total) < gap:
            factor, gap = without_loss, without_loss * (without_loss * squared - total)
            scale = min(scale, without_loss * without_loss * squared / 2)  # the objective there
    off = abs(excess) / total * scale if total > 0 else 0.0
    gap = 0.0 if is_empty else max(gap, off)
    return beta, violation, gap, scale, factor, total


@inlined
def _sum(values: Any, lane: Any) -> Any:
    """Return the sum: of four at a time, and again of four at a time, in the same order on any processor."""
    q = np.uint64(values.size // 4)
    for k in range(q):
        lane[k] = (values[k] + values[k + q]) + (values[k + 2 * q] + values[k + 3 * q])
    r = q // np.uint64(4)
    for k in range(r):
        lane[k] = (lane[k] + lane[k + r]) + (lane[k + 2 * r] + lane[k + 3 * r])
    total = 0.0
    for k in range(r):
        total += lane[k]
    return total


@compiled
def leave(desk: Any, few: Any, q: int, c: int, factors: Any, duals: Any) -> None:
    """Write the dual variable and the field of column c of question q, of own samples and watched ones.

    The field is that of where z began and of each sample's whole step: rounding does not grow with the steps.
    """
    inside, z, z0, f0, steps, moved = desk.inside, desk.z, desk.z0, desk.f0, desk.steps, desk.moved
    a, m, count = few.ends[q], few.ends[q + 1] - few.ends[q], 0
    s, j, (grown, factor) = few.together * a + c * m, q * few.together + c, factors
    for b in range(m):
        step = z[b] - z0[b]
        if step != 0:
            steps[count], moved[count] = step, few.samples[a + b]
            count += 1
            for d in range(f0.size):
                f0[d] += step * inside[b, d]
    for b in range(m):
        duals.u[s + b] = desk.y[b] * (factor * z[b])
        if desk.low[b] < desk.high[b]:
            duals.fields[s + b] = factor * f0[b]
    follow_watched(few, j, grown, moved, steps, count, duals.outside)
    if factor != 1:
        follow_watched(few, j, factor, moved, steps, 0, duals.outside)


@inlined
def follow_watched(few: Any, j: int, factor: float, moved: Any, steps: Any, count: int, outside: Any) -> None:
    """Multiply the field of the samples that are watched in column j, and add rows of K times steps."""
    lists = few.begins.size - 1
    first, last, row = few.begins[j % lists], few.begins[j % lists + 1], j // lists
    if factor != 1:
        for w in range(first, last):
            outside[row, w] *= factor
    _follow(few.rows, few.watched, first, last, moved, steps, count, outside[row])


@inlined
def _follow(
    rows: Any, watched: Any, first: int, last: int, moved: Any, steps: Any, count: int, field: Any
) -> None:
    """Add rows of K times steps to the field of watched samples, which may be neighbours of each other."""
    fours, start, side_by_side = count - count % 4, np.uint64(0), False
    if last > first:
        start = np.uint64(watched[first])
        side_by_side = np.uint64(watched[last - 1]) - start == np.uint64(last - first - 1)
    for p in range(0, fours, 4):
        r0, r1, r2, r3 = moved[p], moved[p + 1], moved[p + 2], moved[p + 3]
        s0, s1, s2, s3 = steps[p], steps[p + 1], steps[p + 2], steps[p + 3]
        if side_by_side:
            for w in range(np.uint64(last - first)):
                i, v = start + w, np.uint64(first) + w
                two = s1 * np.float64(rows[r1, i]) + (s0 * np.float64(rows[r0, i]) + field[v])
                field[v] = s3 * np.float64(rows[r3, i]) + (s2 * np.float64(rows[r2, i]) + two)
        else:
            for w in range(first, last):
                i = watched[w]
                two = s1 * np.float64(rows[r1, i]) + (s0 * np.float64(rows[r0, i]) + field[w])
                field[w] = s3 * np.float64(rows[r3, i]) + (s2 * np.float64(rows[r2, i]) + two)
    for p in range(fours, count):
        for w in range(first, last):
            field[w] += steps[p] * np.float64(rows[moved[p], watched[w]])
