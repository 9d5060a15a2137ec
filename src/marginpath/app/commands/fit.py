"""The command fit."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from ...path.path import Status
from ..modelfile import KEEP
from ..tables import NotThere, read
from . import INTERRUPTED, fitting, summary
from .talking import console, remarked, say, tell, told_plainly, writable

EPILOG = """Examples:

marginpath fit flowers.csv --target species -o flowers.model

marginpath fit patients.parquet -t outcome --drop patient_id --impute --balanced

marginpath fit a9a.svm --kernel linear"""


def fit(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A csv, parquet, svmlight or npz file.")],
    target: fitting.Target = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="MODEL", help="The file to write; the name of DATA with .model by default."
        ),
    ] = None,
    drop: fitting.Drop = None,
    categorical: fitting.Categorical = None,
    missing: fitting.Missing = None,
    impute: fitting.Impute = False,
    no_scale: fitting.NoScale = False,
    format: fitting.Format = None,
    kernel: fitting.Kernel = "rbf",
    gamma: fitting.Gamma = "scale",
    degree: fitting.Degree = 3,
    stopping: fitting.Stopping = "cv",
    cv: fitting.Folds = 5,
    selection: fitting.Selection = "smooth",
    scoring: fitting.Scoring = None,
    noise_level: fitting.NoiseLevel = None,
    balanced: fitting.Balanced = False,
    max_iter: fitting.MaxIter = None,
    time_limit: fitting.TimeLimit = None,
    seed: fitting.Seed = 0,
    keep: Annotated[
        str,
        typer.Option(
            "--keep",
            metavar="WHAT",
            help="What the file keeps: model, all that predictions need; or path, all steps and rows too.",
        ),
    ] = KEEP[0],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Fit a classifier to a table and store it.

    One run goes from a heavily regularized classifier to the maximum margin; cross-validation along the way
    chooses the step to keep. There is no C to set. Numbers are scaled, categories are one-hot encoded, and
    both are stored with the model. With --keep path, the file has all the steps for reports and --at.
    """
    settings = fitting.Settings(
        kernel=kernel,
        gamma=gamma,
        degree=degree,
        stopping=stopping,
        cv=cv,
        selection=selection,
        scoring=scoring,
        noise_level=noise_level,
        balanced=balanced,
        max_iter=max_iter,
        time_limit=time_limit,
        seed=seed,
        impute=impute,
        no_scale=no_scale,
        categorical=tuple(categorical or ()),
    )
    with told_plainly():
        if keep not in KEEP:
            raise NotThere(f"--keep {keep} is none of {', '.join(KEEP)}.")
        file = writable(out or Path(f"{data.name.split('.')[0]}.model"))
        begin = time.perf_counter()
        table = read(data, target, drop=drop or (), missing=missing or (), format=format)
        with remarked() as remarks:
            model = fitting.fit_table(table, settings)
        model.save(file, keep=keep)
        found = {**summary.facts(model), "model": str(file), "remarks": remarks}
        found["seconds"] = round(time.perf_counter() - begin, 2)
    if as_json:
        say(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        console().print(summary.table(found, data.name))
        say(f"Model: {file} ({summary.size_of(file)}), after {found['seconds']:.1f} s.")
        tell(f"Next: marginpath report {file} {data}, or marginpath predict {file} NEW_DATA")
    if model.classifier.path_.ended is Status.INTERRUPTED:
        raise typer.Exit(INTERRUPTED)
