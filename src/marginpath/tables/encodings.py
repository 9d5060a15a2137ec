"""How one column becomes numbers: a record for each kind, made by ``fit`` and plain enough for a model file.

None of them looks at the target. The folds of a path share one encoding, and stay honest only so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from ..files.records import register
from . import parsing
from .frames import missing, words_of

#: Beyond so many robust deviations, numbers count alike: one row far out must not flatten all others.
LIMIT = 4.0
_NORMAL = 1.349  # quartiles of a normal distribution are so many deviations apart


class Encoding(Protocol):
    """What a column became."""

    kind: ClassVar[str]

    def transform(self, name: str, values: np.ndarray) -> np.ndarray:
        """Return the features (rows, features) of a column; ``name`` is for messages."""

    def features(self, name: str) -> list[str]:
        """Return the names of the features."""


@register
@dataclass(frozen=True)
class Number:
    """(x − center) / scale of x cut to [low, high], and a flag for what is missing if any was in the fit.

    Examples
    --------
    >>> number = Number.fit(np.array([1.0, 2.0, 3.0, 4.0, 5.0, np.nan]))
    >>> number.features("age"), number.transform("age", np.array([3.0, np.nan])).tolist()
    (['age', 'age is missing'], [[0.0, 0.0], [0.0, 1.0]])
    >>> Number.fit(np.array([1.0, 2.0, 3.0, 4.0, 1e9])).high < 10
    True
    """

    kind: ClassVar[str] = "number"
    center: float
    scale: float
    fill: float
    low: float
    high: float
    has_gaps: bool

    @classmethod
    def fit(cls, values: np.ndarray, scaled: bool = True) -> Number:
        """Cut far from the median by the quartiles; then take mean and deviation of what that leaves."""
        floats = parsing.numbers(values)[0]
        known = floats[np.isfinite(floats)] if np.isfinite(floats).any() else np.zeros(1)
        has_gaps, middle = bool(np.isnan(floats).any()), float(np.median(known))
        if not scaled:
            return cls(0.0, 1.0, middle, -np.inf, np.inf, has_gaps)
        first, third = np.percentile(known, (25, 75))
        reach = LIMIT * float((third - first) / _NORMAL or known.std())  # where most are the same, that
        cut = np.clip(known, middle - reach, middle + reach)
        center, scale = float(cut.mean()), float(cut.std()) or 1.0
        return cls(center, scale, middle, middle - reach, middle + reach, has_gaps)

    def transform(self, name: str, values: np.ndarray) -> np.ndarray:
        """Return one column, or two with the flag."""
        floats, bad = parsing.numbers(values)
        if bad:
            raise ValueError(
                f"Column {name!r} must hold numbers, as in the data of the fit; it has {listed(bad)}."
            )
        if np.isinf(floats).any():
            raise ValueError(
                f"Column {name!r} has infinite values (row {int(np.argmax(np.isinf(floats))) + 1}). Replace "
                f"them by numbers, or leave the column out."
            )
        gaps = np.isnan(floats)
        z = (np.where(gaps, self.fill, floats).clip(self.low, self.high) - self.center) / self.scale
        return np.stack([z, gaps], axis=1) if self.has_gaps else z[:, None]

    def features(self, name: str) -> list[str]:
        """Return the column's name, and that of the flag."""
        return [name, f"{name} is missing"] if self.has_gaps else [name]


@register
@dataclass(frozen=True, eq=False)
class Category:
    """One feature for each level, 1 where the row has it; missing is a level if any was in the fit.

    Examples
    --------
    >>> food = Category.fit(np.array(["hay", "fish", None], dtype=object))
    >>> food.features("food")
    ['food = fish', 'food = hay', 'food is missing']
    >>> food.transform("food", np.array(["hay", "pizza", None], dtype=object)).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """

    kind: ClassVar[str] = "category"
    levels: np.ndarray
    has_gaps: bool

    @classmethod
    def fit(cls, values: np.ndarray, most: int | None = None) -> Category:
        """Take all levels, or the ``most`` frequent ones."""
        words = words_of(values)
        levels, counts = np.unique([word for word in words if word is not None], return_counts=True)
        if most is not None:
            levels = np.sort(levels[np.argsort(-counts, kind="stable")[:most]])
        return cls(levels, bool(missing(words).any()))

    def transform(self, name: str, values: np.ndarray) -> np.ndarray:
        """Return zeros and ones; a level that is new has none."""
        words = words_of(values)
        place = {level: j for j, level in enumerate(self.levels.tolist())}
        if self.has_gaps:
            place[None] = len(place)
        at = np.array([place.get(word, -1) for word in words], dtype=np.intp)
        return np.asarray(at[:, None] == np.arange(len(place)), dtype=np.float64)

    def features(self, name: str) -> list[str]:
        """Return a name for each level."""
        last = [f"{name} is missing"] if self.has_gaps else []
        return [f"{name} = {level}" for level in self.levels.tolist()] + last

    def unseen(self, values: np.ndarray) -> np.ndarray:
        """Return which values are none of the levels, and not missing."""
        known = {*self.levels.tolist(), None}
        return np.array([word not in known for word in words_of(values)], dtype=bool)


