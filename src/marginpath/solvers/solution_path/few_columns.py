"""Columns of few samples each, such as pairs of many classes: many of them in one compiled call."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, cast
from weakref import WeakKeyDictionary

import numpy as np

from ... import parallel
from ...parallel import for_all
from ...problem import Problem
from .kernel_columns import QUESTIONS, KernelColumns, Share

#: Samples up to which all that count in a question are one working set.
FEW = 768
_SHARED = 2**11  # samples, over all columns, from which on threads gain more than they wait for each other
_PARTS = 8  # for each thread: questions do not take equally long

#: Questions from the first to before the last, and of each the columns from the first to before the last.
Part = tuple[int, int, int, int]


class FewColumns(KernelColumns):
    """Columns of which some ask questions of few samples. A column's numbers are side by side in memory."""

    order: ClassVar[Literal["C", "F"]] = "F"

    def __init__(self, problem: Problem, state: Any, bound: np.ndarray) -> None:
        super().__init__(problem, state, bound)
        self.few = _few_of(problem)
        self.parts = _parts(problem, parallel.available())

    def begin(self) -> None:
        """Put all samples at the bound; of the larger class the worst ones only."""
        from .few_samples import begin_few

        if max(len(question.samples) for question in self.problem.questions) > FEW:
            super().begin()
            self.start, self.f = np.asfortranarray(self.start), np.ascontiguousarray(self.f)
            return
        self.start = np.zeros(self.start.shape, order="F")
        duals = self._rows_of_duals
        for_all(lambda part: begin_few(self.few, *part, duals), self.parts, parallel.available())
        self.before = self.bound

    def _solve_some(self, settings: Any, workers: int, share: Share, stop: np.ndarray) -> set[int]:
        """Return the columns that pair steps on all their samples have solved; others start from there."""
        from .few_samples import advance_few

        solved, asked, duals = np.zeros(len(self.f), dtype=bool), self._asked(settings), self._rows_of_duals
        share(lambda part: advance_few(self.few, *part, duals, asked, stop, solved), self.parts)
        if not solved.all():
            self._let_others_start(solved)
        return set(np.flatnonzero(solved).tolist())

    def _let_others_start(self, solved: np.ndarray) -> None:
        """Give the columns that are not solved to working sets, as these take arrays."""
        begun = np.zeros(len(self.f), dtype=bool)
        for first, last, begin, end in self.parts:
            for q in range(first, last):
                begun[q * self.problem.together + begin : q * self.problem.together + end] = True
        begun &= ~solved
        self.start, self.u = np.array(self.start, order="C"), np.ascontiguousarray(self.u)
        self.start[:, begun], self.before = self.u[:, begun], np.where(begun, self.bound, self.before)

    @property
    def _rows_of_duals(self) -> Any:
        """The duals with a row for each column."""
        return self._duals._replace(start=self.start.T, u=self.u.T)

    def _scores(self) -> np.ndarray:
        """Return the fields with their offsets, (n, columns)."""
        return cast(np.ndarray, (self.f + self.offset[:, None]).T)


def has_few(problem: Problem, working_set: int) -> bool:
    """Whether a question has few samples, and the kernel matrix and an intercept are there for pair steps.

    Few questions of many samples go together instead: see ``together.py``.
    """
    if problem.gram.matrix is None or not problem.intercept or working_set < FEW:
        return False
    if len(problem.Y) > parallel.QUICK and len(problem.questions) < QUESTIONS:
        return False
    return min(len(question.samples) for question in problem.questions) <= FEW


#: What compiled loops need of a problem, made once.
_known: WeakKeyDictionary[Problem, Any] = WeakKeyDictionary()


def _few_of(problem: Problem) -> Any:
    from .few_samples import Few

    if problem not in _known:
        watched = problem.watched or (np.arange(len(problem.Y)),)
        begins = np.concatenate([[0], np.cumsum([len(each) for each in watched])]).astype(np.int64)
        gram = cast(Any, problem.gram)
        _known[problem] = Few(
            gram.matrix,
            gram.diagonal,
            *problem.packed_questions,
            np.concatenate(watched).astype(np.uint32),
            begins,
        )
    return _known[problem]


def _parts(problem: Problem, workers: int) -> list[Part]:
    """Share out the questions of few samples: all to one where they are quick, and columns of few to many."""
    sizes, k = [len(question.samples) for question in problem.questions], problem.together
    small = [q for q, size in enumerate(sizes) if size <= FEW]
    work = k * sum(sizes[q] for q in small)
    pieces = 1 if workers == 1 or work < _SHARED else _PARTS * workers
    if len(small) < pieces:
        step = max(1, k // -(-pieces // len(small))) if pieces > 1 else k
        return [(q, q + 1, c, min(c + step, k)) for q in small for c in range(0, k, step)]
    parts, first, done = list[Part](), 0, 0
    for q, size in enumerate(sizes):
        if size > FEW:
            parts, first, done = [*parts, (first, q, 0, k)], q + 1, 0
            continue
        done += size
        if done * k >= work / pieces:
            parts, first, done = [*parts, (first, q + 1, 0, k)], q + 1, 0
    return [part for part in [*parts, (first, len(sizes), 0, k)] if part[0] < part[1]]
