"""Exact screening: the iterates of Algorithms 1 and 2 from the coordinates that can move."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array
from ..losses import Hinge
from ..problem import Problem
from ..schedules import box_size
from .dual_descent import DualDescent
from .screening import (
    BOUND,
    FREE,
    ZERO,
    Block,
    ScreenedState,
    best_horizon,
    stored_matrix,
    support_product,
)


@dataclass(frozen=True)
class Screened:
    """The iterates of :class:`DualDescent`, computed on the coordinates that can move.

    Along the path most coordinates rest at an end of their box. With w(q) = −Zᵀq, a reference p whose
    margins m(p) are all known, and G_t = (b_t − b_{t−1}) − α_t (b_{t−1} − b_{t−2}), what the bound gains on
    the extrapolated point q_t, coordinate i stays where it is as long as

        √K_ii ‖w(q_t) − w(p)‖ ≤ m_i(p) − 1              at 0,
        √K_ii ‖w(q_t) − w(p)‖ ≤ 1 − m_i(p) − G_t/γ      at the bound,

    since a margin changes by at most √K_ii times as much as w. The rows of such coordinates are left out.
    The others make a packed block of K, and those at the bound one aggregate vector beside it. Where a test
    fails, and now and then, a product with the support gives a new reference and a new choice of rows.

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
    >>> from marginpath.solvers.screened import Screened
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
        K = stored_matrix(problem.gram)
        state = self.solver.init(problem, start)
        first = ScreenedState(
            t=0,
            u=state.u,
            scores=None,
            bound=state.bound,
            previous_u=state.u,
            free_scores=state.scores,
            previous_free_scores=state.scores,
            role=np.full(problem.shape, FREE, dtype=np.int8),
            reference=state.u,
            reference_scores=state.scores,
            aggregate=np.zeros_like(state.u),
            step_size=state.step_size,
            size=0.0,
            previous_size=0.0,
            reference_size=0.0,
            since=0,
            horizon=0,
        )
        return first.attach(K, problem.Y, None)

    def step(self, problem: Problem, state: ScreenedState) -> ScreenedState:
        """Take update t + 1, on the coordinates that can move."""
        t, γ = state.t + 1, state.step_size
        b = box_size(self.solver.schedule, t, state.size)
        α = 0.0 if self.solver.momentum is None else self.solver.momentum(t)
        bound = problem.box_size(b)
        box, block = problem.box(bound), state.release()
        state = _renewed(problem, state, α, b)

        q, Kq = state.extrapolated(α)
        g = q - γ * problem.mass * (problem.Y * Kq)
        u = self.solver.loss.prox_conjugate(g, γ * problem.mass, box)
        u = np.where(state.role == FREE, u, np.where(state.role == BOUND, -box, np.zeros_like(u)))
        S, block = _free_scores(problem, state, block, u, bound)
        return replace(
            state,
            t=t,
            u=u,
            scores=None,
            bound=bound,
            previous_u=state.u,
            free_scores=S,
            previous_free_scores=state.free_scores,
            size=b,
            previous_size=state.size,
        ).attach(stored_matrix(problem.gram), problem.Y, block)


def _free_scores(
    problem: Problem, state: ScreenedState, block: Block | None, u: np.ndarray, bound: np.ndarray
) -> tuple[np.ndarray, Block | None]:
    """Return S_F = K_FF (Y∘u)_F − b a_F on the free rows, and the block that gave it."""
    K, v = stored_matrix(problem.gram), problem.Y * u
    if state.whole:
        return support_product(K, v), None
    if block is None or not block.fits(state.role):
        block = Block.pack(K, state.role)
    S = block.product(v)
    if np.any(state.role == BOUND):  # else b may be infinite
        S = np.where(state.role == FREE, S - bound * state.aggregate, S)
    return S, block


def _renewed(problem: Problem, state: ScreenedState, α: float, b: float) -> ScreenedState:
    """Return the state with roles that hold for the next update."""
    gain = (b - state.size) - α * (state.size - state.previous_size) if math.isfinite(b) else math.inf
    with np.errstate(over="ignore"):
        growth = problem.box_scale.astype(np.float64) * gain / state.step_size
    if not state.whole:
        outlived = state.t >= state.since + 4 * state.horizon
        if outlived or not _safe(problem, state, α, growth):
            state = _made_whole(problem, state)
    # Roles that failed before their time are not tried again until it is over.
    if state.whole and state.t >= state.since + state.horizon:
        state = _screened(problem, state, α, growth)
    return state


def _safe(problem: Problem, state: ScreenedState, α: float, growth: np.ndarray) -> bool:
    """Whether every coordinate that rests passes its test."""
    margins = problem.margins(state.reference_scores)
    slack = _slack(problem, margins, state.role == BOUND, growth)
    ρ = _distance(problem, state, α)
    return bool(np.all(slack >= _roots(problem) * ρ, where=state.role < FREE))


