"""What decides the step of a classifier: one class for each value of its parameter ``stopping``."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .. import metrics
from ..arrays import Array
from ..certificates.bounds import estimated_margin_bounds
from ..certificates.maximum_margin import MarginStatus, MaximumMargin, maximum_margin
from ..gram.base import Gram
from ..gram.landmarks import landmark_observer
from ..path.path import Path, Status
from ..path.run import Rule, resume, run
from ..path.stopping import CertifiedMargin, Discrepancy, NoImprovement
from ..problem import Problem
from ..solvers.base import State
from ..validation.closer_look import closer_look
from ..validation.columns import class_codes, columns_for
from ..validation.cross_validation import PathValidation
from ..validation.patience import Patience
from ..validation.short_path import ShortPath, short_path_ready
from ..validation.splits import StratifiedHoldout, held_out_samples
from .path_fit import Choice, Followed, Follower

_WIDE = 4  # steps in one, where there is a time limit


class ByFolds(Choice):
    """Cross-validation: the folds run side by side with the model of all the samples."""

    has_probabilities = True
    judge, judged = "cross-validation", "cross-validated"

    def follow(self, gram: Gram, fit: Follower) -> Followed:
        """Let held-out samples choose."""
        ask = self.classifier
        validation = self._validation(gram, fit)
        patience = None if ask.n_iter_no_change == "auto" else ask.n_iter_no_change
        solver: Any = fit.solver(validation.problem)
        exact = hasattr(solver, "gap_tol")
        stop: Rule = NoImprovement("scores", validation.patience, patience)
        if exact:
            if fit.short is not None and fit.deadline is None and solver.schedule is patience is None:
                solver = replace(solver, schedule=closer_look(fit.short, validation.selection))
            followed: Any = solver if fit.before is None else fit.before.path.solver
            last = getattr(followed.schedule, "end", None)
            judge = validation.judge
            stop = Patience(validation.patience_with_solutions, patience, judge.chance, last, judge.is_beaten)
        if fit.before is not None:
            path = validation.resume(fit.before.path, fit.steps, stop=stop, **fit.limits)
        elif fit.deadline is not None and exact and ask.schedule == "auto":
            path = self._within_limit(validation, solver, stop, fit)
        else:
            path = validation.run(solver, fit.steps, stop=stop, **fit.limits)
        chosen = validation.choose(path)
        return Followed(path, chosen.step, fit.proofs(validation.models_alone, path), chosen)

    def held_out(self, fit: Follower) -> list[np.ndarray]:
        """Return the rows that every fold holds out."""
        weight = fit.fit_weight if fit.sample_weight is None else fit.sample_weight
        return held_out_samples(self._how(fit.seed)[0], fit.y, fit.groups, weight)

    def shorts(self, fit: Follower) -> Callable[[Gram], Callable[[], ShortPath]]:
        """Return what makes short paths ready, to compare kernels of the same samples.

        The folds are looked at once.
        """
        known = list[PathValidation]()

        def ready(gram: Gram) -> Callable[[], ShortPath]:
            known[:] = [known[0].on(gram) if known else self._validation(gram, fit, whole=False).prepared()]
            return short_path_ready(known[0], fit.steps, fit.limits["time_limit"])

        return ready

    def _validation(self, gram: Gram, fit: Follower, whole: bool = True) -> PathValidation:
        cv, selection = self._how(fit.seed)
        return PathValidation(
            gram,
            fit.y,
            cv=cv if fit.folds is None else fit.folds,
            scoring=self.classifier.scoring,
            selection=selection,
            multi_class=fit.multi_class,
            groups=fit.groups,
            sample_weight=fit.fit_weight,
            score_weight=fit.sample_weight,
            intercept=fit.intercept,
            whole=whole,
        )

    @staticmethod
    def _within_limit(validation: PathValidation, solver: Any, stop: Rule, fit: Follower) -> Path:
        """Take large steps first, so that a limit finds all the range of C seen; then, in time, all steps."""
        wide, limits = replace(solver, ratio=solver.ratio**_WIDE), {**fit.limits, "callbacks": ()}
        coarse = validation.run(wide, fit.steps, stop=stop, **limits)
        if coarse.ended in (Status.TIME_LIMIT, Status.INTERRUPTED):
            return coarse
        path = validation.run(solver, fit.steps, stop=stop, **fit.limits)
        scores = [validation.choose(each).best_score for each in (coarse, path)]
        if path.ended is Status.TIME_LIMIT and scores[0] > scores[1]:
            coarse.ended = Status.TIME_LIMIT
            return coarse
        return path

    def is_unfinished(self, followed: Followed, method: str) -> bool:
        """Whether the last step is kept while the score could still grow."""
        return followed.step == followed.path.last.t > 1 and bool(followed.path.running().any())

    @property
    def error(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of 1 − score over the folds."""
        scores = self.classifier.path_["scores"][1:]
        return 1 - scores.mean(axis=1), scores.std(axis=1)

    @property
    def _why(self) -> str:
        mean, spread = (float(part[self.classifier.step_ - 1]) for part in self.error)
        n_folds = self.classifier.path_["scores"].shape[1]
        told = f"cross-validated {self.measure}{{}}, {mean:.1%} ± {spread:.1%} over {n_folds} folds"
        if self.classifier.selection == "smooth":
            return f"a smoothed {told.format(' as low as any, up to chance')}, and of such the least log loss"
        first = "first within one standard error of the " if self.classifier.selection == "one_se" else ""
        return f"the {first}lowest {told.format('')}"

    def _how(self, seed: int) -> tuple[Any, str]:
        """Return the folds, and how to choose by their scores."""
        return self._cv, self.classifier.selection

    @cached_property
    def _cv(self) -> Any:
        """The folds as they were given; those that can be gone through once are kept: a race does so too."""
        cv = self.classifier.cv
        return list(cv) if isinstance(cv, Iterator) else cv


