"""How good the kept step is on rows that it did not see: class by class, by probability, by threshold."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..modelfile import Model
from ..quality import judgement, of_folds
from ..tables.reading import Table


def judged_rows(model: Model, table: Table | None) -> dict[str, Any] | None:
    """Return what the kept step is worth on the rows of a table, or else on those that the folds held out."""
    judged = _of_table(model, table) or of_folds(model)
    if judged is None or (limits := judged["threshold"]) is None:
        return judged
    plain = {"chance": (limits["chance"] / 1e4).tolist(), "so": limits["so"].tolist()}
    return judged | {"threshold": limits | plain}


def new_rows(model: Model, table: Table | None) -> tuple[Any, np.ndarray] | None:
    """Return the prepared rows of a table and the numbers of their classes; None of those of the fit."""
    if table is None or table.y is None:
        return None
    X = model.prepared(table)
    code = {name: i for i, name in enumerate(model.classes)}
    codes = np.array([code.get(str(label), -1) for label in table.y])
    rows = codes >= 0
    return None if model.is_fitted_on(X) or not rows.any() else (X[rows], codes[rows])


def _of_table(model: Model, table: Table | None) -> dict[str, Any] | None:
    rows = new_rows(model, table)
    if table is None or rows is None:
        return None
    X, codes = rows
    clf = model.classifier
    chance = clf.predict_proba(X) if hasattr(clf, "predict_proba") else None
    return judgement(model, table.name, np.asarray(clf.decision_function(X)), chance, codes)
