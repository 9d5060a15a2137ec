"""The picture of restarts: margin gap against updates, a panel a problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .drawing import BLUE, GREY, ORANGE, SKY, VERMILION, empty_figure, legend_above, tidy
from .trajectories import FLOOR

if TYPE_CHECKING:
    from .restart import Known, Table

_STYLES: dict[str, tuple[str, Any, float]] = {
    "Algorithm 1": (GREY, "-", 1.6),
    "α = 3": (SKY, "-", 1.4),
    "α = 10": (ORANGE, "-", 1.4),
    "α = 30": (BLUE, (0, (5, 1.5)), 1.6),
    "α = 50": (BLUE, (0, (1.2, 1.2)), 1.8),
    "gradient restart": (VERMILION, "-", 2.4),
}


def draw(table: Table) -> Any:
    """Draw one panel a problem, its updates up to twice what the slower of the two best needs."""
    columns = min(4, len(table.problems))
    rows = -(-len(table.problems) // columns)
    figure = empty_figure(3.1 * columns, 2.7 * rows + 0.5)
    panels = np.atleast_1d(figure.subplots(rows, columns, sharey=True)).ravel()
    lines: dict[str, Any] = {}
    for panel, one in zip(panels, table.problems, strict=False):
        for method, (color, dashes, width) in _STYLES.items():
            gaps = table.row(one.name, method).gaps
            style = {"color": color, "linestyle": dashes, "linewidth": width}
            (lines[method],) = panel.plot(np.arange(len(gaps)), gaps, **style)
        _finish(panel, one, _end(table, one.name))
    for panel in panels[len(table.problems) :]:
        panel.set_visible(False)
    for panel in panels[::columns]:
        panel.set_ylabel("margin gap")
    legend_above(figure, lines, len(lines))
    return figure


def _end(table: Table, problem: str) -> int:
    rows = table.best_fixed(problem), table.row(problem, "gradient restart")
    return int(1.6 * max(row.certified or len(row.gaps) for row in rows))


def _finish(panel: Any, one: Known, end: int) -> None:
    panel.set(yscale="log", xlim=(0, end), ylim=(FLOOR, 1))
    panel.set_yticks([1e0, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10])
    panel.minorticks_off()
    panel.set_title(one.title, loc="left", fontsize=9.5)
    panel.set_xlabel("updates $t$")
    tidy(panel)
