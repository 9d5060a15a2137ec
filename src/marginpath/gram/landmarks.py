"""A kernel matrix of low rank, by landmarks: K̃ = C K_LL⁻¹ Cᵀ with C = k(X, L), kept as its features.

With K_LL = R Rᵀ the features are F = C R⁻ᵀ, and K̃ = F Fᵀ is the Nyström approximation: no larger than K, and
equal to it on the landmarks. A product costs two passes over F, as on any features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..arrays import Array, as_floating, blocks, namespace, take_columns, take_rows, to_numpy, with_columns
from ..kernels.functions import Kernel, as_kernel
from ..parallel import for_each, one_blas_thread
from .base import Gram
from .linear import LinearCross, LinearGram
from .products import transposed_product
from .tiled import kernel_diagonal

_CANDIDATES = 10  # rows, for every landmark, among which they are chosen
_MOST_CANDIDATES = 20_000
_DRAWN = 64  # candidates that are drawn at a time
_DEPENDENT = 1e-5  # of k(x, x), the part that the other landmarks must leave of a landmark
_ROWS = 4096  # whose features are computed at a time


class LandmarkGram(LinearGram):
    """The kernel matrix as its landmarks see it; see :meth:`Gram.landmarks`.

    Attributes
    ----------
    chosen : array of int (m,)
        The rows that are landmarks. They may be fewer than asked for: those that the others determine, such
        as equal rows, are left out.
    trace_error : float
        tr(K − K̃) / tr(K) over all rows: 0 where nothing is lost.
    """

    def __init__(
        self, X: Array, kernel: Kernel, chosen: np.ndarray, points: Array, root: np.ndarray, constant: float
    ) -> None:
        self.kernel, self.constant = kernel, constant
        self.chosen, self.points, self.root = chosen, points, root
        features = landmark_features(X, self.points, kernel, root)
        whole = kernel_diagonal(X, kernel)
        kept = np.concatenate([_squares(features[a:b, :]) for a, b in blocks(len(whole), _ROWS)])
        self.trace_error = max(0.0, float(1 - np.sum(kept) / np.sum(whole)))
        super().__init__(with_columns(features, constant**0.5) if constant else features)

    def on_landmarks(self, V: Array) -> np.ndarray:
        """Return B with K̃ V = k(X, L) B, but for the constant: what f = K̃ V is, as a sum over the landmarks.

        Examples
        --------
        >>> import numpy as np, marginpath as mp
        >>> X = np.random.default_rng(0).standard_normal((50, 2))
        >>> gram = mp.Gram.landmarks(X, mp.Gaussian(1.0), 20)
        >>> V = np.ones((50, 1))
        >>> values = mp.Gaussian(1.0)(X, X[gram.chosen]) @ gram.on_landmarks(V)
        >>> bool(np.allclose(values, gram @ V, atol=1e-4))
        True
        """
        X = self.X
        w = transposed_product(X, V.astype(X.dtype)) if isinstance(X, np.ndarray) else X.T @ V
        return np.asarray(self.root @ to_numpy(w)[: self.root.shape[1]].astype(np.float64))

    def cross(self, Z: Array) -> LinearCross:
        """Return K̃ between new rows and the samples as an operator."""
        features = landmark_features(as_floating(Z, "Z"), self.points, self.kernel, self.root)
        return LinearCross(with_columns(features, self.constant**0.5) if self.constant else features, self.X)


def landmark_observer(gram: Gram, columns: np.ndarray | None = None) -> dict[str, Callable[..., Array]]:
    """Return what a path on this matrix keeps of some columns to predict by: what they are on landmarks."""
    if gram.chosen is None:
        return {}
    approximate: Any = gram

    def coefficients(problem: Any, state: Any) -> np.ndarray:
        V = -problem.Y * state.u
        return np.asarray(approximate.on_landmarks(V if columns is None else take_columns(V, columns)))

    return {"landmark_coef": coefficients}


def landmark_gram(
    X: Array,
    kernel: str | Callable[..., Any],
    landmarks: int | np.ndarray,
    *,
    seed: int = 0,
    constant: float = 0.0,
    **params: Any,
) -> LandmarkGram:
    """Return the kernel matrix by landmarks; see :meth:`Gram.landmarks`."""
    X, kernel = as_floating(X, "X"), as_kernel(kernel, **params)
    return LandmarkGram(X, kernel, *chosen_points(X, kernel, landmarks, seed), constant)


def chosen_points(
    X: Any, kernel: Kernel, landmarks: int | np.ndarray, seed: int
) -> tuple[np.ndarray, Array, np.ndarray]:
    """Return which rows are landmarks, these rows, and what makes features of k(X, L)."""
    if isinstance(landmarks, np.ndarray):
        chosen = _row_numbers(landmarks, X.shape[0])
    else:
        chosen = choose_landmarks(X, kernel, landmarks, seed=seed)
    points = take_rows(X, chosen)
    root, kept = _inverse_root(to_numpy(kernel(points, points)).astype(np.float64))
    return chosen[kept], take_rows(points, kept), root


def choose_landmarks(
    X: Array, kernel: Kernel, n_landmarks: int, *, seed: int = 0, kept: np.ndarray | None = None
) -> np.ndarray:
    """Return the rows that are landmarks, in order: by random pivots of a Cholesky factorization.

    A row is drawn with the chance of what those before leave of its k(x, x), among some of all rows (Chen,
    Epperly, Tropp and Webber, *Randomly pivoted Cholesky*, 2022); many at a time, less those that the others
    determine. The rows ``kept`` are landmarks already; they come first, as they are, and the others after.

    Examples
    --------
    >>> X = np.repeat(np.arange(4.0), 5)[:, None]  # four different rows
    >>> from marginpath.kernels.functions import Gaussian
    >>> sorted(X[choose_landmarks(X, Gaussian(1.0), 10), 0].tolist())
    [0.0, 1.0, 2.0, 3.0]
    """
    n = X.shape[0]
    if n_landmarks < 1:
        raise ValueError(f"The number of landmarks must be at least 1, got {n_landmarks}.")
    rng, kept = np.random.default_rng(seed), np.empty(0, dtype=np.int64) if kept is None else kept
    count = min(n, max(2 * n_landmarks, min(_CANDIDATES * n_landmarks, _MOST_CANDIDATES)))
    candidates = np.union1d(kept, rng.choice(n, count, replace=False))
    pivots = _Pivots(take_rows(X, candidates), kernel)
    with one_blas_thread():
        before = np.searchsorted(candidates, kept)
        for a, b in blocks(len(before), _DRAWN):
            pivots.take(before[a:b])
        first = len(pivots.chosen)
        most = n_landmarks - len(kept) + first
        while (more := most - len(pivots.chosen)) > 0 and pivots.possible.any():
            pivots.take(pivots.draw(min(_DRAWN, more), rng))
    return np.concatenate([kept, np.sort(candidates[pivots.chosen[first:]])])


class _Pivots:
    """A Cholesky factorization of the kernel matrix of some rows that grows by the rows that are chosen."""

    def __init__(self, rows: Array, kernel: Kernel) -> None:
        self.rows, self.kernel = rows, kernel
        self.left = kernel_diagonal(rows, kernel).astype(np.float64)
        self.least, self.factor = _DEPENDENT * self.left, np.zeros((len(self.left), 0), dtype=np.float32)
        self.chosen: list[int] = []

    @property
    def possible(self) -> np.ndarray:
        """Which rows the chosen ones do not determine."""
        return np.asarray(self.left > self.least)

    def draw(self, most: int, rng: np.random.Generator) -> np.ndarray:
        """Return some rows, each with the chance of what is left of its k(x, x)."""
        chance = np.where(self.possible, self.left, 0)
        some = min(most, int(np.count_nonzero(chance)))
        return rng.choice(len(chance), some, replace=False, p=chance / chance.sum())

    def take(self, drawn: np.ndarray) -> None:
        """Let these rows be pivots, less those that others determine."""
        columns = to_numpy(self.kernel(self.rows, take_rows(self.rows, drawn)))
        columns = columns - self.factor @ self.factor[drawn].T
        own, kept = _cholesky(columns[drawn].astype(np.float64), self.least[drawn])
        self.left[drawn] = 0
        if not len(kept):  # rounding alone had left something of them
            return
        new = scipy.linalg.solve_triangular(own, columns[:, kept].T, lower=True).T
        self.factor = np.hstack([self.factor, new.astype(np.float32)])
        self.left = np.maximum(self.left - np.sum(new**2, axis=1), 0)
        self.chosen.extend(drawn[kept].tolist())


def _row_numbers(landmarks: np.ndarray, n: int) -> np.ndarray:
    """Return the numbers of rows, each once: where rows determine each other, the first ones stay."""
    whole = landmarks.ndim == 1 and landmarks.dtype.kind in "iu" and len(landmarks) > 0
    if not whole or landmarks.min() < 0 or landmarks.max() >= n:
        raise ValueError(
            f"Landmarks are so many rows of X, or the numbers of some, from 0 to {n - 1}; got {landmarks!r}."
        )
    return np.asarray(landmarks[np.sort(np.unique(landmarks, return_index=True)[1])])


def _cholesky(K: np.ndarray, least: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the Cholesky factor of K without the rows that those before determine, and which are left."""
    kept: list[int] = []
    factor = np.zeros_like(K)
    for i in range(len(K)):
        before = factor[: len(kept), : len(kept)]
        row = scipy.linalg.solve_triangular(before, K[kept, i], lower=True) if kept else np.empty(0)
        rest = K[i, i] - row @ row
        if rest > least[i]:
            factor[len(kept), : len(kept)], factor[len(kept), len(kept)] = row, np.sqrt(rest)
            kept.append(i)
    return factor[: len(kept), : len(kept)], np.array(kept, dtype=int)


