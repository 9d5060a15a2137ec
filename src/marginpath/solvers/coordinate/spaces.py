"""Where coordinate sweeps keep their fields: in sample space for kernels, in feature space for features."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ... import parallel
from ...arrays import Array, blocks
from ...gram.base import Gram
from ...gram.products import product, transposed_product
from ...parallel import for_all, one_blas_thread
from ...problem import Problem
from ..base import State
from ..starting import require_numpy

_CHUNK = 1024  # coordinates between two looks at the keyboard

#: Samples that a kernel sweep steps through before it brings the fields up to date.
RUN = 128

#: Of so many sweeps over features, the first visits all samples, the others only what is still moving.
PERIOD = 8


@dataclass(frozen=True, kw_only=True)
class SweepState(State):
    """A state with its field and aggregate, (n, k) for kernels, (d, k) for features, always float64.

    ``counted``, () or (k,), is how many samples the aggregate was last summed over.
    """

    field: Array
    aggregate: Array
    counted: Array


class Sweeps(NamedTuple):
    """What to do at one λ: an order of the samples for every sweep, and a tolerance.

    ``passes`` says how often a kernel sweep steps through each of its blocks.
    """

    orders: list[np.ndarray]
    tol: float
    passes: int = 1

    @property
    def falling(self) -> list[float]:
        """A tolerance for every sweep: tol for the last two, twice as much for each before, up to 8 tol."""
        return [self.tol * 2.0 ** min(3, max(0, left - 1)) for left in reversed(range(len(self.orders)))]


class KernelSpace:
    """Fields in sample space: f = K(Y∘u) is the scores."""

    by_runs = True  # neighbours share the rows that are lent

    def __init__(self, gram: Gram) -> None:
        self.gram = gram

    def field(self, V: Array) -> Array:
        """Return K V, with compensated float64 sums."""
        return np.asarray(self.gram.accurate_product(V))

    def scores(self, f: Array) -> Array:
        """Return the field itself."""
        return f.astype(self.gram.dtype)

    def advance(
        self,
        problem: Problem,
        state: SweepState,
        bound: Array,
        sweeps: Sweeps,
        workers: int,
    ) -> tuple[Array, Array, Array]:
        """Raise the bound and sweep all columns, each thread its own; return u, f and g."""
        from .compiled import kernel_sweep

        gram, stored, diagonal = self.gram, self.gram.matrix is not None, self.gram.diagonal
        arrays = (problem.Y, problem.mass, state.u, state.field, state.aggregate)
        Y, mass, u, f, g = (np.atleast_2d(np.array(x, order="F").T) for x in arrays)
        b, before = np.atleast_1d(bound), np.atleast_1d(state.bound)
        chunks = list(blocks(problem.shape[0], gram.chunk))

        def part(first: int, last: int, stopped: Callable[[], bool]) -> None:
            own = slice(first, last)
            columns = u[own], f[own], g[own]
            raise_bound(*columns, mass[own], before[own, None], b[own, None])
            for order, tol in zip(sweeps.orders, sweeps.falling, strict=True):
                for a, e in chunks:
                    if stopped():
                        return
                    visit = order[a:e]
                    if not stored:
                        visit = visit[_can_move(visit, diagonal, Y, mass, b, tol, u, f)]
                    with gram.lend(visit) as (rows, where):
                        given = visit, where, rows, diagonal, Y[own], mass[own], b[own]
                        kernel_sweep(*given, tol, sweeps.passes, *columns)

        # Rows that are not stored are computed once for all columns, so there is one part then.
        _in_parts(part, len(b), workers if stored else 1)
        u, f, g = (x.T.reshape(problem.shape, order="F") for x in (u, f, g))
        return u, f, g


class FeatureSpace:
    """Fields in feature space: f = Xᵀ(Y∘u), and the scores are X f; of sparse X, a sample at a time.

    There may be many features, so that fields are kept column by column: cutting them into cache lines is a
    large part of a step otherwise.
    """

    by_runs = False
    chunk = _CHUNK

    def __init__(self, gram: Gram) -> None:
        self.gram = gram

    def field(self, V: Array) -> Array:
        """Return Xᵀ V."""
        return np.asarray(self.gram.features.T @ V.astype(np.float64), order="F")

    def scores(self, f: Array) -> Array:
        """Return X f."""
        from .compiled import WIDTH, feature_scores

        fields = f.reshape(f.shape[0], -1)
        out = np.empty((self.gram.shape[0], fields.shape[1]), dtype=self.gram.dtype)
        lines = list(blocks(fields.shape[1], WIDTH))

        def part(first: int, last: int, stopped: Callable[[], bool]) -> None:
            for a, e in lines[first:last]:
                if not stopped():
                    feature_scores(*self._csr, _padded(fields[:, a:e], WIDTH), out[:, a:e])

        _in_parts(part, len(lines), parallel.available())
        return out.reshape(out.shape[0], *f.shape[1:])

    @property
    def _csr(self) -> tuple[Array, Array, Array]:
        X = self.gram.features
        return X.data, X.indices, X.indptr

    def lines(self, k: int) -> tuple[list[tuple[int, int]], int]:
        """Return how k columns are cut into parts that are swept together, and how wide each of these is."""
        from .compiled import WIDTH

        return list(blocks(k, WIDTH)), WIDTH

    def sweep(self, visit: Array, high: Array, tol: float, moving: Array, columns: tuple[Array, ...]) -> None:
        """Take steps in a chunk of samples: of ``columns``, Y, mass, u, f and g, the last three follow."""
        from .compiled import feature_sweep

        feature_sweep(visit, *self._csr, self.gram.diagonal, high, tol, moving, *columns)

    def advance(
        self,
        problem: Problem,
        state: SweepState,
        bound: Array,
        sweeps: Sweeps,
        workers: int,
    ) -> tuple[Array, Array, Array]:
        """Raise the bound and sweep; the columns go by cache lines, which the threads share out.

        A visit costs as much as a row of X is long, whether the coordinate moves or not. So a coordinate that
        did not move in one sweep is left out of the next ones, until a sweep visits all again; where that
        moves nothing, the sweeps end.
        """
        arrays = (problem.Y, problem.mass, state.u, state.field, state.aggregate)
        sources = [x.reshape(x.shape[0], -1) for x in arrays]
        results = [np.empty_like(sources[2]), *(np.empty_like(x, order="F") for x in sources[3:])]
        b, before = np.atleast_1d(bound), np.atleast_1d(state.bound)
        lines, width = self.lines(len(b))

        def part(first: int, last: int, stopped: Callable[[], bool]) -> None:
            for a, e in lines[first:last]:
                columns = tuple(_padded(x[:, a:e], width) for x in sources)
                _, mass, u, f, g = columns
                low, high = (_padded(x[None, a:e], width) for x in (before, b))
                raise_bound(u, f, g, mass, low, high)
                for number, order in enumerate(sweeps.orders):
                    if number % PERIOD == 0:
                        moving = mass > 0
                    visit = order[moving[order].any(axis=1)]
                    for c, d in blocks(visit.size, self.chunk):
                        if stopped():
                            return
                        self.sweep(visit[c:d], high[0], sweeps.tol, moving, columns)
                    if number % PERIOD == 0 and not moving.any():
                        break
                for result, x in zip(results, (u, f, g), strict=True):
                    result[:, a:e] = x[:, : e - a]

        _in_parts(part, len(lines), workers)
        shapes = problem.shape, state.field.shape, state.field.shape
        u, f, g = (x.reshape(shape) for x, shape in zip(results, shapes, strict=True))
        return u, f, g


class DenseFeatureSpace(FeatureSpace):
    """The same of dense X, by blocks of samples: scores and fields by products, steps on the block's matrix.

    Products are in float64, whatever X is in, and of one thread: fields do not drift, and the bits do not
    depend on the threads.
    """

    chunk = RUN

    def field(self, V: Array) -> Array:
        """Return Xᵀ V."""
        return np.asarray(transposed_product(self.gram.features, V.astype(np.float64)), order="F")

    def scores(self, f: Array) -> Array:
        """Return X f."""
        return product(self.gram.features, f).astype(self.gram.dtype)

    def lines(self, k: int) -> tuple[list[tuple[int, int]], int]:
        """Return two parts of equal width at least: the same, however many threads there are."""
        from .compiled import WIDTH

        width = min(WIDTH, -(-k // 2))
        return list(blocks(k, width)), width

    def sweep(self, visit: Array, high: Array, tol: float, moving: Array, columns: tuple[Array, ...]) -> None:
        """Take steps in a block of samples, each seeing those before by their products with it."""
        from .compiled import block_sweep

        *own, f, g = columns
        X = self.gram.features[visit].astype(np.float64)
        with np.errstate(invalid="ignore"):  # OpenBLAS raises it for lanes it does not use
            scores = np.ascontiguousarray((X @ f).T)
            steps, changes = block_sweep(visit, X @ X.T, scores, self.gram.diagonal, high, tol, moving, *own)
            if steps.any():
                f += X.T @ steps
            if changes.any():
                g += X.T @ changes

    def advance(self, *given: Any) -> tuple[Array, Array, Array]:
        """Raise the bound and sweep, with a BLAS of one thread."""
        with one_blas_thread():
            return super().advance(*given)


def order_by_runs(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return runs of neighbours in a random order, each in a random order: what they share of K is together.

    The samples are a circle, cut at a random place; the last run is what is left over.
    """
    start, runs = rng.integers(n), n // RUN
    whole = rng.permuted(np.arange(runs * RUN).reshape(runs, RUN), axis=1)[rng.permutation(runs)]
    rest = runs * RUN + rng.permutation(n - runs * RUN)
    return np.asarray((np.concatenate([whole.ravel(), rest]) + start) % n)


