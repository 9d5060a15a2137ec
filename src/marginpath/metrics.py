"""Metrics: what to watch along a path. Each is a function (problem, state) → one number a column.

The state has the scores, so that none needs a product with K, but for the two that are proofs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from .arrays import Array, blocks, is_numpy, to_numpy
from .certificates.bounds import (
    dual_and_loss,
    duality_gap,
    estimated_margin_bounds,
    state_margin_bounds,
)
from .files.records import register
from .losses import Loss, ResidualLoss
from .parallel import available, for_all
from .problem import Problem
from .solvers.base import State

Metric: TypeAlias = Callable[[Problem, State], Array]

_MANY, _BLOCK = 2**16, 2**15  # numbers that are summed up by compiled code, and how many at a time


def norm(problem: Problem, state: State) -> Array:
    """Return ‖w‖."""
    xp = problem.xp
    squared = problem.squared_norm(state.u, state.scores)
    return xp.sqrt(xp.maximum(squared, xp.zeros_like(squared)))


def functional_margin(problem: Problem, state: State) -> Array:
    """Return M(w) = min_i y_i⟨w, x_i⟩ over the samples of the column."""
    return problem.smallest(problem.margins(state.scores))


def margin(problem: Problem, state: State) -> Array:
    """Return the normalized margin M(w/‖w‖); 0 for w = 0."""
    return _ratio(problem, functional_margin(problem, state), norm(problem, state))


def error(problem: Problem, state: State) -> Array:
    """Return the share of training samples (by weight) with y f(x) ≤ 0."""
    xp = problem.xp
    wrong = problem.margins(state.scores) <= 0
    weight = xp.sum(problem.mass, axis=0)
    return xp.sum(xp.where(wrong, problem.mass, xp.zeros_like(problem.mass)), axis=0) / weight


def dual_objective(problem: Problem, state: State) -> Array:
    """Return D_∞(u) = ½‖Zᵀu‖² + Σ u_i; inside the box it is D_t(u) too."""
    return problem.dual_objective(state.u, state.scores)


def regularized_dual_objective(problem: Problem, state: State) -> Array:
    """Return D_t(u): D_∞(u) inside the box of the last update, infinity outside."""
    xp = problem.xp
    inside = xp.all((state.u <= 0) & (state.u >= -problem.box(state.bound)), axis=0)
    objective = dual_objective(problem, state)
    return xp.where(inside, objective, xp.full_like(objective, float("inf")))


def support(problem: Problem, state: State) -> Array:
    """Return the number of samples with u_i ≠ 0."""
    xp = problem.xp
    return xp.sum(xp.astype(state.u != 0, xp.int64), axis=0)


def bound(problem: Problem, state: State) -> Array:
    """Return the box size 1/λ_t of the last update, scikit-learn's C."""
    return state.bound


def margin_lower(problem: Problem, state: State) -> Array:
    """Return the lower bound on the maximum margin that u proves; it costs a product with the support."""
    return state_margin_bounds(problem, state)[0]


def margin_upper(problem: Problem, state: State) -> Array:
    """Return the upper bound on the maximum margin that u proves; it costs a product with the support."""
    return state_margin_bounds(problem, state)[1]


def estimated_margin_lower(problem: Problem, state: State) -> Array:
    """Return the lower bound on the maximum margin as the scores have it: free, and no proof."""
    return estimated_margin_bounds(problem, state)[0]


def estimated_margin_upper(problem: Problem, state: State) -> Array:
    """Return the upper bound on the maximum margin as the scores have it: free, and no proof."""
    return estimated_margin_bounds(problem, state)[1]


def gap(problem: Problem, state: State) -> Array:
    """Return the duality gap at λ_t over the primal objective: how far u is from the solution there, at most.

    Where every margin is positive, w over the smallest of them has no loss at all: the lower one of the two
    objectives counts, also where λ_t = 0. With an intercept, ``|Σ y_i u_i| / Σ |u_i|`` counts if it is more.
    """
    return gap_and_sums(problem, state)[0]


