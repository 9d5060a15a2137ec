"""How far a regression is from the interpolant of minimum norm, at most."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, to_numpy
from ..problem import RegressionProblem
from ..regularizers import ElasticNet, Ridge

_EPS = float(np.finfo(np.float64).eps)


def interpolant_distance(
    problem: RegressionProblem, u: Array, regularizer: Ridge | ElasticNet | None = None
) -> np.ndarray:
    """Return a bound on ‖w − w†‖, per column, w† the function of minimum norm through all the targets.

    With a regularizer, w = ∇R*(−Xᵀu) and w† is the interpolant of least R; see :func:`least_r_distance`.

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
    if regularizer is not None:
        return least_r_distance(problem, u, regularizer)
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


def least_r_distance(problem: RegressionProblem, u: Array, regularizer: Ridge | ElasticNet) -> np.ndarray:
    """Return a bound on ‖w − w†‖, per column: w† = argmin R(w) over X w = y, w = ∇R*(v) and v = −Xᵀu.

    R is strongly convex with constant 1, and any interpolant p has ⟨v, p⟩ = ⟨v, w†⟩ and R(p) ≥ R(w†), so

        ½‖w − w†‖² ≤ R(w†) + R*(v) − ⟨v, w†⟩ ≤ R(p) + R*(v) − ⟨v, p⟩ = ½‖p − w‖² + Σ_i (l1 |p_i| − q_i p_i),

    q = v − w. Two p are tried: w and the least correction of its residuals, among all features or those of
    w alone, which is much closer where no sign changes. Where neither can interpolate, the bound is infinite.
    Rounding is added.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> problem = mp.RegressionProblem(mp.Gram.linear(np.array([[2.0, 1.0]])), np.array([4.0]))
    >>> u = np.array([-1.25])  # v = (2.5, 1.25) and w = (2, 0.75) for l1 = 0.5; w† = (1.7, 0.6)
    >>> least_r_distance(problem, u, mp.ElasticNet(0.5)).item()
    0.335...
    """
    if problem.gram.space != "features":
        raise TypeError(f"{regularizer!r} needs features: use Gram.linear(X), not a kernel.")
    n, features = problem.shape[0], problem.gram.features
    X = to_numpy(features.toarray() if sp.issparse(features) else features).astype(np.float64)
    a = -to_numpy(problem.Y * u).astype(np.float64).reshape(n, -1)
    y, mass = (to_numpy(x).astype(np.float64).reshape(n, -1) for x in (problem.targets, problem.mass))
    l1 = getattr(regularizer, "l1", 0.0)
    bounds = []
    for column in range(a.shape[1]):
        counts = mass[:, column] > 0
        bounds.append(_least_r_distance(X[counts], y[counts, column], a[counts, column], l1))
    return np.reshape(bounds, problem.shape[1:])


def _least_r_distance(X: np.ndarray, y: np.ndarray, a: np.ndarray, l1: float) -> float:
    """Return the bound of one column, as the better interpolant gives it."""
    v = X.T @ a
    w = ElasticNet(l1).gradient_conjugate(v)
    off = 2 * (len(y) + 2) * _EPS * float(np.linalg.norm(np.abs(X).T @ np.abs(a)))  # of v, by rounding
    bounds = [_bound_by_interpolant(X, y, v, w, l1, own, off) for own in (np.ones(len(w), bool), w != 0)]
    return min(bounds)


def _bound_by_interpolant(
    X: np.ndarray, y: np.ndarray, v: np.ndarray, w: np.ndarray, l1: float, own: np.ndarray, off: float
) -> float:
    """Return the bound by the interpolant that differs from w in some features only; v is off by so much."""
    n, d = len(y), int(own.sum())
    if d < n:
        return math.inf
    U, σ, Vt = np.linalg.svd(X[:, own], full_matrices=False)
    least = float(σ[-1]) - 4 * max(n, d) * _EPS * float(σ[0])
    if least <= 0:
        return math.inf
    p = w.copy()
    for _ in range(2):  # once more, for what rounding left
        p[own] += Vt.T @ ((U.T @ (y - X @ p)) / σ)
    residual = np.abs(y - X @ p) + 2 * (len(w) + 2) * _EPS * (np.abs(X) @ np.abs(p) + np.abs(y))
    missing = float(np.linalg.norm(residual)) / least  # from p to an exact interpolant
    apart, q = float(np.linalg.norm(p - w)) * (1 + 2 * len(w) * _EPS) + missing, v - w
    terms = float(np.sum(np.maximum(l1 * np.abs(p) - q * p, 0) + 4 * _EPS * (l1 + np.abs(q)) * np.abs(p)))
    gap = apart**2 / 2 + terms * (1 + 2 * len(w) * _EPS) + 2 * l1 * math.sqrt(len(w)) * missing
    return (3 * off + math.sqrt(2 * gap + 2 * off * apart)) * (1 + 8 * _EPS)
