"""Theorem 3: how much N flipped labels can move Algorithm 1, and when to stop it therefore."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, to_numpy
from ..problem import Problem
from .convergence import Theorem1, printed_C
from .problem_constants import Constants


def coupling(problem: Problem, flipped: Array) -> float:
    """Return ‖Ã − A‖ = 2 ‖K_{S,Sᶜ}‖, S the flipped samples: only entries between S and the rest change.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> problem = mp.Problem(mp.Gram.linear(np.array([[1.0], [-1.0], [1.0]])), [1, -1, 1])
    >>> round(coupling(problem, [0]), 9)  # 2 ‖(−1, 1)‖
    2.828427125
    """
    n = problem.shape[0]
    inside = np.zeros(n, dtype=bool)
    inside[np.asarray(flipped, dtype=np.intp)] = True
    rows = to_numpy(problem.gram.rows(np.flatnonzero(inside))).astype(np.float64)
    block = rows[:, ~inside]
    return 2 * float(np.linalg.norm(block, 2)) if block.size else 0.0


@dataclass(frozen=True)
class Theorem3:
    """Algorithm 1 on labels of which N are flipped: ‖w̃_t − w*‖ ≤ a t + 2κ√N R + C (1 − ρ)^{t/2}.

    a = γ ‖Z‖ ‖B‖ R, with ‖B‖ = ‖Ã − A‖ ≤ min(L, 2κ² √(N(n − N))) and R = ‖u_0 − u*‖ + ‖u*‖. The first two
    terms are what the flips can do, the third is Theorem 1 for the true labels.

    The text's recursion drops γ‖Z̃‖ from a, its bound on ‖B‖ fails for N > (n + 2)/3, and its minimum over t
    is put in without asking whether t* ≥ 1.

    Parameters
    ----------
    constants, step_size
        Of the problem with the true labels; 0 < γ < 2/L.
    flips : int
        N, from 0 to n.
    coupling : float, optional
        ‖B‖ where the flipped samples are known: :func:`coupling`.
    """

    constants: Constants
    step_size: float
    flips: int
    coupling: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.flips <= self.constants.n:
            raise ValueError(f"flips must be from 0 to n = {self.constants.n}, got {self.flips!r}.")
        Theorem1(self.constants, self.step_size)  # refuses a step size that it cannot cover

    @property
    def C1(self) -> float:
        """a, what one more update can add."""
        c = self.constants
        worst = min(c.L, 2 * c.kappa**2 * math.sqrt(self.flips * (c.n - self.flips)))
        B = worst if self.coupling is None else self.coupling
        return self.step_size * math.sqrt(c.L) * B * c.R

    @property
    def C2(self) -> float:
        """2κ√N R, what the flips do to w at once."""
        return 2 * self.constants.kappa * math.sqrt(self.flips) * self.constants.R

    def distance(self, t: Array) -> Array:
        """Return the bound on ‖w̃_t − w*‖."""
        return self.C1 * np.asarray(t) + self.C2 + Theorem1(self.constants, self.step_size).distance(t)

    @property
    def stopping_step(self) -> float:
        """t*(N), the whole number ≥ 1 at which the bound is smallest; infinite for N = 0 and for N = n.

        With the bound on ‖B‖ it is 1 for every 1 ≤ N < n, whatever the data, as Cℓ < 2a: C ≤ ‖Z‖ ‖u*‖,
        R ≥ ‖u*‖, ℓ ≤ 2γμ and μ < ‖B‖. Only a smaller ‖B‖, of known flips, can make it larger. All labels
        flipped leave A as it was, so that nothing grows with t: w̃_t goes to −w*, and 2κ√n R covers it.
        """
        rate, C = Theorem1(self.constants, self.step_size).log_factor, self.constants.C
        if self.C1 == 0:
            return math.inf
        best = max(1.0, 2 / rate * math.log(C * rate / (2 * self.C1))) if C > 0 else 1.0
        return min(math.floor(best), math.ceil(best), key=self.distance)


def random_flips(
    problem: Problem, u: np.ndarray, solution: np.ndarray, probability: float, step_size: float
) -> np.ndarray:
    """Bound E‖w̃_t − w*‖, t = 0, …, T, where every label is flipped independently with probability p.

    Of Algorithm 1 with γ ≤ 1/‖K‖, from u_0 = 0, for any schedule::

        E‖w̃_t − w*‖ ≤ 2 √(p(1 − p)) γ ‖Z‖ Σ_{s<t} g(u_s)
                       + 2 √(p² ‖w_t‖² + p(1 − p) Σ_i u_{t,i}² K_ii) + ‖w_t − w*‖,
        g(u)² = ‖A u‖² + Σ_i u_i² ‖A_i‖² − 2 Σ_i A_ii u_i (A u)_i.

    Flips at random mostly cancel, which the worst case of :class:`Theorem3` cannot know. The constants are
    those of the path on the true labels, instead of bounds on it.

    Parameters
    ----------
    problem : Problem
        With the true labels, (n,).
    u : array (T + 1, n)
        The path u_0, …, u_T on them.
    solution : array (n,)
        A hard-margin dual solution u*, such as ``maximum_margin(problem).u``.

    Examples
    --------
    >>> import marginpath as mp
    >>> problem = mp.Problem(mp.Gram.linear(np.eye(2)), [1, -1])
    >>> u = np.array([[0.0, 0.0], [-1.0, -1.0]])
    >>> random_flips(problem, u, u[1], probability=0.5, step_size=1.0).round(6)
    array([1.414214, 2.      ])
    """
    p, y = probability, to_numpy(problem.Y)
    A = to_numpy(problem.gram.rows(np.arange(len(y)))).astype(np.float64) * np.outer(y, y)
    Au, D = u @ A, np.diag(A)
    g2 = np.sum(Au**2 + u**2 * np.sum(A**2, axis=1) - 2 * D * u * Au, axis=1)
    drift = np.append(0.0, np.cumsum(np.sqrt(np.maximum(g2, 0)))[:-1])
    norm = math.sqrt(float(np.linalg.eigvalsh(A)[-1]))
    at_once = np.sqrt(p**2 * np.sum(u * Au, axis=1) + p * (1 - p) * u**2 @ D)
    off = u - solution
    distance = np.sqrt(np.maximum(np.sum(off * (off @ A), axis=1), 0))
    return np.asarray(2 * math.sqrt(p * (1 - p)) * step_size * norm * drift + 2 * at_once + distance)


def two_point_bound(problem: Problem, solution: Array, other: Problem, other_solution: Array) -> float:
    """Return ½‖w − v‖ for the maximum-margin w and v of two problems: what labels between cost.

    Where the labels y and y′ differ in at most 2N samples, some ỹ is within N flips of both. A method that
    sees ỹ returns the same for both, whose distance to w or to v is at least half of theirs: a lower
    bound on what N flips cost any method, whenever it stops (Le Cam's argument).

    Parameters
    ----------
    problem, other : Problem
        The same samples with labels y and y′, (n,).
    solution, other_solution : array (n,)
        Their hard-margin dual solutions, such as ``maximum_margin(problem).u``.

    Examples
    --------
    >>> import marginpath as mp
    >>> gram, u = mp.Gram.linear(np.eye(3)), np.array([-1.0, -1.0, -1.0])
    >>> y, flipped = mp.Problem(gram, [1, 1, -1]), mp.Problem(gram, [1, -1, -1])  # which w* are too
    >>> two_point_bound(y, u, flipped, u)
    1.0
    """
    off = to_numpy(problem.Y) * to_numpy(solution) - to_numpy(other.Y) * to_numpy(other_solution)
    K = to_numpy(problem.gram.rows(np.arange(len(off)))).astype(np.float64)
    return math.sqrt(max(float(off @ K @ off), 0.0)) / 2


@dataclass(frozen=True)
class PrintedTheorem3:
    """Theorem 3 as it is printed: ‖w̃_t − w*‖ ≤ C1 √(2(n+1−2N)N) t + C2 √N + C (1 − ρ)^{t/2}; not always true.

    C1 = 2√2 κ² R has no step size in it, so that t*(N) changes with the scale of the data, and the path does
    not. Give C = constants.C to read its X as Z, and mu to have another μ than the printed one.
    """

    constants: Constants
    step_size: float
    flips: int
    C: float | None = None
    mu: float | None = None

    @property
    def _slope(self) -> float:
        c, N = self.constants, self.flips
        return 2 * math.sqrt(2) * c.kappa**2 * c.R * math.sqrt(2 * max(c.n + 1 - 2 * N, 0) * N)

    @property
    def _C(self) -> float:
        return printed_C(self.constants) if self.C is None else self.C

    @property
    def _log_factor(self) -> float:
        return math.log1p(self.step_size * (self.constants.printed_mu if self.mu is None else self.mu))

    def distance(self, t: Array) -> Array:
        """Return the printed bound."""
        t = np.asarray(t)
        offset = 2 * self.constants.kappa * self.constants.R * math.sqrt(self.flips)
        return self._slope * t + offset + self._C * np.exp(-self._log_factor * t / 2)

    @property
    def stopping_step(self) -> float:
        """max(1, (2/ℓ) ln(Cℓ / (2 C1 √(2(n+1−2N)N)))), a real number."""
        rate = self._log_factor
        return max(1.0, 2 / rate * math.log(self._C * rate / (2 * self._slope)))

    @property
    def optimum(self) -> float:
        """The bound at t*(N) as printed, which puts in the formula of t* also where the maximum is 1."""
        rate, slope = self._log_factor, self._slope
        offset = 2 * self.constants.kappa * self.constants.R * math.sqrt(self.flips)
        return 2 * slope / rate * (math.log(self._C * rate / slope) + 1) + offset
