"""Momentum: t → the factor of u_t − u_{t−1} that update t adds before its gradient step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from .schedules import require_positive

Momentum: TypeAlias = Callable[[int], float]


@dataclass(frozen=True)
class Inertia:
    """The paper's factor α_t = t / (t + α) of Algorithm 2; its theorem asks for α ≥ 3.

    Examples
    --------
    >>> Inertia(alpha=3)(3)
    0.5
    """

    alpha: float = 3.0

    def __post_init__(self) -> None:
        require_positive("alpha", self.alpha)

    def __call__(self, t: int) -> float:
        """Return α_t."""
        return t / (t + self.alpha)
