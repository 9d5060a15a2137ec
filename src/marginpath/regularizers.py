"""Regularizers R(w), with what the dual needs of them: the conjugate and its gradient.

The dual of min R(w) + (1/λ) Σ ℓ(⟨z_i, w⟩) is min R*(−Zᵀu) + Σ (1/λ) ℓ*(λ u_i), and w = ∇R*(−Zᵀu). R is
strongly convex with constant 1, so that ∇R* is Lipschitz with constant 1, and one step size does for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from .arrays import Array, namespace
from .losses.residual import soft


class Regularizer(Protocol):
    """A convex function of w with R(w) − ‖w‖²/2 convex. Arrays are (d,) or (d, k), a column each."""

    def value(self, w: Array) -> Array:
        """Return R(w), per column."""
        ...

    def conjugate(self, v: Array) -> Array:
        """Return R*(v) = sup_w ⟨v, w⟩ − R(w), per column."""
        ...

    def gradient_conjugate(self, v: Array) -> Array:
        """Return ∇R*(v), the w at which the supremum is taken."""
        ...


@dataclass(frozen=True)
class Ridge:
    """R(w) = ‖w‖²/2, its own conjugate; w = v. The only one that a kernel can have.

    Examples
    --------
    >>> import numpy as np
    >>> float(Ridge().value(np.array([3.0, 4.0])))
    12.5
    """

    def value(self, w: Array) -> Array:
        """Return ‖w‖²/2."""
        return namespace(w).sum(w * w, axis=0) / 2

    def conjugate(self, v: Array) -> Array:
        """Return ‖v‖²/2."""
        return self.value(v)

    def gradient_conjugate(self, v: Array) -> Array:
        """Return v."""
        return v


@dataclass(frozen=True)
class ElasticNet:
    """R(w) = ‖w‖²/2 + l1 ‖w‖₁, with R*(v) = ‖soft(v, l1)‖²/2 and w = soft(v, l1): features that are left out.

    Examples
    --------
    >>> import numpy as np
    >>> ElasticNet(1.0).gradient_conjugate(np.array([3.0, -0.5]))
    array([2., 0.])
    >>> float(ElasticNet(1.0).value(np.array([2.0, 0.0])))
    4.0
    """

    l1: float

    def __post_init__(self) -> None:
        if not 0 <= self.l1 < float("inf"):
            raise ValueError(f"l1 must be a finite number of at least 0, got {self.l1!r}.")

    def value(self, w: Array) -> Array:
        """Return ‖w‖²/2 + l1 ‖w‖₁."""
        xp = namespace(w)
        return xp.sum(w * w, axis=0) / 2 + self.l1 * xp.sum(xp.abs(w), axis=0)

    def conjugate(self, v: Array) -> Array:
        """Return ‖soft(v, l1)‖²/2."""
        w = self.gradient_conjugate(v)
        return namespace(w).sum(w * w, axis=0) / 2

    def gradient_conjugate(self, v: Array) -> Array:
        """Return soft(v, l1)."""
        return soft(v, self.l1)
