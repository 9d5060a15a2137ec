"""The width of a Gaussian kernel, chosen by the same cross-validation from one matrix of distances."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, as_floating, blocks, device, is_numpy, namespace, take_rows
from ..gram.base import Gram
from ..gram.dense import DenseGram
from ..gram.filling import fill_symmetric, require_memory
from ..gram.samples import samples_of
from ..kernels.functions import Gaussian, ProductKernel, biased, distance_factors
from ..parallel import for_each
from ..solvers import Solver
from .cross_validation import CrossValidatedPath, cross_validate_path


@dataclass(frozen=True)
class WidthSearch:
    """The cross-validated path of every width, and the best of them."""

    sigmas: np.ndarray
    paths: list[CrossValidatedPath]

    @property
    def index(self) -> int:
        """Which width is the best; the wider one of equals."""
        scores = np.array([path.best_score for path in self.paths])
        equals = np.flatnonzero(scores == scores.max())
        return int(equals[np.argmax(self.sigmas[equals])])

    @property
    def best(self) -> CrossValidatedPath:
        """The path of the best width."""
        return self.paths[self.index]

    @property
    def kernel(self) -> Gaussian:
        """The kernel of the best width."""
        return Gaussian(float(self.sigmas[self.index]))


class SquaredDistances:
    """The squared distances of all pairs, computed once, and the Gaussian Gram matrix of any width.

    Distances of samples that are whole numbers times a unit, such as pixels, are those of the whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> distances = SquaredDistances(np.array([[0.0], [2.0]]))
    >>> distances.gram(sigma=1.0).K.round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    """

    def __init__(self, X: Array) -> None:
        self.X = as_floating(X, "X")
        require_memory(self.X.shape[0], self.X.dtype, self.X, matrices=2)  # the kernel matrix is the other
        self.unit = _extent(self.X)  # else the squares of very small or large numbers are 0 or infinite
        self.negative = fill_symmetric(_NegativeHalfSquares(self.unit), self.X)

    def among(self, rows: np.ndarray, dtype: Any = None) -> SquaredDistances:
        """Return those of some of the samples, in NumPy; float32 is enough to tell widths apart."""
        part, n = copy.copy(self), len(rows)
        part.X, part.negative = take_rows(self.X, rows), np.empty((n, n), dtype or self.negative.dtype)
        for own, row in zip(part.negative, rows.tolist(), strict=True):
            own[:] = self.negative[row].take(rows)
        return part

    def gram(self, sigma: float, out: Array | None = None, constant: float = 0.0) -> DenseGram:
        """Return the Gram matrix exp(−d²/(2σ²)) + constant, written into ``out`` where one is given."""
        kernel = biased(Gaussian(sigma), constant)

        def cross(Z: Array) -> Array:
            return kernel(Z, self.X)

        D, xp = self.negative, namespace(self.negative)
        ratio = self.unit / float(sigma)
        scale = min(ratio * ratio, float(xp.finfo(D.dtype).max))
        if not is_numpy(D):
            with np.errstate(over="ignore"):  # exp(−∞) is the 0 that is meant
                K = xp.exp(D * scale) + constant
            return DenseGram(K, cross, source=(self.X, kernel))
        K = np.empty_like(D) if out is None else out

        def write(rows: tuple[int, int]) -> None:
            part = slice(*rows)
            with np.errstate(over="ignore"):
                np.multiply(D[part], D.dtype.type(scale), out=K[part])
            np.exp(K[part], out=K[part])
            if constant:
                K[part] += D.dtype.type(constant)

        for_each(write, blocks(len(D), 64), parallel=True)
        return DenseGram(K, cross, source=(self.X, kernel))

    def on_widths(self, constant: float) -> Callable[[float, Callable[[Gram], Any]], Any]:
        """Return what works on the Gram matrix of a width, in memory that is used again, of each thread."""
        rooms: list[np.ndarray] = []

        def on_width(sigma: float, work: Callable[[Gram], Any]) -> Any:
            room = rooms.pop() if rooms else np.empty_like(self.negative)
            result = work(self.gram(sigma, room, constant))
            rooms.append(room)
            return result

        return on_width


def cross_validate_widths(
    solver: Solver[Any] | None,
    X: Array,
    y: Array,
    sigmas: Sequence[float] | None = None,
    **settings: Any,
) -> WidthSearch:
    """Run a cross-validated path for every width of a Gaussian kernel.

    Parameters
    ----------
    solver : Solver or None
        As in :func:`cross_validate_path`.
    X : array (n, d)
    y : array (n,)
        Class labels.
    sigmas : sequence of floats, optional
        The widths; None takes :func:`default_widths`.
    **settings
        Those of :func:`cross_validate_path`: cv, scoring, selection, …

    Examples
    --------
    >>> import marginpath as mp
    >>> data = mp.datasets.gaussian_mixture()
    >>> search = mp.cross_validate_widths(None, data.X, data.y, [0.1, 1.0])
    >>> search.kernel
    Gaussian(sigma=1.0)
    """
    distances = SquaredDistances(X)
    widths = default_widths(distances.X) if sigmas is None else np.asarray(sigmas, dtype=float)
    if widths.ndim != 1 or widths.size == 0:
        raise ValueError(f"sigmas must be a sequence of at least one width, got {sigmas!r}.")
    room = np.empty_like(distances.negative) if is_numpy(distances.negative) else None
    paths = [cross_validate_path(solver, distances.gram(s, room), y, **settings) for s in widths]
    return WidthSearch(widths, paths)


def default_widths(X: Any, number: int = 11, narrowest: float = 0.27, widest: float = 12.7) -> np.ndarray:
    """Return widths around the one of scikit-learn's gamma="scale", from a quarter to a dozen times it.

    The widest are nearly linear: noisy tables like them.

    Examples
    --------
    >>> (2**0.5 * default_widths(np.array([[-1.0], [1.0]]))).round(2)  # of which 1 is the usual one
    array([ 0.27,  0.4 ,  0.58,  0.86,  1.26,  1.85,  2.72,  4.  ,  5.88,
            8.64, 12.7 ])
    """
    if not (spread := samples_of(X).variance()) > 0:
        raise ValueError("X is constant: there is no width to choose. Check the features.")
    return np.asarray((X.shape[1] * spread / 2) ** 0.5 * np.geomspace(narrowest, widest, number))


def _extent(X: Array) -> float:
    """Return half of the largest range of a feature, or 1 where all samples are the same."""
    if sp.issparse(X):
        return float(abs(X).max()) or 1.0
    xp = namespace(X)
    return float(xp.max(xp.max(X, axis=0) / 2 - xp.min(X, axis=0) / 2)) or 1.0


@dataclass(frozen=True)
class _NegativeHalfSquares(ProductKernel):
    """−‖x − z‖²/2 in a unit of length, as one product."""

    unit: float

    def factors(self, X: Array, Z: Array) -> tuple[Any, Any]:
        """Return two sides of that product."""
        return distance_factors(X, Z, self.unit, every_width=True)

    def apply(self, block: Array) -> Array:
        """Cut what rounding made positive: no squared distance is negative."""
        if is_numpy(block):
            return np.minimum(block, 0, out=block)
        xp = namespace(block)
        return xp.minimum(block, xp.zeros_like(block))

    def diagonal(self, X: Array) -> Array:
        """Return zeros."""
        return namespace(X).zeros(X.shape[0], dtype=X.dtype, device=device(X))
