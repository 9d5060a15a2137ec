"""Figure 2: normalized error, margin gap and angle gap on the toy set against steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import marginpath as mp
from marginpath.theory import Bounds, Theorem1, Theorem2, constants

from .drawing import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    VERMILION,
    empty_figure,
    legend_above,
    picture_files,
    tidy,
)
from .pieces import Pieces
from .settings import PROGRAM, Settings
from .tables import csv_text, terminal_table
from .toy_runs import ToyRuns, toy_runs

#: Colour, dashes and width of every scheme.
STYLES: dict[str, tuple[str, Any, float]] = {
    "Algorithm 1": (GREEN, "-", 2.0),
    "Algorithm 2, α = 10": (VERMILION, "-", 1.6),
    "Algorithm 2, α = 30": (PURPLE, "-", 1.6),
    "Algorithm 2, α = 50": (BLUE, "-", 1.6),
    "Algorithm 2, restarted": (ORANGE, (0, (4, 1.2)), 2.0),
}
_DOTTED = (0, (1, 1.4))
_FLOOR, _TOP = 1e-15, 100.0
_QUANTITIES: dict[str, tuple[str, Callable[[ToyRuns], np.ndarray]]] = {
    "error": (r"normalized error $\| w_t/\|w_t\| - w_*/\|w_*\| \|$", ToyRuns.error),
    "margin_gap": (r"margin gap $M(w_*/\|w_*\|) - M(w_t/\|w_t\|)$", ToyRuns.margin_gap),
    "angle_gap": (r"angle gap $1 - \cos\angle(w_t, w_*)$", ToyRuns.angle_gap),
}


@dataclass(frozen=True, eq=False)
class Figure2:
    """The runs, and what is proved of them: scheme → bounds (quantities, steps), infinite before t*."""

    runs: ToyRuns
    bounds: dict[str, np.ndarray]


def compute(
    settings: Settings = PROGRAM,
    pieces: Pieces | None = None,
    watch: Callable[[str], Any] = lambda text: None,
) -> Figure2:
    """Run all schemes on the toy set, and evaluate the bounds of Theorems 1 and 2."""
    watch("toy set")
    runs = toy_runs(settings, pieces or Pieces())
    return Figure2(runs, _bounds(settings, runs))


def _bounds(settings: Settings, runs: ToyRuns) -> dict[str, np.ndarray]:
    """Return the careful form of the bounds; Theorem 2 covers the inertia of the text only."""
    known = constants(mp.Problem(mp.Gram.linear(runs.X), runs.y))
    if 1 / settings.schedule(mp.PowerDecay(settings.toy_lambda0))(1) < known.u_max:
        return {}
    bounds: dict[str, Bounds] = {"Algorithm 1": Theorem1(known, settings.toy_step / known.L)}
    if settings.name == "text":
        for alpha in settings.toy_alphas:
            bounds[f"Algorithm 2, α = {alpha:g}"] = Theorem2(known, 1 / known.L, alpha)
    return {name: _evaluated(bound, runs.steps) for name, bound in bounds.items()}


def _evaluated(bound: Bounds, steps: np.ndarray) -> np.ndarray:
    angle = bound.angle_gap(steps)
    return np.stack([np.sqrt(2 * angle), bound.margin_gap(steps), angle])


def draw(table: Figure2) -> Any:
    """Draw the three quantities, a line a scheme; bounds are dotted."""
    figure = empty_figure(10.2, 4.3)
    runs, lines = table.runs, {}
    for i, (panel, name) in enumerate(zip(figure.subplots(1, 3), _QUANTITIES, strict=True)):
        title, quantity = _QUANTITIES[name]
        for scheme, values in zip(runs.schemes, quantity(runs), strict=True):
            color, dashes, width = STYLES[scheme]
            shown = np.where(values > _FLOOR, values, np.nan)
            (lines[scheme],) = panel.plot(runs.steps, shown, color=color, linestyle=dashes, linewidth=width)
        for scheme, bound in table.bounds.items():
            panel.plot(runs.steps, bound[i], color=STYLES[scheme][0], linestyle=_DOTTED, linewidth=1.4)
        panel.set(xlim=(0, runs.steps[-1]), ylim=(_FLOOR, _TOP), yscale="log", xlabel="updates $t$")
        panel.set_ylabel(title)
        tidy(panel)
    if table.bounds:
        (lines["proved bounds"],) = panel.plot([], [], color=BLACK, linestyle=_DOTTED, linewidth=1.4)
    legend_above(figure, lines, 3)
    return figure


def printed(table: Figure2) -> Any:
    """Return the gaps at the end for the terminal."""
    title = f"Figure 2: gaps after {table.runs.steps[-1]:,} updates"
    head = ["scheme", *(name.replace("_", " ") for name in _QUANTITIES)]
    curves = _curves(table).items()
    return terminal_table(
        title, head, ([name, *(f"{x:.1e}" for x in values[:, -1])] for name, values in curves)
    )


def files(table: Figure2) -> dict[str, bytes]:
    """Return the table and the picture, by name of file."""
    steps, curves = table.runs.steps.tolist(), _curves(table).items()
    lines = ((name, t, *values[:, t - 1]) for name, values in curves for t in steps)
    text = csv_text(["scheme", "step", *_QUANTITIES], lines)
    return {"fig2.csv": text.encode()} | picture_files(draw(table), "fig2")


def _curves(table: Figure2) -> dict[str, np.ndarray]:
    """Return what was measured and what is proved: name → (quantities, steps)."""
    measured = np.stack([quantity(table.runs) for _, quantity in _QUANTITIES.values()], axis=1)
    curves = dict(zip(table.runs.schemes, measured, strict=True))
    return curves | {f"{name}, proved": bound for name, bound in table.bounds.items()}
