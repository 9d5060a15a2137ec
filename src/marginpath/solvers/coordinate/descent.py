"""Diagonal coordinate descent: the fast way along the same path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from ... import parallel
from ...arrays import Array
from ...problem import Problem
from ...schedules import GeometricDecay, Schedule, box_size
from ..starting import check_settings, first_lambda, require_zero
from .spaces import Sweeps, SweepState, order_by_runs, space_of, summed_anew

_LARGEST = {"float32": 1e18, "float64": 1e150}  # box sizes past which there is no box


@dataclass(frozen=True, kw_only=True)
class CoordinateDescentState(SweepState):
    """A state of sweeps, with where its schedule starts and stands."""

    start: float
    size: float

    @classmethod
    def at_zero(cls, problem: Problem, aggregate: Array, scores: Array) -> Self:
        """Return u = 0, every sample at the bound of the empty box; scores are those of the aggregate."""
        return cls(
            t=0,
            u=np.zeros_like(problem.Y),
            scores=np.zeros_like(problem.Y),
            bound=problem.box_size(0.0),
            field=np.zeros_like(aggregate),
            aggregate=aggregate,
            counted=np.asarray(np.count_nonzero(problem.mass, axis=0)),
            start=first_lambda(problem, scores),
            size=0.0,
        )

    def next_box(self, problem: Problem, schedule: Schedule | None, ratio: float) -> tuple[float, Array]:
        """Return b_{t+1}, and that of every column; by default b grows by the ratio."""
        schedule = schedule or GeometricDecay(self.start * ratio, ratio)
        size = box_size(schedule, self.t + 1, self.size)
        return size, problem.box_size(size if size < _LARGEST[problem.Y.dtype.name] else np.inf)


@dataclass(frozen=True)
class CoordinateDescent:
    """One sweep of exact coordinate steps at every λ_t of a fading regularization.

    Step t raises the bound of the box to b_t = 1/λ_t, carries the samples at the bound along, and then
    visits every coordinate in a random order that all columns share,

        u_i ← clip(u_i − (y_i S_i + 1) / K_ii, −b_t, 0),   S = K(Y∘u).

    The samples at the bound are kept as one aggregate vector, so that raising the bound costs nothing, and
    a coordinate that does not move costs nothing either. Each coordinate step is exact; that the diagonal
    process converges is measured, not proved: raising the bound is no descent step. With a line search there
    it is: ``theory.searched_sweep``.

    Parameters
    ----------
    schedule : callable, optional
        t → λ_t. None starts exactly where the path leaves the solution with all samples at the bound,
        λ_1 = max_i y_i (K y)_i, and divides λ by ``ratio`` at every step.
    ratio : float
        Factor between two steps of the default schedule.
    sweeps : int
        Sweeps at each λ_t. Over features, every eighth visits all samples, beginning with the first, and the
        others only the coordinates that moved in the one before; over kernels, a visit costs nothing.
    passes : int
        Of a sweep over a kernel, which takes 128 samples at a time: how often it steps through them before
        their rows are added to the scores of all. A step is cheap, reading a row of K is not. With more
        than one pass they are neighbours: runs of samples in a random order, each in a random order.
    tol : float
        A coordinate whose gradient y_i S_i + 1 is within this of 0 is left alone. 0 moves every coordinate;
        LIBSVM stops at 1e-3. Over kernels it holds for the last two sweeps at a λ; each before them has twice
        the tolerance, up to eight times: small corrections wait until the large ones are made.
    refresh : int
        The fields are computed anew at every step that is a multiple of this, against rounding; the aggregate
        also when most of its samples have left it.
    seed : int
        Of the random orders; that of step t depends on nothing else.
    threads : int, optional
        Columns are shared between so many threads; None takes the cores there are.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> data = mp.datasets.toy()
    >>> problem = mp.Problem(mp.Gram.linear(data.X), data.y)
    >>> path = mp.run(mp.CoordinateDescent(), problem, steps=60, observe=["margin"])
    >>> round(float(path["margin"][-1]), 6)  # the maximum margin is √2
    1.414214
    """

    schedule: Schedule | None = None
    ratio: float = 1.5
    sweeps: int = 1
    passes: int = 1
    tol: float = 0.0
    refresh: int = 50
    seed: int = 0
    threads: int | None = None

    def __post_init__(self) -> None:
        check_settings(self, "sweeps", "passes", "refresh")

    def init(self, problem: Problem, start: Array | None = None) -> CoordinateDescentState:
        """Start at u = 0, where every sample is at the bound of the empty box."""
        require_zero(self, start)
        space = space_of(problem.gram)
        aggregate = space.field(problem.Y * problem.mass)
        scores = space.scores(aggregate).astype(np.float64)
        return CoordinateDescentState.at_zero(problem, aggregate, scores)

    def step(self, problem: Problem, state: CoordinateDescentState) -> CoordinateDescentState:
        """Raise the bound to b_{t+1}, then sweep."""
        t = state.t + 1
        size, bound = state.next_box(problem, self.schedule, self.ratio)
        space = space_of(problem.gram)

        n, rngs = problem.shape[0], [np.random.default_rng([self.seed, t, s]) for s in range(self.sweeps)]
        by_runs = self.passes > 1 and space.by_runs
        orders = [order_by_runs(n, rng) if by_runs else rng.permutation(n) for rng in rngs]
        sweeps = Sweeps(orders, self.tol, self.passes)
        u, f, g = space.advance(problem, state, bound, sweeps, self.threads or parallel.available())
        refresh = t % self.refresh == 0
        f = space.field(problem.Y * u) if refresh else f
        g, counted = summed_anew(space.field, problem, u, bound, g, state.counted, refresh)
        return CoordinateDescentState(
            t=t,
            u=u,
            scores=space.scores(f),
            bound=bound,
            field=f,
            aggregate=g,
            counted=counted,
            start=state.start,
            size=size,
        )
