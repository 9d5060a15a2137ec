"""How tight each constant is: the smallest ratio of bound to truth over a hundred random small problems."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from scipy.optimize import nnls

import marginpath as mp
from marginpath import theory

_SIZE, _STEPS, _WIDE = 7, 60, 100.0

#: What is measured: name → the inequality.
INEQUALITIES = {
    "C, Theorem 1": "‖w_t − w*‖ ≤ C (1 − ρ)^(t/2)",
    "angle": "1 − cos∠(w_t, w*) ≤ e_t² / ‖w*‖²",
    "κ": "margin gap ≤ √2 κ e_t / ‖w*‖",
    "ρ": "D(u_{t+1}) − D* ≤ (1 − ρ) (D(u_t) − D*)",
    "μ": "D(u_t) − D* ≤ dist(0, ∂D(u_t))² / (2μ)",
    "τ": "dist(u, argmin D) ≤ τ ‖E (u − u*)‖",
    "c": "dist(u, argmin D)² ≤ τ² c (D(u) − D*)",
    "C, Theorem 2": "‖w_t − w*‖ ≤ C / (t + α)",
    "C1, Theorem 3": "‖ũ_t − u_t‖ ≤ C1 t / ‖Z‖",
    "C2, Theorem 3": "‖(Z̃ − Z)ᵀu_t‖ ≤ C2",
}


def tightest(count: int = 100) -> dict[str, tuple[str, float]]:
    """Return the inequality and its smallest ratio for each constant."""
    found = dict.fromkeys(INEQUALITIES, np.inf)
    for seed in range(count):
        for name, ratio in _ratios(*_small(seed), np.random.default_rng(seed)):
            found[name] = min(found[name], ratio)
    for name, ratio in itertools.chain(_two_equal_samples(), _four_equal_samples()):
        found[name] = min(found[name], ratio)
    return {name: (INEQUALITIES[name], ratio) for name, ratio in found.items()}


def _small(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return A and y of seven separable samples, ‖A‖ = 1: in 1 … 4 dimensions, or with a Gaussian kernel."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(_SIZE) % 2, 1.0, -1.0)
    X = rng.standard_normal((_SIZE, 1 + seed // 2 % 4 if seed % 2 else 2))
    if seed % 2:
        X[:, 0] = y * (0.2 + np.abs(X[:, 0]))
        K = X @ X.T
    else:
        K = mp.Gaussian(sigma=0.7)(X, X)
    return np.outer(y, y) * K / np.linalg.norm(K, 2), y


def _ratios(A: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[str, float]]:
    problem = mp.Problem(mp.Gram.from_matrix(np.outer(y, y) * A), y)
    u_star = np.asarray(mp.maximum_margin(problem, tol=1e-13).u)
    c = theory.constants(problem, solution=u_star)
    first, best = theory.Theorem1(c, 1.0), _dual(A, u_star)
    u = _path(A, c.u_max)
    gaps = np.array([_dual(A, v) - best for v in u])
    for t in range(1, _STEPS):
        distance = _length(A, u[t] - u_star)
        if distance < 1e-4 * c.w_norm:
            break
        yield "C, Theorem 1", first.distance(t) / distance
        yield from _directions(A, u[t], u_star, c, first, t)
        yield "ρ", (1 - first.rho) * gaps[t - 1] / gaps[t]
        yield "μ", _slope(A, u[t], c.u_max) / (2 * c.mu) / gaps[t]
    second = theory.Theorem2(c, 1.0)
    for t, v in enumerate(_path(A, c.u_max, 3.0)):
        yield "C, Theorem 2", second.distance(t) / max(_length(A, v - u_star), 1e-12)
    if c.smallest == 0:
        for _ in range(5):
            yield from _hoffman(A, -c.u_max * rng.uniform(0, 2, _SIZE) * rng.integers(0, 2, _SIZE), u_star, c)
    yield from _stability(A, u, c, rng)


def _directions(
    A: np.ndarray, u: np.ndarray, star: np.ndarray, c: theory.Constants, bounds: theory.Theorem1, t: int
) -> Iterator[tuple[str, float]]:
    norm = _length(A, u)
    angle = 1 - float(u @ A @ star) / (norm * c.w_norm)
    margin = 1 / c.w_norm - float(np.min(-A @ u)) / norm
    if angle > 1e-6 and margin > 1e-6:
        yield "angle", float(bounds.angle_gap(t)) / angle
        yield "κ", float(bounds.margin_gap(t)) / margin


def _hoffman(
    A: np.ndarray, u: np.ndarray, star: np.ndarray, c: theory.Constants
) -> Iterator[tuple[str, float]]:
    """Compare with the distance to {p ≤ 0: E p = E u*}, by least squares with a heavy equation."""
    values, vectors = np.linalg.eigh(A)
    E = np.vstack([np.sqrt(np.maximum(values, 0))[:, None] * vectors.T, np.ones(len(u))])
    heavy = 1e5
    near = -nnls(np.vstack([-heavy * E, -np.eye(len(u))]), np.concatenate([heavy * E @ star, u]))[0]
    distance, gap = float(np.linalg.norm(u - near)), _dual(A, u) - _dual(A, star)
    if distance > 1e-3:
        yield "τ", c.tau * float(np.linalg.norm(E @ (u - star))) / distance
        if gap <= c.M:
            yield "c", c.tau**2 * c.growth * gap / distance**2


def _two_equal_samples() -> Iterator[tuple[str, float]]:
    """Take z = 1 twice: Hoffman's inequality is an equality at u = (−2, 0)."""
    A, y, star = np.ones((2, 2)), np.array([1.0, -1.0]), np.array([-0.5, -0.5])
    c = theory.constants(mp.Problem(mp.Gram.from_matrix(np.outer(y, y)), y), solution=star)
    return _hoffman(A, np.array([-2.0, 0.0]), star, c)


