"""The command fit."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..tables.reading import NotThere, read
from . import INTERRUPTED, fitting, options
from .quantities import fit_quantity, is_quantity
from .talking import console, remarked, say, tell, told_plainly, writable

if TYPE_CHECKING:
    from ..modelfile import Model

EPILOG = """Examples:

marginpath fit flowers.csv --target species -o flowers.model

marginpath fit patients.parquet -t outcome --drop patient_id --balanced

marginpath fit a9a.svm --kernel linear

marginpath fit houses.csv -t price --loss quantile --quantile 0.9"""


def fit(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A csv, parquet, svmlight or npz file.")],
    target: options.Target = None,
    task: options.Task = "auto",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="MODEL", help="The file to write; the name of DATA with .model by default."
        ),
    ] = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    as_kind: options.As = None,
    missing: options.Missing = None,
    rare: options.Rare = "drop",
    rare_below: options.RareBelow = 2,
    impute: options.Impute = False,
    no_scale: options.NoScale = False,
    format: options.Format = None,
    encoding: options.Encoding = None,
    kernel: options.Kernel = "auto",
    gamma: options.Gamma = None,
    degree: options.Degree = 3,
    loss: options.Loss = options.LOSSES[0],
    quantile: options.Quantile = 0.5,
    stopping: options.Stopping = "cv",
    cv: options.Folds = 5,
    selection: options.Selection = "smooth",
    scoring: options.Scoring = None,
    positive: options.Positive = None,
    noise_level: options.NoiseLevel = None,
    balanced: options.Balanced = False,
    max_iter: options.MaxIter = None,
    time_limit: options.TimeLimit = None,
    seed: options.Seed = 0,
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
        settings = fitting.Settings(
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            stopping=stopping,
            cv=cv,
            selection=selection,
            scoring=scoring,
            positive=positive,
            noise_level=noise_level,
            balanced=balanced,
            max_iter=max_iter,
            time_limit=time_limit,
            seed=seed,
            no_scale=no_scale,
            kinds=fitting.kinds(categorical, as_kind),
            missing=tuple(missing or ()),
            rare=rare,
            rare_below=rare_below,
            loss=loss,
            quantile=quantile,
        )
        file = writable(out or Path(f"{data.name.split('.')[0]}.model"))
        begin = time.perf_counter()
        table = read(data, target, drop=drop or (), missing=missing or (), format=format, encoding=encoding)
        with remarked() as remarks:
            if is_quantity(table, task):
                model: Model = fit_quantity(table, settings, task)
            else:
                model = fitting.fit_table(table, settings)
        model.save(file, keep=keep)
        from ...path.path import Status  # what is heavy comes after what can be refused at once
        from ..regressionmodel import RegressionModel
        from . import quantities, summary

        whole = quantities.facts(model) if isinstance(model, RegressionModel) else summary.facts(model)
        found = {**whole, "model": str(file), "remarks": remarks}
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
