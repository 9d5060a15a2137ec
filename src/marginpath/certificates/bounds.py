"""Certificates: what a dual vector proves, rounding included; and estimates of it, which cost nothing.

The maximum margin is max min_i y_i⟨w, x_i⟩ over ‖w‖ ≤ 1. For any v = −u ≥ 0 with m = A v and
‖w‖² = vᵀm > 0 it lies between min_i m_i / ‖w‖ and ‖w‖ / Σ v_i. With an intercept, y_i (⟨w, x_i⟩ + b), the
lower end has the mean of the smallest m_i of the two classes, and the upper one holds if Σ y_i v_i = 0.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, beside, device, namespace, take_columns, to_numpy
from ..files.records import register
from ..gram.base import SLACK
from ..gram.compensated import compensated_product, relative_error
from ..losses import Hinge
from ..parallel import one_blas_thread
from ..problem import Problem
from ..solvers.base import State

_EPS = float(np.finfo(np.float64).eps)
_TINY = float(np.finfo(np.float64).tiny)
_SHORTEST = 1e-280  # √K_ii of a sample whose v_i is left out: its scaled v_i would overflow


def margin_bounds(problem: Problem, u: Array) -> tuple[Array, Array]:
    """Return (lower, upper) bounds on the maximum margin, per column: a proof.

    They are computed from u and the data alone, by a new product with float64 sums whose worst-case rounding
    is added, so that they hold for any u, whatever solver it comes from. "The data" are the features of
    ``Gram.linear``, the samples of a Gram matrix that is not stored, and else the kernel values as they are
    stored; of a margin that is too small for their precision, ``gram.resolution``, nothing is claimed. An
    upper end ≤ ε says that nothing separates the data with a margin over ε; nothing with an intercept, where
    the problem has one.

    Parameters
    ----------
    u : array of the shape of y
        Any u ≤ 0, such as ``path.last.u``. Entries of samples that do not count are taken for 0.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> problem = mp.Problem(mp.Gram.linear(np.array([[1.0, 1.0], [-1.0, -1.0]])), [1, -1])
    >>> lower, upper = mp.margin_bounds(problem, np.array([-0.25, -0.25]))
    >>> print(round(float(lower), 6), round(float(upper), 6))
    1.414214 1.414214
    """
    values = _enclosable(problem, u)
    if tuple(values.shape) != problem.shape:
        raise ValueError(f"u has shape {tuple(values.shape)}, but that of y, {problem.shape}, is needed.")
    if not bool(namespace(values).all(values <= 0)):
        raise ValueError("u must be at most 0 everywhere (v = −u ≥ 0) for its bounds to hold.")
    lower, upper = _proved(problem, values)
    if problem.gram.rounding:
        _warn_where_limited(problem, to_numpy(values), lower, upper)
    xp, where = problem.xp, problem.gram.device
    return xp.asarray(lower, device=where), xp.asarray(upper, device=where)


def state_margin_bounds(problem: Problem, state: State) -> tuple[Array, Array]:
    """Return what :func:`margin_bounds` proves by the u of a state; what is not under 0 is taken for 0."""
    return margin_bounds(problem, _feasible(to_numpy(state.u)))


def estimated_margin_bounds(problem: Problem, state: State) -> tuple[Array, Array]:
    """Return the two ends from the scores that the state has: free, and no proof.

    The scores are rounded, in float32 visibly, and those of coordinate sweeps are sums of many updates.
    """
    xp = problem.xp
    zero = problem.number(0.0)
    v = xp.where(problem.counts, xp.maximum(-state.u, zero), zero)
    scores = state.scores - getattr(state, "offset", 0.0)  # an intercept is no part of K(Y∘u)
    squared, total = problem.squared_norm(-v, scores), xp.sum(v, axis=0)
    return estimated_ends(squared, total, problem.smallest_margin(problem.margins(scores)), problem)


def estimated_ends(squared: Array, total: Array, smallest: Array, problem: Problem) -> tuple[Array, Array]:
    """Return min_i m_i / ‖w‖ and ‖w‖ / Σ v_i, from ‖w‖², Σ v_i and min_i m_i of every column."""
    xp, one, cap = problem.xp, problem.number(1.0), problem.largest_margin
    norm = xp.sqrt(xp.maximum(squared, xp.zeros_like(squared)))
    is_some, has_mass = norm > 0, total > 0
    lower, upper = smallest / xp.where(is_some, norm, one), norm / xp.where(has_mass, total, one)
    return xp.where(is_some, lower, 0 * norm), xp.minimum(xp.where(has_mass, upper, cap), cap)


@register
@dataclass(frozen=True)
class MarginProofs:
    """Bounds on the maximum margin, proved by some steps of a path: what one step proves holds for all.

    Attributes
    ----------
    steps : array of int (s,)
        The steps with a proof, in order; the first is 0, where w = 0 proves that no margin is under 0.
    lower, upper : arrays (s, k)
        The bounds proved there, per column; those of step 0 in a column that was not looked at.

    Examples
    --------
    >>> proofs = MarginProofs(np.array([0, 5]), np.array([[0.0], [0.8]]), np.array([[2.0], [1.2]]))
    >>> proofs.best
    (array([0.8]), array([1.2]))
    >>> proofs.up_to(np.array([3, 5]))[0].ravel()
    array([0. , 0.8])
    """

    steps: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(
        cls,
        problem: Problem,
        steps: Sequence[int],
        u: Callable[[int], Array],
        some: np.ndarray | None = None,
    ) -> Self:
        """Prove by u(step) for each of the steps; one product serves all columns of all of them.

        ``some``, (s, k), says which columns are looked at at which step; None stands for all of them. All are
        at the first.
        """
        shape = len(steps), problem.shape[1]
        looked_at = np.ones(shape, dtype=bool) if some is None else some
        rows, index = np.nonzero(looked_at)
        repeated = problem.columns(problem.xp.asarray(index, device=problem.gram.device))
        columns = [
            take_columns(_feasible(_enclosable(problem, u(step))), np.flatnonzero(own))
            for step, own in zip(steps, looked_at, strict=True)
        ]
        ends = margin_bounds(repeated, namespace(*columns).concat(columns, axis=1))
        return cls(np.asarray(steps), *(_spread(to_numpy(end), rows, index, shape) for end in ends))

    @property
    def best(self) -> tuple[np.ndarray, np.ndarray]:
        """(lower, upper), the best of all steps, per column."""
        return _in_order(self.lower.max(axis=0), self.upper.min(axis=0))

    def up_to(self, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the best bounds (len(steps), k) that are proved by each step."""
        last = np.searchsorted(self.steps, steps, side="right") - 1
        lower, upper = np.maximum.accumulate(self.lower), np.minimum.accumulate(self.upper)
        return _in_order(lower[last], upper[last])

    def with_step(self, step: int, lower: np.ndarray, upper: np.ndarray) -> Self:
        """Return these proofs and that of a later step."""
        return replace(
            self,
            steps=np.append(self.steps, step),
            lower=np.vstack([self.lower, lower]),
            upper=np.vstack([self.upper, upper]),
        )


