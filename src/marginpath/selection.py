"""Cross-validation along a path: folds are columns beside the column of all the data.

One run makes every fold's path and that of the final model at once; the held-out samples have label 0 in
their fold's column, so that their decision values are in the state, and choosing the step costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv

from .arrays import Array, to_numpy
from .gram import Gram
from .path import Path
from .problem import Problem
from .running import Callback, run
from .solvers import CoordinateDescent, Solver
from .solvers.base import State
from .stopping import NoImprovement

#: The solver of :func:`cross_validate_path` where none is given.
DEFAULT_SOLVER = CoordinateDescent(tol=0.01)


@dataclass(frozen=True)
class CrossValidatedPath:
    """A path with its out-of-fold scores, and the step that they choose.

    Attributes
    ----------
    path : Path
        Columns are, for each class, the folds and then all the data.
    classes : array
        The classes; ``u[:, c]`` separates class c from the rest. Two classes share one column (n,).
    step : int
        The chosen step.
    C : float
        1/λ at that step, to compare with scikit-learn's SVC.
    u : array (n,) or (n, classes)
        The dual variable of the model of all the data at that step.
    out_of_fold : array (n,) or (n, classes)
        Decision values of every sample at that step, each by the fold that did not see it.
    steps, split_scores, mean_scores, std_scores : arrays
        The scores of every fold along the path.
    """

    path: Path
    classes: np.ndarray
    step: int
    C: float
    u: np.ndarray
    out_of_fold: np.ndarray
    steps: np.ndarray = field(repr=False)
    split_scores: np.ndarray = field(repr=False)

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
    selection: str = "best",
    growth: float = 10.0,
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
        Class labels of any kind. Two classes make one column, more are taken one against the rest.
    cv : int, splitter or iterable
        As in scikit-learn; an int means stratified folds.
    scoring : str or callable, optional
        A scorer that needs only decision values or labels; None is the accuracy.
    selection : {"best", "one_se"}
        The step of the best mean score (the first of them), or the first step within one standard error
        of it: a more regularized model.
    growth : float
        Stop when 1/λ has grown by this factor since the best score; the plateau at the start, where
        every sample is given to the larger class, does not count.
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
    if selection not in ("best", "one_se"):
        raise ValueError(f"selection must be 'best' or 'one_se', got {selection!r}.")
    labels = to_numpy(y)
    classes, codes = np.unique(labels, return_inverse=True)
    if labels.shape != (gram.shape[0],) or len(classes) < 2:
        raise ValueError(
            f"y must hold one label for each of the {gram.shape[0]} samples and at least two classes, "
            f"got shape {labels.shape} and {len(classes)} class(es)."
        )
    splits = [
        te for _, te in check_cv(cv, labels, classifier=True).split(np.zeros(len(labels)), labels, groups)
    ]
    signs = 2.0 * (codes[:, None] == np.arange(len(classes))) - 1
    signs = signs[:, 1:] if len(classes) == 2 else signs
    _check_folds(splits, codes, classes)
    problem = Problem(gram, fold_columns(signs, splits), sample_weight)
    judge = OutOfFold(splits, signs.shape[1], labels, classes, scoring)
    path = run(
        solver or DEFAULT_SOLVER,
        problem,
        steps,
        observe={"bound": _bound, "u": judge.model, "out_of_fold": judge.decisions, "scores": judge.scores},
        stop=NoImprovement("scores", growth),
        callbacks=callbacks,
        time_limit=time_limit,
        keep=0,
    )
    return _choose(path, classes, selection)


def fold_columns(signs: np.ndarray, splits: list[np.ndarray]) -> np.ndarray:
    """Return labels (n, classes × (folds + 1)): each class's folds with their test rows 0, then all."""
    columns = []
    for sign in signs.T:
        for test in splits:
            columns.append(sign.copy())
            columns[-1][test] = 0
        columns.append(sign)
    return np.stack(columns, axis=1)


