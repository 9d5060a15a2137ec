"""Columns of few samples each, such as pairs of many classes: many of them in one compiled call."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from ... import parallel
from ...arrays import blocks
from ...parallel import for_all
from ...problem import Problem
from ...problem.questions import Question
from .kernel_columns import QUESTIONS, KernelColumns, Share, sums_of_kinds
from .packed import Layout, PackedColumns, layout_of

#: Samples up to which all that count in a question are one working set.
FEW = 768
_SHARED = 2**11  # samples, over all columns, from which on threads gain more than they wait for each other
_PARTS = 8  # for each thread: questions do not take equally long

#: Questions from the first to before the last, and of each the columns from the first to before the last.
Part = tuple[int, int, int, int]


class FewColumns(KernelColumns):
    """Columns of which some ask questions of few samples, packed: see ``packed.py``.

    Those of many samples, and those for which pair steps take too long, are whole while they are solved.
    """

    def __init__(self, problem: Problem, state: Any, bound: np.ndarray) -> None:
        self.problem, self.layout = problem, layout_of(problem)
        self.bound, self.before = (np.atleast_1d(b).astype(np.float64) for b in (bound, state.bound))
        known = state.packed
        is_ours = known is not None and known.layout.is_like(self.layout)
        packed = known if is_ours else pack(self.layout, problem, state)
        self.packed_start, self.fields = packed.u, packed.fields.copy()
        self.outside, self.offset = packed.outside.copy(), np.zeros(self.layout.columns)
        self.packed_u = np.zeros(len(packed.u))
        self.few, self.parts = _few_of(problem)
        self.rest = np.arange(0)  # columns that are whole

    @staticmethod
    def at_start(problem: Problem) -> tuple[PackedColumns, float]:
        """Return u = 0 with the field of Y∘mass, and the first λ."""
        from .packing import add_kinds, largest_first

        layout, k = layout_of(problem), problem.box_scale.size
        own, outside = layout.empty()
        kinds, sums = sums_of_kinds(problem)
        if kinds is None:  # hardly any samples are alike
            rows, every = np.ascontiguousarray(sums.reshape(len(sums), -1).T), np.arange(layout.columns)
            layout.collect(every, rows, own)
            layout.collect_watched(every, rows, outside)
        else:
            workers, questions = parallel.available(), len(layout.ends) - 1
            for_all(
                lambda part: add_kinds(layout, kinds, sums, *part, own, outside),
                blocks(questions, -(-questions // workers)),
                workers if own.size > _SHARED else 1,
            )
        scale = np.atleast_1d(problem.box_scale).astype(np.float64)
        first = largest_first(layout.signed, layout.ends, layout.together, own, scale)
        packed = PackedColumns(
            layout, problem.shape, np.zeros(len(own)), own, outside, np.zeros(k), is_start=True
        )
        return packed, first if first > 0 else 1.0

    @staticmethod
    def compiled_parts(
        problem: Problem, packed: PackedColumns, settings: Any
    ) -> tuple[Any, Any, Any, list[Part]]:
        """Return what compiled loops take of a problem, of columns at their start, and of the settings.

        And how threads share the columns.
        """
        from .advance import Asked
        from .few_desk import FewDuals

        (few, parts), k = _few_of(problem), packed.layout.columns
        numbers = np.zeros(len(packed.u)), np.zeros(len(packed.u)), packed.fields, packed.outside
        duals = FewDuals(*numbers, np.zeros(k), np.zeros(k), np.zeros(k))
        asked = Asked(problem.intercept, settings.tol, settings.working_set, settings.rounds)
        return few, duals, asked, parts

    def result(self, refresh: bool) -> PackedColumns:
        """Return where the columns stand; the field anew where asked for."""
        if len(self.rest):
            self.layout.collect(self.rest, np.ascontiguousarray(self.u.T), self.packed_u)
            self._collect_fields(self.rest, self.f)
            self.offset[self.rest] = self.rest_offset
        shape = self.problem.shape
        packed = PackedColumns(self.layout, shape, self.packed_u, self.fields, self.outside, self.offset)
        if refresh:
            product = self.problem.gram.accurate_product(self.problem.Y * packed.whole("u"))
            every = np.arange(self.layout.columns)
            self._collect_fields(every, np.atleast_2d(np.asarray(product, dtype=np.float64).T))
        return packed

    def begin(self) -> None:
        """Put all samples at the bound; of the larger class the worst ones only."""
        from .few_start import begin_few

        self.packed_start = np.zeros(len(self.fields))
        duals = self._packed_duals
        for_all(lambda part: begin_few(self.few, *part, duals), self.parts, parallel.available())
        many = np.repeat(np.diff(self.layout.ends) > FEW, self.layout.together)
        if many.any():
            self._begin_whole(np.flatnonzero(many))
        self.before = self.bound

    def _begin_whole(self, columns: np.ndarray) -> None:
        """Do so for columns of many samples."""
        problem, bound = self.problem.columns(columns), self.bound[columns]
        field = self.layout.spread(len(problem.Y), columns, self.fields, self.outside).T
        state = SimpleNamespace(u=np.zeros(field.shape), field=field, bound=bound)
        whole = KernelColumns(problem, state, bound)
        whole.begin()
        self.layout.collect(columns, np.ascontiguousarray(whole.start.T), self.packed_start)
        self._collect_fields(columns, whole.f)

    def _solve_some(self, settings: Any, workers: int, share: Share, stop: np.ndarray) -> set[int]:
        """Take pair steps on all samples of a column; let others start from where these took too long."""
        from .few_samples import advance_few

        solved, asked = np.zeros(len(self.offset), dtype=bool), self._asked(settings)
        duals = self._packed_duals
        share(lambda part: advance_few(self.few, *part, duals, asked, stop, solved), self.parts)
        if not solved.all():
            self._let_others_start(solved)
        return set()  # ``rest`` says which are not

    def _let_others_start(self, solved: np.ndarray) -> None:
        """Give the columns that are not solved to working sets, which take whole ones."""
        sizes, together = np.diff(self.layout.ends), self.layout.together
        self.rest, begun, n = np.flatnonzero(~solved), np.repeat(sizes <= FEW, together), len(self.problem.Y)
        start = np.where(np.repeat(sizes <= FEW, sizes * together), self.packed_u, self.packed_start)
        self.start = np.ascontiguousarray(self.layout.spread(n, self.rest, start, None).T)
        self.f = self.layout.spread(n, self.rest, self.fields, self.outside)
        self.u, self.rest_offset = np.zeros(self.start.shape), np.zeros(len(self.rest))
        self.rest_before = np.where(begun, self.bound, self.before)[self.rest]

    def _shared_out(self, solved: set[int]) -> list[Question]:
        """Return the columns that are whole, one by one and by their place among these."""
        questions, k = self.problem.questions, self.layout.together
        asked = ((r, questions[j // k], j % k) for r, j in enumerate(self.rest.tolist()))
        return [Question(r, q.samples, q.signed[c : c + 1]) for r, q, c in asked]

    @property
    def _duals(self) -> Any:
        """The columns that are whole."""
        from .advance import Duals

        bound = self.bound[self.rest]
        return Duals(self.start, self.u, self.f, self.rest_before, bound, self.rest_offset)

    @property
    def _packed_duals(self) -> Any:
        from .few_desk import FewDuals

        field = self.fields, self.outside
        return FewDuals(self.packed_start, self.packed_u, *field, self.before, self.bound, self.offset)

    def _collect_fields(self, columns: np.ndarray, rows: np.ndarray) -> None:
        rows = np.ascontiguousarray(rows)
        self.layout.collect(columns, rows, self.fields)
        self.layout.collect_watched(columns, rows, self.outside)


def pack(layout: Layout, problem: Problem, state: Any) -> PackedColumns:
    """Pack a state, one that was loaded or is of some of the columns."""
    (own, outside), u = layout.empty(), np.empty(len(layout.signed))
    every, n = np.arange(layout.columns), len(problem.Y)
    for whole, packed in ((state.u, u), (state.field, own)):
        rows = np.ascontiguousarray(np.asarray(whole, dtype=np.float64).reshape(n, -1).T)
        layout.collect(every, rows, packed)
    layout.collect_watched(every, rows, outside)
    return PackedColumns(layout, problem.shape, u, own, outside, np.atleast_1d(state.offset), state.t == 0)


def has_few(problem: Problem, working_set: int) -> bool:
    """Whether a question has few samples, and the kernel matrix and an intercept are there for pair steps.

    Few questions of many samples go together instead: see ``together.py``.
    """
    if problem.gram.matrix is None or not problem.intercept or working_set < FEW:
        return False
    if len(problem.Y) > parallel.QUICK and len(problem.questions) < QUESTIONS:
        return False
    return int(np.diff(problem.packed_questions.ends).min()) <= FEW


#: What compiled loops need of a problem, made once, and how threads share it.
_known: WeakKeyDictionary[Problem, tuple[Any, dict[int, list[Part]]]] = WeakKeyDictionary()


def _few_of(problem: Problem) -> tuple[Any, list[Part]]:
    from .few_desk import Few

    if (made := _known.get(problem)) is None:
        gram = cast(Any, problem.gram)
        made = _known[problem] = Few(gram.matrix, gram.diagonal, *layout_of(problem)), {}
    few, parts = made
    workers = parallel.available()
    if workers not in parts:
        parts[workers] = _parts(problem, workers)
    return few, parts[workers]


def _parts(problem: Problem, workers: int) -> list[Part]:
    """Share out the questions of few samples: all to one where they are quick, and columns of few to many."""
    sizes, k = np.diff(problem.packed_questions.ends).tolist(), problem.together
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
