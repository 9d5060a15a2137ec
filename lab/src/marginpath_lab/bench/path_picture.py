"""The picture of `path`: the errors along our path, and SVC's on the same line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..experiments.drawing import BLUE, VERMILION, empty_figure, legend_above, tidy
from .measure import Entry

#: What begins the names of the sets that are drawn, and the number of circles on a line.
DRAWN, CIRCLES = ("phoneme", "credit_data", "ijcnn1", "satimage"), 13


def draw(entries: Sequence[Entry]) -> Any:
    """Draw a panel a set: lines for the errors of our steps, circles for SVC's at 13 of their C."""
    traced = [e for e in entries if e.series]
    chosen = [e for e in traced if e.task.startswith(DRAWN)] or traced[:4]
    figure = empty_figure(3.1 * max(1, len(chosen)), 3.1)
    lines: dict[str, Any] = {}
    for number, entry in enumerate(chosen):
        panel = figure.add_subplot(1, len(chosen), number + 1)
        for part, color in (("test", VERMILION), ("training", BLUE)):
            lines |= _lines(panel, entry, part, color)
        panel.set(xscale="log", xlabel="C")
        panel.set_title(_title(entry.task), loc="left", fontsize=9.5)
        panel.set_ylim(bottom=0)
        panel.yaxis.set_major_formatter("{x:.0f} %")
        tidy(panel)
    legend_above(figure, lines, 4)
    return figure


def _lines(panel: Any, entry: Entry, part: str, color: str) -> dict[str, Any]:
    C, ours, theirs = (
        np.array(entry.series[name], dtype=np.float64)
        for name in ("C", f"{part} error, marginpath", f"{part} error, SVC, tol 1e-5")
    )
    (line,) = panel.plot(C, 100 * ours, color=color, linewidth=2)
    there = np.flatnonzero(~np.isnan(theirs))
    some = there[np.unique(np.linspace(0, len(there) - 1, CIRCLES).round().astype(int))]
    style = {"markersize": 7, "markerfacecolor": "none", "markeredgewidth": 1.4, "color": color}
    (circles,) = panel.plot(C[some], 100 * theirs[some], "o", **style)
    return {f"{part} error, one path": line, f"{part} error, SVC at that C": circles}


def _title(task: str) -> str:
    """Return the name of the set and its size, on two lines."""
    name, _, rest = task.partition(", ")
    bold = name.replace("_", r"\ ")  # TeX drops plain spaces
    return f"$\\bf{{{bold}}}$\n{rest}"
