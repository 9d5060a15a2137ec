"""How good a model is on rows that it did not see, beyond the share of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import roc_auc_score

if TYPE_CHECKING:
    from .modelfile import Model

#: A model that gives more than this share of its held-out rows to one class is as good as constant.
CONSTANT = 0.995


def held_out(model: Model) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the decision values of the rows by the folds that did not see them, and their classes."""
    clf = model.classifier
    if not hasattr(clf, "out_of_fold_"):
        return None
    decision = np.asarray(clf.out_of_fold_)
    rows = np.isfinite(decision.reshape(len(decision), -1)).all(axis=1)
    return decision[rows], clf.codes_[rows]


def chosen(decision: np.ndarray) -> np.ndarray:
    """Return the class that decision values choose.

    Examples
    --------
    >>> chosen(np.array([-1.0, 2.0])), chosen(np.array([[0.0, 1.0, 0.5]]))
    (array([0, 1]), array([1]))
    """
    return np.asarray((decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1))


def is_constant(model: Model) -> bool:
    """Whether a model gives nearly all rows to one class, while others are not that rare."""
    judged, codes = held_out(model), model.classifier.codes_
    if judged is None:
        judged = np.asarray(model.classifier.decision_function(model.classifier.X_fit_)), codes
    counts = np.bincount(chosen(judged[0]), minlength=len(model.classes))
    given = np.bincount(judged[1], minlength=len(model.classes))
    return bool(counts.max() > CONSTANT * counts.sum() and given.max() < counts.max())


def by_class(confusion: np.ndarray) -> dict[str, list[float | None]]:
    """Return recall and precision of every class; None where there is nothing to divide by.

    Examples
    --------
    >>> by_class(np.array([[8, 2], [0, 0]]))
    {'recall': [0.8, None], 'precision': [1.0, 0.0]}
    """
    right = np.diag(confusion)
    return {
        "recall": [_ratio(a, b) for a, b in zip(right, confusion.sum(axis=1), strict=True)],
        "precision": [_ratio(a, b) for a, b in zip(right, confusion.sum(axis=0), strict=True)],
    }


def area(decision: np.ndarray, codes: np.ndarray) -> float | None:
    """Return the area under the ROC curve, for several classes the mean of each against the rest.

    Examples
    --------
    >>> area(np.array([-1.0, 0.5, 2.0]), np.array([0, 0, 1]))
    1.0
    """
    columns = decision[:, None] if decision.ndim == 1 else decision
    truths = [codes == 1] if decision.ndim == 1 else [codes == k for k in range(columns.shape[1])]
    areas = [
        roc_auc_score(truth, column)
        for truth, column in zip(truths, columns.T, strict=True)
        if 0 < truth.sum() < len(truth)
    ]
    return float(np.mean(areas)) if areas else None


def facts(model: Model) -> dict[str, Any]:
    """Return balanced accuracy, area under the curve and recall of every class of held-out rows."""
    if (judged := held_out(model)) is None:
        return dict(model.held_out)
    decision, codes = judged
    n = len(model.classes)
    confusion = np.zeros((n, n), dtype=int)
    np.add.at(confusion, (codes, chosen(decision)), 1)
    rates = by_class(confusion)
    recalls = [rate for rate in rates["recall"] if rate is not None]
    return {
        "balanced_accuracy": float(np.mean(recalls)),
        "roc_auc": area(decision, codes),
        "recall": dict(zip(model.classes, rates["recall"], strict=True)),
        "precision": dict(zip(model.classes, rates["precision"], strict=True)),
    }


def _ratio(part: Any, whole: Any) -> float | None:
    return float(part / whole) if whole else None
