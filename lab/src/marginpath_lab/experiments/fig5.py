"""Figure 5: margin and test error on MNIST and HTRU2, against steps and against seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .drawing import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    PURPLE,
    VERMILION,
    empty_figure,
    legend_above,
    picture_files,
    readable_logarithm,
    tidy,
)
from .pieces import Pieces
from .real_runs import DATA_SETS, METHODS, RealRun, real_runs
from .settings import PROGRAM, Settings
from .tables import csv_text, markdown_table, terminal_table

# The paper's colours, as far as all can tell them apart; what is added here is thinner.
_STYLES: dict[str, tuple[str, Any, float]] = {
    "Algorithm 1": (GREEN, "-", 2.2),
    "Algorithm 2": (VERMILION, "-", 2.2),
    "normalized gradient": (BLUE, "-", 1.6),
    "accelerated mirror descent": (PURPLE, "-", 1.6),
    "coordinate descent": (BLACK, (0, (1.2, 1.2)), 1.8),
    "homotopic subgradient": (GREY, (0, (5, 1.5)), 1.4),
}


@dataclass(frozen=True, eq=False)
class Figure5:
    """A run for every method on every data set that was reached, and why others were not."""

    runs: list[RealRun]
    left_out: dict[str, str]

    @property
    def data_sets(self) -> list[str]:
        """The names of those that were reached."""
        return [name for name in DATA_SETS if any(run.data == name for run in self.runs)]


def compute(
    settings: Settings = PROGRAM,
    pieces: Pieces | None = None,
    watch: Callable[[str], Any] = lambda text: None,
) -> Figure5:
    """Run every method on every data set that can be reached."""
    return Figure5(*real_runs(settings, pieces or Pieces(), watch=watch))


def draw(table: Figure5) -> Any:
    """Draw margin and test error against updates."""
    return _draw(table, "steps", "updates $t$")


def draw_seconds(table: Figure5) -> Any:
    """Draw margin and test error against the seconds spent in updates."""
    return _draw(table, "seconds", "seconds")


def _draw(table: Figure5, across: str, label: str) -> Any:
    figure = empty_figure(10.2, 5.6)
    names = table.data_sets
    panels = figure.subplots(2, len(names), sharex=True, squeeze=False)
    lines: dict[str, Any] = {}
    for (upper, lower), name in zip(panels.T, names, strict=True):
        for run in (run for run in table.runs if run.data == name):
            color, dashes, width = _STYLES[run.method]
            style = {"color": color, "linestyle": dashes, "linewidth": width}
            x = getattr(run, across)
            (lines[run.method],) = upper.plot(x, run.margin, **style)
            lower.plot(x, run.error, **style)
        upper.set_title(name, loc="left", fontsize=10.5)
        lower.set_xlabel(label)
        _limit(upper, [run.margin for run in table.runs if run.data == name and run.method in _STYLES])
        lower.set_yscale("log")
        readable_logarithm(lower.yaxis)
        for panel in (upper, lower):
            panel.set_xscale("log")
            tidy(panel)
    panels[0, 0].set_ylabel(r"margin $M(w_t/\|w_t\|)$")
    panels[1, 0].set_ylabel("test error")
    legend_above(figure, {name: lines[name] for name in METHODS if name in lines}, 3)
    return figure


def _limit(panel: Any, margins: list[np.ndarray]) -> None:
    """Leave out the first updates where they would flatten all that follows."""
    late = np.concatenate([margin[len(margin) // 5 :] for margin in margins])
    low, high = float(late.min()), float(late.max())
    panel.set_ylim(low - 0.04 * (high - low), high + 0.06 * (high - low))


def printed(table: Figure5) -> Any:
    """Return margin, test error and seconds at the end for the terminal."""
    from rich.console import Group

    ends = {(run.method, run.data): run for run in table.runs}
    lines = []
    for method in METHODS if table.runs else ():
        runs = [ends[method, name] for name in table.data_sets]
        cells = (f"{run.margin[-1]:+.4f}  {run.error[-1]:.4f}  {run.seconds[-1]:.0f} s" for run in runs)
        lines.append([method, *cells])
    title = "Figure 5: margin, test error, seconds at the end"
    shown = terminal_table(title, ["method", *table.data_sets], lines)
    missing = [f"Left out: {name}. {why}" for name, why in table.left_out.items()]
    return Group(*([shown] if table.runs else ["Figure 5: no data set was reached."]), *missing)


def markdown(table: Figure5) -> str:
    """Return margins and test errors after 200 updates and at the end, as a table of a page."""
    head = [
        "data",
        "method",
        "margin at 200",
        "test error at 200",
        "updates",
        "margin",
        "test error",
        "seconds",
    ]
    rows = []
    for run in table.runs:
        i = int(np.searchsorted(run.steps, min(200, run.steps[-1])))
        at, end = (f"{run.margin[k]:+.4f}".replace("-", "−") for k in (i, -1))
        errors = [f"{run.error[k]:.4f}" for k in (i, -1)]
        last = f"{run.steps[-1]:,}"
        rows.append([run.data, run.method, at, errors[0], last, end, errors[1], f"{run.seconds[-1]:.0f}"])
    return markdown_table(head, rows)


def files(table: Figure5) -> dict[str, bytes]:
    """Return the table and the pictures, by name of file; nothing where no data set was reached."""
    if not table.runs:
        return {}
    lines = (
        (run.data, run.method, int(run.steps[i]), run.seconds[i], run.margin[i], run.error[i])
        for run in table.runs
        for i in range(len(run.steps))
    )
    text = {
        "fig5.csv": csv_text(["data", "method", "step", "seconds", "margin", "error"], lines),
        "fig5.md": markdown(table),
    }
    return (
        {name: content.encode() for name, content in text.items()}
        | picture_files(draw(table), "fig5")
        | picture_files(draw_seconds(table), "fig5_seconds")
    )
