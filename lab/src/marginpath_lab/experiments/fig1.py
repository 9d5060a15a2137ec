"""Figure 1: the toy set, the separating lines of the last iterates, and w*."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .drawing import BLACK, GREY, empty_figure, picture_files, tidy
from .fig2 import STYLES
from .pieces import Pieces
from .settings import PROGRAM, Settings
from .tables import csv_text, terminal_table
from .toy_runs import SOLUTION, ToyRuns, toy_runs


def compute(
    settings: Settings = PROGRAM,
    pieces: Pieces | None = None,
    watch: Callable[[str], Any] = lambda text: None,
) -> ToyRuns:
    """Run all schemes on the toy set."""
    watch("toy set")
    return toy_runs(settings, pieces or Pieces())


def draw(table: ToyRuns) -> Any:
    """Draw the samples and one dashed line a scheme; lines that agree show all their colours."""
    figure = empty_figure(6.6, 4.0)
    panel = figure.add_subplot()
    for sign, fill, marker, label in ((1, GREY, "o", "class +1"), (-1, "white", "s", "class −1")):
        points = table.X[table.y == sign]
        panel.scatter(*points.T, s=20, c=fill, marker=marker, edgecolors=GREY, linewidths=1, label=label)
    support = table.X[np.abs(table.y * (table.X @ SOLUTION) - 1) < 1e-9]
    panel.scatter(*support.T, s=120, facecolors="none", edgecolors=BLACK, label="support vectors")

    reach = 1.08 * float(np.abs(table.X).max())
    across = np.array([-2 * reach, 2 * reach])
    wide = {"color": "#BBBBBB", "linewidth": 5, "solid_capstyle": "butt", "zorder": 1}
    panel.plot(across, -across, label="line of $w_*$", **wide)
    dash, count = 3.2, len(table.schemes)
    for i, (name, w) in enumerate(zip(table.schemes, table.w[:, -1], strict=True)):
        dashes = (i * dash, (dash, (count - 1) * dash))  # lines that agree take turns
        color = STYLES[name][0]
        panel.plot(across, -across * w[0] / w[1], color=color, linestyle=dashes, linewidth=2.2, label=name)
    panel.annotate(
        "", SOLUTION * 2, (0, 0), arrowprops={"arrowstyle": "-|>", "color": BLACK, "linewidth": 1.6}
    )
    panel.annotate("$w_*$", SOLUTION, xytext=(-16, 6), textcoords="offset points", color=BLACK, fontsize=12)
    panel.set(xlim=(-reach, reach), ylim=(-reach, reach), xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    tidy(panel)
    legend = figure.legend(loc="outside right center", frameon=False, handlelength=2.2)
    for handle in legend.get_lines():
        handle.set_linestyle("-")
    return figure


def degrees(table: ToyRuns) -> np.ndarray:
    """Return the angle between the last iterate of every scheme and w*, in degrees."""
    return np.asarray(np.degrees(2 * np.arcsin(table.error()[:, -1] / 2)))


def printed(table: ToyRuns) -> Any:
    """Return the last iterates for the terminal."""
    title = f"Figure 1: iterates after {table.steps[-1]:,} updates"
    rows = zip(table.schemes, table.w[:, -1], degrees(table), strict=True)
    lines = ([name, f"{w[0]:.6f}", f"{w[1]:.6f}", f"{angle:.1e}"] for name, w, angle in rows)
    return terminal_table(title, ["scheme", "w1", "w2", "degrees from w*"], lines)


def files(table: ToyRuns) -> dict[str, bytes]:
    """Return the iterates, the samples and the picture, by name of file."""
    rows = zip(table.schemes, table.w[:, -1], degrees(table), table.margin()[:, -1], strict=True)
    last = csv_text(
        ["scheme", "w1", "w2", "degrees", "margin"], ((name, *w, angle, m) for name, w, angle, m in rows)
    )
    samples = csv_text(["y", "x1", "x2"], ((y, *x) for y, x in zip(table.y, table.X, strict=True)))
    text = {"fig1.csv": last, "fig1_samples.csv": samples}
    return {name: content.encode() for name, content in text.items()} | picture_files(draw(table), "fig1")
