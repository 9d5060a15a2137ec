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
        if isinstance(self.loss, Hinge):
            v, gap, enough = _interior_point(A, b, self.tol)
        else:
            v, gap, enough = _newton(A, b, cast(SmoothLoss, self.loss), v, self.tol)
        if gap > enough:
            warnings.warn(
                f"A duality gap of {gap:.3g} was reached where {enough:.3g} was asked for. "
                f"Raise tol, or leave out the smallest λ.",
                stacklevel=3,
            )
        return v, gap


def duality_gap(A: np.ndarray, b: np.ndarray, loss: Loss, v: np.ndarray, tol: float) -> tuple[float, float]:
    """Return the gap ‖w‖² + Σ b (ℓ(m) + ℓ*(−v/b)) at w = Zᵀv, m = A v, and what is small enough for it."""
    m = A @ v
    terms = loss.value(m) + loss.conjugate(-v / b)
    primal = v @ m / 2 + np.sum(b * loss.value(m))
    # Each m_i is off by some roundings of its terms; the loss passes that on times b |ℓ'|.
    spread = np.sqrt(np.diag(A)) * (np.sqrt(np.diag(A)) @ v)
    rounding = np.finfo(np.float64).eps * (np.sum(b * (np.abs(loss.derivative(m)) * spread)) + primal)
    return max(float(v @ m + b @ terms), 0.0), float(max(tol * primal, 8 * rounding))


def _newton(
    A: np.ndarray, b: np.ndarray, loss: SmoothLoss, v: np.ndarray, tol: float
) -> tuple[np.ndarray, float, float]:
    """Minimise P(v) = ½ vᵀA v + Σ b ℓ(A v), whose solution satisfies v + b ℓ'(A v) = 0."""
    best = (v, math.inf, 0.0)
    for _ in range(MAX_NEWTON_STEPS):
        m = A @ v
        implied = -b * loss.derivative(m)  # v at the solution, but it multiplies rounding errors by b ℓ''
        for candidate in (implied, -loss.prox_conjugate(-v, np.zeros_like(v), b)):
            gap, enough = duality_gap(A, b, loss, candidate, tol)
            if gap < best[1]:
                best = (candidate, gap, enough)
        if best[1] <= best[2]:
            break
        # (I + D A) δ = −r with D = diag(b ℓ''), by the positive definite I + D^½ A D^½.
        r, root = v - implied, np.sqrt(b * loss.second_derivative(m))
        factor = cho_factor(np.eye(len(A)) + root[:, None] * A * root)
        δ = root * cho_solve(factor, root * (A @ r)) - r
        v = _line_search(A, b, loss, v, δ, float(δ @ (A @ r)))
    return best


def _line_search(
    A: np.ndarray, b: np.ndarray, loss: Loss, v: np.ndarray, δ: np.ndarray, slope: float
) -> np.ndarray:
    """Halve the step until P falls by a part of what its slope promises."""

    def objective(v: np.ndarray) -> float:
        m = A @ v
        return float(v @ m / 2 + np.sum(b * loss.value(m)))

    start, step = objective(v), 1.0
    allowance = 1e-14 * abs(start)
    while objective(v + step * δ) > start + 1e-4 * step * slope + allowance and step > 1e-12:
        step /= 2
    return v + step * δ


def _interior_point(A: np.ndarray, b: np.ndarray, tol: float) -> tuple[np.ndarray, float, float]:
    """Minimise ½ vᵀA v − Σ v over 0 ≤ v ≤ b: A v − 1 − x + y = 0, v∘x = μ, (b − v)∘y = μ, μ → 0."""
    scale = max(float(np.max(np.diag(A))), np.finfo(np.float64).tiny)
    A, b = A / scale, b * scale  # v in units of 1/scale; the gap in the same
    v = np.minimum(b / 2, 1.0)
    x, y = np.ones_like(v), np.ones_like(v)
    best = (v, math.inf, 0.0)
    for _ in range(MAX_NEWTON_STEPS):
        for candidate in (v, np.minimum(b, v / min(1.0, max(float(np.min(A @ v)), 0.5)))):
            gap, enough = duality_gap(A, b, Hinge(), candidate, tol)
            if gap < best[1]:
                best = (candidate, gap, enough)
        if best[1] <= best[2]:
            break
        v, x, y = _mehrotra_step(A, b, v, x, y)
    return best[0] / scale, best[1] / scale, best[2] / scale


def _mehrotra_step(
    A: np.ndarray, b: np.ndarray, v: np.ndarray, x: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predict with μ = 0, see how far that goes, and step with μ and the second-order terms from it."""
    s = b - v
    residual = A @ v - 1 - x + y
    factor = cho_factor(A + np.diag(x / v + y / s))

    def direction(xv: np.ndarray | float, ys: np.ndarray | float) -> tuple[np.ndarray, ...]:
        """Solve for the step that makes v∘x = xv and s∘y = ys to first order."""
        dv = cho_solve(factor, -residual + (xv / v - x) - (ys / s - y))
        return dv, -dv, xv / v - x - x / v * dv, ys / s - y + y / s * dv

    def longest(steps: tuple[np.ndarray, ...]) -> float:
        ratios = [
            np.min(-z[d < 0] / d[d < 0], initial=np.inf) for z, d in zip((v, s, x, y), steps, strict=True)
        ]
        return float(min(1.0, 0.995 * min(ratios)))

    dv, ds, dx, dy = direction(0.0, 0.0)
    reach, μ = longest((dv, ds, dx, dy)), (v @ x + s @ y) / (2 * len(v))
    after = ((v + reach * dv) @ (x + reach * dx) + (s + reach * ds) @ (y + reach * dy)) / (2 * len(v))
    target = μ * (after / μ) ** 3
    steps = direction(target - dv * dx, target - ds * dy)
    reach = longest(steps)
    return v + reach * steps[0], x + reach * steps[2], y + reach * steps[3]
