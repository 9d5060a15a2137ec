"""The linear kernel of rows about their mean, where columns are far from 0 for their spread.

With an intercept that is not penalized Σ y_i u_i = 0, so that ⟨x − c, z − c⟩ and ⟨x, z⟩ have the same dual
problem; but far from 0 the products ⟨x, z⟩ are rounded by more than what tells the rows apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, blocks, is_numpy
from .functions import Linear, ProductKernel, squared_norms

_FAR = 4.0  # standard deviations, over all columns: nearer, centring changes no more than some last digits
_AT_ONCE = 2**18  # numbers that are made float64 at a time


@dataclass(frozen=True, eq=False)
class CentredLinear(ProductKernel):
    """The kernel ⟨x − c, z − c⟩.

    Examples
    --------
    >>> CentredLinear(np.array([1000.0]))(np.array([[1001.0]]), np.array([[998.0]]))
    array([[-2.]])
    """

    centre: np.ndarray

    def about(self, X: Array) -> Array:
        """Return x_i − c, a dense row each."""
        return (X.toarray() if sp.issparse(X) else X) - self.centre

    def factors(self, X: Array, Z: Array) -> tuple[Array, Array]:
        """Return the rows about the centre."""
        left = self.about(X)
        return left, (left if Z is X else self.about(Z))

    def diagonal(self, X: Array) -> Array:
        """Return ‖x_i − c‖²."""
        parts = blocks(X.shape[0], max(1, _AT_ONCE // X.shape[1]))
        return np.concatenate([squared_norms(self.about(X[a:b])) for a, b in parts])


def linear_about(centre: np.ndarray | None) -> Linear | CentredLinear:
    """Return the linear kernel of rows about a centre; None is 0.

    Examples
    --------
    >>> linear_about(None)
    Linear()
    """
    return Linear() if centre is None else CentredLinear(centre)


def far_centre(X: Array, weight: np.ndarray | None = None) -> np.ndarray | None:
    """Return the mean of rows that are far from 0 for their spread, in their dtype; None of all others.

    Far are dense rows in NumPy with ‖mean‖ > 4 √(Σ variances). Sparse ones are near 0 by their nature.

    Examples
    --------
    >>> far_centre(np.array([[1999.0], [2001.0]]))
    array([2000.])
    >>> far_centre(np.array([[-1.0], [2.0]])) is None
    True
    """
    if not is_numpy(X):
        return None
    share = np.full(len(X), 1 / len(X)) if weight is None else weight / weight.sum()
    counts = share > 0
    first, mean, squares = X[counts.argmax()].astype(np.float64), np.zeros(X.shape[1]), 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for a, b in blocks(len(X), max(1, _AT_ONCE // X.shape[1])):
            apart = X[a:b] - first  # sums of what is near 0 lose no digits
            apart[~counts[a:b]] = 0.0  # wherever such rows are
            mean += share[a:b] @ apart
            squares += float(share[a:b] @ squared_norms(apart))
        centre, spread = first + mean, squares - float(mean @ mean)
        far = 0 < _FAR**2 * spread < float(centre @ centre)
    return centre.astype(X.dtype) if far else None
