"""Certificates: what a dual vector proves, rounding included.

The maximum margin is max min_i y_i⟨w, x_i⟩ over ‖w‖ ≤ 1. For any v = −u ≥ 0 with m = A v and
‖w‖² = vᵀm > 0 it lies between min_i m_i / ‖w‖ and ‖w‖ / Σ v_i.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from .arrays import Array
from .losses import Hinge
from .problem import Problem
from .solvers.base import State


def margin_bounds(problem: Problem, u: Array) -> tuple[Array, Array]:
    """Return (lower, upper) bounds on the maximum margin, per column.

    The product with K is taken anew with float64 accumulation, and its worst-case rounding error is
    allowed for, so that the interval is a proof for the matrix at hand. An upper end ≤ ε says that
    nothing separates the data with a margin over ε.

    Parameters
    ----------
    u : array of the shape of y
        Any u ≤ 0, such as ``path.last.u``.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> problem = mp.Problem(mp.Gram.linear(np.array([[1.0, 1.0], [-1.0, -1.0]])), [1, -1])
    >>> lower, upper = mp.margin_bounds(problem, np.array([-0.25, -0.25]))
    >>> print(round(float(lower), 6), round(float(upper), 6))
    1.414214 1.414214
    """
    xp = problem.xp
    u = xp.asarray(u)
    if tuple(u.shape) != problem.shape:
        raise ValueError(f"u has shape {tuple(u.shape)}, but that of y, {problem.shape}, is needed.")
    if not bool(xp.all(u <= 0)):
        raise ValueError("u must be at most 0 everywhere (v = −u ≥ 0) for its bounds to hold.")
    scores, error = problem.gram.product_with_error(problem.Y * u)
    u = xp.astype(u, xp.float64)
    lower, upper = _bounds(problem, u, scores, error)
    if problem.gram.rounding:
        sharp = _bounds(problem, u, scores, error - problem.gram.rounding * _length(problem, u))
        _warn_where_limited(problem, upper - lower, sharp[1] - sharp[0])
    return lower, upper


def state_margin_bounds(problem: Problem, state: State) -> tuple[Array, Array]:
    """Return the same bounds from the scores that the state has, at no product.

    Rounding of a product over n terms is allowed for as 8 √n eps of the dtype (Higham and Mary, SIAM J. Sci.
    Comput. 41, 2019: the probability of more is below 1e-10 for independent errors). In float32 this
    guard is wide; :func:`margin_bounds` is the sharper word.
    """
    xp = problem.xp
    guard = 8 * problem.shape[0] ** 0.5 * float(xp.finfo(problem.gram.dtype).eps)
    u, scores = (xp.astype(x, xp.float64) for x in (state.u, state.scores))
    scores = scores - getattr(state, "offset", 0.0)  # an intercept is no part of K(Y∘u)
    spread = (guard + problem.gram.product_rounding) * _length(problem, u)
    lower, upper = _bounds(problem, u, scores, spread)
    feasible = xp.all(state.u <= 0, axis=0)
    trivial_lower, trivial_upper = _trivial(problem)
    return xp.where(feasible, lower, trivial_lower), xp.where(feasible, upper, trivial_upper)


def _bounds(problem: Problem, u: Array, scores: Array, spread: Array) -> tuple[Array, Array]:
    """Bounds for scores that are off by at most √K_ii · spread."""
    xp = problem.xp
    Y = xp.astype(problem.Y, xp.float64)
    root, v = problem.roots, -u
    sums = 2 * v.shape[0] * float(xp.finfo(xp.float64).eps)  # relative error of the sums over samples below
    total = xp.sum(v, axis=0)
    smallest = problem.smallest(-Y * scores - root * spread)
    squared = xp.sum(Y * u * scores, axis=0)
    error = xp.sum(root * v, axis=0) * spread * (1 + sums) + sums * xp.sum(xp.abs(u * scores), axis=0)
    norm_low = xp.sqrt(xp.maximum(squared - error, xp.zeros_like(error)))
    norm_high = xp.sqrt(xp.maximum(squared, xp.zeros_like(error)) + error)

    zero, cap = _trivial(problem)
    divisor = xp.where(smallest > 0, norm_high, norm_low)
    safe = xp.where(divisor > 0, divisor, xp.ones_like(divisor))
    lower = xp.where((divisor > 0) & (total > 0), smallest / safe, zero)
    safe = xp.where(total > 0, total, xp.ones_like(total))
    upper = xp.where(total > 0, norm_high / safe * (1 + sums), cap)
    return xp.asarray(lower), xp.asarray(xp.minimum(upper, cap))


def _length(problem: Problem, u: Array) -> Array:
    """Return Σ_i √K_ii |u_i|, per column."""
    xp = problem.xp
    return xp.sum(problem.roots * xp.abs(u), axis=0)


def _warn_where_limited(problem: Problem, width: Array, sharp: Array) -> None:
    """Say where the interval is wide because the entries of the matrix are rounded."""
    if bool(problem.xp.any(width > 2 * sharp)):
        warnings.warn(
            f"The precision of the stored kernel matrix limits this certificate: its entries are rounded by "
            f"up to {problem.gram.rounding:.1g}, which is most of the interval. Store it with "
            f"precision='float32' or 'tf32' for a narrower one.",
            stacklevel=3,
        )


def _trivial(problem: Problem) -> tuple[Array, Array]:
    """Return what holds without any v: 0 (take w = 0) and min_i √K_ii (one sample alone)."""
    xp = problem.xp
    rounding = 64 * float(xp.finfo(problem.gram.dtype).eps)  # of a diagonal computed from features
    cap = problem.smallest_root * (1 + rounding)
    return xp.zeros_like(cap), cap


def duality_gap(problem: Problem, state: State) -> Array:
    """Return the duality gap of the hinge-loss problem at the state's λ_t, per column.

    It is ‖w‖² + Σ u_i + Σ_i b_i max(0, 1 − m_i) ≥ 0 with b_i = weight_i/λ_t, and bounds the distance to the
    solution at λ_t: ½‖w − w_λ‖² ≤ gap. It is infinite where λ_t = 0 and a margin is under 1.
    """
    xp = problem.xp
    hinge = Hinge().value(problem.margins(state.scores))
    active = (hinge > 0) & (problem.mass > 0)
    one, zero = xp.ones_like(hinge), xp.zeros_like(hinge)
    loss = xp.where(active, problem.box(state.bound) * xp.where(active, hinge, one), zero)
    return problem.squared_norm(state.u, state.scores) + xp.sum(state.u + loss, axis=0)


def contradictory(X: Any, codes: np.ndarray) -> bool:
    """Return whether two equal rows of X have different labels: then nothing separates the classes.

    Examples
    --------
    >>> contradictory(np.array([[1.0], [2.0], [1.0]]), np.array([0, 1, 1]))
    True
    """
    first: dict[bytes, int] = {}
    rows = (_row_bytes(X, i) for i in range(X.shape[0]))
    return any(first.setdefault(row, code) != code for row, code in zip(rows, codes.tolist(), strict=True))


def _row_bytes(X: Any, i: int) -> bytes:
    if not sp.issparse(X):
        return bytes((X[i] + 0.0).tobytes())  # −0 is 0
    part = slice(X.indptr[i], X.indptr[i + 1])
    index, values = X.indices[part], X.data[part]
    order = np.argsort(index)[values[np.argsort(index)] != 0]
    return bytes(index[order].astype(np.int64).tobytes() + values[order].tobytes())
