"""From a Gram matrix and the settings of a classifier to a path that was followed to its end."""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..certificates.bounds import MarginProofs
from ..gram.base import Gram
from ..momentum import Inertia
from ..path.path import Path, Status
from ..path.run import Callback
from ..problem import Problem
from ..schedules import GeometricDecay, Schedule
from ..solvers import CoordinateDescent, DualDescent, SolutionPath, Solver
from ..solvers.coordinate.cluster import ClusterSweeps
from ..solvers.coordinate.spaces import PERIOD
from ..solvers.solution_path.solver import sweeps_over
from ..solvers.starting import first_lambda
from ..validation.cross_validation import DEFAULT_SOLVER, CrossValidatedPath
from ..validation.short_path import ShortPath

#: Several sweeps a step: with one, a path with an intercept falls behind λ_t where labels are noisy. Over
#: features a whole period of them, of which the last visit little: chosen on the training samples of
#: 20 Newsgroups and a9a.
SWEEPS, FEATURE_SWEEPS = replace(DEFAULT_SOLVER, sweeps=3, passes=3), replace(DEFAULT_SOLVER, sweeps=PERIOD)
#: Factor between two values of 1/λ, and most steps: what the steps of a method can follow.
RATIO = {"coordinate": SWEEPS.ratio, "inertial": 1.05, "gradient": 1.02}
STEPS = {"coordinate": 100, "inertial": 1000, "gradient": 3000}

#: Duality gap of every step, over its objective: of kernel values, over many features, and by landmarks that
#: lack as much of the trace.
_GAP, _FEATURE_GAP, _LANDMARK_GAP = 1e-3, 1e-2, 2e-2
_PROOF_NUMBERS = 2e7  # entries times columns that are multiplied to prove bounds on the margin at more steps


@dataclass(frozen=True)
class Followed:
    """A path that was followed to its end, and the step that is kept."""

    path: Path
    step: int
    proofs: MarginProofs
    validation: CrossValidatedPath | None = None
    tried: tuple[tuple[dict[str, float], CrossValidatedPath], ...] = ()
    landmarks: np.ndarray | None = None
    trace_error: float = 0.0

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