class ByHoldout(ByFolds):
    """Some of the samples, set aside; one score has no standard error."""

    judge, judged = "held-out samples", "set-aside"

    @property
    def _why(self) -> str:
        mean, share = float(self.error[0][self.classifier.step_ - 1]), self.classifier.validation_fraction
        lowest = "lowest" if self.classifier.selection == "best" else "lowest smoothed"
        return f"the {lowest} error on the {share:.0%} of the rows set aside, {mean:.1%}"

    def _how(self, seed: int) -> tuple[Any, str]:

        ask = self.classifier
        split = StratifiedHoldout(ask.validation_fraction, seed)
        return split, "smooth" if ask.selection == "one_se" else ask.selection


class ByRule(Choice):
    """A rule, which sees all the samples; the step that it chooses, or where it stops."""

    def follow(self, gram: Gram, fit: Follower) -> Followed:
        """Let the rule choose."""
        classes, codes = class_codes(fit.y)
        signs = columns_for(len(classes), fit.multi_class).signs(codes)
        problem = Problem(gram, signs, fit.fit_weight, intercept=fit.intercept)
        observe: dict[str, Callable[..., Array]] = {
            "bound": metrics.bound,
            "error": metrics.error,
            "gap": metrics.gap,
            "offset": _offset,
            "estimated_margin_bounds": _estimated_margin_bounds,
            **landmark_observer(gram),
            **getattr(self.rule, "observed", {}),
        }
        limits = {**fit.limits, "stop": self.rule, "observe": observe}
        if fit.before is None:
            path = run(fit.solver(problem), problem, fit.steps, models=True, **limits)
        else:
            path = resume(fit.before.path, problem, fit.steps, **limits)
        return self._chosen(problem, path, fit)

    def is_unfinished(self, followed: Followed, method: str) -> bool:
        """Whether the rule would have gone on."""
        return bool(followed.path.running().any())

    @property
    def rule(self) -> Rule | None:
        """When to stop."""
        rule: Rule | None = self.classifier.stopping
        return rule

    @property
    def _why(self) -> str:
        return f"the choice of {self.rule!r}"

    def _chosen(self, problem: Problem, path: Path, fit: Follower) -> Followed:
        choose = getattr(self.rule, "choose", None)
        step = path.end if choose is None else int(np.median(choose(path, problem)))
        return Followed(path, step, fit.proofs(problem, path))

    @property
    def free_intercept(self) -> bool:  # type: ignore[override]
        """Whether the rule takes an intercept that is not penalized."""
        return bool(getattr(self.rule, "free_intercept", True))


