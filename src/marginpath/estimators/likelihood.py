"""The temperature of decision values, and the slopes of pairs, that make held-out labels most likely."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

#: The logarithm of a temperature is looked for within ± so much; if it is not well inside, within more.
_NEAR, _FAR, _INSIDE = 1.5, 10.0, 0.95


def most_likely(
    chances_at: Callable[[float], tuple[np.ndarray, np.ndarray]], scale: float, weight: np.ndarray
) -> float:
    """Return the temperature that makes the labels most likely, and that of one more sample.

    That one is like the mean of the others, weighs 1 or as much as they do if that is less, and its label is
    wrong: where all labels are right, nothing else would keep probabilities from 0 and 1.

    Parameters
    ----------
    chances_at : callable, T → two arrays (n,)
        The logarithms of the probability of each sample's class, and of that of all others.
    scale : float
        About which temperatures are looked for: up to e^10 times more and less.
    weight : array (n,)

    Examples
    --------
    >>> f, codes = np.array([[-3.0], [-2.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> T = most_likely(lambda T: right_and_wrong(np.hstack([0 * f, f]) / T, codes), 2.5, np.ones(4))
    >>> (1 / (1 + np.exp(-f[:, 0] / T))).round(2)
    array([0.16, 0.25, 0.75, 0.84])
    """
    one = weight / max(weight.sum(), len(weight))

    def loss(log_temperature: float) -> float:
        right, wrong = chances_at(scale * math.exp(log_temperature))
        return -float(weight @ right + one @ wrong)

    for room in (_NEAR, _FAR):
        best = float(minimize_scalar(loss, bounds=(-room, room), method="bounded").x)
        if abs(best) < _INSIDE * room:
            break
    return scale * math.exp(best)


def right_and_wrong(logits: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithms of the probability of each row's class, and of that of all others.

    Examples
    --------
    >>> np.exp(right_and_wrong(np.log([[0.5, 0.3, 0.2]]), np.array([1]))).round(6)
    array([[0.3],
           [0.7]])
    """
    rows = np.arange(len(codes))
    if logits.shape[1] == 2:
        against = logits[rows, 1 - codes] - logits[rows, codes]
        right = -np.logaddexp(0, against)
        return right, right + against
    chance = log_softmax(logits, axis=1)
    right = chance[rows, codes]
    chance[rows, codes] = -np.inf
    most = chance.max(axis=1)
    # SciPy's logsumexp, which takes several times as long on few rows.
    return right, most + np.log(np.sum(np.exp(chance - most[:, None]), axis=1))


def pair_slopes(
    values: np.ndarray, codes: np.ndarray, weight: np.ndarray, shift: np.ndarray | float = 0.0
) -> np.ndarray:
    """Return the most likely a > 0 of each pair, a f − shift being the log-odds of its own samples.

    As in Platt (1999), certainty is a little less than 1, the more so the fewer samples: values that separate
    a pair have a finite slope. A pair of which a class is nowhere held out has the median of the others.

    Examples
    --------
    >>> f, codes = np.array([[2.0], [2.0], [2.0], [-2.0]] * 100), np.array([1, 1, 0, 0] * 100)
    >>> (2 * pair_slopes(f, codes, np.ones(400))).round(2)  # log 3: three of four signs are right
    array([1.09])
    """
    from .coupling_compiled import slopes_of_pairs

    k = round((1 + (1 + 8 * values.shape[1]) ** 0.5) / 2)
    slopes = slopes_of_pairs(values, codes, weight, k, np.zeros(values.shape[1]) + shift)
    known = np.isfinite(slopes)
    return np.where(known, slopes, np.median(slopes[known]) if known.any() else 1.0)
