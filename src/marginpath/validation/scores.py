"""What cross-validation reads off a state: decisions about held-out samples, and their scores."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from ..arrays import Array, beside, is_numpy, namespace, to_numpy
from ..problem import Problem
from ..solvers.base import State
from .columns import Columns
from .folds import HeldOut

_CERTAIN = 2.5  # standard errors, beyond which a difference is not chance


class OutOfFold:
    """What cross-validation reads off a state: the decisions about the samples that a fold held out."""

    def __init__(
        self,
        splits: list[np.ndarray],
        columns: Columns,
        labels: np.ndarray,
        classes: np.ndarray,
        scoring: str | Callable[..., float] | None,
        weight: Array | None = None,
    ) -> None:
        self.splits, self.columns, self.labels, self.classes = splits, columns, labels, classes
        self.scorer = None if scoring is None else _scorer(scoring)
        self.weight = None if weight is None else to_numpy(weight)
        self._held_out: HeldOut | None = None
        self._signs: Array | None = None
        self._decided: tuple[State, np.ndarray] | None = None
        self.is_partition = np.bincount(np.concatenate(splits), minlength=len(labels)).max() <= 1

    def decisions(self, problem: Problem, state: State) -> Array:
        """Return what the last fold that held a sample out decides, (n, columns); NaN where none did.

        Those of pairs are many and kept in float32.
        """
        if not _is_on_host(state):
            return self._where_they_are(state).decisions(state.scores)
        values = self._held_out_values(state)
        return values.astype(np.float32) if self.columns.in_pairs else values

    def _held_out_values(self, state: State) -> np.ndarray:
        """Return them as the scores have them; those of the last state are known."""
        decided = self._decided
        if decided is None or decided[0] is not state:  # threads may ask for those of several states
            decided = state, self._packed_values(state) if self._has(state) else self._values(state)
            self._decided = decided
        return decided[1]

    def _values(self, state: State) -> np.ndarray:
        scores = self._by_column(state.scores)
        values = np.full_like(scores[:, :, 0], np.nan)
        for j, test in enumerate(self.splits):
            values[test] = -scores[test, :, j]
        return values

    def _has(self, state: State) -> bool:
        """Whether the held-out samples are what is packed of a state beside those with a label."""
        return state.packed is not None and len(state.packed.outside) == self.columns.n_columns

    def _packed_values(self, state: State) -> np.ndarray:
        from .proper_compiled import held_out_values

        packed, values = state.packed, np.full((self.columns.n_columns, len(self.labels)), np.nan)
        outside = np.zeros_like(packed.outside) if packed.is_start else packed.outside
        held_out_values(outside, packed.offset, packed.layout.watched, packed.layout.begins, values)
        return values.T

    def scores(self, problem: Problem, state: State) -> Array:
        """Return the score of every fold."""
        if self.scorer is None and not _is_on_host(state):
            return self._where_they_are(state).accuracies(state.scores)
        if self.scorer is None and self.is_partition:
            return self._means(self._winners(state) == self._codes)
        if self.is_partition and _is_on_host(state):
            held_out = self._held_out_values(state)
            decided = (self.columns.values(held_out[test]) for test in self.splits)
        else:
            scores = self._by_column(state.scores)
            decided = (self.columns.values(-scores[test, :, j]) for j, test in enumerate(self.splits))
        found = [self._score(self.squeezed(f), test) for f, test in zip(decided, self.splits, strict=True)]
        if state.t > 0:  # the start is no classifier
            self._require_numbers(found)
        return np.array(found)

    def is_beaten(self, decisions: Array, others: Array) -> bool:
        """Whether decisions are wrong more often than others, beyond chance: McNemar's test of the samples.

        Only those that one of the two is right about count: more of them are lost than won, by 2.5 standard
        errors of that difference. Not asked of other scores than the accuracy, nor beside NumPy.
        """
        if self.scorer is not None or not is_numpy(decisions):
            return False
        here, there = (self._given_to(values, compiled=True) == self._codes for values in (decisions, others))
        weight = self._weight_or_one * (here != there)
        lost = float(np.sum(weight[there]) - np.sum(weight[here]))
        return lost > _CERTAIN * math.sqrt(np.sum(weight**2))

    def _winners(self, state: State) -> np.ndarray:
        """Return the number of the class that each held-out sample is given to."""
        return self._given_to(self._held_out_values(state), compiled=hasattr(state, "offset"))

    def _given_to(self, values: np.ndarray, compiled: bool) -> np.ndarray:
        """Return the classes for decision values, by compiled code where a solver has loaded it."""
        if self.columns.in_pairs and compiled:
            from .proper_compiled import winners

            return np.asarray(winners(np.ascontiguousarray(values.T), len(self.classes)))
        decided = self.columns.values(values)
        return np.asarray(decided[:, 0] > 0 if decided.shape[1] == 1 else decided.argmax(axis=1))

    def hinge(self, problem: Problem, state: State) -> Array:
        """Return the mean hinge loss of those decisions, in the columns that know the class of a sample."""
        if _is_on_host(state) and hasattr(state, "offset"):  # whose solver has loaded compiled code
            return self._compiled_hinge(self._held_out_values(state))
        decided = self.decisions(problem, state)
        xp = namespace(decided)
        if self._signs is None:  # small numbers: of many pairs they are many
            codes = self._codes
            weight = np.ones((len(codes), 1)) if self.weight is None else self.weight[:, None]
            self._signs, self._weight = (
                beside(part, decided) for part in (self.columns.signs(codes).astype(np.int8), weight)
            )
        signs = xp.astype(self._signs, decided.dtype)
        counts = (signs != 0) & ~xp.isnan(decided)
        zero = xp.zeros_like(decided)
        loss = xp.where(counts, xp.maximum(1 - signs * decided, zero), zero)
        weight = xp.astype(self._weight, decided.dtype)
        return xp.sum(weight * loss) / xp.sum(weight * xp.astype(counts, decided.dtype))

    def _compiled_hinge(self, values: np.ndarray) -> np.ndarray:
        from .proper_compiled import hinge_sums

        loss, mass = hinge_sums(np.ascontiguousarray(values.T), self._rows_of_signs, self._weight_or_one)
        return np.asarray(loss / mass)

    @cached_property
    def judged(self) -> Any:
        """What compiled steps compare decisions with, where every sample is held out once at most."""
        from .short_steps import Judged

        (fold, _), weight = self._fold_of_samples, self._weight_or_one
        mass = np.bincount(fold, weight, minlength=len(self.splits) + 1)[: len(self.splits)]
        of_classes = len(self.classes), self.columns.in_pairs
        return Judged(self._rows_of_signs, weight, self._codes, *of_classes, fold, mass)

    @cached_property
    def _rows_of_signs(self) -> np.ndarray:
        return np.ascontiguousarray(self.columns.signs(self._codes).T, dtype=np.int8)

    @cached_property
    def _codes(self) -> np.ndarray:
        return np.searchsorted(self.classes, self.labels)

    @cached_property
    def _weight_or_one(self) -> np.ndarray:
        return np.ones(len(self.labels)) if self.weight is None else self.weight.astype(np.float64)

    @property
    def majority(self) -> int:
        """Which class has the most weight."""
        return int(np.argmax(np.bincount(self._codes, self.weight, minlength=len(self.classes))))

    @property
    def majority_score(self) -> float:
        """The mean accuracy over the folds of giving all samples to that class."""
        right = self.labels == self.classes[self.majority]
        weights = (None if self.weight is None else self.weight[test] for test in self.splits)
        shares = [np.average(right[test], weights=w) for test, w in zip(self.splits, weights, strict=True)]
        return float(np.mean(shares))

    @cached_property
    def chance(self) -> float:
        """The accuracy up to which all samples may as well be given to one class: two standard errors above.

        −∞ where another score is asked for.
        """
        if self.scorer is not None:
            return -np.inf
        weight = self._weight_or_one[np.concatenate(self.splits)]
        share, samples = self.majority_score, weight.sum() ** 2 / np.sum(weight**2)
        return float(share + 2 * (share * (1 - share) / samples) ** 0.5)

    def squeezed(self, values: np.ndarray) -> np.ndarray:
        """Return (n,) for two classes, which share a column."""
        return values[:, 0] if self.columns.n_columns == 1 else values

    def _score(self, decision: np.ndarray, test: np.ndarray) -> float:
        fitted = _Scored(decision, self.classes)
        weight = None if self.weight is None else self.weight[test]
        if self.scorer is None:
            return float(np.average(fitted.predict(None) == self.labels[test], weights=weight))
        extra = {"sample_weight": weight} if weight is not None and takes_weight(self.scorer) else {}
        with warnings.catch_warnings():  # a class that is rare is not in every fold
            warnings.filterwarnings("ignore", "y_pred contains classes not in y_true", UserWarning)
            warnings.filterwarnings("ignore", "A single label was found", UserWarning)
            return float(self.scorer(fitted, decision, self.labels[test], **extra))

    def _require_numbers(self, scores: list[float]) -> None:
        """Refuse a score that is no number: no step is better by it."""
        for fold, (score, test) in enumerate(zip(scores, self.splits, strict=True)):
            if math.isnan(score):
                known = ", ".join(repr(label) for label in np.unique(self.labels[test]).tolist())
                raise ValueError(
                    f"The scoring gives no number for fold {fold}, which holds out {len(test)} samples of "
                    f"class {known}. Take fewer folds, each with what the score needs, or another scoring."
                )

    def _means(self, right: np.ndarray) -> np.ndarray:
        """Return the share of every fold's samples that are right, in a partition."""
        if self.weight is None:
            which, counts = self._fold_of_samples
            return np.asarray(np.bincount(which[right], minlength=len(counts))[: len(counts)] / counts)
        weight = self.weight
        return np.array([np.average(right[test], weights=weight[test]) for test in self.splits])

    @cached_property
    def _fold_of_samples(self) -> tuple[np.ndarray, np.ndarray]:
        """The fold that holds each sample out, behind the last one where none does, and their sizes."""
        which = np.full(len(self.labels), len(self.splits))
        for fold, test in enumerate(self.splits):
            which[test] = fold
        return which, np.array([len(test) for test in self.splits])

    def _where_they_are(self, state: State) -> HeldOut:
        """Return what judges scores that are no NumPy array, made once."""
        if self._held_out is None:
            self._held_out = HeldOut(self.splits, self._codes, self.columns, self.weight, state.scores)
        return self._held_out

    def _by_column(self, values: Array) -> np.ndarray:
        """View (n, columns × (folds + 1)) as (n, columns, folds + 1), or with no column of all the data."""
        return to_numpy(values).reshape(values.shape[0], self.columns.n_columns, -1)


def _is_on_host(state: State) -> bool:
    """Whether the scores are in NumPy, without making them."""
    return state.packed is not None or is_numpy(state.scores)


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
    from sklearn.metrics import get_scorer

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


def takes_weight(scorer: Callable[..., float]) -> bool:
    """Whether the metric behind a scorer knows sample weights."""
    metric = getattr(scorer, "_score_func", scorer)
    return "sample_weight" in inspect.signature(metric).parameters
