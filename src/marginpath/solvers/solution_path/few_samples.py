"""Columns of few samples: all of them are one working set, and their arrays stay next to the core.

A question of few samples, such as a pair of classes, needs little of K: rows among its own samples, which are
copied where a step needs them and shared by its columns. The steps of a column know the field of its own
samples at every moment; the field of others that are watched learns of all steps at once, in the end.

As in ``column.py``, no sum is reordered, and each has one product at most to be fused with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .column import CLOSE, LEAST
from .part import compiled, extremal

_CLOSED = 1e300  # what keeps a coordinate out of a maximum
_FLAT = 1e-12  # least curvature of a step, over the diagonal
_TINY = 1e-300
_SHARE = 0.3  # of the violation that is left until the gap is looked at again
_SPARE = 0.5  # of the gap asked for that the samples may keep
_AHEAD = 0.6  # rounds of pair steps until the gap is small, over the logarithm of what it is too large by
_PATIENCE = 2**18  # pair steps times samples, of a column, that are too many: Newton's method may be faster


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


@extremal
def pair_steps(desk: Any, few: Any, q: int, eps: float, limit: int) -> int:
    """Take pair steps until no violation is over eps or the limit is reached; count them.

    As ``steps._pairs``, with −e of those that can rise in one array, e of those that can fall in another.
    Small loops stand here, not in functions: to count references to a row takes longer than it.
    """
    inside, known, squares, _, low, high, z, _, _, _, up, down, gain, lane, _, _ = desk
    room = up.size
    for taken in range(limit):
        top = _most(up, lane)
        if not _most(down, lane) + top > eps:
            return taken
        i = _where(up, top)
        if not known[i]:
            _copy_row(desk, few, q, i)
        for b in range(room):
            apart, both = max(down[b] + top, 0.0), squares[i] + squares[b]
            gain[b] = apart * apart / max(both - 2 * inside[i, b], max(_FLAT * both, _TINY))
        best = _most(gain, lane)
        if not 0 < best < np.inf:
            return taken
        j = _where(gain, best)
        if not known[j]:
            _copy_row(desk, few, q, j)
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
    return limit


@compiled
def _copy_row(desk: Any, few: Any, q: int, i: int) -> None:
    """Copy a row of K among the samples of question q; neighbours of each other are copied as they lie."""
    inside, rows, samples, a = desk.inside, few.rows, few.samples, few.ends[q]
    m, first, row = few.ends[q + 1] - a, np.uint64(samples[a]), samples[a + i]
    if np.uint64(samples[a + m - 1]) - first == np.uint64(m - 1):
        for b in range(np.uint64(m)):
            inside[i, b] = rows[row, first + b]
    else:
        for b in range(m):
            inside[i, b] = rows[row, samples[a + b]]
    for b in range(m, desk.known.size):
        inside[i, b] = 0.0
    desk.known[i] = True


@extremal
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


@extremal
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
            grown = _enter(own, few, q, c, duals.start, duals.fields, (duals.before[j], duals.bound[j]))
            duals.offset[j], factor, solved[j] = _settle(own, few, q, asked, stop)
            _leave(own, few, q, c, (grown, factor), duals)


@compiled
def _enter(desk: Any, few: Any, q: int, c: int, start: Any, fields: Any, bounds: Any) -> Any:
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
    for b in range(z.size):
        up[b] = -f[b] - y[b] if z[b] < high[b] else -_CLOSED
        down[b] = f[b] + y[b] if z[b] > low[b] else -_CLOSED
    for _ in range(asked.rounds):
        beta, violation, gap, scale, factor, total = _survey(desk)
        if gap <= tol * scale:
            return factor * beta, factor, True
        if left <= 0 or stop[0]:
            return beta, 1.0, False
        eps = min(max(_SHARE * violation, _SPARE * tol * scale / max(scale, total)), violation / 2)
        taken = pair_steps(desk, few, q, eps, left)
        for b in range(z.size):
            f[b] = (down[b] if z[b] > low[b] else -up[b]) - y[b] if low[b] < high[b] else 0.0
        left -= taken if taken > 0 else left  # none: rounding is all that is left
        if taken * _AHEAD * np.log(gap / (tol * scale)) > left:
            left = 0
    return _survey(desk)[0], 1.0, True


@extremal
def _survey(desk: Any) -> Any:
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
    if top < -_CLOSED / 2 or bottom < -_CLOSED / 2:  # an empty box
        return 0.0, 0.0, 0.0, 0.0, 1.0, 0.0
    beta, violation = (top - bottom) / 2, bottom + top
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
    if 0 < least < 1 and total > 0:
        for b in range(z.size):
            term[b] = abs(z[b]) - least * (high[b] - low[b]) if low[b] < high[b] else -1.0
        without_loss = (1 + CLOSE) / least
        if _most(term, lane) < 0 and without_loss * (without_loss * squared - total) < gap:
            factor, gap = without_loss, without_loss * (without_loss * squared - total)
            scale = min(scale, without_loss * without_loss * squared / 2)  # the objective there
    off = abs(excess) / total * scale if total > 0 else 0.0
    return beta, violation, max(gap, off), scale, factor, total


@compiled
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
def _leave(desk: Any, few: Any, q: int, c: int, factors: Any, duals: Any) -> None:
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
    follow_watched(few, j, grown, moved, steps, count, duals.outside)
    if factor != 1:
        follow_watched(few, j, factor, moved, steps, 0, duals.outside)
    for b in range(m):
        duals.u[s + b] = desk.y[b] * (factor * z[b])
        if desk.low[b] < desk.high[b]:
            duals.fields[s + b] = factor * f0[b]


@compiled
def follow_watched(few: Any, j: int, factor: float, moved: Any, steps: Any, count: int, outside: Any) -> None:
    """Multiply the field of the samples that are watched in column j, and add rows of K times steps."""
    rows, watched, lists = few.rows, few.watched, few.begins.size - 1
    k, field = j % lists, outside[j // lists]
    first, last, fours = few.begins[k], few.begins[k + 1], count - count % 4
    if factor != 1:
        for w in range(first, last):
            field[w] *= factor
    for p in range(0, fours, 4):
        r0, r1, r2, r3 = moved[p], moved[p + 1], moved[p + 2], moved[p + 3]
        s0, s1, s2, s3 = steps[p], steps[p + 1], steps[p + 2], steps[p + 3]
        for w in range(first, last):
            i = watched[w]
            two = s1 * np.float64(rows[r1, i]) + (s0 * np.float64(rows[r0, i]) + field[w])
            field[w] = s3 * np.float64(rows[r3, i]) + (s2 * np.float64(rows[r2, i]) + two)
    for p in range(fours, count):
        for w in range(first, last):
            field[w] += steps[p] * np.float64(rows[moved[p], watched[w]])
