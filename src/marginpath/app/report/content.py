"""What the page shows, as plain values: everything that moves with the step has one entry a step."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from ...estimators import as_choice
from ..modelfile import Model
from ..quality import is_constant
from ..tables import NotThere
from ..tables.reading import Table
from .fewer import fewer_vectors
from .judging import judged_rows
from .planes import Plane, decision_grid, extent, grid_shape, planes, staged
from .suspects import states, suspicion

#: At most so many steps, points, rows to judge, suspects, and classes with a confusion matrix.
STEPS, POINTS, ROWS, SUSPECTS, CLASSES = 120, 1200, 5000, 200, 40
#: At most so many columns in the chart of those that matter, and pairs of classes with a margin.
IMPORTANT, MARGINS = 20, 45


def content(model: Model, table: Table | None = None, pair: Sequence[str] | None = None) -> dict[str, Any]:
    """Return all the page knows; ``table`` has rows to judge the model by, with their classes."""
    clf = model.classifier
    if model.is_slim:
        if pair is not None:
            raise NotThere(f"There is no plane to draw. {MISSING}")
        return slim_content(model, table)
    steps = shown_steps(clf.n_iter_, clf.step_)
    judged = _judgements(model, table, steps)
    found, constant = suspicion(model), is_constant(model)
    # What a constant contradicts says nothing about labels.
    ranked = np.empty(0, dtype=int) if constant else found.ranked(SUSPECTS)
    shown = _shown_points(len(clf.codes_), ranked)
    return {
        "title": model.source,
        "target": model.target,
        "classes": model.classes,
        "settings": settings(model),
        "steps": steps,
        "chosen": steps.index(clf.step_),
        "reason": model.reason,
        "missing": None,
        "C": _numbers([clf.models_.bound(step) for step in steps]),
        "gap": _numbers(model.gap[np.asarray(steps) - 1]),
        "inexact": model.inexact[np.asarray(steps) - 1].tolist(),
        "folds": _folds(model, steps),
        "judged": judged,
        "margin": _margins(model, steps),
        "support": _support(clf, steps),
        "points": {
            "row": model.rows[shown].tolist(),
            "label": clf.codes_[shown].tolist(),
            "state": _packed(np.stack([states(clf, step)[shown] for step in steps])),
        },
        "planes": _planes(model, shown, steps, pair),
        "suspects": [
            {
                "row": int(model.rows[i]),
                "point": int(np.searchsorted(shown, i)),
                "given": int(clf.codes_[i]),
                "suggested": int(found.suggested[i]),
                "contradiction": round(float(found.contradiction[i]), 4),
                "steps": int(found.steps_at_bound[i]),
                "weight": float(f"{found.weight[i]:.5g}"),
            }
            for i in ranked
        ],
        "suspects_total": 0 if constant else int(np.sum(found.contradiction > 0)),
        "constant": constant,
        "quality": judged_rows(model, table),
        "importance": _importance(model),
        "fewer": fewer_vectors(model, table),
        "advice": list(model.advice),
        "held_out_suspects": hasattr(clf, "out_of_fold_"),
    }


MISSING = (
    "The file has only the kept step: the other steps, the training error, the boundary, the labels to check "
    "and the error with fewer vectors need the rows of the fit. Write it with: marginpath fit --keep path"
)


def slim_content(model: Model, table: Table | None) -> dict[str, Any]:
    """Return what the page knows of a model without its path: the kept step, and rows to judge it by."""
    clf, fit = model.classifier, model.facts
    lower, upper = clf.margin_bounds_
    gap = fit["gap"]
    folds = None
    if "cv_error" in fit:
        choice = as_choice(clf)
        spread = fit["cv_error_std"]
        folds = {"name": choice.measure, "how": choice.judged, "mean": [fit["cv_error"]], "spread": [spread]}
    return {
        "title": model.source,
        "target": model.target,
        "classes": model.classes,
        "settings": settings(model),
        "steps": [clf.step_],
        "chosen": 0,
        "reason": model.reason,
        "missing": MISSING,
        "C": _numbers([clf.C_]),
        "gap": _numbers([gap]),
        "inexact": [fit["inexact"]],
        "folds": folds,
        "judged": _judgements(model, table, [clf.step_]),
        "margin": _margin_lines(model, np.atleast_1d(lower)[None], np.atleast_1d(upper)[None]),
        "support": {"all": [fit["support"]], "bound": [fit["at_bound"]]},
        "points": {"row": [], "label": [], "state": _packed(np.empty((1, 0), dtype=np.uint8))},
        "planes": [],
        "suspects": [],
        "suspects_total": 0,
        "constant": False,
        "quality": judged_rows(model, table),
        "importance": _importance(model),
        "fewer": None,
        "advice": list(model.advice),
        "held_out_suspects": False,
    }


def shown_steps(n_iter: int, chosen: int) -> list[int]:
    """Return the steps of the slider: all of them, or evenly spread ones in log t.

    Examples
    --------
    >>> shown_steps(5, 2), len(shown_steps(3000, 77)) <= STEPS + 1, 77 in shown_steps(3000, 77)
    ([1, 2, 3, 4, 5], True, True)
    """
    if n_iter <= STEPS:
        return list(range(1, n_iter + 1))
    spread = np.unique(np.rint(np.geomspace(1, n_iter, STEPS)).astype(int))
    return sorted({*spread.tolist(), chosen})


def settings(model: Model) -> list[list[str]]:
    """Return names and values of what the model is, for people."""
    clf = model.classifier
    kernel = getattr(clf, "kernel", "linear")
    if (gamma := getattr(clf, "gamma_", None)) is not None:
        kernel = f"{kernel}, γ = {gamma:.4g}"
    rows = clf.fit_facts_["samples"] if model.is_slim else clf.X_fit_.shape[0]
    return [
        ["rows fitted", f"{rows:,}"],
        ["features", f"{clf.n_features_in_:,}"],
        ["classes", str(len(clf.classes_))],
        ["kernel", kernel],
        ["method", clf.method_],
        ["steps", str(clf.n_iter_)],
    ]


def _judgements(model: Model, table: Table | None, steps: list[int]) -> list[dict[str, Any]]:
    """Return the error and the confusion matrix at every step, of the table and of the rows fitted."""
    clf, found = model.classifier, []
    if not model.is_slim:
        found.append(_judged(model, "rows fitted", "training", clf.X_fit_, clf.codes_, steps))
    if table is None or table.y is None:
        return found
    X = model.prepared(table)
    seen = model.is_fitted_on(X)
    if seen and found:
        return found
    code = {name: i for i, name in enumerate(model.classes)}
    codes = np.array([code.get(str(label), -1) for label in table.y])
    known = codes >= 0
    kind = "training" if seen else "test"
    return [_judged(model, table.name, kind, X[known], codes[known], steps), *found]


def _judged(
    model: Model, name: str, kind: str, X: Any, codes: np.ndarray, steps: list[int]
) -> dict[str, Any]:
    n = len(codes)
    if n > ROWS:
        drawn = np.sort(np.random.default_rng(0).choice(n, ROWS, replace=False))
        X, codes = X[drawn], codes[drawn]
    values, n_classes = staged(model, X, steps), len(model.classes)
    predicted = (values[:, :, 0] > 0).astype(int) if n_classes == 2 else values.argmax(axis=2)
    matrices = [
        confusion_matrix(codes, row, labels=np.arange(n_classes)).tolist()
        for row in predicted
        if n_classes <= CLASSES
    ]
    errors = (predicted != codes).mean(axis=1)
    return {"name": name, "kind": kind, "rows": len(codes), "error": errors.tolist(), "confusion": matrices}


def _folds(model: Model, steps: list[int]) -> dict[str, Any] | None:
    choice = as_choice(model.classifier)
    if choice.error is None:
        return None
    mean, spread = (part[np.asarray(steps) - 1] for part in choice.error)
    return {
        "name": choice.measure,
        "how": choice.judged,
        "mean": mean.tolist(),
        "spread": spread.tolist(),
    }


def _margins(model: Model, steps: list[int]) -> dict[str, Any]:
    """Return the interval proved up to every step, for every column."""
    clf = model.classifier
    return _margin_lines(model, *clf.margin_proofs_.up_to(np.asarray(steps)))


def _margin_lines(model: Model, lower: np.ndarray, upper: np.ndarray) -> dict[str, Any]:
    shown = np.sort(np.argsort(upper[-1], kind="stable")[:MARGINS])  # of very many pairs, the nearest ones
    names, (lower, upper) = model.decisions, (part[:, shown] for part in (lower, upper))
    outwards = 1e-5  # more than the rounding of the numbers on the page takes from them
    return {
        "names": [names[k] for k in shown],
        "lower": _numbers(lower.T * (1 - outwards)),
        "upper": _numbers(upper.T * (1 + outwards)),
    }


def _importance(model: Model) -> dict[str, Any] | None:
    if (important := model.importance) is None:
        return None
    bars = zip(important.names, _numbers(important.mean), _numbers(important.spread), strict=True)
    return {"score": important.score, "bars": [list(bar) for bar in bars][:IMPORTANT]}


def _support(clf: Any, steps: list[int]) -> dict[str, list[int]]:
    found = [states(clf, step) for step in steps]
    return {"all": [int((s > 0).sum()) for s in found], "bound": [int((s == 2).sum()) for s in found]}


def _shown_points(n: int, ranked: np.ndarray) -> np.ndarray:
    if n <= POINTS:
        return np.arange(n)
    drawn = np.random.default_rng(0).choice(n, POINTS - len(ranked), replace=False)
    return np.unique(np.concatenate([drawn, ranked]))


def _planes(
    model: Model, shown: np.ndarray, steps: list[int], pair: Sequence[str] | None
) -> list[dict[str, Any]]:
    X, n_columns = model.classifier.X_fit_, max(1, len(model.classes) * (len(model.classes) > 2))
    found = planes(model, pair)
    shape = grid_shape(len(found), len(steps), n_columns)
    return [_plane(model, plane, X, shown, steps, shape) for plane in found]


def _plane(
    model: Model, plane: Plane, X: Any, shown: np.ndarray, steps: list[int], shape: tuple[int, int]
) -> dict[str, Any]:
    box = extent(plane.coordinates(X))
    points = plane.coordinates(X[shown])
    values, ranges = decision_grid(model, plane, box, shape, steps)
    return {
        "name": plane.name,
        "x": plane.x,
        "y": plane.y,
        "box": _numbers(box),
        "shape": list(shape),
        "exact": X.shape[1] == 2,
        "ranges": _numbers(ranges),
        "values": _packed(values),
        "points": _numbers(points.T),
    }


def _packed(values: np.ndarray) -> str:
    """Return bytes, compressed, as text."""
    return base64.b64encode(zlib.compress(np.ascontiguousarray(values).tobytes(), 9)).decode()


def _numbers(values: Any) -> Any:
    """Return lists of numbers with six digits; what is not finite becomes None."""
    if isinstance(values, (list, tuple, np.ndarray)) and np.ndim(values):
        return [_numbers(value) for value in values]
    return float(f"{float(values):.6g}") if np.isfinite(values) else None
