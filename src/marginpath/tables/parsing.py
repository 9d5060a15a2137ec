"""Numbers and times that are written as text: "1,234", "12 %", "2021-03-04", "4.3.2021 17:05"."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import numpy as np

from .frames import GAPS, words_of

_WHOLE = r"([0-9]+|[0-9]{1,3}(,[0-9]{3})+)"
_NUMBER = re.compile(rf"[-+]?({_WHOLE}(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_DECORATION = re.compile(r"^([-+]?)\s*[$€£]\s*|\s*[%$€£]$")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?")

#: Ways to write a date, each also with a time of the day behind it. Of two that read all of a column the
#: earlier one is taken.
DATES = (
    *("%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%m-%d-%Y", "%d-%m-%Y", "%d.%m.%y", "%m/%d/%y"),
    *("%d/%m/%y", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y"),
)
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p")


def as_number(word: str) -> float | None:
    """Return the number that a word writes, or None; NaN for what stands for a missing one.

    Examples
    --------
    >>> [as_number(word) for word in ("1,234", "-$5.5", "12 %", "?", "12,34")]
    [1234.0, -5.5, 12.0, nan, None]
    """
    if word.lower() in GAPS:
        return np.nan
    plain = _DECORATION.sub(r"\1", word)
    return float(plain.replace(",", "")) if _NUMBER.fullmatch(plain) else None


def numbers(values: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return values as floats, with NaN where they are missing or no number, and the words of the latter."""
    if values.dtype.kind == "f":
        return values, []
    parsed = {word: as_number(word) for word in set(words_of(values)) - {None}}
    floats = [np.nan if (x := parsed.get(word)) is None else x for word in words_of(values)]
    return np.array(floats, dtype=np.float64), sorted(word for word, x in parsed.items() if x is None)


def date_format(words: set[str]) -> str | None:
    """Return how all these words write a time, "iso" or as for ``datetime.strptime``; None if they do not.

    Examples
    --------
    >>> date_format({"2021-03-04", "2021-12-24T17:05:00Z"}), date_format({"4.3.2021", "24.12.2021"})
    ('iso', '%d.%m.%Y')
    >>> date_format({"12", "13"}) is None
    True
    """
    if not words or not all(8 <= len(word) <= 40 and any(c.isdigit() for c in word) for word in words):
        return None
    formats = ("iso", *(date + time for date in DATES for time in TIMES))
    return next((f for f in formats if all(as_time(word, f) is not None for word in words)), None)


def as_time(word: str, how: str) -> datetime | None:
    """Return the time that a word writes in this way, in UTC where it has a zone, or None."""
    try:
        if how != "iso":
            return datetime.strptime(word, how)
        if not _ISO.fullmatch(word):
            return None
        time = datetime.fromisoformat(word)
    except ValueError:
        return None
    return time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)


def times(values: np.ndarray, how: str) -> tuple[np.ndarray, list[str]]:
    """Return values as datetime64[us], NaT where they are missing or no time, and the words of the latter."""
    if values.dtype.kind == "M":
        return values, []
    parsed = {word: as_time(word, how) for word in set(words_of(values)) - {None}}
    found = [parsed.get(word) for word in words_of(values)]
    bad = sorted(word for word, time in parsed.items() if time is None and word.lower() not in GAPS)
    return np.array(found, dtype="datetime64[us]"), bad
