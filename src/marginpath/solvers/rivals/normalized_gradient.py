"""Normalized gradient descent with a variable step (Nacson, Lee, Gunasekar et al., 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ...arrays import Array
from ...problem import Problem
from ...schedules import require_positive
from ..base import State
from ..starting import squared_radius, starting_point
from .accumulation import refreshed
from .softmin import exponential_weights

REFRESH = 1000


@dataclass(frozen=True, kw_only=True)
class NormalizedGradientState(State):
    """A state with its step size γ, one a column."""

    step_size: Array


@dataclass(frozen=True)
class NormalizedGradient:
    """Steps of length γ/√t along the normalized gradient of the exponential loss.

    Update t = 1, 2, … is, with r_i = e^{−⟨w, z_i⟩},

        w ← w + γ Zᵀr / (√t ‖Zᵀr‖),    u ← u − γ r / √(t rᵀA r).

    It does not change when r is scaled, so r is taken relative to its largest entry. One product a step:
    the scores follow those of r, and are computed anew every 1,000 steps. The margin tends to the maximum
    like log t/√t. Sample weights are multiplicities. A column whose gradient vanishes stays where it is.

    Parameters
    ----------
    step_size : float, optional
        γ. None takes 1/√max K_ii: the theory's γ = 1 is for samples of norm at most 1, and for margins that
        do not depend on the scale of the data w must be ∝ 1/scale.
    first : int
        The t of the first update. The paper's authors count from 2 in their program.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> from marginpath.solvers import NormalizedGradient
    >>> problem = mp.Problem(mp.Gram.linear(np.array([[2.0, 0.0], [0.0, 1.0], [-2.0, 0.0]])), [1, 1, -1])
    >>> path = mp.run(NormalizedGradient(), problem, steps=1000, observe=["margin"], every=500)
    >>> path["margin"].round(3)  # towards 2/√5 = 0.894
    array([0.   , 0.874, 0.88 ])
    """

    step_size: float | None = None
    first: int = 1

    def __post_init__(self) -> None:
        require_positive("first", self.first)
        if self.step_size is not None:
            require_positive("step_size", self.step_size)

    def init(self, problem: Problem, start: Array | None = None) -> NormalizedGradientState:
        """Start at u = 0, or at a given u ≤ 0."""
        u = starting_point(problem, start)
        γ = 1 / problem.xp.sqrt(squared_radius(problem))
        return NormalizedGradientState(
            t=0,
            u=u,
            scores=problem.scores(u),
            bound=problem.box_size(math.inf),
            step_size=γ if self.step_size is None else problem.xp.full_like(γ, self.step_size),
        )

    def step(self, problem: Problem, state: NormalizedGradientState) -> NormalizedGradientState:
        """Take update t + 1."""
        t = state.t + self.first
        r = exponential_weights(problem, problem.margins(state.scores))
        Kr = problem.scores(r)
        η = state.step_size / t**0.5 * _inverse_length(problem, r, Kr)
        u = state.u - η * r
        scores = refreshed(problem, state.t + 1, u, state.scores - η * Kr, REFRESH)
        return replace(state, t=state.t + 1, u=u, scores=scores)


def _inverse_length(problem: Problem, r: Array, Kr: Array) -> Array:
    """Return 1/‖Zᵀr‖, or 0 where that length is within the rounding error of 0."""
    xp = problem.xp
    diagonal = xp.reshape(problem.gram.diagonal, (-1, *(1 for _ in problem.shape[1:])))
    longest = xp.sum(xp.sqrt(diagonal) * r, axis=0)  # ‖Zᵀr‖ if all z_i pointed the same way
    squared = problem.squared_norm(r, Kr)
    positive = squared > float(xp.finfo(r.dtype).eps) * longest**2
    return xp.where(positive, 1 / xp.sqrt(xp.where(positive, squared, xp.ones_like(squared))), 0 * squared)
