"""Where coordinate sweeps keep their fields: in sample space for kernels, in feature space for features."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import scipy.sparse as sp

from ..arrays import Array, blocks, is_numpy
from ..gram import DenseGram, Gram, LinearGram
from ..problem import Problem

_CHUNK = 1024  # coordinates between two looks at the keyboard


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
