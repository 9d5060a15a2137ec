"""Gram matrices: all that a solver sees of the data.

A solver multiplies, reads rows and the diagonal, and bounds the norm. How the matrix is stored, and
where, stays in this module.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from .arrays import Array, as_floating, blocks, device, is_numpy, namespace, take_rows, to_numpy
from .fingerprints import fingerprint, probe, row_codes
from .kernels import Kernel, Laplacian, Linear, ProductKernel, as_kernel, squared_norms
from .matrices import (
    check_positive_semidefinite,
    fill_from_callable,
    fill_symmetric,
    require_memory,
)
from .precision import PRECISIONS, Precision, as_precision
from .principal import principal
from .spectrum import Spectrum, lanczos

_EPS = float(np.finfo(np.float64).eps)
_RTOL = 0.04  # between the two bounds on the norm
_SHORT = 32  # terms of a float64 sum that is not compensated


class Gram(ABC):
    """The kernel matrix K of n samples, as an operator.

    Make one with :meth:`from_kernel`, :meth:`from_matrix`, :meth:`linear` or :meth:`from_dask`.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> gram = mp.Gram.from_kernel(np.array([[0.0], [1.0]]), mp.Gaussian(sigma=1.0))
    >>> gram @ np.array([1.0, 0.0])
    array([1.        , 0.60653066])
    >>> lower, upper = gram.norm_bounds()
    >>> bool(lower <= 1 + np.exp(-0.5) <= upper)
    True
    """

    #: Largest relative rounding of the entries beyond their dtype: that of bfloat16, where stored so.
    rounding: float = 0.0
    #: The same for the entries as a product with ``@`` takes them.
    product_rounding: float = 0.0

    @staticmethod
    def from_kernel(
        X: Array, kernel: str | Callable[..., Any], *, precision: str | None = None, **params: Any
    ) -> DenseGram:
        """Compute and store K_ij = k(x_i, x_j).

        Parameters
        ----------
        X : array (n, d)
            Dense, or CSR for the kernels that take it. float32 stays float32.
        kernel : Kernel, str or callable
            A kernel of this package, its name with ``params``, or a callable (X, Z) → block. What a
            callable returns is checked to be symmetric and positive semi-definite.
        precision : {None, "float32", "tf32", "bfloat16"}
            For torch tensors on a GPU; None keeps the dtype of X. The kernel is computed in float32. "tf32"
            multiplies by it with operands of 11 significant bits and float32 sums; "bfloat16" stores it in
            half the memory, rounded to 8 significant bits.
        """
        X, kernel = as_floating(X, "X"), as_kernel(kernel, **params)
        numbers = as_precision(precision, X)
        X = numbers.samples(X)
        require_memory(X.shape[0], numbers.storage(X), X)
        if isinstance(kernel, (ProductKernel, Laplacian)):
            K = fill_symmetric(kernel, X, numbers.storage(X))
        else:
            K = namespace(X).astype(fill_from_callable(kernel, X), numbers.storage(X), copy=False)
        return DenseGram(
            K, lambda Z: kernel(_matching(Z, X.shape[1], "features"), X), numbers, source=(X, kernel)
        )

    @staticmethod
    def from_matrix(K: Array) -> DenseGram:
        """Take a kernel matrix as it is, without a copy where it is float32 or float64.

        It must be symmetric and without clearly negative eigenvalues.
        """
        K = as_floating(K, "K")
        check_positive_semidefinite(K)
        return DenseGram(K)

    @staticmethod
    def linear(X: Array) -> LinearGram:
        """Represent X Xᵀ by X (dense or CSR); the n × n matrix is never formed."""
        return LinearGram(as_floating(X, "X"))

    @staticmethod
    def from_dask(
        X: Any,
        kernel: str | Callable[..., Any] | None = None,
        *,
        client: Any = None,
        dtype: Any = None,
        stored: bool | None = None,
        **params: Any,
    ) -> Gram:
        """Leave the data on a Dask cluster; products are computed there.

        Parameters
        ----------
        X : dask array (n, d) or dask dataframe
            Its chunks of rows, dense or CSR, stay on the workers that compute them.
        kernel : Kernel, str or callable, optional
            None represents X Xᵀ by X, as :meth:`linear` does.
        client : distributed.Client, optional
            The current one by default.
        dtype : "float32" or "float64", optional
            That of X by default.
        stored : bool, optional
            Whether the workers hold the kernel matrix or compute it anew in every product; by default
            they hold it if it fits into their memory.
        """
        made: Gram = import_module("marginpath.cluster").from_dask(
            X, kernel, client=client, dtype=dtype, stored=stored, **params
        )
        return made

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        n = int(self.diagonal.shape[0])
        return n, n

    @property
    def dtype(self) -> Any:
        """Floating-point type of the entries."""
        return self.diagonal.dtype

    @property
    def xp(self) -> Any:
        """Array-API namespace of the entries."""
        return namespace(self.diagonal)

    @property
    def device(self) -> Any:
        """Where the entries are."""
        return device(self.diagonal)

    @property
    @abstractmethod
    def diagonal(self) -> Array:
        """The values k(x_i, x_i)."""

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """What tells this matrix from another one; see :mod:`marginpath.fingerprints`.

        It sees every bit of the samples and the settings of the kernel, or of the matrix where that is what
        was given. How they are stored makes no difference. Here: a few rows, of a matrix that says no more.
        """
        return {"data": None, "kernel": type(self).__qualname__, "probe": probe(self.rows, self.shape[0])}

    @abstractmethod
    def __matmul__(self, V: Array) -> Array:
        """Return K V for V of shape (n,) or (n, k)."""

    @abstractmethod
    def rows(self, index: Array) -> Array:
        """Return the rows K[index, :]."""

    def block(self, index: Array) -> Array:
        """Return the block K[index, index]."""
        xp, columns = self.xp, self.xp.asarray(index, device=self.device)
        parts = [xp.take(self.rows(index[a:b]), columns, axis=1) for a, b in blocks(len(index), 256)]
        return xp.concat(parts)

    @abstractmethod
    def accurate_product(self, V: Array) -> Array:
        """Return K V with float64 accumulation, whatever the dtype of the entries."""

    def product_with_error(self, V: Array) -> tuple[Array, Array]:
        """Return K V as ``accurate_product``, and ε_j: entry (i, j) is off by √K_ii ε_j at most."""
        return self.accurate_product(V), 2 * self.shape[0] * _EPS * self._length(V)

    def _length(self, V: Array) -> Array:
        """Return Σ_i √K_ii |V_i|, per column."""
        xp = self.xp
        root = xp.sqrt(xp.astype(self.diagonal, xp.float64))
        return xp.tensordot(root, xp.abs(xp.astype(V, xp.float64)), axes=1)

    @abstractmethod
    def cross(self, Z: Array) -> Any:
        """Return the kernel values between new rows Z and the samples: something that takes ``@ V``."""

    def norm_bounds(self, weights: Array | None = None, *, rtol: float = _RTOL) -> tuple[float, float]:
        """Return (lower, upper) bounds on ‖K‖, or on ‖W^½ K W^½‖ for sample weights W.

        The upper end is below the norm with probability at most 1e-10. It is within ``rtol`` of the lower
        one, and so at most 5 % above the norm; less takes more products.
        """
        if weights is None and rtol == _RTOL:
            return self._spectrum.lower, self._spectrum.upper
        spectrum = self._lanczos(np.ones(()) if weights is None else to_numpy(weights), rtol)
        return spectrum.lower, spectrum.upper

    @cached_property
    def _spectrum(self) -> Spectrum:
        return self._lanczos(np.ones(()))

    def _lanczos(self, weights: np.ndarray, rtol: float = _RTOL) -> Spectrum:
        root = np.sqrt(weights.astype(np.float64))

        def product(v: np.ndarray) -> np.ndarray:
            V = self.xp.asarray(root * v, dtype=self.dtype, device=self.device)
            return np.asarray(root * to_numpy(self._careful_product(V)))

        eps = max(self._noise, float(self.xp.finfo(self.dtype).eps))
        return lanczos(product, self.shape[0], eps=eps, rtol=rtol)

    #: Unit roundoff of the product below, where it is not that of the dtype.
    _noise: float = 0.0

    def _careful_product(self, v: Array) -> Array:
        """Return K v for one column, as accurately as it is no slower."""
        return self @ v


class DenseGram(Gram):
    """A stored kernel matrix."""

    def __init__(
        self,
        K: Array,
        cross: Callable[[Array], Array] | None = None,
        precision: Precision = PRECISIONS[None],
        source: tuple[Array, Kernel] | None = None,
    ) -> None:
        self.K, self.precision, self._source = K, precision, source
        self.rounding, self.product_rounding = precision.rounding, precision.product_rounding
        self._noise = precision.noise
        self._cross = cross or (lambda Z: _matching(Z, K.shape[0], "kernel values, one for each sample,"))

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal of K."""
        xp = namespace(self.K)
        return xp.asarray(self.precision.widen(xp.linalg.diagonal(self.K)), copy=True)

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """That of the samples and the kernel where K was computed, else that of K."""
        X, kernel = self._source or (self.K, None)
        rounded = self.precision.name if self.product_rounding else None
        return fingerprint(row_codes(X), X.shape[1], kernel, self.rows, rounded)

    def __matmul__(self, V: Array) -> Array:
        """Return K V."""
        return self.precision.product(self.K, V)

    def _careful_product(self, v: Array) -> Array:
        return self.precision.careful(self.K, v)

    def rows(self, index: Array) -> Array:
        """Return the rows K[index, :]."""
        return self.precision.widen(take_rows(self.K, index))

    def block(self, index: Array) -> Array:
        """Return the block K[index, index]."""
        return principal(self.K, np.asarray(index)) if is_numpy(self.K) else super().block(index)

    def accurate_product(self, V: Array) -> Array:
        """Return K V, by the rows of K where V is not zero."""
        return self.product_with_error(V)[0]

    def product_with_error(self, V: Array) -> tuple[Array, Array]:
        """Return K V from compensated sums of short products, and the bound on its rounding.

        The rounding of the stored entries counts too: |ΔK_ij| ≤ rounding · √K_ii √K_jj.
        """
        relative = (min(_SHORT, self.shape[0]) + 4) * _EPS + self.rounding
        return _compensated_product(self.K, V), relative * self._length(V)

    def cross(self, Z: Array) -> Array:
        """Return the block k(z_i, x_j); for a Gram matrix given as such, Z is that block."""
        return self._cross(as_floating(Z, "Z"))


