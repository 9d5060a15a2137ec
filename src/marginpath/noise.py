"""Label noise: which labels are wrong, and how many."""

from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["flip_exactly", "flip_near_boundary", "flip_randomly"]

Seed = int | np.random.Generator | None


def flip_exactly(y: ArrayLike, n_flips: int, *, seed: Seed) -> NDArray[Any]:
    """Flip exactly `n_flips` labels, every choice of them being equally likely.

    This is the noise of the paper's stability theorem: Hamming distance N between the labels.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels -1 and +1; 0 marks a sample that is left out, which is never flipped.
    n_flips : int
        How many labels to flip. For a fraction p of them, ``round(p * n)``.
    seed : int, Generator or None
        Passed to `numpy.random.default_rng`.

    Returns
    -------
    ndarray of shape (n,)
        A noisy copy of `y`, of the same dtype.

    Examples
    --------
    >>> y = np.array([1, 1, 1, -1, -1, 0])
    >>> noisy = flip_exactly(y, 2, seed=0)
    >>> int(np.sum(noisy != y)), int(noisy[5])
    (2, 0)
    """
    labels, used = _labels(y)
    n_flips = _count(n_flips, used.size)
    return _flipped(labels, np.random.default_rng(seed).permutation(used)[:n_flips])


def flip_randomly(y: ArrayLike, rate: float, *, seed: Seed) -> NDArray[Any]:
    """Flip each label independently with probability `rate`.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels -1 and +1; 0 marks a sample that is left out, which is never flipped.
    rate : float
        Probability of a flip, from 0 to 1.
    seed : int, Generator or None
        Passed to `numpy.random.default_rng`.

    Returns
    -------
    ndarray of shape (n,)
        A noisy copy of `y`, of the same dtype.

    Examples
    --------
    >>> flip_randomly([1, -1, 0, 1], 1.0, seed=0)
    array([-1,  1,  0, -1])
    """
    labels, used = _labels(y)
    if not 0 <= rate <= 1:
        raise ValueError(f"rate is {rate}; a probability from 0 to 1 is needed")
    return _flipped(labels, used[np.random.default_rng(seed).random(used.size) < rate])


def flip_near_boundary(
    y: ArrayLike, margins: ArrayLike, n_flips: int, *, seed: Seed, scale: float | None = None
) -> NDArray[Any]:
    """Flip exactly `n_flips` labels, most often those of samples near the boundary.

    The labels are drawn one after another: among those not drawn yet, i is next with probability
    proportional to exp(-abs(m_i) / s), m the margins and s the scale.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels -1 and +1; 0 marks a sample that is left out, which is never flipped.
    margins : array-like of shape (n,)
        Signed or unsigned distances to the boundary, in any unit.
    n_flips : int
        How many labels to flip. For a fraction p of them, ``round(p * n)``.
    seed : int, Generator or None
        Passed to `numpy.random.default_rng`.
    scale : float or None
        The distance s at which a flip is e times rarer than on the boundary. None: the median
        of abs(m_i) over the samples that are not left out.

    Returns
    -------
    ndarray of shape (n,)
        A noisy copy of `y`, of the same dtype.

    Examples
    --------
    >>> y = np.array([1, 1, -1, -1])
    >>> flip_near_boundary(y, margins=[0.1, 90.0, 0.2, 80.0], n_flips=2, seed=0, scale=1.0)
    array([-1,  1,  1, -1])
    """
    labels, used = _labels(y)
    n_flips = _count(n_flips, used.size)
    distances = _distances(margins, labels, used)
    if scale is None:
        scale = float(np.median(distances)) if used.size else 1.0
        if scale == 0:
            raise ValueError(
                "half of the margins or more are 0, so their median cannot be the scale; "
                "give scale a positive value"
            )
    if not 0 < scale < np.inf:
        raise ValueError(f"scale is {scale}; a positive, finite number is needed")
    # The largest of log-weight + Gumbel noise is a draw by weight; the k largest are k draws
    # without replacement. Unlike the weights, their logarithms do not underflow.
    keys = np.random.default_rng(seed).gumbel(size=used.size) - distances / scale
    return _flipped(labels, used[np.argsort(-keys)[:n_flips]])


def _labels(y: ArrayLike) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Check the labels; return them with the positions of those that may be flipped."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y has shape {labels.shape}; one dimension is needed: flip by column")
    if labels.dtype.kind not in "if":
        raise ValueError(f"y has dtype {labels.dtype}; signed numbers are needed, which can hold -1 and +1")
    values = np.unique(labels)
    if not np.isin(values, (-1, 0, 1)).all():
        shown = ", ".join(str(value) for value in values[:6])
        raise ValueError(f"y holds {shown}; only -1, +1 and 0 (left out) are allowed")
    if np.array_equal(values, (0, 1)):
        raise ValueError(
            "y holds 0 and 1, but 0 means left out and -1 is missing; for labels 0 and 1 give 2 * y - 1"
        )
    return labels, np.flatnonzero(labels)


def _count(n_flips: int, available: int) -> int:
    try:
        count = index(n_flips)
    except TypeError:
        raise TypeError(
            f"n_flips is {n_flips!r}; an integer is needed: for a fraction p, round(p * n)"
        ) from None
    if not 0 <= count <= available:
        raise ValueError(
            f"n_flips is {count}; from 0 to {available} are possible, the number of labels that are not 0"
        )
    return count


def _distances(margins: ArrayLike, labels: NDArray[Any], used: NDArray[np.intp]) -> NDArray[np.float64]:
    values = np.asarray(margins, dtype=np.float64)
    if values.shape != labels.shape:
        raise ValueError(
            f"margins has shape {values.shape} and y has {labels.shape}; one margin for each label is needed"
        )
    distances = np.abs(values[used])
    if not np.isfinite(distances).all():
        raise ValueError("margins holds NaN or inf; a finite margin is needed for every label")
    return distances


def _flipped(labels: NDArray[Any], chosen: NDArray[np.intp]) -> NDArray[Any]:
    noisy = labels.copy()
    noisy[chosen] = -noisy[chosen]
    return noisy
