"""What a column is: the rules, in the order in which they are asked, and why each was taken."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import parsing
from .frames import GAPS, missing, words_of

#: What ``kinds`` of a table may be called.
KINDS = ("number", "category", "names", "text", "date", "left out")
#: A column of words with more levels than this is no plain category, and with so many words a value a text.
LEVELS, WORDS = 40, 3
#: So few different whole numbers are taken as levels: grades and codes seldom act like quantities.
CODES = (3, 10)
_ID_WORDS = {"id", "ids", "index", "nr", "no", "key", "uuid", "guid", "rowid", "unnamed: 0"}


@dataclass(frozen=True)
class Decision:
    """A kind, why, and for dates how they are written."""

    kind: str
    why: str
    format: str = ""


def decide(name: str, values: np.ndarray, *, coded: bool = True) -> Decision:
    """Return what a column is; ``coded`` tells whether a few whole numbers may be codes of levels.

    Examples
    --------
    >>> decide("price", np.array(["1,200", "950", "?"] * 5, dtype=object))
    Decision(kind='number', why='numbers written as text', format='')
    >>> decide("customer_id", np.arange(20.0)).kind, decide("flat", np.ones(9)).why
    ('left out', 'the same value in every row')
    """
    known = values[~missing(values)]
    if len(known) == 0:
        return Decision("left out", "no value in any row")
    if len(known) == len(values) and not (known != known[0]).any():
        return Decision("left out", "the same value in every row")  # with gaps, those may tell something
    if values.dtype.kind == "M":
        return Decision("date", "dates", "iso")
    return _of_numbers(name, known, coded) if values.dtype.kind == "f" else _of_words(name, known, coded)


def as_asked(name: str, values: np.ndarray, kind: str) -> Decision:
    """Return the kind that was asked for; raise ValueError where a column cannot be one."""
    if kind not in KINDS:
        raise ValueError(f"Column {name!r} cannot be taken as {kind!r}: kinds are {', '.join(KINDS)}.")
    known = values[~missing(values)]
    if kind == "left out" or len(known) == 0:
        return Decision("left out", "asked for" if len(known) else "no value in any row")
    if kind == "number" and (bad := parsing.numbers(values)[1]):
        raise ValueError(f"Column {name!r} cannot be taken as numbers: it has {bad[0]!r}.")
    if kind != "date":
        return Decision(kind, "asked for")
    how = "iso" if values.dtype.kind == "M" else parsing.date_format(set(words_of(known)))
    if how is None:
        raise ValueError(f"Column {name!r} cannot be taken as dates: {words_of(known)[0]!r} is none known.")
    return Decision("date", "asked for", how)


def _of_numbers(name: str, known: np.ndarray, coded: bool) -> Decision:
    if not np.all(known == np.floor(known)):
        return Decision("number", "numbers")
    levels = np.unique(known)
    if len(levels) == len(known) >= 10 and (np.all(np.diff(known) == 1) or _is_named_id(name)):
        return Decision("left out", "an identifier: a different whole number in every row")
    if coded and CODES[0] <= len(levels) <= min(CODES[1], len(known) // 10):
        return Decision("category", f"{len(levels)} whole numbers")
    return Decision("number", "numbers")


def _of_words(name: str, known: np.ndarray, coded: bool) -> Decision:
    levels = set(known.tolist())
    floats, bad = parsing.numbers(known)
    if not bad and not np.isnan(floats).all():
        as_numbers = _of_numbers(name, floats[~np.isnan(floats)], coded)
        return as_numbers if as_numbers.kind != "number" else Decision("number", "numbers written as text")
    if (how := parsing.date_format({word for word in levels if word.lower() not in GAPS})) is not None:
        written = "" if how == "iso" else f", written as {how}"
        return Decision("date", f"dates{written}", how)
    if len(levels) <= LEVELS:
        return Decision("category", f"{len(levels)} levels")
    if float(np.mean([word.count(" ") + 1 for word in levels])) >= WORDS:
        return Decision("text", f"{len(levels)} different texts of several words")
    if len(bad) < 0.2 * len(levels):
        return Decision("names", f"numbers, and words such as {bad[0]!r}")
    if len(levels) == len(known) or (_is_named_id(name) and len(levels) > 0.9 * len(known)):
        return Decision("left out", "an identifier: a different value in every row")
    return Decision("names", f"{len(levels)} levels")


def _is_named_id(name: str) -> bool:
    words = name.lower().replace("-", "_").replace(" ", "_").split("_")
    return bool(_ID_WORDS & {*words, name.lower()}) or name.endswith(("Id", "ID"))
