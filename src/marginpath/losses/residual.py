"""Losses of the residual r = y − f(x), for regression, with what the dual needs of them.

All are the supremum of a r − ε|a| − c a²/2 over a ∈ [−p, q]: an insensitivity ε, a curvature c and a box
[−p, q]. So the conjugate is ℓ*(a) = ε|a| + c a²/2 in the box, and for a box size b = 1/λ the proximal map of
b ℓ*(·/b) is

    a ← clip(soft(z, ε s) / (1 + c s/b), −p b, q b),   soft(z, τ) = sign(z) max(|z| − τ, 0).

As λ → 0 the solutions go to the interpolant of minimum norm, for ε > 0 to the function of minimum norm that
is nowhere off by more than ε.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..arrays import Array, namespace


class ResidualLoss:
    """A convex loss of the residual that is 0 at 0. All methods work elementwise.

    Attributes
    ----------
    insensitivity : float
        ε ≥ 0: residuals up to here cost nothing.
    curvature : float
        c ≥ 0: 0 for a loss with a corner, and 1 where it begins like r²/2.
    box : (float, float)
        (−p, q), between which the dual variable lies where λ = 1.
    share : float or None
        The quantile that is the best constant; None is the mean.
    """

    insensitivity: float = 0.0
    curvature: float = 0.0
    box: tuple[float, float] = (-1.0, 1.0)
    share: float | None = 0.5

    def value(self, residual: Array) -> Array:
        """Return ℓ(r)."""
        t = soft(residual, self.insensitivity)
        a = self.derivative(residual)
        return a * t - self.curvature * a * a / 2

    def error(self, residual: Array) -> Array:
        """Return what predictions are judged by: ``|r|``, whatever the loss lets pass or cuts off."""
        return namespace(residual).abs(residual)

    def derivative(self, residual: Array) -> Array:
        """Return ℓ'(r), or one subgradient: the dual variable over b at the solution."""
        xp, (low, high) = namespace(residual), self.box
        t = soft(residual, self.insensitivity)
        if self.curvature > 0:
            return _clip(t / self.curvature, low, high)
        return xp.where(
            t > 0, high * xp.ones_like(t), xp.where(t < 0, low * xp.ones_like(t), xp.zeros_like(t))
        )

    def conjugate(self, a: Array) -> Array:
        """Return ℓ*(a) = ε|a| + c a²/2 in the box, infinity outside."""
        xp, (low, high) = namespace(a), self.box
        inside = (a >= low) & (a <= high)
        safe = xp.where(inside, a, xp.zeros_like(a))
        value = self.insensitivity * xp.abs(safe) + self.curvature * safe * safe / 2
        return xp.where(inside, value, xp.full_like(a, math.inf))

    def prox_conjugate(self, p: Array, step: Array, bound: Array) -> Array:
        """Return argmin_a b ℓ*(a/b) + (a − p)² / (2 step), for a box size b ≥ 0 and step ≥ 0."""
        xp = namespace(p)
        zero = xp.zeros_like(p)
        s, b = zero + step, zero + bound
        a = soft(p, self.insensitivity * s)
        if self.curvature > 0:
            large = xp.maximum(b, self.curvature * s)
            ratio = xp.minimum(b, self.curvature * s) / xp.where(large > 0, large, xp.ones_like(large))
            a = a * xp.where(b >= self.curvature * s, xp.ones_like(ratio), ratio) / (1 + ratio)
        low, high = self.box
        a = a if low == -math.inf else xp.maximum(a, xp.where(b > 0, low * b, zero))
        a = a if high == math.inf else xp.minimum(a, xp.where(b > 0, high * b, zero))
        return xp.where(b > 0, a, zero)


