"""Kernels: what two sets of rows have in common, as a block of numbers.

Every kernel here but the Laplacian is an elementwise function of one matrix product,
k(x, z) = φ(⟨left(x), right(z)⟩). The product carries the scale, the offsets and the squared norms,
so that a block costs one matrix product and one pass over its entries.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, device, is_numpy, namespace, product, with_columns
from .distances import Side, distance_sides
from .whole_numbers import SignedRows, eight_bit_sides


@runtime_checkable
class Kernel(Protocol):
    """Anything that maps rows X (m × d) and Z (n × d) to the block of their kernel values (m × n)."""

    def __call__(self, X: Array, Z: Array, /) -> Array:
        """Return the block k(x_i, z_j)."""
        ...


class ProductKernel:
    """A kernel φ(⟨left(x), right(z)⟩); subclasses say what left, right and φ are."""

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        """Return the block k(x_i, z_j); Z = None stands for X."""
        return self.block(*self.factors(*_alike(X, Z)))

    def factors(self, X: Array, Z: Array) -> tuple[Array, Array]:
        """Return left(X) and right(Z), the two sides of the matrix product."""
        return X, Z

    def apply(self, block: Array) -> Array:
        """Apply φ; NumPy blocks are changed in place."""
        return block

    def block(self, left: Array, right: Array, out: Array | None = None) -> Array:
        """Return φ(left rightᵀ), written into ``out`` where one is given."""
        block = left.times(right, out) if isinstance(left, (SignedRows, Side)) else product(left, right, out)
        block = self.apply(block)
        if out is None or block is out:
            return block
        out[...] = block
        return out

    def diagonal(self, X: Array) -> Array:
        """Return k(x_i, x_i) for every row."""
        left, right = self.factors(X, X)
        if sp.issparse(left):
            products = np.asarray(left.multiply(right).sum(axis=1)).reshape(-1, 1)
        else:
            products = namespace(left).sum(left * right, axis=1)[:, None]
        return self.apply(products)[:, 0]


@dataclass(frozen=True)
class Linear(ProductKernel):
    """The kernel ⟨x, z⟩.

    Examples
    --------
    >>> import numpy as np
    >>> Linear()(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    #: What rows are taken about; None is 0.
    centre: ClassVar[np.ndarray | None] = None

    def diagonal(self, X: Array) -> Array:
        """Return ‖x_i‖²."""
        return squared_norms(X)


@dataclass(frozen=True)
class Cosine(ProductKernel):
    """The kernel ⟨x, z⟩ / (‖x‖ ‖z‖); a zero row has kernel 0 with every row.

    Examples
    --------
    >>> import numpy as np
    >>> Cosine()(np.array([[2.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 5.0]]))
    array([[1., 0.]])
    """

    def factors(self, X: Array, Z: Array) -> tuple[Array, Array]:
        """Return the rows scaled to norm 1."""
        left = _normalized(X)
        return left, (left if Z is X else _normalized(Z))

    def diagonal(self, X: Array) -> Array:
        """Return 1, or 0 for a zero row."""
        return namespace(X).astype(_largest(X) > 0, X.dtype)


@dataclass(frozen=True)
class Polynomial(ProductKernel):
    """The kernel (γ⟨x, z⟩ + c)^degree, with γ > 0, c ≥ 0 and a whole degree ≥ 1.

    Parameters
    ----------
    degree : int
    gamma, coef0 : float
        The scale γ and the offset c.

    Examples
    --------
    >>> import numpy as np
    >>> Polynomial(degree=2, coef0=1.0)(np.array([[1.0]]), np.array([[2.0]]))
    array([[9.]])
    """

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        _require(
            self.degree >= 1 and self.degree == int(self.degree),
            "degree",
            self.degree,
            "a whole number of at least 1",
        )
        _require(0 < self.gamma < np.inf, "gamma", self.gamma, "a positive finite number")
        _require(
            0 <= self.coef0 < np.inf,
            "coef0",
            self.coef0,
            "a finite number of at least 0 (else the kernel is not positive semi-definite)",
        )

    def factors(self, X: Array, Z: Array) -> tuple[Array, Array]:
        """Return [γx, c] and [z, 1]."""
        return with_columns(X * self.gamma, self.coef0), with_columns(Z, 1.0)

    def apply(self, block: Array) -> Array:
        """Raise to the degree."""
        return _power(block, int(self.degree))

    def diagonal(self, X: Array) -> Array:
        """Return (γ‖x_i‖² + c)^degree."""
        return _power(self.gamma * squared_norms(X) + self.coef0, int(self.degree))


@dataclass(frozen=True)
class Gaussian(ProductKernel):
    """The kernel exp(−‖x − z‖² / (2σ²)).

    Parameters
    ----------
    sigma : float
        The width σ > 0. scikit-learn's ``gamma`` is 1/(2σ²).

    Examples
    --------
    >>> import numpy as np
    >>> Gaussian(sigma=1.0)(np.array([[0.0]]), np.array([[0.0], [2.0]])).round(4)
    array([[1.    , 0.1353]])
    """

    sigma: float

    def __post_init__(self) -> None:
        _require(0 < self.sigma < np.inf, "sigma", self.sigma, "a positive finite number")

    def factors(self, X: Array, Z: Array) -> tuple[Array, Array]:
        """Return two sides whose product is −d²/(2σ²)."""
        return distance_factors(X, Z, float(self.sigma))

    def apply(self, block: Array) -> Array:
        """Exponentiate; rounding must not make a squared distance negative."""
        if is_numpy(block):
            np.minimum(block, 0, out=block)
            return np.exp(block, out=block)
        xp = namespace(block)
        return xp.exp(xp.minimum(block, xp.zeros_like(block)))

    def diagonal(self, X: Array) -> Array:
        """Return ones."""
        return _ones(X)


@dataclass(frozen=True)
class Laplacian:
    """The kernel exp(−‖x − z‖₁ / σ), with the sum of absolute differences as distance.

    Parameters
    ----------
    sigma : float
        The width σ > 0. scikit-learn's ``gamma`` is 1/σ.

    Examples
    --------
    >>> import numpy as np
    >>> Laplacian(sigma=2.0)(np.array([[0.0, 0.0]]), np.array([[1.0, 1.0]])).round(4)
    array([[0.3679]])
    """

    sigma: float

    def __post_init__(self) -> None:
        _require(0 < self.sigma < np.inf, "sigma", self.sigma, "a positive finite number")

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        """Return the block k(x_i, z_j); Z = None stands for X."""
        X, Z = _alike(X, Z)
        xp = namespace(X)
        if sp.issparse(X) or is_numpy(X):
            from sklearn.metrics.pairwise import manhattan_distances

            return np.exp(manhattan_distances(X, Z) / -float(self.sigma)).astype(X.dtype, copy=False)
        distances = sum(xp.abs(X[:, j, None] - Z[None, :, j]) for j in range(X.shape[1]))
        return xp.exp(distances / -float(self.sigma))

    def diagonal(self, X: Array) -> Array:
        """Return ones."""
        return _ones(X)


@dataclass(frozen=True)
class Biased(ProductKernel):
    """The kernel k + constant: a constant feature beside those of k, so that there is an intercept.

    Parameters
    ----------
    kernel : ProductKernel
    constant : float
        The square of the constant feature.

    Examples
    --------
    >>> import numpy as np
    >>> Biased(Linear(), 1.0)(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[12.]])
    """

    kernel: ProductKernel
    constant: float

    def factors(self, X: Array, Z: Array) -> tuple[Array, Array]:
        """Return those of the kernel."""
        return self.kernel.factors(X, Z)

    def apply(self, block: Array) -> Array:
        """Apply the kernel's φ and add the constant."""
        block = self.kernel.apply(block)
        block += self.constant
        return block

    def diagonal(self, X: Array) -> Array:
        """Return k(x_i, x_i) + constant."""
        return self.kernel.diagonal(X) + self.constant


def _alike(X: Array, Z: Array | None) -> tuple[Array, Array]:
    """Return both sides, CSR where one of them is; Z = None stands for X."""
    if Z is None or Z is X or sp.issparse(X) == sp.issparse(Z):
        return X, X if Z is None else Z
    return sp.csr_array(X), sp.csr_array(Z)


def biased(kernel: Kernel, constant: float) -> Kernel:
    """Return the kernel k + constant."""
    if not constant:
        return kernel
    if isinstance(kernel, ProductKernel):
        return Biased(kernel, constant)
    return lambda X, Z: kernel(X, Z) + constant


_NAMES: dict[str, Callable[..., Kernel]] = {
    "rbf": Gaussian,
    "gaussian": Gaussian,
    "laplacian": Laplacian,
    "poly": Polynomial,
    "polynomial": Polynomial,
    "linear": Linear,
    "cosine": Cosine,
}


def as_kernel(kernel: str | Callable[..., Any], **params: Any) -> Kernel:
    """Return the kernel of that name, or the callable itself.

    Examples
    --------
    >>> as_kernel("rbf", sigma=2.0)
    Gaussian(sigma=2.0)
    """
    if isinstance(kernel, type):
        raise TypeError(f"kernel must be an instance, such as {kernel.__name__}(...), not the class itself.")
    if callable(kernel):
        if params:
            raise TypeError(
                f"{', '.join(params)} given beside a kernel that has its own settings: {kernel!r}."
            )
        return kernel
    if kernel == "sigmoid":
        raise ValueError(
            "kernel 'sigmoid' is not positive semi-definite, so that neither the margin nor the dual "
            "problem exists for it. Use 'rbf' or 'poly' instead."
        )
    if kernel not in _NAMES:
        raise ValueError(f"kernel {kernel!r} is unknown; known are {', '.join(_NAMES)}, or a callable.")
    try:
        return _NAMES[kernel](**params)
    except TypeError:
        needed = ", ".join(inspect.signature(_NAMES[kernel]).parameters) or "no parameters"
        given = ", ".join(params) or "none"
        raise TypeError(f"kernel {kernel!r} takes {needed}; given: {given}.") from None


def squared_norms(X: Array) -> Array:
    """Return ‖x_i‖² for every row."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    xp = namespace(X)
    return np.einsum("ij,ij->i", X, X) if is_numpy(X) else xp.sum(X * X, axis=1)


def distance_factors(X: Array, Z: Array, sigma: float, every_width: bool = False) -> tuple[Any, Any]:
    """Return two sides, of bytes where the samples are such, whose product is −‖x − z‖²/(2σ²)."""
    if X is Z and is_numpy(X) and 1e-100 < sigma < 1e100:
        # Features that move by as much change a kernel value by no more than a product may.
        movable = sigma * (10 / X.shape[1] ** 0.5 + 1) * float(np.finfo(X.dtype).eps)
        if (sides := eight_bit_sides(X, 1 / (2 * sigma**2), movable)) is not None:
            return sides
    return distance_sides(X, Z, sigma, every_width)


def _normalized(X: Array) -> Array:
    """Scale rows to norm 1, but for zero rows; by the largest entry first, lest squares be 0 or infinite."""
    for sizes in (_largest, lambda rows: namespace(rows).sqrt(squared_norms(rows))):
        size = sizes(X)
        size = namespace(size).where(size > 0, size, namespace(size).ones_like(size))
        X = sp.diags_array(1 / size).tocsr() @ X if sp.issparse(X) else X / size[:, None]
    return X


def _largest(X: Array) -> Array:
    """Return the largest absolute value of every row."""
    return abs(X).max(axis=1).toarray().ravel() if sp.issparse(X) else namespace(X).max(abs(X), axis=1)


def _ones(X: Array) -> Array:
    """Return a 1 for every row."""
    return namespace(X).ones(X.shape[0], dtype=X.dtype, device=device(X))


def _power(base: Array, degree: int) -> Array:
    if is_numpy(base):
        return np.power(base, degree, out=base)
    return base**degree


def _require(condition: bool, name: str, given: object, needed: str) -> None:
    if not condition:
        raise ValueError(f"{name} must be {needed}, got {given!r}.")
