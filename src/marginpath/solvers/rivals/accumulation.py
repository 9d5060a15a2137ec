"""Scores that are updated instead of computed, and what keeps them true."""

from __future__ import annotations

from ...arrays import Array
from ...problem import Problem


def refreshed(problem: Problem, t: int, u: Array, scores: Array, every: int) -> Array:
    """Return the updated scores, at multiples of ``every`` computed anew from u.

    Rounding errors add up over the updates in between only. It depends on t alone, so a replay repeats it.
    """
    return problem.scores(u) if t % every == 0 else scores


def unit_vectors(problem: Problem, index: Array) -> tuple[Array, Array]:
    """Return e, one unit vector a column, and its scores K(Y∘e), from one row of K a column."""
    xp = problem.xp
    n, *columns = problem.shape
    position = xp.reshape(xp.arange(n, device=problem.gram.device), (n, *(1 for _ in columns)))
    e = xp.astype(position == index, problem.gram.dtype)
    rows = problem.gram.rows(xp.reshape(index, (-1,)))
    return e, xp.sum(problem.Y * e, axis=0) * xp.reshape(rows.T, problem.shape)
