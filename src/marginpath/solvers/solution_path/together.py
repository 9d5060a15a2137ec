"""Columns of one question on their way together, on the samples that move in any of them.

The folds of a question and all its data have nearly the same samples between their bounds. What of K is among
these is gathered once for all columns, rounded to 16 bits: see ``gathered.py``. Every column goes its own way
on it; and the rows of K itself that are then added to the fields are read once for all. The gap is that of
the fields: rounding costs steps, never a solution. What is left after that, each column does by itself: see
``advance.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...problem.questions import Question
from ..coordinate.compiled import add_rows
from .advance import Asked, Duals, enter, leave
from .blocks import pairs_in_blocks
from .column import choose, count_free, room_for, sharpen, survey
from .gathered import LARGEST, Gathered
from .kernel_columns import Share
from .part import compiled

_ROUNDS = 8  # of gathering, solving and following
_SPARE, _LATER = 0.8, 0.95  # of the gap asked for that the samples may keep, in the first round and in others
_SHARE = 0.5  # of the violation, until the gap is looked at again
_LIMIT = 0.5  # pair steps for that, over the number of samples, that are too many
_FALLS = 0.5  # of the gap, in each round: a column that is slower goes on by itself
_EARLY = 0.125  # of the samples to work on, that are between their bounds: fewer are early in a path
_COARSE = 0.02  # of a margin: what the rounding of one kernel value may be, times the bound
_PIECE = 4096  # entries of a field that stay near the core meanwhile


class Threads(NamedTuple):
    """Who does the work: ``share(task, items)`` runs a task on every item, by so many threads."""

    workers: int
    share: Share
    stop: np.ndarray


class Way:
    """The way of one column: where it is, its gap and the scale of that, and which samples to work on."""

    def __init__(self, question: Question, c: int, diagonal: np.ndarray, duals: Duals) -> None:
        (first, self.samples, signed), self.duals = question, duals
        self.j = j = first + c
        self.field, bounds = duals.fields[j], (duals.before[j], duals.bound[j])
        self.column = enter(self.samples, diagonal, signed[c], duals.start[:, j], self.field, bounds)
        self.gap, self.scale, self.wanted, self.is_solved = np.inf, 0.0, self.samples[:0], False
        self.kept = self.column.z, self.field

    def look(self, asked: Asked) -> None:
        """Find out where it is: at the solution, or what is to be worked on, if that helped the last time."""
        before = self.gap
        self.gap, self.scale, self.wanted, offset = candidates(
            self.samples, self.column, self.field, asked, _FALLS * before
        )
        self.is_solved = self.gap <= asked.tol * self.scale
        if self.is_solved:
            self.duals.offset[self.j] = offset
            leave(self.samples, self.column, self.duals.u[:, self.j])
        elif self.gap > before:  # rounded kernel values may lead astray
            self.column.z[:], self.field[:] = self.kept
        elif len(self.wanted):
            self.kept = self.column.z.copy(), self.field.copy()

    def settle_on_all(self, rows: np.ndarray, goal: float, stop: np.ndarray) -> None:
        """Go near the solution by rows of K itself: the field follows at every step."""
        y = self.column.y
        e = self.field + y
        order = np.arange(y.size, dtype=np.uint32)
        approach(rows, 1.0, *self.column, e, order, goal * self.scale, stop)
        np.subtract(e, y, out=self.field)

    def leave(self) -> None:
        """Write where it is, as what to start from."""
        leave(self.samples, self.column, self.duals.start[:, self.j])
        self.duals.before[self.j] = self.duals.bound[self.j]


def fine_enough(diagonal: np.ndarray, bound: np.ndarray) -> bool:
    """Whether 16 bits do for kernel values: K_ii are about the same, and coefficients are not too large."""
    largest = float(np.max(diagonal))
    return largest < 2 * float(np.min(diagonal)) and float(np.max(bound)) * largest < _COARSE * LARGEST


class Together:
    """The columns of a question, and the samples that are worked on in any of them."""

    def __init__(
        self, known: Gathered, diagonal: np.ndarray, question: Question, threads: Threads, limit: int
    ) -> None:
        self.known, self.diagonal, self.question, self.threads = known, diagonal, question, threads
        self.limit, self.working = limit, np.zeros(question.samples.size, dtype=bool)

    def advance(self, duals: Duals, asked: Asked) -> list[int]:
        """Bring the columns near their solutions, and return those that are there.

        The others start from where they are now.
        """
        columns, (_, share, stop) = range(len(self.question.signed)), self.threads
        ways: list[Any] = [None for _ in columns]

        def begin(c: int) -> None:
            ways[c] = Way(self.question, c, self.diagonal, duals)
            ways[c].look(asked)

        share(begin, columns)
        if self._is_early(ways):
            going = [way for way in reversed(ways) if len(way.wanted)]
            share(lambda way: way.settle_on_all(self.known.rows, _SPARE * asked.tol, stop), going)
            share(lambda way: way.look(asked), going)
        for turn in range(_ROUNDS):
            going = [way for way in ways if len(way.wanted)]
            if not going or stop[0] or not self._gather(going):
                break
            self._follow(duals, self._settle(going, (_LATER if turn else _SPARE) * asked.tol))
            share(lambda way: way.look(asked), going)
        for way in ways:
            if not way.is_solved:
                way.leave()
        return [way.j for way in ways if way.is_solved]

    def _is_early(self, ways: list[Way]) -> bool:
        """Whether few are between their bounds: others then go from one to the other, and few rows do."""
        if self.question.samples.size < len(self.known.rows):
            return False
        free = sum(count_free(*way.column[2:]) for way in ways)
        return bool(free < _EARLY * sum(len(way.wanted) for way in ways))

    def _gather(self, ways: list[Way]) -> bool:
        """Bring those that are wanted together with those before; return whether there is room for them."""
        for way in ways:
            self.working[way.wanted] = True
        working = self.question.samples[self.working]
        return self.known.include(working, self.limit, self.threads.share)

    def _settle(self, ways: list[Way], goal: float) -> dict[int, np.ndarray]:
        """Let columns go near their solutions on those that work; return by how much each of them changed."""
        known, own = self.known, np.flatnonzero(self.working)
        order = known.order(self.question.samples[own])
        steps = {way.j: np.empty(own.size) for way in ways}

        def one(way: Way) -> None:
            given = self.known.matrix, self.known.unit, self.known.members.size, order, own
            settle(
                *given, way.samples, way.column, way.field, goal * way.scale, self.threads.stop, steps[way.j]
            )

        self.threads.share(one, reversed(ways))
        return steps

    def _follow(self, duals: Duals, steps: dict[int, np.ndarray]) -> None:
        """Bring the fields of the columns that moved up to date."""
        columns, changes = np.array(list(steps)), np.stack(list(steps.values()))
        moved, n = np.flatnonzero(changes.any(axis=0)), duals.fields.shape[1]
        where = self.question.samples[self.working][moved]
        changes, length = np.ascontiguousarray(changes[:, moved]), -(-n // self.threads.workers)

        def part(a: int) -> None:
            add_to_all(self.known.rows, where, changes, columns, duals.fields, a, min(a + length, n))

        self.threads.share(part, range(0, n, length))


@compiled
def candidates(samples: Any, column: Any, field: Any, asked: Any, most: float) -> Any:
    """Return the gap, its scale, the samples to work on, none where the gap is over most, and the offset.

    Nor are there any where it is small: then z and the field have been multiplied by the factor for that.
    """
    f, (_, y, low, high, z) = np.empty(samples.size), column
    for i in range(samples.size):
        f[i] = field[samples[i]]
    middle, violation, gap, scale, factor = survey(y, low, high, z, f, True)
    beta = middle
    if gap > asked.tol * scale:
        beta, gap, scale, factor = sharpen(y, low, high, z, f, middle, violation)
    if gap <= asked.tol * scale:
        if factor != 1:
            for i in range(z.size):
                z[i] *= factor
            for i in range(field.size):
                field[i] *= factor
        return gap, scale, np.empty(0, np.int64), factor * beta
    if gap > most:
        return gap, scale, np.empty(0, np.int64), beta
    return gap, scale, choose(y, low, high, z, f, middle, room_for(low, high, z, asked.working_set)), beta


@compiled
def settle(
    matrix: Any,
    unit: float,
    members: int,
    order: Any,
    own: Any,
    samples: Any,
    column: Any,
    field: Any,
    goal: float,
    stop: Any,
    steps: Any,
) -> None:
    """Solve a column on its own samples that work, all others staying where they are; write by how much.

    In the matrix among so many members, these are at the places ``order``. The others rest: their box is
    empty.
    """
    diagonal, y, e = np.ones(members), np.zeros(members), np.zeros(members, np.float32)
    low, high, z = np.zeros(members), np.zeros(members), np.zeros(members)
    for a in range(own.size):
        c, i = order[a], own[a]
        diagonal[c], y[c], low[c], high[c] = column.diagonal[i], column.y[i], column.low[i], column.high[i]
        z[c], e[c] = column.z[i], field[samples[i]] + column.y[i]
    approach(matrix, unit, diagonal, y, low, high, z, e, order, goal, stop)
    for a in range(own.size):
        c, i = order[a], own[a]
        steps[a], column.z[i] = z[c] - column.z[i], z[c]


@compiled
def approach(
    matrix: Any,
    unit: float,
    diagonal: Any,
    y: Any,
    low: Any,
    high: Any,
    z: Any,
    e: Any,
    order: Any,
    goal: float,
    stop: Any,
) -> None:
    """Take pair steps until the gap is the goal, or they are too slow."""
    limit, taken = int(_LIMIT * order.size), 1
    while 0 < taken < limit and not stop[0]:
        violation, gap = gap_of_part(y, low, high, z, e, order)
        if gap <= goal:
            break
        taken = pairs_in_blocks(
            matrix, unit, diagonal, low, high, z, e, order, _SHARE * violation, limit, stop
        )


@compiled
def gap_of_part(y: Any, low: Any, high: Any, z: Any, e: Any, order: Any) -> Any:
    """Return the largest violation among some samples, and the part of the duality gap that is theirs.

    As Σ z_i = 0, the gap is Σ z_i (f_i + β) − |z_i| + (high_i − low_i) max(0, 1 − m_i). No term is negative.
    Those of samples at their bound with margins under 1, or at 0 with margins over 1, are 0: others are so.
    """
    rise, fall, gap = np.inf, -np.inf, 0.0
    for c in order:
        if z[c] < high[c]:
            rise = min(rise, e[c])
        if z[c] > low[c]:
            fall = max(fall, e[c])
    for c in order:
        if low[c] < high[c]:
            error = y[c] * (e[c] - (rise + fall) / 2)  # 1 − m_i
            gap += y[c] * z[c] * (error - 1) - abs(z[c]) + (high[c] - low[c]) * max(error, 0.0)
    return fall - rise, gap


@compiled
def add_to_all(rows: Any, where: Any, steps: Any, columns: Any, fields: Any, first: int, last: int) -> None:
    """Add the rows ``where``, times the steps of each column, to entries first to last of its field."""
    k, eights = columns.size, where.size - where.size % 8
    for a in range(first, last, _PIECE):
        b = min(a + _PIECE, last)
        for p in range(0, eights, 8):
            for j in range(0, k - 1, 2):
                add_eight_to_two(
                    rows, where[p:], steps[j, p:], steps[j + 1, p:], fields, columns[j : j + 2], a, b
                )
            if k % 2:
                add_rows(rows, where[p : p + 8], steps[k - 1, p : p + 8], fields[columns[k - 1], a:b], a)
        for j in range(k):
            add_rows(rows, where[eights:], steps[j, eights:], fields[columns[j], a:b], a)


@compiled
def add_eight_to_two(rows: Any, where: Any, s: Any, t: Any, fields: Any, pair: Any, a: int, b: int) -> None:
    """Add eight rows to two fields at once, as ``add_rows`` does: each number of a row is converted once."""
    x, y = fields[pair[0], a:b], fields[pair[1], a:b]
    r0, r1, r2, r3 = rows[where[0], a:b], rows[where[1], a:b], rows[where[2], a:b], rows[where[3], a:b]
    r4, r5, r6, r7 = rows[where[4], a:b], rows[where[5], a:b], rows[where[6], a:b], rows[where[7], a:b]
    s0, s1, s2, s3, s4, s5, s6, s7 = s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
    t0, t1, t2, t3, t4, t5, t6, t7 = t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7]
    for c in range(b - a):
        p0, p1, p2, p3 = np.float64(r0[c]), np.float64(r1[c]), np.float64(r2[c]), np.float64(r3[c])
        p4, p5, p6, p7 = np.float64(r4[c]), np.float64(r5[c]), np.float64(r6[c]), np.float64(r7[c])
        half = s3 * p3 + (s2 * p2 + (s1 * p1 + (s0 * p0 + x[c])))
        x[c] = s7 * p7 + (s6 * p6 + (s5 * p5 + (s4 * p4 + half)))
        half = t3 * p3 + (t2 * p2 + (t1 * p1 + (t0 * p0 + y[c])))
        y[c] = t7 * p7 + (t6 * p6 + (t5 * p5 + (t4 * p4 + half)))
