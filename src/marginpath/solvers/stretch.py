"""A stretch of a screened run: what stays as it is while the roles of the coordinates do."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..problem import Problem
from .screening import BOUND, Block, ScreenedState, stored_matrix, support_product


class Held(NamedTuple):
    """The coordinates that rest at the bound.

    Attributes
    ----------
    which, aggregate : array
        Which they are, and a = K(Y∘mass) over them: they add −b_t a to the scores. On the rows that move.
    inverse_roots : array
        1/√K_ii for them, and 0, on the rows that rest.
    """

    which: np.ndarray
    aggregate: np.ndarray
    inverse_roots: np.ndarray


class Stretch(NamedTuple):
    """What stays as it is while the roles do, most of it on the rows that move: free or at the bound.

    Attributes
    ----------
    rows : array or slice
        The rows that move. Y, mass and √K_ii there follow.
    held : Held, optional
        Those at the bound, if any are.
    block : Block, optional
        K on the free rows, unless all are free.
    line, norms : arrays
        Y∘p, K(Y∘p), Y∘d, K(Y∘d), and the norms of √K_ii p_i and √K_ii d_i, per column.
    reach, pace : array
        m − 1 on the rows that rest (1 − m at the bound) over √K_ii: reach + τ pace at p + τ d.
    """

    rows: Any
    Y: np.ndarray
    mass: np.ndarray
    roots: np.ndarray
    held: Held | None
    block: Block | None
    line: tuple[np.ndarray, ...]
    norms: tuple[np.ndarray, np.ndarray]
    reach: np.ndarray
    pace: np.ndarray

    @classmethod
    def begin(cls, problem: Problem, state: ScreenedState, old: Block | None = None) -> Stretch:
        """Gather what the roles of a state ask for, in the memory of an old block where there is room."""
        K, Y, mass, roots = stored_matrix(problem.gram), problem.Y, problem.mass, problem.roots
        at_bound, rests = state.role == BOUND, ~state.free
        rows = np.flatnonzero(state.role.reshape(len(Y), -1).any(axis=1)) if rests.any() else slice(None)
        side = ratio(np.where(at_bound, -1.0, 1.0)[rests], roots[rests])
        held = None
        if at_bound.any():
            aggregate = support_product(K, np.where(at_bound, Y * mass, np.zeros_like(Y)))
            held = Held(at_bound[rows], aggregate[rows], np.maximum(-side, 0))
        line = Y * state.reference, state.reference_scores, Y * state.direction, state.direction_scores
        reach = np.where(mass[rests] > 0, side * (problem.margins(line[1])[rests] - 1), np.inf)
        return cls(
            rows=rows,
            Y=Y[rows],
            mass=mass[rows],
            roots=roots[rows].astype(Y.dtype),
            held=held,
            block=Block.pack(K, np.flatnonzero(~rests), old) if rests.any() else None,
            line=tuple(x[rows] for x in line),
            norms=(norm(roots * line[0]), norm(roots * line[2])),
            reach=reach.astype(Y.dtype),
            pace=(side * problem.margins(line[3])[rests]).astype(Y.dtype),
        )

    def distance(
        self, problem: Problem, state: ScreenedState, α: float, q: np.ndarray, Kq: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return ‖w(q) − w(p + τ d)‖ and τ for the nearest point of the line, per column.

        The distance includes what rounding may add to it and to the margins. x = q − p − τ d is 0 where
        coordinates rest at 0, and −δ times the mass where they rest at the bound. So
        ‖Zᵀx‖² = Σ_F (Y∘x) K(Y∘x) − δ Σ (Y∘x) a, and K(Y∘x) is known on the free rows F.
        """
        p, Kp, d, Kd = self.line
        x = self.Y * q - p
        τ = ratio(inner(x, Kd), inner(d, Kd)).astype(q.dtype)
        x, Kx = x - τ * d, Kq - Kp - τ * Kd
        if self.held is None:
            squared = inner(x, Kx)
        else:
            δ = state.size + α * (state.size - state.previous_size) - state.reference_size
            δ = (δ - τ * state.direction_size) * problem.box_scale
            squared = inner(x, np.where(self.held.which, 0, Kx)) - δ * inner(x, self.held.aggregate)
        spread = norm(self.roots * x)
        error = rounding(problem) * (self.norms[0] + 2 * np.abs(τ) * self.norms[1] + spread)
        return np.sqrt(np.maximum(squared, 0) + error * spread) + error, τ

    def holds(self, ρ: np.ndarray, τ: np.ndarray, growth: np.ndarray) -> bool:
        """Whether every coordinate that rests passes its test."""
        slack = self.reach + τ * self.pace
        if self.held is not None:
            with np.errstate(invalid="ignore"):  # an infinite growth fails, by inf or nan
                slack = slack - self.held.inverse_roots * growth
        return bool(np.all(slack >= ρ))

    def scores(self, problem: Problem, v: np.ndarray, bound: np.ndarray) -> np.ndarray:
        """Return S = K v on the free rows, for v on those that move."""
        if self.block is None:
            return support_product(stored_matrix(problem.gram), v)
        if self.held is None:
            return self.block.product(v)
        S, free = np.zeros_like(v), np.searchsorted(self.rows, self.block.free)
        S[free] = self.block.product(v[free]) - bound * self.held.aggregate[free]
        return S


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
