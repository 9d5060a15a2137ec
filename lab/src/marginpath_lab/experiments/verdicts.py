"""How a claim is judged: parts with an interval each, and one rule for all.

A claim says that one or several numbers lie in an interval: differences over 0, equal things within a stated
tolerance. Each number is a mean over independent draws, with its 95 % interval. A part holds if that interval
lies inside what is claimed, fails if it lies outside, and is open otherwise. The claim holds if all parts do,
is open if all are, does not hold if none does, and holds in part otherwise. There is no correction for the
number of parts, but where a claim says that something *may* be so: then the best of several counts, at a
level that is divided by their number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy.stats import norm, t

Judged = Literal["holds", "fails", "open"]
Verdict = Literal["holds", "holds in part", "open", "does not hold", "not tested"]
_LEVEL = 0.95
POSITIVE = (0.0, math.inf)
NEGATIVE = (-math.inf, 0.0)


@dataclass(frozen=True)
class Part:
    """One number of a claim.

    Attributes
    ----------
    name : str
        What it is of.
    value, low, high : float
        The mean and its interval.
    claimed : (float, float)
        Where the claim says that it lies, the ends left out.
    full : float, optional
        The same number on all the data, where draws are smaller. It must then lie there too.
    """

    name: str
    value: float
    low: float
    high: float
    claimed: tuple[float, float]
    full: float | None = None

    @property
    def judged(self) -> Judged:
        """Whether the part holds, fails or is open."""
        lowest, highest = self.claimed
        inside = lowest < self.low and self.high < highest
        outside = self.high <= lowest or self.low >= highest
        if self.full is not None:
            inside &= lowest < self.full < highest
            outside &= not lowest < self.full < highest
        return "holds" if inside else "fails" if outside else "open"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, how it is tested, and what came out.

    Attributes
    ----------
    key, where : str
        A short name, and the place in the paper.
    statement, test : str
        What the paper says, in our words; what is measured.
    parts : list of Part
        None where the data could not be reached.
    """

    key: str
    where: str
    statement: str
    test: str
    parts: list[Part] = field(default_factory=list)

    def count(self, judged: Judged) -> int:
        """Return how many parts are judged so."""
        return sum(part.judged == judged for part in self.parts)

    @property
    def verdict(self) -> Verdict:
        """Return the verdict by the rule."""
        if not self.parts:
            return "not tested"
        held, count = self.count("holds"), len(self.parts)
        if held:
            return "holds" if held == count else "holds in part"
        return "open" if self.count("open") == count else "does not hold"

    @property
    def weakest(self) -> Part:
        """Return the part that is the furthest from holding, or holds by the least, in standard errors."""
        return min(self.parts, key=_lead)


def mean_part(
    name: str,
    values: Sequence[float] | np.ndarray,
    claimed: tuple[float, float],
    full: float | None = None,
    level: float = _LEVEL,
) -> Part:
    """Return the mean over draws with Student's interval of that level.

    Examples
    --------
    >>> part = mean_part("difference", [1.0, 2.0, 3.0], POSITIVE)
    >>> part.value, round(part.low, 3), part.judged
    (2.0, -0.484, 'open')
    """
    numbers = np.asarray(values, dtype=float)
    mean = float(numbers.mean())
    error = float(numbers.std(ddof=1)) / len(numbers) ** 0.5 if len(numbers) > 1 else math.inf
    half = float(t.ppf((1 + level) / 2, len(numbers) - 1)) * error if len(numbers) > 1 else math.inf
    return Part(name, mean, mean - half, mean + half, claimed, full)


def best_part(candidates: dict[str, np.ndarray], claimed: tuple[float, float]) -> Part:
    """Return the candidate that is surest to be large: a claim that something *may* be so asks for one.

    Whoever picks the best of k looks k times: the interval has the level 1 − 0.05/k (Bonferroni).

    Examples
    --------
    >>> part = best_part({"a": np.array([0.0, 1.0, 2.0]), "b": np.array([2.9, 3.0, 3.1])}, POSITIVE)
    >>> part.name, part.judged, round(part.low, 2)
    ('b, the best of 2', 'holds', 2.64)
    """
    level, k = 1 - (1 - _LEVEL) / len(candidates), len(candidates)
    parts = [mean_part(f"{name}, the best of {k}", x, claimed, level=level) for name, x in candidates.items()]
    return max(parts, key=lambda part: part.low)


def share_part(name: str, yes: Sequence[bool] | np.ndarray, claimed: tuple[float, float]) -> Part:
    """Return the share of draws in which something is so, with Wilson's interval.

    Examples
    --------
    >>> part = share_part("separable", [True] * 20, (0.5, math.inf))
    >>> part.value, round(part.low, 2), part.judged
    (1.0, 0.84, 'holds')
    """
    n, share = len(yes), float(np.mean(yes))
    z = float(norm.ppf((1 + _LEVEL) / 2))
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return Part(name, share, centre - half, centre + half, claimed)


def _lead(part: Part) -> float:
    """Return how many half-lengths of its interval a part lies inside what is claimed; negative outside."""
    lowest, highest = part.claimed
    room = min(part.value - lowest, highest - part.value)
    if part.full is not None:
        room = min(room, part.full - lowest, highest - part.full)
    return room / max((part.high - part.low) / 2, 1e-300)
