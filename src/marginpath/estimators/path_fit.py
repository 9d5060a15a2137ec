"""From a Gram matrix and the settings of a classifier to a path that was followed to its end."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit

from .. import metrics
from ..arrays import Array
from ..certificates.bounds import MarginProofs, estimated_margin_bounds
from ..certificates.maximum_margin import MarginStatus, maximum_margin
from ..gram.base import Gram
from ..momentum import Inertia
from ..path.models import ModelHistory
from ..path.path import Path, Status
from ..path.run import Callback, Rule, resume, run
from ..path.stopping import CertifiedMargin, Discrepancy, NoImprovement
from ..problem import Problem
from ..schedules import GeometricDecay, Schedule
from ..solvers import DualDescent, Solver
from ..solvers.base import State
from ..validation.cross_validation import DEFAULT_SOLVER, CrossValidatedPath, PathValidation, class_signs
from .dask import adapted

#: Several sweeps a step: with one, a path with an intercept falls behind λ_t where labels are noisy.
SWEEPS, FEATURE_SWEEPS = replace(DEFAULT_SOLVER, sweeps=3, passes=3), replace(DEFAULT_SOLVER, sweeps=5)
#: Factor between two values of 1/λ, and most steps: what the steps of a method can follow.
RATIO = {"coordinate": SWEEPS.ratio, "inertial": 1.05, "gradient": 1.02}
STEPS = {"coordinate": 100, "inertial": 1000, "gradient": 3000}

_PROOF_NUMBERS = 1e9  # entries times columns that are multiplied to prove bounds on the margin


@dataclass(frozen=True)
class Followed:
    """A path that was followed to its end, and the step that is kept."""

    path: Path
    models: ModelHistory
    step: int
    proofs: MarginProofs
    validation: CrossValidatedPath | None = None
    decisions: list[np.ndarray] = field(default_factory=list)
    tried: tuple[tuple[dict[str, float], CrossValidatedPath], ...] = ()

    @property
    def schedule(self) -> Schedule:
        """T → λ_t, as it was resolved from the data."""
        solver: Any = self.path.solver
        last: Any = self.path.last
        schedule: Schedule | None = solver.schedule
        return schedule or GeometricDecay(last.start * solver.ratio, solver.ratio)

    @property
    def score(self) -> float:
        """The mean score over the folds at the chosen step."""
        return -np.inf if self.validation is None else self.validation.best_score


@dataclass(frozen=True)
class Follower:
    """What a fit needs beside the Gram matrix.

    ``settings`` is the classifier, of which only the parameters are read.
    """

    settings: Any
    method: str
    seed: int
    y: np.ndarray
    sample_weight: np.ndarray | None = None
    fit_weight: np.ndarray | None = None
    groups: Any = None
    callbacks: tuple[Callback, ...] = ()
    deadline: float | None = None
    before: Followed | None = None
    watch: Callable[[ModelHistory], None] = lambda models: None

    @property
    def late(self) -> bool:
        """Whether the time limit is over."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def follow(self, gram: Gram) -> Followed:
        """Run the path on this Gram matrix, or go on with the one before, and choose its step."""
        validated = self.settings.stopping in ("cv", "holdout")
        followed = self._validated(gram) if validated else self._ruled(gram)
        self._warn(followed)
        return followed

    def _validated(self, gram: Gram) -> Followed:
        """Let held-out samples choose."""
        ask = self.settings
        cv, selection = ask.cv, ask.selection
        if ask.stopping == "holdout":
            cv = StratifiedShuffleSplit(1, test_size=ask.validation_fraction, random_state=self.seed)
            selection = "smooth" if selection == "one_se" else selection
        validation = PathValidation(
            gram,
            self.y,
            cv=cv,
            scoring=ask.scoring,
            selection=selection,
            groups=self.groups,
            sample_weight=self.fit_weight,
            score_weight=self.sample_weight,
        )
        if self.before is not None:
            validation.models = self.before.models.copy()
            validation.judge.kept = list(self.before.decisions)
        self.watch(validation.models)
        patience = None if ask.n_iter_no_change == "auto" else ask.n_iter_no_change
        stop = NoImprovement("scores", validation.patience, steps=patience)
        if self.before is None:
            path = validation.run(self._solver(validation.problem), self._steps, stop=stop, **self._limits)
        else:
            path = validation.resume(self.before.path, self._steps, stop=stop, **self._limits)
        found = validation.choose(path)
        proofs = self._proofs(validation.models_alone, path, found.models)
        return Followed(path, found.models, found.step, proofs, found, validation.judge.kept)

    def _ruled(self, gram: Gram) -> Followed:
        """Let a rule choose, which sees all the samples."""
        codes = np.unique(self.y, return_inverse=True)[1]
        problem = Problem(gram, class_signs(codes, int(codes.max()) + 1), self.fit_weight)
        rule = self._rule()
        observe: dict[str, Callable[..., Array]] = {
            "bound": metrics.bound,
            "error": metrics.error,
            "estimated_margin_bounds": _estimated_margin_bounds,
            **getattr(rule, "observed", {}),
        }
        models = ModelHistory() if self.before is None else self.before.models.copy()
        self.watch(models)
        limits = {**self._limits, "stop": rule, "observe": observe}
        limits["callbacks"] = (models, *self.callbacks)
        if self.before is None:
            path = run(self._solver(problem), problem, self._steps, **limits)
        else:
            del models.packed[self.before.path.last.t :]
            path = resume(self.before.path, problem, self._steps, **limits)
        if self.settings.stopping == "margin" and self.method == "coordinate":
            return self._finished(problem, path, models)
        choose = getattr(rule, "choose", None)
        step = path.last.t if choose is None else int(np.median(choose(path, problem)))
        return Followed(path, models, step, self._proofs(problem, path, models))

    def _finished(self, problem: Problem, path: Path, models: ModelHistory) -> Followed:
        """Add the exact maximum-margin solution as one more step, where there is a margin and time for it."""
        try:
            found = maximum_margin(problem, tol=1e-14, time_limit=self._limits["time_limit"])
        except KeyboardInterrupt:
            path.ended = Status.INTERRUPTED
        if self.late:
            path.ended = Status.TIME_LIMIT
        if path.ended in (Status.INTERRUPTED, Status.TIME_LIMIT):
            return Followed(path, models, path.last.t, self._proofs(problem, path, models))
        lower, upper = found.margin_bounds
        proved = (lower > 0) & (upper - lower <= self.settings.tol * upper)
        if not proved.all():
            word = MarginStatus(found.status[int(np.argmin(proved))])
            warnings.warn(
                f"No maximum margin was reached: {word.sentence} The last step of the path is kept. For "
                f"classes that overlap use stopping='cv'.",
                ConvergenceWarning,
                stacklevel=2,
            )
            return Followed(path, models, path.last.t, self._proofs(problem, path, models))
        proofs = self._proofs(problem, path, models)
        exact = replace(path.last, u=found.u, bound=np.full(problem.shape[1:], np.inf))
        models(problem, exact, path)
        return Followed(path, models, len(models), proofs.with_step(len(models), lower, upper))

    def _proofs(self, problem: Problem, path: Path, models: ModelHistory) -> MarginProofs:
        """Prove bounds on the maximum margin at as many steps as cost little; if late, at the best only."""
        estimates = path["estimated_margin_bounds"][1:]
        best = {1 + int(i) for i in (*estimates[:, 0].argmax(axis=0), *estimates[:, 1].argmin(axis=0))}
        room = 0 if self.late else int(_PROOF_NUMBERS / (problem.gram.numbers * problem.shape[1]))
        spread = np.linspace(1, len(estimates), max(0, min(room, len(estimates)) - len(best)))
        return MarginProofs.of(problem, sorted({0} | best | {round(s) for s in spread}), models.u)

    @property
    def _limits(self) -> dict[str, Any]:
        left = None if self.deadline is None else max(self.deadline - time.monotonic(), 1e-9)
        return {"callbacks": self.callbacks, "time_limit": left}

    @property
    def _steps(self) -> int:
        asked = self.settings.max_iter
        steps: int = STEPS[self.method] if asked == "auto" else asked
        return steps if self.before is None else max(0, steps - self.before.path.last.t)

    def _solver(self, problem: Problem) -> Solver[Any]:
        schedule = None if self.settings.schedule == "auto" else self.settings.schedule
        if self.method == "coordinate":
            sweeps = SWEEPS if problem.gram.space == "samples" else FEATURE_SWEEPS
            tol = 0.0 if self.settings.stopping == "margin" else sweeps.tol
            return adapted(replace(sweeps, schedule=schedule, seed=self.seed, tol=tol), problem.gram)
        schedule = schedule or geometric_schedule(problem, RATIO[self.method])
        momentum = Inertia() if self.method == "inertial" else None
        if problem.gram.dtype != problem.xp.float64:
            return DualDescent(schedule, momentum)
        # A tight bound on the norm, so that a weight of 2 is the sample twice to the last digits.
        _, norm = problem.gram.norm_bounds(problem.sample_weight, rtol=1e-10)
        return DualDescent(schedule, momentum, step_size=1 / norm if norm > 0 else None)

    def _rule(self) -> Rule | None:
        ask = self.settings
        if ask.stopping == "margin":
            return CertifiedMargin(ask.tol)
        if ask.stopping == "discrepancy":
            return Discrepancy(ask.noise_level)
        rule: Rule | None = ask.stopping
        return rule

    def _warn(self, followed: Followed) -> None:
        """Warn of a path that ended before its time."""
        path, kept = followed.path, f"step {followed.step} is kept"
        if path.ended is Status.TIME_LIMIT:
            reason = (
                f"The time limit of {self.settings.time_limit} s was over after {path.last.t} steps; {kept}."
            )
        elif path.ended is Status.INTERRUPTED:
            reason = f"Interrupted after {path.last.t} steps; {kept}."
        elif path.ended is Status.STEPS and self._unfinished(followed):
            reason = f"max_iter={path.last.t} was reached before the stopping rule; {kept}. Raise max_iter."
        else:
            return
        warnings.warn(reason, ConvergenceWarning, stacklevel=2)

    def _unfinished(self, followed: Followed) -> bool:
        if followed.validation is not None:
            return followed.step == followed.path.last.t > 1 and bool(followed.path.running().any())
        if self.settings.stopping == "margin" and self.method == "coordinate":
            return False  # the exact finish tells
        return self._rule() is not None and bool(followed.path.running().any())


def geometric_schedule(problem: Problem, ratio: float) -> GeometricDecay:
    """Return the schedule that starts where the path leaves the solution with all samples at the bound."""
    scores = problem.gram @ (problem.Y * problem.mass)
    start = float(problem.xp.max(problem.Y * scores * problem.box_scale))
    return GeometricDecay((start if start > 0 else 1.0) * ratio, ratio)


def _estimated_margin_bounds(problem: Problem, state: State) -> Array:
    return problem.xp.stack(estimated_margin_bounds(problem, state))
