"""Proximal maps of the entropies that are the conjugates of the exponential and the logistic loss.

Both solve one scalar equation for each entry by Newton's method with a fixed number of steps, from a
start that makes every step converge; nothing over- or underflows on the way.
"""

from __future__ import annotations

import math

from ..arrays import Array, namespace


def prox_entropy(p: Array, step: Array, b: Array) -> Array:
    """Return argmin_x x log(x/b) − x + (x − p)² / (2 step) over x ≥ 0.

    It solves log(x/b) + (x − p)/step = 0, that is x/step + log(x/step) = c.

    Examples
    --------
    >>> import numpy as np
    >>> prox_entropy(np.array([2.0]), np.array([1.0]), np.array([2.0]))
    array([2.])
    """
    xp = namespace(p)
    b = xp.minimum(b, xp.full_like(b, largest(b) / 2))
    s, log_b = _proper_step(step, p), xp.log(positive_or_one(b))
    c = p / s + log_b - xp.log(s)
    y = wright_omega(c)
    log_x = xp.where(c < 0, log_b + p / s - y, xp.zeros_like(y))  # x where y has too few digits left
    x = xp.where(c < 0, xp.exp(log_x), s * y)
    x = xp.where(step > 0, x, xp.maximum(p, xp.zeros_like(x)))
    return xp.where(b > 0, x, xp.zeros_like(x))


def prox_binary_entropy(p: Array, step: Array, b: Array) -> Array:
    """Return argmin_x x log(x/b) + (b − x) log(1 − x/b) + (x − p)² / (2 step) over 0 ≤ x ≤ b.

    It is x = b σ(z), σ(z) = 1/(1 + e^−z), with step z + b σ(z) = p. A root z > 0 is mirrored (x → b − x), so
    that z ≤ 0. There the left side is convex in z, and its root lies within log 2 of the one for (b/2) e^z
    in place of b σ(z). From that, a Newton step takes an error e to at most e²/2: six steps take log 2
    below the rounding error.

    Examples
    --------
    >>> import numpy as np
    >>> prox_binary_entropy(np.array([1.0]), np.array([1.0]), np.array([2.0]))
    array([1.])
    """
    xp = namespace(p)
    b = xp.minimum(b, xp.full_like(b, largest(b) / 2))
    mirrored = p > b / 2
    q = xp.where(mirrored, b - p, p)
    s, log_b = _proper_step(step, q), xp.log(positive_or_one(b))
    log_half = log_b - math.log(2)
    c = q / s + log_half - xp.log(s)
    y = wright_omega(c)
    zero = xp.zeros_like(y)
    z = xp.minimum(xp.where(c < 0, q / s - y, xp.log(y) + xp.log(s) - log_half), zero)
    for _ in range(6):
        e = xp.exp(z)
        x = xp.exp(log_b + z - xp.log1p(e))  # b σ(z), also where σ(z) alone would underflow
        z = xp.minimum(z - (s * z + x - q) / (s + x / (1 + e)), zero)
    x = xp.exp(log_b + z - xp.log1p(xp.exp(z)))
    x = xp.where(mirrored, b - x, x)
    x = xp.where(step > 0, x, xp.minimum(xp.maximum(p, zero), b))
    return xp.where(b > 0, x, zero)


def wright_omega(c: Array) -> Array:
    """Solve y + log y = c for y > 0; below the smallest normal number, return about that.

    The left side is concave and increasing, and both starts lie at or below the root (by
    x/(1 + x) ≤ log(1 + x), and log y ≤ log c for y ≤ c): Newton's method goes up to the root from there,
    quadratically, and five steps reach the rounding error for every c.
    """
    xp = namespace(c)
    one = xp.ones_like(c)
    c = xp.maximum(c, math.log(float(xp.finfo(c.dtype).smallest_normal)) * one)
    e, large = xp.exp(xp.minimum(c, one)), xp.maximum(c, one)
    y = xp.where(c > 1, large - xp.log(large), e / (1 + e))
    for _ in range(5):
        y = y * ((1 + c - xp.log(y)) / (1 + y))
    return y


def _proper_step(step: Array, p: Array) -> Array:
    """Raise a step so small beside p that p/step could overflow; what it changes is under the rounding."""
    xp = namespace(step)
    finfo = xp.finfo(step.dtype)
    return xp.maximum(
        step, xp.maximum(xp.abs(p) * float(finfo.eps) ** 2, xp.full_like(step, finfo.smallest_normal))
    )


def positive_or_one(x: Array) -> Array:
    """Replace zeros by ones, for a quotient or logarithm that is not used there."""
    xp = namespace(x)
    return xp.where(x > 0, x, xp.ones_like(x))


def largest(x: Array) -> float:
    """Return the largest finite number of the dtype."""
    return float(namespace(x).finfo(x.dtype).max)
