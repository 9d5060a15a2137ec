"""A proper score of held-out decision values, which tells apart what errors do not."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

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


def log_loss(decision: np.ndarray, signs: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return the mean log loss of the log-odds a f + b, with the best a ≥ 0 and b of every column.

    a and b are those of Platt (1999), with his targets a little off 0 and 1: values that separate the classes
    have a finite loss too. Values that put the classes in the wrong order are worth as much as none.

    Parameters
    ----------
    decision : array (n, columns)
        Held-out values; NaN does not count.
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
    mass = np.where(np.isfinite(decision) & (signs != 0), share[:, None], 0.0)
    columns = np.flatnonzero(mass.any(axis=0))
    mass, signs, decision = packed(*(part[:, columns] for part in (mass, signs, decision)))
    total = mass.sum(axis=0)
    f = _standardized(np.where(mass > 0, decision, 0.0).astype(float), mass, total)
    positive = np.sum(mass * (signs > 0), axis=0)
    high, low = (positive + 1) / (positive + 2), 1 / (total - positive + 2)
    target = np.where(signs > 0, high, low)
    return float(np.sum(_platt_losses(f, target, mass, total)) / np.sum(total))


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


def _standardized(f: np.ndarray, mass: np.ndarray, total: np.ndarray) -> np.ndarray:
    centred = f - np.sum(mass * f, axis=0) / total
    spread = np.sqrt(np.sum(mass * centred**2, axis=0) / total)
    return np.asarray(centred / np.where(spread > 0, spread, 1))


def _platt_losses(f: np.ndarray, target: np.ndarray, mass: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Minimize Σ mass (log(1 + e^z) − target z), z = a f + b, over a ≥ 0 and b; return the sum of a column.

    Newton's method; a column whose step does not lower its sum takes half of it the next time.
    """

    def loss(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        z = a * f + b
        return np.asarray(np.sum(mass * (np.logaddexp(0, z) - target * z), axis=0))

    mean = np.sum(mass * target, axis=0) / total
    a, b, length = np.zeros_like(mean), np.log(mean / (1 - mean)), np.ones_like(mean)
    flat = least = loss(a, b)
    for _ in range(_ROUNDS):
        chance = expit(a * f + b)
        rest, curve = mass * (chance - target), mass * chance * (1 - chance)
        ga, gb = np.sum(rest * f, axis=0), np.sum(rest, axis=0)
        haa, hab, hbb = (np.sum(curve * each, axis=0) for each in (f * f, f, 1))
        determinant = haa * hbb - hab * hab + (_FLAT * total) ** 2
        to_a = a - length * (hbb * ga - hab * gb) / determinant
        to_b = b - length * (haa * gb - hab * ga) / determinant
        value = loss(to_a, to_b)
        change, lower = np.abs(least - value), value < least
        a, b, least = (np.where(lower, new, old) for new, old in ((to_a, a), (to_b, b), (value, least)))
        if np.all(change <= _CLOSE * total):
            break
        length = np.where(lower, 1.0, length / 2)
    return np.where(a > 0, least, flat)
