"""The picture of the measured rates: margin gap against updates, a line a method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .drawing import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, empty_figure, spread
from .trajectories import FLOOR

if TYPE_CHECKING:
    from .rates import Curve, Rates

# A family has a colour, its members differ in dashes; the paper's methods and the sweeps are the thick ones.
_SOLID, _DASHED, _DOTTED = "-", (0, (5, 1.5)), (0, (1.2, 1.2))
_STYLES: dict[str, tuple[str, Any, float]] = {
    "gradient descent, exponential": (ORANGE, _SOLID, 1.3),
    "gradient descent, logistic": (ORANGE, _DASHED, 1.3),
    "normalized gradient": (ORANGE, _DOTTED, 1.5),
    "mirror descent": (GREEN, _SOLID, 1.3),
    "accelerated mirror descent": (GREEN, _DASHED, 1.6),
    "perceptron": (PURPLE, _SOLID, 1.3),
    "smooth perceptron": (PURPLE, _DOTTED, 2.0),
    "subgradient": (GREY, _SOLID, 1.3),
    "homotopic subgradient": (GREY, _DASHED, 1.3),
    "Pegasos": (GREY, _DOTTED, 1.5),
    "Algorithm 1": (BLUE, _SOLID, 2.4),
    "Algorithm 2, α = 3": (SKY, _SOLID, 2.4),
    "Algorithm 2, α = 30": (BLUE, _DASHED, 2.4),
    "coordinate descent": (VERMILION, _SOLID, 2.4),
}
_SAID = {"coordinate descent": "coordinate descent, one sweep an update"}
_HEIGHTS = (1e-7, 5e-11, 1e-8, 1e-9)  # of the names beside lines
_TOP = 0.5


def draw(table: Rates) -> Any:
    """Draw the margin gap against updates, the first problem large and labelled: a matplotlib figure."""
    figure = empty_figure(10.2, 5.3)
    rows = max(1, len(table.problems) - 1)
    grid = figure.add_gridspec(rows, 2, width_ratios=(2.1, 1))
    places = [grid[:, 0], *(grid[i, 1] for i in range(len(table.problems) - 1))]
    for place, known in zip(places, table.problems, strict=True):
        panel = figure.add_subplot(place)
        curves = [curve for curve in table.curves if curve.problem == known.name]
        for curve in curves:
            color, dashes, width = _STYLES[curve.method]
            t, gap = _shown(curve)
            panel.plot(t, gap, color=color, linestyle=dashes, linewidth=width, clip_on=False)
        large = known is table.problems[0]
        _finish(panel, known.title, table.steps, large)
        if large:
            _label(panel, curves, table.steps)
    return figure


def _shown(curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    """Return the curve up to where it meets the floor."""
    above = np.flatnonzero(curve.gaps > FLOOR)
    end = above[-1] + 1 if above.size else 1
    return curve.updates[:end], np.clip(curve.gaps[:end], FLOOR, _TOP)


def _finish(panel: Any, title: str, steps: int, large: bool) -> None:
    panel.set(xscale="log", yscale="log", xlim=(1, steps), ylim=(FLOOR, _TOP))
    panel.set_title(title, loc="left", fontsize=12 if large else 10, fontweight="bold" if large else None)
    panel.set_xlabel("updates $t$")
    symbols = r"  $M(w_* / \|w_*\|) - M(w_t / \|w_t\|)$" if large else ""
    panel.set_ylabel(f"margin gap{symbols}")
    panel.set_yticks([10.0**k for k in range(-11, 0, 2)])
    panel.minorticks_off()
    panel.grid(color="#E6E6E6", linewidth=0.8)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def _label(panel: Any, curves: Sequence[Curve], steps: int) -> None:
    """Name the lines that meet the floor early beside them, the others at the right edge."""
    ends = {id(curve): (int(t[-1]), float(g[-1])) for curve in curves for t, g in [_shown(curve)]}
    early = [curve for curve in curves if ends[id(curve)][0] < steps / 2]
    late = [curve for curve in curves if ends[id(curve)][0] >= steps / 2]
    _label_beside(panel, sorted(early, key=lambda curve: ends[id(curve)]))
    _label_at_edge(panel, sorted(late, key=lambda curve: -ends[id(curve)][1]))


def _label_beside(panel: Any, curves: Sequence[Curve]) -> None:
    """Put the first name to the left of its line, the others to the right, not all at one height."""
    for i, curve in enumerate(curves):
        t, gap = _shown(curve)
        k = max(np.flatnonzero(gap > _HEIGHTS[i % len(_HEIGHTS)]), default=0)
        panel.annotate(
            _SAID.get(curve.method, curve.method).replace(", ", "\n"),
            (t[k], gap[k]),
            xytext=(9 if i else -9, 0),
            textcoords="offset points",
            ha="left" if i else "right",
            va="center",
            **_text(curve),
        )


def _label_at_edge(panel: Any, curves: Sequence[Curve]) -> None:
    """Put the names one below the other, each with a thin line to the end of its own."""
    edge = panel.get_yaxis_transform()
    ends = [(t[-1], gap[-1]) for t, gap in map(_shown, curves)]
    heights = spread([float(np.log10(gap)) for _, gap in ends], 0.42, np.log10(FLOOR))
    for curve, end, height in zip(curves, ends, heights, strict=True):
        line = {"arrowstyle": "-", "color": _STYLES[curve.method][0], "linewidth": 0.8}
        panel.annotate(
            curve.method,
            end,
            xytext=(1.06, 10**height),
            textcoords=edge,
            va="center",
            arrowprops=line | {"relpos": (0, 0.5), "shrinkA": 0, "shrinkB": 2},
            **_text(curve),
        )


def _text(curve: Curve) -> dict[str, Any]:
    color, _, width = _STYLES[curve.method]
    return {"color": color, "fontsize": 9.5, "fontweight": "bold" if width > 2 else "normal"}
