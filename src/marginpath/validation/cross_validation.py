"""Cross-validation along a path: folds are columns beside the column of all the data.

One run makes every fold's path and that of the final model at once; the held-out samples have label 0 in
their fold's column, so that their decision values are in the state, and choosing the step costs nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array, is_numpy, take_rows, to_numpy
from ..certificates.bounds import estimated_ends
from ..gram.base import Gram
from ..gram.landmarks import landmark_observer
from ..metrics import Metric, gap_and_sums
from ..parallel import available, for_all
from ..path.models import ModelHistory
from ..path.path import Path
from ..path.run import Callback, Rule, resume, run
from ..path.stopping import NoImprovement
from ..problem import Problem
from ..solvers import CoordinateDescent, Solver
from ..solvers.base import State
from ..solvers.solution_path.packed import layout_of
from .columns import class_codes, columns_for, fold_columns
from .proper import enough_rows, log_loss
from .scores import OutOfFold
from .selection import EQUAL, SELECTIONS, equally_good, smoothed, standard_error
from .splits import held_out_samples

#: The solver of :func:`cross_validate_path` where none is given.
DEFAULT_SOLVER = CoordinateDescent(tol=0.01)

_SHARED = 2**18  # signs from which on threads share what they are compared with


@dataclass(frozen=True)
class CrossValidatedPath:
    """A path with its out-of-fold scores, and the step that they choose.

    Attributes
    ----------
    path : Path
        Columns are, for each class, the folds and then all the data. ``path["estimated_margin_bounds"]``
        (steps, 2, classes) are those of the latter; :func:`margin_bounds` of ``u`` proves them.
        ``path.models`` has the model of all the data at every step: ``path.models.u(step)``.
    classes : array
        The classes; ``u[:, c]`` separates class c from the rest, or for multi_class="ovo" the classes of pair
        c. Two classes share one column (n,).
    step : int
        The chosen step.
    C : float
        1/λ at that step, to compare with scikit-learn's SVC.
    u : array (n,) or (n, columns)
        The dual variable of the model of all the data at that step.
    out_of_fold : array (n,) or (n, classes)
        Decision values of every sample at that step, each by the fold that did not see it.
    held_out : array (n, columns)
        The same of the columns.
    steps, split_scores, mean_scores, std_scores : arrays
        The scores of every fold along the path.
    majority, majority_score : int, float
        Which class is the most frequent, and the mean accuracy of an answer that is always this one.
    """

    path: Path
    classes: np.ndarray
    step: int
    C: float
    u: np.ndarray
    out_of_fold: np.ndarray
    held_out: np.ndarray = field(repr=False)
    steps: np.ndarray = field(repr=False)
    split_scores: np.ndarray = field(repr=False)
    majority: int = 0
    majority_score: float = 0.0

    @property
    def models(self) -> ModelHistory:
        """The model of all the data at every step: ``models.u(step)``."""
        assert self.path.models is not None
        return self.path.models

    @property
    def mean_scores(self) -> np.ndarray:
        """Mean over the folds, one for each step."""
        return np.asarray(self.split_scores.mean(axis=1))

    @property
    def std_scores(self) -> np.ndarray:
        """Standard deviation over the folds, one for each step."""
        return np.asarray(self.split_scores.std(axis=1))

    @property
    def best_score(self) -> float:
        """Mean score at the chosen step."""
        return float(self.mean_scores[self.steps == self.step][0])


def cross_validate_path(
    solver: Solver[Any] | None,
    gram: Gram,
    y: Array,
    *,
    cv: Any = 5,
    scoring: str | Callable[..., float] | None = None,
    selection: str = "smooth",
    multi_class: str = "ovr",
    growth: float | None = None,
    steps: int = 100,
    groups: Array | None = None,
    sample_weight: Array | None = None,
    time_limit: float | None = None,
    callbacks: tuple[Callback, ...] = (),
) -> CrossValidatedPath:
    """Run a path once for all folds and all the data, and choose the step by cross-validation.

    Parameters
    ----------
    solver : Solver or None
        None takes coordinate sweeps with a data-driven schedule.
    gram : Gram
        The kernel matrix of all the samples: one for all folds.
    y : array (n,)
        Class labels of any kind. Two classes make one column.
    cv : int, splitter or iterable
        As in scikit-learn; an int means stratified folds. A class with fewer samples than folds is trained on
        in all of them, with a warning: see :func:`held_out_samples`.
    scoring : str or callable, optional
        A scorer that needs only decision values or labels; None is the accuracy.
    selection : {"smooth", "best", "one_se"}
        The step of the best mean score; of equal ones, that of the least log loss of the held-out decision
        values, scaled and shifted (:func:`log_loss`). "smooth": each mean averaged with those of
        neighbours with a similar C, whose models are nearly the same, and equal are all within half a
        standard error of the best, so that luck chooses less. "best": each by itself. "one_se": the first
        step within one standard error of the best, a more regularized model.
    multi_class : {"ovr", "ovo"}
        More than two classes: a column for each against the rest, or for each pair of them, which then vote.
    growth : float, optional
        Stop when 1/λ has grown by this factor since the best score; the plateau at the start, where
        every sample is given to the larger class, does not count. None is 30 for two classes and 100 for
        more, whose score may first fall and then rise to its best.
    steps : int
        At most so many steps.
    groups, sample_weight : arrays (n,), optional
        For the splitter, and multiplicities of the samples.
    time_limit, callbacks
        As in :func:`run`.

    Examples
    --------
    >>> import marginpath as mp
    >>> data = mp.datasets.gaussian_mixture()
    >>> gram = mp.Gram.from_kernel(data.X, mp.Gaussian(sigma=0.5))
    >>> found = mp.cross_validate_path(None, gram, data.y)
    >>> found.best_score > 0.85
    True
    """
    validation = PathValidation(
        gram,
        y,
        cv=cv,
        scoring=scoring,
        selection=selection,
        multi_class=multi_class,
        groups=groups,
        sample_weight=sample_weight,
    )
    stop = NoImprovement("scores", validation.patience if growth is None else growth)
    path = validation.run(
        solver or DEFAULT_SOLVER, steps, stop=stop, callbacks=callbacks, time_limit=time_limit
    )
    return validation.choose(path)


class PathValidation:
    """Cross-validation along a path, set up and ready to run: what :func:`cross_validate_path` does.

    Parameters are those of :func:`cross_validate_path`; ``score_weight`` weighs the samples in the score and
    is ``sample_weight`` by default. ``whole=False`` leaves out the columns of all the data: there are scores
    then, and no models.
    """

    def __init__(
        self,
        gram: Gram,
        y: Array,
        *,
        cv: Any = 5,
        scoring: str | Callable[..., float] | None = None,
        selection: str = "smooth",
        multi_class: str = "ovr",
        groups: Array | None = None,
        sample_weight: Array | None = None,
        score_weight: Array | None = None,
        intercept: bool = False,
        whole: bool = True,
    ) -> None:
        if selection not in SELECTIONS:
            raise ValueError(f"selection must be one of {', '.join(SELECTIONS)}, got {selection!r}.")
        labels = to_numpy(y)
        self.classes, codes = class_codes(labels)
        if labels.shape != (gram.shape[0],) or len(self.classes) < 2:
            raise ValueError(
                f"y must hold one label for each of the {gram.shape[0]} samples and at least two classes, "
                f"got shape {labels.shape} and {len(self.classes)} class(es)."
            )
        weight = sample_weight if score_weight is None else score_weight
        splits = held_out_samples(cv, labels, groups, None if weight is None else to_numpy(weight))
        if selection == "one_se" and len(splits) < 2:
            raise ValueError("selection='one_se' needs at least two folds to tell an error; there is one.")
        self.selection = selection
        columns = columns_for(len(self.classes), multi_class)
        self.signs = signs = np.asfortranarray(columns.signs(codes), dtype=np.int8)  # ±1 and 0: they are many
        watched = [*splits, np.arange(0)][: len(splits) + whole]  # the folds' own, nothing else is read
        hints: Any = {"together": len(watched), "watched": watched}
        labels_of_folds = fold_columns(signs, splits, whole)
        self.problem = Problem(gram, labels_of_folds, sample_weight, intercept=intercept, **hints)
        self.model_columns = len(splits) + (len(splits) + 1) * np.arange(signs.shape[1])
        self.judge = OutOfFold(splits, columns, labels, self.classes, scoring, weight)

    def on(self, gram: Gram) -> PathValidation:
        """Return the same on another Gram matrix of the same samples."""
        other = copy.copy(self)
        other.problem = self.problem.on(gram)
        other.__dict__.pop("models_alone", None)
        return other

    def prepared(self) -> PathValidation:
        """Return it with what is known of its labels alone, which stays on other matrices."""
        if is_numpy(self.problem.Y):
            layout_of(self.problem)
        if self.judge.scorer is None:
            self.flat_log_loss  # noqa: B018  it is kept
        return self

    def run(self, solver: Solver[Any], steps: int, *, stop: Rule | None, **settings: Any) -> Path:
        """Run all folds and all the data at once; settings as in :func:`run`.

        The path keeps the models of all the data and, under "out_of_fold", what the folds say of the samples
        that they did not see, (steps, n, columns).
        """
        observe = self._observers(solver)
        settings = {"observe": observe, "models": self.model_columns, "keep": 0, **settings}
        return run(solver, self.problem, steps, stop=stop, **settings)

    def resume(self, path: Path, steps: int, *, stop: Rule | None, **settings: Any) -> Path:
        """Continue a path of this validation."""
        return resume(path, self.problem, steps, observe=self._observers(path.solver), stop=stop, **settings)

    def choose(self, path: Path) -> CrossValidatedPath:
        """Return the path with the step that its out-of-fold scores choose, and its decisions."""
        assert path.models is not None
        split_scores = path["scores"]
        mean, C = split_scores[1:].mean(axis=1), path["bound"][1:]  # the start, u = 0, is no classifier
        if self.selection == "smooth":
            mean = smoothed(mean, C)
        reached = path["gap"][1:] <= getattr(path.solver, "gap_tol", np.inf)
        # Nor is a step with an empty box, or one that is not yet what its C says.
        mean = np.where((C > 0) & (reached if reached.any() else True), mean, -np.inf)
        best = self._likeliest(path, equally_good(mean, split_scores[1:], self.selection))
        if self.selection == "one_se":
            best = int(np.argmax(mean >= mean[best] - standard_error(split_scores[1 + best])))
        step, held_out = int(path.steps[best + 1]), path.rows.at("out_of_fold", best + 1)
        return CrossValidatedPath(
            path=path.without("out_of_fold"),
            classes=self.classes,
            step=step,
            C=float(C[best]),
            u=self.judge.squeezed(path.models.u(step)),
            out_of_fold=self.judge.squeezed(self.judge.columns.values(held_out)),
            held_out=held_out,
            steps=path.steps,
            split_scores=split_scores,
            majority=self.judge.majority,
            majority_score=self.judge.majority_score,
        )

    def _likeliest(self, path: Path, equals: np.ndarray) -> int:
        """Return which of the steps with equal scores tells most: the least log loss of its decisions."""
        if len(equals) == 1:
            return int(equals[0])
        losses = np.empty(len(equals))

        def judge(c: int) -> None:
            losses[c] = self._log_loss(path.rows.where_kept("out_of_fold", equals[c] + 1))

        shared = is_numpy(self.problem.Y) and self.signs.size > _SHARED
        for_all(judge, range(len(equals)), available() if shared else 1)
        return int(equals[np.argmax(losses <= losses.min() + EQUAL)])  # at first, u only grows by a factor

    def log_loss(self, problem: Problem, state: State) -> float:
        """Return that of the held-out decisions, scaled and shifted (:func:`log_loss`)."""
        return self._log_loss(self.judge.decisions(problem, state))

    def _log_loss(self, decisions: Array) -> float:
        """Return it of enough of the samples."""
        some, weight = enough_rows(len(self.signs)), self.judge.weight
        decisions = decisions if isinstance(some, slice) else take_rows(decisions, some)
        return log_loss(decisions, self.signs[some], None if weight is None else weight[some])

    @cached_property
    def flat_log_loss(self) -> float:
        """That of held-out decisions which are all the same."""
        values = np.full(self.signs.shape, np.nan)
        values[np.concatenate(self.judge.splits)] = 0.0
        return self._log_loss(values)

    @property
    def patience(self) -> float:
        """The growth of 1/λ without a better score after which to stop."""
        return 30.0 if len(self.classes) == 2 else 100.0

    @property
    def patience_with_solutions(self) -> float:
        """The same where every step is a solution, and :class:`Patience` looks at the loss too.

        Of one class against all others that loss is often the least at the start, and tells nothing.
        """
        apart = len(self.classes) == 2 or self.judge.columns.in_pairs
        return 10.0 if apart else 100.0

    def _observers(self, solver: Solver[Any]) -> dict[str, Metric]:
        """Return what is observed along the path; of solutions, what :class:`Patience` asks for too."""
        loss: dict[str, Metric] = {"hinge": self.judge.hinge} if hasattr(solver, "gap_tol") else {}
        return {
            **loss,
            "bound": largest_bound,
            "gap": self._largest_gap,
            "offset": self._offset,
            "scores": self.judge.scores,
            "estimated_margin_bounds": self._margin_bounds,
            "out_of_fold": self.judge.decisions,
            **landmark_observer(self.problem.gram, self.model_columns),
        }

    def _offset(self, problem: Problem, state: State) -> Array:
        """Return what the decision values of the models of all the data have beyond the kernel's part."""
        if not hasattr(state, "offset"):
            return self._no_offset
        return -state.offset[..., self._models]

    @cached_property
    def _models(self) -> slice:
        """The columns of all the data, after those of the folds."""
        return slice(int(self.model_columns[0]), None, len(self.judge.splits) + 1)

    @cached_property
    def _no_offset(self) -> Array:
        return -self.problem.xp.zeros_like(self.problem.box_scale)[..., self._models]

    def _margin_bounds(self, problem: Problem, state: State) -> Array:
        """Estimate the bounds on the maximum margin of the models of all the data: the gap has the sums."""
        squared, total, smallest = (part[..., self._models] for part in self._gap_and_sums(problem, state)[1])
        return problem.xp.stack(estimated_ends(squared, -total, smallest, self.models_alone))

    def _largest_gap(self, problem: Problem, state: State) -> Array:
        """Return the largest gap of the columns."""
        return problem.xp.max(self._gap_and_sums(problem, state)[0])

    def _gap_and_sums(self, problem: Problem, state: State) -> tuple[Array, tuple[Array, Array, Array]]:
        """Return both; those of the last state are known."""
        if self._summed is None or self._summed[0] is not state:
            self._summed = state, gap_and_sums(problem, state)
        return self._summed[1]

    _summed: tuple[State, tuple[Array, tuple[Array, Array, Array]]] | None = None

    @cached_property
    def models_alone(self) -> Problem:
        """The problem of all the data alone."""
        gram = self.problem.gram
        return self.problem.columns(gram.xp.asarray(self.model_columns, device=gram.device))


def largest_bound(problem: Problem, state: State) -> Array:
    """Return 1/λ, of columns that may differ the largest."""
    return problem.xp.max(state.bound)
