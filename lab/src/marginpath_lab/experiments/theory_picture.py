"""The pictures of bound against reality, one a theorem, and of Tikhonov's side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .drawing import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, empty_figure, legend_above, tidy

if TYPE_CHECKING:
    from .theory_bounds import Convergence, Stability, TheoryBounds

_NAMES = {
    "distance": r"$\|w_t - w_*\|\; /\; \|w_*\|$",
    "angle_gap": "angle gap",
    "margin_gap": "margin gap",
}
_FLOOR = 1e-9


def draw(table: TheoryBounds) -> Any:
    """Draw the first of the pictures."""
    return draw_theorem(table.theorem1, 1)


def draw_theorem(runs: Sequence[Convergence], number: int) -> Any:
    """Draw the three quantities of Theorem 1 or 2: a row a problem, a panel a quantity."""
    figure = empty_figure(10.2, 2.75 * len(runs) + 0.4)
    panels = figure.subplots(len(runs), 3, squeeze=False)
    lines: dict[str, Any] = {}
    for row, run in zip(panels, runs, strict=True):
        t = np.arange(len(run.measured["distance"]))
        for panel, (name, label) in zip(row, _NAMES.items(), strict=True):
            scale = run.constants.w_norm if name == "distance" else 1.0
            shown = {
                f"Algorithm {number}": (run.measured[name], BLUE, "-", 2.2),
                f"Theorem {number}": (run.proved[name], VERMILION, "-", 1.8),
                "as printed": (run.printed[name], GREY, (0, (4, 2)), 1.3),
            }
            for key, (values, color, dashes, width) in shown.items():
                above = np.where(values / scale > _FLOOR, values / scale, np.nan)
                (lines[key],) = panel.plot(t[1:], above[1:], color=color, linestyle=dashes, linewidth=width)
            panel.set(xscale="log", yscale="log", ylabel=label, xlabel="updates $t$", xlim=(1, t[-1]))
            panel.set_ylim(_FLOOR, 30)
            panel.set_yticks([1e-8, 1e-6, 1e-4, 1e-2, 1])
            panel.minorticks_off()
            tidy(panel)
        row[0].set_title(run.title, loc="left", fontsize=10.5)
    legend_above(figure, lines, 3)
    return figure


def draw_stability(table: TheoryBounds) -> Any:
    """Draw distance against step for some N, and the best error and step against N."""
    figure = empty_figure(10.2, 2.9 * len(table.stability) + 0.3)
    panels = figure.subplots(len(table.stability), 3, squeeze=False)
    for row, one in zip(panels, table.stability, strict=True):
        _trajectories(row[0], one)
        _errors(row[1], one)
        _best_steps(row[2], one)
        for panel in row:
            tidy(panel)
    return figure


def _trajectories(panel: Any, one: Stability) -> None:
    t = np.arange(one.mean.shape[1])
    for N, color in zip((1, len(one.flips) // 2, len(one.flips)), (GREEN, ORANGE, VERMILION), strict=True):
        (line,) = panel.plot(t[1:], one.mean[N - 1, 1:], color=color, linewidth=2, label=f"$N$ = {N}")
        panel.plot(t[1:], one.bound[N - 1, 1:], color=line.get_color(), linestyle=(0, (4, 2)), linewidth=1.2)
    panel.set(
        xscale="log", yscale="log", xlabel="updates $t$", ylabel=r"$\|\tilde w_t - w_*\|\; /\; \|w_*\|$"
    )
    panel.set_title(f"{one.title[:1].upper()}{one.title[1:]}", loc="left", fontsize=10.5)
    panel.annotate("the bounds", (t[-1] ** 0.6, one.bound[-1, int(t[-1] ** 0.6)] / 4), color=GREY, fontsize=9)
    panel.legend(frameon=False, fontsize=9, loc="upper left", handlelength=1.6)


def _errors(panel: Any, one: Stability) -> None:
    mean, N = one.best.mean(axis=1), one.flips
    low, high = np.percentile(one.best, (10, 90), axis=1)
    panel.fill_between(N, low, high, color=BLUE, alpha=0.18, linewidth=0)
    panel.plot(N, mean, color=BLUE, marker="o", markersize=4, linewidth=1.8)
    fit = np.polyfit(np.log(N), np.log(mean), 1)
    panel.plot(N, np.exp(np.polyval(fit, np.log(N))), color=BLUE, linestyle=(0, (1.2, 1.2)), linewidth=1.4)
    root = mean[0] * np.sqrt(N)
    panel.plot(N, root, color=GREY, linestyle=(0, (4, 2)), linewidth=1.3)
    panel.annotate(
        r"$\sqrt{N}$", (N[-1], root[-1]), (3, 0), textcoords="offset points", color=GREY, va="center"
    )
    panel.text(0.97, 0.06, f"dotted: $N^{{{fit[0]:.2f}}}$", transform=panel.transAxes, color=BLUE, ha="right")
    panel.set(
        xscale="log", yscale="log", xlabel="flipped labels $N$", ylabel=r"smallest distance / $\|w_*\|$"
    )
    panel.set_xticks([1, 2, 5, 10], ["1", "2", "5", "10"])
    panel.set_xlim(0.9, N[-1] * 1.25)
    ticks = [y for y in (0.2, 0.3, 0.5, 0.8, 1.2) if low.min() * 0.9 < y < root[-1] * 1.1]
    panel.set_yticks(ticks, [str(y) for y in ticks])
    panel.minorticks_off()


def _best_steps(panel: Any, one: Stability) -> None:
    low, median, high = np.percentile(one.when, (10, 50, 90), axis=1)
    panel.fill_between(one.flips, low, high, color=PURPLE, alpha=0.2, linewidth=0)
    panel.plot(one.flips, median, color=PURPLE, marker="o", markersize=4, linewidth=1.8)
    panel.set(yscale="log", xlabel="flipped labels $N$", ylabel="best step, median")
    panel.set_xticks([1, 4, 7, 10])


def draw_tikhonov(table: TheoryBounds) -> Any:
    """Draw norm, distance and angle gap of the minimisers against λ."""
    figure = empty_figure(10.2, 3.1)
    panels = figure.subplots(1, 3)
    styles = {"hinge": (BLUE, "-"), "logistic": (ORANGE, "-"), "exponential": (GREEN, (0, (4, 2)))}
    lines: dict[str, Any] = {}
    for name, side in table.tikhonov.items():
        color, dashes = styles[name]
        for panel, values in zip(panels, (side.norm, side.distance, side.angle_gap), strict=True):
            shown = np.where((values > _FLOOR) | (panel is not panels[2]), values, np.nan)
            (lines[f"{name} loss"],) = panel.plot(
                side.lambdas, shown, color=color, linestyle=dashes, linewidth=2
            )
    w_norm = table.theorem1[0].constants.w_norm
    panels[0].axhline(w_norm, color=GREY, linewidth=1, linestyle=(0, (1.2, 1.2)))
    panels[0].annotate(r"$\|w_*\|$", (1e2, w_norm), (0, 4), textcoords="offset points", color=GREY)
    for panel, label in zip(panels, (r"$\|w_\lambda\|$", r"$\|w_\lambda - w_*\|$", "angle gap"), strict=True):
        panel.set(xscale="log", xlabel=r"$\lambda$", ylabel=label)
        panel.set_xticks([1e2, 1e-1, 1e-4, 1e-7])
        panel.invert_xaxis()
        tidy(panel)
    panels[2].set_yscale("log")
    legend_above(figure, lines, 3)
    return figure
