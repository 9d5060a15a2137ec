"""The protocol of a Gram matrix: all that a solver sees of the data.

A solver multiplies, reads rows and the diagonal, and bounds the norm. How the matrix is stored, and where, is
the matter of one file each beside this one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ..arrays import Array, as_floating, blocks, device, namespace, to_numpy
from ..kernels.functions import as_kernel
from ..parallel import one_blas_thread
from .compensated import compensated_product, relative_error
from .fingerprints import probe
from .spectrum import EXACT, Spectrum, exact_spectrum, lanczos, seed_of

if TYPE_CHECKING:
    from .dense import DenseGram
    from .landmarks import LandmarkGram
    from .linear import LinearGram

_EPS = float(np.finfo(np.float64).eps)
_CHUNK = 1024  # rows that are lent at a time
_RTOL = 0.04  # between the two bounds on the norm
#: For the rounding of a bound on rounding.
SLACK = 1.001


class Enclosure(NamedTuple):
    """What is certain of K V: its entries, where V is, and √(VᵀK V) for every column of V, in NumPy.

    Entry (i, j) is within ``error[i, j]`` of ``product[i, j]``, the root between ``low[j]`` and ``high[j]``.
    """

    product: Array
    error: Array
    low: np.ndarray
    high: np.ndarray


class Gram(ABC):
    """The kernel matrix K of n samples, as an operator.

    Make one with :meth:`choose`, or, where you know how it is to be kept, with :meth:`from_kernel`,
    :meth:`from_matrix`, :meth:`linear` or :meth:`from_dask`.

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
    def choose(
        X: Any,
        kernel: str | Callable[..., Any] | None,
        *,
        constant: float = 0.0,
        precision: str | None = None,
        device: str | None = None,
        memory: float | None = None,
        landmarks: int | np.ndarray | str | None = None,
        seed: int = 0,
        **params: Any,
    ) -> Gram:
        """Return the Gram matrix of X where it can live: stored if it fits, else in tiles, else X streamed.

        X Xᵀ is kept as X, a matrix given as such is taken, and rows on a cluster stay there. The choice
        between storage and tiles goes to the logger ``marginpath``, with its reason.

        Parameters
        ----------
        X : array (n, d), CSR matrix or rows on a cluster
            Where they live is where the matrix lives.
        kernel, params
            As in :meth:`from_kernel`; None says that X is the matrix itself.
        constant : float
            Added to all kernel values, as for an intercept.
        precision : {None, "float32", "tf32", "bfloat16"}
            On a GPU; see :meth:`from_kernel` and :class:`DeviceTiledGram`.
        device : str, optional
            Compute there what a NumPy array holds, such as "cuda".
        memory : float, optional
            Bytes that kernel values may take; never more than most of what is free, the default. Where they
            are given, features of landmarks beyond half of them lie in a temporary file.
        landmarks : int, array of int or "auto", optional
            Approximate the matrix by so many rows, or by those with these numbers; "auto" where it does not
            fit, by as many as memory has room for, 10 √n at most. See :meth:`landmarks`, also for ``seed``.

        Examples
        --------
        >>> import numpy as np, marginpath as mp
        >>> X = np.random.default_rng(0).standard_normal((100, 2))
        >>> type(mp.Gram.choose(X, mp.Gaussian(1.0))).__name__
        'DenseGram'
        >>> type(mp.Gram.choose(X, mp.Gaussian(1.0), memory=10_000)).__name__
        'TiledGram'
        """
        from .choose import choose_gram

        place: dict[str, Any] = {"precision": precision, "device": device, "memory": memory}
        place |= {"landmarks": landmarks, "seed": seed}
        return choose_gram(X, kernel, constant=constant, **place, **params)

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
        from .dense import dense_of_kernel

        return dense_of_kernel(as_floating(X, "X"), as_kernel(kernel, **params), precision)

    @staticmethod
    def from_matrix(K: Array) -> DenseGram:
        """Take a kernel matrix as it is, without a copy where it is float32 or float64.

        It must be symmetric and without clearly negative eigenvalues.
        """
        from .dense import dense_of_matrix

        return dense_of_matrix(as_floating(K, "K"))

    @staticmethod
    def linear(X: Array) -> LinearGram:
        """Represent X Xᵀ by X (dense or CSR); the n × n matrix is never formed."""
        from .linear import LinearGram

        return LinearGram(as_floating(X, "X"))

    @staticmethod
    def landmarks(
        X: Array,
        kernel: str | Callable[..., Any],
        n_landmarks: int | np.ndarray,
        *,
        seed: int = 0,
        **params: Any,
    ) -> LandmarkGram:
        """Approximate the kernel matrix by so many landmarks, rows of X: memory and time grow with n only.

        It is kept as features, n × landmarks in float32: every solver runs on it as on :meth:`linear`. What
        certificates and margins say is said of the approximate kernel, whose ``trace_error`` tells how much
        of the kernel it lacks.

        Parameters
        ----------
        X : array (n, d) or CSR matrix
        kernel, params
            As in :meth:`from_kernel`; any positive semi-definite one.
        n_landmarks : int or array of int
            How many, or the numbers of the rows themselves. Rows that others determine, such as equal ones,
            are left out: there may be fewer.
        seed : int
            Of the random choice.

        Examples
        --------
        >>> import numpy as np, marginpath as mp
        >>> X = np.random.default_rng(0).standard_normal((1000, 2))
        >>> gram = mp.Gram.landmarks(X, mp.Gaussian(1.0), 50)
        >>> gram.features.shape, gram.trace_error < 0.01
        ((1000, 48), True)
        """
        from .landmarks import landmark_gram

        return landmark_gram(X, kernel, n_landmarks, seed=seed, **params)

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
        from .cluster import from_dask

        return from_dask(X, kernel, client=client, dtype=dtype, stored=stored, **params)

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
    def numbers(self) -> int:
        """How many numbers a product reads or computes, for a column."""
        return self.shape[0] ** 2

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
        """What tells this matrix from another one; see :mod:`marginpath.gram.fingerprints`.

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

    roots_there: Array | None = None  #: √K_ii beside the entries, where :meth:`enclose` takes arrays there
    #: Where coordinate sweeps keep their fields: of the samples, of the features, or of those on a cluster.
    space: Literal["samples", "features", "cluster"] = "samples"
    #: X, where the matrix is X Xᵀ and X is what is kept.
    features: Any = None
    #: The rows that are landmarks, where the matrix is approximated by them, and the share of tr(K) it lacks.
    chosen: np.ndarray | None = None
    trace_error: float = 0.0

    @property
    def matrix(self) -> Array | None:
        """The stored matrix, where there is one beside the solver."""
        return None

    @property
    def chunk(self) -> int:
        """How many rows :meth:`lend` lends at a time."""
        return _CHUNK

    def lend(self, index: np.ndarray) -> AbstractContextManager[tuple[np.ndarray, np.ndarray]]:
        """Lend distinct rows, at most a chunk of them: an array, and where in it the rows K[index, :] are."""
        return nullcontext((self.rows(index), np.arange(index.size)))

    def in_double(self) -> Gram:
        """Return the same matrix, with entries in float64 where they come from features."""
        return self

    @abstractmethod
    def accurate_product(self, V: Array) -> Array:
        """Return K V with float64 accumulation, whatever the dtype of the entries."""

    @cached_property
    def roots(self) -> np.ndarray:
        """√K_ii, rounded up, in float64."""
        return np.asarray(np.sqrt(to_numpy(self.diagonal).astype(np.float64)) * (1 + 4 * _EPS))

    @property
    def resolution(self) -> float:
        """How far the entries K_ij are from those of a positive semi-definite matrix, over √K_ii √K_jj.

        A w with ‖w‖ under ``√resolution · Σ √K_ii |V_i|`` cannot be told from 0.
        """
        return 32 * float(self.xp.finfo(self.dtype).eps) + self.rounding

    @abstractmethod
    def product_with_error(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return K V in float64, and how far off its entries are, for V (n, k) with ``√K_ii |V_i| ≤ 1``."""

    def enclose(self, V: Array) -> Enclosure:
        """Return K V and √(VᵀK V) with certain bounds, for V (n, k) with ``√K_ii |V_i| ≤ 1``."""
        scores, error = self.product_with_error(V)
        terms, every = V * scores, np.ones(len(V))
        squared = compensated_product(terms, every)
        spread = compensated_product(np.abs(V) * error + 2 * relative_error(len(V)) * np.abs(terms), every)
        low = np.sqrt(np.maximum(squared - SLACK * spread, 0))
        return Enclosure(scores, error, low, np.sqrt(np.maximum(squared, 0) + SLACK * spread))

    def length(self, V: Array) -> np.ndarray:
        """Return ``Σ_i √K_ii |V_i|`` per column, rounded up."""
        return np.asarray(SLACK * (self.roots @ np.abs(V)))

    @abstractmethod
    def cross(self, Z: Array) -> Any:
        """Return the kernel values between new rows Z and the samples: something that takes ``@ V``."""

    def norm_bounds(self, weights: Array | None = None, *, rtol: float = _RTOL) -> tuple[float, float]:
        """Return (lower, upper) bounds on ‖K‖, or on ‖W^½ K W^½‖ for sample weights W.

        Up to 400 samples both hold for certain, rounding included. With more the lower end does, and the
        upper one but for a probability of 1e-10 over the start vector of Lanczos' method. That vector is
        drawn from a hash of all the data, so that they cannot be made against it. The upper end is within
        ``rtol`` of the lower one, and so at most 5 % above the norm; less takes more products.
        """
        if weights is None and rtol == _RTOL:
            return self._spectrum[:2]
        return self._lanczos(np.ones(()) if weights is None else to_numpy(weights), rtol)[:2]

    @cached_property
    def _spectrum(self) -> Spectrum:
        return self._lanczos(np.ones(()))

    @one_blas_thread()
    def _lanczos(self, weights: np.ndarray, rtol: float = _RTOL) -> Spectrum:
        root, n = np.sqrt(weights.astype(np.float64)), self.shape[0]
        eps = max(self._noise, float(self.xp.finfo(self.dtype).eps))
        if n <= EXACT:
            K = to_numpy(self.accurate_product(self.xp.eye(n, dtype=self.dtype, device=self.device)))
            return exact_spectrum(root * K * np.reshape(root, (-1, 1)), eps=eps)
        product, size = self._operator(root)  # of sums of n terms, however long its vectors are
        return lanczos(product, size, eps=eps * (n / size) ** 0.5, rtol=rtol, seed=self._seed)

    def _operator(self, root: np.ndarray) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
        """Return v → A v with the eigenvalues of W^½ K W^½ but for zeros, and the length of v."""

        def product(v: np.ndarray) -> np.ndarray:
            V = self.xp.asarray(root * v, dtype=self.dtype, device=self.device)
            return np.asarray(root * to_numpy(self._careful_product(V)))

        return product, self.shape[0]

    @cached_property
    def _seed(self) -> int:
        """Of the start of Lanczos' method: it depends on every bit of the data."""
        return seed_of(repr(self.fingerprint))

    #: Unit roundoff of the product below, where it is not that of the dtype.
    _noise: float = 0.0

    def _careful_product(self, v: Array) -> Array:
        """Return K v for one column, as accurately as it is no slower."""
        return self @ v


def matching(Z: Array, columns: int, what: str) -> Array:
    """Return new rows, if they have as many columns as are needed."""
    if Z.shape[1] != columns:
        raise ValueError(f"Z has {Z.shape[1]} columns, but {columns} {what} are needed.")
    return Z
