"""Subgradient descent on the hinge loss."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ...arrays import Array
from ...losses import Hinge
from ...problem import Problem
from ...schedules import require_positive
from ..base import State
from ..starting import starting_point


@dataclass(frozen=True, kw_only=True)
class SubgradientState(State):
    """A state with the step size γ."""

    step_size: float


@dataclass(frozen=True)
class Subgradient:
    """Subgradient steps of size γ/√t on the sum of hinge losses.

    Update t = 1, 2, … is

        w ← w + (γ/√t) Σ_{i : ⟨w, z_i⟩ < 1} z_i.

    It ends where all margins are at least 1: at zero loss, which need not be the maximum margin. Sample
    weights are multiplicities.

    Parameters
    ----------
    step_size : float, optional
        γ. None takes 1/‖K‖, by the upper bound on the norm, which makes the path independent of the scale
        of the data.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> from marginpath.solvers import Subgradient
    >>> problem = mp.Problem(mp.Gram.linear(np.array([[2.0, 0.0], [0.0, 1.0], [-2.0, 0.0]])), [1, 1, -1])
    >>> path = mp.run(Subgradient(), problem, steps=1000, observe=["margin", "functional_margin"], every=500)
    >>> path["functional_margin"] >= 1
    array([False,  True,  True])
    >>> path["margin"].round(3)  # not 2/√5 = 0.894
    array([0.   , 0.762, 0.762])
    """

    step_size: float | None = None

    def __post_init__(self) -> None:
        if self.step_size is not None:
            require_positive("step_size", self.step_size)

    def init(self, problem: Problem, start: Array | None = None) -> SubgradientState:
        """Start at u = 0, or at a given u ≤ 0."""
        u = starting_point(problem, start)
        γ = self.step_size
        if γ is None:
            norm = problem.norm_bounds()[1]
            γ = 1 / norm if norm > 0 else 1.0
        return SubgradientState(
            t=0, u=u, scores=problem.scores(u), bound=problem.box_size(math.inf), step_size=γ
        )

    def step(self, problem: Problem, state: SubgradientState) -> SubgradientState:
        """Take update t + 1."""
        t = state.t + 1
        γ = state.step_size / t**0.5
        u = state.u + γ * problem.mass * Hinge().derivative(problem.margins(state.scores))
        return replace(state, t=t, u=u, scores=problem.scores(u))
