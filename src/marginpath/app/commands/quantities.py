"""A fit whose target is a quantity: the regression, and what is said of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tables.reading import NotThere, Table
from .options import TASKS
from .talking import tell

if TYPE_CHECKING:
    from rich.table import Table as Printed

    from ..regressionmodel import RegressionModel
    from .fitting import Settings

_FEW, _MANY, _SHARE = 20, 100, 5  # different values: classes up to the first; of whole numbers, see below


def is_quantity(table: Table, task: str) -> bool:
    """Whether the target is to be taken as a quantity: by --task, or by its look.

    Numbers of more than 20 different values are a quantity if some have a fraction, or if there are more than
    100 of them or more than one in five rows.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": range(60)})
    >>> [is_quantity(Table("t", frame, y, "y"), "auto") for y in (np.arange(60) / 7, np.arange(60) % 3)]
    [True, False]
    """
    if task not in TASKS:
        raise NotThere(f"--task {task} is none of {', '.join(TASKS)}.")
    if task != "auto":
        return task == "regress"
    y = table.y
    if y is None or y.dtype.kind not in "iuf":
        return False
    count = len(np.unique(y))
    if count <= _FEW:
        return False
    return bool(np.any(y != np.round(y))) or count > min(_MANY, len(y) // _SHARE)


def fit_quantity(table: Table, settings: Settings, task: str) -> RegressionModel:
    """Fit a regression, and say so."""
    from ..regressionmodel import RegressionModel

    if task == "auto":
        tell(f"Note: {table.target!r} is a quantity, so this is a regression; else --task classify.")
    for note in table.notes:
        tell(f"Note: {note}")
    for name, value in (
        ("--balanced", settings.balanced),
        ("--positive", settings.positive),
        ("--noise-level", settings.noise_level),
    ):
        if value:
            raise NotThere(f"{name} is about classes, and {table.target!r} is a quantity.")
    if settings.stopping not in ("cv", "none"):
        raise NotThere(f"--stopping {settings.stopping} is about classes; a regression has cv and none.")
    return RegressionModel.fit_quantity(
        table,
        _regressors(settings, table.n_rows, table.is_sparse),
        kinds=dict(settings.kinds),
        scale=not settings.no_scale,
        missing=settings.missing,
    )


def _regressors(settings: Settings, n_rows: int, sparse: bool) -> list[Any]:
    """Return those that the folds choose from."""
    from ...estimators import LinearMarginPathRegressor, MarginPathRegressor
    from ...tables.classifier import KERNEL_ROWS

    common: dict[str, Any] = {
        "loss": settings.loss,
        "quantile": settings.quantile,
        "stopping": None if settings.stopping == "none" else "cv",
        "cv": settings.cv,
        "selection": settings.selection,
        "scoring": settings.scoring,
        "max_iter": settings.max_iter or "auto",
        "time_limit": settings.time_limit,
        "random_state": settings.seed,
    }
    linear = LinearMarginPathRegressor(**common)
    automatic = settings.kernel == "auto"
    if settings.kernel == "linear" or (automatic and (sparse or n_rows > KERNEL_ROWS)):
        return [linear]
    kernel = "rbf" if automatic else settings.kernel
    own: dict[str, Any] = {"gamma": settings.gamma_value, "degree": settings.degree, "coef0": 1.0}
    curved = MarginPathRegressor(kernel, **own, **common)
    return [linear, curved] if automatic and settings.stopping == "cv" else [curved]


def facts(model: RegressionModel) -> dict[str, Any]:
    """Return what there is to know of a regression, as JSON values."""
    regressor, fit = model.classifier, model.facts
    return {
        "task": "regression",
        "target": model.target,
        "fitted_on": model.source,
        "rows": fit["samples"],
        "features": int(regressor.n_features_in_),
        "columns": {name: asdict(column) for name, column in model.columns.items()},
        "loss": regressor.loss if isinstance(regressor.loss, str) else repr(regressor.loss),
        "quantile": regressor.quantile if regressor.loss == "quantile" else None,
        "kernel": getattr(regressor, "kernel", "linear"),
        "gamma": getattr(regressor, "gamma_", None),
        "steps": regressor.n_iter_,
        "step": regressor.step_,
        "C": float(f"{regressor.C_:.8g}"),
        "gap": fit["gap"],
        "cv_score": fit.get("mean"),
        "cv_score_std": fit.get("std"),
        "support": fit["support"],
        **model.held_out,
        "missing": list(model.missing),
        "versions": model.versions,
    }


def lines(found: dict[str, Any]) -> Printed:
    """Return the facts as a table for the terminal."""
    from rich.table import Table as Printed

    kinds = Counter(column["kind"] for column in found["columns"].values())
    gamma = f", γ = {found['gamma']:.4g}" if found["gamma"] else ""
    quantile = "" if found["quantile"] is None else f" {found['quantile']}"
    rows = [
        ("target", f"{found['target']}, a quantity"),
        ("rows", str(found["rows"])),
        ("columns", ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or str(found["features"])),
        ("loss", found["loss"] + quantile),
        ("kernel", found["kernel"] + gamma),
        ("steps", f"{found['steps']} run, step {found['step']} kept (C = {found['C']:.4g})"),
    ]
    if "below" in found:
        rows.append(("held-out rows", _judged(found)))
    printed = Printed(title=found["fitted_on"], title_justify="left", show_header=False)
    printed.add_column(style="bold")
    printed.add_column(overflow="fold")
    for name, value in [*rows, ("support", f"{found['support']} rows")]:
        printed.add_row(name, value)
    return printed


def _judged(found: dict[str, Any]) -> str:
    """Say what the folds found: a quantile is judged by what lies below, others by how far off they are."""
    if found["quantile"] is not None:
        return f"{found['below']:.1%} of the targets lie below"
    shown = "" if found["r2"] is None else f", R² {found['r2']:.3f}"
    return f"mean absolute error {found['mean_absolute_error']:.4g}{shown}"


def steps_table(model: RegressionModel) -> Printed:
    """Return the scores along the steps as a table for the terminal."""
    from rich.table import Table as Printed

    regressor = model.classifier
    results = getattr(regressor, "cv_results_", {})
    printed = Printed(title="Along the path", title_justify="left")
    for name in ("step", "C = 1/λ", *(("cv score", "± sd", "gap") if results else ())):
        printed.add_column(name, justify="right")
    for step in range(1, regressor.n_iter_ + 1):
        names = ("mean_test_score", "std_test_score", "gap") if results else ()
        scores = [f"{results[name][step - 1]:.4g}" for name in names]
        style = "bold green" if step == regressor.step_ else ""
        printed.add_row(str(step), f"{regressor.at(step).C_:.4g}", *scores, style=style)
    return printed


def predictions(model: RegressionModel, X: Any, at: int | None) -> dict[str, list[Any]]:
    """Return the column of the answer."""
    regressor = model.classifier
    if at is not None:
        if model.is_slim:
            raise NotThere("--at: the file has no steps. Write it with: marginpath fit --keep path")
        if not 1 <= at <= regressor.n_iter_:
            raise NotThere(f"--at {at}: the model has the steps 1 to {regressor.n_iter_}.")
        regressor = regressor.at(at)
    return {"prediction": [float(f"{value:.8g}") for value in regressor.predict(X)]}


def tell_error(predicted: list[float], table: Table, seen: bool, model: RegressionModel) -> None:
    """Say how far the predictions are off, or what share of the targets is below a quantile, where known."""
    known = table.labelled
    if table.y is None or not known.any():
        return
    off = np.asarray(predicted)[known] - np.asarray(table.y[known], dtype=np.float64)
    rows = f"on {int(known.sum())} rows with {table.target!r}"
    if model.classifier.loss == "quantile":
        said = f"{np.mean(off >= 0):.1%} of the targets lie below, {rows}; {model.classifier.quantile:.1%}"
        tell(f"{said} is asked for.")
        return
    but = " These are the rows it was fitted on: expect more on new ones." if seen else ""
    tell(f"The mean absolute error is {np.mean(np.abs(off)):.4g} {rows}.{but}")
