"""Scores of answers that are there already, and of one class of two whatever the classes are called."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer

from ..files.records import register

#: The scores of scikit-learn that ask which of two classes is the positive one.
OF_ONE_CLASS = ("f1", "precision", "recall", "jaccard", "average_precision")


class Answers(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted classifier that knows its decision values, for scikit-learn's scorers.

    Examples
    --------
    >>> Answers(np.array([-1.0, 2.0]), np.array(["cat", "dog"])).predict(None).tolist()
    ['cat', 'dog']
    """

    def __init__(self, decision: np.ndarray, classes: np.ndarray) -> None:
        self.decision, self.classes = decision, classes
        self.classes_ = classes

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the values."""
        return self.decision

    def predict(self, X: Any) -> np.ndarray:
        """Return the classes that they choose."""
        chosen = (self.decision > 0).astype(int) if self.decision.ndim == 1 else self.decision.argmax(axis=1)
        return np.asarray(self.classes[chosen])


@register
@dataclass(frozen=True)
class PositiveScore:
    """A score of scikit-learn, by name, of one class against the other; a model file can hold it.

    Parameters
    ----------
    name : str
        Such as "f1" or "average_precision".
    positive : str
        The class that it is about, as text.

    Examples
    --------
    >>> import marginpath as mp
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y = np.array(["ill", "well"])[y]
    >>> clf = mp.LinearMarginPathClassifier(scoring=PositiveScore("f1", "ill"), random_state=0)
    >>> bool(clf.fit(X / X.std(axis=0), y).cv_results_["mean_test_score"].max() > 0.95)
    True
    """

    name: str
    positive: str

    def __call__(self, estimator: Any, X: Any, y: Any, **settings: Any) -> float:
        """Return the score with the class as 1 and the other as 0."""
        is_positive = np.array([str(label) == self.positive for label in estimator.classes_])
        if len(is_positive) != 2 or is_positive.sum() != 1:
            named = ", ".join(map(str, estimator.classes_))
            raise ValueError(f"{self} needs two classes, one of them {self.positive!r}; there are {named}.")
        decision = estimator.decision_function(X) * (1 if is_positive[1] else -1)
        truth = np.isin(y, estimator.classes_[is_positive]).astype(int)
        with warnings.catch_warnings():
            # Early steps give every row to the larger class: the score is 0 then, and that is meant.
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            return float(get_scorer(self.name)(Answers(decision, np.array([0, 1])), X, truth, **settings))

    def __str__(self) -> str:
        """Return the name and the class."""
        return f"{self.name} of {self.positive!r}"
