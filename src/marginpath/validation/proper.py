"""A proper score of held-out decision values, which tells apart what errors do not."""

from __future__ import annotations

import numpy as np

from ..arrays import Array, beside, blocks, is_numpy, namespace, take_columns, to_numpy
from ..parallel import available, for_all

ROUNDS = 30  #: of Newton's method, which needs about ten
CLOSE = 1e-10  #: of a sample's loss, where it ends
_ENOUGH = 200_000  # rows
FLAT = 1e-9  #: of a sample, the least curvature
_SHARED = 2**12  # numbers from which on threads share the columns


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
    if is_numpy(decision):
        return _compiled_loss(decision, signs, share)
    known = to_numpy(namespace(decision).isfinite(decision))
    mass = np.where(known & (signs != 0), share[:, None], 0.0)
    columns = np.flatnonzero(mass.any(axis=0))
    parts = mass[:, columns], signs[:, columns], take_columns(decision, columns)
    return _least_loss(*parts) / float(mass.sum())


def _compiled_loss(decision: np.ndarray, signs: np.ndarray, weight: np.ndarray) -> float:
    """Return the same, each column by itself; threads share them where they are many."""
    from .proper_compiled import least_losses

    f = np.ascontiguousarray(decision.T, dtype=np.float64)
    y = np.ascontiguousarray(signs.T, dtype=np.int8)
    losses, mass, k = np.empty(len(f)), np.empty(len(f)), len(f)
    workers = available() if np.count_nonzero(y) > _SHARED else 1
    for_all(
        lambda ends: least_losses(f, y, weight, *ends, losses, mass),
        blocks(k, -(-k // (4 * workers))),
        workers,
    )
    return float(losses.sum() / mass.sum())


def _least_loss(mass: np.ndarray, signs: np.ndarray, decision: Array) -> float:
    """Return the sum of the losses of some columns, in all of which some rows count."""
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
    return float(xp.sum(_platt_losses(_standardized(f, mass, total), target, mass, total)))


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

    def sums(a: Array, b: Array) -> Array:
        """Return the loss, its gradient and its second derivatives, six numbers of every column."""
        z = a * f + b
        e = xp.exp(-xp.abs(z))
        chance = xp.where(z > 0, xp.ones_like(e), e) / (1 + e)
        loss = mass * (xp.log1p(e) + xp.where(z > 0, z, xp.zeros_like(z)) - target * z)
        rest, curve = mass * (chance - target), mass * chance * (1 - chance)
        curved = curve * f
        return xp.stack([xp.sum(each, axis=0) for each in (loss, rest * f, rest, curved * f, curved, curve)])

    mean = xp.sum(mass * target, axis=0) / total
    a, b, length = xp.zeros_like(mean), xp.log(mean / (1 - mean)), xp.ones_like(mean)
    here = sums(a, b)
    flat = here[0, :]
    for _ in range(ROUNDS):
        least, ga, gb, haa, hab, hbb = (here[i, :] for i in range(6))
        determinant = haa * hbb - hab * hab + (FLAT * total) ** 2
        to_a = a - length * (hbb * ga - hab * gb) / determinant
        to_b = b - length * (haa * gb - hab * ga) / determinant
        there = sums(to_a, to_b)
        change, lower = xp.abs(least - there[0, :]), there[0, :] < least
        a, b, here = (xp.where(lower, new, old) for new, old in ((to_a, a), (to_b, b), (there, here)))
        if bool(xp.all(change <= CLOSE * total)):
            break
        length = xp.where(lower, xp.ones_like(length), length / 2)
    return xp.where(a > 0, here[0, :], flat)
