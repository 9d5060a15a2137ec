"""All columns of a regression at one λ, on kernel values or on features."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ... import parallel
from ...arrays import Array, blocks
from ...gram.base import Gram
from ...losses import ResidualLoss
from ...problem import RegressionProblem
from .working_sets import Column, solve

_SHARED = 400  # samples from which threads gain more than they wait for each other
_PASSES = 3  # through each block of a kernel sweep: a step is cheap, reading a row of K is not


class _Some(NamedTuple):
    """Some columns, to be swept: targets, masses, box sizes, the loss's shape; a and its field change."""

    y: np.ndarray
    mass: np.ndarray
    b: np.ndarray
    shape: tuple[float, ...]
    a: np.ndarray
    field: np.ndarray


class Columns:
    """All columns at one λ: a = −u and its field in float64, the gap of each.

    The field is computed where it is not given.
    """

    def __init__(
        self,
        problem: RegressionProblem,
        loss: ResidualLoss,
        bound: Array,
        u: Array,
        field: Array | None = None,
    ) -> None:
        self.problem, self.loss = problem, loss
        n = problem.shape[0]
        self.b = np.atleast_1d(bound).astype(np.float64)
        self.shape = (loss.insensitivity, loss.curvature, *loss.box)
        self.y, self.mass, self.a = (
            np.asarray(x, dtype=np.float64).reshape(n, -1).copy() for x in (problem.targets, problem.mass, -u)
        )
        self.space = _Features(problem.gram) if problem.gram.space == "features" else _Kernel(problem.gram)
        self.field = self.space.field(self.a) if field is None else np.array(field).reshape(n, -1)
        self.gaps = np.full(len(self.b), np.inf)

    @property
    def on_kernel_values(self) -> bool:
        """Whether the field is f = K a itself."""
        return isinstance(self.space, _Kernel)

    def work(self, tol: float, sweeps: int) -> None:
        """Solve on working sets, and measure the gaps.

        Rows that are not stored are computed for one column after the other.
        """
        stop, (low, high) = np.zeros(1, dtype=bool), self.loss.box

        def solve_column(j: int) -> None:
            b = self.b[j] * self.mass[:, j]
            a, f = (np.ascontiguousarray(x[:, j]) for x in (self.a, self.field))
            y, counts = np.ascontiguousarray(self.y[:, j]), b > 0
            least, most = (np.where(counts, end * np.where(counts, b, 1.0), 0.0) for end in (low, high))
            ridge = np.where(counts, self.loss.curvature / np.where(counts, b, 1.0), 0.0)
            column = Column(y, least, most, ridge, self.loss.insensitivity, a, f)
            self.gaps[j] = solve(self.problem.gram, column, tol, sweeps, stop)
            self.a[:, j], self.field[:, j] = column.a, column.f

        shared = self.problem.gram.matrix is not None and len(self.y) >= _SHARED
        workers = parallel.available() if shared else 1
        stop_all = None if len(self.y) <= parallel.QUICK else lambda: stop.fill(True)
        with parallel.one_blas_thread():
            parallel.for_all(solve_column, range(len(self.b)), workers, stop_all)

    def measure(self) -> None:
        """Measure the gaps of all columns."""
        self.gaps = self.relative_gaps(np.arange(len(self.b)))

    def sweep(self, columns: np.ndarray, order: np.ndarray) -> None:
        """Sweep some of the columns once, and measure their gaps."""
        y, mass, a, field = (x[:, columns] for x in (self.y, self.mass, self.a, self.field))
        self.space.sweep(order, _Some(y, mass, self.b[columns], self.shape, a, field))
        self.a[:, columns], self.field[:, columns] = a, field
        self.gaps[columns] = self.relative_gaps(columns)

    def relative_gaps(self, columns: np.ndarray) -> np.ndarray:
        """Return the duality gap over the primal objective ½‖w‖² + Σ b ℓ(r)."""
        a, y = self.a[:, columns], self.y[:, columns]
        b = self.b[columns] * self.mass[:, columns]
        f = self.space.predictions(self.field[:, columns])
        counts, safe = b > 0, np.where(b > 0, b, 1.0)
        ratio = np.clip(a / safe, *self.loss.box)
        squared = np.sum(a * f, axis=0)
        losses = np.sum(np.where(counts, b * self.loss.value(y - f), 0.0), axis=0)
        conjugates = np.sum(np.where(counts, b * self.loss.conjugate(ratio) - y * a, 0.0), axis=0)
        primal = squared / 2 + losses
        gap = np.maximum(primal + squared / 2 + conjugates, 0.0)
        return np.asarray(gap / np.where(primal > 0, primal, 1.0))

    def result(self) -> tuple[Array, Array, Array]:
        """Return u, the scores of exactly that u, and the gaps."""
        shape = self.problem.shape
        scores = -self.space.predictions(self.field).reshape(shape)
        return -self.a.reshape(shape), scores, self.gaps.reshape(shape[1:])


class _Kernel:
    """The field is f = K a itself."""

    def __init__(self, gram: Gram) -> None:
        self.gram = gram

    def field(self, a: np.ndarray) -> np.ndarray:
        return np.asarray(self.gram.accurate_product(a)) if a.any() else np.zeros_like(a)

    def predictions(self, field: np.ndarray) -> np.ndarray:
        return field

    def sweep(self, order: np.ndarray, some: _Some) -> None:
        from .compiled import kernel_sweep

        gram, diagonal = self.gram, np.asarray(self.gram.diagonal, dtype=np.float64)
        rows_of = [np.ascontiguousarray(x.T) for x in (some.y, some.mass, some.a, some.field)]

        def part(own: slice) -> None:
            Y, M, A, F = (x[own] for x in rows_of)
            for first, last in blocks(len(order), gram.chunk):
                visit = order[first:last]
                with gram.lend(visit) as (rows, where):
                    kernel_sweep(visit, where, rows, diagonal, Y, M, some.b[own], some.shape, _PASSES, A, F)

        _in_parts(part, len(some.b), gram.matrix is not None)
        some.a[...], some.field[...] = rows_of[2].T, rows_of[3].T


class _Features:
    """The field is w = Xᵀa."""

    def __init__(self, gram: Gram) -> None:
        self.gram = gram
        X = gram.features
        self.X = X if sp.issparse(X) else sp.csr_array(X)

    def field(self, a: np.ndarray) -> np.ndarray:
        return np.asarray(self.X.T @ a)

    def predictions(self, field: np.ndarray) -> np.ndarray:
        return np.asarray(self.X @ field)

    def sweep(self, order: np.ndarray, some: _Some) -> None:
        from .compiled import feature_sweep

        X, diagonal = self.X, np.asarray(self.gram.diagonal, dtype=np.float64)

        def part(own: slice) -> None:
            arrays = (some.y, some.mass, some.a, some.field)
            Y, M, A, W = (np.ascontiguousarray(x[:, own]) for x in arrays)
            given = X.data, X.indices, X.indptr, diagonal, Y, M, some.b[own], some.shape
            feature_sweep(order, *given, A, W)
            some.a[:, own], some.field[:, own] = A, W

        _in_parts(part, len(some.b), True)


def _in_parts(part: Callable[[slice], None], k: int, stored: bool) -> None:
    """Share the columns between threads; rows that are not stored are computed once for all of them."""
    edges = np.linspace(0, k, min(parallel.available() if stored else 1, k) + 1).astype(int).tolist()
    own = [slice(a, e) for a, e in pairwise(edges)]
    parallel.for_all(part, own, len(own))
