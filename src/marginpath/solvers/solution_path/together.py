"""Columns of one question on their way together, on the samples that move in any of them.

The folds of a question and all its data have nearly the same samples between their bounds. What of K is among
these is gathered once for all columns, rounded to 16 bits; every column goes its own way on it; and the rows
of K itself that are then added to the fields are read once for all. The gap is that of the fields: rounding
costs steps, never a solution. What is left after that, each column does by itself: see ``advance.py``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...problem.questions import Question
from ..coordinate.compiled import add_rows
from .advance import Asked, Duals, enter, leave
from .blocks import pairs_in_blocks
from .column import choose, room_for, survey
from .kernel_columns import Share
from .part import compiled

_ROUNDS = 8  # of gathering, solving and following
_SPARE, _LATER = 0.8, 0.95  # of the gap asked for that the samples may keep, in the first round and in others
_SHARE = 0.5  # of the violation, until the gap is looked at again
_LIMIT = 0.5  # pair steps for that, over the number of samples, that are too many
_FALLS = 0.5  # of the gap, in each round: a column that is slower goes on by itself
_EARLY = 0.125  # of the samples to work on, that are between their bounds: fewer are early in a path
_ROOM = 1.125  # for samples that join later
_LARGEST = 2**15 - 1  # the number that the largest kernel value becomes
_CHUNK = 256  # rows that a thread gathers at a time
_PIECE, _ROWS = 2048, 64  # entries of a field, and rows, that stay near the core meanwhile


class Threads(NamedTuple):
    """Who does the work: ``share(task, items)`` runs a task on every item, by so many threads."""

    share: Share
    workers: int
    stop: np.ndarray


class Together:
    """The columns of a question, and K among the samples that are worked on, its members."""

    def __init__(
        self, rows: np.ndarray, diagonal: np.ndarray, question: Question, duals: Duals, threads: Threads
    ) -> None:
        self.rows, self.question, self.duals, self.threads = rows, question, duals, threads
        self.fields = duals.fields[question.first : question.first + len(question.signed)]
        self.every = range(len(question.signed))
        self.columns: list[Any] = [None for _ in self.every]
        self.members, self.matrix = question.samples[:0], np.empty((0, 0), dtype=np.int16)
        self.unit = float(np.max(diagonal)) / _LARGEST

        def begin(c: int) -> None:
            j, (_, samples, signed) = question.first + c, question
            bounds = duals.before[j], duals.bound[j]
            self.columns[c] = enter(samples, diagonal, signed[c], duals.start[:, j], self.fields[c], bounds)
            duals.before[j] = duals.bound[j]

        threads.share(begin, self.every)

    def advance(self, asked: Asked, memory: np.ndarray) -> None:
        """Bring the columns near their solutions; the memory, of 16 bits a number, is for the matrix."""
        (share, _, stop), samples = self.threads, self.question.samples
        gaps, scales = np.full(len(self.every), np.inf), np.zeros(len(self.every))
        wanted = [samples[:0] for _ in self.every]

        def look(c: int) -> None:
            column, most = self.columns[c], _FALLS * gaps[c]
            gaps[c], scales[c], wanted[c] = candidates(samples, column, self.fields[c], asked, most)

        for turn in range(_ROUNDS):
            share(look, self.every)
            going = [c for c in self.every if len(wanted[c])]
            if turn == 0 and self._is_early(wanted):
                share(lambda c: self._settle_on_all(c, float(_SPARE * asked.tol * scales[c])), going[::-1])
                continue
            if not going or stop[0] or not self._gather([wanted[c] for c in going], memory):
                break
            self._follow(self._settle(going, (_LATER if turn else _SPARE) * asked.tol * scales))

    def end(self) -> None:
        """Write where the columns are as what they start from."""
        first, samples, _ = self.question
        self.threads.share(
            lambda c: leave(samples, self.columns[c], self.duals.start[:, first + c]), self.every
        )

    def _is_early(self, wanted: list[np.ndarray]) -> bool:
        """Whether few are between their bounds: others then go from one to the other, and few rows do."""
        if self.question.samples.size < len(self.rows):
            return False
        return bool(sum(map(count_free, self.columns)) < _EARLY * sum(map(len, wanted)))

    def _settle_on_all(self, c: int, goal: float) -> None:
        """Solve a column on all samples, by rows of K itself: the field follows at every step."""
        field, column = self.fields[c], self.columns[c]
        e = field + column.y
        approach(self.rows, 1.0, *column, e, goal, self.threads.stop)
        np.subtract(e, column.y, out=field)

    def _gather(self, wanted: list[np.ndarray], memory: np.ndarray) -> bool:
        """Let the wanted samples join the members; return whether there is room for them."""
        fresh = np.zeros(self.question.samples.size, dtype=bool)
        for some in wanted:
            fresh[some] = True
        fresh[self.members], known = False, self.members.size
        self.members = np.concatenate((self.members, np.flatnonzero(fresh)))
        m = self.members.size
        if not known:
            room = min(int(_ROOM * m), math.isqrt(memory.size))
            self.matrix = memory[: room**2].reshape(room, room)
        if m > len(self.matrix):
            return False
        where = self.question.samples[self.members].astype(
            np.uint32
        )  # numbers with a sign are looked at first
        self.threads.share(
            lambda a: gather_rows(self.rows, where, known, self.matrix, 1 / self.unit, a, min(a + _CHUNK, m)),
            range(0, m, _CHUNK),
        )
        return True

    def _settle(self, going: list[int], goals: np.ndarray) -> np.ndarray:
        """Solve the given columns on the members; return by how much each changed: (columns, members)."""
        steps, samples, stop = (
            np.zeros((len(self.every), self.members.size)),
            self.question.samples,
            self.threads.stop,
        )

        def one(c: int) -> None:
            column, field = self.columns[c], self.fields[c]
            settle(self.matrix, self.unit, samples, self.members, column, field, goals[c], stop, steps[c])

        self.threads.share(one, going[::-1])
        return steps

    def _follow(self, steps: np.ndarray) -> None:
        """Bring the fields up to date."""
        moved, n = np.flatnonzero(steps.any(axis=0)), self.fields.shape[1]
        where, steps = self.question.samples[self.members[moved]], np.ascontiguousarray(steps[:, moved])
        length = -(-n // self.threads.workers)
        self.threads.share(
            lambda a: add_to_all(self.rows, where, steps, self.fields, a, min(a + length, n)),
            range(0, n, length),
        )


@compiled
def candidates(samples: Any, column: Any, field: Any, asked: Any, most: float) -> Any:
    """Return the gap, its scale, and the samples to work on; none where it is small, or over most."""
    f, (_, y, low, high, z) = np.empty(samples.size), column
    for i in range(samples.size):
        f[i] = field[samples[i]]
    beta, _, gap, scale, _ = survey(y, low, high, z, f, True)
    if gap <= asked.tol * scale or gap > most:
        return gap, scale, np.empty(0, np.int64)
    return gap, scale, choose(y, low, high, z, f, beta, room_for(low, high, z, asked.working_set))


@compiled
def count_free(column: Any) -> int:
    """Return how many samples of a column are between their bounds."""
    count = 0
    for i in range(column.z.size):
        count += column.low[i] < column.z[i] < column.high[i]
    return count


@compiled
def gather_rows(
    rows: Any, where: Any, known: int, matrix: Any, per_unit: float, first: int, last: int
) -> None:
    """Write the rows first to last of the matrix among the samples, of which so many were known before."""
    factor = rows.dtype.type(per_unit)
    for c in range(first, last):
        row, out = rows[where[c]], matrix[c]
        for d in range(known if c < known else 0, where.size):
            out[d] = np.int16(np.rint(row[where[d]] * factor))


@compiled
def settle(
    matrix: Any,
    unit: float,
    samples: Any,
    members: Any,
    column: Any,
    field: Any,
    goal: float,
    stop: Any,
    steps: Any,
) -> None:
    """Solve a column on the members, all others staying where they are; write by how much they changed."""
    m = members.size
    diagonal, y, low, high = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    z, e = np.empty(m), np.empty(m)
    for c in range(m):
        i = members[c]
        diagonal[c], y[c], low[c], high[c] = column.diagonal[i], column.y[i], column.low[i], column.high[i]
        z[c], e[c] = column.z[i], field[samples[i]] + column.y[i]
    approach(matrix, unit, diagonal, y, low, high, z, e, goal, stop)
    for c in range(m):
        i = members[c]
        steps[c], column.z[i] = z[c] - column.z[i], z[c]


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
    goal: float,
    stop: Any,
) -> None:
    """Take pair steps until the gap is the goal, or they are too slow."""
    limit, taken = int(_LIMIT * z.size), 1
    while 0 < taken < limit and not stop[0]:
        violation, gap = gap_of_part(y, low, high, z, e)
        if gap <= goal:
            break
        taken = pairs_in_blocks(matrix, unit, diagonal, low, high, z, e, _SHARE * violation, limit, stop)


@compiled
def gap_of_part(y: Any, low: Any, high: Any, z: Any, e: Any) -> Any:
    """Return the largest violation among some samples, and the part of the duality gap that is theirs.

    As Σ z_i = 0, the gap is Σ z_i (f_i + β) − |z_i| + (high_i − low_i) max(0, 1 − m_i). Samples at their
    bound with margins under 1, and those at 0 with margins over 1, add nothing: it is all of those worked on.
    """
    rise, fall, gap = np.inf, -np.inf, 0.0
    for c in range(z.size):
        if z[c] < high[c]:
            rise = min(rise, e[c])
        if z[c] > low[c]:
            fall = max(fall, e[c])
    for c in range(z.size):
        if low[c] < high[c]:
            error = y[c] * (e[c] - (rise + fall) / 2)  # 1 − m_i
            gap += y[c] * z[c] * (error - 1) - abs(z[c]) + (high[c] - low[c]) * max(error, 0.0)
    return fall - rise, gap


@compiled
def add_to_all(rows: Any, where: Any, steps: Any, fields: Any, first: int, last: int) -> None:
    """Add the rows ``where`` times their steps, (columns, rows), to entries first to last of the fields."""
    for a in range(first, last, _PIECE):
        b = min(a + _PIECE, last)
        for p in range(0, where.size, _ROWS):
            for j in range(len(steps)):
                add_rows(rows, where[p : p + _ROWS], steps[j, p : p + _ROWS], fields[j, a:b], a)
