"""The command predict."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ..tables.reading import NotThere, Table, format_of, read
from . import options, quantities
from .talking import readable, say, tell, told_plainly, writable

if TYPE_CHECKING:
    from ..modelfile import Model

EPILOG = """Examples:

marginpath predict flowers.model new.csv -o predicted.csv

marginpath predict flowers.model new.csv --at 5"""


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that marginpath fit wrote.")],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Rows with the columns of the fit; others may be there.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="CSV", help="The csv file to write, instead of printing."),
    ] = None,
    at: Annotated[
        int | None, typer.Option("--at", metavar="STEP", help="Predict as the model stood after this step.")
    ] = None,
    with_data: Annotated[
        bool, typer.Option("--with-data", help="Write the columns of DATA in front.")
    ] = False,
    missing: options.Missing = None,
    format: options.Format = None,
    encoding: options.Encoding = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of csv.")] = False,
) -> None:
    """Predict the class of every row, and its probability where it is calibrated; or the quantity.

    Where DATA has the target column too, the share of wrong predictions is told, or the mean absolute
    error, or the share of targets below a quantile.
    """
    with told_plainly():
        if out is not None:
            writable(out)
        readable(model, data)
        from ..modelfile import Model

        fitted: Any = Model.load(model)
        table = read_for(fitted, data, format, missing or (), encoding)
        for remark in [fitted.age, *fitted.remarks(table)]:
            if remark:
                tell(f"Note: {remark}")
        X = fitted.prepared(table)
        columns = (quantities.predictions if fitted.is_regression else predictions)(fitted, X, at)
        if with_data and not table.is_sparse:
            columns = _with_data(table) | columns
        text = json.dumps(columns, ensure_ascii=False) if as_json else _csv(columns)
        if out is None:
            say(text.rstrip("\n"))
        else:
            out.write_text(text, encoding="utf-8")
            tell(f"Written: {out}, {table.n_rows} rows.")
        seen = fitted.is_fitted_on(X)
        if fitted.is_regression:
            quantities.tell_error(columns["prediction"], table, seen, fitted)
        else:
            _tell_error(columns["prediction"], table, seen)


def read_for(
    model: Model,
    file: Path,
    format: str | None,
    missing: Sequence[str] = (),
    encoding: str | None = None,
) -> Table:
    """Read a table for a model, with its target where it has one and its words for missing values."""
    if format_of(file, format) == "svmlight":
        return read(file, format=format, n_features=model.n_columns, sparse=model.is_sparse)
    words = (*model.missing, *missing)
    return read(file, model.target, format=format, missing=words, encoding=encoding, labelled=False)


def predictions(model: Model, X: Any, at: int | None) -> dict[str, list[Any]]:
    """Return the columns of the answer."""
    clf = model.classifier
    if at is not None:
        if model.is_slim:
            raise NotThere(
                f"--at {at}: the file has no steps, only the model. Write it with: marginpath fit --keep path"
            )
        if not 1 <= at <= clf.n_iter_:
            raise NotThere(f"--at {at}: the model has the steps 1 to {clf.n_iter_}.")
        clf = clf.at(at)
    columns: dict[str, list[Any]] = {"prediction": [str(label) for label in clf.predict(X)]}
    if hasattr(clf, "predict_proba"):
        named, values = "probability", clf.predict_proba(X)
    else:
        decision = clf.decision_function(X)
        named, values = (
            "decision",
            np.stack([-decision, decision], axis=1) if decision.ndim == 1 else decision,
        )
    for name, column in zip(model.classes, values.T, strict=True):
        columns[f"{named} {name}"] = [_rounded(value, named) for value in column]
    return columns


def _rounded(value: float, what: str) -> float:
    """Return ten decimals of a probability, so that those of a row sum to one; six digits of a decision."""
    return round(float(value), 10) if what == "probability" else float(f"{value:.6g}")


def _with_data(table: Table) -> dict[str, list[Any]]:
    """Return the columns of a table, the target last where it has one; gaps are empty."""
    columns = {name: table.X[name].astype(object) for name in table.X.columns}
    shown = {name: column.where(column.notna(), None).tolist() for name, column in columns.items()}
    return shown if table.y is None else {**shown, table.target: table.y.tolist()}


def _tell_error(predicted: list[str], table: Table, seen: bool) -> None:
    if table.y is None or not (count := int(table.labelled.sum())):
        return
    wrong = sum(y is not None and p != str(y) for p, y in zip(predicted, table.y.tolist(), strict=True))
    but = " These are the rows it was fitted on: expect more on new ones." if seen else ""
    tell(f"{wrong} of {count} predictions ({wrong / count:.1%}) differ from {table.target!r}.{but}")


def _csv(columns: dict[str, list[Any]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return stream.getvalue()