class OutOfFold:
    """What cross-validation reads off a state: the model of all the data, and the held-out decisions."""

    def __init__(
        self,
        splits: list[np.ndarray],
        n_classes: int,
        labels: np.ndarray,
        classes: np.ndarray,
        scoring: str | Callable[..., float] | None,
    ) -> None:
        self.splits, self.n_classes, self.labels, self.classes = splits, n_classes, labels, classes
        self.scorer = None if scoring is None else _scorer(scoring)

    def model(self, problem: Problem, state: State) -> np.ndarray:
        """Return u of the columns of all the data."""
        return self._squeezed(self._by_class(state.u)[:, :, -1])

    def decisions(self, problem: Problem, state: State) -> np.ndarray:
        """Return the decision value of every sample by the last fold that held it out, or NaN."""
        scores = self._by_class(state.scores)
        found = np.full(scores.shape[:2], np.nan, dtype=scores.dtype)
        for j, test in enumerate(self.splits):
            found[test] = -scores[test, :, j]
        return self._squeezed(found)

    def scores(self, problem: Problem, state: State) -> np.ndarray:
        """Return the score of every fold."""
        scores = self._by_class(state.scores)
        return np.array(
            [self._score(self._squeezed(-scores[test, :, j]), test) for j, test in enumerate(self.splits)]
        )

    def _score(self, decision: np.ndarray, test: np.ndarray) -> float:
        fitted = _Scored(decision, self.classes)
        truth = self.labels[test]
        if self.scorer is None:
            return float(np.mean(fitted.predict(None) == truth))
        return float(self.scorer(fitted, decision, truth))

    def _by_class(self, values: Array) -> np.ndarray:
        """View (n, classes × (folds + 1)) as (n, classes, folds + 1)."""
        return to_numpy(values).reshape(-1, self.n_classes, len(self.splits) + 1)

    def _squeezed(self, values: np.ndarray) -> np.ndarray:
        return values[:, 0] if self.n_classes == 1 else values


class _Scored(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted classifier that knows its decision values, for scikit-learn's scorers."""

    def __init__(self, decision: np.ndarray, classes: np.ndarray) -> None:
        self.decision, self.classes = decision, classes

    @property
    def classes_(self) -> np.ndarray:
        return self.classes

    def decision_function(self, X: object) -> np.ndarray:
        return self.decision

    def predict(self, X: object) -> np.ndarray:
        if self.decision.ndim == 1:
            return np.asarray(self.classes[(self.decision > 0).astype(int)])
        return np.asarray(self.classes[self.decision.argmax(axis=1)])


def _scorer(scoring: str | Callable[..., float]) -> Callable[..., float]:
    """Return the scorer; refuse one that wants probabilities, which a path does not have."""
    scorer: Callable[..., float] = get_scorer(scoring)
    probe = _Scored(np.array([-1.0, 1.0, -1.0, 1.0]), np.array([0, 1]))
    try:
        scorer(probe, probe.decision, np.array([0, 1, 0, 1]))
    except AttributeError as error:
        raise ValueError(
            f"scoring={scoring!r} needs more than decision values and labels ({error}). Use one that needs "
            f"only those, such as 'accuracy', 'balanced_accuracy', 'f1' or 'roc_auc'."
        ) from None
    except ValueError:
        pass  # it does not fit two classes, but asks for nothing that is missing
    return scorer


def _check_folds(splits: list[np.ndarray], codes: np.ndarray, classes: np.ndarray) -> None:
    counts = np.bincount(codes)
    for j, test in enumerate(splits):
        left = counts - np.bincount(codes[test], minlength=len(classes))
        if np.any(left == 0):
            raise ValueError(
                f"Fold {j} leaves no sample of class {classes[np.argmin(left)]} to train on "
                f"({counts[np.argmin(left)]} in all). Use fewer folds, or a splitter that stratifies."
            )


def _bound(problem: Problem, state: State) -> float:
    return float(np.max(to_numpy(state.bound)))


def _choose(path: Path, classes: np.ndarray, selection: str) -> CrossValidatedPath:
    split_scores = path["scores"]
    mean = split_scores[1:].mean(axis=1)  # the start, u = 0, is no classifier
    best = int(np.argmax(mean))
    if selection == "one_se":
        error = split_scores[1 + best].std(ddof=1) / np.sqrt(split_scores.shape[1])
        best = int(np.argmax(mean >= mean[best] - error))
    row = best + 1
    return CrossValidatedPath(
        path=path,
        classes=classes,
        step=int(path.steps[row]),
        C=float(path.rows["bound"][row]),
        u=path.rows["u"][row],
        out_of_fold=path.rows["out_of_fold"][row],
        steps=path.steps,
        split_scores=split_scores,
    )
