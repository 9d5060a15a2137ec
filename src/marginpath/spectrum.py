"""Bounds on the spectrum of a positive semi-definite operator from a few products."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.optimize import brentq

FAILURE_PROBABILITY = 1e-10


class Spectrum(NamedTuple):
    """What Lanczos found: λ_max lies in [lower, upper]; ``smallest`` is a Ritz value ≥ λ_min."""

    lower: float
    upper: float
    smallest: float
    products: int


def lanczos(
    product: Callable[[np.ndarray], np.ndarray],
    n: int,
    *,
    eps: float,
    rtol: float = 0.04,
    max_products: int = 300,
    seed: int = 0,
) -> Spectrum:
    """Bound the largest eigenvalue of a symmetric positive semi-definite operator from both sides.

    Lanczos from a random unit vector b gives Ritz values θ_1, …, θ_k with θ_max ≤ λ_max, and a
    vector of norm β_1 ⋯ β_k that equals Π_j (A − θ_j) b. Its part along the top eigenvector v is
    Π_j (λ_max − θ_j) ⟨b, v⟩, and |⟨b, v⟩| ≥ s but for a probability of 1e-10. So λ_max is at most the
    U > θ_max with s · Π_j (U − θ_j) = Π_j β_j (Hochstenbach, Numerische Mathematik 123, 2013). Products
    are taken until U ≤ (1 + rtol) θ_max.

    Parameters
    ----------
    product : callable
        v → A v for float64 vectors of length n.
    eps : float
        Unit roundoff of the products; both ends allow for it.
    """
    rng = np.random.default_rng(seed)
    basis = [_unit_orthogonal(rng.standard_normal(n), [])]
    alphas: list[float] = []
    betas: list[float] = []
    # P(|⟨b, v⟩| ≤ s) ≤ s √(2(n−1)/π): the density of one coordinate on the sphere, at its peak.
    log_s = np.log(FAILURE_PROBABILITY) - 0.5 * np.log(max(2 * (n - 1), 1) / np.pi)
    guard = 4 * eps * np.sqrt(n)
    while True:
        v = basis[-1]
        w = np.asarray(product(v), dtype=np.float64)
        alphas.append(float(v @ w))
        w = _orthogonal(w, basis)
        betas.append(float(np.linalg.norm(w)))
        ritz = eigh_tridiagonal(np.array(alphas), np.array(betas[:-1]), eigvals_only=True)
        top, k = float(ritz[-1]), len(alphas)
        noise = eps * max(np.abs(ritz).max(), betas[-1])
        if noise == 0:
            return Spectrum(0.0, 0.0, 0.0, k)  # a random vector is mapped to 0: so is every other
        upper = top if k == n else _upper_bound(ritz, np.maximum(betas, noise), log_s)
        if upper <= (1 + rtol) * top or k >= max_products:
            return Spectrum(float(top * (1 - guard)), float(upper * (1 + guard)), float(ritz[0]), k)
        if betas[-1] <= noise:  # an invariant subspace: go on from a fresh direction
            betas[-1], w = 0.0, rng.standard_normal(n)
        basis.append(_unit_orthogonal(w, basis))


def _upper_bound(ritz: np.ndarray, betas: np.ndarray, log_s: float) -> float:
    """Solve s · Π (U − θ_j) = Π β_j for U > θ_max, in logarithms."""
    top = float(ritz[-1])
    level = float(np.sum(np.log(betas))) - log_s

    def excess(log_gap: float) -> float:
        return float(np.sum(np.log(np.exp(log_gap) + (top - ritz)))) - level

    # All factors at their smallest bound the gap U − θ_max from above; e^-80 of the scale is none.
    low, high = np.log(np.abs(ritz).max() + betas.max()) - 80.0, level / len(ritz)
    if excess(low) >= 0:
        return top + float(np.exp(low))
    return top + float(np.exp(brentq(excess, low, max(high, low) + 1.0, xtol=1e-6)))


def _orthogonal(w: np.ndarray, basis: list[np.ndarray]) -> np.ndarray:
    for _ in range(2):  # twice is enough (Kahan, Parlett)
        for q in basis:
            w = w - (q @ w) * q
    return w


def _unit_orthogonal(w: np.ndarray, basis: list[np.ndarray]) -> np.ndarray:
    w = _orthogonal(w, basis)
    return np.asarray(w / np.linalg.norm(w))
