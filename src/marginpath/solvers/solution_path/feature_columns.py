"""Solutions on features: sweeps over all rows, and many over those that still move."""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ... import parallel
from ...arrays import Array, blocks
from ...parallel import for_all, one_blas_thread, stopped_in_time
from ...problem import Problem
from ..starting import first_lambda
from .feature_newton import Point, newton_column
from .feature_rows import DenseRows, SparseRows, rows_of
from .feature_sets import LARGEST_SET, RowSet, near_rows, solve_column
from .kernel_columns import Solution, balanced

_ROUNDS = 20  # at most, at a λ
_SWEEPS = 20  # over the rows that have to move, in the first round
_WIDEST = 8  # columns of a group at most
_DOUBLINGS = 4  # of that number, one with each round
_PATIENCE = 6  # rounds of sweeps before a set of rows is solved as such
_EARLY = 1  # round of sweeps at least before Newton's method
_DEAR = 0.5  # times features² / rows, such rounds too: so much longer a step of it takes
_MOST = 0.25  # of the rows that may have to move there, but after _PATIENCE more rounds: sweeps are faster
_TRIES = 3  # of it, each with the rows that the one before has left out
_ROUGH = 1e-3  # a gap from which on sweeps may read rounded rows
_FINER = 0.3  # of the gap, the gradient that a coordinate is left alone with
_STRICTER = 4  # times less of it, where a set that is solved leaves the gap open


class FeatureColumns:
    """The columns of a problem on their way to the solution, cut into groups that are worked on together.

    A group is the same columns however many threads there are, so that the bits of a result are too.
    """

    def __init__(self, problem: Problem, state: Any, bound: Array) -> None:
        self.problem, self.bound = problem, np.atleast_1d(bound).astype(np.float64)
        self.before = np.atleast_1d(state.bound).astype(np.float64)
        self.y, self.mass, self.u = (x.reshape(len(x), -1) for x in (problem.Y, problem.mass, state.u))
        self.first = state.field.reshape(len(state.field), -1)
        self.offset = np.atleast_1d(state.offset).astype(np.float64)
        self.rows = rows_of(problem.gram, self._width)
        self.w = np.empty(self.first.shape, self.rows.dtype)
        self.scores = np.empty(self.y.shape)

    @property
    def _width(self) -> int:
        return min(_WIDEST, math.ceil(len(self.bound) / 2))

    @staticmethod
    def at_start(problem: Problem) -> tuple[Solution, float]:
        """Return u = 0 with the field Xᵀ(Y∘mass), and the first λ."""
        rows = rows_of(problem.gram, 1)
        field = rows.field((problem.Y * problem.mass).reshape(problem.shape[0], -1))
        shape = *field.shape[:1], *problem.shape[1:]
        scores = rows.scores(field).reshape(problem.shape).astype(np.float64)
        u, offset = np.zeros(problem.shape), np.zeros(problem.shape[1:])
        start = first_lambda(problem, scores)
        return Solution(u, field.reshape(shape), offset, np.zeros(problem.shape)), start

    def begin(self) -> None:
        """Put all samples at the bound; with an intercept, of the larger class the worst ones only."""
        chosen = self.y * self.mass
        if self.problem.intercept:
            scores = self.rows.scores(self.first.astype(self.rows.dtype)).astype(np.float64)
            chosen = np.array([balanced(*pair) for pair in zip(chosen.T, scores.T, strict=True)]).T
        self.u, self.before = -self.bound * np.abs(chosen), self.bound
        self.first = self.rows.field(self.y * self.u)

    def solve(self, settings: Any, t: int) -> None:
        """Carry the samples at the bound along, and sweep until every column has its gap.

        An interrupt, or the deadline of a run, stops them all.
        """
        from .sweeping import carried

        last = Last(self.u, self.first, self.offset.copy(), self.before)
        self.u = carried(self.u, self.mass, self.before, self.bound)
        stop, mean = threading.Event(), float(np.mean(self.problem.gram.diagonal))
        # At small C the second moves the intercept by 1 where all samples move; in an empty box none does.
        total = self.bound * np.atleast_1d(self.problem.total_mass)
        weak = np.divide(1, total, out=np.zeros_like(total), where=total > 0)
        rho = np.maximum(0.1 * mean, weak) * self.problem.intercept
        field = self.rows.field(np.multiply(self.y, self.u, dtype=self.rows.dtype, casting="same_kind"))

        def part(ends: tuple[int, int]) -> None:
            own, count = slice(*ends), ends[1] - ends[0]
            columns = [x[:, own] for x in (self.y, self.mass, self.u, field)]
            limits = [x[own] for x in (self.bound, self.offset, rho)]
            own_last = Last(*(x[..., own] for x in last))
            group = Group(columns, limits, own_last, settings.tol, self.rows.lanes or count, stop.is_set)
            scores = group.solve(self.rows, min(settings.rounds, _ROUNDS), np.random.default_rng(t))
            for x, new in ((self.u, group.u), (self.w, group.w), (self.scores, scores)):
                x[:, own] = new[:, :count]
            self.offset[own] = group.offset[:count]

        groups = list(blocks(len(self.bound), self._width))
        workers = min(settings.threads or parallel.available(), len(groups))
        with stopped_in_time(stop.set), one_blas_thread():  # whose sums would depend on their number
            for_all(part, groups, workers, stop.set)

    def result(self, refresh: bool) -> Solution:
        """Return where the columns stand, with the shape of the labels; every step has its field anew."""
        shape = self.problem.shape
        offset = self.offset.reshape(shape[1:])
        w = self.w.reshape(*self.w.shape[:1], *shape[1:])
        return Solution(self.u.reshape(shape), w, offset, self.scores.reshape(shape))


