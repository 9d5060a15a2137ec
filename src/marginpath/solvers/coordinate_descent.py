"""Diagonal coordinate descent: the fast way along the same path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import joblib
import numpy as np

from ..arrays import Array
from ..gram import LinearGram
from ..problem import Problem
from ..schedules import GeometricDecay, Schedule, box_size
from .base import State
from .spaces import space_of

_LARGEST = {"float32": 1e18, "float64": 1e150}  # box sizes past which there is no box


@dataclass(frozen=True, kw_only=True)
class CoordinateDescentState(State):
    """A state with its field and aggregate, (n, k) for kernels, (d, k) for features, always float64."""

    field: Array
    aggregate: Array
    start: float
    size: float


@dataclass(frozen=True)
class CoordinateDescent:
    """One sweep of exact coordinate steps at every λ_t of a fading regularization.

    Step t raises the bound of the box to b_t = 1/λ_t, carries the samples at the bound along, and then
    visits every coordinate once in a random order that all columns share,

        u_i ← clip(u_i − (y_i S_i + 1) / K_ii, −b_t, 0),   S = K(Y∘u).

    The samples at the bound are kept as one aggregate vector, so that raising the bound costs nothing, and
    a coordinate that does not move costs nothing either. Each coordinate step is exact; that the diagonal
    process converges is measured, not proved: raising the bound is no descent step.

    Parameters
    ----------
    schedule : callable, optional
        t → λ_t. None starts exactly where the path leaves the solution with all samples at the bound,
        λ_1 = max_i y_i (K y)_i, and divides λ by ``ratio`` at every step.
    ratio : float
        Factor between two steps of the default schedule.
    sweeps : int
        Sweeps at each λ_t.
    tol : float
        A coordinate whose gradient y_i S_i + 1 is within this of 0 is left alone. 0 moves every coordinate;
        LIBSVM stops at 1e-3.
    refresh : int
        The field is computed anew at every step that is a multiple of this, against rounding.
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
    tol: float = 0.0
    refresh: int = 50
    seed: int = 0
    threads: int | None = None

    def __post_init__(self) -> None:
        if not 1 < self.ratio < np.inf:
            raise ValueError(f"ratio must be a finite number over 1, got {self.ratio!r}.")
        if not 0 <= self.tol < 1:
            raise ValueError(f"tol must be at least 0 and under 1, got {self.tol!r}.")
        for name in ("sweeps", "refresh"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)!r}.")

    def init(self, problem: Problem, start: Array | None = None) -> CoordinateDescentState:
        """Start at u = 0, where every sample is at the bound of the empty box."""
        if start is not None:
            raise ValueError("CoordinateDescent starts at u = 0; pass no start, or use DualDescent.")
        space = space_of(problem.gram)
        aggregate = space.field(problem.Y * problem.mass)
        scores = space.scores(aggregate)
        largest = float(np.max(problem.Y * scores * problem.box_scale))
        return CoordinateDescentState(
            t=0,
            u=np.zeros_like(problem.Y),
            scores=np.zeros_like(problem.Y),
            bound=problem.box_size(0.0),
            field=np.zeros_like(aggregate),
            aggregate=aggregate,
            start=largest if largest > 0 else 1.0,
            size=0.0,
        )

    def step(self, problem: Problem, state: CoordinateDescentState) -> CoordinateDescentState:
        """Raise the bound to b_{t+1}, then sweep."""
        t = state.t + 1
        schedule = self.schedule or GeometricDecay(state.start * self.ratio, self.ratio)
        size = box_size(schedule, t, state.size)
        bound = problem.box_size(size if size < _LARGEST[problem.Y.dtype.name] else np.inf)
        space = space_of(problem.gram)

        u, f, g = raise_bound(problem, state, bound)
        for sweep in range(self.sweeps):
            order = np.random.default_rng([self.seed, t, sweep]).permutation(problem.shape[0])
            space.sweep(problem, order, bound, self.tol, u, f, g, self.threads or joblib.cpu_count())
        if t % self.refresh == 0:
            f = space.field(problem.Y * u)
            g = space.field(problem.Y * np.where(_at_bound(problem, u, bound), problem.mass, 0))
        return CoordinateDescentState(
            t=t, u=u, scores=space.scores(f), bound=bound, field=f, aggregate=g, start=state.start, size=size
        )


def raise_bound(problem: Problem, state: CoordinateDescentState, bound: Array) -> tuple[Array, Array, Array]:
    """Return copies of u, field and aggregate with the samples at the old bound moved to the new one."""
    u, f, g = (np.array(x, order=_order(problem)) for x in (state.u, state.field, state.aggregate))
    if not np.isfinite(bound).all():  # no bound to be at any more
        return u, f, np.zeros_like(g)
    at_bound = _at_bound(problem, u, state.bound)
    u[at_bound] = -problem.box(bound)[at_bound]
    f -= (bound.astype(np.float64) - state.bound) * g
    return u, f, g


def _at_bound(problem: Problem, u: Array, bound: Array) -> np.ndarray:
    return np.asarray((u == -problem.box(bound)) & (problem.mass > 0))


def _order(problem: Problem) -> Literal["C", "F"]:
    """Kernels want the samples of a column side by side, features the columns of a sample."""
    return "C" if isinstance(problem.gram, LinearGram) else "F"
