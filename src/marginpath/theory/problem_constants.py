"""The constants that the theorems are made of, Hoffman's among them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, to_numpy
from ..certificates.maximum_margin import maximum_margin
from ..problem import Problem

_EPS = float(np.finfo(np.float64).eps)
_CHUNK = 4096  # small eigenproblems solved at once
LIMIT = 500_000
"""The most subsets of samples that :func:`hoffman_constant` looks through."""


@dataclass(frozen=True)
class Constants:
    """The constants of a separable problem, in the notation of the method page.

    Attributes
    ----------
    n : int
        Number of samples.
    L, kappa, frobenius : float
        ‖K‖ = ‖Z‖², κ = max_i √K_ii, and ‖Z‖_F.
    w_norm, u_norm, u_max : float
        ‖w*‖, ‖u*‖ and ‖u*‖_∞. The bounds of Theorems 1 and 2 ask for 1/λ_1 ≥ ‖u*‖_∞ (the text: λ_0 ≤ 1/‖u*‖).
    distance : float
        ‖u_0 − u*‖.
    C : float
        C² = ‖Zᵀu_0‖² + ‖w*‖² + 2 Σ u_0 = 2 (D(u_0) − D*); ‖w*‖ for u_0 = 0.
    smallest : float
        λ_min(A), 0 where A is singular to rounding.
    tau : float
        Hoffman's constant τ; NaN where A is positive definite and nothing depends on it.
    w0_norm, rise : float
        ‖w_0‖, and ⟨1, u_0 − u*⟩, which is ‖w*‖² for u_0 = 0.
    printed : float
        ‖Xᵀu_0‖² − ‖Xᵀu*‖², which the text has where ‖Zᵀu_0‖² − ‖Zᵀu*‖² is meant.
    """

    n: int
    L: float
    kappa: float
    frobenius: float
    w_norm: float
    u_norm: float
    u_max: float
    distance: float
    C: float
    smallest: float
    tau: float
    w0_norm: float
    rise: float
    printed: float

    @property
    def M(self) -> float:
        """D(u_0) − D* = C²/2: no iterate is further above the minimum."""
        return self.C**2 / 2

    @property
    def R(self) -> float:
        """‖u_0 − u*‖ + ‖u*‖: no iterate is longer."""
        return self.distance + self.u_norm

    @property
    def growth(self) -> float:
        """The c of dist(u, argmin D)² ≤ τ² c (D(u) − min D): c = 2 + (√M + √2 ‖w*‖)²."""
        return 2 + (math.sqrt(self.M) + math.sqrt(2) * self.w_norm) ** 2

    @property
    def mu(self) -> float:
        """μ of Łojasiewicz' inequality: λ_min(A) where that is positive, else 1 / (2 τ² c)."""
        return self.smallest if self.smallest > 0 else 1 / (2 * self.tau**2 * self.growth)

    @property
    def printed_mu(self) -> float:
        """μ of eq. (5.2), 1 / (8 τ² (2 + (3 √M' + √2 ‖Z‖ (‖u_0‖ + 2 ‖u*‖))²)), M' the printed radicand.

        NaN where M' is negative. The root has to hold M = D(u_0) − D*; ‖Zᵀū‖ ≤ ‖w*‖ for the minimisers ū of
        all D_t replaces ‖Z‖ R and the factor 3; and 2 replaces 8, as θ = 2/(τ²c) and μ = θ/4.
        """
        radicand = self.printed + self.rise
        if radicand < -1e-9 * self.w_norm**2:
            return math.nan
        root = 3 * math.sqrt(max(radicand, 0.0)) + math.sqrt(2 * self.L) * self.R
        return 1 / (8 * self.tau**2 * (2 + root**2))


def constants(
    problem: Problem,
    *,
    solution: Array | None = None,
    start: Array | None = None,
    tau: float | None = None,
    limit: int = LIMIT,
) -> Constants:
    """Compute the constants of a problem with one column and no weights.

    Parameters
    ----------
    solution : array (n,), optional
        u*, a minimiser of D_∞; by default from :func:`marginpath.maximum_margin`.
    start : array (n,), optional
        u_0; 0 by default. Where the box is too small at first, give the state at the first step s with
        1/λ_s ≥ ‖u*‖_∞, and count the steps of the bounds from there.
    tau : float, optional
        Taken for Hoffman's constant, such as :func:`hoffman_lower_bound`; the theorem then promises no more
        than the bounds say.
    limit : int
        Of :func:`hoffman_constant`, which is needed where A is singular.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> problem = mp.Problem(mp.Gram.linear(np.array([[1.0], [-1.0]])), [1, -1])
    >>> found = constants(problem)
    >>> round(found.w_norm, 9), round(found.tau, 9), round(1 / found.mu, 9)
    (1.0, 0.707106781, 6.5)
    """
    y, K, A = _matrices(problem)
    u = _solution(problem) if solution is None else to_numpy(solution).astype(np.float64)[y != 0]
    u0 = np.zeros(len(A)) if start is None else to_numpy(start).astype(np.float64)[y != 0]
    eigenvalues = np.linalg.eigvalsh(A)
    smallest = float(eigenvalues[0]) if eigenvalues[0] > _rounding(eigenvalues) else 0.0
    squared = float(u @ A @ u)
    start_squared = float(u0 @ A @ u0)
    return Constants(
        n=len(A),
        L=float(eigenvalues[-1]),
        kappa=float(np.sqrt(np.diag(A).max())),
        frobenius=float(np.sqrt(np.trace(A))),
        w_norm=math.sqrt(squared),
        u_norm=float(np.linalg.norm(u)),
        u_max=float(np.abs(u).max()),
        distance=float(np.linalg.norm(u0 - u)),
        C=math.sqrt(max(start_squared + squared + 2 * float(u0.sum()), 0.0)),
        smallest=smallest,
        tau=math.nan if smallest > 0 else _hoffman(A, limit) if tau is None else tau,
        w0_norm=math.sqrt(start_squared),
        rise=float((u0 - u).sum()),
        printed=float(u0 @ K @ u0 - u @ K @ u),
    )


