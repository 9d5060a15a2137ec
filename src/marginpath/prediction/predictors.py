"""What a fitted classifier needs to decide, packed once for the compiled loops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import parallel
from ..arrays import blocks
from ..kernels.distances import product_unit, tolerated
from ..kernels.functions import Gaussian, Kernel
from .bounded import BoundedSums

_LANES, _TERMS = 64, 4  # vectors of a block, and what its features are a multiple of: as in the loops
_MANY = 64  # rows that are worth a matrix product
_WORK = 2**22  # products that a thread takes at a time
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_EPS = float(np.finfo(np.float64).eps)


class Predictor(ABC):
    """Sums Σ_j coef[k, j] k(x_i, z_j) over packed vectors z_j, for rows x_i in NumPy or CSR.

    The bits of a value do not depend on the rows beside it, nor on the number of threads.
    """

    def __init__(self, vectors: Any) -> None:
        self.shape, self.dtype = vectors.shape, vectors.dtype

    def takes(self, X: Any) -> bool:
        """Whether the rows are of a kind for which the loops are compiled."""
        if type(X) is not np.ndarray and not sp.issparse(X):
            return False
        return bool(X.dtype == self.dtype or X.dtype == np.float32)  # other rows would lose digits

    def __call__(self, X: Any, coef: np.ndarray) -> np.ndarray:
        """Return the sums (n, columns) in the dtype of the vectors, in blocks of rows that threads share."""
        out = np.empty((X.shape[0], len(coef)))
        coef = np.ascontiguousarray(coef, dtype=np.float64)
        rows = self._prepared(X)
        height = max(4, _WORK // self._products(rows) // 4 * 4)
        if len(out) <= height:
            self._sum(rows, coef, out)
        else:
            parts = [slice(*ends) for ends in blocks(len(out), height)]
            parallel.for_all(lambda part: self._sum(rows[part], coef, out[part]), parts, parallel.available())
        return out.astype(self.dtype, copy=False)

    def bounded(self, X: Any, coef: np.ndarray) -> BoundedSums | None:
        """Return what makes sums of these rows faster, with bounds on what that changes, if there is such."""
        return None

    @abstractmethod
    def _prepared(self, X: Any) -> Any:
        """Return the rows as the loops take them."""

    @abstractmethod
    def _products(self, rows: Any) -> int:
        """Return how many products a row takes, about."""

    @abstractmethod
    def _sum(self, rows: Any, coef: np.ndarray, out: np.ndarray) -> None:
        """Write the sums of some rows."""


def predictor_of(vectors: Any, kernel: Kernel | None) -> Predictor | None:
    """Return the predictor of some vectors, or None where there is none for them or for the kernel.

    Examples
    --------
    >>> predict = predictor_of(np.array([[0.0], [1.0]]), Gaussian(1.0))
    >>> predict(np.array([[0.0]]), np.array([[1.0, -1.0]])).round(4)
    array([[0.3935]])
    """
    if not (isinstance(vectors, np.ndarray) or sp.issparse(vectors)) or vectors.dtype not in _FLOATS:
        return None
    bounds = np.finfo(vectors.dtype)
    if not isinstance(kernel, Gaussian) or not bounds.smallest_normal <= kernel.sigma <= bounds.max:
        return None
    if not vectors.shape[0]:
        return None
    kind = SparseGaussians if sp.issparse(vectors) else Gaussians
    return kind(vectors, float(kernel.sigma))


def weights_of(coef: Any) -> Predictor | None:
    """Return the predictor of a linear classifier with these weights, or None where they are elsewhere.

    Examples
    --------
    >>> weights = np.array([[1.0, 2.0]])
    >>> weights_of(weights)(np.array([[3.0, 4.0]]), weights)
    array([[11.]])
    """
    return Weights(coef) if isinstance(coef, np.ndarray) and coef.dtype in _FLOATS else None


class Weights(Predictor):
    """Products ⟨w_k, x_i⟩ with the weights of a linear classifier: ``coef`` has one for each feature."""

    def _prepared(self, X: Any) -> Any:
        return _checked(X) if sp.issparse(X) else np.ascontiguousarray(X)

    def _products(self, rows: Any) -> int:
        return int(
            self.shape[0] * (rows.nnz // max(1, rows.shape[0]) if sp.issparse(rows) else self.shape[1])
        )

    def _sum(self, rows: Any, coef: np.ndarray, out: np.ndarray) -> None:
        from .linear_compiled import linear_sums, sparse_linear_sums

        if sp.issparse(rows):
            sparse_linear_sums(rows.data, rows.indices, rows.indptr, coef, out)
        else:
            linear_sums(_writeable(rows), coef, out)


class Gaussians(Predictor):
    """Sums of Gaussians around dense vectors."""

    def __init__(self, vectors: np.ndarray, sigma: float) -> None:
        super().__init__(vectors)
        m, d = vectors.shape
        eps = float(np.finfo(self.dtype).eps)
        with np.errstate(all="ignore"):  # what is not finite is computed again
            centre = (vectors.sum(axis=0, dtype=np.float64) / m).astype(self.dtype)
            scaled = (vectors - centre) / self.dtype.type(sigma)
            halves = np.einsum("ij,ij->i", scaled, scaled, dtype=np.float64) / 2
        padded = np.zeros((-(-m // _LANES) * _LANES, -(-d // _TERMS) * _TERMS), dtype=self.dtype)
        padded[:m, :d] = scaled
        self.blocks = np.ascontiguousarray(padded.reshape(-1, _LANES, padded.shape[1]).transpose(0, 2, 1))
        self.halves = np.pad(halves, (0, len(padded) - m)).reshape(-1, _LANES)
        self.vectors = np.ascontiguousarray(vectors)
        self.settings = (centre, sigma, (product_unit(d, eps), tolerated(d, eps)), self.halves.max(axis=1))
        self._bounded: tuple[Any, BoundedSums] | None = None

    def bounded(self, X: Any, coef: np.ndarray) -> BoundedSums | None:
        """Return the sums in float32, for rows that are dense and many."""
        if sp.issparse(X) or len(X) < _MANY:
            return None
        if self._bounded is None or not np.array_equal(self._bounded[0], coef):
            self._bounded = coef.copy(), BoundedSums(self.vectors, self.settings[1], coef)
        return self._bounded[1]

    def _prepared(self, X: Any) -> np.ndarray:
        dense = X.toarray() if sp.issparse(X) else X
        return np.ascontiguousarray(dense, dtype=self.dtype)

    def _products(self, rows: np.ndarray) -> int:
        return int(self.blocks.size + 16 * self.halves.size)

    def _sum(self, rows: np.ndarray, coef: np.ndarray, out: np.ndarray) -> None:
        from .gaussian_compiled import gaussian_sums

        gaussian_sums(_writeable(rows), self.blocks, self.vectors, self.halves, coef, self.settings, out)


class SparseGaussians(Predictor):
    """Sums of Gaussians around the rows of a CSR matrix."""

    def __init__(self, vectors: Any, sigma: float) -> None:
        super().__init__(vectors)
        rows = _checked(vectors)
        self.vectors = rows.data, rows.indices, rows.indptr
        columns = rows.tocsc()
        self.columns = (columns.data.astype(np.float64) / sigma, columns.indices, columns.indptr)
        scaled = rows.astype(np.float64) / sigma
        self.halves = np.asarray(scaled.multiply(scaled).sum(axis=1), dtype=np.float64).ravel() / 2
        d, eps = vectors.shape[1], float(np.finfo(self.dtype).eps)
        self.settings = (sigma, product_unit(d, _EPS), tolerated(d, eps))

    def _prepared(self, X: Any) -> Any:
        return _checked(X)

    def _products(self, rows: Any) -> int:
        met = self.columns[0].size * rows.nnz // max(1, rows.shape[0] * rows.shape[1])
        return int(met + 16 * self.shape[0])

    def _sum(self, rows: Any, coef: np.ndarray, out: np.ndarray) -> None:
        from .sparse_compiled import sparse_gaussian_sums

        parts = rows.data, rows.indices, rows.indptr
        sparse_gaussian_sums(parts, self.columns, self.vectors, self.halves, coef, self.settings, out)


def _writeable(rows: np.ndarray) -> np.ndarray:
    """Return the rows, or a copy of those that are read-only: they would have loops of their own compiled."""
    return np.require(rows, requirements="W")


def _checked(X: Any) -> sp.csr_array:
    """Return rows as CSR, every index once in a row, in order, and within the features."""
    rows = sp.csr_array(X)
    rows.check_format(full_check=True)  # compiled loops read wherever the indices point
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows
