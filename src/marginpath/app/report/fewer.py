"""What fewer vectors would cost: the error of the kept step against their number."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...estimators.refitting import compressed_to
from ..modelfile import Model
from ..tables.reading import Table
from .judging import new_rows

#: Numbers of vectors that are tried, the most of them, and rows of a table that they are judged by.
SIZES, MOST, ROWS = 6, 500, 5000


def fewer_vectors(model: Model, table: Table | None = None) -> dict[str, Any] | None:
    """Return the errors of the kept step with fewer vectors; None where none can be left out.

    The coefficients are refitted, and the vectors stay where they are: that takes seconds.
    """
    clf = model.classifier
    if not hasattr(clf, "compress") or model.is_slim or (number := len(clf.support_)) < 2:
        return None
    sizes = np.geomspace(max(1, number / 100), min(MOST, number / 2), SIZES).astype(int)
    models = compressed_to(clf, np.unique(sizes), "coefficients")
    facts = [each.compression_ for each in models]
    accuracies = [*(each.accuracy_after for each in facts), facts[0].accuracy_before]
    held_out = "held out by the folds" if hasattr(clf, "out_of_fold_") else "rows fitted"
    lines = [{"name": held_out, "error": [1 - accuracy for accuracy in accuracies]}]
    if table is not None and (rows := new_rows(model, table)) is not None:
        X, codes = (part[:ROWS] for part in rows)
        wrong = [float(np.mean(each.predict(X) != clf.classes_[codes])) for each in (*models, clf)]
        lines.append({"name": table.name, "error": wrong})
    return {
        "vectors": [*(each.n_vectors for each in facts), number],
        "lines": lines,
        "changed": [*(each.changed for each in facts), 0.0],
    }
