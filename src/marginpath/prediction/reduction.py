"""Fewer vectors for nearly the same function: a greedy choice, and a proof of how near it is.

For w = Σ_j c_j φ(z_j) and the projection w̃ of it onto the span of a few φ(z_j), the decision values differ by
at most |⟨w − w̃, φ(x)⟩| ≤ ‖w − w̃‖ √k(x, x). The next vector is the one that takes most from ‖w − w̃‖², all
columns together: orthogonal matching pursuit, by a Cholesky factor that is pivoted so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from ..gram.base import Gram
from ..kernels.functions import Kernel

_EPS = float(np.finfo(np.float64).eps)
_RANK = 1e-10  # of k(z, z): a vector whose distance from the others is less adds nothing but rounding


class Reduced(NamedTuple):
    """What so many vectors give.

    Attributes
    ----------
    chosen : array of int (k,)
        The vectors, by their index among the candidates, in the order in which they were chosen.
    coef : array (columns, k)
        The coefficients of the projection onto them.
    residual : array (n, columns)
        What is left on the rows: f(x_i) − f̃(x_i).
    """

    chosen: np.ndarray
    coef: np.ndarray
    residual: np.ndarray


@dataclass
class Pursuit:
    """The greedy choice of vectors, one after the other.

    Parameters
    ----------
    column : callable
        From the index of a candidate to its kernel values with all rows, of which it is one.
    candidates : array of int
        The rows that may be chosen.
    values : array (n, columns)
        Σ_j c_j k(x_i, z_j) for every row x_i.
    diagonal : array (n,)
        k(x_i, x_i).

    Examples
    --------
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> K = np.exp(-((X - X.T) ** 2))
    >>> pursuit = Pursuit(lambda j: K[:, j], np.arange(50), K @ np.ones((50, 1)), np.ones(50))
    >>> [bool(np.abs(step.residual).max() < 1e-3) for step in pursuit.steps(range(1, 7))]
    [False, False, False, False, True, True]
    """

    column: Callable[[int], np.ndarray]
    candidates: np.ndarray
    values: np.ndarray
    diagonal: np.ndarray

    def steps(self, sizes: Iterable[int]) -> Iterator[Reduced]:
        """Yield what so many vectors give, the fewest first; all that add anything, where these are fewer."""
        wanted = {int(size) for size in sizes}
        most = max(wanted)
        g, left = self.values.astype(np.float64), self.diagonal.astype(np.float64)
        factor = np.empty((len(left), most), order="F")
        shares, chosen = np.empty((most, g.shape[1])), np.empty(most, dtype=np.intp)
        floor = _RANK * self.diagonal[self.candidates]

        def reduced(k: int) -> Reduced:
            coef = _coefficients(factor[chosen[:k], :k], shares[:k])
            return Reduced(np.searchsorted(self.candidates, chosen[:k]), coef, g.copy())

        for t in range(most):
            room = left[self.candidates]
            gains = np.where(
                room > floor, (g[self.candidates] ** 2).sum(axis=1) / np.maximum(room, floor), -1
            )
            j = self.candidates[np.argmax(gains)]
            if t and gains.max() <= 0:  # one vector there is, even of w = 0
                if t not in wanted:
                    yield reduced(t)
                return
            root = np.sqrt(left[j])
            factor[:, t] = (self.column(int(j)) - factor[:, :t] @ factor[j, :t]) / root
            shares[t], chosen[t] = g[j] / root, j
            g -= np.outer(factor[:, t], shares[t])
            left -= factor[:, t] ** 2
            if t + 1 in wanted:
                yield reduced(t + 1)


def _coefficients(triangle: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the coefficients of the vectors, from those of the orthonormal ones that they span."""
    return np.asarray(solve_triangular(triangle, shares, trans="T", lower=True).T)


class Difference(NamedTuple):
    """What is certain of v = Σ_j V_jk φ(z_j), for every column k, rounding included.

    Attributes
    ----------
    distance : array (columns,)
        Upper bounds on ‖v‖.
    values : array (vectors, columns)
        Upper bounds on |⟨v, φ(z_j)⟩|.
    """

    distance: np.ndarray
    values: np.ndarray


def difference_bounds(gram: Gram, V: np.ndarray) -> Difference:
    """Return what is certain of Σ_j V_jk φ(z_j), where the Gram matrix is that of the z_j.

    Examples
    --------
    >>> import marginpath as mp
    >>> gram = mp.Gram.from_kernel(np.array([[0.0], [1.0]]), mp.Gaussian(1.0))
    >>> difference_bounds(gram, np.array([[1.0, 3.0], [-1.0, 4.0]])).distance.round(6)
    array([0.887096, 6.289415])
    """
    exponent = np.frexp(np.maximum((gram.roots[:, None] * np.abs(V)).max(axis=0), np.abs(V).max(axis=0)))[1]
    enclosure = gram.enclose(np.ldexp(V, -exponent))  # √K_ii |V_i| ≤ 1
    values = (1 + 8 * _EPS) * (np.abs(enclosure.product) + enclosure.error)
    return Difference(
        np.ldexp((1 + 8 * _EPS) * enclosure.high, exponent), np.asarray(np.ldexp(values, exponent))
    )


class Span:
    """The span of some φ(z_j): how far from it a φ(x) is, rounding included.

    What is orthogonal to it sees no more of φ(x) than that distance.

    Parameters
    ----------
    vectors : array (k, d)
    kernel : Kernel
    rounding : float
        How far kernel values and sums of them may be off, over √k(x, x) √k(z, z).

    Examples
    --------
    >>> from marginpath import Gaussian
    >>> span = Span(np.array([[0.0], [1.0]]), Gaussian(1.0), 1e-13)
    >>> distance, size = span.distances(np.array([[0.5], [9.0]]), np.ones(2))
    >>> distance.round(3), size.round(3)
    (array([0.175, 1.   ]), array([1.099, 0.   ]))
    """

    def __init__(self, vectors: Any, kernel: Kernel, rounding: float) -> None:
        self.vectors, self.kernel, self.rounding = vectors, kernel, rounding
        self.square = np.asarray(kernel(vectors, vectors), dtype=np.float64)
        self.roots = np.sqrt(np.diagonal(self.square))
        jitter = _RANK * float(np.mean(self.roots**2)) * np.eye(len(self.square))
        self._factor = cho_factor(self.square + jitter, lower=True)

    def distances(self, X: Any, diagonal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return min ‖φ(x) − Σ_j a_j φ(z_j)‖, or a little more, and Σ_j |a_j|; k(x, x) is the diagonal."""
        block = np.asarray(self.kernel(X, self.vectors), dtype=np.float64)
        a = cho_solve(self._factor, block.T).T  # the bound holds for any a, so that its rounding is no matter
        squared = diagonal - 2 * (a * block).sum(axis=1) + ((a @ self.square) * a).sum(axis=1)
        size = np.sqrt(diagonal) + np.abs(a) @ self.roots
        return np.sqrt(np.maximum(squared, 0) + 4 * self.rounding * size**2), np.abs(a).sum(axis=1)
