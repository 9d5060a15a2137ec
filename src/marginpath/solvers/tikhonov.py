"""Tikhonov regularization: the exact solution at each λ of a grid."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..arrays import Array, to_numpy
from ..losses import Hinge, Loss, SmoothLoss
from ..problem import Problem
from ..schedules import require_positive
from .base import State

MAX_NEWTON_STEPS = 200
PATIENCE = 10


@dataclass(frozen=True)
class TikhonovSolutions:
    """The solutions along a grid: ``lambdas`` (m,), ``u`` (m, n) or (m, n, k), ``gaps`` (m,) or (m, k).

    ``gaps`` are the duality gaps, bounds on ½ ‖w − w_λ‖².
    """

    lambdas: np.ndarray
    u: Array
    gaps: np.ndarray

    def state(self, problem: Problem, index: int) -> State:
        """Return solution ``index`` as a state, which is what metrics take; its t is the index."""
        u = self.u[index, ...]
        bound = problem.box_size(1 / float(self.lambdas[index]))
        return State(t=index, u=u, scores=problem.scores(u), bound=bound)


@dataclass(frozen=True)
class Tikhonov:
    """The minimiser of Σ_i ℓ(⟨w, z_i⟩) + λ/2 ‖w‖² for each λ of a grid, w = −Zᵀu.

    With b = 1/λ the dual is min ½ ‖Zᵀu‖² + Σ_i b ℓ*(u_i/b). As λ → 0 on separable data the solution for the
    hinge loss tends to w*; for the logistic and the exponential loss its norm grows without limit and its
    direction tends to that of w*. The hinge loss is solved by a primal-dual interior-point method
    (Mehrotra, 1992), a smooth loss by Newton's method with a line search, both on the n × n kernel matrix
    in float64: this is a reference for some thousand samples. Sample weights are multiplicities; column j
    has λ/s_j for a box scale s_j.

    Parameters
    ----------
    lambdas : sequence of float
        The grid; solutions start from the one before, so a falling grid is best.
    loss : Loss
        The hinge loss, or one with a second derivative.
    tol : float
        A solution is accepted at a duality gap of ``tol`` times the primal objective, or at the rounding
        error of the gap; where that is not reached there is a warning.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> from marginpath.solvers import Tikhonov
    >>> problem = mp.Problem(mp.Gram.linear(np.array([[2.0, 0.0], [0.0, 1.0], [-2.0, 0.0]])), [1, 1, -1])
    >>> found = Tikhonov([10.0, 1.0, 0.1]).solve(problem)
    >>> [float(mp.metrics.norm(problem, found.state(problem, j)).round(3)) for j in range(3)]
    [0.412, 1.118, 1.118]
    """

    lambdas: Sequence[float]
    loss: Loss = field(default_factory=Hinge)
    tol: float = 1e-10

    def __post_init__(self) -> None:
        if len(self.lambdas) == 0:
            raise ValueError("lambdas is empty; at least one λ is needed, such as np.geomspace(1, 1e-4, 20).")
        for value in self.lambdas:
            require_positive("Each λ", value)
        require_positive("tol", self.tol)
        if not isinstance(self.loss, Hinge) and not hasattr(self.loss, "second_derivative"):
            raise TypeError(
                f"The loss must be the hinge loss or have a second derivative, got {self.loss!r}."
            )

    def solve(self, problem: Problem) -> TikhonovSolutions:
        """Solve for every λ and column."""
        lambdas = np.asarray(self.lambdas, dtype=np.float64)
        K = to_numpy(problem.gram.rows(np.arange(problem.shape[0]))).astype(np.float64)
        Y, mass = (to_numpy(x).astype(np.float64).reshape(len(K), -1) for x in (problem.Y, problem.mass))
        scale = to_numpy(problem.box_scale).astype(np.float64).reshape(-1)
        u = np.zeros((len(lambdas), *Y.shape))
        gaps = np.zeros((len(lambdas), len(scale)))
        for j in range(len(scale)):
            counts = mass[:, j] > 0
            A = np.outer(Y[counts, j], Y[counts, j]) * K[np.ix_(counts, counts)]
            v = np.zeros(len(A))
            for row, value in enumerate(lambdas):
                v, gaps[row, j] = self._solve_one(A, scale[j] / value * mass[counts, j], v)
                u[row, counts, j] = -v
        xp = problem.xp
        found = xp.asarray(
            u.reshape(-1, *problem.shape), dtype=problem.gram.dtype, device=problem.gram.device
        )
        return TikhonovSolutions(lambdas, found, gaps.reshape(-1, *problem.shape[1:]))

    def _solve_one(self, A: np.ndarray, b: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, float]:
        found = _Best(A, b, self.loss, self.tol)
        if isinstance(self.loss, Hinge):
            _interior_point(A, b, found)
        else:
            _newton(A, b, cast(SmoothLoss, self.loss), v, found)
        if found.gap > found.enough:
            warnings.warn(
                f"A duality gap of {found.gap:.3g} was reached where {found.enough:.3g} was asked for. "
                f"Raise tol, or leave out the smallest λ.",
                stacklevel=3,
            )
        return found.v, found.gap


class _Best:
    """The best dual vector so far, by its duality gap ‖w‖² + Σ b (ℓ(m) + ℓ*(−v/b)), w = Zᵀv, m = A v."""

    def __init__(self, A: np.ndarray, b: np.ndarray, loss: Loss, tol: float) -> None:
        self.A, self.b, self.loss, self.tol = A, b, loss, tol
        self.v, self.gap, self.enough = np.zeros_like(b), math.inf, 0.0
        self.root = np.sqrt(np.diag(A))
        self.failures = 0

    def done(self, v: np.ndarray) -> bool:
        """Look at v, brought into the domain; say whether its gap is closed, or as small as it will get."""
        v = -self.loss.prox_conjugate(-v, np.zeros_like(v), self.b)
        m = self.A @ v
        value = self.b * self.loss.value(m)
        gap = max(float(v @ m + np.sum(value + self.b * self.loss.conjugate(-v / self.b))), 0.0)
        goal = self.tol * float(v @ m / 2 + np.sum(value))
        self.failures += 1
        if gap < self.gap:
            # Each m_i is off by some roundings of its terms; the loss passes that on times b |ℓ'|.
            slopes = self.b @ np.abs(self.loss.derivative(m) * self.root)
            rounding = float(np.finfo(np.float64).eps * (slopes * (self.root @ v) + goal / self.tol))
            self.v, self.gap, self.enough, self.failures = v, gap, max(goal, 8 * rounding), 0
        return gap <= goal or (self.gap <= self.enough and self.failures >= PATIENCE)


def _newton(A: np.ndarray, b: np.ndarray, loss: SmoothLoss, v: np.ndarray, found: _Best) -> None:
    """Minimise P(v) = ½ vᵀA v + Σ b ℓ(A v), whose solution satisfies v + b ℓ'(A v) = 0."""
    for _ in range(MAX_NEWTON_STEPS):
        if found.done(v):
            return
        # (I + D A) δ = −r with D = diag(b ℓ''), by the positive definite I + D^½ A D^½.
        m = A @ v
        r, root = v + b * loss.derivative(m), np.sqrt(b * loss.second_derivative(m))
        factor = cho_factor(np.eye(len(A)) + root[:, None] * A * root)
        δ = root * cho_solve(factor, root * (A @ r)) - r
        v = v + _line_search(A, b, loss, v, δ, float(δ @ (A @ r))) * δ


