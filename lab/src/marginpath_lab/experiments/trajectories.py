"""What a trajectory of margin gaps says: when a gap is reached for good, and which law it follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

#: Gaps are taken to be no smaller than this: the exact margins are certified to within it.
FLOOR = 1e-11


@dataclass(frozen=True)
class Law:
    """A law of decay with its parameter: t^−rate ("power") or rate^t ("linear").

    Attributes
    ----------
    r_squared : float
        Share of the variance of the logarithm of the gap that it explains.
    """

    kind: Literal["power", "linear"]
    rate: float
    r_squared: float


def settled(gaps: np.ndarray) -> np.ndarray:
    """Return max_{s ≥ t} of the gaps: from t on, none is larger.

    Methods with momentum and those that draw samples swing; a small gap that is lost again is none.

    Examples
    --------
    >>> settled(np.array([0.4, 0.0, 0.2, 0.1]))
    array([0.4, 0.2, 0.2, 0.1])
    """
    largest: np.ndarray = np.maximum(np.maximum.accumulate(gaps[::-1])[::-1], FLOOR)
    return largest


def reached(gaps: np.ndarray, target: float) -> int | None:
    """Return the first update from which on the gap is at most the target, None if there is none.

    Examples
    --------
    >>> reached(np.array([0.4, 0.0, 0.2, 0.1]), 0.2)
    1
    """
    found = np.flatnonzero(settled(gaps) <= target)
    return int(found[0]) if found.size else None


def fitted_law(gaps: np.ndarray, samples: int = 100) -> Law | None:
    """Fit both laws to the last decade of updates, by least squares, and return the better one.

    The decade ends where the gap falls to ten times the floor, or with the run. The laws are straight lines
    in the logarithm of the settled gap, over log t and over t; both see the same updates, evenly spaced in
    log t. A linear law is told from a power only where the gap falls by a factor of 1,000 or more. None if
    the decade has fewer than ten updates.

    Examples
    --------
    >>> t = np.arange(1001)
    >>> law = fitted_law(0.9**t)
    >>> law.kind, round(law.rate, 6)
    ('linear', 0.9)
    >>> law = fitted_law(1 / (t + 1.0) ** 2)
    >>> law.kind, round(law.rate, 2)
    ('power', 1.99)
    """
    largest = settled(gaps)
    end = int(np.flatnonzero(largest > 10 * FLOOR)[-1]) if largest[0] > 10 * FLOOR else 0
    t = np.unique(np.geomspace(max(end / 10, 1), max(end, 1), samples).round().astype(int))
    if t.size < 10:
        return None
    logs = np.log(largest[t])
    power, linear = line(np.log(t), logs), line(t.astype(float), logs)
    if linear[1] > power[1] and logs[0] - logs[-1] > np.log(1_000):
        return Law("linear", float(np.exp(linear[0])), linear[1])
    return Law("power", max(-power[0], 0.0), power[1])


def line(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return slope and R² of the least-squares line; R² = 1 for what is constant."""
    slope, intercept = np.polyfit(x, y, 1)
    spread = float(np.sum((y - y.mean()) ** 2))
    residual = float(np.sum((y - slope * x - intercept) ** 2))
    return float(slope), 1 - residual / spread if spread > 1e-12 else 1.0