@dataclass(frozen=True)
class LeastSquares(ResidualLoss):
    """ℓ(r) = r²/2, with ℓ*(a) = a²/2: ridge regression, fitted to the mean.

    Examples
    --------
    >>> import numpy as np
    >>> LeastSquares().value(np.array([-2.0, 1.0]))
    array([2. , 0.5])
    >>> LeastSquares().prox_conjugate(np.array([4.0]), 1.0, np.array([1.0]))
    array([2.])
    """

    curvature = 1.0
    box = (-math.inf, math.inf)
    share = None

    def error(self, residual: Array) -> Array:
        """Return r²."""
        return residual * residual


@dataclass(frozen=True)
class Absolute(ResidualLoss):
    """ℓ(r) = ``|r|``, with ℓ*(a) = 0 on [−1, 1]: fitted to the median.

    Examples
    --------
    >>> import numpy as np
    >>> Absolute().value(np.array([-2.0, 1.0]))
    array([2., 1.])
    >>> Absolute().prox_conjugate(np.array([4.0, -0.5]), 1.0, np.array([3.0, 3.0]))
    array([ 3. , -0.5])
    """


@dataclass(frozen=True)
class Huber(ResidualLoss):
    """ℓ(r) = r²/2 up to ``|r|`` = δ, then δ|r| − δ²/2, with ℓ*(a) = a²/2 on [−δ, δ].

    Examples
    --------
    >>> import numpy as np
    >>> Huber(1.0).value(np.array([-3.0, 0.5]))
    array([2.5  , 0.125])
    """

    delta: float = 1.0
    curvature = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.delta < math.inf:
            raise ValueError(f"delta must be a positive finite number, got {self.delta!r}.")

    @property
    def box(self) -> tuple[float, float]:  # type: ignore[override]
        """(−δ, δ)."""
        return -self.delta, self.delta


@dataclass(frozen=True)
class EpsilonInsensitive(ResidualLoss):
    """ℓ(r) = max(0, ``|r|`` − ε), with ℓ*(a) = ε|a| on [−1, 1]: the loss of support vector regression.

    Examples
    --------
    >>> import numpy as np
    >>> EpsilonInsensitive(0.5).value(np.array([-2.0, 0.25]))
    array([1.5, 0. ])
    """

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon < math.inf:
            raise ValueError(f"epsilon must be a finite number of at least 0, got {self.epsilon!r}.")

    @property
    def insensitivity(self) -> float:  # type: ignore[override]
        """ε."""
        return self.epsilon


@dataclass(frozen=True)
class Quantile(ResidualLoss):
    """ℓ(r) = q r for r ≥ 0 and (q − 1) r below, with ℓ*(a) = 0 on [q − 1, q]: fitted to the quantile q.

    Examples
    --------
    >>> import numpy as np
    >>> Quantile(0.75).value(np.array([-2.0, 2.0]))
    array([0.5, 1.5])
    """

    quantile: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.quantile < 1:
            raise ValueError(f"quantile must be between 0 and 1, got {self.quantile!r}.")

    @property
    def box(self) -> tuple[float, float]:  # type: ignore[override]
        """(q − 1, q)."""
        return self.quantile - 1, self.quantile

    @property
    def share(self) -> float:  # type: ignore[override]
        """Q."""
        return self.quantile

    def error(self, residual: Array) -> Array:
        """Return the loss itself: another quantile is another best constant."""
        return self.value(residual)


def soft(z: Array, threshold: Array | float) -> Array:
    """Return sign(z) max(|z| − threshold, 0).

    Examples
    --------
    >>> import numpy as np
    >>> soft(np.array([-3.0, 0.5, 2.0]), 1.0)
    array([-2.,  0.,  1.])
    """
    xp = namespace(z)
    zero = xp.zeros_like(z)
    return xp.maximum(z - threshold, zero) + xp.minimum(z + threshold, zero)


def _clip(values: Array, low: float, high: float) -> Array:
    xp = namespace(values)
    return xp.minimum(xp.maximum(values, xp.full_like(values, low)), xp.full_like(values, high))
