"""Stochastic subgradient descent at a fixed λ: Pegasos (Shalev-Shwartz, Singer, Srebro, Cotter, 2011)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Array
from ...losses import Hinge
from ...problem import Problem
from ...schedules import require_positive
from ..base import State
from ..starting import starting_point
from .accumulation import refreshed, unit_vectors


@dataclass(frozen=True)
class Pegasos:
    """Steps of size 1/t on λ/2 ‖w‖² + Σ_i max(0, 1 − ⟨w, z_i⟩), with one random sample for the sum.

    Update t = 1, 2, … draws i and is, with n for the number of samples,

        w ← (1 − 1/t) w + (n/(λ t)) z_i   if ⟨w, z_i⟩ < 1,   and   w ← (1 − 1/t) w   else.

    There is no projection onto a ball. One row of K a step; the scores are computed anew every n steps.
    The sample of step t depends on the seed and t only, so that a path can be replayed, and columns share
    their random numbers. Sample weights are multiplicities: they are drawn in proportion. Column j has λ/s_j
    for a box scale s_j. v = −u lies in the box of the dual on average only, so that the duality gap at a
    state proves nothing.

    Parameters
    ----------
    lambda0 : float
        λ, in the units of the sum of losses (n times that of the original, which has the mean).
    seed : int
        Seed of the random numbers, at least 0.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> from marginpath.solvers import Pegasos
    >>> problem = mp.Problem(mp.Gram.linear(np.array([[2.0, 0.0], [0.0, 1.0], [-2.0, 0.0]])), [1, 1, -1])
    >>> path = mp.run(Pegasos(lambda0=0.1), problem, steps=2000, observe=["error"], every=1000)
    >>> path["error"]
    array([1., 0., 0.])
    """

    lambda0: float
    seed: int = 0

    def __post_init__(self) -> None:
        require_positive("lambda0", self.lambda0)
        if self.seed != int(self.seed) or self.seed < 0:
            raise ValueError(f"seed must be a whole number of at least 0, got {self.seed!r}.")

    def init(self, problem: Problem, start: Array | None = None) -> State:
        """Start at u = 0, or at a given u ≤ 0, of which the first update sees only one margin."""
        u = starting_point(problem, start)
        return State(t=0, u=u, scores=problem.scores(u), bound=problem.box_size(1 / self.lambda0))

    def step(self, problem: Problem, state: State) -> State:
        """Take update t + 1."""
        xp, t, b = problem.xp, state.t + 1, state.bound
        i = _drawn(problem, _uniform(self.seed, t))
        e, Ke = unit_vectors(problem, i)
        m = xp.sum(e * problem.margins(state.scores), axis=0)
        η = xp.sum(problem.mass, axis=0) * b / t * Hinge().derivative(m)
        u = (1 - 1 / t) * state.u + η * e
        scores = (1 - 1 / t) * state.scores + η * Ke
        return replace(state, t=t, u=u, scores=refreshed(problem, t, u, scores, problem.shape[0]))


def _uniform(seed: int, t: int) -> float:
    """Return a random number in (0, 1] that is a function of the seed and t: block t of a counter."""
    return 1 - float(np.random.Generator(np.random.Philox(key=seed, counter=t)).random())


def _drawn(problem: Problem, x: float) -> Array:
    """Return the first i with c_1 + … + c_i ≥ x Σ c, per column: c_i is not 0 there, as x > 0."""
    xp = problem.xp
    cumulative = xp.cumulative_sum(problem.mass, axis=0)
    target = xp.minimum(x * cumulative[-1, ...], cumulative[-1, ...])
    return xp.sum(xp.astype(cumulative < target, xp.int64), axis=0)
