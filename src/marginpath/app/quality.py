"""How good a model is on rows that it did not see, beyond the share of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import roc_auc_score

if TYPE_CHECKING:
    from .modelfile import Model

#: A model that gives more than this share of its held-out rows to one class is as good as constant.
CONSTANT = 0.995
#: At most so many rows for a threshold, and so many groups of the calibration curve.
ROWS, GROUPS = 5000, 10


def of_folds(model: Model) -> dict[str, Any] | None:
    """Return the judgement of the folds on the rows that they did not see; None without folds."""
    if model.is_slim:
        return model.held_out if "counts" in model.held_out else None
    if (judged := held_out(model)) is None:
        return None
    chance = getattr(model.classifier, "out_of_fold_proba_", None)
    chance = None if chance is None else chance[np.isfinite(chance).all(axis=1)]
    return judgement(model, "rows held out by the folds", judged[0], chance, judged[1])


def judgement(
    model: Model, name: str, decision: np.ndarray, chance: np.ndarray | None, codes: np.ndarray
) -> dict[str, Any]:
    """Return what decision values and probabilities of the classes are worth, plain enough for a file."""
    n = len(model.classes)
    confusion = np.zeros((n, n), dtype=int)
    np.add.at(confusion, (codes, chosen(decision)), 1)
    rates = by_class(confusion)
    return {
        "name": name,
        "rows": len(codes),
        "counts": confusion.sum(axis=1).tolist(),
        "error": float(1 - np.trace(confusion) / len(codes)),
        "balanced": float(np.mean([rate for rate in rates["recall"] if rate is not None])),
        "auc": area(decision, codes),
        **rates,
        "calibration": None if chance is None else calibration(chance, codes),
        "threshold": None if chance is None or n > 2 else threshold(model, chance, codes),
    }


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


def calibration(chance: np.ndarray, codes: np.ndarray) -> list[list[float]]:
    """Return [mean probability, share that is so, rows] of groups of rows of similar probability.

    Of two classes the probability is that of the second, of more that of the most probable one.

    Examples
    --------
    >>> calibration(np.array([[0.8, 0.2]] * 4 + [[0.1, 0.9]] * 4), np.array([0, 0, 0, 1, 1, 1, 1, 1]))
    [[0.2, 0.25, 4], [0.9, 1.0, 4]]
    """
    binary = chance.shape[1] == 2
    said = chance[:, 1] if binary else chance.max(axis=1)
    so = codes == 1 if binary else chance.argmax(axis=1) == codes
    edges = np.unique(np.quantile(said, np.linspace(0, 1, GROUPS + 1)))
    group = np.clip(np.searchsorted(edges, said, side="right") - 1, 0, max(0, len(edges) - 2))
    return [
        [round(float(said[own].mean()), 4), round(float(so[own].mean()), 4), int(own.sum())]
        for j in np.unique(group)
        for own in [group == j]
    ]


def threshold(model: Model, chance: np.ndarray, codes: np.ndarray) -> dict[str, Any]:
    """Return the rarer class, its probability in rows of which the highest comes first, and what is so.

    Probabilities are in steps of 1/10,000, and of very many rows some are drawn.
    """
    positive, rows = int(np.argmin(model.facts["counts"])), np.arange(len(codes))
    if len(codes) > ROWS:
        rows = np.sort(np.random.default_rng(0).choice(len(codes), ROWS, replace=False))
    said = np.rint(1e4 * chance[rows, positive]).astype(np.uint16)
    order = np.argsort(-said.astype(int), kind="stable")
    so = (codes[rows[order]] == positive).astype(np.uint8)
    return {"positive": positive, "chance": said[order], "so": so}


def facts(model: Model) -> dict[str, Any]:
    """Return balanced accuracy, area under the curve, recall and precision of every class, held out."""
    if (judged := of_folds(model)) is None:
        return {}
    return {
        "balanced_accuracy": judged["balanced"],
        "roc_auc": judged["auc"],
        "recall": dict(zip(model.classes, judged["recall"], strict=True)),
        "precision": dict(zip(model.classes, judged["precision"], strict=True)),
    }


def _ratio(part: Any, whole: Any) -> float | None:
    return float(part / whole) if whole else None
