"""From the content to one html file that asks for nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from ..modelfile import Model
from ..tables.reading import Table
from .content import content

#: The parts of the page's script, which share one scope.
SCRIPT = ("pieces.js", "charts.js", "plane.js", "tables.js", "quality.js", "steps.js")


def render(model: Model, table: Table | None = None, pair: Sequence[str] | None = None) -> str:
    """Return the page of a model as html.

    Parameters
    ----------
    model : Model
    table : Table, optional
        Rows with their classes to judge the model by. Those it was fitted on are judged in any case.
    pair : (str, str), optional
        Two columns of numbers to draw the boundary in; by default the most telling ones.

    Examples
    --------
    >>> import marginpath as mp
    >>> from sklearn.datasets import load_iris
    >>> data = load_iris(as_frame=True)
    >>> table = Table("iris", data.data, data.target_names[data.target], "species")
    >>> model = Model.fit(table, mp.LinearMarginPathClassifier(random_state=0))
    >>> render(model).startswith("<!doctype html>")
    True
    """
    data = json.dumps(content(model, table, pair), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    parts = {
        "uplot_css": _asset("uPlot.min.css"),
        "uplot_js": _asset("uPlot.iife.min.js"),
        "css": _asset("page.css"),
        "js": "\n".join(map(_asset, SCRIPT)),
        "data": data.replace("<", "\\u003c"),
    }
    return Template(_asset("page.html")).substitute(parts)


def write(
    model: Model,
    file: str | os.PathLike[str],
    table: Table | None = None,
    pair: Sequence[str] | None = None,
) -> Path:
    """Write the page of a model to a file, and return where it is."""
    target = Path(file)
    html = render(model, table, pair)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(html, encoding="utf-8")
    return target


def _asset(name: str) -> str:
    return files("marginpath.app.report").joinpath("assets", name).read_text(encoding="utf-8")
