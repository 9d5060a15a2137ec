"""Homotopic subgradient descent on the regularized hinge loss, after Molitor, Needell and Ward (2020)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...arrays import Array
from ...losses import Hinge
from ...problem import Problem
from ...schedules import require_positive
from ..base import State
from ..starting import squared_radius, starting_point
from .accumulation import refreshed

REFRESH = 1000


@dataclass(frozen=True, kw_only=True)
class HomotopicSubgradientState(State):
    """A state whose u is an average of iterates; the last iterate, its scores, and λ_0 go with it."""

    iterate: Array
    iterate_scores: Array
    lambda0: Array


@dataclass(frozen=True)
class HomotopicSubgradient:
    """Subgradient steps on λ_s/2 ‖w‖² + Σ_i max(0, 1 − ⟨w, z_i⟩), λ_s falling from stage to stage.

    Stage s = 0, 1, … holds the updates t = 2^s, …, 2^{s+1} − 1 and starts where the one before ended. With
    λ_s = λ_0 2^{−s/3} update t is, w̄ being the average that the state reports,

        w ← w − (1/(λ_s t)) (λ_s w − Σ_{i : ⟨w, z_i⟩ < 1} z_i),    w̄ ← w̄ + (4/(t + 3)) (w − w̄).

    This is our variant: the stage lengths of Molitor, Needell and Ward are not known to us. In a stage of
    length T the strongly convex problem is solved up to ‖w̄ − w_λ‖ = O(1/(λ √T)) but for logarithms, and the
    solution w_λ of the hinge loss is the maximum-margin one from some λ on; λ ∝ T^{−1/3} so gives the
    t^{−1/6} that they prove. The averaging forgets early iterates (Shamir and Zhang, 2013). Sample weights
    are multiplicities; column j has λ_0/s_j for a box scale s_j.

    Parameters
    ----------
    lambda0 : float, optional
        λ_0. None takes max K_ii, at which one sample alone would get margin 1.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> from marginpath.solvers import HomotopicSubgradient
    >>> problem = mp.Problem(mp.Gram.linear(np.array([[2.0, 0.0], [0.0, 1.0], [-2.0, 0.0]])), [1, 1, -1])
    >>> path = mp.run(HomotopicSubgradient(), problem, steps=1000, observe=["margin"], every=500)
    >>> path["margin"].round(3)  # towards 2/√5 = 0.894
    array([0.   , 0.891, 0.893])
    """

    lambda0: float | None = None

    def __post_init__(self) -> None:
        if self.lambda0 is not None:
            require_positive("lambda0", self.lambda0)

    def init(self, problem: Problem, start: Array | None = None) -> HomotopicSubgradientState:
        """Start at u = 0, or at a given u ≤ 0, of which the first update sees only the margins."""
        u = starting_point(problem, start)
        scores, λ = problem.scores(u), squared_radius(problem)
        return HomotopicSubgradientState(
            t=0,
            u=u,
            scores=scores,
            bound=problem.box_size(0.0),
            iterate=u,
            iterate_scores=scores,
            lambda0=λ if self.lambda0 is None else problem.xp.full_like(λ, self.lambda0),
        )

    def step(self, problem: Problem, state: HomotopicSubgradientState) -> HomotopicSubgradientState:
        """Take update t + 1."""
        t = state.t + 1
        stage = t.bit_length() - 1
        b = problem.box_size(2 ** (stage / 3)) / state.lambda0
        subgradient = problem.mass * Hinge().derivative(problem.margins(state.iterate_scores))
        iterate = (1 - 1 / t) * state.iterate + (b / t) * subgradient
        iterate_scores = problem.scores(iterate)

        ρ = 4 / (t + 3)
        u = state.u + ρ * (iterate - state.u)
        scores = state.scores + ρ * (iterate_scores - state.scores)
        scores = refreshed(problem, t, u, scores, REFRESH)
        return replace(
            state, t=t, u=u, scores=scores, bound=b, iterate=iterate, iterate_scores=iterate_scores
        )