class Choice(ABC):
    """What decides the step of a classifier, and can say why.

    Parameters
    ----------
    classifier : classifier
        Its parameters are read to follow the path; to tell of it, what the fit left.
    """

    #: Whether samples were held out, on whose decision values probabilities are calibrated.
    has_probabilities: ClassVar[bool] = False
    #: Whether the maximum margin itself is asked for, so that no sweep may rest before it.
    exact: ClassVar[bool] = False
    #: Whether the intercept may go unpenalized.
    free_intercept: bool = True
    #: Who judges the steps by held-out samples, and how the error is then called.
    judge: ClassVar[str] = ""
    judged: ClassVar[str] = ""

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def check(self) -> None:  # noqa: B027  most need nothing
        """Raise where the classifier lacks a parameter that this needs."""

    @abstractmethod
    def follow(self, gram: Gram, fit: Follower) -> Followed:
        """Run the path on this Gram matrix, or go on with the one before, and choose its step."""

    @abstractmethod
    def is_unfinished(self, followed: Followed, method: str) -> bool:
        """Whether a path that took all its steps should have had more."""

    @property
    def error(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Mean and standard deviation over the folds at every step 1, 2, …; None without held-out samples."""
        return None

    @property
    def measure(self) -> str:
        """What error that is."""
        return "error" if self.classifier.scoring is None else f"1 − {self.classifier.scoring}"

    @property
    def reason(self) -> str:
        """Why the step of the fitted classifier was chosen, in a sentence."""
        return f"Step {self.classifier.step_} is kept: {self._why}."

    @property
    @abstractmethod
    def _why(self) -> str: ...


@dataclass(frozen=True)
class Follower:
    """What a fit needs beside the Gram matrix; of the classifier only the parameters are read."""

    choice: Choice
    method: str
    seed: int
    y: np.ndarray
    multi_class: str = "ovr"
    sample_weight: np.ndarray | None = None
    fit_weight: np.ndarray | None = None
    groups: Any = None
    folds: Any = None
    callbacks: tuple[Callback, ...] = ()
    deadline: float | None = None
    before: Followed | None = None
    short: ShortPath | None = None
    intercept: bool = False
    begun: Callable[[Gram], None] = lambda gram: None

    def on(self, rows: np.ndarray, held_out: list[np.ndarray]) -> Follower:
        """Return the same for some of the rows, in the folds that all rows are in."""
        is_test = np.zeros((len(held_out), len(self.y)), dtype=bool)
        for own, test in zip(is_test, held_out, strict=True):
            own[test] = True
        weights = (None if w is None else w[rows] for w in (self.sample_weight, self.fit_weight))
        sample_weight, fit_weight = weights
        folds = [(np.flatnonzero(~own), np.flatnonzero(own)) for own in is_test[:, rows]]
        return replace(
            self, y=self.y[rows], sample_weight=sample_weight, fit_weight=fit_weight, groups=None, folds=folds
        )

    @property
    def late(self) -> bool:
        """Whether the time limit is over."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def follow(self, gram: Gram) -> Followed:
        """Run the path on this Gram matrix, or go on with the one before, and choose its step."""
        self.begun(gram)
        followed = self.choice.follow(gram, self)
        self._warn(followed)
        return replace(followed, landmarks=gram.chosen, trace_error=gram.trace_error)

    def proofs(self, problem: Problem, path: Path) -> MarginProofs:
        """Prove bounds on the maximum margin: of every column at the steps where they seem to be the best.

        Of all columns at as many steps as cost little.
        """
        assert path.models is not None
        estimates, k = path["estimated_margin_bounds"], problem.shape[1]
        some = np.zeros((len(estimates), k), dtype=bool)
        some[1 + estimates[1:, 0].argmax(axis=0), np.arange(k)] = True
        some[1 + estimates[1:, 1].argmin(axis=0), np.arange(k)] = True
        room = 0 if self.late else int(_PROOF_NUMBERS / (problem.gram.numbers * k))
        spread = np.linspace(1, len(some) - 1, min(room, len(some) - 1))
        some[[0, *np.round(spread).astype(int)]] = True
        steps = np.flatnonzero(some.any(axis=1))
        return MarginProofs.of(problem, steps.tolist(), path.models.where_kept, some[steps])

    @property
    def limits(self) -> dict[str, Any]:
        """What a run may take, and whom it tells."""
        left = None if self.deadline is None else max(self.deadline - time.monotonic(), 1e-9)
        return {"callbacks": self.callbacks, "time_limit": left}

    @property
    def steps(self) -> int:
        """How many more steps to take at most."""
        asked = self.choice.classifier.max_iter
        steps: int = STEPS[self.method] if asked == "auto" else asked
        return steps if self.before is None else max(0, steps - self.before.path.last.t)

    def solver(self, problem: Problem) -> Solver[Any]:
        """Return the solver of the method, with the schedule as asked for."""
        schedule = None if self.choice.classifier.schedule == "auto" else self.choice.classifier.schedule
        if self.method == "coordinate" and problem.gram.space != "cluster" and not self.choice.exact:
            return SolutionPath(schedule, tol=asked_gap(self.choice.classifier.path_tol, problem.gram))
        if self.method == "coordinate":
            sweeps = SWEEPS if problem.gram.space == "samples" else FEATURE_SWEEPS
            tol = 0.0 if self.choice.exact else sweeps.tol
            solver = replace(sweeps, schedule=schedule, seed=self.seed, tol=tol)
            return on_cluster(solver) if problem.gram.space == "cluster" else solver
        # Features about their mean let a step go further.
        ratio = RATIO[self.method] ** (1 if problem.gram.chosen is None else 2)
        schedule = schedule or geometric_schedule(problem, ratio)
        momentum = Inertia() if self.method == "inertial" else None
        if problem.gram.dtype != problem.xp.float64:
            return DualDescent(schedule, momentum)
        # A tight bound on the norm, so that a weight of 2 is the sample twice to the last digits.
        _, norm = problem.gram.norm_bounds(problem.sample_weight, rtol=1e-10)
        return DualDescent(schedule, momentum, step_size=1 / norm if norm > 0 else None)

    @staticmethod
    def _gap(followed: Followed) -> float:
        path = followed.path
        return float(np.max(path["gap"][path.steps == followed.step]))

    def _warn(self, followed: Followed) -> None:
        """Warn of a path that ended before its time, or of a step that is not what its C says."""
        path, kept = followed.path, f"step {followed.step} is kept"
        asked = getattr(path.solver, "gap_tol", np.inf)
        if (gap := self._gap(followed)) > asked:
            kept += f", whose duality gap is {gap:.1e} of its objective: it is not the SVM at its C"
        limit = self.choice.classifier.time_limit
        if path.ended is Status.TIME_LIMIT:
            reason = f"The time limit of {limit} s was over after {path.last.t} steps; {kept}."
        elif path.ended is Status.INTERRUPTED:
            reason = f"Interrupted after {path.last.t} steps; {kept}."
        elif gap > asked:
            reason = f"No step reached a duality gap of {asked:g} (path_tol); {kept}."
        elif path.ended is Status.STEPS and self.choice.is_unfinished(followed, self.method):
            reason = f"max_iter={path.last.t} was reached before the stopping rule; {kept}. Raise max_iter."
        else:
            return
        warnings.warn(reason, ConvergenceWarning, stacklevel=2)


def asked_gap(path_tol: float | str, gram: Gram | None = None) -> float:
    """Return the duality gap that every step is to have, over its objective; "auto" asks less of features.

    And less again of landmarks, up to what they lack of the trace of the kernel.

    Examples
    --------
    >>> import marginpath as mp
    >>> X, kernel = np.random.default_rng(0).standard_normal((50, 2)), mp.Gaussian(1.0)
    >>> exact, few, many = Gram.from_kernel(X, kernel), *(Gram.landmarks(X, kernel, m) for m in (5, 40))
    >>> [asked_gap("auto", gram) for gram in (exact, few, many)], asked_gap(1e-6, few)
    ([0.001, 0.02, 0.01], 1e-06)
    """
    if not isinstance(path_tol, str):
        return float(path_tol)
    if gram is not None and gram.chosen is not None:
        return min(max(float(getattr(gram, "trace_error", 0)), _FEATURE_GAP), _LANDMARK_GAP)
    return _FEATURE_GAP if gram is not None and sweeps_over(gram) else _GAP


def on_cluster(solver: CoordinateDescent) -> ClusterSweeps:
    """Return the sweeps for features on a cluster in place of those for one machine."""
    return ClusterSweeps(
        solver.schedule, solver.ratio, tol=solver.tol, refresh=solver.refresh, seed=solver.seed
    )


def geometric_schedule(problem: Problem, ratio: float) -> GeometricDecay:
    """Return the schedule that starts where the path leaves the solution with all samples at the bound."""
    scores = problem.gram @ (problem.Y * problem.mass)
    return GeometricDecay(first_lambda(problem, scores) * ratio, ratio)
