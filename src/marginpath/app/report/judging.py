"""How good the kept step is on rows that it did not see: class by class, by probability, by threshold."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..modelfile import Model
from ..quality import area, by_class, chosen, held_out
from ..tables.reading import Table

#: At most so many rows, and so many groups of the calibration curve.
ROWS, GROUPS = 5000, 10


def judgement(model: Model, table: Table | None) -> dict[str, Any] | None:
    """Return what the kept step is worth on the rows of a table, or else on those that the folds held out."""
    answers = _of_table(model, table) if table is not None else None
    if answers is None:
        answers = _of_folds(model)
    if answers is None:
        return None
    name, decision, chance, codes = answers
    if len(codes) > ROWS:
        drawn = np.sort(np.random.default_rng(0).choice(len(codes), ROWS, replace=False))
        decision, codes = decision[drawn], codes[drawn]
        chance = None if chance is None else chance[drawn]
    n = len(model.classes)
    confusion = np.zeros((n, n), dtype=int)
    np.add.at(confusion, (codes, chosen(decision)), 1)
    rates = by_class(confusion)
    recalls = [rate for rate in rates["recall"] if rate is not None]
    return {
        "name": name,
        "rows": len(codes),
        "counts": confusion.sum(axis=1).tolist(),
        "error": float(1 - np.trace(confusion) / len(codes)),
        "balanced": float(np.mean(recalls)),
        "auc": area(decision, codes),
        **rates,
        "calibration": None if chance is None else calibration(chance, codes),
        "threshold": None if chance is None or n > 2 else _threshold(model, chance, codes),
    }


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


def _threshold(model: Model, chance: np.ndarray, codes: np.ndarray) -> dict[str, Any]:
    """Return the probability of the rarer class of every row, the highest first, and whether it is so."""
    positive = int(np.argmin(model.facts["counts"]))
    order = np.argsort(-chance[:, positive], kind="stable")
    return {
        "positive": positive,
        "chance": np.round(chance[order, positive], 4).tolist(),
        "so": (codes[order] == positive).astype(int).tolist(),
    }


def _of_table(model: Model, table: Table) -> tuple[str, np.ndarray, np.ndarray | None, np.ndarray] | None:
    if table.y is None:
        return None
    X = model.prepared(table)
    code = {name: i for i, name in enumerate(model.classes)}
    codes = np.array([code.get(str(label), -1) for label in table.y])
    if model.is_fitted_on(X) or not (rows := codes >= 0).any():
        return None
    clf = model.classifier
    chance = clf.predict_proba(X[rows]) if hasattr(clf, "predict_proba") else None
    return table.name, np.asarray(clf.decision_function(X[rows])), chance, codes[rows]


def _of_folds(model: Model) -> tuple[str, np.ndarray, np.ndarray | None, np.ndarray] | None:
    if (judged := held_out(model)) is None:
        return None
    decision, codes = judged
    chance = getattr(model.classifier, "out_of_fold_proba_", None)
    chance = None if chance is None else chance[np.isfinite(chance).all(axis=1)]
    return "rows held out by the folds", decision, chance, codes
