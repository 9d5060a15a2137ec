"""The losses of Section 3: exponential, logistic and hinge, as functions of the margin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import marginpath as mp

from .drawing import BLUE, GREEN, VERMILION, empty_figure, legend_above, picture_files, tidy
from .pieces import Pieces
from .settings import PROGRAM, Settings
from .tables import csv_text, terminal_table

_LOSSES: dict[str, tuple[Any, str, str, Any]] = {
    "exponential": (mp.Exponential(), r"exponential $e^{-a}$", GREEN, (0, (1.5, 1.2))),
    "logistic": (mp.Logistic(), r"logistic $\log(1 + e^{-a})$", BLUE, (0, (5, 1.5))),
    "hinge": (mp.Hinge(), r"hinge $\max(0, 1 - a)$", VERMILION, "-"),
}


@dataclass(frozen=True, eq=False)
class Losses:
    """The values of every loss at some margins."""

    margins: np.ndarray
    values: dict[str, np.ndarray]


def compute(
    settings: Settings = PROGRAM,
    pieces: Pieces | None = None,
    watch: Callable[[str], Any] = lambda text: None,
) -> Losses:
    """Return the losses on [−2, 3]; the settings do not change them."""
    margins = np.linspace(-2, 3, 201)
    return Losses(margins, {name: loss.value(margins) for name, (loss, *_) in _LOSSES.items()})


def draw(table: Losses) -> Any:
    """Draw the losses against the margin."""
    figure = empty_figure(6.0, 3.6)
    panel = figure.add_subplot()
    lines = {}
    for name, (_, label, color, dashes) in _LOSSES.items():
        (line,) = panel.plot(table.margins, table.values[name], color=color, linestyle=dashes, linewidth=2.2)
        lines[label] = line
    panel.set(xlim=(-2, 3), ylim=(0, 4), xlabel=r"margin $a = y\,f(x)$", ylabel=r"loss $\ell(a)$")
    tidy(panel)
    legend_above(figure, lines, 3)
    return figure


def printed(table: Losses) -> Any:
    """Return the losses at a few margins for the terminal."""
    lines = (
        [f"{table.margins[i]:g}", *(f"{values[i]:.3f}" for values in table.values.values())]
        for i in range(0, len(table.margins), 40)
    )
    return terminal_table("Losses of the margin", ["margin", *table.values], lines, words=0)


def files(table: Losses) -> dict[str, bytes]:
    """Return the table and the picture, by name of file."""
    lines = np.column_stack([table.margins, *table.values.values()])
    text = csv_text(["margin", *table.values], lines)
    return {"losses.csv": text.encode()} | picture_files(draw(table), "losses")
