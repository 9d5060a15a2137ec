"""Schedules t → λ_t, t = 1, 2, …: how the regularization fades.

Any callable will do. λ_t must be positive and must not increase; infinity stands for an empty box, and
an underflow to 0 for an unbounded one, which is what the limit is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

Schedule: TypeAlias = Callable[[int], float]


@dataclass(frozen=True)
class PowerDecay:
    """The schedule λ_t = λ0 / t^power, the paper's choice with power = 1.

    Examples
    --------
    >>> PowerDecay(4.0)(2)
    2.0
    """

    lambda0: float
    power: float = 1.0

    def __post_init__(self) -> None:
        require_positive("lambda0", self.lambda0)
        require_positive("power", self.power)

    def __call__(self, t: int) -> float:
        """Return λ_t."""
        return float(self.lambda0 * t**-self.power)


@dataclass(frozen=True)
class LogDecay:
    """The schedule λ_t = λ0 / log t, infinite at t = 1.

    Examples
    --------
    >>> LogDecay(8.0)(1)
    inf
    """

    lambda0: float

    def __post_init__(self) -> None:
        require_positive("lambda0", self.lambda0)

    def __call__(self, t: int) -> float:
        """Return λ_t."""
        return self.lambda0 / math.log(t) if t > 1 else math.inf


@dataclass(frozen=True)
class GeometricDecay:
    """The schedule λ_t = λ0 / ratio^t.

    Examples
    --------
    >>> GeometricDecay(8.0)(3)
    1.0
    """

    lambda0: float
    ratio: float = 2.0

    def __post_init__(self) -> None:
        require_positive("lambda0", self.lambda0)
        if not 1 < self.ratio < math.inf:
            raise ValueError(f"ratio must be a finite number over 1, got {self.ratio!r}.")

    def __call__(self, t: int) -> float:
        """Return λ_t."""
        return self.lambda0 * float(self.ratio) ** -t


@dataclass(frozen=True)
class LongThenShort:
    """The schedule that divides λ by ``long`` up to step ``turn``, and by ``short`` from then on.

    For a path of which is known where it is worth a closer look.

    Parameters
    ----------
    first : float
        λ_1.
    long, short : float
        What λ is divided by at a step.
    turn : int
        The last step of the long ones.
    end : int, optional
        The step after which there is nothing more to look for, which a schedule by itself does not mind.

    Examples
    --------
    >>> schedule = LongThenShort(8.0, long=4.0, short=2.0, turn=2)
    >>> [schedule(t) for t in range(1, 5)]
    [8.0, 2.0, 1.0, 0.5]
    """

    first: float
    long: float
    short: float
    turn: int
    end: int | None = None

    def __post_init__(self) -> None:
        require_positive("first", self.first)
        for ratio in (self.long, self.short):
            if not 1 < ratio < math.inf:
                raise ValueError(f"long and short must be finite numbers over 1, got {ratio!r}.")

    def __call__(self, t: int) -> float:
        """Return λ_t."""
        return self.first * self.long ** (1 - min(t, self.turn)) * self.short ** -max(0, t - self.turn)


@dataclass(frozen=True)
class Constant:
    """The schedule λ_t = λ: a fixed problem instead of a diagonal process.

    Examples
    --------
    >>> Constant(0.5)(100)
    0.5
    """

    lambda0: float

    def __post_init__(self) -> None:
        require_positive("lambda0", self.lambda0)

    def __call__(self, t: int) -> float:
        """Return λ."""
        return self.lambda0


def box_size(schedule: Schedule, t: int, previous: float = 0.0) -> float:
    """Return b_t = 1/λ_t; raise unless λ_t is positive and 1/λ_t has not shrunk.

    Examples
    --------
    >>> box_size(PowerDecay(4.0), 8)
    2.0
    """
    value = schedule(t)
    try:
        value = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"The schedule returned {value!r} at t = {t}; a number is needed.") from None
    if math.isnan(value) or value < 0:
        raise ValueError(
            f"The schedule gives λ = {value} at t = {t}. λ_t must be positive (infinity is allowed)."
        )
    size = 1 / value if value > 0 else math.inf
    if size < previous:
        raise ValueError(
            f"The schedule increases: λ = {value:.6g} at t = {t} after {1 / previous:.6g}. "
            f"λ_t must not increase along the path."
        )
    return size


def require_positive(name: str, value: float) -> None:
    """Raise unless the value is a positive finite number."""
    if not 0 < value < math.inf:
        raise ValueError(f"{name} must be a positive finite number, got {value!r}.")
