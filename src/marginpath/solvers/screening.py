"""What a screened run holds: the roles of the coordinates, a packed block of K, and the state.

A coordinate rests at 0, rests at the bound, or is free. A row is left out if it rests in all columns of y,
so that one block of K serves all of them; else it is free in all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from .. import threads
from ..arrays import Array, is_numpy
from ..gram import DenseGram, Gram
from ..pool import for_all
from .base import State

#: The role of a coordinate: rests at 0, rests at the bound, free.
ZERO, BOUND, FREE = range(3)

_PACK = 2.0  # the cost of packing an entry of K, against that of using it once
_PARTS, _PART = 4, 2**20  # most parts of a product, whatever the cores, and the entries that are worth one


def stored_matrix(gram: Gram) -> np.ndarray:
    """Return the kernel matrix, its rows in one piece where that takes no copy; refuse what stores none."""
    if not isinstance(gram, DenseGram) or not is_numpy(gram.K):
        raise TypeError(
            f"Screened needs a kernel matrix stored by NumPy, got a {type(gram).__name__} of "
            f"{type(gram.diagonal).__module__.partition('.')[0]} arrays. Use Gram.from_kernel or "
            f"Gram.from_matrix with NumPy arrays, or DualDescent alone."
        )
    return np.asarray(gram.K.T if gram.K.flags.f_contiguous else gram.K)  # it is symmetric


def support_product(K: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return K V, from the rows of K that meet a nonzero of V, or from half of K where that is less."""
    from .passes import add_half, add_rows

    support = np.flatnonzero(V if V.ndim == 1 else V.any(axis=1))
    if 2 * support.size > len(V):
        return _half_product(lambda *given: add_half(K, *given), V)
    Vt = np.ascontiguousarray(np.atleast_2d(V[support].T))
    product = np.zeros((len(Vt), len(V)), dtype=V.dtype)
    parts = max(1, min(_PARTS, support.size * len(V) // _PART))
    ends = [len(V) * p // parts for p in range(parts + 1)]
    _share(lambda p: add_rows(K, support, Vt, product, ends[p], ends[p + 1]), parts)
    return np.ascontiguousarray(product.T).reshape(V.shape)


class Block(NamedTuple):
    """The lower half of K_FF, packed, for the free rows F."""

    free: np.ndarray
    packed: np.ndarray

    @classmethod
    def pack(cls, K: np.ndarray, free: np.ndarray, old: Block | None = None) -> Block:
        """Gather the block, or take an old one: as it is if it fits, or its memory if there is room."""
        from .passes import gather_half

        if old is not None and np.array_equal(old.free, free):
            return old
        size = (free.size + 2) ** 2 // 2
        packed = np.empty(size, dtype=K.dtype) if old is None or old.packed.size < size else old.packed
        ends = _ends(free.size)
        _share(lambda p: gather_half(K, free, packed, ends[p], ends[p + 1]), len(ends) - 1)
        return cls(free, packed)

    def product(self, V: np.ndarray) -> np.ndarray:
        """Return K_FF V, for V on the free rows."""
        from .passes import add_packed

        return _half_product(lambda *given: add_packed(self.packed, *given), V)


def _half_product(add: Callable[..., None], V: np.ndarray) -> np.ndarray:
    """Return the product of a symmetric matrix with V, parts of whose lower half ``add`` adds to sums."""
    Vt = np.ascontiguousarray(np.atleast_2d(V.T))
    ends = _ends(len(V))
    sums = np.zeros((len(ends) - 1, *Vt.shape), dtype=V.dtype)
    _share(lambda p: add(Vt, sums[p], ends[p], ends[p + 1]), len(sums))
    return np.ascontiguousarray(sums.sum(axis=0).T).reshape(V.shape)


def _ends(m: int) -> list[int]:
    """Cut the rows of half a matrix into parts of equal area and whole panels of four rows."""
    parts = max(1, min(_PARTS, m * m // (2 * _PART)))
    return [max(0, m - 4 * math.ceil(m * (1 - (p / parts) ** 0.5) / 4)) for p in range(parts + 1)]


def _share(task: Callable[[int], None], parts: int) -> None:
    """Call the task with 0 … parts − 1, in threads where there are cores for them."""
    for_all(task, range(parts), min(parts, threads.available()))


def best_horizon(horizon: np.ndarray, support: np.ndarray, packed: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the number of steps to screen for, and which rows are then free; 0 where it does not pay.

    Row i is expected to pass its test for ``horizon[i]`` steps. To screen for H steps is to leave out the
    rows with a horizon of at least H: H products with half the block of the others, one packing of it, and
    one product with the support after it. If the rows that are packed now stay free, none is packed.
    """
    H = np.sort(horizon)
    half, whole = np.arange(len(H)) ** 2 / 2, len(H) * min(float(np.count_nonzero(support)), len(H) / 2)
    cost = np.where(H > 0, half + (_PACK * half + whole) / (1 + H), np.inf)
    best = int(np.argmin(cost))
    if not packed.all():
        last = horizon[~packed].min()
        if last > 0 and np.count_nonzero(packed) ** 2 / 2 + whole / (1 + last) < min(cost[best], whole):
            return float(last), packed
    return float(H[best]) if cost[best] < whole else 0.0, horizon < H[best]


@dataclass(frozen=True, kw_only=True)
class ScreenedState(State):
    """A state that follows the scores of the free rows, and makes ``scores`` whole when someone looks.

    The first look costs a product with the support, unless all rows are free. For that the state holds on
    to the kernel matrix; a saved or pickled one has whole scores instead.

    Attributes
    ----------
    role : array
        ZERO, BOUND or FREE for each coordinate.
    free_scores : array
        S on the free rows.
    reference, reference_scores, direction, direction_scores : array
        The line p + τ d of the tests, with K(Y∘p) and K(Y∘d).
    bend : array () or (k,)
        How far w left the last line, over the square of the steps along it, in steps.
    since, horizon : int
        When the line was laid, and for how many steps the roles should hold.
    """

    previous_u: Array
    free_scores: Array
    previous_free_scores: Array
    role: Array
    reference: Array
    reference_scores: Array
    direction: Array
    direction_scores: Array
    bend: Array
    step_size: float
    size: float
    previous_size: float
    reference_size: float
    direction_size: float
    since: int
    horizon: int

    def __post_init__(self) -> None:
        if self.scores is None and self.u is not None:
            del self.__dict__["scores"]  # the property below computes them

    @cached_property  # type: ignore[misc]  # a field that is filled late
    def scores(self) -> Array:
        """S = K(Y∘u)."""
        if self.whole:
            return self.free_scores
        K, Y = self.__dict__["source"]
        return np.where(self.role == FREE, self.free_scores, support_product(K, Y * self.u))

    @property
    def free(self) -> np.ndarray:
        """Which rows are free."""
        return np.asarray(self.role.reshape(len(self.role), -1).min(axis=1) == FREE)

    @property
    def whole(self) -> bool:
        """Whether all rows are free."""
        return bool(self.free.all())

    @property
    def nbytes(self) -> int:
        """Size of the arrays in memory, whole scores included."""
        return sum(int(x.nbytes) for x in (*self._stored().values(), self.u))

    def extrapolated(self, α: float, rows: Any = slice(None)) -> tuple[Array, Array]:
        """Return q = u_t + α(u_t − u_{t−1}), and K(Y∘q), which is known on the free rows."""
        u, S = self.u[rows], self.free_scores[rows]
        return u + α * (u - self.previous_u[rows]), S + α * (S - self.previous_free_scores[rows])

    def columns(self, index: Array) -> Self:
        """Return the state of some of the columns."""
        part = {name: np.take(x, index, axis=-1) for name, x in self._stored().items()}
        scores = np.take(self.scores, index, axis=-1) if "scores" in self.__dict__ else None
        K, Y = self.__dict__.get("source", (None, self.u))
        return replace(self, scores=scores, **part).attach(K, Y[..., index], self.release(index))

    def merge(self, index: np.ndarray, part: Self) -> Self:
        """Return this state with the columns ``index``, and all that is no array, taken from ``part``."""
        rest = np.setdiff1d(np.arange(self.u.shape[-1]), index)
        merged = {name: x.copy() for name, x in self._stored().items()}
        if not np.all(self.role[:, rest] == FREE):  # a column that is done has whole scores from now on
            merged["free_scores"][:, rest], merged["role"][:, rest] = self.scores[:, rest], FREE
        for name, x in part._stored().items():
            merged[name][..., index] = x
        K, signs = part.__dict__["source"]
        Y = np.zeros_like(merged["u"])
        Y[:, index] = signs
        return replace(part, scores=None, **merged).attach(K, Y, part.release(), index)

    def attach(self, K: np.ndarray | None, Y: Array, stretch: Any, columns: np.ndarray | None = None) -> Self:
        """Give a new state what makes its scores whole, and the stretch of columns, which one state owns."""
        self.__dict__.update(source=(K, Y), stretch=(stretch, columns))
        return self

    def release(self, columns: np.ndarray | None = None) -> Any:
        """Give the stretch away if it is that of these columns (None: of all)."""
        stretch, known = self.__dict__.pop("stretch", (None, None))
        same = columns is known if columns is None or known is None else np.array_equal(columns, known)
        return stretch if same else None

    def _stored(self) -> dict[str, Array]:
        values = {f.name: self.__dict__.get(f.name) for f in fields(self) if f.name != "scores"}
        return {name: x for name, x in values.items() if hasattr(x, "shape")}

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}