class LinearGram(Gram):
    """The matrix X Xᵀ, kept as X: a product costs two passes over X."""

    def __init__(self, X: Array) -> None:
        self.X = X

    @cached_property
    def diagonal(self) -> Array:
        """The squared norms of the rows."""
        return squared_norms(self.X)

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """That of the samples with the linear kernel."""
        return fingerprint(row_codes(self.X), self.X.shape[1], Linear(), self.rows)

    def __matmul__(self, V: Array) -> Array:
        """Return X (Xᵀ V)."""
        with np.errstate(invalid="ignore"):  # OpenBLAS raises the flag for lanes that it does not use
            return self.X @ (self.X.T @ V)

    def rows(self, index: Array) -> Array:
        """Return X[index] Xᵀ."""
        return Linear()(take_rows(self.X, index), self.X)

    def block(self, index: Array) -> Array:
        """Return the products of these rows with each other."""
        X = take_rows(self.X, index)
        return Linear()(X, X)

    def accurate_product(self, V: Array) -> Array:
        """Return X (Xᵀ V) in float64."""
        return self.product_with_error(V)[0]

    def product_with_error(self, V: Array) -> tuple[Array, Array]:
        """Return X w with a compensated w = Xᵀ V, and the bound: that of w, and that of d terms of X w."""
        xp = self.xp
        w = _compensated_product(self.X, V)
        X = self.X.astype(np.float64) if sp.issparse(self.X) else xp.astype(self.X, xp.float64, copy=False)
        norm = xp.sqrt(xp.sum(w * w, axis=0))
        return X @ w, _EPS * ((min(_SHORT, X.shape[0]) + 4) * self._length(V) + (X.shape[1] + 2) * norm)

    def cross(self, Z: Array) -> LinearCross:
        """Return Z Xᵀ as an operator."""
        return LinearCross(_matching(as_floating(Z, "Z"), self.X.shape[1], "features"), self.X)


