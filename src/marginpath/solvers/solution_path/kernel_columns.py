"""Solutions on kernel values: working sets, of each column by itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np

from ... import parallel
from ...arrays import Array, blocks
from ...gram.base import Gram
from ...parallel import for_all, stopped_in_time
from ...problem import Problem
from ...problem.questions import Question
from ..starting import first_lambda
from .packed import PackedColumns

#: Questions from which on a thread takes one with all its columns at a time: fewer would leave some idle.
QUESTIONS = 10
_ROUGH = 1e-4  # gaps from which on kernel values of 16 bits will do, on the way
_ROWS, _FEW = 1024, 2**16  # rows that are transposed at a time, and numbers that one thread transposes
_SUMMED = 2**20  # numbers of rows that one thread adds up


#: Runs a task on every item, by threads.
Share = Callable[[Callable[[Any], None], Iterable[Any]], None]


class Solution(NamedTuple):
    """The dual variable, its field, the offset, and the scores, which contain it."""

    u: Array
    field: Array
    offset: Array
    scores: Array

    @property
    def of_state(self) -> dict[str, Any]:
        """What a state has of it."""
        return self._asdict()


class KernelColumns:
    """The columns of a problem on their way to the solution: u, (n, columns), and K(Y∘u), (columns, n)."""

    def __init__(self, problem: Problem, state: Any, bound: Array) -> None:
        self.problem = problem
        self.bound, self.before = (np.atleast_1d(b).astype(np.float64) for b in (bound, state.bound))
        self.f = np.atleast_2d(np.array(state.field, dtype=np.float64, order="F").T)
        u = np.asarray(state.u, dtype=np.float64).reshape(self.f.T.shape)
        self.start = np.asarray(u, order="C")
        self.u, self.offset = np.zeros(u.shape), np.zeros(len(self.f))

    def result(self, refresh: bool) -> Solution | PackedColumns:
        """Return where the columns stand, with the shape of the labels; the field anew where asked for."""
        shape, u = self.problem.shape, self.u.reshape(self.problem.shape)
        if refresh:
            product = self.problem.gram.accurate_product(self.problem.Y * u)
            self.f = np.ascontiguousarray(np.atleast_2d(np.asarray(product, dtype=np.float64).T))
        offset = self.offset.reshape(shape[1:])
        return Solution(u, self.f.T.reshape(shape, order="A"), offset, self._scores().reshape(shape))

    def _scores(self) -> np.ndarray:
        """Return the fields with their offsets, (n, columns)."""
        from .advance import transpose

        scores, rows = np.empty(self.start.shape), list(blocks(len(self.start), _ROWS))
        workers = parallel.available() if scores.size > _FEW else 1
        for_all(lambda ab: transpose(self.f, self.offset, scores[slice(*ab)], ab[0]), rows, workers)
        return scores

    @staticmethod
    def at_start(problem: Problem) -> tuple[Solution | PackedColumns, float]:
        """Return u = 0 with the field of Y∘mass, and the first λ."""
        field = product_of_alike(problem)
        u, offset = np.zeros(problem.shape), np.zeros(problem.shape[1:])
        return Solution(u, field, offset, np.zeros(problem.shape)), first_lambda(problem, field)

    def begin(self) -> None:
        """Put all samples at the bound; with an intercept, of the larger class the worst ones only."""
        self.start, less = np.zeros(self.start.shape), np.zeros(len(self.f), dtype=bool)
        part = np.zeros(self.start.shape)
        for question in self.problem.questions:
            for j, direction in enumerate(question.signed, question.first):
                own = self.f[j, question.samples]
                chosen = balanced(direction, own) if self.problem.intercept else direction
                self.start[question.samples, j] = -self.bound[j] * np.abs(chosen)
                # The smaller part of the samples makes the field, of each column by itself.
                left = direction - chosen
                less[j] = np.count_nonzero(left) < np.count_nonzero(chosen)
                part[question.samples, j] = left if less[j] else chosen
        field = self._field(part)
        self.f = -self.bound[:, None] * np.where(less[:, None], self.f - field, field)
        self.before = self.bound

    def _field(self, v: np.ndarray) -> np.ndarray:
        """Return K v of every column v, as rows."""
        if not v.any():
            return np.zeros_like(self.f)
        product = self.problem.gram.accurate_product(v.reshape(self.problem.shape))
        return np.asarray(product, dtype=np.float64).reshape(v.shape).T

    def solve(self, settings: Any, t: int) -> None:
        """Work on sets of samples until every column has its gap; an interrupt or the deadline stops all."""
        stop = np.zeros(1, dtype=bool)
        # Rows that are not stored are computed together, and their last digits depend on which: so one column
        # comes after the other then, and the threads share the rows.
        workers = (settings.threads or parallel.available()) if self.problem.gram.matrix is not None else 1
        stop_all = partial(stop.fill, True)
        ends_soon = len(self.problem.Y) <= parallel.QUICK
        share: Share = partial(for_all, workers=workers, stop=None if ends_soon else stop_all)
        with stopped_in_time(stop_all):
            solved = self._solve_some(settings, workers, share, stop)
            if rest := self._shared_out(solved):
                share(lambda part: self._solve(part, settings, stop), rest)

    def _solve_some(self, settings: Any, workers: int, share: Share, stop: np.ndarray) -> set[int]:
        """Return the columns that are solved in another way than each by itself, if there is one."""
        if self._go_together(settings):
            return self._solve_together(settings, workers, share, stop)
        return set()

    def _go_together(self, settings: Any) -> bool:
        """Whether what of K the columns need is gathered for all of them at once, rounded to 16 bits.

        It is where there are many samples and few questions, and gap and kernel allow it.
        """
        problem = self.problem
        if problem.gram.matrix is None or len(self.start) <= parallel.QUICK or settings.tol < _ROUGH:
            return False
        if len(problem.questions) >= QUESTIONS or not problem.intercept:
            return False
        from .together import fine_enough

        return fine_enough(problem.gram.diagonal, self.bound)

    def _solve_together(self, settings: Any, *threads: Any) -> set[int]:
        """Return the columns that are solved; the others start from where they are."""
        from .column import MOST
        from .gathered import gathered
        from .together import Threads, Together

        gram, solved = cast(Any, self.problem.gram), set[int]()
        self.start, self.before = self.start.copy(), self.before.copy()
        for question in self.problem.questions:
            if len(question.signed) > 1:
                with gathered(gram, question.first) as known:
                    # Of 16 bits a number, in the memory that a working set of numbers of K would take.
                    limit = math.isqrt((MOST * settings.working_set) ** 2 * gram.matrix.itemsize // 2)
                    together = Together(known, gram.diagonal, question, Threads(*threads), limit)
                    solved.update(together.advance(self._duals, self._asked(settings)))
        return solved

    def _asked(self, settings: Any) -> Any:
        from .advance import Asked

        return Asked(self.problem.intercept, settings.tol, settings.working_set, settings.rounds)

    @property
    def _duals(self) -> Any:
        from .advance import Duals

        return Duals(self.start, self.u, self.f, self.before, self.bound, self.offset)

    def _shared_out(self, solved: set[int]) -> list[Question]:
        """Return what a thread takes at a time: the columns of a question, or one, where there are few."""
        questions = self.problem.questions
        if len(questions) >= QUESTIONS and not solved:
            return list(questions)
        return [
            Question(q.first + j, q.samples, q.signed[j : j + 1])
            for q in questions
            for j in range(len(q.signed))
            if q.first + j not in solved
        ]

    def _solve(self, question: Question, settings: Any, stop: np.ndarray) -> None:
        from .advance import advance
        from .column import MOST

        gram, (first, samples, signed) = self.problem.gram, question
        asked = self._asked(settings)
        if gram.matrix is None:
            for j in range(len(signed)):
                self._solve_unstored(first + j, samples, signed[j], asked, stop)
            return
        with _memory(gram, min(len(samples), MOST * settings.working_set)) as memory:
            advance(gram.matrix, memory, samples, gram.diagonal, signed, first, self._duals, asked, stop)

    def _solve_unstored(
        self, j: int, samples: np.ndarray, signed: np.ndarray, asked: Any, stop: np.ndarray
    ) -> None:
        from .advance import enter, leave
        from .column import improve, plan, survey
        from .newton import no_inverse

        gram, field, bounds = self.problem.gram, self.f[j], (self.before[j], self.bound[j])
        column = enter(samples, gram.diagonal, signed, self.start[:, j], field, bounds)
        (diagonal, *given), (tied, tol, working_set, rounds) = column, asked
        for _ in range(rounds):
            f = field[samples]
            self.offset[j], index, eps, factor, _ = plan(*given, f, tied, tol, working_set)
            if not len(index) or stop[0]:
                field *= factor
                break
            part = _part(gram, samples[index])
            steps, _ = improve(part, no_inverse(), index, diagonal, *given, f, tied, eps)
            _follow(gram, samples[index[steps != 0]], steps[steps != 0], field)
        else:
            self.offset[j] = survey(*given, field[samples], tied)[0]
        leave(samples, column, self.u[:, j])


#: Of each Gram matrix, arrays for working sets: to find memory takes the system longer than to fill it.
_idle: WeakKeyDictionary[Gram, list[np.ndarray]] = WeakKeyDictionary()


@contextmanager
def _memory(gram: Gram, room: int) -> Iterator[np.ndarray]:
    """Lend an array for the matrix of so many samples, one that was used before if there is one."""
    idle = _idle.setdefault(gram, [])
    memory = idle.pop() if idle else None
    if memory is None or len(memory) < room**2:
        memory = np.empty(room**2, dtype=gram.dtype)
    yield memory[: room**2]
    idle.append(memory)


def _part(gram: Gram, index: np.ndarray) -> Any:
    """Return the matrix of a working set, of rows that are not stored."""
    from .column import gather
    from .part import whole_part

    matrix = np.empty((len(index), len(index)), dtype=gram.dtype)
    for a, b in blocks(len(index), gram.chunk):
        with gram.lend(index[a:b]) as (rows, where):
            gather(index, where, rows, matrix[a:b])
    return whole_part(matrix)


def _follow(gram: Gram, index: np.ndarray, steps: np.ndarray, f: np.ndarray) -> None:
    """Add the rows of the samples, each times its step, to the field."""
    from .column import follow

    for a, b in blocks(len(index), gram.chunk):
        with gram.lend(index[a:b]) as (rows, where):
            follow(rows, where, steps[a:b], f)


def product_of_alike(problem: Problem) -> np.ndarray:
    """Return K(Y∘mass) in float64: rows of K of alike samples are summed once.

    Samples of one class and one fold are alike in all columns. Where many differ, as with weights, it is the
    product itself.

    Examples
    --------
    >>> gram = Gram.from_matrix(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> product_of_alike(Problem(gram, np.array([1, -1])))
    array([ 1., -1.])
    """
    from .advance import add_kinds

    kinds, sums = sums_of_kinds(problem)
    if kinds is None:
        return sums
    out = np.empty((kinds.shape[1], len(problem.Y)))
    add_kinds(kinds, sums, out)  # in an order of their own: BLAS has many
    return out.T.reshape(problem.shape, order="A")


def sums_of_kinds(problem: Problem) -> tuple[np.ndarray | None, np.ndarray]:
    """Return the different rows of Y∘mass, and the sums of the rows of K of each: none, and K(Y∘mass)."""
    kinds, kind = _alike(problem)
    if kinds is None:
        product = problem.gram.accurate_product(np.asarray(problem.Y * problem.mass))
        return None, np.asarray(product, dtype=np.float64)
    if (rows := problem.gram.matrix) is not None and isinstance(rows, np.ndarray):
        return kinds, _sums_of_rows(rows, kind, len(kinds))
    members = np.eye(len(kinds), dtype=problem.Y.dtype)[kind]
    sums = np.asarray(problem.gram.accurate_product(members), dtype=np.float64)
    return kinds, np.ascontiguousarray(sums.T)


def _sums_of_rows(rows: np.ndarray, kind: np.ndarray, kinds: int) -> np.ndarray:
    """Return the sum of the rows of each kind, each added up in their order by one thread."""
    from .advance import add_rows_of_kinds

    sums, workers = np.zeros((kinds, rows.shape[1])), parallel.available() if rows.size > _SUMMED else 1
    parts = blocks(rows.shape[1], -(-rows.shape[1] // workers))
    for_all(lambda part: add_rows_of_kinds(rows, kind, sums, *part), parts, workers)
    return sums


def _alike(problem: Problem) -> tuple[np.ndarray | None, np.ndarray]:
    """Return the different rows of Y∘mass and which of them each sample has, found out once."""
    known: tuple[np.ndarray | None, np.ndarray] | None = problem.__dict__.get("_kinds")
    if known is None:
        n = len(problem.Y)
        weighted = problem.sample_weight is not None
        values = problem.Y * problem.mass if weighted else np.asarray(problem.Y, dtype=np.int8)
        columns = np.ascontiguousarray(values.reshape(n, -1))
        rows = columns.view(f"V{columns.strides[0]}").ravel()
        _, first, kind = np.unique(rows, return_index=True, return_inverse=True)
        few = len(first) <= columns.shape[1] + n // 100
        known = columns[first].astype(np.float64) if few else None, kind
        problem.__dict__["_kinds"] = known
    return known


def balanced(direction: np.ndarray, field: np.ndarray) -> np.ndarray:
    """Return the direction y∘mass, of the larger class so much that both weigh the same.

    It is those whose margins in this very direction are smallest, the last of them in part.
    """
    sides, weights, excess = np.sign(direction), np.abs(direction), float(np.sum(direction))
    larger = np.flatnonzero(sides == np.sign(excess))
    order = larger[np.argsort(sides[larger] * field[larger], kind="stable")]
    room = np.sum(weights[larger]) - abs(excess)
    kept = np.clip(room - (np.cumsum(weights[order]) - weights[order]), 0, weights[order])
    chosen = direction.copy()
    chosen[order] = sides[order] * kept
    return chosen
