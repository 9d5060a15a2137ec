"""What a classifier tells of its cross-validation: the table of scores, and where they say little."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from ..path.path import Status
from ..validation.cross_validation import CrossValidatedPath

_FREQUENT = 0.6  # of the samples: a class that it may pay to give all of them to


def cv_results(tried: Sequence[tuple[dict[str, float], CrossValidatedPath]]) -> dict[str, Any]:
    """Return scikit-learn's table of scores, a row for each step."""
    params = [
        {**setting, "step": int(step), "C": float(C)}
        for setting, found in tried
        for step, C in zip(found.steps[1:], found.path["bound"][1:], strict=True)
    ]
    scores = np.concatenate([found.split_scores[1:] for _, found in tried])
    return {
        "params": params,
        **{f"param_{name}": np.array([row[name] for row in params]) for name in params[0]},
        **{f"split{j}_test_score": column for j, column in enumerate(scores.T)},
        "mean_test_score": scores.mean(axis=1),
        "std_test_score": scores.std(axis=1),
        "rank_test_score": rankdata(-scores.mean(axis=1), method="min").astype(np.int32),
        "gap": np.concatenate([found.path["gap"][1:] for _, found in tried]),
    }


def warn_of_majority(clf: Any, validation: CrossValidatedPath) -> None:
    """Warn of a classifier that is no better than the most frequent class for all samples."""
    path, score = validation.path, validation.majority_score
    unfinished = path.running().any() and (path.ended is not Status.STEPS or clf.max_iter != "auto")
    by_accuracy = clf.scoring in (None, "accuracy") and clf.class_weight is None
    if unfinished or not by_accuracy or score < _FREQUENT or validation.best_score > score + 1e-9:
        return
    majority = clf.classes_[[validation.majority]].tolist()[0]
    warnings.warn(
        f"No step has a better accuracy on held-out samples than class {majority!r} for all of them, "
        f"{score:.1%}. To find the others, use class_weight='balanced' and scoring='balanced_accuracy'; "
        f"decision values and probabilities may tell the classes apart as they are.",
        UserWarning,
        stacklevel=2,
    )
