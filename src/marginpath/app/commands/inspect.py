"""The command inspect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ..modelfile import Model
from ..tables import NotThere
from . import summary
from .talking import console, say, tell, told_plainly

EPILOG = """Examples:

marginpath inspect flowers.model

marginpath inspect flowers.model --steps"""


def inspect(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file that marginpath fit wrote.")],
    steps: Annotated[bool, typer.Option("--steps", help="List all the steps too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what a model is: its columns, its classes, the step that was kept and why."""
    with told_plainly():
        fitted = Model.load(model)
        if steps and fitted.is_slim:
            raise NotThere("--steps: the file has no steps. Write it with: marginpath fit --keep path")
        found = summary.facts(fitted)
    if fitted.age:
        tell(f"Note: {fitted.age}")
    if as_json:
        say(json.dumps(found, ensure_ascii=False, indent=2))
        return
    console().print(summary.table(found, f"{model.name}, fitted on {fitted.source}"))
    if steps:
        console().print(summary.steps_table(fitted))