class LinearCross:
    """The matrix Z Xᵀ between new rows Z and the samples, kept as its two factors."""

    def __init__(self, Z: Array, X: Array) -> None:
        self.Z, self.X = Z, X

    def __matmul__(self, V: Array) -> Array:
        """Return Z Xᵀ V."""
        return self.Z @ (self.X.T @ V)


def _compensated_product(rows: Array, V: Array) -> Array:
    """Return rowsᵀ V over the rows where V is not zero: short float64 products, their sum compensated."""
    xp = namespace(V)
    index = np.flatnonzero(np.any(to_numpy(V).reshape(V.shape[0], -1) != 0, axis=1))
    V = take_rows(xp.astype(V, xp.float64), index)
    total = xp.zeros((rows.shape[1], *V.shape[1:]), dtype=xp.float64, device=device(V))
    lost = xp.zeros_like(total)
    for a, b in blocks(len(index), _SHORT):
        part = take_rows(rows, index[a:b])
        part = part.astype(np.float64) if sp.issparse(part) else xp.astype(part, xp.float64, copy=False)
        part = part.T @ V[a:b, ...]
        sum_ = total + part
        share = sum_ - total
        lost = lost + ((total - (sum_ - share)) + (part - share))
        total = sum_
    return total + lost


def _matching(Z: Array, columns: int, what: str) -> Array:
    if Z.shape[1] != columns:
        raise ValueError(f"Z has {Z.shape[1]} columns, but {columns} {what} are needed.")
    return Z
