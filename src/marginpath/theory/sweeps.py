"""Diagonal coordinate descent with a line search where the box rises: what can be proved of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, to_numpy
from ..problem import Problem
from .problem_constants import Constants


def searched_sweep(
    A: np.ndarray, u: np.ndarray, before: float, bound: float, order: np.ndarray
) -> np.ndarray:
    """Return u after one step: the box rises from ``before`` to ``bound``, then a sweep in that order.

    Where the box rises, the samples at its bound, B, move together by the s ∈ [0, bound − before] that lowers
    D(u) = ½ uᵀA u + Σ u_i most; the sweep takes the exact step in one coordinate after the other,

        u_i ← clip(u_i − ((A u)_i + 1)/A_ii, −bound, 0).

    Examples
    --------
    >>> searched_sweep(np.eye(2), np.zeros(2), 0.0, 0.5, np.arange(2))
    array([-0.5, -0.5])
    """
    u = u.copy()
    at_bound = u == -before
    if at_bound.any() and bound > before:
        d = -at_bound.astype(np.float64)
        slope, curvature = float(d @ (A @ u + 1)), float(d @ A @ d)
        best = -slope / curvature if curvature > 0 else (math.inf if slope < 0 else 0.0)
        s = min(max(best, 0.0), bound - before)
        u[at_bound] = -bound if s == bound - before else u[at_bound] - s
    for i in order:
        if A[i, i] > 0:
            u[i] = min(max(u[i] - (A[i] @ u + 1) / A[i, i], -bound), 0.0)
        else:
            u[i] = -bound
    return u


@dataclass(frozen=True)
class SweepTheorem:
    """Sweeps with the search, once the box holds u*: D(u_t) − D* ≤ q^t (D(u_0) − D*), in any orders.

    q = 1/(1 + μ k/Λ²), with k = min A_ii and Λ² = Σ_{i<j} A_ij²; so ‖w_t − w*‖ ≤ C q^{t/2}.

    Parameters
    ----------
    constants : Constants
        Of the problem, u_0 = 0.
    least, coupling : float
        k and Λ: :meth:`of` computes them.
    """

    constants: Constants
    least: float
    coupling: float

    @classmethod
    def of(cls, problem: Problem, constants: Constants) -> SweepTheorem:
        """Return the theorem for a problem without weights and zero rows.

        Examples
        --------
        >>> import marginpath as mp
        >>> from marginpath import theory
        >>> problem = mp.Problem(mp.Gram.from_matrix(np.array([[1.0, 0.5], [0.5, 1.0]])), [1, -1])
        >>> theory.SweepTheorem.of(problem, theory.constants(problem)).factor
        0.333...
        """
        K = to_numpy(problem.gram.rows(np.arange(problem.shape[0]))).astype(np.float64)
        least = float(np.diag(K).min())
        if least <= 0:
            raise ValueError("A sample is zero: its coordinate has no exact step. Leave it out.")
        return cls(constants, least, float(np.sqrt(np.sum(np.triu(K, 1) ** 2))))

    @property
    def factor(self) -> float:
        """q: by at least so much a step shrinks the dual gap."""
        if self.coupling == 0:
            return 0.0
        return 1 / (1 + self.constants.mu * self.least / self.coupling**2)

    def distance(self, t: Array) -> Array:
        """Return the bound on ‖w_t − w*‖ after t steps in a box that holds u* from the first."""
        return self.constants.C * np.sqrt(self.factor ** np.asarray(t, dtype=np.float64))
