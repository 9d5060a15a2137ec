"""The maximum-margin solution itself: a rough path, then an exact finish.

The hard-margin dual is min ½ vᵀA v − Σ v_i over v = −u ≥ 0. A few steps of a path tell about which samples
support its solution; the finish looks for that set by principal pivoting: solve A_SS v_S = 1, drop from S
where v < 0, add to it where a margin is under 1, until neither occurs. Pivoting may cycle, and A_SS may be
singular (equal samples, fewer features than samples). A proximal term meets both: it works on A + δD,
D = diag(A), with the right-hand side 1 + δD v, v the last solution. Where pivoting does not settle, δ grows
(it does settle once δD dominates); where it does, δ shrinks. Every settled v is a step of the proximal-point
method (Rockafellar, SIAM J. Control Optim. 14, 1976): it goes to a solution for any δ, or, where there is
none, grows along a direction that proves it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from ..arrays import Array, blocks, is_numpy, to_numpy
from ..gram.base import Gram
from ..momentum import Inertia
from ..parallel import for_each, one_blas_thread
from ..path.path import Path
from ..path.run import run
from ..problem import Problem
from ..schedules import GeometricDecay
from ..solvers import CoordinateDescent, DualDescent, Solver
from ..solvers.base import State
from .bounds import margin_bounds
from .farkas import Farkas, nonseparability
from .pivoting import PrincipalSystems

_EPS = float(np.finfo(np.float64).eps)
_FACTORIZATIONS, _ROUNDS = 500, 100  # at most so many, for a column and for a loop
_FIRST_SUPPORT = 4096  # of a rough solution with more, only the largest coefficients are taken up
_ROWS = 64  # of a block that a core works on at a time
_PATIENCE = 1  # pivots in a row that may fail to lower the number of infeasibilities
_FEATURES = 64  # at most, for an exact proof that there is no margin
_ROUGH = 0.01  # where all margins are this near to 1, the rough path has told its support


class MarginStatus(StrEnum):
    """What is known of the maximum margin of a column: a word, with a sentence behind it."""

    EXACT = "exact"
    NOT_SEPARABLE = "not_separable"
    CERTIFIED = "certified"
    ZERO_ROWS = "zero_rows"
    ROUNDING = "rounding"
    LIMITED = "limited"

    @property
    def sentence(self) -> str:
        """What the word means."""
        return {
            MarginStatus.EXACT: "The maximum margin is proved to the relative gap that was asked for.",
            MarginStatus.NOT_SEPARABLE: "It is proved in whole numbers, proof, that there is no margin.",
            MarginStatus.CERTIFIED: "It is proved that there is no margin over epsilon; smaller ones may be.",
            MarginStatus.ZERO_ROWS: "All-zero samples have no margin: drop zero_rows, or add a constant.",
            MarginStatus.ROUNDING: "Solved, but rounding keeps the bounds further apart than tol.",
            MarginStatus.LIMITED: "The limit on time or work was reached before the bounds met tol.",
        }[self]


@dataclass(frozen=True)
class MaximumMargin:
    """The maximum-margin solution and what is proved of it; a column each for labels (n, k).

    Attributes
    ----------
    u
        The dual solution in float64, shape of y; w = −Zᵀu. It is one of many where samples are dependent.
        Weights over 0 do not change it: u_i is the sum over all copies of sample i.
    margin_bounds, status
        (lower, upper) on the maximum margin, proved by ``u``; what this tells, a word with a ``sentence``.
    epsilon
        Margins up to here may be rounding: 2 √max(4n eps, 32 eps of K) times the mean of √K_ii, weighted by
        u, so that only samples that support the proof count.
    zero_rows
        The samples with K_ii = 0 that count.
    proof
        Where the features are known, the whole numbers that prove that nothing separates; else None.
    steps, factorizations
        The work: updates of the rough path, Cholesky factorizations of the finish.
    """

    u: Array
    margin_bounds: tuple[Array, Array]
    status: MarginStatus | tuple[MarginStatus, ...]
    epsilon: np.ndarray
    zero_rows: np.ndarray
    steps: int
    factorizations: np.ndarray
    proof: Farkas | tuple[Farkas | None, ...] | None = None


def maximum_margin(
    problem: Problem,
    tol: float = 1e-10,
    *,
    solver: Solver[Any] | None = None,
    steps: int = 100,
    time_limit: float | None = None,
) -> MaximumMargin:
    """Compute the classifier of maximum margin, min ‖w‖ s.t. y_i⟨w, x_i⟩ ≥ 1, with a proof.

    A rough path is finished by principal pivoting on the dual

        min ½ vᵀA v − Σ v_i   over   v = −u ≥ 0,   A = diag(y) K diag(y),

    until the bounds on the margin have (upper − lower)/upper ≤ tol. Data without a margin end with the
    proof that it is at most ``epsilon``; of a linear kernel with at most 64 features, with an exact one that
    there is none (:func:`marginpath.nonseparability`). The work is bounded in any case.

    Parameters
    ----------
    problem : Problem
        Its columns share the rough path and are finished one by one.
    tol : float
        The relative gap wanted.
    solver, steps : Solver, optional, and int
        Of the rough path, which takes at most so many steps; by default coordinate sweeps, or Algorithm 2
        where they do not apply, with a fast decay.
    time_limit : float, optional
        Seconds after which the best solution so far is returned, with what it proves.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> X = np.array([[0.5, 1.5], [1.5, 0.5], [-0.5, -1.5], [-3.0, -1.0]])
    >>> found = maximum_margin(mp.Problem(mp.Gram.linear(X), [1, 1, -1, -1]))
    >>> found.status.value, round(float(found.margin_bounds[0]), 9)
    ('exact', 1.414213562)
    >>> maximum_margin(mp.Problem(mp.Gram.linear(X[[0, 0]]), [1, -1])).status.sentence
    'It is proved in whole numbers, proof, that there is no margin.'
    """
    if not 0 < tol < 1:
        raise ValueError(f"tol is the relative gap of the bounds and must be between 0 and 1, got {tol!r}.")
    if problem.intercept:
        raise ValueError(
            "maximum_margin knows no intercept that is not penalized. Give a problem without one, on a "
            "kernel plus a constant."
        )
    gram, shape = problem.gram.in_double(), problem.shape
    Y = (to_numpy(problem.Y) * (to_numpy(problem.mass) > 0)).astype(np.float64).reshape(shape[0], -1)
    root = np.sqrt(to_numpy(gram.diagonal).astype(np.float64))
    zero = (Y != 0) & (root == 0)[:, None]
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    columns = [_Column(gram, y, root * np.abs(y), tol, deadline) for y in Y.T]
    V = zero.astype(np.float64)  # a zero row is its own proof
    others = np.flatnonzero(~zero.any(axis=0))
    if others.size:
        rough = Problem(problem.gram, Y[:, others])
        rough_solver = solver or _rough_solver(gram, root)
        path = run(rough_solver, rough, steps, stop=_is_rough, keep=0, time_limit=time_limit)
        steps = path.last.t
        if path.ended == "interrupted":
            raise KeyboardInterrupt
        with one_blas_thread():  # threads of OpenBLAS wait longer than they factor
            for j, u in zip(others, to_numpy(path.last.u).T, strict=True):
                V[:, j] = columns[j].finish(np.maximum(-u.astype(np.float64), 0))
    V = np.where(np.isfinite(V), V, 0.0)  # a path may overflow
    solution = gram.xp.asarray(-V.reshape(shape), device=gram.device)
    bounds = margin_bounds(Problem(gram, Y.reshape(shape)), solution)
    epsilons = [column.epsilon(v) for column, v in zip(columns, V.T, strict=True)]
    words = tuple(map(_Column.status, columns, *(to_numpy(end).ravel() for end in bounds), epsilons))
    proofs = tuple(column.proof(problem.gram, word) for column, word in zip(columns, words, strict=True))
    words = tuple(MarginStatus.NOT_SEPARABLE if p else word for p, word in zip(proofs, words, strict=True))
    return MaximumMargin(
        u=solution,
        margin_bounds=bounds,
        status=words if len(shape) == 2 else words[0],
        epsilon=np.reshape(epsilons, shape[1:]),
        zero_rows=np.flatnonzero(zero.any(axis=1)),
        steps=steps,
        factorizations=np.reshape([_FACTORIZATIONS - column.left for column in columns], shape[1:]),
        proof=proofs if len(shape) == 2 else proofs[0],
    )


def _rough_solver(gram: Gram, root: np.ndarray) -> Solver[Any]:
    """Return compiled sweeps where they apply, else Algorithm 2."""
    if is_numpy(gram.diagonal):
        return CoordinateDescent(ratio=2.0, tol=1e-3)
    return DualDescent(GeometricDecay(float(root.max()) ** 2), Inertia(3))


def _is_rough(problem: Problem, state: State, path: Path) -> Array:
    """Return which columns have all their margins near 1 or over it."""
    return problem.smallest(problem.margins(state.scores)) >= 1 - _ROUGH


class _TimeIsOver(Exception):
    """Raised where the deadline has passed."""


class _Column:
    """One column on its way from a rough solution to the exact one."""

    def __init__(self, gram: Gram, y: np.ndarray, root: np.ndarray, tol: float, deadline: float) -> None:
        self.gram, self.y, self.root, self.tol, self.deadline = gram, y, root, tol, deadline
        self.delta, self.left, self.ended = 1e-12, _FACTORIZATIONS, False
        self.rounding = max(4 * len(y) * _EPS, 32 * float(gram.xp.finfo(gram.dtype).eps))

    def epsilon(self, v: np.ndarray, root: np.ndarray | None = None) -> float:
        """Return the margin that v cannot tell from rounding: relative to the samples where v is not 0."""
        root, total = self.root if root is None else root, float(v.sum())
        mean = float(root @ v) / total if total > 0 else float(root.max())
        return 2.0 * float(np.sqrt(self.rounding)) * mean

    def check(self) -> None:
        """Raise where the time is over."""
        if time.monotonic() >= self.deadline:
            raise _TimeIsOver

    def finish(self, v: np.ndarray) -> np.ndarray:
        """Return the solution, or the best that there was when time was over."""
        v[np.argsort(v)[:-_FIRST_SUPPORT]] = 0.0
        self.best = v
        try:
            self.improve(v)
        except _TimeIsOver:
            self.ended = True
        return self.best

    def improve(self, v: np.ndarray) -> None:
        """Solve on a working set, look at all the margins, take up the smallest ones, and again."""
        narrowest, seen = np.inf, np.zeros(len(v), dtype=bool)
        for _ in range(_ROUNDS):
            m = self.margins(v)
            gap, least = self.gap(v, m, self.root)
            stalled = gap > narrowest / 2 and not np.any((m < 1 - least) & ~seen)
            if gap < narrowest:
                narrowest, squared = gap, float(v @ m)
                self.best = v * (v.sum() / squared) if squared > 0 else v
            if gap <= least or stalled or not self.left:
                return
            self.check()
            W = self.working_set(v, m)
            A = self.block(W)
            b = 1 - (m[W] - A @ v[W])  # 1, but for what rounding took from the entries of A
            z, v, seen = self.solve(A, b, v[W]), np.zeros_like(v), np.zeros_like(seen)
            v[W], seen[W] = z, True

    def margins(self, v: np.ndarray) -> np.ndarray:
        """Return m = A v in float64; samples that are left out get the largest number."""
        scores = self.gram.accurate_product(self.gram.xp.asarray(self.y * v, device=self.gram.device))
        return np.where(self.y != 0, self.y * to_numpy(scores), np.finfo(np.float64).max)

    def gap(self, v: np.ndarray, m: np.ndarray, root: np.ndarray) -> tuple[float, float]:
        """Return the relative gap of the bounds on the margin by v, and the least that is worth having."""
        total, squared = float(v.sum()), float(v @ m)
        if squared <= (self.epsilon(v, root) / 2 * total) ** 2:
            return (0.0 if total else np.inf), 0.0  # there is no margin, or no v
        hardest = int(m.argmin())
        noise = 8 * _EPS * float(root[hardest]) * float(root @ v)
        return 1 - float(m[hardest]) * total / squared, max(self.tol / 10, noise)

    def working_set(self, v: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Return the support and the smallest margins: those under 1, if not too many, and some more."""
        order = np.argsort(np.where(v > 0, -np.inf, m), kind="stable")
        support, violated, n = (int(np.sum(x)) for x in (v > 0, (m < 1) & (v == 0), self.y != 0))
        size = support + max(100, support // 8, min(violated, support // 2))
        return np.sort(order[: min(size, n)])

    def block(self, W: np.ndarray) -> np.ndarray:
        """Return the block of A in float64; the cores share its rows."""
        y, K = self.y[W], to_numpy(self.gram.block(W))
        A = np.empty(K.shape)

        def sign(rows: tuple[int, int]) -> None:
            a, b = rows
            np.multiply(K[a:b], y[a:b, None] * y, out=A[a:b])

        for_each(sign, blocks(len(W), _ROWS), parallel=True)
        return A

    def solve(self, A: np.ndarray, b: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Minimize ½ vᵀA v − bᵀv over v ≥ 0 by proximal-point steps from v."""
        D = np.diag(A).copy()
        for _ in range(_ROUNDS):
            gap, least = self.gap(v, A @ v + (1 - b), np.sqrt(D))
            if gap <= least or not self.left:
                break
            z = self.pivot(A, self.delta * D, b + self.delta * D * v, v > 0 if v.any() else D > 0)
            if z is None:
                self.delta = min(100 * self.delta, 1e4)
            else:
                v, self.delta = z, max(self.delta / 10, len(v) * _EPS)
        return v

    def pivot(self, A: np.ndarray, E: np.ndarray, h: np.ndarray, S: np.ndarray) -> np.ndarray | None:
        """Find z ≥ 0 with (A + diag E) z ≥ h, equal where z > 0; None where pivoting does not settle."""
        systems, fewest, patience = PrincipalSystems(A, E, h, self.check), len(h) + 1, _PATIENCE
        while patience >= 0 and self.left:
            found = systems.update(S)
            if found is None:
                self.left -= 1
                found = systems.solve(S)
            if found is None:
                return None
            z, residual = found
            wrong = np.where(S, z < 0, residual > systems.noise(z))
            if not (count := int(wrong.sum())):
                return z
            patience = _PATIENCE if count < fewest else patience - 1
            fewest, S = min(fewest, count), S ^ wrong
        return None

    def proof(self, gram: Gram, word: MarginStatus) -> Farkas | None:
        """Prove exactly that there is no margin, where none was found and the features are at hand."""
        if word is not MarginStatus.CERTIFIED or gram.space != "features" or not is_numpy(gram.diagonal):
            return None
        few = gram.features.shape[1] <= _FEATURES and time.monotonic() < self.deadline
        return nonseparability(gram.features, self.y) if few else None

    def status(self, lower: float, upper: float, epsilon: float) -> MarginStatus:
        if upper == 0:
            return MarginStatus.ZERO_ROWS
        if lower > 0 and upper - lower <= self.tol * upper:
            return MarginStatus.EXACT
        if lower <= 0 and upper <= epsilon:
            return MarginStatus.CERTIFIED
        return MarginStatus.ROUNDING if self.left and not self.ended else MarginStatus.LIMITED
