"""Diagonal descent on the dual: the paper's Algorithms 1 and 2."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace

from ..arrays import Array
from ..losses import Hinge, Loss, ResidualLoss
from ..momentum import FunctionRestart, Momentum, Restart
from ..problem import Problem
from ..regularizers import Regularizer, Ridge
from ..schedules import Schedule, box_size
from .base import State
from .starting import starting_point


@dataclass(frozen=True, kw_only=True)
class DualDescentState(State):
    """A state with the memory of one step, and the updates of every column since its last restart."""

    previous_u: Array
    previous_scores: Array
    age: Array
    step_size: float
    size: float


@dataclass(frozen=True)
class DualDescent:
    """Proximal gradient steps on the dual of min R(w) + (1/λ_t) Σ ℓ(⟨z_i, w⟩) while the regularization fades.

    Update t = 1, 2, … is::

        q = u_t + α_t (u_t − u_{t−1})
        u_{t+1} = prox(q + γ Z ∇R*(−Zᵀq)),   for R = ‖w‖²/2 of q − γ A q, and for the hinge loss then the
                                             projection of q − γ(A q + 1) onto [−1/λ_t, 0]ⁿ

    with one product with K, since the scores of q follow from those of u_t and u_{t−1}. On a
    :class:`RegressionProblem` the losses are those of the residual.

    Parameters
    ----------
    schedule : callable
        t → λ_t, positive and not increasing; infinity is allowed.
    momentum : callable, optional
        t → α_t. None is Algorithm 1, ``Inertia(alpha)`` is Algorithm 2, ``GradientRestart()`` is
        Algorithm 2 without an α to choose.
    step_size : float, optional
        γ. None takes 1/‖K‖, by the upper bound on the norm.
    loss : Loss or ResidualLoss
        The hinge loss by default.
    regularizer : Regularizer
        R, ``Ridge()`` by default. Any other, such as ``ElasticNet(l1)``, needs features, ``Gram.linear(X)``,
        and with momentum a second product.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> X = np.array([[0.5, 1.5], [1.5, 0.5], [-0.5, -1.5], [-1.5, -0.5]])
    >>> problem = mp.Problem(mp.Gram.linear(X), [1, 1, -1, -1])
    >>> path = mp.run(mp.DualDescent(mp.PowerDecay(4.0)), problem, steps=200)
    >>> print(problem.gram.cross(np.eye(2)) @ (-problem.Y * path.last.u))  # w = -Zᵀu
    [0.5 0.5]
    >>> sparse = mp.DualDescent(mp.PowerDecay(4.0), regularizer=mp.ElasticNet(0.5))
    >>> problem = mp.Problem(mp.Gram.linear(np.array([[2.0, 0.1], [-2.0, 0.2]])), [1, -1])
    >>> sparse.weights(problem, mp.run(sparse, problem, steps=200).last).round(6)  # one feature is enough
    array([0.5, 0. ])
    """

    schedule: Schedule
    momentum: Momentum | None = None
    step_size: float | None = None
    loss: Loss | ResidualLoss = field(default_factory=Hinge)
    regularizer: Regularizer = field(default_factory=Ridge)

    def __post_init__(self) -> None:
        if not callable(self.schedule):
            raise TypeError(
                f"schedule must be a callable t → λ_t, such as PowerDecay(1.0), got {self.schedule!r}."
            )
        if not (self.momentum is None or callable(self.momentum)):
            raise TypeError(f"momentum must be None, Inertia(alpha) or a callable, got {self.momentum!r}.")
        plain = isinstance(self.loss, Hinge) and self.is_ridge
        if isinstance(self.momentum, FunctionRestart) and not plain:
            raise TypeError(
                f"FunctionRestart needs the dual of the hinge loss with Ridge(), got {self.loss!r} and "
                f"{self.regularizer!r}. Use GradientRestart()."
            )

    @property
    def is_ridge(self) -> bool:
        """Whether R = ‖w‖²/2, so that scores are linear in u and any kernel will do."""
        return isinstance(self.regularizer, Ridge)

    @property
    def restart(self) -> Restart | None:
        """The momentum, where it is one that starts anew."""
        return self.momentum if isinstance(self.momentum, Restart) else None

    def init(self, problem: Problem, start: Array | None = None) -> DualDescentState:
        """Start at u = 0, or at a given u; the first update brings it into the box."""
        problem.check_loss(self.loss)
        if not self.is_ridge and problem.gram.space != "features":
            raise TypeError(
                f"{self.regularizer!r} needs features, but this Gram matrix has none; a kernel can have "
                f"Ridge() alone. Use Gram.linear(X)."
            )
        u = starting_point(problem, start, largest=math.inf)
        scores = self._scores(problem, u)
        return DualDescentState(
            t=0,
            u=u,
            scores=scores,
            bound=problem.box_size(0.0),
            previous_u=u,
            previous_scores=scores,
            age=problem.xp.zeros_like(problem.box_scale),
            step_size=safe_step_size(problem, self.step_size),
            size=0.0,
        )

    def step(self, problem: Problem, state: DualDescentState) -> DualDescentState:
        """Take update t + 1."""
        t, γ = state.t + 1, state.step_size
        b = box_size(self.schedule, t, state.size)
        α = self._factor(t, state)
        bound = problem.box_size(b)

        q = state.u + α * (state.u - state.previous_u)
        Kq = self._scores_at(problem, state, q, α)
        step = γ * problem.mass
        g = q - step * (problem.Y * Kq)
        u = problem.prox(self.loss, g, step, problem.box(bound))
        after = DualDescentState(
            t=t,
            u=u,
            scores=self._scores(problem, u),
            bound=bound,
            previous_u=state.u,
            previous_scores=state.scores,
            age=state.age + 1,
            step_size=γ,
            size=b,
        )
        return after if self.restart is None else _restarted(problem, after, q, self.restart)

    def weights(self, problem: Problem, state: State) -> Array:
        """Return w = ∇R*(−Zᵀu), of a problem with features."""
        return self.regularizer.gradient_conjugate(-(problem.gram.features.T @ (problem.Y * state.u)))

    def _scores(self, problem: Problem, u: Array) -> Array:
        """Return −X w."""
        if self.is_ridge:
            return problem.scores(u)
        X = problem.gram.features
        return X @ -self.regularizer.gradient_conjugate(-(X.T @ (problem.Y * u)))

    def _scores_at(self, problem: Problem, state: DualDescentState, q: Array, α: Array | float) -> Array:
        """Return the scores of q: without a product where they are linear in u, or q is u itself."""
        if self.is_ridge or self.momentum is None:
            return state.scores + α * (state.scores - state.previous_scores)
        return self._scores(problem, q)

    def _factor(self, t: int, state: DualDescentState) -> Array | float:
        if self.restart is not None:
            return self.restart.factor(state.age + 1)
        return 0.0 if self.momentum is None else self.momentum(t)


def _restarted(problem: Problem, state: DualDescentState, q: Array, momentum: Restart) -> DualDescentState:
    """Let the columns whose momentum led uphill forget it."""
    xp = problem.xp
    step = (q - state.u) / xp.where(problem.mass > 0, problem.mass, xp.ones_like(problem.mass))
    slope = 1 + problem.Y * (state.scores + state.previous_scores) / 2
    over = momentum.uphill(state.u - state.previous_u, step, slope)
    return replace(
        state,
        previous_u=xp.where(over, state.u, state.previous_u),
        previous_scores=xp.where(over, state.scores, state.previous_scores),
        age=xp.where(over, xp.zeros_like(state.age), state.age),
    )


def safe_step_size(problem: Problem, step_size: float | None) -> float:
    """Return the step size given, or 1/L; refuse one that provably cannot converge."""
    lower, upper = problem.norm_bounds()
    if step_size is None:
        return 1 / upper if upper > 0 else 1.0
    if not 0 < step_size < float("inf"):
        raise ValueError(f"step_size must be a positive finite number, got {step_size!r}.")
    if step_size * lower > 2:
        raise ValueError(
            f"step_size = {step_size:.6g} cannot converge: it must be under 2/‖K‖, which is at most "
            f"{2 / lower:.6g}. Use {1 / upper:.6g}, or None for a safe choice."
        )
    if step_size * lower > 1.001:
        warnings.warn(
            f"step_size = {step_size:.6g} is over 1/‖K‖ ≤ {1 / lower:.6g}: the paper's theorems do not "
            f"cover it.",
            stacklevel=3,
        )
    return float(step_size)
