"""Which rows are landmarks: random pivots of a Cholesky factorization, and what makes features of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from ..arrays import Array, blocks, device, namespace, take_columns, take_rows, to_numpy
from ..kernels.functions import Kernel
from ..parallel import one_blas_thread
from .products import product
from .tiled import kernel_diagonal

#: Rows among which landmarks are chosen: so many for each, while that is not over so many.
_CANDIDATES = (10, 5_000), (4, 20_000), (2, np.inf)
_DRAWN = 64  # candidates that are drawn at a time
_DEPENDENT = 1e-5  # of k(x, x), the part that the other landmarks must leave of a landmark


def chosen_points(
    X: Any, kernel: Kernel, landmarks: int | np.ndarray, seed: int
) -> tuple[np.ndarray, Array, Array]:
    """Return which rows are landmarks, these rows, and what makes features of k(X, L)."""
    if isinstance(landmarks, np.ndarray):
        chosen = _row_numbers(landmarks, X.shape[0])
    else:
        chosen = choose_landmarks(X, kernel, landmarks, seed=seed)
    points = take_rows(X, chosen)
    K = kernel(points, points)
    with one_blas_thread():  # several wait for each other longer than one factors
        root, kept = _inverse_root(namespace(K).astype(K, namespace(K).float64))
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
    count = max(min(each * n_landmarks, most) for each, most in _CANDIDATES)
    candidates = np.union1d(kept, rng.choice(n, int(min(n, count)), replace=False))
    pivots = _Pivots(take_rows(X, candidates), kernel, n_landmarks + _DRAWN)
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
    """A Cholesky factorization of the kernel matrix of some rows that grows by the rows that are chosen.

    Its factor is kept where the rows are, with room for so many pivots.
    """

    def __init__(self, rows: Array, kernel: Kernel, room: int) -> None:
        self.rows, self.kernel = rows, kernel
        self.left = kernel_diagonal(rows, kernel).astype(np.float64)
        self.least = _DEPENDENT * self.left
        probe = kernel(take_rows(rows, np.arange(1)), take_rows(rows, np.arange(1)))
        self.xp = namespace(probe)
        self.factor = self.xp.empty((len(self.left), room), dtype=self.xp.float32, device=device(probe))
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
        xp, m = self.xp, len(self.chosen)
        factor = self.factor[:, :m]
        columns = self.kernel(self.rows, take_rows(self.rows, drawn))
        if m:
            columns = columns - _product(factor, take_rows(factor, drawn).T)
        back, kept = self._orthogonalized(xp.astype(take_rows(columns, drawn), xp.float64), self.least[drawn])
        self.left[drawn] = 0
        if not len(kept):  # rounding alone had left something of them
            return
        back = xp.asarray(back, dtype=columns.dtype, device=device(columns))
        new = _product(take_columns(columns, kept), back)
        self.factor[:, m : m + len(kept)] = xp.astype(new, xp.float32)
        self.left = np.maximum(self.left - to_numpy(xp.sum(new**2, axis=1, dtype=xp.float64)), 0)
        self.chosen.extend(drawn[kept].tolist())

    def _orthogonalized(self, K: Array, least: np.ndarray) -> tuple[Array, np.ndarray]:
        """Return R⁻ᵀ with R Rᵀ = K, without the rows that those before determine, and which are left.

        Of most draws no row is: beside NumPy, one factorization there tells.
        """
        if not isinstance(K, np.ndarray):
            factor = _factor(K, self.xp.asarray(least, device=device(K)))
            if factor is not None:
                return self.xp.linalg.inv(factor).T, np.arange(len(least))
        own, kept = _cholesky(to_numpy(K), least)
        if not len(kept):
            return own, kept
        return scipy.linalg.solve_triangular(own, np.eye(len(own)), lower=True).T, kept


def _product(A: Array, B: Array) -> Array:
    """Return A B; of NumPy arrays, in threads of our own."""
    return product(A, B) if isinstance(A, np.ndarray) else A @ B


def _row_numbers(landmarks: np.ndarray, n: int) -> np.ndarray:
    """Return the numbers of rows, each once: where rows determine each other, the first ones stay."""
    whole = landmarks.ndim == 1 and landmarks.dtype.kind in "iu" and len(landmarks) > 0
    if not whole or landmarks.min() < 0 or landmarks.max() >= n:
        raise ValueError(
            f"Landmarks are so many rows of X, or the numbers of some, from 0 to {n - 1}; got {landmarks!r}."
        )
    return np.asarray(landmarks[np.sort(np.unique(landmarks, return_index=True)[1])])


def _cholesky(K: np.ndarray, least: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the Cholesky factor of K without the rows that those before determine, and which are left.

    Block by block: what those before leave of a block tells which of its rows are determined.
    """
    kept: list[int] = []
    factor = np.zeros_like(K)
    for a, b in blocks(len(K), _DRAWN):
        m = len(kept)
        below = _solved(factor[:m, :m], K[kept, a:b]).T
        own, some = _row_by_row(K[a:b, a:b] - below @ below.T, least[a:b])
        kept.extend((a + some).tolist())
        rows = slice(m, len(kept))
        factor[rows, :m], factor[rows, rows] = below[some], own
    return factor[: len(kept), : len(kept)], np.array(kept, dtype=int)


def _row_by_row(K: np.ndarray, least: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the same of a small matrix."""
    kept: list[int] = []
    factor = np.zeros_like(K)
    for i in range(len(K)):
        m = len(kept)
        row = _solved(factor[:m, :m], K[kept, i])
        rest = K[i, i] - row @ row
        if rest > least[i]:
            factor[m, :m], factor[m, m] = row, np.sqrt(rest)
            kept.append(i)
    return factor[: len(kept), : len(kept)], np.array(kept, dtype=int)


def _solved(factor: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return R⁻¹ of a right side, which may be empty."""
    return scipy.linalg.solve_triangular(factor, right, lower=True) if len(factor) else right


def _inverse_root(K: Array) -> tuple[Array, np.ndarray]:
    """Return R⁻ᵀ with R Rᵀ = K, without the rows that those before determine, and which are left."""
    xp, kept = namespace(K), np.arange(K.shape[0])
    factor = _factor(K, _DEPENDENT * xp.linalg.diagonal(K))
    if isinstance(K, np.ndarray):
        if factor is None:
            factor, kept = _cholesky(K, _DEPENDENT * np.diag(K))
        return scipy.linalg.lapack.dtrtri(factor, lower=1)[0].T, kept
    if factor is None:
        root, kept = _inverse_root(to_numpy(K))
        return xp.asarray(root, device=device(K)), kept
    return xp.linalg.inv(factor).T, kept


def _factor(K: Array, least: Array) -> Array | None:
    """Return the Cholesky factor of K; None where those before a row leave less than that of it."""
    xp = namespace(K)
    try:
        factor = xp.linalg.cholesky(K)
    except (np.linalg.LinAlgError, RuntimeError):  # torch has an error of its own
        return None
    independent = xp.linalg.diagonal(factor) ** 2 >= least
    return factor if bool(xp.all(independent)) else None
