"""Tikhonov's side: the minimisers for a fixed λ, as λ goes to 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, to_numpy
from ..certificates.maximum_margin import maximum_margin
from ..losses import Hinge, Loss
from ..problem import Problem
from ..solvers import Tikhonov


@dataclass(frozen=True, eq=False)
class TikhonovSide:
    """w_λ against the maximum-margin solution w*, one number for each λ.

    Attributes
    ----------
    lambdas : array
        From the largest to the smallest.
    norm, distance, angle_gap : arrays
        ‖w_λ‖, ‖w_λ − w*‖ and 1 − cos∠(w_λ, w*).
    """

    lambdas: np.ndarray
    norm: np.ndarray
    distance: np.ndarray
    angle_gap: np.ndarray


def tikhonov_side(
    problem: Problem, lambdas: Sequence[float], loss: Loss | None = None, *, solution: Array | None = None
) -> TikhonovSide:
    """Follow argmin_w ½‖w‖² + (1/λ) Σ ℓ(y_i⟨w, x_i⟩) towards λ = 0, on separable samples.

    The hinge loss has minimisers, and w_λ → w*; more than that, w_λ = w* as soon as λ ≤ 1/‖u*‖_∞. The
    logistic and the exponential loss have none: ‖w_λ‖ → ∞, and only the direction of w_λ goes to that of w*.

    Parameters
    ----------
    lambdas : floats
    loss : Loss, optional
        The hinge loss by default.
    solution : array (n,), optional
        u*; by default from :func:`marginpath.maximum_margin`.

    Examples
    --------
    >>> import marginpath as mp
    >>> data = mp.datasets.toy()
    >>> problem = mp.Problem(mp.Gram.linear(data.X), data.y)
    >>> tikhonov_side(problem, [100.0, 10.0, 1.0]).distance.round(3)
    array([0.227, 0.017, 0.   ])
    >>> tikhonov_side(problem, [1e-2, 1e-4, 1e-6], mp.Logistic()).norm.round(1)
    array([4.3, 6.9, 9.8])
    """
    u = maximum_margin(problem).u if solution is None else solution
    star = to_numpy(u).astype(np.float64)
    values = np.sort(np.asarray(lambdas, dtype=float))[::-1]
    found = Tikhonov(tuple(values.tolist()), loss or Hinge()).solve(problem)
    y = to_numpy(problem.Y).astype(np.float64)
    K = to_numpy(problem.gram.rows(np.arange(len(y)))).astype(np.float64)
    A = np.outer(y, y) * K

    def length(v: np.ndarray) -> np.ndarray:
        return np.asarray(np.sqrt(np.maximum(np.sum(v * (v @ A), axis=1), 0)))

    U = to_numpy(found.u).astype(np.float64)
    norm, best = length(U), float(length(star[None])[0])
    direction = length(U / np.where(norm > 0, norm, 1)[:, None] - star / best)
    return TikhonovSide(values, norm, length(U - star), direction**2 / 2)
