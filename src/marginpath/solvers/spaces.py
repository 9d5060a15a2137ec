"""Where coordinate sweeps keep their fields: in sample space for kernels, in feature space for features."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product

import joblib
import numpy as np
import scipy.sparse as sp

from ..arrays import Array, blocks, is_numpy
from ..gram import DenseGram, Gram, LinearGram
from ..problem import Problem
from .base import State

_CHUNK = 1024  # coordinates between two looks at the keyboard


@dataclass(frozen=True, kw_only=True)
class SweepState(State):
    """A state with its field and aggregate, (n, k) for kernels, (d, k) for features, always float64."""

    field: Array
    aggregate: Array


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

    def advance(
        self,
        problem: Problem,
        state: SweepState,
        bound: Array,
        orders: list[np.ndarray],
        tol: float,
        threads: int,
    ) -> tuple[Array, Array, Array, Array]:
        """Raise the bound and sweep all columns, each thread its own; return u, f, g and the scores."""
        from .sweeps import kernel_sweep

        gram, stored = self.gram, isinstance(self.gram, DenseGram)
        arrays = (problem.Y, problem.mass, state.u, state.field, state.aggregate)
        Y, mass, u, f, g = (np.atleast_2d(np.array(x, order="F").T) for x in arrays)
        b, before = np.atleast_1d(bound), np.atleast_1d(state.bound)

        def part(first: int, last: int, stopped: Callable[[], bool]) -> None:
            own = slice(first, last)
            columns = u[own], f[own], g[own]
            raise_bound(*columns, mass[own], before[own, None], b[own, None])
            for order, (a, e) in product(orders, list(blocks(len(orders[0]), _CHUNK if stored else 64))):
                if stopped():
                    return
                visit = where = order[a:e]
                if not stored:
                    visit = visit[_can_move(visit, gram.diagonal, Y, mass, b, u, f)]
                    where = np.arange(visit.size)
                rows = gram.K if isinstance(gram, DenseGram) else gram.rows(visit)
                kernel_sweep(visit, where, rows, gram.diagonal, Y[own], mass[own], b[own], tol, *columns)

        # Rows that are not stored are computed once for all columns, so there is one part then.
        _in_parts(part, len(b), threads if stored else 1)
        u, f, g = (x.T.reshape(problem.shape, order="F") for x in (u, f, g))
        return u, f, g, self.scores(f)


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

    def advance(
        self,
        problem: Problem,
        state: SweepState,
        bound: Array,
        orders: list[np.ndarray],
        tol: float,
        threads: int,
    ) -> tuple[Array, Array, Array, Array]:
        """Raise the bound and sweep; the columns go by cache lines, which the threads share out."""
        from .sweeps import WIDTH, feature_scores, feature_sweep

        X = self.gram.X if sp.issparse(self.gram.X) else sp.csr_array(self.gram.X)
        csr = X.data, X.indices, X.indptr
        given = (problem.Y, problem.mass, state.u, state.field, state.aggregate)
        sources = [x.reshape(x.shape[0], -1) for x in given]
        results = [np.empty_like(x) for x in (*sources[2:], sources[2])]
        b, before = np.atleast_1d(bound), np.atleast_1d(state.bound)
        lines = list(blocks(len(b), WIDTH))

        def part(first: int, last: int, stopped: Callable[[], bool]) -> None:
            for a, e in lines[first:last]:
                Y, mass, u, f, g = (_padded(x[:, a:e], WIDTH) for x in sources)
                low, high = (_padded(x[None, a:e], WIDTH) for x in (before, b))
                raise_bound(u, f, g, mass, low, high)
                for order, (c, d) in product(orders, list(blocks(len(orders[0]), _CHUNK))):
                    if stopped():
                        return
                    feature_sweep(order[c:d], *csr, self.gram.diagonal, high[0], tol, Y, mass, u, f, g)
                scores = np.empty_like(u)
                feature_scores(*csr, f, scores)
                for result, x in zip(results, (u, f, g, scores), strict=True):
                    result[:, a:e] = x[:, : e - a]

        _in_parts(part, len(lines), threads)
        shapes = problem.shape, state.field.shape, state.field.shape, problem.shape
        u, f, g, scores = (x.reshape(shape) for x, shape in zip(results, shapes, strict=True))
        return u, f, g, scores


def at_bound(u: Array, mass: Array, bound: Array) -> np.ndarray:
    """Return which samples are at the bound −b of their box."""
    return np.asarray((u == -np.where(mass > 0, bound, 0) * mass) & (mass > 0))


def raise_bound(u: Array, f: Array, g: Array, mass: Array, before: Array, bound: Array) -> None:
    """Move the samples at the old bound to the new one, in place: f follows from their aggregate g."""
    if not np.isfinite(bound).all():  # no bound to be at any more
        g[...] = 0
        return
    carried = at_bound(u, mass, before)
    u[carried] = (-bound * mass)[carried]
    f -= (bound.astype(np.float64) - before) * g


def _padded(x: np.ndarray, width: int) -> np.ndarray:
    """Return a contiguous copy with columns of zeros up to the width."""
    out = np.zeros((x.shape[0], width), dtype=x.dtype)
    out[:, : x.shape[1]] = x
    return out


def space_of(gram: Gram) -> KernelSpace | FeatureSpace:
    """Return the space in which coordinate sweeps on this Gram matrix keep their fields."""
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