class ByNothing(ByRule):
    """No rule: the last step."""

    _why = "the last one, since no stopping rule was asked for"

    def is_unfinished(self, followed: Followed, method: str) -> bool:
        """Return False: all steps were asked for."""
        return False


class ByDiscrepancy(ByRule):
    """The labels that are contradicted, against a share that is known to be wrong."""

    def check(self) -> None:
        """Ask for the share."""
        if self.classifier.noise_level is None:
            raise ValueError(
                "stopping='discrepancy' needs noise_level, the share of labels to take for wrong, such as "
                "0.1. Where it is not known, use stopping='cv'."
            )

    @property
    def rule(self) -> Rule:
        """When few labels are contradicted."""
        return Discrepancy(self.classifier.noise_level)

    @property
    def _why(self) -> str:
        return (
            f"from here on the classifier agrees with more of the labels than a share of "
            f"{self.classifier.noise_level:.0%} wrong ones allows"
        )


class ByMargin(ByRule):
    """The maximum margin; coordinate sweeps end with the exact solution."""

    exact, free_intercept = True, False
    _why = "the maximum margin was asked for, and this step is the closest to it"

    def is_unfinished(self, followed: Followed, method: str) -> bool:
        """Whether the gap is open, where no exact solution tells."""
        return method != "coordinate" and super().is_unfinished(followed, method)

    @property
    def rule(self) -> Rule:
        """When the gap is closed."""
        return CertifiedMargin(self.classifier.tol)

    def _chosen(self, problem: Problem, path: Path, fit: Follower) -> Followed:
        """End the path with the exact solution, where there is a margin and time for it."""
        begin = time.perf_counter()
        solution = self._solved(problem, path, fit) if fit.method == "coordinate" else None
        seconds = time.perf_counter() - begin
        last = super()._chosen(problem, path, fit)
        if solution is None:
            return last
        step = path.finish(problem, solution.u, seconds)
        return replace(last, step=step, proofs=last.proofs.with_step(step, *solution.margin_bounds))

    def _solved(self, problem: Problem, path: Path, fit: Follower) -> MaximumMargin | None:
        try:
            solution = maximum_margin(problem, tol=1e-14, time_limit=fit.limits["time_limit"])
        except KeyboardInterrupt:
            path.ended = Status.INTERRUPTED
        if fit.late:
            path.ended = Status.TIME_LIMIT
        if path.ended in (Status.INTERRUPTED, Status.TIME_LIMIT):
            return None
        lower, upper = solution.margin_bounds
        proved = (lower > 0) & (upper - lower <= self.classifier.tol * upper)
        if proved.all():
            return solution
        word = MarginStatus(solution.status[int(np.argmin(proved))])
        warnings.warn(
            f"No maximum margin was reached: {word.sentence} The last step of the path is kept. For "
            f"classes that overlap use stopping='cv'.",
            ConvergenceWarning,
            stacklevel=2,
        )
        return None


#: What ``stopping`` may be called; else it is a rule, or None.
CHOICES: dict[str, type[Choice]] = {
    "cv": ByFolds,
    "holdout": ByHoldout,
    "margin": ByMargin,
    "discrepancy": ByDiscrepancy,
}


def as_choice(classifier: Any) -> Choice:
    """Return what decides the step of a classifier, fitted or not.

    Examples
    --------
    >>> import marginpath as mp
    >>> from sklearn.datasets import load_iris
    >>> clf = mp.MarginPathClassifier(stopping=None, max_iter=5).fit(*load_iris(return_X_y=True))
    >>> as_choice(clf).reason
    'Step 5 is kept: the last one, since no stopping rule was asked for.'
    >>> as_choice(clf).has_probabilities
    False
    """
    stopping = classifier.stopping
    if stopping is None:
        return ByNothing(classifier)
    return (CHOICES.get(stopping, ByRule) if isinstance(stopping, str) else ByRule)(classifier)


def _offset(problem: Problem, state: State) -> Array:
    return -getattr(state, "offset", problem.xp.zeros_like(state.bound))


def _estimated_margin_bounds(problem: Problem, state: State) -> Array:
    return problem.xp.stack(estimated_margin_bounds(problem, state))
