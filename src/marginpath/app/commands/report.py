"""The command report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from ..tables.reading import NotThere, Table, Unusable
from . import fitting, groups
from .predict import read_for
from .talking import readable, remarked, say, tell, told_plainly, writable

if TYPE_CHECKING:
    from ..modelfile import Model

EPILOG = """Examples:

marginpath report flowers.model new.csv -o report.html

marginpath report flowers.csv --target species

marginpath report flowers.model --plane petal_length,petal_width"""


@groups.with_groups
def report(
    first: Annotated[
        Path, typer.Argument(metavar="MODEL|DATA", help="A model; or a table to fit first, with --target.")
    ],
    reading: groups.Reading,
    columns: groups.Columns,
    path: groups.ShortPath,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]", help="With a model: rows with their classes or values to judge it by."
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="HTML", help="The page to write.")] = Path(
        "report.html"
    ),
    plane: Annotated[
        str | None,
        typer.Option("--plane", metavar="A,B", help="Two columns of numbers to draw the boundary in."),
    ] = None,
    test: Annotated[
        float,
        typer.Option(
            "--test", min=0, max=0.9, help="With DATA alone: the share of rows to keep for the test."
        ),
    ] = 0.25,
) -> None:
    """Write a page that shows a path step by step: errors, margins, boundary, and labels to check.

    It is one html file that needs no network. Open it in any browser and move the slider.
    """
    with told_plainly():
        settings = fitting.Settings.of(reading, columns, path)
        writable(out)
        readable(first, data)
        from .. import report as pages
        from ..modelfile import Model, is_model
        from ..regressionmodel import RegressionModel
        from . import summary

        pair = None if plane is None else [name.strip() for name in plane.split(",")]
        if is_model(first) or data is not None:
            model = Model.load(first)
            judged = None if data is None else _judged(model, data, reading)
        else:
            table = reading.read(first)
            with remarked():
                model, judged = _fitted(table, settings, test)
        if isinstance(model, RegressionModel):
            if pair is not None:
                raise NotThere(f"--plane is about classes, and {model.target!r} is a quantity.")
            pages.write_quantity(model, out, judged)
        else:
            pages.write(model, out, judged, pair)
        tell(model.reason)
        say(f"Page: {out} ({summary.size_of(out)}). Open it in a browser.")


def _judged(model: Model, data: Path, reading: groups.Reading) -> Table:
    table = read_for(model, data, reading.format, reading.missing or (), reading.encoding)
    if table.y is None:
        raise NotThere(
            f"{data.name} has no column {model.target!r} with the true classes or values, which a report "
            f"compares with."
        )
    if model.is_regression:
        return table.rows(np.flatnonzero(table.labelled))
    known = np.isin(np.asarray([str(label) for label in table.y]), model.classes)
    if not known.any():
        raise Unusable(
            f"None of the classes in {data.name} is one of the model's: {', '.join(model.classes[:8])}."
        )
    if not known.all():
        tell(
            f"Note: {int((~known).sum())} rows have classes that the model does not know; they are left out."
        )
    return table.rows(np.flatnonzero(known))


def _fitted(table: Table, settings: fitting.Settings, test: float) -> tuple[Model, Table | None]:
    """Fit on one part of the rows; the other is for the test."""
    from sklearn.model_selection import train_test_split

    from ..tables.targets import check_target, with_rare
    from . import quantities

    if quantities.is_quantity(table, "auto"):
        return _fitted_quantity(table, settings, test)
    table = with_rare(table, settings.rare, settings.rare_below)
    check_target(table, settings.cv)
    if test == 0:
        return fitting.fit_table(table, settings), None
    try:
        fit, held_out = train_test_split(
            np.arange(table.n_rows), test_size=test, stratify=table.y, random_state=settings.seed
        )
    except ValueError:
        raise Unusable(
            f"{table.n_rows} rows are too few to keep {test:.0%} for a test with every class in it: "
            f"pass --test 0."
        ) from None
    fit, held_out = np.sort(fit), np.sort(held_out)
    model = fitting.fit_table(table.rows(fit), settings)
    return model, replace(table.rows(held_out), name="held-out rows")


def _fitted_quantity(table: Table, settings: fitting.Settings, test: float) -> tuple[Model, Table | None]:
    """Fit a regression on one part of the rows; the other is for the test."""
    from . import quantities

    order = np.random.default_rng(settings.seed).permutation(table.n_rows)
    count = round(test * table.n_rows)
    fit, held_out = np.sort(order[count:]), np.sort(order[:count])
    model = quantities.fit_quantity(table.rows(fit), settings, "auto")
    return model, replace(table.rows(held_out), name="held-out rows") if count else None
