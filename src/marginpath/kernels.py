"""Kernels: what two sets of rows have in common, as a block of numbers.

Every kernel here but the Laplacian is an elementwise function of one matrix product,
k(x, z) = φ(⟨left(x), right(z)⟩). The product carries the scale, the offsets and the squared norms,
so that a block costs one matrix product and one pass over its entries.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import manhattan_distances

from .arrays import Array, is_numpy, namespace
from .eight_bit import SignedRows, eight_bit_sides


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
        return self.block(*self.factors(X, X if Z is None else Z))

    def factors(self, X: Array, Z: Array) -> tuple[Array, Array]:
        """Return left(X) and right(Z), the two sides of the matrix product."""
        return X, Z

    def apply(self, block: Array) -> Array:
        """Apply φ; NumPy blocks are changed in place."""
        return block

    def block(self, left: Array, right: Array, out: Array | None = None) -> Array:
        """Return φ(left rightᵀ), written into ``out`` where one is given."""
        if sp.issparse(left):
            block = (left @ right.T).toarray()
        elif isinstance(left, SignedRows):
            block = left.times(right, out)
        elif is_numpy(left):
            block = np.matmul(left, right.T, out=out)
        else:
            block = left @ right.T
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
        left = _scale_rows(X, _inverse_norms(X))
        return left, (left if Z is X else _scale_rows(Z, _inverse_norms(Z)))

    def diagonal(self, X: Array) -> Array:
        """Return 1, or 0 for a zero row."""
        xp = namespace(X)
        norms = squared_norms(X)
        return xp.astype(norms > 0, norms.dtype)


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
        return _with_columns(X * self.gamma, self.coef0), _with_columns(Z, 1.0)

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
        return distance_factors(X, Z, 1 / (2 * float(self.sigma) ** 2))

    def apply(self, block: Array) -> Array:
        """Exponentiate; rounding must not make a squared distance negative."""
        if is_numpy(block):
            np.minimum(block, 0, out=block)
            return np.exp(block, out=block)
        xp = namespace(block)
        return xp.exp(xp.minimum(block, xp.zeros_like(block)))

    def diagonal(self, X: Array) -> Array:
        """Return ones."""
        return squared_norms(X) * 0 + 1


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
        Z = X if Z is None else Z
        xp = namespace(X)
        if sp.issparse(X) or is_numpy(X):
            distances = manhattan_distances(X, Z).astype(X.dtype, copy=False)
        else:
            distances = sum(xp.abs(X[:, j, None] - Z[None, :, j]) for j in range(X.shape[1]))
        return xp.exp(distances * (-1 / float(self.sigma)))

    def diagonal(self, X: Array) -> Array:
        """Return ones."""
        return squared_norms(X) * 0 + 1


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


def distance_factors(X: Array, Z: Array, scale: float) -> tuple[Array, Array]:
    """Return [2sx, −s‖x‖², 1] and [z, 1, −s‖z‖²], or the same in bytes: their product is −s ‖x − z‖²."""
    if X is Z and is_numpy(X) and (sides := eight_bit_sides(X, scale)) is not None:
        return sides
    X, Z = _centred(X, Z)
    left = _with_columns(X * (2 * scale), squared_norms(X) * -scale, 1.0)
    return left, _with_columns(Z, 1.0, squared_norms(Z) * -scale)


def _inverse_norms(X: Array) -> Array:
    xp = namespace(X)
    norms = xp.sqrt(squared_norms(X))
    return xp.where(norms > 0, 1 / xp.where(norms > 0, norms, xp.ones_like(norms)), norms)


def _scale_rows(X: Array, factors: Array) -> Array:
    return sp.diags_array(factors).tocsr() @ X if sp.issparse(X) else X * factors[:, None]


def _centred(X: Array, Z: Array) -> tuple[Array, Array]:
    """Shift both sides by the mean of Z: distances stay, and their rounding error shrinks."""
    if sp.issparse(X):
        return X, Z
    xp = namespace(Z)
    centre = xp.mean(Z, axis=0)
    shifted = Z - centre
    return (shifted if X is Z else X - centre), shifted


def _with_columns(X: Array, *columns: Array | float) -> Array:
    """Append columns, each a vector or a constant."""
    n = X.shape[0]
    if sp.issparse(X):
        blocks = [np.broadcast_to(c, n).astype(X.dtype).reshape(n, 1) for c in columns]
        return sp.hstack([X, *blocks], format="csr")
    xp = namespace(X)
    blocks = [xp.ones_like(X[:, :1]) * (c if isinstance(c, float) else c[:, None]) for c in columns]
    return xp.concat([X, *blocks], axis=1)


def _power(base: Array, degree: int) -> Array:
    if is_numpy(base):
        return np.power(base, degree, out=base)
    return base**degree


def _require(condition: bool, name: str, given: object, needed: str) -> None:
    if not condition:
        raise ValueError(f"{name} must be {needed}, got {given!r}.")
