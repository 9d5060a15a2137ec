"""Momentum: t → the factor of u_t − u_{t−1} that update t adds before its gradient step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from .arrays import Array, namespace
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


@dataclass(frozen=True)
class Restart(ABC):
    """Inertia that starts over in a column once it leads uphill: no α has to be chosen for the data.

    The factor is s / (s + α), s counting updates since the last restart of that column; a restart also
    forgets u_{t−1}. The two schemes are those of O'Donoghue and Candès (Found. Comput. Math. 15, 2015). What
    has to be remembered is in the state of the solver.

    Parameters
    ----------
    alpha : float
        Of the inertia between two restarts. It hardly matters: see the page on restarts.
    """

    alpha: float = 3.0

    def __post_init__(self) -> None:
        require_positive("alpha", self.alpha)

    def __call__(self, t: int) -> float:
        """Refuse: this momentum depends on the iterates."""
        raise TypeError(
            f"{self!r} depends on the iterates, not on t = {t} alone. Use it with DualDescent itself, "
            f"or Inertia(alpha) here."
        )

    def factor(self, age: Array) -> Array:
        """Return s / (s + α) for every column, s the number of updates since its last restart."""
        return age / (age + self.alpha)

    @abstractmethod
    def uphill(self, move: Array, step: Array, slope: Array) -> Array:
        """Return which columns start over.

        Parameters
        ----------
        move : array
            u_{t+1} − u_t.
        step : array
            q_t − u_{t+1} over the weights: γ times the gradient of the dual that the update saw.
        slope : array
            The gradient of the dual half way between u_t and u_{t+1}.
        """


@dataclass(frozen=True)
class GradientRestart(Restart):
    """Restart where an update goes against its gradient: ⟨q_t − u_{t+1}, u_{t+1} − u_t⟩ > 0.

    Examples
    --------
    >>> import marginpath as mp
    >>> data = mp.datasets.toy()
    >>> problem = mp.Problem(mp.Gram.linear(data.X), data.y)
    >>> solver = mp.DualDescent(mp.PowerDecay(4.0), momentum=GradientRestart())
    >>> path = mp.run(solver, problem, steps=600, stop=mp.CertifiedMargin(1e-8))
    >>> path.status.value
    'stopped'
    """

    def uphill(self, move: Array, step: Array, slope: Array) -> Array:
        """Return whether ⟨step, move⟩ > 0, per column."""
        return namespace(move).sum(step * move, axis=0) > 0


@dataclass(frozen=True)
class FunctionRestart(Restart):
    """Restart where the dual objective rises: D(u_{t+1}) > D(u_t). For the hinge loss only.

    D is quadratic, so that D(u_{t+1}) − D(u_t) is ⟨slope half way, move⟩, which keeps its sign where the
    difference of the two values would be rounding.
    """

    def uphill(self, move: Array, step: Array, slope: Array) -> Array:
        """Return whether ⟨slope, move⟩ > 0, per column."""
        return namespace(move).sum(slope * move, axis=0) > 0
