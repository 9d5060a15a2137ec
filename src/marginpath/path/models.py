"""The models along a path, kept compactly: most coefficients are 0 or at the bound."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..arrays import Array, is_numpy, take_columns, to_numpy
from ..files.records import register
from ..problem import Problem
from ..solvers.base import State
from ..solvers.coordinate.spaces import at_bound
from .path import Path


@register
@dataclass(frozen=True)
class PackedDual:
    """A dual vector as a bit for every coordinate at the bound, and the numbers in between.

    Examples
    --------
    >>> u, weight = np.array([0.0, -2.0, -0.5]), np.ones(3)
    >>> packed = PackedDual.pack(u, np.float64(2.0), weight)
    >>> packed.values, packed.unpack(weight)
    (array([-0.5]), array([ 0. , -2. , -0.5]))
    """

    bound: np.ndarray
    resting: np.ndarray
    index: np.ndarray
    values: np.ndarray
    shape: tuple[int, ...]

    @classmethod
    def pack(cls, u: np.ndarray, bound: np.ndarray, mass: np.ndarray) -> PackedDual:
        """Take u ∈ [−bound · mass, 0] apart; bound is one number, or one for each column."""
        resting = at_bound(u, mass, bound)
        index = np.flatnonzero((u != 0) & ~resting)
        return cls(
            np.asarray(bound), np.packbits(resting), index.astype(np.uint32), u.ravel()[index], u.shape
        )

    def unpack(self, mass: np.ndarray) -> np.ndarray:
        """Return u again, equal to the last bit."""
        resting = np.unpackbits(self.resting, count=int(np.prod(self.shape))).astype(bool).reshape(self.shape)
        u = np.where(resting, -np.where(mass > 0, self.bound, 0) * mass, 0).astype(self.values.dtype)
        u.ravel()[self.index] = self.values
        return u


@dataclass(frozen=True)
class KeptDual:
    """A dual vector as it is and where it is: on a GPU, its memory is cheaper than moving it."""

    bound: Array
    values: Array

    def unpack(self, mass: np.ndarray) -> np.ndarray:
        """Return u, as a NumPy array."""
        return to_numpy(self.values)


@register
@dataclass
class ModelHistory:
    """A callback of :func:`run` that keeps some of the columns at every step.

    Parameters
    ----------
    columns : array of int, optional
        Which ones; None keeps all.
    """

    columns: np.ndarray | None = None
    packed: list[PackedDual | KeptDual] = field(default_factory=list)
    mass: np.ndarray = field(default_factory=lambda: np.empty(0))

    def __call__(self, problem: Problem, state: State, path: Path) -> None:
        """Keep the state; the run goes on."""
        if not self.packed:
            self.mass = self._part(problem.mass)
        if is_numpy(state.u):
            self.packed.append(PackedDual.pack(self._part(state.u), self._bound(state), self.mass))
        elif self.columns is None or state.u.ndim == 1:
            self.packed.append(KeptDual(state.bound, state.u))
        else:
            self.packed.append(KeptDual(state.bound, take_columns(state.u, self.columns)))

    def u(self, step: int) -> np.ndarray:
        """Return the dual vectors after that many steps; 0 is the start, u = 0."""
        if step == 0:
            return np.zeros_like(self.u(1))
        return self.packed[step - 1].unpack(self.mass)

    def bound(self, step: int) -> float:
        """Return 1/λ of that step, the largest of the columns."""
        return 0.0 if step == 0 else float(np.max(to_numpy(self.packed[step - 1].bound)))

    def copy(self) -> ModelHistory:
        """Return a history that can grow without changing this one."""
        return ModelHistory(self.columns, list(self.packed), self.mass)

    def __len__(self) -> int:
        """Return the number of steps kept."""
        return len(self.packed)

    def _part(self, values: Array) -> np.ndarray:
        whole = to_numpy(values)
        return whole if self.columns is None or whole.ndim < 2 else whole[:, self.columns]

    def _bound(self, state: State) -> np.ndarray:
        bound = to_numpy(state.bound)
        return bound if self.columns is None or bound.ndim == 0 else bound[self.columns]
