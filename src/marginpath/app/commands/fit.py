"""The command fit."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ..tables.reading import NotThere
from . import INTERRUPTED, fitting, groups, options
from .quantities import fit_quantity, is_quantity
from .talking import console, remarked, say, tell, told_plainly, writable

EPILOG = """Examples:

marginpath fit flowers.csv --target species -o flowers.model

marginpath fit patients.parquet -t outcome --drop patient_id --balanced

marginpath fit a9a.svm --kernel linear

marginpath fit houses.csv -t price --loss quantile --quantile 0.9"""


@groups.with_groups
def fit(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A csv, parquet, svmlight or npz file.")],
    reading: groups.Reading,
    columns: groups.Columns,
    path: groups.WholePath,
    task: options.Task = "auto",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="MODEL", help="The file to write; the name of DATA with .model by default."
        ),
    ] = None,
    keep: options.Keep = options.KEEP[0],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Fit a classifier to a table, or a regression where the target is a quantity, and store it.

    One run goes from a heavily regularized classifier to the maximum margin; cross-validation along the way
    chooses the step to keep. There is no C to set. Columns are taken as what they look like: numbers,
    categories, dates, text; identifiers are left out, and a missing value counts as one. What would
    probably make the model better is listed at the end. With --keep path, the file has all the steps and
    rows, for the whole report page and for --at.
    """
    with told_plainly():
        if keep not in options.KEEP:
            raise NotThere(f"--keep {keep} is none of {', '.join(options.KEEP)}.")
        settings = fitting.Settings.of(reading, columns, path)
        file = writable(out or Path(f"{data.name.split('.')[0]}.model"))
        begin = time.perf_counter()
        table = reading.read(data)
        with remarked() as remarks:
            if is_quantity(table, task):
                model: Any = fit_quantity(table, settings, task)
            else:
                model = fitting.fit_table(table, settings)
        model.save(file, keep=keep)
        from ...path.path import Status  # what is heavy comes after what can be refused at once
        from . import quantities, summary

        facts: dict[str, Any] = (quantities if model.is_regression else summary).facts(model)
        found = {**facts, "model": str(file), "remarks": remarks}
        found["seconds"] = round(time.perf_counter() - begin, 2)
    if as_json:
        say(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        console().print(quantities.lines(found) if model.is_regression else summary.table(found, data.name))
        say(f"Model: {file} ({summary.size_of(file)}), after {found['seconds']:.1f} s.")
        if model.advice:
            tell("\n".join(["It would change:", *(f"- {line}" for line in model.advice)]))
        tell(f"Next: marginpath report {file} {data}, or marginpath predict {file} NEW_DATA")
    if model.classifier.path_.ended is Status.INTERRUPTED:
        raise typer.Exit(INTERRUPTED)