def _line_search(
    A: np.ndarray, b: np.ndarray, loss: Loss, v: np.ndarray, δ: np.ndarray, slope: float
) -> float:
    """Halve the step until P falls by a part of what its slope promises, or by nothing that can be seen."""

    def objective(step: float) -> float:
        m = A @ (v + step * δ)
        with np.errstate(over="ignore"):  # a step too far may reach an infinite loss
            return float((v + step * δ) @ m / 2 + np.sum(b * loss.value(m)))

    start, step = objective(0.0), 1.0
    while objective(step) > start + 1e-4 * step * slope + 1e-14 * abs(start):
        step /= 2
    return step


def _interior_point(A: np.ndarray, b: np.ndarray, found: _Best) -> None:
    """Minimise ½ vᵀA v − Σ v over 0 ≤ v ≤ b: A v − 1 − x + y = 0, v∘x = μ, s∘y = μ, s = b − v, μ → 0."""
    scale = max(float(np.max(np.diag(A))), np.finfo(np.float64).tiny)
    A, b = A / scale, b * scale  # v in units of 1/scale
    v = np.minimum(b / 2, 1.0)
    point = (v, b - v, np.ones_like(v), np.ones_like(v))
    for _ in range(MAX_NEWTON_STEPS):
        v = point[0]
        # Where λ is small all margins are about 1, and b times what is missing counts: make up for it.
        missing = min(1.0, max(float(np.min(A @ v)), 0.5))
        if found.done(v / scale / missing) | found.done(v / scale):
            return
        try:
            point = _mehrotra_step(A, *point)
        except np.linalg.LinAlgError:  # μ is so small that the rounding is all that is left
            return


def _mehrotra_step(
    A: np.ndarray, v: np.ndarray, s: np.ndarray, x: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Predict with μ = 0, see how far that goes, and step with μ and the second-order terms from it."""
    residual = A @ v - 1 - x + y
    factor = cho_factor(A + np.diag(x / v + y / s))

    def direction(xv: np.ndarray | float, ys: np.ndarray | float) -> list[np.ndarray]:
        """Solve for the step that makes v∘x = xv and s∘y = ys to first order."""
        dv = cho_solve(factor, -residual + (xv / v - x) - (ys / s - y))
        return [dv, -dv, xv / v - x - x / v * dv, ys / s - y + y / s * dv]

    def moved(steps: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Go along the steps, but not out of the positive numbers."""
        ratios = [np.min(-z[d < 0] / d[d < 0], initial=1 / 0.995) for z, d in zip(here, steps, strict=True)]
        a, b, c, d = (z + 0.995 * min(ratios) * step for z, step in zip(here, steps, strict=True))
        return a, b, c, d

    here = (v, s, x, y)
    dv, ds, dx, dy = predicted = direction(0.0, 0.0)
    ahead = moved(predicted)
    μ, after = (v @ x + s @ y) / (2 * len(v)), (ahead[0] @ ahead[2] + ahead[1] @ ahead[3]) / (2 * len(v))
    target = μ * (after / μ) ** 3
    return moved(direction(target - dv * dx, target - ds * dy))
