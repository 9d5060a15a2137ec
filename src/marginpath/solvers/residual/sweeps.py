"""The solutions of a regression along λ, by coordinate sweeps in a two-sided box."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from ... import parallel
from ...arrays import Array, blocks
from ...gram.base import Gram
from ...problem import Problem
from ...regression_problem import RegressionProblem
from ...residual_losses import LeastSquares, ResidualLoss
from ...schedules import GeometricDecay, Schedule, box_size
from ..base import State
from ..starting import check_settings, require_numpy, require_zero

_PASSES = 3  # through each block of a kernel sweep: a step is cheap, reading a row of K is not


@dataclass(frozen=True, kw_only=True)
class ResidualSweepsState(State):
    """A state with the relative duality gap of every column, and where its schedule starts and stands."""

    gap: Array
    start: float
    size: float


@dataclass(frozen=True)
class ResidualSweeps:
    """Regression at every λ_t of a fading regularization, solved to a duality gap by coordinate sweeps.

    Step t solves min ½‖w‖² + (1/λ_t) Σ ℓ(y_i − f(x_i)) from the solution before: sweeps of exact coordinate
    steps on the dual, in a random order, until the gap is at most ``tol`` of the primal objective in every
    column, or ``sweeps`` are done. The columns of a :class:`RegressionProblem`, such as folds, share orders.

    Parameters
    ----------
    loss : ResidualLoss
        Least squares by default.
    schedule : callable, optional
        t → λ_t. None starts where the predictions are about half-way at most, for least squares at ‖K‖, and
        divides λ by ``ratio`` at every step.
    ratio : float
        Factor between two steps of the default schedule.
    tol : float
        The relative duality gap wanted; what is reached is ``state.gap``.
    sweeps : int
        At each λ, at most.
    seed : int
        Of the random orders.

    Examples
    --------
    >>> import marginpath as mp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 3))
    >>> y = X @ np.array([1.0, -2.0, 0.0])
    >>> problem = mp.RegressionProblem(mp.Gram.linear(X), y)
    >>> path = mp.run(mp.ResidualSweeps(mp.Absolute()), problem, steps=20)
    >>> bool(np.max(np.abs(problem.residuals(path.last.scores))) < 1e-2)
    True
    """

    loss: ResidualLoss = field(default_factory=LeastSquares)
    schedule: Schedule | None = None
    ratio: float = 2.0
    tol: float = 1e-3
    sweeps: int = 50
    seed: int = 0

    def __post_init__(self) -> None:
        check_settings(self, "sweeps")

    @property
    def gap_tol(self) -> float:
        """What a step is to reach."""
        return self.tol

    def init(self, problem: Problem, start: Array | None = None) -> ResidualSweepsState:
        """Start at u = 0, the solution where λ is infinite."""
        require_zero(self, start)
        require_numpy("ResidualSweeps", problem.gram)
        problem.check_loss(self.loss)
        assert isinstance(problem, RegressionProblem)
        return ResidualSweepsState(
            t=0,
            u=np.zeros_like(problem.Y),
            scores=np.zeros_like(problem.Y),
            bound=problem.box_size(0.0),
            gap=np.zeros_like(problem.box_scale),
            start=first_lambda(problem, self.loss),
            size=0.0,
        )

    def step(self, problem: Problem, state: ResidualSweepsState) -> ResidualSweepsState:
        """Solve at λ_{t+1}."""
        assert isinstance(problem, RegressionProblem)
        t = state.t + 1
        schedule = self.schedule or GeometricDecay(state.start * self.ratio, self.ratio)
        size = min(box_size(schedule, t, state.size), 1e100)
        bound = problem.box_size(size)
        columns = _Columns(problem, self.loss, bound, state.u)
        for s in range(self.sweeps):
            open_columns = np.flatnonzero(columns.gaps > self.tol)
            if not open_columns.size:
                break
            order = np.random.default_rng([self.seed, t, s]).permutation(problem.shape[0])
            columns.sweep(open_columns, order)
        u, scores, gap = columns.result()
        return ResidualSweepsState(
            t=t, u=u, scores=scores, bound=bound, gap=gap, start=state.start, size=size
        )


def first_lambda(problem: RegressionProblem, loss: ResidualLoss) -> float:
    """Return λ where predictions are half-way: ‖K‖/c, or ‖K‖ q over the targets if the box is felt first."""
    mass, y = np.asarray(problem.mass, dtype=np.float64), np.asarray(problem.targets, dtype=np.float64)
    size = math.sqrt(float(np.sum(mass * y**2)) / float(np.sum(mass)))
    norm = problem.norm_bounds()[1]
    curved = math.inf if loss.curvature == 0 else 1 / loss.curvature
    boxed = max(-loss.box[0], loss.box[1]) / size if size > 0 else math.inf
    factor = min(curved, boxed)
    return norm * (factor if factor < math.inf else 1.0) if norm > 0 else 1.0


class _Columns:
    """All columns at one λ: a = −u and its field in float64, the gap of each."""

    def __init__(self, problem: RegressionProblem, loss: ResidualLoss, bound: Array, u: Array) -> None:
        self.problem, self.loss = problem, loss
        n = problem.shape[0]
        self.b = np.atleast_1d(bound).astype(np.float64)
        self.shape = (loss.insensitivity, loss.curvature, *loss.box)
        self.y, self.mass, self.a = (
            np.asarray(x, dtype=np.float64).reshape(n, -1).copy() for x in (problem.targets, problem.mass, -u)
        )
        self.space = _Features(problem.gram) if problem.gram.space == "features" else _Kernel(problem.gram)
        self.field = self.space.field(self.a)
        self.gaps = self.relative_gaps(np.arange(len(self.b)))

    def sweep(self, columns: np.ndarray, order: np.ndarray) -> None:
        """Sweep some of the columns once, and measure their gaps."""
        a, field = self.a[:, columns], self.field[:, columns]
        self.space.sweep(
            order, self.y[:, columns], self.mass[:, columns], self.b[columns], self.shape, a, field
        )
        self.a[:, columns], self.field[:, columns] = a, field
        self.gaps[columns] = self.relative_gaps(columns)

    def relative_gaps(self, columns: np.ndarray) -> np.ndarray:
        """Return the duality gap over the primal objective ½‖w‖² + Σ b ℓ(r)."""
        a, y = self.a[:, columns], self.y[:, columns]
        b = self.b[columns] * self.mass[:, columns]
        f = self.space.predictions(self.field[:, columns])
        counts, safe = b > 0, np.where(b > 0, b, 1.0)
        ratio = np.clip(a / safe, *self.loss.box)
        squared = np.sum(a * f, axis=0)
        losses = np.sum(np.where(counts, b * self.loss.value(y - f), 0.0), axis=0)
        conjugates = np.sum(np.where(counts, b * self.loss.conjugate(ratio) - y * a, 0.0), axis=0)
        primal = squared / 2 + losses
        gap = np.maximum(primal + squared / 2 + conjugates, 0.0)
        return np.asarray(gap / np.where(primal > 0, primal, 1.0))

    def result(self) -> tuple[Array, Array, Array]:
        """Return u, the scores of exactly that u, and the gaps."""
        problem, dtype = self.problem, self.problem.Y.dtype
        u = (-self.a).astype(dtype).reshape(problem.shape)
        scores = -self.space.predictions(self.field).astype(dtype).reshape(problem.shape)
        return u, scores, self.gaps.astype(dtype).reshape(problem.shape[1:])


class _Kernel:
    """The field is f = K a itself."""

    def __init__(self, gram: Gram) -> None:
        self.gram = gram

    def field(self, a: np.ndarray) -> np.ndarray:
        return np.asarray(self.gram.accurate_product(a)) if a.any() else np.zeros_like(a)

    def predictions(self, field: np.ndarray) -> np.ndarray:
        return field

    def sweep(
        self,
        order: np.ndarray,
        y: np.ndarray,
        mass: np.ndarray,
        b: np.ndarray,
        shape: tuple[float, ...],
        a: np.ndarray,
        field: np.ndarray,
    ) -> None:
        from .compiled import kernel_sweep

        gram, diagonal = self.gram, np.asarray(self.gram.diagonal, dtype=np.float64)
        rows_of = [np.ascontiguousarray(x.T) for x in (y, mass, a, field)]

        def part(own: slice) -> None:
            Y, M, A, F = (x[own] for x in rows_of)
            for first, last in blocks(len(order), gram.chunk):
                visit = order[first:last]
                with gram.lend(visit) as (rows, where):
                    kernel_sweep(visit, where, rows, diagonal, Y, M, b[own], shape, _PASSES, A, F)

        _in_parts(part, len(b), gram.matrix is not None)
        a[...], field[...] = rows_of[2].T, rows_of[3].T


class _Features:
    """The field is w = Xᵀa."""

    def __init__(self, gram: Gram) -> None:
        self.gram = gram
        X = gram.features
        self.X = X if sp.issparse(X) else sp.csr_array(X)

    def field(self, a: np.ndarray) -> np.ndarray:
        return np.asarray(self.X.T @ a)

    def predictions(self, field: np.ndarray) -> np.ndarray:
        return np.asarray(self.X @ field)

    def sweep(
        self,
        order: np.ndarray,
        y: np.ndarray,
        mass: np.ndarray,
        b: np.ndarray,
        shape: tuple[float, ...],
        a: np.ndarray,
        field: np.ndarray,
    ) -> None:
        from .compiled import feature_sweep

        X, diagonal = self.X, np.asarray(self.gram.diagonal, dtype=np.float64)

        def part(own: slice) -> None:
            Y, M, A, W = (np.ascontiguousarray(x[:, own]) for x in (y, mass, a, field))
            feature_sweep(order, X.data, X.indices, X.indptr, diagonal, Y, M, b[own], shape, A, W)
            a[:, own], field[:, own] = A, W

        _in_parts(part, len(b), True)


def _in_parts(part: Callable[[slice], None], k: int, stored: bool) -> None:
    """Share the columns between threads; rows that are not stored are computed once for all of them."""
    edges = np.linspace(0, k, min(parallel.available() if stored else 1, k) + 1).astype(int).tolist()
    own = [slice(a, e) for a, e in pairwise(edges)]
    parallel.for_all(part, own, len(own), lambda: None)
