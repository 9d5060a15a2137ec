"""The comparison of stopping rules as text and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .drawing import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, empty_figure, legend_above, tidy
from .tables import csv_text, markdown_table, page_pieces, page_text, terminal_table

if TYPE_CHECKING:
    from .stopping_rules import StoppingRules

_STYLES: dict[str, tuple[str, str]] = {
    "5-fold cross-validation": (BLUE, "o"),
    "hold-out, 10 %": (SKY, "s"),
    "leave-one-out bound": (GREEN, "D"),
    "quasi-optimality": (PURPLE, "v"),
    "discrepancy, p": (ORANGE, "^"),
    "discrepancy, p + best error": (VERMILION, "P"),
    "last step": (GREY, "x"),
}


def printed(table: StoppingRules) -> Any:
    """Return the mean excess errors as a table for the terminal."""
    head, lines = _lines(table)
    plain = ([cell.replace("*", "") for cell in line] for line in lines)
    return terminal_table("Excess test error over the best step, in percentage points", head, plain, words=2)


def rules_csv(table: StoppingRules) -> str:
    """Return one line a source, level, draw and rule."""
    names = list(_rules())
    lines = [
        [
            source,
            level,
            draw,
            name,
            *(float(x[s, p, draw, r]) for x in (table.error, table.excess, table.step)),
        ]
        for s, source in enumerate(table.sources)
        for p, level in enumerate(table.levels)
        for draw in range(table.best.shape[2])
        for r, name in enumerate(names)
    ]
    return csv_text(["data", "flips", "draw", "rule", "test_error", "excess", "step"], lines)


def markdown(table: StoppingRules) -> str:
    """Return the pieces of the page, each between two comments that name it."""
    return page_pieces({"excess": markdown_table(*_lines(table)), "overall": _overall(table)})


def draw(table: StoppingRules) -> Any:
    """Draw the mean excess error against the share of flips, a panel for each of the data."""
    figure = empty_figure(10.2, 3.9)
    panels = figure.subplots(1, len(table.sources), squeeze=False)[0]
    names, lines = list(_rules()), {}
    for s, (panel, source) in enumerate(zip(panels, table.sources, strict=True)):
        mean = 100 * table.excess[s].mean(axis=1)
        for name, (color, marker) in _STYLES.items():
            values = np.maximum(mean[:, names.index(name)], 0.01)
            style = {"color": color, "marker": marker, "markersize": 5, "linewidth": 1.6}
            (lines[name],) = panel.plot(range(len(table.levels)), values, **style, clip_on=False)
        panel.set_xticks(range(len(table.levels)), [f"{100 * p:.0f}" for p in table.levels])
        panel.set(yscale="log", ylim=(0.01, 100), xlabel="flipped labels, %")
        panel.set_yticks([0.01, 0.1, 1, 10, 100], ["≤ 0.01", "0.1", "1", "10", "100"])
        panel.minorticks_off()
        panel.set_title(f"{source}, $n$ = {table.samples[s]:,}", loc="left", fontsize=10.5)
        tidy(panel)
    panels[0].set_ylabel("excess test error, percentage points")
    legend_above(figure, lines, 4)
    return figure


def _lines(table: StoppingRules) -> tuple[list[str], list[list[str]]]:
    head = ["data", "rule", *(f"{level:.0%} flips" for level in table.levels)]
    lines = []
    for s, source in enumerate(table.sources):
        best = 100 * table.best[s].mean(axis=1)
        lines.append([source, "*error of the best step*", *(f"*{x:.2f} %*" for x in best)])
        mean = 100 * table.excess[s].mean(axis=1)
        error = 100 * table.excess[s].std(axis=1, ddof=1) / np.sqrt(table.best.shape[2])
        for r, name in enumerate(_rules()):
            cells = [f"{m:.2f} ± {e:.2f}" for m, e in zip(mean[:, r], error[:, r], strict=True)]
            lines.append(["", page_text(name), *cells])
    return head, lines


def _overall(table: StoppingRules) -> str:
    """Return the rules over all data and levels, the smallest mean first."""
    excess = 100 * table.excess.reshape(-1, table.excess.shape[-1])
    cells = 100 * table.excess.mean(axis=2).reshape(-1, table.excess.shape[-1])
    order = np.argsort(excess.mean(axis=0))
    names = list(_rules().items())
    lines = [
        [page_text(names[r][0]), names[r][1], f"{excess[:, r].mean():.2f}", f"{cells[:, r].max():.2f}"]
        for r in order
    ]
    return markdown_table(["rule", "has to know", "mean excess", "largest, of data and level"], lines)


def _rules() -> dict[str, str]:
    from .stopping_rules import RULES

    return RULES