def _inverse_root(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return R⁻ᵀ with R Rᵀ = K, without the rows that those before determine, and which are left."""
    least = _DEPENDENT * np.diag(K)
    try:
        factor, kept = np.linalg.cholesky(K), np.arange(len(K))
    except np.linalg.LinAlgError:
        factor, kept = _cholesky(K, least)
    else:
        if np.any(np.diag(factor) ** 2 < least):
            factor, kept = _cholesky(K, least)
    return scipy.linalg.solve_triangular(factor, np.eye(len(factor)), lower=True).T, kept


def landmark_features(X: Array, points: Array, kernel: Kernel, root: np.ndarray) -> Array:
    """Return k(X, L) R⁻ᵀ in float32, some rows at a time."""
    xp = namespace(X)
    if not (isinstance(X, np.ndarray) or sp.issparse(X)):
        right = xp.asarray(root, dtype=xp.float32, device=X.device)
        parts = [
            xp.astype(kernel(X[a:b, :], points), xp.float32) @ right for a, b in blocks(X.shape[0], _ROWS)
        ]
        return xp.concat(parts)
    out = np.empty((X.shape[0], root.shape[1]), dtype=np.float32)
    small = root.astype(np.float32)

    def fill(ends: tuple[int, int]) -> None:
        out[slice(*ends)] = kernel(X[slice(*ends)], points).astype(np.float32, copy=False) @ small

    for_each(fill, list(blocks(X.shape[0], _ROWS)), parallel=X.shape[0] > _ROWS)
    return out


def _squares(features: Array) -> np.ndarray:
    part = to_numpy(features)
    return np.asarray(np.einsum("ij,ij->i", part, part, dtype=np.float64))
