"""How far a regression is from the interpolant of minimum norm, at most."""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Array, to_numpy
from ..problem import RegressionProblem

_EPS = float(np.finfo(np.float64).eps)


def interpolant_distance(problem: RegressionProblem, u: Array) -> np.ndarray:
    """Return a bound on ‖w − w†‖, per column, w† the function of minimum norm through all the targets.

    Both lie in the span of the samples that count, and differ there by the function that interpolates the
    residual r = y − f, of norm √(rᵀK⁻¹r) ≤ ‖r‖/√λ_min(K). Rounding of the product and of the eigenvalue is
    added; where λ_min is not over it, as for a linear kernel with fewer features than samples, the bound is
    infinite. It takes the eigenvalues of a stored n × n matrix.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> problem = mp.RegressionProblem(mp.Gram.linear(np.diag([1.0, 2.0])), np.array([3.0, 8.0]))
    >>> interpolant_distance(problem, np.array([-2.0, -2.0])).item()  # w† is (3, 4), w is (2, 4)
    1.000...
    """
    n = problem.shape[0]
    K = to_numpy(problem.gram.rows(problem.xp.arange(n))).astype(np.float64)
    a = -to_numpy(problem.Y * u).astype(np.float64).reshape(n, -1)
    y, mass = (to_numpy(x).astype(np.float64).reshape(n, -1) for x in (problem.targets, problem.mass))
    rounding = 2 * (n + 2) * _EPS * (np.abs(K) @ np.abs(a) + np.abs(y))
    r = np.abs(y - K @ a) + rounding
    bounds = []
    for column in range(a.shape[1]):
        counts = mass[:, column] > 0
        eigenvalues = np.linalg.eigvalsh(K[np.ix_(counts, counts)])
        least = float(eigenvalues[0]) - 4 * n * _EPS * float(eigenvalues[-1])
        bounds.append(float(np.linalg.norm(r[counts, column])) / math.sqrt(least) if least > 0 else math.inf)
    return np.reshape(bounds, problem.shape[1:])
