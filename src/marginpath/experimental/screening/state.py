"""What a screened run knows: the roles of the coordinates, a line whose margins are known, and the state.

A coordinate rests at 0, rests at the bound, or is free. A row is left out if it rests in all columns of y,
so that one block of K serves all of them; else it is free in all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from ...arrays import Array
from ...problem import Problem
from ...solvers.base import State
from .stored import StoredMatrix

#: The role of a coordinate: rests at 0, rests at the bound, free.
ZERO, BOUND, FREE = range(3)

_PACK = 2.0  # the cost of packing an entry of K, against that of using it once


@dataclass(frozen=True, kw_only=True)
class ScreenedState(State):
    """A state that follows the scores of the free rows, and makes ``scores`` whole when someone looks.

    The first look costs a product with the support, unless all rows are free. For that the state holds on
    to the kernel matrix; a saved or pickled one has whole scores instead.

    Attributes
    ----------
    Y : array
        The labels.
    role : array
        ZERO, BOUND or FREE for each coordinate.
    free_scores : array
        S on the free rows.
    aggregate : array
        a = K(Y∘mass) over the coordinates at the bound: they add −b_t a to the scores.
    reference, reference_scores, direction, direction_scores : array
        The line p + τ d of the tests, with K(Y∘p) and K(Y∘d).
    bend : array () or (k,)
        How far w left the last line, over the square of the steps along it, in steps.
    since, horizon : int
        When the line was laid, and for how many steps the roles should hold.
    """

    Y: Array
    previous_u: Array
    free_scores: Array
    previous_free_scores: Array
    role: Array
    aggregate: Array
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
        if np.all(self.role == FREE):
            return self.free_scores
        return np.where(self.role == FREE, self.free_scores, self.matrix.product(self.Y * self.u))

    @property
    def matrix(self) -> StoredMatrix:
        """The kernel matrix; a state that was saved or pickled has none, and whole scores."""
        matrix: StoredMatrix = self.__dict__["matrix"]
        return matrix

    @property
    def free(self) -> np.ndarray:
        """Which rows are free."""
        free = self.role == FREE
        return np.asarray(free if free.ndim == 1 else free.all(axis=1))

    @property
    def moving(self) -> np.ndarray:
        """The rows that move in some column: free, or at the bound."""
        return np.flatnonzero(self.role if self.role.ndim == 1 else self.role.any(axis=1))

    @property
    def mixed(self) -> bool:
        """Whether a row is free in some columns only: they were steps apart for a while."""
        return self.role.ndim > 1 and bool(np.any((self.role == FREE).any(axis=1) & ~self.free))

    @property
    def nbytes(self) -> int:
        """Size of the arrays in memory, whole scores included."""
        return sum(int(x.nbytes) for x in (*self._stored().values(), self.u))

    def extrapolated(self, α: float, rows: Any = slice(None)) -> tuple[Array, Array]:
        """Return q = u_t + α(u_t − u_{t−1}), and K(Y∘q), which is known on the free rows."""
        u, S = self.u[rows], self.free_scores[rows]
        return u + α * (u - self.previous_u[rows]), S + α * (S - self.previous_free_scores[rows])

    def changed(self, matrix: StoredMatrix | None = None, **changes: Any) -> Self:
        """Return the state with some fields changed and scores to come, from this matrix or its own."""
        state = replace(self, **{"scores": None, **changes})
        state.__dict__["matrix"] = matrix or self.__dict__.get("matrix")
        return state

    def columns(self, index: Array) -> Self:
        """Return the state of some of the columns."""
        part = {name: np.take(x, index, axis=-1) for name, x in self._stored().items()}
        if "scores" in self.__dict__:
            part["scores"] = np.take(self.scores, index, axis=-1)
        return self.changed(**part)

    def merge(self, index: np.ndarray, part: Self) -> Self:
        """Return this state with the columns ``index``, and all that is no array, taken from ``part``."""
        rest = np.setdiff1d(np.arange(self.u.shape[-1]), index)
        merged = {name: x.copy() for name, x in self._stored().items()}
        if not np.all(self.role[:, rest] == FREE):  # a column that is done has whole scores from now on
            S, d = self.scores[:, rest], (self.Y * (self.u - self.previous_u))[:, rest]
            before = np.where(
                self.role[:, rest] == FREE, self.previous_free_scores[:, rest], S - part.matrix.product(d)
            )
            merged["free_scores"][:, rest], merged["previous_free_scores"][:, rest] = S, before
            merged["role"][:, rest] = FREE
        for name, x in part._stored().items():
            merged[name][..., index] = x
        return part.changed(**merged)

    def _stored(self) -> dict[str, Array]:
        values = {f.name: self.__dict__.get(f.name) for f in fields(self) if f.name != "scores"}
        return {name: x for name, x in values.items() if hasattr(x, "shape")}

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


def distance(problem: Problem, state: ScreenedState, α: float) -> tuple[np.ndarray, np.ndarray]:
    """Return ‖w(q) − w(p + τ d)‖ and τ for the nearest point of the line, per column.

    The distance includes what rounding may add to it and to the margins. x = q − p − τ d is 0 where
    coordinates rest at 0, and −δ times the mass where they rest at the bound. So
    ‖Zᵀx‖² = Σ_F (Y∘x) K(Y∘x) − δ Σ (Y∘x) a, and K(Y∘x) is known on the free rows F.
    """
    rows = state.moving
    Y, roots, role = problem.Y[rows], problem.roots[rows], state.role[rows]
    p, Kp = Y * state.reference[rows], state.reference_scores[rows]
    d, Kd = Y * state.direction[rows], state.direction_scores[rows]
    q, Kq = state.extrapolated(α, rows)
    x = Y * q - p
    τ = ratio(inner(x, Kd), inner(d, Kd)).astype(q.dtype)
    x, Kx = x - τ * d, Kq - Kp - τ * Kd
    squared = inner(x, np.where(role == FREE, Kx, np.zeros_like(Kx)))
    if np.any(role == BOUND):
        δ = state.size + α * (state.size - state.previous_size) - state.reference_size
        δ = (δ - τ * state.direction_size) * problem.box_scale
        squared = squared - δ * inner(x, state.aggregate[rows])
    spread = norm(roots * x)
    error = rounding(problem) * (norm(roots * p) + 2 * np.abs(τ) * norm(roots * d) + spread)
    return np.sqrt(np.maximum(squared, 0) + error * spread) + error, τ


def slack(problem: Problem, at_bound: np.ndarray, scores: np.ndarray, growth: np.ndarray) -> np.ndarray:
    """Return m − 1, or 1 − m − G_t/γ at the bound, for all coordinates; infinity where none is."""
    over = problem.margins(scores) - 1
    return np.where(problem.mass > 0, np.where(at_bound, -over - growth, over), np.inf)


def all_rest(
    problem: Problem, state: ScreenedState, ρ: np.ndarray, τ: np.ndarray, growth: np.ndarray
) -> bool:
    """Whether every coordinate that rests passes its test, w being at a distance ρ from that of p + τ d."""
    scores = state.reference_scores + τ * state.direction_scores
    passes = slack(problem, state.role == BOUND, scores, growth) >= problem.roots * ρ
    return bool(np.all(passes | (state.role == FREE)))


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


def rounding(problem: Problem) -> float:
    """Return how far off the scores K_i v may be, over √K_ii and the norm of √K_jj v_j.

    A sum of n terms with independent rounding errors is off by some eps √n times their Euclidean norm.
    """
    return float(2 * np.finfo(problem.Y.dtype).eps * problem.shape[0] ** 0.5)


def norm(x: np.ndarray) -> np.ndarray:
    """Return the Euclidean norm, per column."""
    return np.asarray(np.linalg.norm(x, axis=0))


def inner(x: np.ndarray, Ky: np.ndarray) -> np.ndarray:
    """Return ⟨x, K y⟩ with float64 sums, per column."""
    return np.asarray(np.sum(x * Ky, axis=0, dtype=np.float64))


def ratio(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return x/y, 0 where y is not positive."""
    return np.asarray(np.divide(x, y, out=np.zeros_like(x), where=y > 0))