def gap_and_sums(problem: Problem, state: State) -> tuple[Array, tuple[Array, Array, Array]]:
    """Return the :func:`gap`, and ‖w‖², Σ u_i and the smallest margin at the best intercept, per column.

    Of many samples by compiled passes that the threads share: temporary arrays, each as large as u, would
    take several times as long.
    """
    xp = problem.xp
    # Where there is an offset, the solver has loaded compiled code.
    is_compiled = is_numpy(state.u) and (state.u.size >= _MANY or hasattr(state, "offset"))
    if state.packed is not None or is_compiled:
        return _compiled_gap(problem, state)
    squared, margins = problem.squared_norm(state.u, state.scores), problem.margins(state.scores)
    absolute, total = squared + dual_and_loss(problem, state, margins), xp.sum(state.u, axis=0)
    least, tie = problem.smallest(margins), xp.sum(problem.Y * state.u, axis=0)
    dual, is_positive = -squared / 2 - total, least > 0
    separated = _ratio(problem, squared / 2, xp.where(is_positive, least**2, xp.zeros_like(least)))
    primal = dual + absolute
    primal = xp.where(is_positive & (separated < primal), separated, primal)
    one, finite = problem.number(1.0), primal < float("inf")
    relative = xp.where(finite, _ratio(problem, xp.where(finite, primal - dual, one), primal), one)
    if problem.intercept:
        relative = xp.maximum(relative, _ratio(problem, xp.abs(tie), -total))
    squared = squared - getattr(state, "offset", 0.0) * tie  # an intercept is no part of K(Y∘u)
    return relative, (squared, total, problem.smallest_margin(margins))


def _compiled_gap(problem: Problem, state: State) -> tuple[Array, tuple[Array, Array, Array]]:
    from .problem.sums_compiled import gaps_of_sums

    shape = problem.shape[1:]
    sums = np.ascontiguousarray(_compiled_sums(problem, state).reshape(6, -1))
    offset = np.ravel(getattr(state, "offset", np.zeros(shape))).astype(np.float64)
    gaps, (squared, total, smallest) = gaps_of_sums(sums, offset, problem.intercept)
    return gaps.reshape(shape), (squared.reshape(shape), total.reshape(shape), smallest.reshape(shape))