@register
@dataclass(frozen=True)
class Dates:
    """When it was, in days, the month, and the parts of the calendar that vary: season, weekday, hour.

    Those are places on circles, so that December is beside January; the month is where it says 12 after 11.

    Examples
    --------
    >>> joined = Dates.fit(np.array(["2021-03-04", "2021-12-24"], dtype=object), "iso")
    >>> joined.features("joined")[:3], joined.circles
    (['joined', 'joined, month', 'joined, season (cos)'], ('season', 'weekday'))
    """

    kind: ClassVar[str] = "date"
    format: str
    day: Number
    circles: tuple[str, ...]

    @classmethod
    def fit(cls, values: np.ndarray, how: str, scaled: bool = True) -> Dates:
        """Take the parts that are not the same in all rows."""
        when, _ = parsing.times(values, how)
        angles = _angles(when[~np.isnat(when)])
        circles = tuple(name for name, angle in angles.items() if np.ptp(angle) > 0)
        return cls(how, Number.fit(_days(when), scaled), circles)

    def transform(self, name: str, values: np.ndarray) -> np.ndarray:
        """Return the day and cosine and sine of each part; 0 where the date is missing."""
        if values.dtype.kind == "f" and not np.isnan(values).all():
            raise ValueError(f"Column {name!r} must hold dates, as in the data of the fit; it has numbers.")
        when, bad = parsing.times(values if values.dtype.kind != "f" else words_of(values), self.format)
        if bad:
            raise ValueError(
                f"Column {name!r} must hold dates, as in the data of the fit; it has {listed(bad)}."
            )
        angles = _angles(when)
        parts = [turn(angles[circle]) for circle in self.circles for turn in (np.cos, np.sin)]
        if "season" in self.circles:
            parts.insert(0, _months(when))
        return np.column_stack([self.day.transform(name, _days(when)), *map(np.nan_to_num, parts)])

    def features(self, name: str) -> list[str]:
        """Return a name for each part."""
        turns = [f"{name}, {circle} ({turn})" for circle in self.circles for turn in ("cos", "sin")]
        month = [f"{name}, month"] if "season" in self.circles else []
        return [*self.day.features(name), *month, *turns]


@register
@dataclass(frozen=True)
class LeftOut:
    """Nothing: a column that cannot help with new rows."""

    kind: ClassVar[str] = "left out"

    def transform(self, name: str, values: np.ndarray) -> np.ndarray:
        """Return no features."""
        return np.empty((len(values), 0))

    def features(self, name: str) -> list[str]:
        """Return none."""
        return []


def _days(when: np.ndarray) -> np.ndarray:
    days = when.astype(np.int64) / 86_400e6
    return np.where(np.isnat(when), np.nan, days)


def _months(when: np.ndarray) -> np.ndarray:
    """Return the month with mean 0 and deviation 1 over a year; NaN where it is missing."""
    month = when.astype("datetime64[M]").astype(np.int64) % 12
    return np.where(np.isnat(when), np.nan, (month - 5.5) / np.sqrt(143 / 12))


def _angles(when: np.ndarray) -> dict[str, np.ndarray]:
    """Return where a time is in the year, the week and the day, as an angle; NaN where it is missing."""
    days, year = _days(when), when.astype("datetime64[Y]").astype(when.dtype)
    of_year = days - _days(year)
    return {
        "season": 2 * np.pi * of_year / 365.25,
        "weekday": 2 * np.pi * (np.floor(days) + 3) % (14 * np.pi) / 7,
        "hour": 2 * np.pi * (days - np.floor(days)),
    }


def listed(words: list[str]) -> str:
    """Return a few words in quotes.

    Examples
    --------
    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    shown = ", ".join(repr(str(word)) for word in words[:3])
    return f"{shown}, …" if len(words) > 3 else shown
