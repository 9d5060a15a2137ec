"""The path of solutions: at every λ_t, the SVM itself."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, cast

from ...arrays import Array
from ...gram.base import Gram
from ...problem import Problem
from ...schedules import GeometricDecay, Schedule, box_size
from ..base import State
from ..starting import check_settings, require_numpy, require_zero
from .feature_columns import FeatureColumns
from .few_columns import FewColumns, has_few
from .kernel_columns import KernelColumns, Solution
from .packed import PackedColumns

#: Rows up to which kernel values are computed from features: they are solved on faster, late in a path.
FEW = 8192
_OF_SPARSE = 1.4  # times as many rows of sparse features, whose exact sets take longest: up to 1 GB
_LARGEST = {4: 1e18, 8: 1e150}  # box sizes that stand for no box, by the bytes of a number
_ROUGH = 1e-4  # gaps from which on rows of kernel values in float32 will do


@dataclass(frozen=True, kw_only=True)
class SolutionPathState(State):
    """A solution, its field, and its offset: minus the intercept, contained in the scores.

    The field is K(Y∘u) in float64, and over features Xᵀ(Y∘u). At the start, where u = 0, it is that of
    Y∘mass: minus that of all samples at a bound of 1.

    Of columns of few samples the numbers that are known are ``packed``, and the arrays with zeros for all
    others are made when they are asked for.
    """

    field: Array
    offset: Array
    start: float
    size: float

    @classmethod
    def of(cls, solution: Solution | PackedColumns, **rest: Any) -> SolutionPathState:
        """Return the state of a solution."""
        state = object.__new__(cls)
        for name, value in {**rest, **solution.of_state}.items():
            object.__setattr__(state, name, value)
        return state

    def __getattr__(self, name: str) -> Array:
        """Make an array from what is packed."""
        if name not in ("u", "scores", "field") or self.packed is None:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")
        object.__setattr__(self, name, self.packed.whole(name))
        return self.__dict__[name]

    def __getstate__(self) -> dict[str, Any]:
        """Return the arrays: what is packed goes into no file."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def column_shape(self) -> tuple[int, ...]:
        """() or (k,)."""
        return tuple(self.offset.shape)

    def weights(self, gram: Gram) -> Array | None:
        """Return the field over features."""
        return self.field if self.t > 0 and sweeps_over(gram) else None


@dataclass(frozen=True)
class SolutionPath:
    """The solution of the SVM at every λ_t of a fading regularization, each from the one before.

    Step t raises the bound of the box to b_t = 1/λ_t, stretches u by the factor within the box that lowers
    the dual objective most, and then works on sets of samples until the duality gap is small: those between
    their bounds and those that violate the optimality conditions, the worst first. Within a set the steps are
    exact, in the coordinate or pair of coordinates that gains most, and Newton's where these take too long.
    The dual objective never increases at a λ.

    Over features of more than a few thousand rows, whose kernel values are not computed, it carries the
    samples at the bound along and sweeps over all samples by exact coordinate steps, and then many times over
    those between their bounds or moving, until the duality gap is small; the intercept is found by the method
    of multipliers. Dense features are taken by blocks of rows: their scores are a product of matrices, and
    the steps are on the block's own Gram matrix.

    Random orders depend on the step alone: the same problem has the same path.

    Parameters
    ----------
    schedule : callable, optional
        t → λ_t. None starts where the path leaves the solution with all samples at the bound,
        λ_1 = max_i y_i (K y)_i, and divides λ by ``ratio`` at every step.
    ratio : float
        Factor between two steps of the default schedule.
    tol : float
        Duality gap of every step, over its primal objective: the metric ``"gap"``.
    working_set : int
        Most samples in a set; up to four times as many where more than that are between their bounds. There
        are no such sets over features.
    rounds : int
        Most sets, or rounds of sweeps, at a λ; a step that needs more keeps a larger gap.
    refresh : int
        The fields are computed anew at every step that is a multiple of this, against rounding.
    threads : int, optional
        Columns are shared between so many threads; None takes the cores there are.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> data = mp.datasets.toy()
    >>> problem = mp.Problem(mp.Gram.from_kernel(data.X, "linear"), data.y)
    >>> path = mp.run(mp.SolutionPath(tol=1e-9), problem, steps=30, observe=["margin"])
    >>> round(float(path["margin"][-1]), 6)  # the maximum margin is √2
    1.414214
    """

    fits_intercept: ClassVar[bool] = True

    schedule: Schedule | None = None
    ratio: float = 1.5
    tol: float = 1e-3
    working_set: int = 2048
    rounds: int = 200
    refresh: int = 50
    threads: int | None = None

    def __post_init__(self) -> None:
        check_settings(self, "rounds", "refresh")
        if self.tol == 0:
            raise ValueError("tol must be over 0: no number of steps reaches a gap of 0.")
        if self.working_set < 2:
            raise ValueError(f"working_set must be at least 2, a pair, got {self.working_set!r}.")

    @property
    def gap_tol(self) -> float:
        """The relative duality gap of a step that is what its λ_t says, but for rounding."""
        return self.tol * (1 + 1e-6)

    def init(self, problem: Problem, start: Array | None = None) -> SolutionPathState:
        """Start at u = 0, in an empty box."""
        require_zero(self, start)
        require_numpy("SolutionPath", problem.gram)
        problem = self._solved_on(problem)
        solution, start = self._columns_of(problem).at_start(problem)
        return SolutionPathState.of(solution, t=0, bound=problem.box_size(0.0), start=start, size=0.0)

    def step(self, problem: Problem, state: SolutionPathState) -> SolutionPathState:
        """Raise the bound to b_{t+1}, and go to the solution there."""
        t, problem = state.t + 1, self._solved_on(problem)
        schedule = self.schedule or GeometricDecay(state.start * self.ratio, self.ratio)
        size = min(box_size(schedule, t, state.size), _LARGEST[problem.Y.dtype.itemsize])
        bound = problem.box_size(size)
        is_packed = state.packed is not None and problem.gram.matrix is not None  # not if resumed elsewhere
        columns = (FewColumns if is_packed else self._columns_of(problem))(problem, state, bound)
        if state.t == 0:
            columns.begin()
        columns.solve(self, t)
        solution = columns.result(refresh=t % self.refresh == 0)
        return SolutionPathState.of(solution, t=t, bound=bound, start=state.start, size=size)

    def _solved_on(self, problem: Problem) -> Problem:
        """Return the problem on the matrix that is solved on: of few features' rows, their kernel values."""
        gram = cast(Any, problem.gram)
        if gram.space != "features" or sweeps_over(gram):
            return problem
        return problem.on(gram.roughly_stored if self.tol >= _ROUGH else gram.stored)

    def _columns_of(self, problem: Problem) -> type[KernelColumns | FeatureColumns]:
        """Return who solves: sweeps over features, or on kernel values pair steps and working sets."""
        if problem.gram.space == "features":
            return FeatureColumns
        return FewColumns if has_few(problem, self.working_set) else KernelColumns


def sweeps_over(gram: Gram) -> bool:
    """Whether the features of a Gram matrix are swept over: they have too many rows for kernel values.

    Examples
    --------
    >>> import numpy as np
    >>> sweeps_over(Gram.linear(np.ones((10, 2)))), sweeps_over(Gram.linear(np.ones((10_000, 2))))
    (False, True)
    """
    if gram.space != "features":
        return False
    return bool(gram.shape[0] > FEW * (_OF_SPARSE if cast(Any, gram).is_sparse else 1))
