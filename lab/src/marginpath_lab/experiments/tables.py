"""A table as text: for the terminal, for a page, and as comma-separated values."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np


def csv_text(head: Sequence[str], lines: Iterable[Sequence[Any]], digits: int = 10) -> str:
    r"""Return comma-separated values; numbers have that many digits, and what is None is left empty.

    Examples
    --------
    >>> csv_text(["step", "margin", "rate"], [(1, 1 / 3, None)])
    'step,margin,rate\n1,0.3333333333,\n'
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_written(value, digits) for value in line] for line in lines)
    return buffer.getvalue()


def markdown_table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    r"""Return a table for a page.

    Examples
    --------
    >>> markdown_table(["a", "b"], [("1", "2")])
    '| a | b |\n| --- | --- |\n| 1 | 2 |\n'
    """
    rows = [head, ["---"] * len(head), *lines]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def terminal_table(title: str, head: Sequence[str], lines: Iterable[Sequence[str]], words: int = 1) -> Any:
    """Return a table for the terminal: the first columns hold words, the others numbers.

    Examples
    --------
    >>> shown = terminal_table("Gaps", ["method", "gap"], [("Algorithm 1", "1e-8")])
    >>> [column.justify for column in shown.columns], shown.row_count
    (['left', 'right'], 1)
    """
    from rich.table import Table

    shown = Table(title=title, title_justify="left")
    for i, name in enumerate(head):
        shown.add_column(name, justify="left" if i < words else "right")
    for line in lines:
        shown.add_row(*line)
    return shown


def page_pieces(pieces: Mapping[str, str]) -> str:
    r"""Return the pieces of a page, each between two comments that name it.

    Examples
    --------
    >>> page_pieces({"rates": "text"})
    '<!-- begin rates -->\n\ntext\n<!-- end rates -->\n'
    """
    return "\n".join(
        f"<!-- begin {name} -->\n\n{text}\n<!-- end {name} -->\n" for name, text in pieces.items()
    )


def page_text(text: str) -> str:
    r"""Raise exponents, lower indices, and keep stars from being read as emphasis.

    Examples
    --------
    >>> page_text("t^−2.00"), page_text("λ_{min}^(1/2)"), page_text("w*")
    ('t<sup>−2.00</sup>', 'λ<sub>min</sub><sup>1/2</sup>', 'w\\*')
    """
    text = re.sub(r"\^(?:\(([^)]*)\)|(\S+))", r"<sup>\1\2</sup>", text)
    return re.sub(r"_(?:\{([^}]*)\}|(\w))", r"<sub>\1\2</sub>", text).replace("*", r"\*")


def _written(value: Any, digits: int) -> str:
    if value is None:
        return ""
    return f"{value:.{digits}g}" if isinstance(value, (float, np.floating)) else str(value)