def hoffman_constant(problem: Problem, limit: int = LIMIT) -> float:
    """Return Hoffman's constant τ: dist(u, argmin D_t) ≤ τ ‖E (u − ū_t)‖ in every box, E = [Zᵀ; 1ᵀ].

    τ² is the largest 1/λ_min((A + 11ᵀ)_FF) over the sets F of r = rank(A + 11ᵀ) samples with a nonsingular
    block: C(n, r) small eigenproblems. The text takes bases of [I; E] instead, with rows of I too; for u in
    the box those are not needed, and the constant is smaller and one of the kernel alone.

    Parameters
    ----------
    limit : int
        The most sets looked through; past it a ValueError says so. No bound from above is known that is
        cheaper: :func:`hoffman_lower_bound` bounds τ from below.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> problem = mp.Problem(mp.Gram.linear(np.array([[1.0], [-1.0]])), [1, -1])
    >>> round(hoffman_constant(problem), 9)  # any one sample: 1/√(1 + 1)
    0.707106781
    """
    return _hoffman(_matrices(problem)[2], limit)


def hoffman_lower_bound(problem: Problem, draws: int = 10_000, seed: int = 0) -> float:
    """Return a number that τ is at least: the same maximum over random sets of samples.

    With it, ``mu`` bounds from above what the theorem promises: the proved rate is no better.
    """
    G, r = _extended(_matrices(problem)[2])
    rng = np.random.default_rng(seed)
    return _largest(G, (np.sort(rng.permutation(len(G))[:r]) for _ in range(draws)))


def _hoffman(A: np.ndarray, limit: int) -> float:
    G, r = _extended(A)
    count = math.comb(len(G), r)
    if count > limit:
        raise ValueError(
            f"Hoffman's constant of {len(G)} samples needs C({len(G)}, {r}) = {count:.3g} eigenproblems, "
            f"over the limit of {limit:,}. Take fewer samples, a kernel that makes A positive definite (then "
            f"nothing depends on the constant), a larger limit=, or hoffman_lower_bound."
        )
    return _largest(G, itertools.combinations(range(len(G)), r))


def _extended(A: np.ndarray) -> tuple[np.ndarray, int]:
    """Return A + 11ᵀ and its rank."""
    G = A + 1
    eigenvalues = np.linalg.eigvalsh(G)
    return G, int(np.sum(eigenvalues > _rounding(eigenvalues)))


def _largest(G: np.ndarray, sets: Iterable[Iterable[int]]) -> float:
    """Return the largest 1/√λ_min(G_FF) over the sets F with a nonsingular block."""
    floor, found = _rounding(np.linalg.eigvalsh(G)), 0.0
    iterator = iter(sets)
    while chunk := list(itertools.islice(iterator, _CHUNK)):
        index = np.array(chunk)
        smallest = np.linalg.eigvalsh(G[index[:, :, None], index[:, None, :]])[:, 0]
        found = max(found, 1 / float(np.min(smallest, where=smallest > floor, initial=np.inf)))
    return math.sqrt(found)


def _rounding(eigenvalues: np.ndarray) -> float:
    """Return the size under which an eigenvalue is taken to be 0."""
    return 16 * len(eigenvalues) * _EPS * float(eigenvalues[-1])


def _matrices(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return y, and K and A of the samples that count."""
    if len(problem.shape) != 1:
        raise ValueError(
            f"The theorems are about one column of labels, got shape {problem.shape}: make a Problem of each."
        )
    if problem.sample_weight is not None:
        raise ValueError("The theorems know no weights: repeat the samples instead.")
    y = to_numpy(problem.Y).astype(np.float64)
    index = np.flatnonzero(y)
    K = to_numpy(problem.gram.block(index)).astype(np.float64)
    return y, K, np.outer(y[index], y[index]) * K


def _solution(problem: Problem) -> np.ndarray:
    found = maximum_margin(problem)
    if not float(found.margin_bounds[0]) > 0:
        raise ValueError(
            f"The theorems ask for separable samples; here the maximum margin is at most "
            f"{float(found.margin_bounds[1]):.3g}."
        )
    return np.asarray(to_numpy(found.u)[to_numpy(problem.Y) != 0], dtype=np.float64)
