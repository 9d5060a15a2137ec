"""A proper score of held-out decision values, which tells apart what errors do not."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from ..arrays import Array, beside, is_numpy, namespace, take_columns, to_numpy

_ROUNDS = 30  # of Newton's method, which needs about ten
_CLOSE = 1e-10  # of a sample's loss, where it ends
_ENOUGH = 200_000  # rows
_FLAT = 1e-9  # of a sample, the least curvature


def enough_rows(n: int) -> slice | np.ndarray:
    """Return as many of n rows as a few numbers need to be fitted to them: all, or 200,000 at random.

    Examples
    --------
    >>> enough_rows(1000), len(enough_rows(10**6))
    (slice(None, None, None), 200000)
    """
    return slice(None) if n <= _ENOUGH else np.random.default_rng(0).choice(n, _ENOUGH, replace=False)


def log_loss(decision: Array, signs: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return the mean log loss of the log-odds a f + b, with the best a ≥ 0 and b of every column.

    a and b are those of Platt (1999), with his targets a little off 0 and 1: values that separate the classes
    have a finite loss too. Values that put the classes in the wrong order are worth as much as none.

    Parameters
    ----------
    decision : array (n, columns)
        Held-out values, of any library; NaN does not count.
    signs : array (n, columns)
        The labels ±1 of every column; 0 does not count.
    weight : array (n,), optional
        Of the samples.

    Examples
    --------
    >>> signs = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    >>> better, worse = np.array([[2.0], [1.0], [-1.0], [0.0]]), np.array([[2.0], [-1.0], [-1.0], [0.0]])
    >>> log_loss(better, signs) < log_loss(worse, signs)
    True
    """
    share = np.ones(len(signs)) if weight is None else np.asarray(weight, dtype=float)
    known = np.isfinite(decision) if is_numpy(decision) else to_numpy(namespace(decision).isfinite(decision))
    mass = np.where(known & (signs != 0), share[:, None], 0.0)
    columns = np.flatnonzero(mass.any(axis=0))
    if is_numpy(decision):
        mass, signs, decision = packed(*(part[:, columns] for part in (mass, signs, decision)))
    else:
        mass, signs, decision = mass[:, columns], signs[:, columns], take_columns(decision, columns)
    total = mass.sum(axis=0)
    positive = np.sum(mass * (signs > 0), axis=0)
    high, low = (positive + 1) / (positive + 2), 1 / (total - positive + 2)
    target = np.where(signs > 0, high, low)
    if not is_numpy(decision):
        xp = namespace(decision)
        decision = xp.astype(decision, xp.float64)
        mass, target, total = (beside(part, decision) for part in (mass, target, total))
    xp = namespace(decision)
    f = xp.astype(xp.where(mass > 0, decision, xp.zeros_like(decision)), xp.float64)
    losses = _platt_losses(_standardized(f, mass, total), target, mass, total)
    return float(xp.sum(losses) / xp.sum(total))


def packed(mass: np.ndarray, *parts: np.ndarray) -> list[np.ndarray]:
    """Return the rows of each column that count, in their order: of a pair of many classes few do.

    Columns of which fewer rows count are filled up with rows that do not.

    Examples
    --------
    >>> mass = np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    >>> packed(mass, np.arange(8.0).reshape(4, 2))
    [array([[1., 2.]]), array([[2., 1.]])]
    """
    most = int(np.count_nonzero(mass, axis=0).max(initial=0))
    if 2 * most > len(mass):
        return [mass, *parts]
    rows = np.argsort(mass == 0, axis=0, kind="stable")[:most]
    return [np.take_along_axis(part, rows, axis=0) for part in (mass, *parts)]


def _standardized(f: Array, mass: Array, total: Array) -> Array:
    xp = namespace(f)
    centred = f - xp.sum(mass * f, axis=0) / total
    spread = xp.sqrt(xp.sum(mass * centred**2, axis=0) / total)
    return centred / xp.where(spread > 0, spread, xp.ones_like(spread))


def _platt_losses(f: Array, target: Array, mass: Array, total: Array) -> Array:
    """Minimize Σ mass (log(1 + e^z) − target z), z = a f + b, over a ≥ 0 and b; return the sum of a column.

    Newton's method; a column whose step does not lower its sum takes half of it the next time.
    """
    xp = namespace(f)

    def loss(a: Array, b: Array) -> Array:
        z = a * f + b
        return xp.sum(mass * (xp.logaddexp(xp.zeros_like(z), z) - target * z), axis=0)

    mean = xp.sum(mass * target, axis=0) / total
    a, b, length = xp.zeros_like(mean), xp.log(mean / (1 - mean)), xp.ones_like(mean)
    flat = least = loss(a, b)
    for _ in range(_ROUNDS):
        chance = _logistic(a * f + b)
        rest, curve = mass * (chance - target), mass * chance * (1 - chance)
        ga, gb = xp.sum(rest * f, axis=0), xp.sum(rest, axis=0)
        haa, hab, hbb = (xp.sum(curve * each, axis=0) for each in (f * f, f, 1))
        determinant = haa * hbb - hab * hab + (_FLAT * total) ** 2
        to_a = a - length * (hbb * ga - hab * gb) / determinant
        to_b = b - length * (haa * gb - hab * ga) / determinant
        value = loss(to_a, to_b)
        change, lower = xp.abs(least - value), value < least
        a, b, least = (xp.where(lower, new, old) for new, old in ((to_a, a), (to_b, b), (value, least)))
        if bool(xp.all(change <= _CLOSE * total)):
            break
        length = xp.where(lower, xp.ones_like(length), length / 2)
    return xp.where(a > 0, least, flat)


def _logistic(z: Array) -> Array:
    """Return 1 / (1 + e^−z)."""
    if is_numpy(z):
        return expit(z)
    xp = namespace(z)
    e = xp.exp(-xp.abs(z))
    return xp.where(z > 0, xp.ones_like(e), e) / (1 + e)