def _spread(end: np.ndarray, rows: np.ndarray, index: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Return the ends (s, k) that were proved at these places, and those of the first row elsewhere."""
    ends = np.tile(end[: shape[1]], (shape[0], 1))
    ends[rows, index] = end
    return ends


def _enclosable(problem: Problem, u: Array) -> Array:
    """Return u where the Gram matrix can enclose a product with it: beside its entries, or in NumPy."""
    gram = problem.gram
    return to_numpy(u) if gram.roots_there is None else gram.xp.asarray(u, device=gram.device)


@one_blas_thread()
def _proved(problem: Problem, u: Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the two ends for u ≤ 0: any v ≥ 0 proves, so that v may be scaled and cut."""
    gram, xp, n = problem.gram, namespace(u), u.shape[0]
    roots = (gram.roots if gram.roots_there is None else gram.roots_there)[:, None]
    every = xp.ones(n, dtype=xp.float64, device=device(u))
    zero, infinity = (xp.asarray(x, dtype=xp.float64, device=device(u)) for x in (0.0, math.inf))
    parts = (_enclosable(problem, x) for x in (problem.Y, problem.mass, u))
    Y, mass, u = (xp.reshape(xp.astype(x, xp.float64), (n, -1)) for x in parts)
    counts, relative = mass > 0, relative_error(n)
    v = xp.where(counts & (roots > _SHORTEST), -u, zero)
    v = xp.where(xp.all(xp.isfinite(v), axis=0), v, zero)
    v = _scaled(v, -_exponent(v))
    v = _scaled(v, -_exponent(roots * v))  # √K_ii v_i ≤ 1
    found, floor = gram.enclose(Y * v), gram.resolution**0.5 * gram.length(v)
    high = np.maximum(found.high, floor)
    total = to_numpy(compensated_product(v, every)) * (1 - relative)
    if problem.intercept:  # taking the excess of one class away changes w by no more than this
        excess = SLACK * (np.abs(to_numpy(compensated_product(Y * v, every))) + 2 * relative * total)
        longest = to_numpy(xp.max(xp.where(counts, roots, zero), axis=0))
        high, total = high + SLACK * excess * longest, total - SLACK * excess
    sides = (counts & (Y > 0), counts & (Y < 0)) if problem.intercept else (counts, counts)
    cap, smallest = (
        sum(to_numpy(xp.min(xp.where(side, values, infinity), axis=0)) for side in sides) / 2
        for values in (roots, Y * found.product - found.error)
    )
    smallest = np.where(found.low >= floor, smallest, np.minimum(smallest, 0))  # w may be 0
    norm = np.where(smallest > 0, high, found.low)
    some, w = total > 0, (total > 0) & (norm > 0)
    lower = np.where(w, _downwards(smallest / np.where(w, norm, 1)), 0)
    upper = np.minimum(np.where(some, -_downwards(-high / np.where(some, total, 1)), cap), cap)
    shape = problem.shape[1:]
    return _in_order(lower.reshape(shape), upper.reshape(shape))


def _in_order(lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the two ends, exchanged where they cross, as they may by the rounding of kernel values."""
    return np.minimum(lower, upper), np.maximum(lower, upper)


def _feasible(u: Array) -> Array:
    """Return u where it is under 0, and 0 elsewhere: what a path that overflowed has left, too."""
    xp = namespace(u)
    return xp.where((u < 0) & xp.isfinite(u), u, xp.zeros_like(u))


def _exponent(values: Array) -> np.ndarray:
    """Return the e for which 2^e is just over the largest value, per column."""
    return np.asarray(np.frexp(to_numpy(namespace(values).max(values, axis=0)))[1])


def _scaled(v: Array, exponent: np.ndarray) -> Array:
    """Return 2^e v, per column; elsewhere than in NumPy in two steps, as 2^e alone may overflow."""
    if isinstance(v, np.ndarray):
        return np.ldexp(v, exponent)
    half = exponent // 2
    return v * beside(np.ldexp(1.0, half), v) * beside(np.ldexp(1.0, exponent - half), v)


def _downwards(x: np.ndarray) -> np.ndarray:
    """Return x, less than a few of its last digits."""
    return np.asarray(x - (8 * _EPS * np.abs(x) + _TINY))


def _warn_where_limited(problem: Problem, u: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> None:
    """Say where the interval is wide because the entries of the matrix are rounded beyond their dtype."""
    v = np.abs(u).astype(np.float64).reshape(len(u), -1)
    length = (problem.gram.roots @ v / np.maximum(v.sum(axis=0), _TINY)).reshape(upper.shape)
    if np.any(problem.gram.rounding * length**2 > (upper - lower) * upper / 4):  # a margin is off by δ r²/‖w‖
        warnings.warn(
            f"The precision of the stored kernel matrix limits this certificate: its entries are rounded by "
            f"up to {problem.gram.rounding:.1g}, which is most of the interval. Store it with "
            f"precision='float32' or 'tf32' for a narrower one.",
            stacklevel=3,
        )


def duality_gap(problem: Problem, state: State) -> Array:
    """Return the duality gap of the hinge-loss problem at the state's λ_t, per column.

    It is ‖w‖² + Σ u_i + Σ_i b_i max(0, 1 − m_i) ≥ 0 with b_i = weight_i/λ_t, and bounds the distance to the
    solution at λ_t: ½‖w − w_λ‖² ≤ gap. It is infinite where λ_t = 0 and a margin is under 1.
    """
    squared, margins = problem.squared_norm(state.u, state.scores), problem.margins(state.scores)
    return squared + dual_and_loss(problem, state, margins)


def dual_and_loss(problem: Problem, state: State, margins: Array) -> Array:
    """Return Σ u_i + Σ_i b_i max(0, 1 − m_i), per column: the gap without ‖w‖²."""
    xp = problem.xp
    hinge = Hinge().value(margins)
    active = (hinge > 0) & problem.counts
    one, zero = problem.number(1.0), problem.number(0.0)
    loss = xp.where(active, problem.box(state.bound) * xp.where(active, hinge, one), zero)
    return xp.sum(state.u + loss, axis=0)


def contradictory(X: Any, codes: np.ndarray) -> bool:
    """Return whether two equal rows of X have different labels: then nothing separates the classes.

    Examples
    --------
    >>> contradictory(np.array([[1.0], [2.0], [1.0]]), np.array([0, 1, 1]))
    True
    """
    return contradiction(X, codes + 1) is not None


def contradiction(X: Any, codes: np.ndarray) -> tuple[int, int] | None:
    """Return two equal rows of X whose codes differ, if there are any; rows with the code 0 are left out."""
    first: dict[bytes, int] = {}
    for i in np.flatnonzero(codes).tolist():
        j = first.setdefault(_row_bytes(X, i), i)
        if codes[i] != codes[j]:
            return j, i
    return None


def _row_bytes(X: Any, i: int) -> bytes:
    if not sp.issparse(X):
        return bytes((X[i] + 0.0).tobytes())  # −0 is 0
    part = slice(X.indptr[i], X.indptr[i + 1])
    index, values = X.indices[part], X.data[part]
    order = np.argsort(index)[values[np.argsort(index)] != 0]
    return bytes(index[order].astype(np.int64).tobytes() + values[order].tobytes())
