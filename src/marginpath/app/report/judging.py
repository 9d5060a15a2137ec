"""How good the kept step is on rows that it did not see: class by class, by probability, by threshold."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..modelfile import Model
from ..quality import judgement, of_folds
from ..tables.reading import Table


def judged_rows(model: Model, table: Table | None) -> dict[str, Any] | None:
    """Return what the kept step is worth on the rows of a table, or else on those that the folds held out."""
    judged = (None if table is None else _of_table(model, table)) or of_folds(model)
    if judged is None or (limits := judged["threshold"]) is None:
        return judged
    plain = {"chance": (limits["chance"] / 1e4).tolist(), "so": limits["so"].tolist()}
    return judged | {"threshold": limits | plain}


def _of_table(model: Model, table: Table) -> dict[str, Any] | None:
    if table.y is None:
        return None
    X = model.prepared(table)
    code = {name: i for i, name in enumerate(model.classes)}
    codes = np.array([code.get(str(label), -1) for label in table.y])
    if model.is_fitted_on(X) or not (rows := codes >= 0).any():
        return None
    clf = model.classifier
    chance = clf.predict_proba(X[rows]) if hasattr(clf, "predict_proba") else None
    return judgement(model, table.name, np.asarray(clf.decision_function(X[rows])), chance, codes[rows])
