"""Losses of the margin a = y f(x), with what the dual needs of them.

With a box size b = 1/λ the dual term of one sample is b ℓ*(u/b); its proximal map is all that a
gradient step on the dual sees of the loss. That map is defined for all p, step ≥ 0 and b ≥ 0: b = 0
forces u = 0, step = 0 is the projection of p onto the domain of u ↦ b ℓ*(u/b), and b = ∞ is the limit
where there is one. The logistic and the exponential loss have none (u → −∞, as log b): there ∞ is read as
half the largest number of the dtype.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from ..arrays import Array, namespace
from .entropy import largest, positive_or_one, prox_binary_entropy, prox_entropy


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


class SmoothLoss(Loss, Protocol):
    """A loss with a second derivative (for the squared hinge, one but for a single point)."""

    @property
    def smoothness(self) -> float:
        """The supremum of ℓ''. It may be infinite only where ℓ'' = ℓ."""
        ...

    def second_derivative(self, margin: Array) -> Array:
        """Return ℓ''(a)."""
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


@dataclass(frozen=True)
class SquaredHinge:
    """The squared hinge loss ℓ(a) = max(0, 1 − a)², with ℓ*(u) = u + u²/4 for u ≤ 0.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredHinge().value(np.array([-1.0, 0.5, 2.0]))
    array([4.  , 0.25, 0.  ])
    >>> SquaredHinge().prox_conjugate(np.array([-3.0, 1.0]), 1.0, np.array([0.5, 0.5]))
    array([-2.,  0.])
    """

    @property
    def smoothness(self) -> float:
        """2."""
        return 2.0

    def value(self, margin: Array) -> Array:
        """Return max(0, 1 − a)²."""
        h = Hinge().value(margin)
        xp, root = namespace(h), largest(h) ** 0.5
        square = xp.minimum(h, xp.full_like(h, root)) ** 2
        return xp.where(h > root, xp.full_like(h, math.inf), square)

    def derivative(self, margin: Array) -> Array:
        """Return −2 max(0, 1 − a)."""
        return -2 * Hinge().value(margin)

    def second_derivative(self, margin: Array) -> Array:
        """Return 2 where a < 1, else 0."""
        return -2 * Hinge().derivative(margin)

    def conjugate(self, u: Array) -> Array:
        """Return u + u²/4 for u ≤ 0, infinity elsewhere."""
        xp = namespace(u)
        inside = (u <= 0) & (u >= -(largest(u) ** 0.5))
        safe = xp.where(inside, u, xp.zeros_like(u))
        return xp.where(inside, safe + safe * safe / 4, xp.full_like(u, math.inf))

    def prox_conjugate(self, p: Array, step: Array, bound: Array) -> Array:
        """Return min(0, (p − step) b / (b + step/2))."""
        xp = namespace(p)
        s, b = _spread(p, step, bound)
        ratio = xp.minimum(b, s / 2) / positive_or_one(xp.maximum(b, s / 2))
        shrink = xp.where(b >= s / 2, xp.ones_like(ratio), ratio) / (1 + ratio)
        u = xp.minimum((p - s) * shrink, xp.zeros_like(s))
        return xp.where(b > 0, u, xp.zeros_like(u))


@dataclass(frozen=True)
class Logistic:
    """The logistic loss ℓ(a) = log(1 + e^−a), with ℓ*(−s) = s log s + (1 − s) log(1 − s) on [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> Logistic().value(np.array([-1000.0, 1000.0]))
    array([1000.,    0.])
    >>> Logistic().prox_conjugate(np.array([-1.0]), 1.0, np.array([2.0]))
    array([-1.])
    """

    @property
    def smoothness(self) -> float:
        """1/4."""
        return 0.25

    def value(self, margin: Array) -> Array:
        """Return log(1 + e^−a)."""
        xp = namespace(margin)
        return xp.maximum(-margin, xp.zeros_like(margin)) + xp.log1p(xp.exp(-xp.abs(margin)))

    def derivative(self, margin: Array) -> Array:
        """Return −1 / (1 + e^a)."""
        xp = namespace(margin)
        e = xp.exp(-xp.abs(margin))
        return -xp.where(margin > 0, e, xp.ones_like(e)) / (1 + e)

    def second_derivative(self, margin: Array) -> Array:
        """Return e^a / (1 + e^a)²."""
        xp = namespace(margin)
        e = xp.exp(-xp.abs(margin))
        return e / (1 + e) ** 2

    def conjugate(self, u: Array) -> Array:
        """Return −u log(−u) + (1 + u) log(1 + u) on [−1, 0], infinity elsewhere."""
        xp = namespace(u)
        inside = (u >= -1) & (u <= 0)
        s = xp.where(inside, -u, xp.zeros_like(u))
        entropy = s * xp.log(positive_or_one(s)) + (1 - s) * xp.log1p(-xp.where(s < 1, s, xp.zeros_like(s)))
        return xp.where(inside, entropy, xp.full_like(u, math.inf))

    def prox_conjugate(self, p: Array, step: Array, bound: Array) -> Array:
        """Return −x, x = argmin of b times the binary entropy of x/b, plus (x + p)² / (2 step)."""
        return -prox_binary_entropy(-p, *_spread(p, step, bound))


@dataclass(frozen=True)
class Exponential:
    """The exponential loss ℓ(a) = e^−a, with ℓ*(−s) = s log s − s for s ≥ 0.

    Examples
    --------
    >>> import numpy as np
    >>> Exponential().value(np.array([-1000.0, 0.0, 1000.0]))
    array([inf,  1.,  0.])
    >>> Exponential().prox_conjugate(np.array([-2.0]), 1.0, np.array([2.0]))
    array([-2.])
    """

    @property
    def smoothness(self) -> float:
        """Infinity; ℓ'' = ℓ."""
        return math.inf

    def value(self, margin: Array) -> Array:
        """Return e^−a, infinity where the dtype cannot hold it."""
        xp = namespace(margin)
        cap = xp.full_like(margin, math.log(largest(margin)) * (1 - 1e-6))
        e = xp.exp(xp.minimum(-margin, cap))
        return xp.where(-margin > cap, xp.full_like(e, math.inf), e)

    def derivative(self, margin: Array) -> Array:
        """Return −e^−a."""
        return -self.value(margin)

    def second_derivative(self, margin: Array) -> Array:
        """Return e^−a."""
        return self.value(margin)

    def conjugate(self, u: Array) -> Array:
        """Return u − u log(−u) for u ≤ 0, infinity elsewhere."""
        xp = namespace(u)
        s = xp.where(u <= 0, -u, xp.zeros_like(u))
        return xp.where(u <= 0, s * (xp.log(positive_or_one(s)) - 1), xp.full_like(u, math.inf))

    def prox_conjugate(self, p: Array, step: Array, bound: Array) -> Array:
        """Return −x, x = argmin of x log(x/b) − x + (x + p)² / (2 step)."""
        return -prox_entropy(-p, *_spread(p, step, bound))


def _spread(p: Array, step: Array, bound: Array) -> tuple[Array, Array]:
    """Return step and bound as arrays of a common shape with p."""
    zero = namespace(p).zeros_like(p)
    return zero + step, zero + bound
