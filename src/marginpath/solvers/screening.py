"""What a screened run holds: roles of the coordinates, a packed block of K, and the state.

A coordinate is left out at 0, left out at the bound, or followed. A row is left out of all columns of y
or of none, so that one block of K serves all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from ..arrays import Array, blocks
from ..gram import Gram
from .base import State

#: The role of a coordinate: left out at 0, left out at the bound, followed, followed and packed.
ZERO, BOUND, ROW, COLUMN = range(4)

_LOOSE, _PACK = 1.5, 15.0  # the cost of an entry of K where it lies, and of packing it; a packed one costs 1
_BLOCK = 128


def support_product(gram: Gram, V: np.ndarray) -> np.ndarray:
    """Return K V, reading only the rows of K that meet a nonzero of V."""
    support = np.flatnonzero(V if V.ndim == 1 else V.any(axis=1))
    if _LOOSE * support.size > len(V):
        return np.asarray(gram @ V)
    product = np.zeros_like(V)
    for a, b in blocks(support.size, _BLOCK):
        index = support[a:b]
        product += gram.rows(index).T @ V[index]
    return product


def best_horizon(horizon: np.ndarray, support: np.ndarray) -> float:
    """Return the number of steps to screen for, 0 where following all rows is cheaper.

    Row i is expected to pass its test for ``horizon[i]`` steps. To screen for H steps is to follow the rows
    with a horizon under H: H packed products, one packing, and one product with all rows after it.
    """
    n, size = len(horizon), int(support.sum())
    order = np.argsort(horizon, kind="stable")
    H, rows = horizon[order], np.arange(n)
    columns = np.cumsum(support[order]) - support[order]
    once = _PACK * rows * columns + _LOOSE * n * size
    cost = np.where(H > 0, rows * columns + once / (1 + H), np.inf)
    best = int(np.argmin(cost))
    return float(H[best]) if cost[best] < n * min(n, _LOOSE * size) else 0.0


class Block(NamedTuple):
    """The matrix K_CR of the packed columns C and the followed rows R."""

    columns: np.ndarray
    rows: np.ndarray
    K: np.ndarray

    @classmethod
    def pack(cls, gram: Gram, role: np.ndarray) -> Block:
        """Gather the block that the roles ask for."""
        columns, rows = _index(role)
        K = np.empty((columns.size, rows.size), dtype=gram.dtype)
        for a, b in blocks(columns.size, _BLOCK):
            np.take(gram.rows(columns[a:b]), rows, axis=1, out=K[a:b], mode="clip")
        return cls(columns, rows, K)

    def fits(self, role: np.ndarray) -> bool:
        """Whether this is the block of these roles."""
        columns, rows = _index(role)
        return np.array_equal(columns, self.columns) and np.array_equal(rows, self.rows)

    def product(self, gram: Gram, v: np.ndarray) -> np.ndarray:
        """Return K v on the rows R, and 0 elsewhere."""
        loose = v.copy()
        loose[self.columns] = 0
        product = np.zeros_like(v)
        product[self.rows] = support_product(gram, loose)[self.rows] + self.K.T @ v[self.columns]
        return product


def _index(role: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    least = role if role.ndim == 1 else role.min(axis=1)
    return np.flatnonzero(least == COLUMN), np.flatnonzero(least >= ROW)


@dataclass(frozen=True, kw_only=True)
class ScreenedState(State):
    """A state that follows the scores of some rows, and makes ``scores`` whole when someone looks.

    The first look costs a product with the rows of K in the support, unless all rows are followed. For
    that the state holds on to the kernel matrix; a saved or pickled one has whole scores instead.

    Attributes
    ----------
    role : array
        ZERO, BOUND, ROW or COLUMN for each coordinate.
    row_scores : array
        S on the followed rows.
    reference, reference_scores : array
        The point p of the tests, and K(Y∘p).
    aggregate : array
        a = K(Y∘mass) over the coordinates that are left out at the bound: they add −b_t a to the scores.
    since, horizon : int
        When the roles were given, and for how many steps.
    """

    previous_u: Array
    row_scores: Array
    previous_row_scores: Array
    role: Array
    reference: Array
    reference_scores: Array
    aggregate: Array
    step_size: float
    size: float
    previous_size: float
    reference_size: float
    since: int
    horizon: int

    def __post_init__(self) -> None:
        if self.scores is None and self.u is not None:
            del self.__dict__["scores"]  # the property below computes them

    @cached_property  # type: ignore[misc]  # a field that is filled late
    def scores(self) -> Array:
        """S = K(Y∘u)."""
        if self.whole:
            return self.row_scores
        gram, Y = self.__dict__["source"]
        return np.where(self.role >= ROW, self.row_scores, support_product(gram, Y * self.u))

    @property
    def whole(self) -> bool:
        """Whether all rows are followed."""
        return bool(np.all(self.role >= ROW))

    @property
    def nbytes(self) -> int:
        """Size of the arrays in memory, whole scores included."""
        return sum(int(x.nbytes) for x in (*self._stored().values(), self.u))

    def extrapolated(self, α: float) -> tuple[Array, Array]:
        """Return q = u_t + α(u_t − u_{t−1}), and K(Y∘q) on the followed rows."""
        q = self.u + α * (self.u - self.previous_u)
        return q, self.row_scores + α * (self.row_scores - self.previous_row_scores)

    def columns(self, index: Array) -> Self:
        """Return the state of some of the columns."""
        part = {name: np.take(x, index, axis=-1) for name, x in self._stored().items()}
        scores = np.take(self.scores, index, axis=-1) if "scores" in self.__dict__ else None
        gram, Y = self.__dict__.get("source", (None, self.u))
        return replace(self, scores=scores, **part).attach(gram, Y[..., index], self.release())

    def merge(self, index: np.ndarray, part: Self) -> Self:
        """Return this state with the columns ``index``, and all that is no array, taken from ``part``."""
        rest = np.setdiff1d(np.arange(self.u.shape[-1]), index)
        merged = {name: x.copy() for name, x in self._stored().items()}
        if not np.all(self.role[:, rest] >= ROW):  # a column that rests has whole scores from now on
            merged["row_scores"][:, rest], merged["role"][:, rest] = self.scores[:, rest], ROW
        for name, x in part._stored().items():
            merged[name][..., index] = x
        gram, signs = part.__dict__["source"]
        Y = np.zeros_like(merged["u"])
        Y[:, index] = signs
        return replace(part, scores=None, **merged).attach(gram, Y, part.release())

    def attach(self, gram: Gram | None, Y: Array, block: Block | None) -> Self:
        """Give a new state what makes its scores whole, and the packed block, which one state owns."""
        self.__dict__.update(source=(gram, Y), block=block)
        return self

    def release(self) -> Block | None:
        """Give the packed block away."""
        block: Block | None = self.__dict__.pop("block", None)
        return block

    def _stored(self) -> dict[str, Array]:
        values = {f.name: self.__dict__.get(f.name) for f in fields(self) if f.name != "scores"}
        return {name: x for name, x in values.items() if hasattr(x, "shape")}

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}
