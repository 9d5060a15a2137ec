"""What a model is, for people and for machines."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from ...estimators import as_choice
from .. import quality
from ..modelfile import Model

_MARGINS = 8  # margins that are printed, the smallest first
_PLURAL = {
    "number": "numbers",
    "category": "categories",
    "date": "dates",
    "text": "texts",
    "names": "columns of names",
    "left out": "left out",
}


def facts(model: Model) -> dict[str, Any]:
    """Return what there is to know of a model, as JSON values."""
    clf, fit = model.classifier, model.facts
    lower, upper = (np.atleast_1d(part).astype(float).tolist() for part in clf.margin_bounds_)
    names = ["all"] if len(model.classes) == 2 else model.decisions
    found = {
        "target": model.target,
        "fitted_on": model.source,
        "rows": fit["samples"],
        "features": int(clf.n_features_in_),
        "numbers": [name for name, column in model.columns.items() if column.kind == "number"],
        "categories": [name for name, column in model.columns.items() if column.kind == "category"],
        "columns": {name: asdict(column) for name, column in model.columns.items()},
        "classes": model.classes,
        "kernel": getattr(clf, "kernel", "linear"),
        "gamma": getattr(clf, "gamma_", None),
        "method": clf.method_,
        "stopping": clf.stopping,
        "steps": clf.n_iter_,
        "step": clf.step_,
        "reason": fit["reason"],
        "C": _finite(clf.C_),
        "gap": _finite(fit["gap"]),
        "margin_bounds": {
            name: [_finite(a), _finite(b)] for name, a, b in zip(names, lower, upper, strict=True)
        },
        "separable": fit["separable"],
        "support": fit["support"],
        "missing": list(model.missing),
        "advice": list(model.advice),
        "versions": model.versions,
    }
    if "cv_error" in fit:
        scores = {name: fit[name] for name in ("cv_error", "cv_error_std")}
        found |= scores | {"cv_measure": as_choice(clf).measure}
    if (important := model.importance) is not None:
        pairs = zip(important.mean.tolist(), important.spread.tolist(), strict=True)
        found["importance"] = {
            "score": important.score,
            "columns": dict(zip(important.names, map(list, pairs), strict=True)),
        }
    return found | quality.facts(model)


def table(found: dict[str, Any], title: str) -> Table:
    """Return the facts as a table for the terminal."""
    printed = Table(title=title, title_justify="left", show_header=False)
    printed.add_column(style="bold")
    printed.add_column(overflow="fold")
    for name, value in _lines(found):
        printed.add_row(name, value)
    return printed


def columns_table(model: Model, most: int = 40) -> Table:
    """Return what was made of each column, the most important first, as a table for the terminal."""
    important = model.importance
    title = "Columns" if important is None else f"Columns, and the {important.score} lost without each"
    printed = Table(title=title, title_justify="left")
    for name in ("column", "taken as", "features", *(("importance",) if important else ())):
        printed.add_column(
            name, overflow="fold", justify="right" if name in ("features", "importance") else "left"
        )
    worth = (
        {}
        if important is None
        else {
            name: f"{mean:.3f} ± {spread:.3f}"
            for name, mean, spread in zip(important.names, important.mean, important.spread, strict=True)
        }
    )
    names = [*worth, *(name for name in model.columns if name not in worth)]
    for name in names[:most]:
        column = model.columns[name]
        last = [worth.get(name, "")] if important else []
        printed.add_row(name, f"{column.kind}: {column.why}", str(column.n_features or ""), *last)
    if len(names) > most:
        printed.caption = f"and {len(names) - most} more: --json has them all"
    return printed


def steps_table(model: Model) -> Table:
    """Return the errors and the margins along the steps as a table for the terminal."""
    clf, folds = model.classifier, model.cv_error
    gap, inexact = model.gap, model.inexact
    note = "! duality gap over path_tol: not the SVM at its C" if inexact.any() else None
    printed = Table(title="Along the path", title_justify="left", caption=note, caption_justify="left")
    for name in ("step", "C = 1/λ", *(("cv error", "± sd") if folds else ()), "support", "gap"):
        printed.add_column(name, justify="right")
    for step in range(1, clf.n_iter_ + 1):
        support = np.count_nonzero(clf.models_.u(step).any(axis=1))
        errors = [f"{part[step - 1]:.1%}" for part in folds] if folds else []
        style = "bold green" if step == clf.step_ else ""
        C = _short(_finite(clf.models_.bound(step)))
        told = f"{gap[step - 1]:.1e}" + " !" * bool(inexact[step - 1])
        printed.add_row(str(step), C, *errors, str(support), told, style=style)
    return printed


def size_of(file: Path) -> str:
    """Return the size of a file for people."""
    return f"{file.stat().st_size / 1e6:.1f} MB"


def _lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    kernel = found["kernel"] + (f", γ = {found['gamma']:.4g}" if found["gamma"] else "")
    kinds = Counter(column["kind"] for column in found["columns"].values())
    columns = ", ".join(f"{count} {_PLURAL[kind] if count > 1 else kind}" for kind, count in kinds.items())
    proved = {True: "yes, proved", False: "no: equal rows have different classes", None: "not known"}
    rows = [
        ("target", found["target"]),
        ("classes", ", ".join(found["classes"])),
        ("rows", str(found["rows"])),
        ("columns", columns or str(found["features"])),
        ("kernel", kernel),
        ("steps", f"{found['steps']} run, step {found['step']} kept (C = {_short(found['C'])})"),
        ("why", found["reason"]),
    ]
    if "cv_error" in found:
        rows.append((f"cv {found['cv_measure']}", f"{found['cv_error']:.1%} ± {found['cv_error_std']:.1%}"))
    if "balanced_accuracy" in found:
        area = "" if found["roc_auc"] is None else f", area under ROC {found['roc_auc']:.3f}"
        rows.append(("held-out rows", f"balanced accuracy {found['balanced_accuracy']:.1%}{area}"))
        shown = list(found["recall"].items())[:8]
        told = ", ".join(f"{name} {rate:.0%}" for name, rate in shown if rate is not None)
        rows.append(("recall", told + (", …" if len(found["recall"]) > 8 else "")))
    if "importance" in found:
        rows.append(("matter most", ", ".join(list(found["importance"]["columns"])[:5])))
    margins = sorted(found["margin_bounds"].items(), key=_least_margin)
    for name, (lower, upper) in margins[:_MARGINS]:
        of = "" if name == "all" else f" of {name}"
        rows.append((f"maximum margin{of}", _interval(lower, upper)))
    if len(margins) > _MARGINS:
        rows.append(("larger margins", f"{len(margins) - _MARGINS} more: --json has them all"))
    return [*rows, ("separable", proved[found["separable"]]), ("support", f"{found['support']} rows")]


def _least_margin(named: tuple[str, list[float | None]]) -> float:
    upper = named[1][1]
    return math.inf if upper is None else upper


def _interval(lower: float | None, upper: float | None) -> str:
    """Print an interval with six decimals, rounded outwards so that it stays true."""
    low = "−∞" if lower is None else f"{math.floor(lower * 1e6) / 1e6:.6f}"
    high = "∞" if upper is None else f"{math.ceil(upper * 1e6) / 1e6:.6f}"
    return f"in [{low}, {high}]"


def _short(value: float | None) -> str:
    return "∞" if value is None else f"{value:.4g}"


def _finite(value: float) -> float | None:
    return float(f"{value:.8g}") if math.isfinite(value) else None
