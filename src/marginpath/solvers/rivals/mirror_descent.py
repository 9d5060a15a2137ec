"""Mirror descent on the smoothed margin, plain and accelerated (Ji and Telgarsky; with Srebro, 2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...arrays import Array
from ...problem import Problem
from ...schedules import require_positive
from ..base import State
from ..starting import chosen_step, squared_radius, starting_point
from .softmin import softmin


@dataclass(frozen=True, kw_only=True)
class MirrorDescentState(State):
    """A state with the softmin weights q, the momentum g and the step size θ."""

    q: Array
    g: Array
    step_size: Array


@dataclass(frozen=True)
class MirrorDescent:
    """Mirror descent on the smoothed margin −log Σ_i e^{−⟨w, z_i⟩}.

    Update t = 1, 2, … is, with q the softmax of −Zw and g = 0 at first,

        g ← β_t (g + q),    w ← w + θ Zᵀ(g + q),    u ← u − θ (g + q).

    Plain, β_t = 0, the margin tends to the maximum like 1/t; accelerated, β_t = t/(t + 1), like log t/t²
    (u then grows like t²). Sample weights are multiplicities.

    Parameters
    ----------
    accelerated : bool
        Whether to use the momentum g.
    step_size : float, optional
        θ. None takes 1/max K_ii, which is the theory's θ = 1 for samples of norm at most 1.
    first : int
        The t of the first update, in β_t only. The paper's authors count from 2 in their program.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> from marginpath.solvers import MirrorDescent
    >>> problem = mp.Problem(mp.Gram.linear(np.array([[2.0, 0.0], [0.0, 1.0], [-2.0, 0.0]])), [1, 1, -1])
    >>> path = mp.run(MirrorDescent(accelerated=True), problem, steps=100, observe=["margin"], every=50)
    >>> path["margin"].round(4)  # 2/√5 = 0.8944
    array([0.    , 0.8917, 0.8937])
    """

    accelerated: bool = False
    step_size: float | None = None
    first: int = 1

    def __post_init__(self) -> None:
        require_positive("first", self.first)
        if self.step_size is not None:
            require_positive("step_size", self.step_size)

    def init(self, problem: Problem, start: Array | None = None) -> MirrorDescentState:
        """Start at u = 0, or at a given u ≤ 0."""
        u = starting_point(problem, start)
        scores, θ = problem.scores(u), 1 / squared_radius(problem)
        return MirrorDescentState(
            t=0,
            u=u,
            scores=scores,
            bound=problem.box_size(math.inf),
            q=softmin(problem, problem.margins(scores)),
            g=problem.xp.zeros_like(u),
            step_size=chosen_step(problem, self.step_size, θ, θ),
        )

    def step(self, problem: Problem, state: MirrorDescentState) -> MirrorDescentState:
        """Take update t + 1."""
        t = state.t + self.first
        β = t / (t + 1) if self.accelerated else 0.0
        g = β * (state.g + state.q)
        u = state.u - state.step_size * (g + state.q)
        scores = problem.scores(u)
        return MirrorDescentState(
            t=state.t + 1,
            u=u,
            scores=scores,
            bound=state.bound,
            q=softmin(problem, problem.margins(scores)),
            g=g,
            step_size=state.step_size,
        )