class Last(NamedTuple):
    """Where columns have been: u, w and the offset at another bound."""

    u: np.ndarray
    w: np.ndarray
    offset: np.ndarray
    bound: np.ndarray

    def stretched(self, j: int, bound: float, mass: np.ndarray) -> np.ndarray:
        """Return u of a column in the box of a new bound: who was at the old one is at this one."""
        before, low = float(self.bound[j]), -bound * mass.astype(np.float64)
        factor = bound / before if before > 0 else 0.0
        resting = self.u[:, j] == -before * mass.astype(np.float64)
        return np.where(resting, low, np.maximum(factor * self.u[:, j], low))


class Group:
    """Columns that are swept over together: labels, weights and u of the rows, and w = Xᵀ(Y∘u)."""

    def __init__(
        self,
        columns: list[np.ndarray],
        limits: list[np.ndarray],
        last: Last,
        tol: float,
        lanes: int,
        stopped: Callable[[], bool],
    ) -> None:
        more = lanes - len(limits[0])
        self.y, self.mass, self.u, self.w = (_filled(x, more) for x in columns)
        self.bound, self.offset, self.rho = (_filled(x[None], more)[0] for x in limits)
        self.total = np.sum(self.y * self.u, axis=0)
        self.last, self.tol, self.left, self.stopped = last, tol, _FINER * tol, stopped
        self.most, self.exact = _MOST, tol < _ROUGH  # sweeps may read rounded rows, but for their late rounds
        self.begun, self.hopeless = np.zeros((2, lanes), dtype=np.bool_)  # by Newton's method; left by it

    @property
    def standing(self) -> tuple[np.ndarray, ...]:
        """Where the columns stand."""
        return self.u, self.w, self.offset, self.total

    @property
    def settings(self) -> tuple[Any, ...]:
        """What a coordinate step needs beside its rows."""
        return self.bound, self.total, self.offset, self.rho, self.left

    def solve(self, rows: DenseRows | SparseRows, rounds: int, rng: np.random.Generator) -> np.ndarray:
        """Sweep over all rows, and work on what has to move, until the gap is small; return the scores."""
        some, patience = RowSet(rows), max(_EARLY, _DEAR * rows.features**2 / len(self.u))
        self.improve(rows, rng)
        scores = self._scores(rows)
        gap = self._gap(scores)
        for number in range(rounds):
            if number >= patience and not self._is_done(gap):
                self.most = _MOST if number < patience + _PATIENCE else 1.0
                scores, gap = self._newton(rows, scores, gap)
            if self._is_done(gap):
                break
            self.exact |= number >= _PATIENCE
            moving = np.any(self._moving(scores)[:, gap > self.tol], axis=1)
            count = int(np.sum(moving))
            if count == 0 or (number >= _PATIENCE and count <= LARGEST_SET):
                self._solve_sets(some, moving, scores, gap)
                self.left /= _STRICTER
            elif count < len(moving) / 2:
                self.improve(rows, rng, np.flatnonzero(moving), _SWEEPS << min(number, _DOUBLINGS))
            else:
                self.improve(rows, rng)
            scores = self._scores(rows)
            gap = self._gap(scores)
        return scores

    def _is_done(self, gap: np.ndarray) -> bool:
        return self.stopped() or bool(np.max(gap) <= self.tol)

    def _moving(self, scores: np.ndarray) -> np.ndarray:
        """Return which u are between their bounds, or on the wrong one for their gradient."""
        low, gradient = -self.bound * self.mass, self.y * scores + 1
        falls, rises = self.u > low, self.u < 0
        wrong = (falls & (gradient > self.left)) | (rises & (gradient < -self.left))
        return np.asarray((falls & rises) | wrong)

    def _newton(
        self, rows: DenseRows | SparseRows, scores: np.ndarray, gap: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Go by Newton's method, in the columns whose gap is open; return the scores and the gaps.

        They come from the last solution: of u at the new bound, before all is swept over, w says less. Where
        they have been with the least gap, they stay: where that was before, they are not asked again.
        """
        before, least, best = gap, gap.copy(), [x.copy() for x in (*self.standing, scores)]
        tried = np.zeros_like(self.hopeless)
        for _ in range(_TRIES):
            columns = np.flatnonzero((gap > self.tol) & ~self.hopeless)
            if self.stopped() or not len(columns):
                break
            starts = [self._start(j) for j in columns.tolist()]
            there = rows.scores(np.stack([start.v for start in starts], axis=1).astype(rows.dtype))
            moved = False
            for j, start, scores in zip(columns.tolist(), starts, there.T, strict=True):
                if newton_column(self, j, rows, start, scores + start.offset):
                    moved = self.begun[j] = tried[j] = True
            if not moved:
                break
            scores = self._scores(rows)
            gap = self._gap(scores)
            better = gap < least
            for kept, x in zip((*best, least), (*self.standing, scores, gap), strict=True):
                kept[..., better] = x[..., better]
        for x, kept in zip(self.standing, best, strict=False):
            x[...] = kept
        self.hopeless |= tried & ~(least < before)
        return best[-1], least

    def _start(self, j: int) -> Point:
        """Return where Newton's method starts from in a column: once it has been there, where that stands."""
        here = Last(self.u, self.w, self.offset, self.bound)
        last = here if self.begun[j] else self.last
        z = self.y[:, j] * last.stretched(j, float(self.bound[j]), self.mass[:, j])
        return Point(z, last.w[:, j].astype(np.float64), float(last.offset[j]))

    def _solve_sets(self, some: RowSet, moving: np.ndarray, scores: np.ndarray, gap: np.ndarray) -> None:
        """Solve the columns whose gap is open on the rows that move in any of them, and on those nearby."""
        columns = np.flatnonzero(gap > self.tol)
        margins = -self.y[:, columns] * scores[:, columns]
        apart = np.where(self.mass[:, columns] > 0, np.abs(1 - margins), np.inf)
        some.add(near_rows(moving, np.min(apart, axis=1)))
        for j in columns.tolist():
            if not self.stopped():
                solve_column(self, j, some, scores[:, j], self.left)

    def _scores(self, rows: DenseRows | SparseRows) -> np.ndarray:
        return np.asarray(rows.scores(self.w) + self.offset)

    def improve(
        self,
        rows: DenseRows | SparseRows,
        rng: np.random.Generator,
        some: np.ndarray | None = None,
        sweeps: int = 1,
    ) -> None:
        """Sweep over all rows, or over some of them until none moves, and let w be that of the rows.

        Sweeps over rounded rows do not know it; what has changed since before them is enough for that.
        """
        rough = rows if self.exact else rows.rough
        before = None if rough is rows else (self.u.copy(), self.w.copy())
        if some is None:
            for _ in range(sweeps):
                self._sweep(rough, rng)
        else:
            self._sweep_over(rough, some, sweeps, rng)
        if before is not None:
            u, w = before
            self.w[...] = w + rows.field(self.y * (self.u - u))

    def _sweep_over(
        self, rows: DenseRows | SparseRows, some: np.ndarray, sweeps: int, rng: np.random.Generator
    ) -> None:
        """Sweep over some of the rows until none moves, or many times; go to the mean of the last quarter.

        A mean of points in the box is in it; its dual objective is no worse than that of the points, nor its
        primal one, on average (both are convex), and in their sum mostly better by a quarter.
        """
        chosen = rng.permutation(some)
        part, own = rows.take(chosen), copy.copy(self)
        own.y, own.mass, own.u = (x[chosen] for x in (self.y, self.mass, self.u))
        mean = _Mean(own.standing)
        for number in range(sweeps):
            moves = own._sweep(part, rng)
            if 4 * number >= 3 * sweeps:
                mean.add(own.standing)
            if not moves or self.stopped():
                break
        else:
            mean.write(own.standing)
        self.u[chosen] = own.u

    def _sweep(self, rows: DenseRows | SparseRows, rng: np.random.Generator) -> int:
        """Sweep over the rows once, and let the multipliers follow."""
        moved = rows.sweep(self, rng)
        self.offset += self.rho * self.total
        return moved

    def _gap(self, scores: np.ndarray) -> np.ndarray:
        """Return the metric ``gap`` of each column, and what is left of Σ z_i = 0 where that is more."""
        from ...problem.sums_compiled import sums_of_gap

        squared, dual, loss, up, down, _ = sums_of_gap(self.y, self.mass, self.u, scores, self.bound)
        total, least = -dual, np.minimum(up, down)
        primal, dual = squared / 2 + loss, total - squared / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            separated = np.where(least > 0, squared / 2 / least**2, np.inf)
            primal = np.minimum(primal, separated)
            relative = np.where(primal > 0, (primal - dual) / primal, 0)
            untied = np.where(total > 0, np.abs(self.total) / total, 0) * (self.rho > 0)
        return np.asarray(np.maximum(relative, untied))


class _Mean:
    """The mean of points where columns have been: to the bit what it is in all of them, where that is one."""

    def __init__(self, like: tuple[np.ndarray, ...]) -> None:
        self.sums, self.first, self.count = [np.zeros(x.shape) for x in like], like, 0

    def add(self, point: tuple[np.ndarray, ...]) -> None:
        """Let one more point count."""
        if not self.count:
            self.first = tuple(x.copy() for x in point)
        self.count += 1
        for total, x, first in zip(self.sums, point, self.first, strict=True):
            total += x - first

    def write(self, point: tuple[np.ndarray, ...]) -> None:
        """Write the mean."""
        for x, total, first in zip(point, self.sums, self.first, strict=True):
            x[...] = first + total / self.count


def _filled(x: np.ndarray, more: int) -> np.ndarray:
    """Return a contiguous copy with so many columns of zeros more."""
    return np.pad(x, ((0, 0), (0, more))) if more else x.copy(order="C")