def _slack(problem: Problem, margins: np.ndarray, at_bound: np.ndarray, growth: np.ndarray) -> np.ndarray:
    """Return the right-hand sides of the tests; a coordinate without mass never moves."""
    slack = np.where(at_bound, 1 - margins - growth, margins - 1)
    return np.where(problem.mass > 0, slack, np.inf)


def _distance(problem: Problem, state: ScreenedState, α: float) -> np.ndarray:
    """Return ‖w(q) − w(p)‖ per column, with what rounding may add to it and to the margins.

    d = q − p is 0 where coordinates rest at 0, and −δ times the mass where they rest at the bound. So
    ‖Zᵀd‖² = Σ_F (Y∘d) K(Y∘d) − δ Σ (Y∘d) a, and K(Y∘d) is known on the free rows F.
    """
    q, Kq = state.extrapolated(α)
    d = problem.Y * (q - state.reference)
    Kd = np.where(state.role == FREE, Kq - state.reference_scores, np.zeros_like(Kq))
    squared = np.sum(d * Kd, axis=0, dtype=np.float64)
    if np.any(state.role == BOUND):
        δ = state.size + α * (state.size - state.previous_size) - state.reference_size
        squared = squared - δ * problem.box_scale * np.sum(d * state.aggregate, axis=0, dtype=np.float64)
    error = _rounding(problem, q)
    spread = np.linalg.norm(_roots(problem) * d, axis=0)
    return np.asarray(np.sqrt(np.maximum(squared, 0) + error * spread) + error)


def _rounding(problem: Problem, q: np.ndarray) -> np.ndarray:
    """Return how far off the scores of q may be, over √K_ii, per column.

    A sum of n terms with independent rounding errors is off by some eps √n times their Euclidean norm,
    and that is at most √K_ii (Σ_j K_jj q_j²)^½ here.
    """
    unit = 2 * float(np.finfo(q.dtype).eps) * len(q) ** 0.5
    return np.asarray(unit * np.linalg.norm(_roots(problem) * q, axis=0))


def _roots(problem: Problem) -> np.ndarray:
    """Return √K_ii, to be spread over the columns."""
    return np.asarray(np.sqrt(problem.gram.diagonal).reshape(-1, *(1 for _ in problem.shape[1:])))


def _made_whole(problem: Problem, state: ScreenedState) -> ScreenedState:
    """Make all rows free: one product for the scores of u_t and u_{t−1}."""
    both = np.stack([problem.Y * state.u, problem.Y * state.previous_u], axis=-1)
    S = support_product(stored_matrix(problem.gram), both.reshape(len(both), -1)).reshape(both.shape)
    free = state.role == FREE
    return replace(
        state,
        scores=None,
        free_scores=np.where(free, state.free_scores, S[..., 0]),
        previous_free_scores=np.where(free, state.previous_free_scores, S[..., 1]),
        role=np.full_like(state.role, FREE),
    )


def _screened(problem: Problem, state: ScreenedState, α: float, growth: np.ndarray) -> ScreenedState:
    """Let those rows rest for which it pays, with q as the reference. All are free before."""
    q, Kq = state.extrapolated(α)
    at_bound = (problem.mass > 0) & (state.u == -problem.box(state.bound))
    at_bound &= state.previous_u == -problem.box(problem.box_size(state.previous_size))
    at_end = at_bound | ((state.u == 0) & (state.previous_u == 0))
    slack = np.where(at_end, _slack(problem, problem.margins(Kq), at_bound, growth), 0)
    horizon = _horizon(problem, state, q, slack)
    H = best_horizon(horizon, (state.u != 0).reshape(len(q), -1).any(axis=1))
    if H == 0:
        return state
    free = (horizon < H).reshape(_roots(problem).shape)
    role = np.where(free, FREE, np.where(at_bound, BOUND, ZERO)).astype(np.int8)
    held = np.where(role == BOUND, problem.Y * problem.mass, np.zeros_like(q))
    return replace(
        state,
        scores=None,
        role=role,
        reference=q,
        reference_scores=Kq,
        reference_size=state.size + α * (state.size - state.previous_size),
        aggregate=support_product(stored_matrix(problem.gram), held),
        since=state.t,
        horizon=math.ceil(H),
    )


def _horizon(problem: Problem, state: ScreenedState, q: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """Return for how many steps each row will pass its tests if w goes on at its speed."""
    step = problem.Y * (state.u - state.previous_u)
    change = np.sum(step * (state.free_scores - state.previous_free_scores), axis=0)
    speed = np.sqrt(np.maximum(change, 0))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        steps = (slack / _roots(problem) - _rounding(problem, q)) / speed
    # No further than the path has come: a w that rests now is no promise.
    steps = np.clip(np.nan_to_num(steps, nan=0.0, posinf=np.inf), 0, state.t + 1)
    return np.asarray(steps.reshape(len(q), -1).min(axis=1))