def _four_equal_samples() -> Iterator[tuple[str, float]]:
    """Take z = 1 four times, one of them flipped: the stability proof is nearly an equality."""
    A, y = np.full((4, 4), 0.25), np.array([1.0, -1.0, 1.0, -1.0])
    c = theory.constants(mp.Problem(mp.Gram.from_matrix(np.outer(y, y) / 4), y), solution=np.full(4, -1.0))
    return _stability(A, _path(A, _WIDE), c, np.random.default_rng(0), flips=1, box=_WIDE)


def _stability(
    A: np.ndarray,
    u: list[np.ndarray],
    c: theory.Constants,
    rng: np.random.Generator,
    flips: int = 2,
    box: float | None = None,
) -> Iterator[tuple[str, float]]:
    sign = np.ones(len(A))
    sign[rng.permutation(len(A))[:flips]] = -1
    noisy = _path(np.outer(sign, sign) * A, box or c.u_max)
    bound = theory.Theorem3(c, 1.0, flips)
    for t in range(1, _STEPS):
        if (moved := float(np.linalg.norm(noisy[t] - u[t]))) > 1e-9:
            yield "C1, Theorem 3", bound.C1 / np.sqrt(c.L) * t / moved
        if (own := _length(A, (sign - 1) * u[t])) > 1e-9:
            yield "C2, Theorem 3", bound.C2 / own


def _path(A: np.ndarray, b: float, alpha: float | None = None) -> list[np.ndarray]:
    """Algorithm 1, or 2, with γ = 1 in the box of size b."""
    u, before, path = np.zeros(len(A)), np.zeros(len(A)), [np.zeros(len(A))]
    for t in range(1, _STEPS):
        q = u if alpha is None else u + t / (t + alpha) * (u - before)
        u, before = np.clip(q - (A @ q + 1), -b, 0), u
        path.append(u)
    return path


def _slope(A: np.ndarray, u: np.ndarray, b: float) -> float:
    """Return dist(0, ∂D(u))²."""
    g = A @ u + 1
    g = np.where(u >= 0, np.maximum(g, 0), np.where(u <= -b, np.minimum(g, 0), g))
    return float(g @ g)


def _dual(A: np.ndarray, u: np.ndarray) -> float:
    return float(u @ A @ u / 2 + u.sum())


def _length(A: np.ndarray, u: np.ndarray) -> float:
    return float(np.sqrt(max(u @ A @ u, 0.0)))
