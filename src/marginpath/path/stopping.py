"""Stopping rules: (problem, state, path) → which columns are done.

A rule keeps no memory of its own: what it needs of the past is in the path. A rule that looks back has
``choose(path, problem)``, the step of every column that it would keep, and ``observed``, what the path has to
observe for it: ``run(…, observe=rule.observed, stop=rule)``.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np

from ..arrays import Array, to_numpy
from ..certificates.bounds import estimated_margin_bounds, state_margin_bounds
from ..files.records import register
from ..metrics import Metric, bound, error
from ..problem import Problem
from ..solvers.base import State
from .path import Path


@register
@dataclass(frozen=True)
class CertifiedMargin:
    """Stop where the certified interval of the maximum margin is narrow: upper − lower ≤ tol · upper.

    Examples
    --------
    >>> import marginpath as mp
    >>> data = mp.datasets.toy()
    >>> problem = mp.Problem(mp.Gram.linear(data.X), data.y)
    >>> solver = mp.DualDescent(mp.PowerDecay(4.0), mp.Inertia(30))
    >>> path = mp.run(solver, problem, steps=5000, stop=CertifiedMargin(1e-6))
    >>> path.status.value
    'stopped'
    """

    tol: float = 1e-4

    def __post_init__(self) -> None:
        if not 0 < self.tol < 1:
            raise ValueError(f"tol must be between 0 and 1, got {self.tol!r}.")

    def __call__(self, problem: Problem, state: State, path: Path) -> Array:
        """Return whether the relative gap is at most tol: proved, where the estimate says so."""
        close = to_numpy(self._is_close(estimated_margin_bounds(problem, state)))
        return close & to_numpy(self._is_close(state_margin_bounds(problem, state))) if close.any() else close

    def _is_close(self, bounds: tuple[Array, Array]) -> Array:
        lower, upper = bounds
        return (lower > 0) & (upper - lower <= self.tol * upper)


@dataclass(frozen=True)
class NoImprovement:
    """Stop when a score has not improved for long: while 1/λ grew by a factor, or for some steps.

    The score is what the path observed under ``name`` (several numbers, such as one a fold, are averaged),
    larger is better; the path must observe ``bound``, the box size 1/λ. A plateau at the start, where the
    score has its first value, does not count: there, every sample is given to the larger class. Nor do steps
    with an empty box, such as the first of :class:`LogDecay`: u = 0 is no classifier; nor, on a path that
    observes ``gap``, steps without the gap that their solver promises.

    Parameters
    ----------
    name : str
    growth : float
        The factor of patience. A 1/λ that stays within it, such as those of :class:`Constant` and
        :class:`LogDecay`, never ends the run: it takes all its steps.
    steps : int, optional
        Count steps instead, and stop after so many.

    Examples
    --------
    >>> import marginpath as mp
    >>> data = mp.datasets.gaussian_mixture()
    >>> problem = mp.Problem(mp.Gram.from_kernel(data.X, mp.Gaussian(sigma=0.2)), data.y)
    >>> test = mp.HeldOutError(problem, data.X_test, data.y_test)
    >>> observe = {"bound": mp.metrics.bound, "accuracy": lambda *here: 1 - test(*here)}
    >>> rule = NoImprovement("accuracy", growth=3)
    >>> path = mp.run(mp.DualDescent(mp.PowerDecay(400.0)), problem, 500, observe=observe, stop=rule)
    >>> best = int(path["accuracy"][1:].argmax()) + 1
    >>> path.status.value, path.last.t // best
    ('stopped', 3)
    """

    name: str
    growth: float = 100.0
    steps: int | None = None

    def __post_init__(self) -> None:
        if not self.growth > 1:
            raise ValueError(f"growth must be over 1, got {self.growth!r}.")
        if self.steps is not None and self.steps < 1:
            raise ValueError(f"steps must be at least 1, got {self.steps!r}.")

    def __call__(self, problem: Problem, state: State, path: Path) -> Array:
        """Return the same answer for every column."""
        score, size = (_past(path, name, self) for name in (self.name, "bound"))
        score, size = (x.reshape(len(x), -1).mean(axis=1) for x in (score, size))
        solved = _solved(path, len(score))
        latest = len(solved) - 1 - int(solved[::-1].argmax())
        best = min(int(_best_row(np.where(solved, score, score.min()), size)), latest)
        grown = _grown(size[-1], size[best], self.growth)
        done = grown if self.steps is None else len(score) - 1 - best >= self.steps
        return np.full(problem.shape[1:], done)


#: One number for all columns, or one for each.
PerColumn: TypeAlias = float | Sequence[float]


@register
@dataclass(frozen=True)
class APriori:
    """Stop at a step that is known beforehand, such as t*(N) of Theorem 3.

    Parameters
    ----------
    step : int, or one for each column
        See :meth:`marginpath.theory.Theorem3.stopping_step`.

    Examples
    --------
    >>> import marginpath as mp
    >>> data = mp.datasets.toy()
    >>> problem = mp.Problem(mp.Gram.linear(data.X), data.y)
    >>> mp.run(mp.DualDescent(mp.PowerDecay(4.0)), problem, steps=100, stop=APriori(7)).last.t
    7
    """

    step: PerColumn

    def __post_init__(self) -> None:
        if not np.all(np.asarray(self.step) >= 1):
            raise ValueError(f"step must be at least 1, got {self.step!r}.")

    def __call__(self, problem: Problem, state: State, path: Path) -> Array:
        """Return whether the step is reached."""
        return np.broadcast_to(state.t >= np.asarray(self.step), problem.shape[1:])

    def choose(self, path: Path, problem: Problem | None = None) -> np.ndarray:
        """Return the step, or the last one of a shorter path."""
        step = np.broadcast_to(np.asarray(self.step), path.stop_steps.shape)
        return np.asarray(np.minimum(step, path.last.t), dtype=np.int64)


@register
@dataclass(frozen=True)
class Discrepancy:
    """Morozov's principle in the Hamming distance: stop once few enough labels are contradicted.

    If about a share p of the labels is wrong, a classifier that agrees with more than 1 − p of them has begun
    to learn the wrong ones: stop where the share of samples with y f(x) ≤ 0 is at most factor · p.
    Samples with label 0 do not count, and weights do. Where the classes overlap, p has to contain the error
    of the best classifier too: with less, the level is met late or never.

    Parameters
    ----------
    noise_level : float, or one for each column
        p, the share of labels taken to be wrong: N/n for N of them.
    factor : float
        The τ of the principle.

    Examples
    --------
    >>> import marginpath as mp
    >>> data = mp.datasets.toy()
    >>> y = mp.noise.flip_exactly(data.y, 8, seed=0)
    >>> problem = mp.Problem(mp.Gram.from_kernel(data.X, mp.Gaussian(sigma=1.0)), y)
    >>> path = mp.run(mp.CoordinateDescent(), problem, steps=60, stop=Discrepancy(8 / 80))
    >>> float(mp.metrics.error(problem, path.last)) <= 0.1
    True
    """

    noise_level: PerColumn
    factor: float = 1.0

    def __post_init__(self) -> None:
        level = np.asarray(self.noise_level, dtype=float)
        if not np.all((level >= 0) & (level < 1)):
            raise ValueError(
                f"noise_level is the share of wrong labels, from 0 to under 1, got {self.noise_level!r}. "
                f"For N of n labels give N / n."
            )
        if not self.factor > 0:
            raise ValueError(f"factor must be positive, got {self.factor!r}.")

    @property
    def observed(self) -> Mapping[str, Metric]:
        """What :meth:`choose` reads of a path."""
        return {"error": error}

    def __call__(self, problem: Problem, state: State, path: Path) -> Array:
        """Return whether at most the share factor · noise_level is contradicted."""
        return to_numpy(error(problem, state)) <= self._level

    def choose(self, path: Path, problem: Problem | None = None) -> np.ndarray:
        """Return the first step that meets the level; the least contradicted one where none does."""
        errors, met = _past(path, "error", self), _past(path, "error", self) <= self._level
        row = np.where(met.any(axis=0), met.argmax(axis=0), errors.argmin(axis=0))
        return np.asarray(path.steps[1:][row])

    @property
    def _level(self) -> np.ndarray:
        return self.factor * np.asarray(self.noise_level, dtype=float) * (1 + 1e-6) + 1e-12  # for rounding


def leave_one_out(problem: Problem, state: State) -> Array:
    """Return the share of samples that may be misclassified once left out: those with m_i ≤ v_i K_ii.

    For the solution at a fixed λ no other sample can be (Jaakkola and Haussler, AISTATS 1999): leaving sample
    i out lowers its margin by at most v_i K_ii. Along a path it is an estimate. Of a sample with a weight
    one copy is left out. An intercept that is not penalized is refused: it moves as well when a sample is
    left out, and the bound does not count that.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> problem = mp.Problem(mp.Gram.from_matrix(np.eye(4)), [1, 1, -1, -1])
    >>> state = mp.run(mp.CoordinateDescent(mp.Constant(1.0)), problem, steps=1).last
    >>> float(leave_one_out(problem, state))  # no sample tells of another
    1.0
    """
    _refuse_intercept(problem)
    xp = problem.xp
    counts = problem.mass > 0
    diagonal = xp.reshape(problem.gram.diagonal, (-1, *(1 for _ in problem.shape[1:])))
    single = state.u / xp.where(counts, problem.mass, xp.ones_like(problem.mass))
    wrong = problem.margins(state.scores) + diagonal * single <= 0
    weight = xp.sum(problem.mass, axis=0)
    return xp.sum(xp.where(wrong, problem.mass, xp.zeros_like(problem.mass)), axis=0) / weight


@register
@dataclass(frozen=True)
class LeaveOneOut:
    """Keep the step whose bound on the leave-one-out error is smallest: no noise level, no held-out sample.

    A column stops when 1/λ has grown by a factor since its smallest :func:`leave_one_out`; the plateau at
    the start does not count. Then ``choose`` names the step.

    Parameters
    ----------
    growth : float
        The factor of patience.

    Examples
    --------
    >>> import marginpath as mp
    >>> data = mp.datasets.gaussian_mixture()
    >>> y = mp.noise.flip_exactly(data.y, 120, seed=0)
    >>> problem = mp.Problem(mp.Gram.from_kernel(data.X, mp.Gaussian(sigma=0.39)), y)
    >>> rule, test = LeaveOneOut(), mp.HeldOutError(problem, data.X_test, data.y_test)
    >>> path = mp.run(mp.CoordinateDescent(), problem, 60, observe={**rule.observed, "test": test}, stop=rule)
    >>> bool(path["test"][rule.choose(path)] < path["test"].min() + 0.01)
    True
    """

    #: What the bound needs of a problem: no intercept, or a penalized one.
    free_intercept: ClassVar[bool] = False

    growth: float = 10.0

    def __post_init__(self) -> None:
        if not self.growth > 1:
            raise ValueError(f"growth must be over 1, got {self.growth!r}.")

    @property
    def observed(self) -> Mapping[str, Metric]:
        """What the path has to observe."""
        return {"leave_one_out": leave_one_out, "bound": bound}

    def __call__(self, problem: Problem, state: State, path: Path) -> Array:
        """Return whether 1/λ has grown by the factor since the best step."""
        values, sizes = _past(path, "leave_one_out", self), _past(path, "bound", self)
        best = _best_row(-values, sizes)
        return _grown(sizes[-1], np.take_along_axis(sizes, best[None], axis=0)[0], self.growth)

    def choose(self, path: Path, problem: Problem | None = None) -> np.ndarray:
        """Return the step of the smallest bound, the first of them."""
        values, sizes = _past(path, "leave_one_out", self), _past(path, "bound", self)
        return np.asarray(path.steps[1:][np.where(sizes > 0, values, np.inf).argmin(axis=0)])


@register
@dataclass(frozen=True)
class QuasiOptimality:
    """Tikhonov and Glasko's principle: keep the step where the path changes least, ‖w_{t'} − w_t‖ smallest.

    t and t' are neighbours on a geometric grid of steps. Early on w changes by what is learned, later by
    noise; between them it changes least. It needs no noise level, and no such rule can be right in the worst
    case (Bakushinskii 1984). Here it is often wrong: see the page on stopping.

    Parameters
    ----------
    ratio : float
        Between neighbours on the grid; 1 takes every step, for solvers whose λ falls geometrically.
    skip : int
        Neighbours at the start that are left out: w = 0 changes little either.

    Examples
    --------
    >>> import marginpath as mp
    >>> data = mp.datasets.toy()
    >>> problem = mp.Problem(mp.Gram.linear(data.X), data.y)
    >>> path = mp.run(mp.DualDescent(mp.PowerDecay(4.0)), problem, steps=128)
    >>> int(QuasiOptimality().choose(path, problem))
    16
    """

    ratio: float = 2.0
    skip: int = 3

    def __post_init__(self) -> None:
        if not self.ratio >= 1:
            raise ValueError(f"ratio must be at least 1, got {self.ratio!r}.")
        if self.skip < 0:
            raise ValueError(f"skip must not be negative, got {self.skip!r}.")

    def __call__(self, problem: Problem, state: State, path: Path) -> Array:
        """Return False: only a whole path shows where it changed least."""
        return np.zeros(problem.shape[1:], dtype=bool)

    def choose(self, path: Path, problem: Problem) -> np.ndarray:
        """Return the earlier of the two neighbours, replaying the states that were not kept."""
        grid = [path.state(t, problem) for t in self.grid(path.last.t)]
        if len(grid) < 2:
            raise ValueError(f"A path of {path.last.t} step(s) has no two steps to compare: run it further.")
        changes = np.array([_change(problem, a, b) for a, b in itertools.pairwise(grid)])
        frozen = np.array([~path.running(b.t - 1) for b in grid[1:]])
        skip = min(self.skip, len(changes) - 1)
        best = np.where(frozen, np.inf, changes)[skip:].argmin(axis=0)
        return np.asarray(np.asarray([a.t for a in grid])[skip + best])

    def grid(self, last: int) -> list[int]:
        """Return 1 = t_0 < t_1 < … ≤ last."""
        steps = [1]
        while (after := max(steps[-1] + 1, round(self.ratio * steps[-1]))) <= last:
            steps.append(after)
        return steps


def _change(problem: Problem, a: State, b: State) -> np.ndarray:
    """Return ‖w_b − w_a‖ per column."""
    squared = problem.squared_norm(b.u - a.u, b.scores - a.scores)
    return np.asarray(np.sqrt(np.maximum(to_numpy(squared), 0)))


def _refuse_intercept(problem: Problem) -> None:
    """Refuse a problem with an intercept that is not penalized."""
    if problem.intercept:
        raise ValueError(
            "The bound on the leave-one-out error holds without an intercept or with a penalized one, but "
            "this problem has one that is not penalized. Use intercept=False and a kernel plus a constant, "
            "or choose the step by cross_validate_path."
        )


def _solved(path: Path, steps: int) -> np.ndarray:
    """Return which steps have the gap that their solver promises, as rounding leaves none in the end."""
    if not hasattr(path.solver, "gap_tol") or "gap" not in path.rows:
        return np.ones(steps, dtype=bool)
    solved = np.asarray(path.rows["gap"][1:]).reshape(steps, -1).max(axis=1) <= path.solver.gap_tol
    return np.asarray(solved | ~solved.any())


def _best_row(score: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return the first row of the best score past the plateau at the start, per column.

    Rows with an empty box do not count; the last row is returned where there is nothing but the plateau.
    """
    begun = size > 0
    first = np.take_along_axis(score, begun.argmax(axis=0)[None], axis=0)
    left = begun & (score != first)
    plateau = np.where(left.any(axis=0), left.argmax(axis=0), len(score) - 1)
    score = np.where(begun, score, -np.inf)
    return np.asarray(np.maximum((score >= score.max(axis=0) - 1e-12).argmax(axis=0), plateau))


def _grown(now: np.ndarray, then: np.ndarray, growth: float) -> np.ndarray:
    """Return whether 1/λ grew by the factor; from 0 to 0 and from ∞ to ∞ it did not grow at all."""
    return np.asarray((now > then) & (now >= growth * then))


def _past(path: Path, name: str, rule: object) -> np.ndarray:
    """Return what was observed after the start, where u = 0 is no classifier."""
    if name not in path.rows:
        raise ValueError(
            f"{rule!r} reads {name!r}, which this path did not observe: pass observe=rule.observed to run, "
            f"or add {name!r} to observe."
        )
    values = np.asarray(path.rows[name][1:], dtype=float)
    if not len(values):
        raise ValueError("The path has no step yet to choose from.")
    return values
