"""The comparison of restarts as text: for the terminal, as values, and as pieces of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .rates_page import LAW_HEAD, law_text, law_values
from .tables import csv_text, markdown_table, page_pieces, page_text, terminal_table

if TYPE_CHECKING:
    from .restart import Known, Row, Table


def printed(table: Table) -> Any:
    """Return the updates to the target as a table for the terminal."""
    head, lines = _certified(table)
    plain = ([cell.replace("*", "") for cell in line] for line in lines)
    return terminal_table("Updates until the certified relative margin gap is 1e-8", head, plain)


def rows_csv(table: Table) -> str:
    """Return one line a problem and method."""
    head = ["problem", "method", "certified", *LAW_HEAD, "proved_share", "share_is_proved"]
    known = {one.name: one for one in table.problems}
    lines = []
    for row in table.rows:
        one, law = known[row.problem], law_values(row.law)
        lines.append([row.problem, row.method, row.certified, *law, one.slow, int(one.proved)])
    return csv_text(head, lines)


def markdown(table: Table) -> str:
    """Return the pieces of the page, each between two comments that name it."""
    return page_pieces(
        {"certified": markdown_table(*_certified(table)), "fitted": markdown_table(*_fitted(table))}
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
        laws = [page_text(law_text(row.law)) for row in (*rows, table.row(one.name, "gradient restart"))]
        laws[2] += f" ({best.method})"
        lines.append([one.name, _proved(one), *laws])
    return head, lines


def _proved(one: Known) -> str:
    """Write √(1 − ρ); where Hoffman's constant is only bounded, no more than that is proved."""
    relation = "" if one.proved else "at best "
    return f"{relation}(1 − {one.slow:.0e})<sup>t</sup>"
