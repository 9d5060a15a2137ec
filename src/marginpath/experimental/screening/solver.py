"""Exact screening: the iterates of Algorithms 1 and 2 from the coordinates that can move."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...arrays import Array
from ...losses import Hinge
from ...problem import Problem
from ...schedules import box_size
from ...solvers.dual_descent import DualDescent
from .state import (
    BOUND,
    FREE,
    ZERO,
    ScreenedState,
    all_rest,
    best_horizon,
    distance,
    inner,
    norm,
    ratio,
    rounding,
    slack,
)
from .stored import StoredMatrix


@dataclass(frozen=True)
class Screened:
    """The iterates of :class:`DualDescent`, computed on the coordinates that can move.

    Along the path most coordinates rest at an end of their box. With w(q) = −Zᵀq, a point p whose margins
    m(p) are all known, and G_t = (b_t − b_{t−1}) − α_t (b_{t−1} − b_{t−2}), what the bound gains on the
    extrapolated point q_t, coordinate i stays where it is as long as

        √K_ii ‖w(q_t) − w(p)‖ ≤ m_i(p) − 1              at 0,
        √K_ii ‖w(q_t) − w(p)‖ ≤ 1 − m_i(p) − G_t/γ      at the bound,

    since a margin changes by at most √K_ii times as much as w. The margins are known all along the line
    through an earlier q, in the direction of the step that led there, and p is its point nearest to q_t.

    The rows of such coordinates are left out. The others make a packed block of K, and those at the bound
    one aggregate vector beside it. Where a test fails, and now and then, a product with the support gives a
    new line and a new choice of rows.

    The iterates are those of the plain solver up to rounding. A state makes its scores whole when someone
    looks at them, which costs a product with the support: observe every so many steps, not each.

    Parameters
    ----------
    solver : DualDescent
        Any schedule, momentum and step size, and the hinge loss. The kernel matrix of the problem must be
        stored by NumPy; the block takes up to half its memory.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> from marginpath.experimental import Screened
    >>> data = mp.datasets.toy()
    >>> problem = mp.Problem(mp.Gram.from_kernel(data.X, mp.Linear()), data.y)
    >>> plain = mp.DualDescent(mp.PowerDecay(4.0), mp.Inertia(3))
    >>> path = mp.run(Screened(plain), problem, steps=500)
    >>> bool(np.allclose(path.last.u, mp.run(plain, problem, steps=500).last.u, rtol=0, atol=1e-12))
    True
    """

    solver: DualDescent

    def __post_init__(self) -> None:
        if not isinstance(self.solver, DualDescent) or not isinstance(self.solver.loss, Hinge):
            raise TypeError(f"Screened takes a DualDescent with the hinge loss, got {self.solver!r}.")

    def init(self, problem: Problem, start: Array | None = None) -> ScreenedState:
        """Start where the plain solver does, with all rows free."""
        matrix = StoredMatrix(problem.gram)
        state = self.solver.init(problem, start)
        zero = np.zeros_like(state.u)
        return ScreenedState(
            t=0,
            u=state.u,
            scores=state.scores,
            bound=state.bound,
            Y=problem.Y,
            previous_u=state.u,
            free_scores=state.scores,
            previous_free_scores=state.scores,
            role=np.full(problem.shape, FREE, dtype=np.int8),
            aggregate=zero,
            reference=state.u,
            reference_scores=state.scores,
            direction=zero,
            direction_scores=zero,
            bend=np.zeros_like(problem.box_scale),
            step_size=state.step_size,
            size=0.0,
            previous_size=0.0,
            reference_size=0.0,
            direction_size=0.0,
            since=0,
            horizon=0,
        ).changed(matrix)

    def step(self, problem: Problem, state: ScreenedState) -> ScreenedState:
        """Take update t + 1, on the coordinates that can move."""
        t, γ = state.t + 1, state.step_size
        b = box_size(self.solver.schedule, t, state.size)
        α = 0.0 if self.solver.momentum is None else self.solver.momentum(t)
        bound = problem.box_size(b)
        state = _ready(problem, state, α, _growth(problem, state, α, b))

        rows, free = state.moving, np.flatnonzero(state.free)
        q, Kq = state.extrapolated(α, rows)
        Y, mass, box, role = problem.Y[rows], problem.mass[rows], problem.box(bound)[rows], state.role[rows]
        v = self.solver.loss.prox_conjugate(q - γ * mass * (Y * Kq), γ * mass, box)
        u, S = np.zeros_like(state.u), np.zeros_like(state.u)
        # A row that rests at the bound in one column may rest at 0 in another.
        u[rows] = np.where(role == FREE, v, np.where(role == BOUND, -box, np.zeros_like(v)))
        if free.size == len(u):
            S = state.matrix.product(problem.Y * u)
        else:
            S[free] = state.matrix.block(free).product((problem.Y * u)[free])
            if np.any(role == BOUND):
                S[free] -= bound * state.aggregate[free]
        return state.changed(
            t=t,
            u=u,
            bound=bound,
            previous_u=state.u,
            free_scores=S,
            previous_free_scores=state.free_scores,
            size=b,
            previous_size=state.size,
        )


def _ready(problem: Problem, state: ScreenedState, α: float, growth: np.ndarray) -> ScreenedState:
    """Return a state whose coordinates rest rightly in the next update."""
    matrix = state.__dict__.get("matrix")
    if matrix is None or matrix.gram is not problem.gram:
        state = state.changed(StoredMatrix(problem.gram))
    if state.mixed:
        state = _made_whole(problem, state)
    ρ, τ = distance(problem, state, α)
    if state.t < state.since + 4 * state.horizon and all_rest(problem, state, ρ, τ, growth):
        return state
    return _renewed(problem, state, α, growth, ρ)


def _growth(problem: Problem, state: ScreenedState, α: float, b: float) -> np.ndarray:
    """Return G_t/γ, per column."""
    gain = (b - state.size) - α * (state.size - state.previous_size) if math.isfinite(b) else math.inf
    with np.errstate(over="ignore"):
        return np.asarray(problem.box_scale.astype(np.float64) * gain / state.step_size)


def _renewed(
    problem: Problem, state: ScreenedState, α: float, growth: np.ndarray, ρ: np.ndarray
) -> ScreenedState:
    """Let those rows rest for which it pays, and lay a line from q; w is at a distance ρ from the old one."""
    packed = state.free
    if not packed.all():
        state = _made_whole(problem, state, ρ)
    q, Kq = state.extrapolated(α)
    at_bound = (problem.mass > 0) & (problem.roots > 0) & (state.u == -problem.box(state.bound))
    at_bound &= state.previous_u == -problem.box(problem.box_size(state.previous_size))
    at_end = at_bound | ((state.u == 0) & (state.previous_u == 0))
    left = slack(problem, at_bound, Kq, growth) - problem.roots * (
        rounding(problem) * norm(problem.roots * q)
    )
    horizon = np.where(at_end, _horizon(problem, state, at_bound, left), 0).reshape(len(q), -1).min(axis=1)
    H, free = best_horizon(horizon, (state.u != 0).reshape(len(q), -1).any(axis=1), packed)
    if H == 0:
        return state
    if state.since < state.t:
        state = _made_whole(problem, state)
    free = free.reshape(-1, *(1 for _ in problem.shape[1:]))
    at_bound &= ~free
    return state.changed(
        role=np.where(free, FREE, np.where(at_bound, BOUND, ZERO)).astype(np.int8),
        aggregate=state.matrix.product(np.where(at_bound, problem.Y * problem.mass, np.zeros_like(q))),
        reference=q,
        reference_scores=Kq,
        reference_size=state.size + α * (state.size - state.previous_size),
        horizon=math.ceil(H),
    )


def _made_whole(problem: Problem, state: ScreenedState, ρ: np.ndarray | None = None) -> ScreenedState:
    """Make all rows free, and lay a line along the last step: one product, for u_t and u_t − u_{t−1}."""
    d = state.u - state.previous_u
    both = np.stack([problem.Y * state.u, problem.Y * d], axis=-1)
    S = state.matrix.product(both.reshape(len(both), -1)).reshape(both.shape)
    free, bend, h = state.role == FREE, state.bend, state.t - state.since
    if ρ is not None and h > 0:
        speed = np.sqrt(inner(problem.Y * state.direction, state.direction_scores).clip(0))
        bend = ratio(ρ, speed * h**2).astype(bend.dtype)
    return state.changed(
        free_scores=np.where(free, state.free_scores, S[..., 0]),
        previous_free_scores=np.where(free, state.previous_free_scores, S[..., 0] - S[..., 1]),
        role=np.full_like(state.role, FREE),
        aggregate=np.zeros_like(d),
        direction=d,
        direction_scores=S[..., 1],
        direction_size=state.size - state.previous_size,
        bend=bend,
        since=state.t,
        horizon=0,
    )


def _horizon(problem: Problem, state: ScreenedState, at_bound: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Return for how many steps h each coordinate will pass its test, if w keeps its speed and its bend.

    They end where left + h slope = √K_ii speed bend h².
    """
    step, change = problem.Y * (state.u - state.previous_u), state.free_scores - state.previous_free_scores
    speed = np.sqrt(np.maximum(inner(step, change), 0))
    bend = problem.roots * speed * np.maximum(state.bend / (1 + state.t - state.since), 1 / (state.t + 1))
    slope, left = np.where(at_bound, -1, 1) * problem.margins(change), np.maximum(left, 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        steps = 2 * left / (np.sqrt(slope**2 + 4 * bend * left) - slope)
    steps = np.where(problem.mass > 0, np.nan_to_num(steps, nan=0.0, posinf=np.inf), np.inf)
    # No further than the path has come: a w that rests now is no promise.
    return np.clip(steps, 0, state.t + 1)
