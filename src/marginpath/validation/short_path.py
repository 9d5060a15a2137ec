"""A path of few steps that tells how good a kernel is: what races of widths are made of.

It has one step where a path has four, solved less exactly, and waits half as long for a better score; it ends
at C = 1,000,000, where a larger C changes no fold any more, or where both losses of the held-out decisions
have risen. Its score is minus the least log loss of these, which chance changes less than errors; where a
scoring is given, the best mean of that over the folds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, is_numpy
from ..metrics import Metric
from ..parallel import QUICK, available, for_all
from ..path.path import Path, Status
from ..problem import Problem
from ..schedules import GeometricDecay, box_size
from ..solvers import SolutionPath
from ..solvers.base import State
from ..solvers.coordinate.spaces import at_bound
from ..solvers.solution_path import few_columns
from ..solvers.solution_path.few_columns import FewColumns, has_few
from .cross_validation import PathValidation, largest_bound
from .patience import PATIENCE, Patience

#: Steps of a path that are one of a short path, the duality gap of these, and the largest C.
LONG, TOLERANCE, LARGEST = 4, 1e-2, 1e6
#: Labels, over all columns, up to which a short path is one compiled call, and threads share the widths.
COMPILED = 2**16
_COLUMNS = 16  # that are looked at at a time
_LEARNED = 4.5  # of log-likelihood are more than chance: three standard errors
_RISEN = {"log_loss": 1.001, "hinge": 1.002}  # times its least a loss is clearly over it


@dataclass(frozen=True)
class ShortPath:
    """What was observed along a path of few steps, and the best score on it: the higher, the better.

    Attributes
    ----------
    observed : mapping of names to arrays
        "bound", "scores" of the folds, "hinge" and, where no scoring is given, "log_loss" after every step.
    start : float
        The first λ.
    score : float
    is_settled : bool
        Whether no sample is at its bound in the end, so that a larger C changes nothing.
    has_learned : bool
        Whether the log loss is less than that of decisions that know nothing, beyond chance.
    """

    observed: Mapping[str, np.ndarray]
    start: float
    score: float
    is_settled: bool = False
    has_learned: bool = True

    @property
    def steps(self) -> int:
        """How many steps it took."""
        return len(self.observed["bound"])

    @classmethod
    def of(
        cls, observed: Mapping[str, np.ndarray], start: float, is_settled: bool, validation: PathValidation
    ) -> ShortPath:
        """Return it with its score."""
        if "log_loss" not in observed:
            return cls(observed, start, float(observed["scores"].mean(axis=1).max()), is_settled)
        score, least = -float(observed["log_loss"].min()), _LEARNED / sum(map(len, validation.judge.splits))
        return cls(observed, start, score, is_settled, score > least - validation.flat_log_loss)


def short_path(validation: PathValidation, steps: int, time_limit: float | None = None) -> ShortPath:
    """Run a path in long steps, about as far as one of so many usual ones, and return its best score.

    That is minus the least log loss (:meth:`PathValidation.log_loss`), or the best mean of a given scoring.

    Examples
    --------
    >>> import marginpath as mp
    >>> data = mp.datasets.gaussian_mixture()
    >>> gram = mp.Gram.from_kernel(data.X, mp.Gaussian(sigma=0.5))
    >>> short = short_path(PathValidation(gram, data.y), steps=100)
    >>> short.steps < 15, -0.4 < short.score < 0
    (True, True)
    """
    return short_path_ready(validation, steps, time_limit)()


def short_path_ready(
    validation: PathValidation, steps: int, time_limit: float | None = None
) -> Callable[[], ShortPath]:
    """Return what runs the path: of few samples with hardly any Python in it, of which one thread runs."""
    solver, most = SolutionPath(ratio=SolutionPath.ratio**LONG, tol=TOLERANCE), math.ceil(steps / LONG)
    patience = Patience(validation.patience_with_solutions / 2, chance=validation.judge.chance)
    gain = NothingToGain(patience, LARGEST / solver.ratio)
    if time_limit is None and _can_be_compiled(validation):
        return _compiled(validation, solver, most, gain)
    return lambda: _run(validation, solver, most, gain, time_limit)


def _run(
    validation: PathValidation,
    solver: SolutionPath,
    steps: int,
    gain: NothingToGain,
    time_limit: float | None,
) -> ShortPath:
    """Return a short path of any columns."""
    judge = validation.judge
    observe: dict[str, Metric] = {"bound": largest_bound, "scores": judge.scores, "hinge": judge.hinge}
    if judge.scorer is None:
        observe["log_loss"] = validation.log_loss
    path = validation.run(solver, steps, stop=gain, observe=observe, models=False, time_limit=time_limit)
    if path.ended is Status.INTERRUPTED:  # there is no model yet that could be kept
        raise KeyboardInterrupt
    last: Any = path.last
    is_settled = not _is_any_at_bound(validation.problem, last)
    observed = {name: path[name][1:] for name in observe}
    return ShortPath.of(observed, last.start, is_settled, validation)


def _can_be_compiled(validation: PathValidation) -> bool:
    """Whether few samples count in all columns, and their labels are soon read: then steps take no time."""
    problem, judge = validation.problem, validation.judge
    if judge.scorer is not None or not judge.is_partition or len(problem.Y) > QUICK:
        return False
    if not is_numpy(problem.Y) or not has_few(problem, SolutionPath.working_set):
        return False
    questions = problem.packed_questions
    return len(questions.signed) <= COMPILED and int(np.diff(questions.ends).max()) <= few_columns.FEW


def _compiled(
    validation: PathValidation, solver: SolutionPath, steps: int, gain: NothingToGain
) -> Callable[[], ShortPath]:
    """Return what runs the short path of columns of few samples, by one compiled call for all its steps.

    Where threads are left, they share the columns of every step, if these are long.
    """
    from .short_steps import Seen, short_steps

    problem, judge = validation.problem, validation.judge
    problem.check_range()
    packed, start = FewColumns.at_start(problem)
    bounds = np.stack([np.atleast_1d(problem.box_size(b)) for b in gain.sizes(solver, start, steps)])
    t, folds = len(bounds), len(judge.splits)
    seen = Seen(np.zeros((t, folds)), np.empty(t), np.empty(t), np.empty(t))
    few, duals, asked, parts = FewColumns.compiled_parts(problem, packed, solver)
    given = (
        few,
        duals,
        bounds.astype(np.float64),
        judge.judged,
        gain.end,
        asked,
        np.zeros(1, dtype=bool),
        seen,
    )

    def run() -> ShortPath:
        alone = available() > 1 and len(parts) > 1
        count, at_bound = _by_threads(*given, parts) if alone else short_steps(*given)
        observed = {name: values[:count] for name, values in seen._asdict().items()}
        return ShortPath.of(observed, start, not at_bound, validation)

    return run


def _by_threads(
    few: Any, duals: Any, bounds: Any, judged: Any, end: Any, asked: Any, stop: Any, seen: Any, parts: Any
) -> tuple[int, bool]:
    """Do as ``short_steps`` does, with threads that share the columns: the bits are the same."""
    from ..solvers.solution_path.few_samples import advance_few
    from ..solvers.solution_path.few_start import begin_few
    from .short_steps import enter, look

    solved, workers, count, at_bound, is_over = (
        np.zeros(len(duals.bound), dtype=bool),
        available(),
        0,
        True,
        False,
    )
    while count < len(bounds) and not is_over:
        enter(duals, bounds, count)
        if count == 0:
            for_all(lambda part: begin_few(few, *part, duals), parts, workers)
        for_all(lambda part: advance_few(few, *part, duals, asked, stop, solved), parts, workers)
        at_bound, is_over = look(few, duals, judged, end, asked, solved, count, seen)
        count += 1
    return count, at_bound


@dataclass(frozen=True)
class NothingToGain:
    """Stop where the score has not improved for long, the box is large, or no sample is at its bound.

    In that last case the solution is that of every larger box. Where widths are compared by their log loss
    and something was learned, also where that and the hinge loss have both risen: one of them alone may fall
    again.
    """

    rule: Patience
    largest: float

    def __call__(self, problem: Problem, state: State, path: Path) -> Array:
        """Return the same answer for every column."""
        is_last = path["bound"][-1] > self.largest or self._has_overfitted(path)
        return self.rule(problem, state, path) | (is_last or not _is_any_at_bound(problem, state))

    def _has_overfitted(self, path: Path) -> bool:
        if "log_loss" not in path.rows or path["scores"][1:].mean(axis=1).max() <= self.rule.chance:
            return False
        return all(path[loss][-1] > times * path[loss][1:].min() for loss, times in _RISEN.items())

    @property
    def end(self) -> Any:
        """The same for compiled steps."""
        from .short_steps import End

        return End(self.largest, self.rule.chance, self.rule.growth, *PATIENCE, *_RISEN.values())

    def sizes(self, solver: SolutionPath, start: float, steps: int) -> Iterator[float]:
        """Yield 1/λ of the steps from the first λ on, up to the first that is too large to go on."""
        schedule, size = GeometricDecay(start * solver.ratio, solver.ratio), 0.0
        for t in range(1, steps + 1):
            size = box_size(schedule, t, size)
            yield size
            if size > self.largest:
                return


def _is_any_at_bound(problem: Problem, state: State) -> bool:
    """Whether any sample is at its bound: in the first columns some are, but for the end of a path."""
    if state.packed is not None:
        return bool(state.packed.is_any_at(np.atleast_1d(state.bound)))
    columns = range(0, problem.shape[1], _COLUMNS)
    parts = ((..., slice(c, c + _COLUMNS)) for c in columns)
    return any(at_bound(state.u[p], problem.mass[p], state.bound[p]).any() for p in parts)
