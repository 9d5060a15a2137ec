"""The command demo."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from . import FAILED
from .talking import console, tell


def demo(
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", file_okay=False, help="Folder for path.png and report.html."),
    ] = Path("demo"),
) -> None:
    """Fit and certify a path on data that ship with scikit-learn; print it, draw it, make a page."""
    from .. import demo as example  # it takes a while to import

    result = example.compute()
    console().print(example.table(result))
    console().print(example.summary(result), markup=False)
    for what, write in (("picture", partial(example.write, result)), ("page", example.write_page)):
        try:
            console().print(f"{what.capitalize()}: {write(out)}", markup=False, soft_wrap=True)
        except (ImportError, OSError) as error:
            tell(f"No {what}. {error}")
            raise typer.Exit(FAILED) from None
    console().print("Open the page in a browser and move its slider.")
