"""Losses of the margin a = y f(x), with what the dual needs of them.

With a box size b = 1/λ the dual term of one sample is b ℓ*(u/b); its proximal map is all that a
gradient step on the dual sees of the loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from .arrays import Array, namespace


class Loss(Protocol):
    """A convex loss of the margin. All methods work elementwise."""

    def value(self, margin: Array) -> Array:
        """Return ℓ(a)."""
        ...

    def derivative(self, margin: Array) -> Array:
        """Return ℓ'(a), or one subgradient."""
        ...

    def conjugate(self, u: Array) -> Array:
        """Return ℓ*(u) = sup_a (u a − ℓ(a)), infinite outside its domain."""
        ...

    def prox_conjugate(self, p: Array, step: Array, bound: Array) -> Array:
        """Return argmin_u b ℓ*(u/b) + (u − p)² / (2 step), for a box size b ≥ 0 and step ≥ 0."""
        ...


@dataclass(frozen=True)
class Hinge:
    """The hinge loss ℓ(a) = max(0, 1 − a), with ℓ*(u) = u on [−1, 0].

    Examples
    --------
    >>> import numpy as np
    >>> Hinge().value(np.array([-1.0, 0.5, 2.0]))
    array([2. , 0.5, 0. ])
    >>> Hinge().prox_conjugate(np.array([-3.0, -0.5, 1.0]), 0.1, np.array([2.0, 2.0, 2.0]))
    array([-2. , -0.6,  0. ])
    """

    def value(self, margin: Array) -> Array:
        """Return max(0, 1 − a)."""
        xp = namespace(margin)
        return xp.maximum(1 - margin, xp.zeros_like(margin))

    def derivative(self, margin: Array) -> Array:
        """Return −1 where a < 1, else 0."""
        xp = namespace(margin)
        return -xp.astype(margin < 1, margin.dtype)

    def conjugate(self, u: Array) -> Array:
        """Return u on [−1, 0], infinity elsewhere."""
        xp = namespace(u)
        return xp.where((u >= -1) & (u <= 0), u, xp.full_like(u, float("inf")))

    def prox_conjugate(self, p: Array, step: Array, bound: Array) -> Array:
        """Return the projection of p − step onto [−b, 0]."""
        xp = namespace(p)
        return xp.minimum(xp.maximum(p - step, -bound), xp.zeros_like(p))
