"""The protocol of a solver: a frozen record of settings that starts and advances a State."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np

from ..arrays import Array, namespace
from ..gram.base import Gram
from ..problem import Problem


@dataclass(frozen=True, kw_only=True)
class State:
    """Where a path stands after t updates. Every array has the columns of y as its last axis.

    Attributes
    ----------
    t : int
        Updates done; 0 is the start.
    u : array
        The dual variable, shape of y; w = −Zᵀu.
    scores : array
        S = K(Y∘u), always those of ``u``; where the problem says which are watched, of these and of the
        samples with a label.
    bound : array () or (k,)
        The box size 1/λ_t of the last update, per column.
    """

    t: int
    u: Array
    scores: Array
    bound: Array
    #: What u and the scores are made from, where most of their numbers are 0 or not known.
    packed: ClassVar[Any] = None

    def weights(self, gram: Gram) -> Array | None:
        """Return Xᵀ(Y∘u) for a Gram matrix that is kept as X, where the state has it."""
        return None

    def columns(self, index: Array) -> Self:
        """Return the state of some of the columns."""
        return self._map(lambda name, x: namespace(x).take(x, index, axis=-1))

    def merge(self, index: np.ndarray, part: Self) -> Self:
        """Return this state with the columns ``index`` taken from ``part``, and its t."""
        k = self.u.shape[-1]
        order = np.arange(k)
        order[index] = k + np.arange(len(index))

        def merged(name: str, x: Array) -> Array:
            xp = namespace(x)
            both = xp.concat([x, getattr(part, name)], axis=-1)
            return xp.take(both, xp.asarray(order), axis=-1)

        return replace(self._map(merged), t=part.t)

    def arrays(self) -> dict[str, Array]:
        """Return the array fields by name."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: x for name, x in values.items() if hasattr(x, "shape")}

    @property
    def column_shape(self) -> tuple[int, ...]:
        """() or (k,)."""
        return tuple(self.u.shape[1:])

    @property
    def nbytes(self) -> int:
        """Size of the arrays in memory."""
        width = int(namespace(self.u).finfo(self.u.dtype).bits) // 8
        return sum(width * math.prod(x.shape) for x in self.arrays().values())

    def _map(self, f: Callable[[str, Array], Array]) -> Self:
        return replace(self, **{name: f(name, x) for name, x in self.arrays().items()})


S = TypeVar("S", bound=State)


class Solver(Protocol[S]):
    """A method: settings in, a sequence of states out."""

    def init(self, problem: Problem, start: Array | None = None) -> S:
        """Return the state at t = 0, with all that depends on the data resolved into it."""
        ...

    def step(self, problem: Problem, state: S) -> S:
        """Return the state after one more update. Pure: neither argument changes."""
        ...
