"""Diagonal coordinate descent: the fast way along the same path."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import joblib
import numpy as np
import scipy.sparse as sp

from ..arrays import Array, blocks, is_numpy
from ..gram import DenseGram, Gram, LinearGram
from ..problem import Problem
from ..schedules import GeometricDecay, Schedule, box_size
from .base import State

_CHUNK = 1024  # coordinates between two looks at the keyboard
_LARGEST = {"float32": 1e18, "float64": 1e150}  # box sizes past which there is no box


@dataclass(frozen=True, kw_only=True)
class CoordinateDescentState(State):
    """A state with its field and aggregate, (n, k) for kernels, (d, k) for features, always float64."""

    field: Array
    aggregate: Array
    start: float
    size: float


@dataclass(frozen=True)
class CoordinateDescent:
    """One sweep of exact coordinate steps at every λ_t of a fading regularization.

    Step t raises the bound of the box to b_t = 1/λ_t, carries the samples at the bound along, and then
    visits every coordinate once in a random order that all columns share,

        u_i ← clip(u_i − (y_i S_i + 1) / K_ii, −b_t, 0),   S = K(Y∘u).

    The samples at the bound are kept as one aggregate vector, so that raising the bound costs nothing, and
    a coordinate that does not move costs nothing either. Each coordinate step is exact; that the diagonal
    process converges is measured, not proved: raising the bound is no descent step.

    Parameters
    ----------
    schedule : callable, optional
        t → λ_t. None starts exactly where the path leaves the solution with all samples at the bound,
        λ_1 = max_i y_i (K y)_i, and divides λ by ``ratio`` at every step.
    ratio : float
        Factor between two steps of the default schedule.
    sweeps : int
        Sweeps at each λ_t.
    tol : float
        A coordinate whose gradient y_i S_i + 1 is within this of 0 is left alone. 0 moves every coordinate;
        LIBSVM stops at 1e-3.
    refresh : int
        The field is computed anew at every step that is a multiple of this, against rounding.
    seed : int
        Of the random orders; that of step t depends on nothing else.
    threads : int, optional
        Columns are shared between so many threads; None takes the cores there are.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> data = mp.datasets.toy()
    >>> problem = mp.Problem(mp.Gram.linear(data.X), data.y)
    >>> path = mp.run(mp.CoordinateDescent(), problem, steps=60, observe=["margin"])
    >>> round(float(path["margin"][-1]), 6)  # the maximum margin is √2
    1.414214
    """

    schedule: Schedule | None = None
    ratio: float = 1.5
    sweeps: int = 1
    tol: float = 0.0
    refresh: int = 50
    seed: int = 0
    threads: int | None = None

    def __post_init__(self) -> None:
        if not 1 < self.ratio < np.inf:
            raise ValueError(f"ratio must be a finite number over 1, got {self.ratio!r}.")
        if not 0 <= self.tol < 1:
            raise ValueError(f"tol must be at least 0 and under 1, got {self.tol!r}.")
        for name in ("sweeps", "refresh"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)!r}.")

    def init(self, problem: Problem, start: Array | None = None) -> CoordinateDescentState:
        """Start at u = 0, where every sample is at the bound of the empty box."""
        if start is not None:
            raise ValueError("CoordinateDescent starts at u = 0; pass no start, or use DualDescent.")
        space = _space(problem.gram)
        aggregate = space.field(problem.Y * problem.mass)
        scores = space.scores(aggregate)
        largest = float(np.max(problem.Y * scores / problem.box_scale)) if problem.shape[0] else 0.0
        return CoordinateDescentState(
            t=0,
            u=np.zeros_like(problem.Y),
            scores=np.zeros_like(problem.Y),
            bound=problem.box_size(0.0),
            field=np.zeros_like(aggregate),
            aggregate=aggregate,
            start=largest if largest > 0 else 1.0,
            size=0.0,
        )

    def step(self, problem: Problem, state: CoordinateDescentState) -> CoordinateDescentState:
        """Raise the bound to b_{t+1}, then sweep."""
        t = state.t + 1
        schedule = self.schedule or GeometricDecay(state.start * self.ratio, self.ratio)
        size = box_size(schedule, t, state.size)
        bound = problem.box_size(size if size < _LARGEST[problem.Y.dtype.name] else np.inf)
        space = _space(problem.gram)

        u, f, g = raise_bound(problem, state, bound)
        for sweep in range(self.sweeps):
            order = np.random.default_rng([self.seed, t, sweep]).permutation(problem.shape[0])
            space.sweep(problem, order, bound, self.tol, u, f, g, self.threads or joblib.cpu_count())
        if t % self.refresh == 0:
            f = space.field(problem.Y * u)
            g = space.field(problem.Y * np.where(_at_bound(problem, u, bound), problem.mass, 0))
        return CoordinateDescentState(
            t=t, u=u, scores=space.scores(f), bound=bound, field=f, aggregate=g, start=state.start, size=size
        )


def raise_bound(problem: Problem, state: CoordinateDescentState, bound: Array) -> tuple[Array, Array, Array]:
    """Return copies of u, field and aggregate with the samples at the old bound moved to the new one."""
    u, f, g = (np.array(x, order=_order(problem)) for x in (state.u, state.field, state.aggregate))
    if not np.isfinite(bound).all():  # no bound to be at any more
        return u, f, np.zeros_like(g)
    at_bound = _at_bound(problem, u, state.bound)
    u[at_bound] = -problem.box(bound)[at_bound]
    f -= (bound.astype(np.float64) - state.bound) * g
    return u, f, g


def _at_bound(problem: Problem, u: Array, bound: Array) -> np.ndarray:
    return np.asarray((u == -problem.box(bound)) & (problem.mass > 0))


def _order(problem: Problem) -> Literal["C", "F"]:
    """Kernels want the samples of a column side by side, features the columns of a sample."""
    return "C" if isinstance(problem.gram, LinearGram) else "F"


class KernelSpace:
    """Fields in sample space: f = K(Y∘u) is the scores."""

    def __init__(self, gram: Gram) -> None:
        self.gram = gram

    def field(self, V: Array) -> Array:
        """Return K V, with float64 sums."""
        from .sweeps import accurate_product

        gram = self.gram
        if not isinstance(gram, DenseGram):
            return gram.accurate_product(V)
        Vt = np.ascontiguousarray(np.atleast_2d(V.T), dtype=np.float64)
        out = np.empty_like(Vt)

        def part(first: int, last: int, stopped: Callable[[], bool]) -> None:
            for a, e in blocks(last - first, _CHUNK):
                if not stopped():
                    accurate_product(gram.K, Vt, out, first + a, first + e)

        _in_parts(part, gram.shape[0], joblib.cpu_count())
        return out.T.reshape(V.shape, order="F")

    def scores(self, f: Array) -> Array:
        """Return the field itself."""
        return f.astype(self.gram.dtype)

    def sweep(
        self,
        problem: Problem,
        order: Array,
        bound: Array,
        tol: float,
        u: Array,
        f: Array,
        g: Array,
        threads: int,
    ) -> None:
        """Sweep all columns, each thread its own."""
        from .sweeps import kernel_sweep

        gram = self.gram
        Y, mass = (np.asfortranarray(x) for x in (problem.Y, problem.mass))
        Yt, mt, ut, ft, gt = (np.atleast_2d(x.T) for x in (Y, mass, u, f, g))
        b = np.atleast_1d(bound)

        def part(first: int, last: int, stopped: Callable[[], bool]) -> None:
            own = slice(first, last)
            for a, e in blocks(order.size, _CHUNK if isinstance(gram, DenseGram) else 64):
                if stopped():
                    return
                visit = order[a:e]
                if isinstance(gram, DenseGram):
                    rows, where = gram.K, visit
                else:
                    visit = visit[_can_move(visit, gram.diagonal, Yt, mt, b, ut, ft)]
                    rows, where = gram.rows(visit), np.arange(visit.size)
                kernel_sweep(
                    visit,
                    where,
                    rows,
                    gram.diagonal,
                    Yt[own],
                    mt[own],
                    b[own],
                    tol,
                    ut[own],
                    ft[own],
                    gt[own],
                )

        # Rows that are not stored are computed once for all columns, so there is one part then.
        _in_parts(part, len(b), threads if isinstance(gram, DenseGram) else 1)


class FeatureSpace:
    """Fields in feature space: f = Xᵀ(Y∘u), and the scores are X f."""

    def __init__(self, gram: LinearGram) -> None:
        self.gram = gram

    def field(self, V: Array) -> Array:
        """Return Xᵀ V."""
        return np.asarray(self.gram.X.T @ V.astype(np.float64), order="C")

    def scores(self, f: Array) -> Array:
        """Return X f."""
        return self.gram.X @ f.astype(self.gram.dtype)

    def sweep(
        self,
        problem: Problem,
        order: Array,
        bound: Array,
        tol: float,
        u: Array,
        f: Array,
        g: Array,
        threads: int,
    ) -> None:
        """Sweep the columns in blocks whose fields stay in the cache, the blocks shared by the threads."""
        from .sweeps import WIDTH, feature_sweep

        X = self.gram.X if sp.issparse(self.gram.X) else sp.csr_array(self.gram.X)
        Y, mass, uu, ff, gg = (x.reshape(x.shape[0], -1) for x in (problem.Y, problem.mass, u, f, g))
        b = np.atleast_1d(bound)
        columns = list(blocks(len(b), WIDTH))

        def part(first: int, last: int, stopped: Callable[[], bool]) -> None:
            for a, e in columns[first:last]:
                near = [_padded(x[:, a:e], WIDTH) for x in (Y, mass, uu, ff, gg)]
                bounds = _padded(b[None, a:e], WIDTH)[0]
                for c, d in blocks(order.size, _CHUNK):
                    if stopped():
                        return
                    feature_sweep(
                        order[c:d], X.data, X.indices, X.indptr, self.gram.diagonal, bounds, tol, *near
                    )
                for far, x in zip((uu, ff, gg), near[2:], strict=True):
                    far[:, a:e] = x[:, : e - a]

        _in_parts(part, len(columns), threads)


def _padded(x: np.ndarray, width: int) -> np.ndarray:
    """Return a contiguous copy with columns of zeros up to the width."""
    out = np.zeros((x.shape[0], width), dtype=x.dtype)
    out[:, : x.shape[1]] = x
    return out


def _space(gram: Gram) -> KernelSpace | FeatureSpace:
    if not is_numpy(gram.diagonal):
        raise TypeError(
            f"CoordinateDescent sweeps NumPy arrays, but this Gram matrix holds "
            f"{type(gram.diagonal).__name__}. Use DualDescent, which runs on any array library."
        )
    return FeatureSpace(gram) if isinstance(gram, LinearGram) else KernelSpace(gram)


def _can_move(
    visit: Array, diagonal: Array, Y: Array, mass: Array, b: Array, u: Array, f: Array
) -> np.ndarray:
    """Return which samples have, in any column, a coordinate whose exact step is not zero."""
    y, old, low = Y[:, visit], u[:, visit], -b[:, None] * mass[:, visit]
    safe = np.where(diagonal[visit] > 0, diagonal[visit], 1)
    new = np.clip(old - (y * f[:, visit] + 1) / safe, low, 0)
    return np.asarray(np.any((new != old) & (mass[:, visit] > 0), axis=0))


def _in_parts(part: Callable[[int, int, Callable[[], bool]], None], k: int, threads: int) -> None:
    """Cut k columns into parts and run them side by side; an interrupt stops them all."""
    stop = threading.Event()
    edges = np.linspace(0, k, min(threads, k) + 1).astype(int)
    pairs = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    if len(pairs) == 1:
        part(0, k, stop.is_set)
        return
    with ThreadPoolExecutor(len(pairs)) as pool:
        futures = [pool.submit(part, first, last, stop.is_set) for first, last in pairs]
        try:
            for future in futures:
                future.result()
        except BaseException:
            stop.set()
            raise