def _compiled_sums(problem: Problem, state: State) -> np.ndarray:
    from .problem.sums_compiled import sums_of_gap, sums_of_questions
    from .solvers.solution_path.packing import collect

    shape, bound = problem.shape[1:], np.atleast_1d(state.bound).astype(np.float64)
    if state.packed is not None:
        return np.asarray(state.packed.sums_of_gap(bound).reshape(6, *shape))
    n = len(state.u)
    if state.u.size < _MANY or problem.filled < 0.5:  # much is left out of large ones, as in pairs of classes
        ends, samples, signed, together = problem.packed_questions
        own = np.empty((2, len(signed)))
        for x, packed in zip((state.u, state.scores), own, strict=True):
            whole = np.ascontiguousarray(x.reshape(n, -1).T, dtype=np.float64)
            collect(ends, samples, together, np.arange(len(whole)), whole, packed)
        sums = sums_of_questions(ends, signed, together, *own, np.zeros(len(bound)), bound)
        return np.asarray(sums.reshape(6, *shape))
    parts_of = problem.Y, problem.mass, state.u, state.scores
    columns = [np.ascontiguousarray(x.reshape(n, -1)) for x in parts_of]
    rows = list(blocks(n, max(1, _BLOCK // len(bound))))
    parts = np.empty((len(rows), 6, len(bound)))

    def add(number: int) -> None:
        parts[number] = sums_of_gap(*(x[slice(*rows[number])] for x in columns), bound)

    for_all(add, range(len(rows)), available())
    sums = parts.sum(axis=0)
    sums[3:5] = parts[:, 3:5].min(axis=0)
    return np.asarray(sums.reshape(6, *shape))


@register
@dataclass(frozen=True)
class DualityGap:
    """The duality gap at λ_t for any loss, of classification or regression, and any regularizer.

    With v = −Zᵀu and w = ∇R*(v) it is ⟨v, w⟩ + Σ_i b_i (ℓ(m_i) + ℓ*(u_i/b_i)), b_i = weight_i/λ_t, as
    R(w) + R*(v) = ⟨v, w⟩, and bounds the distance to the solution at λ_t: ½‖w − w_λ‖² ≤ gap.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> problem = mp.Problem(mp.Gram.linear(np.array([[2.0, 0.1], [-2.0, 0.3]])), [1, -1])
    >>> solver = mp.DualDescent(mp.Constant(0.5), loss=mp.Logistic(), regularizer=mp.ElasticNet(0.1))
    >>> path = mp.run(solver, problem, steps=100, observe={"gap": mp.DualityGap(solver.loss)})
    >>> bool(path["gap"][-1] < 1e-9 < path["gap"][1])
    True
    """

    loss: Loss | ResidualLoss

    def __call__(self, problem: Problem, state: State) -> Array:
        """Return the gap, per column."""
        terms = problem.loss_terms(self.loss, state.u, state.scores, problem.box(state.bound))
        return problem.squared_norm(state.u, state.scores) + problem.xp.sum(terms, axis=0)


#: The metrics that ``observe`` knows by name.
METRICS: dict[str, Metric] = {
    "margin": margin,
    "normalized_margin": margin,
    "functional_margin": functional_margin,
    "norm": norm,
    "error": error,
    "dual_objective": dual_objective,
    "regularized_dual_objective": regularized_dual_objective,
    "duality_gap": duality_gap,
    "gap": gap,
    "margin_lower": margin_lower,
    "margin_upper": margin_upper,
    "estimated_margin_lower": estimated_margin_lower,
    "estimated_margin_upper": estimated_margin_upper,
    "support": support,
    "bound": bound,
}


class Reference:
    """Metrics against a reference solution u*, such as the maximum-margin one.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> problem = mp.Problem(mp.Gram.linear(np.array([[1.0], [-2.0]])), [1, -1])
    >>> reference = mp.Reference(problem, np.array([-1.0, 0.0]))  # w* = 1
    >>> path = mp.run(mp.DualDescent(mp.PowerDecay(1.0)), problem, steps=200,
    ...               observe={"distance": reference.distance})
    >>> bool(path["distance"][-1] < 1e-10)
    True
    """

    def __init__(self, problem: Problem, u: Array) -> None:
        xp = problem.xp
        self.u = xp.asarray(to_numpy(u), dtype=problem.gram.dtype, device=problem.gram.device)
        self.scores = problem.scores(self.u)
        self.norm = xp.sqrt(problem.squared_norm(self.u, self.scores))

    def distance(self, problem: Problem, state: State) -> Array:
        """Return ‖w − w*‖."""
        return self._distance(problem, state, 1.0, 1.0)

    def normalized_distance(self, problem: Problem, state: State) -> Array:
        """Return ‖w/‖w‖ − w*/‖w*‖‖; 1 for w = 0."""
        length = norm(problem, state)
        inverse = _ratio(problem, problem.xp.ones_like(length), length)
        return self._distance(problem, state, inverse, 1 / self.norm)

    def angle_gap(self, problem: Problem, state: State) -> Array:
        """Return 1 − cos∠(w, w*) = ½ ‖w/‖w‖ − w*/‖w*‖‖²; 1 for w = 0."""
        xp = problem.xp
        length = norm(problem, state)
        gap = self.normalized_distance(problem, state) ** 2 / 2
        return xp.where(length > 0, gap, xp.ones_like(gap))

    def margin_gap(self, problem: Problem, state: State) -> Array:
        """Return M(w*/‖w*‖) − M(w/‖w‖)."""
        best = problem.smallest_margin(problem.margins(self.scores)) / self.norm
        return best - margin(problem, state)

    def _distance(self, problem: Problem, state: State, a: Any, b: Any) -> Array:
        """Return ‖a w − b w*‖ from differences, so that small distances keep their digits."""
        xp = problem.xp
        difference = problem.Y * (a * state.u - b * self.u)
        squared = xp.sum(difference * (a * state.scores - b * self.scores), axis=0)
        return xp.sqrt(xp.maximum(squared, xp.zeros_like(squared)))


class HeldOutError:
    """The zero-one error on samples that the path does not train on.

    Parameters
    ----------
    problem : Problem
    X : array (m, d)
        New samples (kernel values against the training samples, for a Gram matrix given as such).
    y : array (m,) or (m, k)
        Their labels, ±1.
    """

    def __init__(self, problem: Problem, X: Array, y: Array) -> None:
        self.cross = problem.gram.cross(X)
        labels = to_numpy(y)
        if labels.shape[:1] != (X.shape[0],) or not np.isin(labels, (-1, 1)).all():
            raise ValueError(
                f"HeldOutError needs one label −1 or +1 for each of the {X.shape[0]} rows of X, got shape "
                f"{labels.shape} with {', '.join(map(str, np.unique(labels)[:5].tolist()))}."
            )
        if labels.ndim == 1 and len(problem.shape) == 2:
            labels = labels[:, None]
        self.y = problem.xp.asarray(labels, dtype=problem.gram.dtype, device=problem.gram.device)

    def __call__(self, problem: Problem, state: State) -> Array:
        """Return the share of samples with y f(x) ≤ 0."""
        xp = problem.xp
        decision = self.cross @ (-problem.Y * state.u) - getattr(state, "offset", 0.0)
        return xp.mean(xp.astype(self.y * decision <= 0, self.y.dtype), axis=0)


def _ratio(problem: Problem, numerator: Array, denominator: Array) -> Array:
    """Divide, with 0 where the denominator is 0."""
    xp = problem.xp
    positive = denominator > 0
    safe = xp.where(positive, denominator, problem.number(1.0))
    return xp.where(positive, numerator / safe, problem.number(0.0))
