"""The measured rates as text: for the terminal, as comma-separated values, and as pieces of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .methods import EXPECTED_ORDER, Method
from .tables import csv_text, markdown_table, page_pieces, page_text, terminal_table
from .trajectories import FLOOR, Law

if TYPE_CHECKING:
    from .rates import Rates, Row

#: The columns of a fitted law.
LAW_HEAD = ("law", "rate", "r_squared")


def printed(table: Rates) -> Any:
    """Return fitted rates and last gaps of all methods as a table for the terminal."""
    title = f"Fitted rate, and margin gap after {table.steps:,} updates"
    head = ["method", "proved", *(text for problem in table.problems for text in (problem.name, "gap"))]
    lines = []
    for method in table.methods:
        rows = [row for row in table.rows if row.method == method.name]
        cells = (cell for row in rows for cell in (law_text(row.law), gap_text(row.gaps[table.steps])))
        lines.append([method.name, _short(method), *cells])
    return terminal_table(title, head, lines, words=2)


def rows_csv(table: Rates) -> str:
    """Return the rows: one line a method and problem."""
    first = table.rows[0]
    gaps = [f"gap_{t}" for t in first.gaps]
    when = [f"{what}_{target:.0e}" for target in first.updates for what in ("updates", "seconds")]
    lines = []
    for row in table.rows:
        reached = [x for target in row.updates for x in (row.updates[target], row.seconds[target])]
        lines.append((row.problem, row.method, *law_values(row.law), *row.gaps.values(), *reached, row.done))
    return csv_text(["problem", "method", *LAW_HEAD, *gaps, *when, "updates_done"], lines, digits=6)


def curves_csv(table: Rates) -> str:
    """Return the curves, which the picture is drawn from: one line a point."""
    lines = (
        (curve.problem, curve.method, *point)
        for curve in table.curves
        for point in zip(curve.updates, curve.gaps, curve.seconds, strict=True)
    )
    return csv_text(["problem", "method", "update", "gap", "seconds"], lines, digits=6)


def markdown(table: Rates) -> str:
    """Return the pieces of the page, each between two comments that name it."""
    pieces = {
        "proved": _proved(table),
        "problems": _problems(table),
        "fitted": _fitted(table),
        "measured": "\n".join(_measured(table, known.name, known.title) for known in table.problems),
        "order": _order(table),
    }
    return page_pieces(pieces)


def _proved(table: Rates) -> str:
    head = ["method", "loss", "margin gap, O(·)", "asks for", "an update reads", "source"]
    fields = "name", "loss", "rate", "assumptions", "update", "source"
    return _table(head, ([getattr(method, name) for name in fields] for method in table.methods))


def _problems(table: Rates) -> str:
    head = ["problem", "samples", "maximum margin", "known to within", "1/max v*"]
    return _table(
        head,
        (
            [known.name, known.title, f"{known.margin:.6f}", f"{known.width:.0e}", f"{1 / known.size:.3g}"]
            for known in table.problems
        ),
    )


def _fitted(table: Rates) -> str:
    head = ["method", "proved", *(known.name for known in table.problems)]
    laws = {(row.method, row.problem): law_text(row.law) for row in table.rows}
    return _table(
        head,
        (
            [method.name, _short(method), *(laws[method.name, known.name] for known in table.problems)]
            for method in table.methods
        ),
    )


def _measured(table: Rates, problem: str, title: str) -> str:
    rows = table.ranked(problem)
    head = ["method", *(f"gap after {t:,}" for t in rows[0].gaps)]
    head += [f"updates to {_power(target)}" for target in rows[0].updates]
    lines = (
        [row.method, *map(gap_text, row.gaps.values()), *(_when(row, target) for target in row.updates)]
        for row in rows
    )
    return f"#### {title}\n\n{_table(head, lines)}"


def _order(table: Rates) -> str:
    """Compare the order of the methods that an expectation exists for."""
    ranked = {
        known.name: [row for row in table.ranked(known.name) if row.method in EXPECTED_ORDER]
        for known in table.problems
    }
    expected = [name for name in EXPECTED_ORDER if any(method.name == name for method in table.methods)]
    lines = [
        [name, *(f"{rows[i].method} ({gap_text(rows[i].gaps[table.steps])})" for rows in ranked.values())]
        for i, name in enumerate(expected)
    ]
    agree = ["yes" if [row.method for row in rows] == expected else "no" for rows in ranked.values()]
    return _table(["expected, slowest first", *ranked], [*lines, ["**as expected?**", *agree]])


def law_values(law: Law | None) -> tuple[Any, ...]:
    """Return what stands under LAW_HEAD."""
    return (None, None, None) if law is None else (law.kind, law.rate, law.r_squared)


def law_text(law: Law | None) -> str:
    """Write a fitted law.

    Examples
    --------
    >>> law_text(Law("power", 2.004, 1.0)), law_text(Law("linear", 0.99834, 1.0)), law_text(None)
    ('t^−2.00', '0.9983^t', 'done too soon')
    """
    if law is None:
        return "done too soon"
    if law.kind == "linear":
        return f"{law.rate:.4f}^t"
    return f"t^−{law.rate:.2f}" if law.rate >= 0.005 else "no decrease"


def gap_text(gap: float) -> str:
    """Write a gap, or that it is below what can be told.

    Examples
    --------
    >>> gap_text(0.0123), gap_text(0.0)
    ('1.2e-2', '< 1e-11')
    """
    return f"< {_power(FLOOR)}" if gap <= FLOOR else f"{gap:.1e}".replace("e-0", "e-")


def _power(value: float) -> str:
    return f"{value:.0e}".replace("e-0", "e-")


def _when(row: Row, target: float) -> str:
    updates, seconds = row.updates[target], row.seconds[target]
    return "–" if updates is None or seconds is None else f"{updates:,} ({time_text(seconds)})"


def time_text(seconds: float) -> str:
    """Write a time in milliseconds, or in seconds from one second on.

    Examples
    --------
    >>> time_text(0.0001), time_text(0.0314), time_text(1.62)
    ('< 1 ms', '31 ms', '1.6 s')
    """
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{1000 * seconds:.0f} ms" if seconds >= 0.001 else "< 1 ms"


def _short(method: Method) -> str:
    return method.rate.partition(";")[0]


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    return markdown_table([*map(_cell, head)], ([*map(_cell, line)] for line in lines))


def _cell(text: str) -> str:
    return text if text.startswith("**") else page_text(text)
