"""The picture of Figures 3 and 4: margin and test error against updates, a row a noise level."""

from __future__ import annotations

from typing import Any

import numpy as np

from .drawing import BLUE, GREEN, ORANGE, SKY, VERMILION, empty_figure, legend_above, tidy
from .mixture_runs import ALGORITHMS, NOISE, MixtureRuns

# From the strongest regularization to the weakest, and from the widest line to the narrowest: where lines
# agree, all can be seen.
_COLORS = {4: (BLUE, SKY, ORANGE, VERMILION), 5: (BLUE, SKY, GREEN, ORANGE, VERMILION)}
_COLUMNS = [(name, i) for name in ("margin", "error") for i in range(len(ALGORITHMS))]
_SAID = {"margin": r"margin $M(w_t/\|w_t\|)$", "error": "test error"}


def draw_first(table: MixtureRuns) -> Any:
    """Draw the first draw, as the paper does."""
    return _draw(table, bands=False)


def draw_bands(table: MixtureRuns) -> Any:
    """Draw the mean over all draws, with a band that holds the middle 80 % of them."""
    return _draw(table, bands=True)


def _draw(table: MixtureRuns, bands: bool) -> Any:
    figure = empty_figure(10.2, 7.2)
    figure.get_layout_engine().set(w_pad=0.08)
    panels = figure.subplots(len(NOISE), len(_COLUMNS), sharex=True)
    lines: dict[str, Any] = {}
    for j, (name, algorithm) in enumerate(_COLUMNS):
        values = getattr(table, name)[:, algorithm]
        for i in range(len(NOISE)):
            for k, label in enumerate(table.series):
                lines[label] = _line(panels[i, j], table.steps, values[:, i, k], k, len(table.series), bands)
            tidy(panels[i, j])
        panels[0, j].set_title(f"{ALGORITHMS[algorithm]}\n{_SAID[name]}", fontsize=10.5, loc="left")
        panels[-1, j].set_xlabel("updates $t$")
    panels[0, 0].set(xscale="log", xlim=(1, table.steps[-1]))
    for i, noise in enumerate(NOISE):
        panels[i, 0].set_ylabel(f"{noise:.0%} of the labels wrong".replace("%", " %"))
        for pair in (panels[i, :2], panels[i, 2:]):
            _share_limits(pair)
    legend_above(figure, lines, len(table.series))
    return figure


def _line(panel: Any, steps: np.ndarray, values: np.ndarray, k: int, count: int, bands: bool) -> Any:
    color = _COLORS[count][k]
    dashes = (0, (3, 1.6)) if k == count - 1 else "-"
    width = 3.2 - 1.9 * k / (count - 1)
    shown = values.mean(axis=0) if bands else values[0]
    if bands:
        low, high = np.quantile(values, (0.1, 0.9), axis=0)
        panel.fill_between(steps, low, high, color=color, alpha=0.18, linewidth=0)
    return panel.plot(steps, shown, color=color, linestyle=dashes, linewidth=width, zorder=3 + k)[0]


def _share_limits(panels: Any) -> None:
    """Give both algorithms the same scale."""
    low, high = zip(*(panel.get_ylim() for panel in panels), strict=True)
    for panel in panels:
        panel.set_ylim(min(low), max(high))
    panels[1].tick_params(labelleft=False)
