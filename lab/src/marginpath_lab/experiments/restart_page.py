"""The comparison of restarts as text: for the terminal, as values, and as pieces of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .rates_page import law_text
from .writing import csv_text, markdown_table

if TYPE_CHECKING:
    from .restart import Known, Row, Table


def printed(table: Table) -> Any:
    """Return the updates to the target as a table for the terminal."""
    from rich.table import Table as RichTable

    shown = RichTable(title="Updates until the certified relative margin gap is 1e-8", title_justify="left")
    head, lines = _certified(table)
    for name in head:
        shown.add_column(name, justify="left" if name == "problem" else "right")
    for line in lines:
        shown.add_row(*(cell.replace("*", "") for cell in line))
    return shown


def rows_csv(table: Table) -> str:
    """Return one line a problem and method."""
    head = ["problem", "method", "certified", "law", "rate", "r_squared", "proved_share", "share_is_proved"]
    known = {one.name: one for one in table.problems}
    lines = []
    for row in table.rows:
        law = ("", "", "") if row.law is None else (row.law.kind, row.law.rate, row.law.r_squared)
        one = known[row.problem]
        lines.append([row.problem, row.method, row.certified or "", *law, one.slow, int(one.proved)])
    return csv_text(head, lines)


def markdown(table: Table) -> str:
    """Return the pieces of the page, each between two comments that name it."""
    pieces = {"certified": markdown_table(*_certified(table)), "fitted": markdown_table(*_fitted(table))}
    return "\n".join(
        f"<!-- begin {name} -->\n\n{text}\n<!-- end {name} -->\n" for name, text in pieces.items()
    )


def _certified(table: Table) -> tuple[list[str], list[list[str]]]:
    methods = [row.method for row in table.rows if row.problem == table.problems[0].name]
    head = ["problem", *methods, "gradient restart over best α", "function restart over best α"]
    lines = []
    for one in table.problems:
        best = table.best_fixed(one.name)
        cells = [_count(table.row(one.name, method), best) for method in methods]
        ratios = [f"{table.ratio(one.name, name):.2f}" for name in ("gradient restart", "function restart")]
        lines.append([one.name, *cells, *ratios])
    return head, lines


def _count(row: Row, best: Row) -> str:
    text = "–" if row.certified is None else f"{row.certified:,}"
    return f"**{text}**" if row is best else text


def _fitted(table: Table) -> tuple[list[str], list[list[str]]]:
    head = ["problem", "proved, Algorithm 1", "Algorithm 1", "α = 3", "best fixed α", "gradient restart"]
    lines = []
    for one in table.problems:
        best = table.best_fixed(one.name)
        rows = [table.row(one.name, "Algorithm 1"), table.row(one.name, "α = 3"), best]
        laws = [_law(row) for row in (*rows, table.row(one.name, "gradient restart"))]
        laws[2] += f" ({best.method})"
        lines.append([one.name, _proved(one), *laws])
    return head, lines


def _proved(one: Known) -> str:
    """Write √(1 − ρ); where Hoffman's constant is only bounded, no more than that is proved."""
    relation = "" if one.proved else "at best "
    return f"{relation}(1 − {one.slow:.0e})<sup>t</sup>"


def _law(row: Row) -> str:
    text = law_text(row.law)
    base, caret, exponent = text.partition("^")
    return f"{base}<sup>{exponent}</sup>" if caret else text
