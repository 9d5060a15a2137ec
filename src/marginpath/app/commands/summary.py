"""What a model is, for people and for machines."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from ..modelfile import Model


def facts(model: Model) -> dict[str, Any]:
    """Return what there is to know of a model, as JSON values."""
    clf, fit = model.classifier, model.facts
    lower, upper = (np.atleast_1d(part).astype(float).tolist() for part in clf.margin_bounds_)
    names = ["all"] if len(model.classes) == 2 else model.classes
    found = {
        "target": model.target,
        "fitted_on": model.source,
        "rows": fit["samples"],
        "features": int(clf.n_features_in_),
        "numbers": list(model.columns.numbers),
        "categories": list(model.columns.categories),
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
        "impute": model.impute,
        "versions": model.versions,
    }
    return found | {name: fit[name] for name in ("cv_error", "cv_error_std") if name in fit}


def table(found: dict[str, Any], title: str) -> Table:
    """Return the facts as a table for the terminal."""
    printed = Table(title=title, title_justify="left", show_header=False)
    printed.add_column(style="bold")
    printed.add_column(overflow="fold")
    for name, value in _lines(found):
        printed.add_row(name, value)
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
    columns = f"{len(found['numbers'])} of numbers, {len(found['categories'])} of categories"
    proved = {True: "yes, proved", False: "no: equal rows have different classes", None: "not known"}
    rows = [
        ("target", found["target"]),
        ("classes", ", ".join(found["classes"])),
        ("rows", str(found["rows"])),
        ("columns", columns if found["numbers"] or found["categories"] else str(found["features"])),
        ("kernel", kernel),
        ("steps", f"{found['steps']} run, step {found['step']} kept (C = {_short(found['C'])})"),
        ("why", found["reason"]),
    ]
    if "cv_error" in found:
        rows.append(("cv error", f"{found['cv_error']:.1%} ± {found['cv_error_std']:.1%}"))
    for name, (lower, upper) in found["margin_bounds"].items():
        of = "" if name == "all" else f" of {name}"
        rows.append((f"maximum margin{of}", _interval(lower, upper)))
    return [*rows, ("separable", proved[found["separable"]]), ("support", f"{found['support']} rows")]


def _interval(lower: float | None, upper: float | None) -> str:
    """Print an interval with six decimals, rounded outwards so that it stays true."""
    low = "−∞" if lower is None else f"{math.floor(lower * 1e6) / 1e6:.6f}"
    high = "∞" if upper is None else f"{math.ceil(upper * 1e6) / 1e6:.6f}"
    return f"in [{low}, {high}]"


def _short(value: float | None) -> str:
    return "∞" if value is None else f"{value:.4g}"


def _finite(value: float) -> float | None:
    return float(f"{value:.8g}") if math.isfinite(value) else None
