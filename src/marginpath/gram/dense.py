"""A stored kernel matrix."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array, as_floating, blocks, is_numpy, namespace, take_rows, to_numpy
from ..kernels.functions import Kernel, Laplacian, ProductKernel
from ..parallel import for_each
from .base import SLACK, Gram, matching
from .compensated import compensated_product, relative_error
from .filling import check_positive_semidefinite, fill_from_callable, fill_symmetric, require_memory
from .fingerprints import fingerprint, row_codes
from .precision import PRECISIONS, Precision, as_precision
from .products import product

_ROWS = 64  # gathered at a time


class DenseGram(Gram):
    """A stored kernel matrix."""

    def __init__(
        self,
        K: Array,
        cross: Callable[[Array], Array] | None = None,
        precision: Precision = PRECISIONS[None],
        excess: float = 0.0,
        source: tuple[Array, Kernel] | None = None,
    ) -> None:
        self.K, self.precision, self._excess, self._source = K, precision, excess, source
        self.rounding, self.product_rounding = precision.rounding, precision.product_rounding
        self._noise = precision.noise
        self._cross = cross or (lambda Z: matching(Z, K.shape[0], "kernel values, one for each sample,"))

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal of K."""
        xp = namespace(self.K)
        return xp.asarray(self.precision.widen(xp.linalg.diagonal(self.K)), copy=True)

    @property
    def resolution(self) -> float:
        """That of any entries, and of kernel values that were computed from so many features."""
        d = 0 if self._source is None else int(self._source[0].shape[1])
        width: float = 2 * float(np.sqrt(d)) * float(self.xp.finfo(self.dtype).eps)
        return super().resolution + width

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """That of the samples and the kernel where K was computed, else that of K."""
        X, kernel = self._source or (self.K, None)
        rounded = self.precision.name if self.product_rounding else None
        return fingerprint(row_codes(X), X.shape[1], kernel, self.rows, rounded)

    def __matmul__(self, V: Array) -> Array:
        """Return K V."""
        return product(self.K, V) if is_numpy(self.K) else self.precision.product(self.K, V)

    def _careful_product(self, v: Array) -> Array:
        return self.precision.careful(self.K, v)

    def rows(self, index: Array) -> Array:
        """Return the rows K[index, :]."""
        return self.precision.widen(take_rows(self.K, index))

    @property
    def matrix(self) -> Array:
        """K itself."""
        return self.K

    def lend(self, index: np.ndarray) -> AbstractContextManager[tuple[np.ndarray, np.ndarray]]:
        """Lend K, without a copy."""
        return nullcontext((self.K, index))

    def block(self, index: Array) -> Array:
        """Return the block K[index, index]."""
        return principal(self.K, np.asarray(index)) if is_numpy(self.K) else super().block(index)

    def accurate_product(self, V: Array) -> Array:
        """Return K V, by the rows of K where V is not zero."""
        return compensated_product(self.K.T if _is_transposed(self.K) else self.K, V)

    def product_with_error(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return K V from compensated sums, |K_ij| ≤ √K_ii √K_jj + excess telling the error.

        Where the entries are rounded beyond their dtype, that counts too.
        """
        relative = relative_error(len(V))
        scores = to_numpy(self.accurate_product(self.xp.asarray(V, device=self.device)))
        error = np.outer(self.roots, (relative + self.rounding) * self.length(V))
        return scores, error + SLACK * relative * self._excess * np.abs(V).sum(axis=0)

    def cross(self, Z: Array) -> Array:
        """Return the block k(z_i, x_j); for a Gram matrix given as such, Z is that block."""
        return self._cross(as_floating(Z, "Z"))


def dense_of_kernel(X: Array, kernel: Kernel, precision: str | None = None) -> DenseGram:
    """Compute the matrix and store it; see :meth:`Gram.from_kernel`.

    Examples
    --------
    >>> dense_of_kernel(np.array([[1.0], [2.0]]), lambda X, Z: X @ Z.T).K
    array([[1., 2.],
           [2., 4.]])
    """
    numbers = as_precision(precision, X)
    X = numbers.samples(X)
    require_memory(X.shape[0], numbers.storage(X), X)
    excess = 0.0
    if isinstance(kernel, (ProductKernel, Laplacian)):
        K = fill_symmetric(kernel, X, numbers.storage(X))
    else:
        K = fill_from_callable(kernel, X)
        excess = check_positive_semidefinite(K)
        K = namespace(X).astype(K, numbers.storage(X), copy=False)
    return DenseGram(
        K, lambda Z: kernel(matching(Z, X.shape[1], "features"), X), numbers, excess, source=(X, kernel)
    )


def dense_of_matrix(K: Array) -> DenseGram:
    """Take a matrix as it is, if it is a kernel's; see :meth:`Gram.from_matrix`."""
    return DenseGram(K, excess=check_positive_semidefinite(K))


def _is_transposed(K: Array) -> bool:
    """Whether the columns of a NumPy array are in one piece, and not its rows."""
    return isinstance(K, np.ndarray) and K.flags.f_contiguous and not K.flags.c_contiguous


def principal(K: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return a copy of the rows and columns ``index`` of K, made by all cores.

    Examples
    --------
    >>> principal(np.arange(9).reshape(3, 3), np.array([0, 2]))
    array([[0, 2],
           [6, 8]])
    """
    found = np.empty((len(index), len(index)), dtype=K.dtype)

    def gather(rows: tuple[int, int]) -> None:
        a, b = rows
        found[a:b] = K[np.ix_(index[a:b], index)]

    for_each(gather, blocks(len(index), _ROWS), parallel=len(index) > _ROWS)
    return found
