"""Bounds on the spectrum of a positive semi-definite operator from a few products."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.optimize import brentq

FAILURE_PROBABILITY = 1e-10

#: Up to so many samples all eigenvalues are computed: it takes some milliseconds.
EXACT = 400

_EPS = float(np.finfo(np.float64).eps)


class Spectrum(NamedTuple):
    """Where λ_max lies, [lower, upper]; ``smallest`` ≥ λ_min; the products that Lanczos took, or 0."""

    lower: float
    upper: float
    smallest: float
    products: int


def seed_of(data: str) -> int:
    """Return a seed from what tells data from other data.

    Lanczos' method fails for a matrix whose top eigenvector is orthogonal to its start; nobody can aim at a
    start that depends on the matrix itself.

    Examples
    --------
    >>> seed_of("one matrix") == seed_of("another")
    False
    """
    return int.from_bytes(hashlib.sha256(data.encode()).digest()[:8])


def exact_spectrum(K: np.ndarray, *, eps: float) -> Spectrum:
    """Bound the largest eigenvalue of a float64 matrix by computing them all: this holds for certain.

    Parameters
    ----------
    K : array (n, n)
        Positive semi-definite, each entry off by 2n roundings of √K_ii √K_jj at most.
    eps : float
        Unit roundoff of the products that the bounds are for; both ends allow for it.

    Examples
    --------
    >>> round(exact_spectrum(np.diag([1.0, 3.0]), eps=2e-16).upper, 9)
    3.0
    """
    n = len(K)
    values = np.linalg.eigvalsh((K + K.T) / 2)
    top, smallest = float(values[-1]), float(values[0])
    guard, rounding = 4 * eps * math.sqrt(n), 4 * n * _EPS * float(np.trace(K))
    return Spectrum(max(top * (1 - guard) - rounding, 0.0), top * (1 + guard) + rounding, smallest, 0)


def lanczos(
    product: Callable[[np.ndarray], np.ndarray],
    n: int,
    *,
    eps: float,
    rtol: float = 0.04,
    max_products: int = 300,
    seed: int,
) -> Spectrum:
    """Bound the largest eigenvalue of a symmetric positive semi-definite operator: probably, from above.

    Lanczos from a random unit vector b gives Ritz values θ_1, …, θ_k with θ_max ≤ λ_max, and a
    vector of norm β_1 ⋯ β_k that equals Π_j (A − θ_j) b. Its part along the top eigenvector v is
    Π_j (λ_max − θ_j) ⟨b, v⟩, and |⟨b, v⟩| ≥ s but for a probability of 1e-10. So λ_max is at most the
    U > θ_max with s · Π_j (U − θ_j) = Π_j β_j (Hochstenbach, Numerische Mathematik 123, 2013). Products
    are taken until U ≤ (1 + rtol) θ_max. The lower end holds for certain, the upper one is no proof: no
    method that only sees products can give one.

    Parameters
    ----------
    product : callable
        v → A v for float64 vectors of length n.
    eps : float
        Unit roundoff of the products; both ends allow for it.
    seed : int
        Of b. It must not be known when the operator is chosen: see :func:`seed_of`.
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
