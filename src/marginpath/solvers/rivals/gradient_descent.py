"""Gradient descent on a smooth loss of the margin (Soudry, Hoffer, Nacson, Gunasekar, Srebro, 2018)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from ...arrays import Array
from ...losses import Exponential, SmoothLoss
from ...problem import Problem
from ...schedules import require_positive
from ..base import State
from ..starting import chosen_step, squared_radius, starting_point


@dataclass(frozen=True, kw_only=True)
class GradientDescentState(State):
    """A state with its step size, one a column."""

    step_size: Array


@dataclass(frozen=True)
class GradientDescent:
    """Gradient steps of constant size on the sum of losses.

    An update is

        w ← w − η Σ_i ℓ'(⟨w, z_i⟩) z_i,    u ← u + η ℓ'(A v),  v = −u.

    For the logistic and the exponential loss w grows without limit, and its direction tends to the maximum
    margin like 1/log t. Sample weights are multiplicities.

    Parameters
    ----------
    loss : SmoothLoss
        ``Exponential()`` (default), ``Logistic()``, or another one with a second derivative.
    step_size : float, optional
        η. None takes 1/β, β a bound on the curvature: sup ℓ'' · ‖K‖, so 4/‖K‖ for the logistic loss. The
        exponential loss has ℓ'' = ℓ, so its Hessian Σ ℓ(m_i) z_i z_iᵀ is at most β = L(w) max K_ii with the
        sum L of the losses. A step of 1/β does not increase L, so that the β of the start holds for ever:
        from u = 0 it is n max K_ii.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> from marginpath.solvers import GradientDescent
    >>> problem = mp.Problem(mp.Gram.linear(np.array([[2.0, 0.0], [0.0, 1.0], [-2.0, 0.0]])), [1, 1, -1])
    >>> path = mp.run(GradientDescent(), problem, steps=1000, observe=["margin"], every=500)
    >>> path["margin"].round(3)  # towards 2/√5 = 0.894, slowly
    array([0.   , 0.791, 0.806])
    """

    loss: SmoothLoss = field(default_factory=Exponential)
    step_size: float | None = None

    def __post_init__(self) -> None:
        if not hasattr(self.loss, "second_derivative"):
            raise TypeError(
                f"GradientDescent needs a loss with a second derivative, such as Logistic() or "
                f"Exponential(); got {self.loss!r}. For the hinge loss use Subgradient."
            )
        if self.step_size is not None:
            require_positive("step_size", self.step_size)

    def init(self, problem: Problem, start: Array | None = None) -> GradientDescentState:
        """Start at u = 0, or at a given u ≤ 0."""
        u = starting_point(problem, start)
        scores = problem.scores(u)
        lower, β = self._curvature(problem, scores)
        return GradientDescentState(
            t=0,
            u=u,
            scores=scores,
            bound=problem.box_size(math.inf),
            step_size=chosen_step(problem, self.step_size, 1 / β, 1 / lower),
        )

    def step(self, problem: Problem, state: GradientDescentState) -> GradientDescentState:
        """Take update t + 1."""
        m = _counted(problem, problem.margins(state.scores))
        u = state.u + state.step_size * problem.mass * self.loss.derivative(m)
        return replace(state, t=state.t + 1, u=u, scores=problem.scores(u))

    def _curvature(self, problem: Problem, scores: Array) -> tuple[Array, Array]:
        """Return β per column, from the lower and the upper bound on what it is made of."""
        xp = problem.xp
        if math.isfinite(self.loss.smoothness):
            lower, upper = (self.loss.smoothness * norm or 1.0 for norm in problem.norm_bounds())
            return xp.full_like(problem.box_scale, lower), xp.full_like(problem.box_scale, upper)
        value = self.loss.value(_counted(problem, problem.margins(scores)))
        total = xp.sum(problem.mass * value, axis=0)
        if not bool(xp.all(xp.isfinite(total))):
            raise ValueError("The loss at start is too large for the dtype. Scale start down, or pass None.")
        # Above the true value where that is next to nothing: 1/β stays finite.
        least = float(xp.finfo(total.dtype).smallest_normal) ** 0.5
        β = xp.maximum(total, xp.full_like(total, least)) * squared_radius(problem)
        return β, β


def _counted(problem: Problem, margins: Array) -> Array:
    """Put 0 for samples of weight 0, whose loss might overflow."""
    return problem.xp.where(problem.mass > 0, margins, problem.xp.zeros_like(margins))
