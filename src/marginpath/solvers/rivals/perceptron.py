"""The normalized kernel perceptron, plain and smooth (Ramdas and Peña, 2016)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ...arrays import Array
from ...problem import Problem
from ..base import State
from ..starting import squared_radius, starting_point
from .accumulation import refreshed, unit_vectors
from .softmin import softmin


@dataclass(frozen=True, kw_only=True)
class SmoothPerceptronState(State):
    """A state with the averaged and the last softmin weights, and the first smoothing μ_0."""

    p: Array
    q: Array
    smoothing: Array


@dataclass(frozen=True)
class Perceptron:
    """Steps towards the sample of smallest margin, with weights α = −u on the simplex.

    Update t = 1, 2, … of the plain perceptron is, with θ = 1/t and one row of K (ties go to the first),

        α ← (1 − θ) α + θ e_i,    i = argmin_j (A α)_j,

    and of the smooth one, with θ = 2/(t + 2), μ_0 = 2 max K_ii, and q = softmax(−A α/μ),

        α ← (1 − θ)(α + θ p) + θ² q,    μ ← (1 − θ) μ,    p ← (1 − θ) p + θ softmax(−A α/μ).

    The margin tends to the maximum like 1/√t (proved); the smooth one runs level with the accelerated
    ``MirrorDescent`` in practice. There is no step size, and the scale of the data does not matter. The
    plain one looks at the smallest margin only, so that sample weights other than 0 make no difference; for
    the smooth one they are multiplicities.

    Parameters
    ----------
    smooth : bool
        Whether to smooth the minimum.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> from marginpath.solvers import Perceptron
    >>> problem = mp.Problem(mp.Gram.linear(np.array([[2.0, 0.0], [0.0, 1.0], [-2.0, 0.0]])), [1, 1, -1])
    >>> path = mp.run(Perceptron(), problem, steps=100, observe=["margin"], every=50)
    >>> path["margin"].round(3)  # 2/√5 = 0.894
    array([0.   , 0.894, 0.894])
    """

    smooth: bool = False

    def init(self, problem: Problem, start: Array | None = None) -> State:
        """Start at α = 0, the smooth one at equal weights.

        A start u ≤ 0 replaces that; the plain perceptron forgets it in its first update (θ = 1), and the
        smooth one scales it onto the simplex.
        """
        u = starting_point(problem, start)
        if self.smooth:
            return self._smooth_init(problem, u)
        return State(t=0, u=u, scores=problem.scores(u), bound=problem.box_size(math.inf))

    def step(self, problem: Problem, state: State) -> State:
        """Take update t + 1."""
        if isinstance(state, SmoothPerceptronState):
            return self._smooth_step(problem, state)
        t = state.t + 1
        θ = 1 / t
        m, inside = problem.margins(state.scores), problem.mass > 0
        i = problem.xp.argmin(problem.xp.where(inside, m, problem.xp.full_like(m, math.inf)), axis=0)
        e, Ke = unit_vectors(problem, i)
        u = (1 - θ) * state.u - θ * e
        scores = (1 - θ) * state.scores - θ * Ke
        # Every n steps: as dear as n rows, and an error as that of a product with n terms.
        return replace(state, t=t, u=u, scores=refreshed(problem, t, u, scores, problem.shape[0]))

    def _smooth_init(self, problem: Problem, u: Array) -> SmoothPerceptronState:
        xp = problem.xp
        total = xp.sum(u, axis=0)
        u = xp.where(total < 0, u, -problem.mass)
        u = -u / xp.sum(u, axis=0)
        μ, scores = 2 * squared_radius(problem), problem.scores(u)
        q = softmin(problem, problem.margins(scores) / μ)
        return SmoothPerceptronState(
            t=0, u=u, scores=scores, bound=problem.box_size(math.inf), p=q, q=q, smoothing=μ
        )

    def _smooth_step(self, problem: Problem, state: SmoothPerceptronState) -> SmoothPerceptronState:
        t, p = state.t + 1, state.p
        θ = 2 / (t + 2)
        u = (1 - θ) * (state.u - θ * p) - θ**2 * state.q
        scores = problem.scores(u)
        μ = state.smoothing * (2 / ((t + 1) * (t + 2)))  # the product of the 1 − θ
        q = softmin(problem, problem.margins(scores) / μ)
        return replace(state, t=t, u=u, scores=scores, p=(1 - θ) * p + θ * q, q=q)
