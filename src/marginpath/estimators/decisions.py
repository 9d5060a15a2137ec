"""What a fitted classifier says: labels, probabilities and sets of classes, from its decision values."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight
from sklearn.utils.metaestimators import available_if

from ..arrays import Array, beside, namespace, to_numpy
from ..gram.samples import AnyRows, rows_of
from ..validation.columns import Columns
from ..validation.proper import enough_rows
from .calibration import Base, Calibrator, ConformalScores, base_for, fit_calibrator
from .choices import as_choice
from .coefficients import CoefficientsMixin

#: What is known of probabilities, at the chosen step only.
CALIBRATED = ("calibrator_", "conformal_", "out_of_fold_proba_")


def _tells_probabilities(self: DecisionsMixin) -> bool:
    """Raise where there are no held-out decision values to calibrate on."""
    clf: Any = self
    if not as_choice(clf).has_probabilities:
        raise AttributeError(
            f"Probabilities are calibrated on held-out samples, and stopping={clf.stopping!r} has none. "
            f"Use stopping='cv', or sklearn.calibration.CalibratedClassifierCV."
        )
    if hasattr(self, "classes_") and not hasattr(self, "calibrator_"):
        raise AttributeError(
            f"Probabilities were calibrated for the chosen step only, not for step {clf.step_}."
        )
    return True


class DecisionsMixin(CoefficientsMixin, ClassifierMixin, metaclass=ABCMeta):  # type: ignore[misc]
    """From decision values (n, columns), which the classifier computes, to what its user asks for."""

    calibration: str
    class_weight: Any
    classes_: np.ndarray
    codes_: np.ndarray
    columns_: Columns
    calibrator_: Calibrator
    conformal_: ConformalScores

    def predict(self, X: Any) -> Array:
        """Return the class of every row of X."""
        return self._labels(self._decide_labels(self._validated(X)))

    def decision_function(self, X: Any) -> Array:
        """Return f(x) for every row: (n_samples,) for two classes, else (n_samples, n_classes).

        Of classes in pairs, the number of pairs that a class wins and, within a third, by how much.
        """
        return self._squeezed(self._decide(self._validated(X)))

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Yield the decision values after every step: 1, 2, …, n_iter_."""
        yield from map(self._squeezed, self._staged(X))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the predicted classes after every step: 1, 2, …, n_iter_."""
        yield from map(self._labels, self._staged(X))

    @available_if(_tells_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of every class, calibrated on the held-out decision values.

        With ``calibration="temperature"`` the most probable class is the one that ``predict`` returns; with
        class weights, the one whose probability times its weight is the largest. Of classes in pairs the one
        that wins most pairs is nearly always the most probable.
        """
        decision = self._decide(self._validated(X))
        return rows_of(decision).map(
            _probabilities, len(self.classes_), decision.dtype, calibrator=self.calibrator_
        )

    @available_if(_tells_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of the probabilities."""
        chance = self.predict_proba(X)
        return rows_of(chance).map(_logarithm, len(self.classes_), chance.dtype)

    @available_if(_tells_probabilities)
    def predict_set(self, X: Any, coverage: float = 0.9) -> Array:
        """Return which classes each row may have, so that the right one is among them as often as asked for.

        A class is in the set if the classifier gives the row to it at least as much as all but a share
        1 − coverage of the training samples were given to theirs by folds that did not see them. For rows of
        the same distribution, whatever it is, the mean over them is what is asked for, were the folds' models
        as good as the classifier; they know fewer samples, so that it is a little more, within a point on
        average. A set is empty where no class is that likely: of a classifier that is right more often than
        asked for, some are.

        Parameters
        ----------
        X : array (n_samples, n_features)
        coverage : float
            Between 0 and 1.

        Returns
        -------
        array of bool (n_samples, n_classes)

        Examples
        --------
        >>> import marginpath as mp
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = mp.MarginPathClassifier(random_state=0).fit(X[::2], y[::2])
        >>> sets = clf.predict_set(X[1::2], coverage=0.95)
        >>> bool(np.mean(sets[np.arange(75), y[1::2]]) >= 0.9)
        True
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be between 0 and 1, such as 0.9, got {coverage!r}.")
        decision = self._decide(self._validated(X))
        return rows_of(decision).map(
            _conforming,
            len(self.classes_),
            np.dtype(bool),
            base=_base(self.calibrator_),
            threshold=self.conformal_.threshold(coverage),
        )

    def _calibrate(self, values: np.ndarray, sample_weight: np.ndarray | None) -> None:
        """Set what makes probabilities of decision values, from held-out ones (n, columns)."""
        finite = np.isfinite(values)  # most often of all, and then no row is looked for
        known = slice(None) if finite.all() else finite.all(axis=1)
        held_out, codes = values[known].astype(np.float64), self.codes_[known]
        weight = np.ones(len(codes)) if sample_weight is None else sample_weight[known]
        some = enough_rows(len(codes))
        sample = held_out[some], codes[some], weight[some]
        base = base_for(self.columns_).fit(*sample, self._log_class_weight())
        self.calibrator_ = fit_calibrator(self.calibration, base, *sample)
        self.out_of_fold_proba_ = np.full((len(values), len(self.classes_)), np.nan)
        self.out_of_fold_proba_[known] = self.calibrator_.probabilities(held_out)
        self.conformal_ = ConformalScores.of(base.odds_against_own(held_out, codes), weight)

    def _log_class_weight(self) -> np.ndarray | None:
        if self.class_weight is None:
            return None
        share = np.ones(len(self.classes_))
        share[self.codes_] = compute_sample_weight(self.class_weight, self.classes_[self.codes_])
        return np.log(share)

    def _squeezed(self, decision: Array) -> Array:
        """Return the decision values of the classes, as scikit-learn shapes them."""
        if len(self.classes_) == 2:
            return decision[:, 0]
        return rows_of(decision).map(self.columns_.values, len(self.classes_), decision.dtype)

    def _labels(self, decision: Array) -> Array:
        return rows_of(decision).map(
            _labels, None, self.classes_.dtype, of_classes=self.columns_.values, classes=self.classes_
        )

    @abstractmethod
    def _decide(self, rows: AnyRows) -> Array:
        """Return the decision values (n, columns) of the fitted classifier."""

    def _decide_labels(self, rows: AnyRows) -> Array:
        """Return decision values (n, columns) with the labels of :meth:`_decide`, whatever is fastest."""
        return self._decide(rows)

    @abstractmethod
    def _staged(self, X: Any) -> Iterator[Array]:
        """Yield the decision values (n, columns) after every step."""

    @abstractmethod
    def _validated(self, X: Any) -> AnyRows:
        """Return the rows as the classifier takes them."""


def _labels(decision: Array, of_classes: Callable[[Array], Array], classes: np.ndarray) -> Array:
    """Return the classes of decision values (n, columns), numbers in the library of the values."""
    xp, values = namespace(decision), of_classes(decision)
    index = values[:, 0] > 0 if len(classes) == 2 else xp.argmax(values, axis=1)
    labels = classes[to_numpy(index).astype(np.intp)]
    return labels if labels.dtype.kind not in "biuf" else beside(labels, decision)


def _probabilities(decision: Array, calibrator: Calibrator) -> Array:
    """Return the probabilities of the classes, from decision values (n, columns)."""
    chance = calibrator.probabilities(to_numpy(decision))
    return beside(chance.astype(to_numpy(decision).dtype, copy=False), decision)


def _conforming(decision: Array, base: Base, threshold: float) -> Array:
    """Return which classes are in the set of every row."""
    return beside(base.odds_against(to_numpy(decision).astype(np.float64)) <= threshold, decision)


def _base(calibrator: Any) -> Base:
    """Return what the conformal scores were computed by."""
    base: Base = getattr(calibrator, "base", calibrator)
    return base


def _logarithm(values: Array) -> Array:
    return namespace(values).log(values)
