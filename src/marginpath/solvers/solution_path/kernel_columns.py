"""Solutions on kernel values: working sets, of each column by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ... import parallel
from ...arrays import Array, blocks
from ...gram.base import Gram
from ...parallel import for_all, stopped_in_time
from ...problem import Problem


class Solution(NamedTuple):
    """The dual variable, its field, the offset, and the scores, which contain it."""

    u: Array
    field: Array
    offset: Array
    scores: Array


class KernelColumns:
    """The columns of a problem on their way to the solution, as rows: y, low ≤ z ≤ high, f = K z."""

    def __init__(self, problem: Problem, state: Any, bound: Array) -> None:
        self.problem, self.bound = problem, np.atleast_1d(bound)
        before = np.atleast_1d(state.bound)
        # The samples of a column that count, where they are the smaller part; the field is that of all.
        self.own = None if problem.gram.matrix is None or problem.packed is None else problem.packed[0]
        self.y, self.mass, u = (self._counted(x) for x in (problem.Y, problem.mass, state.u))
        self.f = _as_rows(state.field)
        self.grown = self.bound.astype(np.float64) / np.where(before > 0, before, 1)
        self.length, self.before = (b[:, None].astype(np.float64) * self.mass for b in (self.bound, before))
        self.z = self.y * u
        self.low, self.high = np.where(self.y > 0, -self.length, 0), np.where(self.y > 0, 0, self.length)
        self.offset = np.zeros(len(self.z))

    def result(self, refresh: bool) -> Solution:
        """Return where the columns stand, with the shape of the labels; the field anew where asked for."""
        u, f = self._spread(self.y * self.z), self.f.T.reshape(self.problem.shape, order="F").copy()
        if refresh:
            f = np.asarray(self.problem.gram.accurate_product(self.problem.Y * u), dtype=np.float64)
        offset = self.offset.reshape(self.problem.shape[1:])
        return Solution(u, f, offset, f + offset)

    def _counted(self, values: Array) -> np.ndarray:
        """Return the values of the samples that count, a row for each column."""
        return _as_rows(values if self.own is None else np.take_along_axis(values, self.own, axis=0))

    def _spread(self, rows: np.ndarray) -> Array:
        """Return such rows with the shape of the labels, 0 where samples do not count."""
        if self.own is None:
            return rows.T.reshape(self.problem.shape, order="F").copy()
        values = np.zeros(self.problem.shape)
        np.put_along_axis(values, self.own, rows.T, axis=0)
        return values

    @property
    def _own_field(self) -> np.ndarray:
        return self.f if self.own is None else np.take_along_axis(self.f, self.own.T, axis=1)

    @staticmethod
    def whole_field(problem: Problem) -> tuple[Array, Array]:
        """Return K(Y∘mass), as the field and as the scores of all samples at a bound of −1."""
        field = np.asarray(problem.gram.accurate_product(problem.Y * problem.mass), dtype=np.float64)
        return field, field

    def begin(self) -> None:
        """Put all samples at the bound; with an intercept, of the larger class the worst ones only."""
        chosen = direction = self.y * self.mass
        if self.problem.intercept:
            chosen = np.array([balanced(*row) for row in zip(direction, self._own_field, strict=True)])
        # The smaller part of the samples makes the field, of each column by itself.
        left = direction - chosen
        less = np.count_nonzero(left, axis=1) < np.count_nonzero(chosen, axis=1)
        part = self._field(np.where(less[:, None], left, chosen))
        self.f = np.where(less[:, None], self.f - part, part)
        scale = -self.bound[:, None].astype(np.float64)
        self.z, self.f = np.clip(scale * chosen, self.low, self.high), scale * self.f

    def _field(self, v: np.ndarray) -> np.ndarray:
        """Return K v for every row v, of which most may be zero."""
        if not v.any():
            return np.zeros_like(self.f)
        product = self.problem.gram.accurate_product(self._spread(v))
        return np.asarray(product, dtype=np.float64).reshape(self.f.shape[1], -1).T

    def stretch(self) -> None:
        """Multiply u by the factor from 1 to b_{t+1}/b_t that lowers the dual objective most."""
        total, squared = np.sum(np.abs(self.z), axis=1), np.sum(self.z * self._own_field, axis=1)
        furthest = np.where(np.isfinite(self.grown), self.grown, 1.0)
        best = np.divide(total, squared, out=furthest, where=squared > 0)
        factor = np.clip(best, 1.0, self.grown)[:, None]
        resting = (np.abs(self.z) == self.before) & (self.before > 0) & (factor == self.grown[:, None])
        self.z = np.where(resting, -self.y * self.length, np.clip(factor * self.z, self.low, self.high))
        self.f *= factor

    def solve(self, settings: Any, t: int) -> None:
        """Work on sets of samples until every column has its gap; an interrupt or the deadline stops all."""
        stop = np.zeros(1, dtype=bool)
        # Rows that are not stored are computed together, and their last digits depend on which: so one column
        # comes after the other then, and the threads share the rows.
        workers = (settings.threads or parallel.available()) if self.problem.gram.matrix is not None else 1
        columns, stop_all = range(len(self.z)), lambda: stop.fill(True)
        with stopped_in_time(stop_all):
            ends_soon = self.z.shape[1] <= parallel.QUICK
            for_all(
                lambda j: self._solve(j, settings, stop), columns, workers, None if ends_soon else stop_all
            )

    def _solve(self, j: int, settings: Any, stop: np.ndarray) -> None:
        from .column import MOST, improve, plan, solve
        from .newton import no_inverse

        gram, tied = self.problem.gram, self.problem.intercept
        given = self.y[j], self.low[j], self.high[j], self.z[j], self.f[j]
        asked = tied, settings.tol, settings.working_set
        if gram.matrix is not None:
            own = np.arange(len(self.f[j])) if self.own is None else np.ascontiguousarray(self.own[:, j])
            diagonal, rounds = gram.diagonal[own], settings.rounds
            with _memory(gram, min(len(own), MOST * settings.working_set)) as memory:
                self.offset[j] = solve(gram.matrix, memory, own, diagonal, *given, *asked, rounds, stop)
            return
        for _ in range(settings.rounds):
            self.offset[j], index, eps, *_ = plan(*given, *asked)
            if not len(index) or stop[0]:
                return
            part = _part(gram, index)
            steps, _ = improve(part, no_inverse(), index, gram.diagonal, *given, tied, eps)
            _follow(gram, index[steps != 0], steps[steps != 0], self.f[j])


#: Of each Gram matrix, arrays for working sets: to find memory takes the system longer than to fill it.
_idle: WeakKeyDictionary[Gram, list[np.ndarray]] = WeakKeyDictionary()


@contextmanager
def _memory(gram: Gram, room: int) -> Iterator[np.ndarray]:
    """Lend an array for the matrix of so many samples, one that was used before if there is one."""
    idle = _idle.setdefault(gram, [])
    memory = idle.pop() if idle else None
    if memory is None or len(memory) != room**2:
        memory = np.empty(room**2, dtype=gram.dtype)
    yield memory
    idle.append(memory)


def _as_rows(values: Array) -> np.ndarray:
    """Return the columns of an array as rows of their own, in float64."""
    return np.atleast_2d(np.array(values, dtype=np.float64, order="F").T)


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
