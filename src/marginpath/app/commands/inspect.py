"""The command inspect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ..tables.reading import NotThere
from .talking import console, readable, say, tell, told_plainly

EPILOG = """Examples:

marginpath inspect flowers.model

marginpath inspect flowers.model --steps"""


def inspect(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that marginpath fit wrote.")],
    steps: Annotated[bool, typer.Option("--steps", help="List all the steps too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what a model is: its classes, the step that was kept and why, its columns and which matter."""
    with told_plainly():
        readable(model)
        from ..modelfile import Model
        from . import quantities, summary

        fitted: Any = Model.load(model)
        if steps and fitted.is_slim:
            raise NotThere("--steps: the file has no steps. Write it with: marginpath fit --keep path")
        found = quantities.facts(fitted) if fitted.is_regression else summary.facts(fitted)
    if fitted.age:
        tell(f"Note: {fitted.age}")
    if as_json:
        say(json.dumps(found, ensure_ascii=False, indent=2))
        return
    title = f"{model.name}, fitted on {fitted.source}"
    console().print(quantities.lines(found) if fitted.is_regression else summary.table(found, title))
    if fitted.columns:
        console().print(summary.columns_table(fitted))
    if steps:
        console().print((quantities if fitted.is_regression else summary).steps_table(fitted))
