"""Every numerical claim of the paper's Section 6: how it is tested, the number, the verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .claims_mixture import mixture_claims
from .claims_real import DRAWS as REAL_DRAWS
from .claims_real import real_claims
from .claims_toy import toy_claims
from .drawing import GREEN, VERMILION, empty_figure, legend_above, picture_files
from .mixture_runs import DRAWS, mixture_runs
from .pieces import Pieces
from .real_runs import DATA_SETS, PAPER_METHODS, real_runs
from .settings import PROGRAM, Settings
from .settings_page import settings_markdown
from .tables import csv_text, markdown_table, terminal_table
from .verdicts import Claim, Judged, Part

_COLORS: dict[Judged, tuple[str, str]] = {
    "holds": (GREEN, "parts that hold"),
    "open": ("#D0D0D0", "open"),
    "fails": (VERMILION, "parts that fail"),
}


@dataclass(frozen=True, eq=False)
class Claims:
    """The claims, judged; which settings they were judged under; and what data was not reached."""

    settings: str
    claims: list[Claim]
    left_out: dict[str, str]


def compute(
    settings: Settings = PROGRAM,
    pieces: Pieces | None = None,
    watch: Callable[[str], Any] = lambda text: None,
    draws: int = DRAWS,
    real_draws: int = REAL_DRAWS,
    n: int = 600,
    all_data: bool = True,
) -> Claims:
    """Judge all claims; the runs of the figures are used where ``pieces`` has them.

    Without ``all_data``, those about real data are judged by the draws of some of their samples alone, in
    minutes instead of an hour.
    """
    pieces = pieces or Pieces()
    watch("toy sets")
    found = toy_claims(settings, pieces, draws)
    fig3 = mixture_runs(settings, "fig3", pieces, draws, n, lambda text: watch(f"Figure 3, {text}"))
    fig4 = mixture_runs(settings, "fig4", pieces, draws, n, lambda text: watch(f"Figure 4, {text}"))
    found += mixture_claims(settings, fig3, fig4)
    if all_data:
        runs, left_out = real_runs(settings, pieces, methods=PAPER_METHODS, watch=watch)
        names = [name for name in DATA_SETS if any(run.data == name for run in runs)]
    else:
        runs, left_out, names = [], {}, list(DATA_SETS)
    found += real_claims(settings, pieces, runs, names, real_draws, watch)
    return Claims(settings.name, found, left_out)


def draw(table: Claims) -> Any:
    """Draw how many parts of every claim hold, are open, fail."""
    shown = [claim for claim in table.claims if claim.parts]
    figure = empty_figure(8.2, 0.8 + 0.27 * len(shown))
    panel = figure.add_subplot()
    names = [claim.key for claim in shown]
    start = [0.0] * len(shown)
    lines = {}
    for judged, (color, label) in _COLORS.items():
        share = [claim.count(judged) / len(claim.parts) for claim in shown]
        lines[label] = panel.barh(names, share, left=start, color=color, height=0.72)
        start = [a + b for a, b in zip(start, share, strict=True)]
    for i, claim in enumerate(shown):
        text = f"{claim.verdict} ({claim.count('holds')} of {len(claim.parts)})"
        panel.text(1.02, i, text, va="center", fontsize=9)
    panel.set(xlim=(0, 1), ylim=(len(shown) - 0.5, -0.5))
    panel.set_xlabel("share of the parts of a claim")
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.tick_params(axis="y", length=0, labelsize=9)
    legend_above(figure, lines, 3)
    return figure


def printed(table: Claims) -> Any:
    """Return the verdicts for the terminal."""
    from rich.console import Group

    head = ["claim", "verdict", "parts", "weakest part", "number", "95 % interval"]
    lines = []
    for claim in table.claims:
        cells = ["", "", "", ""]
        if claim.parts:
            part, parts = claim.weakest, f"{claim.count('holds')} of {len(claim.parts)}"
            cells = [parts, part.name, number(part.value), interval(part)]
        lines.append([claim.key, claim.verdict, *cells])
    title = f"Claims of Section 6, settings of the {table.settings}"
    shown = terminal_table(title, head, lines, words=len(head))
    return Group(shown, *(f"Left out: {name}. {why}" for name, why in table.left_out.items()))


def files(table: Claims) -> dict[str, bytes]:
    """Return the claims, all their parts, the page and the picture, by name of file."""
    head = ["claim", "where", "statement", "test", "parts", "hold", "open", "fail", "verdict"]
    lines = (
        (
            claim.key,
            claim.where,
            claim.statement,
            claim.test,
            len(claim.parts),
            claim.count("holds"),
            claim.count("open"),
            claim.count("fails"),
            claim.verdict,
        )
        for claim in table.claims
    )
    parts = (
        (claim.key, part.name, part.value, part.low, part.high, *part.claimed, part.full, part.judged)
        for claim in table.claims
        for part in claim.parts
    )
    part_head = [
        "claim",
        "part",
        "value",
        "low",
        "high",
        "claimed_over",
        "claimed_under",
        "all_data",
        "judged",
    ]
    text = {
        "claims.csv": csv_text(head, lines),
        "claims_parts.csv": csv_text(part_head, parts),
        "claims.md": markdown(table),
        "settings.md": settings_markdown(),
    }
    return {name: content.encode() for name, content in text.items()} | picture_files(draw(table), "claims")


def markdown(table: Claims) -> str:
    """Return the table of the page."""
    head = ["", "claim", "how it is tested", "weakest part", "number, 95 % interval", "verdict"]
    lines = []
    for i, claim in enumerate(table.claims, 1):
        where = f"{claim.statement} ({claim.where})"
        if claim.parts:
            part = claim.weakest
            held = f"**{claim.verdict}** ({claim.count('holds')} of {len(claim.parts)})"
            value = f"{number(part.value)}, {interval(part)}"
            if part.full is not None:
                value += f"; all data {number(part.full)}"
            lines.append([str(i), where, claim.test, part.name, value, held])
        else:
            lines.append([str(i), where, claim.test, "", "", "not tested: the data was not reached"])
    return markdown_table(
        head, ([cell.replace("*", r"\*").replace(r"\*\*", "**") for cell in row] for row in lines)
    )


def number(value: float) -> str:
    """Write a number with three digits.

    Examples
    --------
    >>> number(0.012345), number(-123.4)
    ('0.0123', '−123')
    """
    return f"{value:.3g}".replace("-", "−")


def interval(part: Part) -> str:
    """Write an interval."""
    return f"[{number(part.low)}, {number(part.high)}]"
