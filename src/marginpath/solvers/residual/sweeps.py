"""The solutions of a regression along λ, by working sets or coordinate sweeps in a two-sided box."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from ...arrays import Array
from ...losses import LeastSquares, ResidualLoss
from ...problem import Problem, RegressionProblem
from ...schedules import GeometricDecay, Schedule, box_size
from ..base import State
from ..solution_path.solver import FEW
from ..starting import check_settings, require_numpy, require_zero
from .columns import Columns

_REFRESH = 10  # steps after which predictions are computed anew, against rounding
_FACTORED = 2048  # rows up to which a curved loss is solved by factoring the matrix of all of them


@dataclass(frozen=True, kw_only=True)
class ResidualSweepsState(State):
    """A state with the relative duality gap of every column, and where its schedule starts and stands."""

    gap: Array
    start: float
    size: float


@dataclass(frozen=True)
class ResidualSweeps:
    """Regression at every λ_t of a fading regularization, each solved to a duality gap from the one before.

    Step t solves min ½‖w‖² + (1/λ_t) Σ ℓ(y_i − f(x_i)), to a gap of at most ``tol`` of the primal objective
    in every column. Samples at an end of their box are carried along with it. Then working sets of kernel
    values are solved, by coordinate steps and, where many samples are between their bounds, by an
    interior-point method. Over features of many rows, and for a curved loss (least squares, Huber's) of more
    than 2,048, there are sweeps of exact coordinate steps on the dual instead, in a random order that all
    columns of a :class:`RegressionProblem`, such as folds, share.

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
        Sweeps at each λ, at most; or working sets with as many samples, all sets counted.
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
            u=np.zeros(problem.shape),
            scores=np.zeros(problem.shape),
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
        bound, problem = problem.box_size(size), _solved_on(problem, self.loss)
        u, field = _carried(problem, self.loss, state, bound)
        columns = Columns(problem, self.loss, bound, u, field)
        if columns.on_kernel_values and _has_sets(problem, self.loss):
            columns.work(self.tol, self.sweeps)
        else:
            self._sweep(columns, t)
        u, scores, gap = columns.result()
        return ResidualSweepsState(
            t=t, u=u, scores=scores, bound=bound, gap=gap, start=state.start, size=size
        )

    def _sweep(self, columns: Columns, t: int) -> None:
        """Sweep over the columns whose gap is too large."""
        columns.measure()
        for s in range(self.sweeps):
            open_columns = np.flatnonzero(columns.gaps > self.tol)
            if not open_columns.size:
                break
            order = np.random.default_rng([self.seed, t, s]).permutation(columns.problem.shape[0])
            columns.sweep(open_columns, order)


def first_lambda(problem: RegressionProblem, loss: ResidualLoss) -> float:
    """Return λ where predictions are half-way: ‖K‖/c, or ‖K‖ q over the targets if the box is felt first."""
    mass, y = np.asarray(problem.mass, dtype=np.float64), np.asarray(problem.targets, dtype=np.float64)
    size = math.sqrt(float(np.sum(mass * y**2)) / float(np.sum(mass)))
    norm = problem.norm_bounds()[1]
    curved = math.inf if loss.curvature == 0 else 1 / loss.curvature
    boxed = max(-loss.box[0], loss.box[1]) / size if size > 0 else math.inf
    factor = min(curved, boxed)
    return norm * (factor if factor < math.inf else 1.0) if norm > 0 else 1.0


def _has_sets(problem: RegressionProblem, loss: ResidualLoss) -> bool:
    """Whether working sets are faster: not where a curved loss has most samples between their bounds."""
    return loss.curvature == 0 or problem.shape[0] <= _FACTORED


def _solved_on(problem: RegressionProblem, loss: ResidualLoss) -> RegressionProblem:
    """Return the problem on the matrix that is solved on: of few features' rows, their kernel values."""
    few = problem.gram.space == "features" and _has_sets(problem, loss) and problem.shape[0] <= FEW
    return cast(RegressionProblem, problem.on(cast(Any, problem.gram).stored)) if few else problem


def _carried(
    problem: RegressionProblem, loss: ResidualLoss, state: State, bound: Array
) -> tuple[Array, Array | None]:
    """Return u with the samples that were at an end of their box at the same end of the new one, and K a.

    The predictions are those of before and K times what changed, or all of them grown but K times what did
    not grow: whichever is less. None says that they are to be computed anew, from all of u.
    """
    before, now = (np.asarray(b, dtype=np.float64) * problem.mass for b in (state.bound, bound))
    u, resting = state.u, np.zeros(problem.shape, dtype=bool)
    for end in loss.box:
        if abs(end) < math.inf:
            here = (state.u != 0) & (state.u == -end * before)
            u, resting = np.where(here, -end * now, u), resting | here
    if problem.gram.space == "features" or state.t % _REFRESH == 0:
        return u, None
    grown = np.asarray(bound, dtype=np.float64) / np.where(state.bound > 0, state.bound, 1.0)
    most = 2 * np.count_nonzero(resting, axis=0) > np.count_nonzero(u, axis=0)
    factor = np.where(most, grown, 1.0)
    left = np.where(resting == most, 0.0, u - factor * state.u)
    product = problem.gram.accurate_product(left) if left.any() else 0.0
    return u, -factor * state.scores - product
