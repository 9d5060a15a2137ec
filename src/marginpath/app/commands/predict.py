"""The command predict."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..modelfile import Model
from ..tables import NotThere, Table, format_of, read
from . import fitting
from .talking import say, tell, told_plainly, writable

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
    missing: fitting.Missing = None,
    format: fitting.Format = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of csv.")] = False,
) -> None:
    """Predict the class of every row, and its probability where it is calibrated.

    Where DATA has the target column too, the share of wrong predictions is told.
    """
    with told_plainly():
        if out is not None:
            writable(out)
        fitted = Model.load(model)
        table = read_for(fitted, data, format, missing or ())
        for remark in [fitted.age, *fitted.remarks(table)]:
            if remark:
                tell(f"Note: {remark}")
        X = fitted.prepared(table)
        columns = predictions(fitted, X, at)
        if with_data and not table.is_sparse:
            columns = {name: table.X[name].tolist() for name in table.X.columns} | columns
        text = json.dumps(columns, ensure_ascii=False) if as_json else _csv(columns)
        if out is None:
            say(text.rstrip("\n"))
        else:
            out.write_text(text, encoding="utf-8")
            tell(f"Written: {out}, {table.n_rows} rows.")
        _tell_error(columns["prediction"], table, seen=fitted.is_fitted_on(X))


def read_for(model: Model, file: Path, format: str | None, missing: Sequence[str] = ()) -> Table:
    """Read a table for a model, with its target where it has one."""
    if format_of(file, format) != "svmlight":
        return read(file, model.target, format=format, missing=missing, labelled=False)
    columns = model.columns
    sparse = columns.n_sparse > 0
    return read(file, format=format, n_features=columns.n_sparse or len(columns.numbers), sparse=sparse)


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
        columns[f"{named} {name}"] = [float(f"{value:.6g}") for value in column]
    return columns


def _tell_error(predicted: list[str], table: Table, seen: bool) -> None:
    if table.y is not None:
        wrong = int(sum(p != str(y) for p, y in zip(predicted, table.y, strict=True)))
        but = " These are the rows it was fitted on: expect more on new ones." if seen else ""
        tell(
            f"{wrong} of {table.n_rows} predictions ({wrong / table.n_rows:.1%}) differ from "
            f"{table.target!r}.{but}"
        )


def _csv(columns: dict[str, list[Any]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return stream.getvalue()
