"""The models along a path, kept compactly: most coefficients are 0 or at the bound."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace

import numpy as np

from ..arrays import Array, is_numpy, take_columns, to_numpy
from ..files.records import register
from ..problem import Problem
from ..solvers.base import State
from ..solvers.coordinate.spaces import at_bound, lowest_dual


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
        u = np.where(resting, lowest_dual(mass, self.bound, self.values.dtype), 0)
        u.ravel()[self.index] = self.values
        return u

    where_kept = unpack


@dataclass(frozen=True)
class KeptDual:
    """A dual vector as it is and where it is: on a GPU, its memory is cheaper than moving it."""

    bound: Array
    values: Array

    def unpack(self, mass: np.ndarray) -> np.ndarray:
        """Return u, as a NumPy array."""
        return to_numpy(self.values)

    def where_kept(self, mass: np.ndarray) -> Array:
        """Return u."""
        return self.values


@register
@dataclass
class ModelHistory:
    """The dual vectors of every recorded step of a path, in ``path.models``: ``run(…, models=True)``.

    Parameters
    ----------
    columns : array of int, optional
        Which columns are kept; None keeps all.

    Examples
    --------
    >>> import marginpath as mp
    >>> data = mp.datasets.toy()
    >>> problem = mp.Problem(mp.Gram.linear(data.X), data.y)
    >>> path = mp.run(mp.CoordinateDescent(), problem, steps=9, every=3, models=True)
    >>> path.models.steps, bool((path.models.u(9) == path.last.u).all())
    ([0, 3, 6, 9], True)
    """

    columns: np.ndarray | None = None
    steps: list[int] = field(default_factory=list)
    packed: list[PackedDual | KeptDual] = field(default_factory=list)
    mass: np.ndarray = field(default_factory=lambda: np.empty(0))

    def keep(self, problem: Problem, state: State) -> None:
        """Keep the dual vectors of a state."""
        if not self.packed:
            self.mass = self._part(problem.mass)
        self.packed.append(self._compact(state))
        self.steps.append(state.t)

    def drop(self) -> None:
        """Forget the last step."""
        self.packed.pop()
        self.steps.pop()

    def u(self, step: int) -> np.ndarray:
        """Return the dual vectors after that many steps; 0 is the start."""
        return self.packed[self._row(step)].unpack(self.mass)

    def where_kept(self, step: int) -> Array:
        """Return the same where it was kept: on a GPU, if the path ran there."""
        return self.packed[self._row(step)].where_kept(self.mass)

    def bound(self, step: int) -> float:
        """Return 1/λ of that step, the largest of the columns."""
        return float(np.max(to_numpy(self.packed[self._row(step)].bound)))

    def copy(self) -> ModelHistory:
        """Return a history that can grow without changing this one."""
        return replace(self, steps=list(self.steps), packed=list(self.packed))

    def on_host(self) -> ModelHistory:
        """Return the history with all of it packed in main memory, as files hold it."""
        return replace(self, steps=list(self.steps), packed=[self._packed(each) for each in self.packed])

    def __len__(self) -> int:
        """Return the number of steps kept, the start among them."""
        return len(self.packed)

    def _row(self, step: int) -> int:
        row = bisect_left(self.steps, step)
        if self.steps[row : row + 1] != [step]:
            raise ValueError(
                f"No model of step {step} was kept, but of {len(self.steps)} steps up to {self.steps[-1]}. "
                f"Run with every=1 to keep all."
            )
        return row

    def _compact(self, state: State) -> PackedDual | KeptDual:
        if state.packed is not None:
            u = state.packed.duals(self.columns).reshape(self.mass.shape)
            return PackedDual.pack(u, self._bound(state.bound), self.mass)
        if is_numpy(state.u):
            return PackedDual.pack(self._part(state.u), self._bound(state.bound), self.mass)
        if self.columns is None or state.u.ndim == 1:
            return KeptDual(state.bound, state.u)
        return KeptDual(state.bound, take_columns(state.u, self.columns))

    def _packed(self, model: PackedDual | KeptDual) -> PackedDual:
        if isinstance(model, PackedDual):
            return model
        return PackedDual.pack(to_numpy(model.values), self._bound(model.bound), self.mass)

    def _part(self, values: Array) -> np.ndarray:
        if self.columns is None or values.ndim < 2:
            return to_numpy(values)
        if is_numpy(values):
            return np.asarray(values[:, self.columns])
        return to_numpy(take_columns(values, self.columns))

    def _bound(self, bound: Array) -> np.ndarray:
        whole = to_numpy(bound)
        return whole if self.columns is None or whole.ndim == 0 else whole[self.columns]