def at_bound(u: Array, mass: Array, bound: Array) -> np.ndarray:
    """Return which samples are at the bound −b of their box."""
    return np.asarray((u == lowest_dual(mass, bound, u.dtype)) & (mass > 0))


def lowest_dual(mass: Array, bound: Array, dtype: Any) -> np.ndarray:
    """Return −b times the weights, rounded as a dual variable of that type is."""
    return np.asarray(-np.where(mass > 0, np.asarray(bound, dtype), 0) * mass, dtype)


def summed_anew(
    field: Callable[[Array], Array],
    problem: Problem,
    u: Array,
    bound: Array,
    g: Array,
    counted: Array,
    refresh: bool,
) -> tuple[Array, Array]:
    """Sum the aggregate g anew on a refresh and where most of its samples have left; count them.

    What rounding left in g when it was summed over more samples would be multiplied by a bound that grows
    without end. An eighth at a time, all these sums together cost less than the first one.
    """
    resting = at_bound(u, problem.mass, bound)
    count = np.count_nonzero(resting, axis=0)
    stale = np.asarray(refresh | ((8 * count <= counted) & (counted > 0)))
    if stale.any():
        g = np.where(stale, field(np.where(resting & stale, problem.Y * problem.mass, 0)), g)
    return g, np.where(stale, count, np.maximum(count, counted))


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
    require_numpy("CoordinateDescent", gram)
    if gram.space != "features":
        return KernelSpace(gram)
    return FeatureSpace(gram) if sp.issparse(gram.features) else DenseFeatureSpace(gram)


def _can_move(
    visit: Array, diagonal: Array, Y: Array, mass: Array, b: Array, tol: float, u: Array, f: Array
) -> np.ndarray:
    """Return which samples have, in any column, a coordinate that a step would move."""
    y, old, low = Y[:, visit], u[:, visit], -b[:, None] * mass[:, visit]
    gradient = y * f[:, visit] + 1
    zero = diagonal[visit] <= 0
    new = np.clip(old - gradient / np.where(zero, 1, diagonal[visit]), low, 0)
    moves = (new != old) & (mass[:, visit] > 0) & (zero | (np.abs(gradient) > tol))
    return np.asarray(np.any(moves, axis=0))


def _in_parts(part: Callable[[int, int, Callable[[], bool]], None], k: int, workers: int) -> None:
    """Cut k columns into parts and run them side by side; an interrupt stops them all."""
    stop = threading.Event()
    edges = np.linspace(0, k, min(workers, k) + 1).astype(int)
    pairs = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    for_all(lambda pair: part(pair[0], pair[1], stop.is_set), pairs, len(pairs), stop.set)
