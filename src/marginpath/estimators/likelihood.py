"""The temperature of decision values, and the slopes of pairs, that make held-out labels most likely."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax

from ..validation.columns import OneVsOne
from ..validation.proper import packed

_TINY = 1e-300
_STEEP, _HALVINGS = 10.0, 40  # the logarithm of a slope is found by halving the interval of ± so much


def most_likely(logits_at: Any, values: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> float:
    """Return the temperature whose logits make the labels most likely, and those of one more sample.

    That one is like the mean of the others, weighs 1 or as much as they do if that is less, and its label is
    wrong: where all labels are right, nothing else would keep probabilities from 0 and 1.

    Examples
    --------
    >>> f = np.array([[-3.0], [-2.0], [2.0], [3.0]])
    >>> T = most_likely(lambda T: np.hstack([0 * f, f]) / T, f, np.array([0, 0, 1, 1]), np.ones(4))
    >>> expit(f[:, 0] / T).round(2)
    array([0.16, 0.25, 0.75, 0.84])
    """
    scale, rows = float(np.mean(np.abs(values))) or 1.0, np.arange(len(codes))
    one = weight / max(weight.sum(), len(weight))

    def loss(log_temperature: float) -> float:
        chance = log_softmax(logits_at(scale * np.exp(log_temperature)), axis=1)
        right = chance[rows, codes]
        chance[rows, codes] = -np.inf
        most = chance.max(axis=1)
        # SciPy's logsumexp, which takes several times as long on few rows.
        wrong = most + np.log(np.sum(np.exp(chance - most[:, None]), axis=1))
        return -float(weight @ right + one @ wrong)

    best = minimize_scalar(loss, bounds=(-10.0, 10.0), method="bounded")
    return scale * float(np.exp(best.x))


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
    k = round((1 + (1 + 8 * values.shape[1]) ** 0.5) / 2)
    signs = OneVsOne(k).signs(codes)
    mass = np.where(signs != 0, weight[:, None], 0.0)
    slopes, shift = np.full(len(mass[0]), np.nan), np.broadcast_to(shift, len(mass[0]))
    for pairs, own_mass, own_signs, f in packed(mass, signs, values):
        slopes[pairs] = _slopes(own_mass, own_signs, f, shift[pairs])
    known = np.isfinite(slopes)
    return np.where(known, slopes, np.median(slopes[known]) if known.any() else 1.0)


def _slopes(mass: np.ndarray, signs: np.ndarray, f: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Return the slope of every column, NaN where there is none."""
    second, first = (np.sum(mass * (signs == side), axis=0) for side in (1, -1))
    target = np.where(signs > 0, (second + 1) / (second + 2), 1 / (first + 2))
    size = np.sum(mass * np.abs(f), axis=0)
    known = (first > 0) & (second > 0) & (size > 0)
    scale = np.where(known, size / np.maximum(first + second, _TINY), 1.0)
    low, high = np.full(len(known), -_STEEP), np.full(len(known), _STEEP)
    for _ in range(_HALVINGS):  # the loss is convex in a: its derivative is under 0 below the best
        middle = (low + high) / 2
        rest = expit(np.exp(middle) / scale * f - shift) - target
        steeper = np.sum(mass * f * rest, axis=0) < 0
        low, high = np.where(steeper, middle, low), np.where(steeper, high, middle)
    return np.where(known, np.exp(low) / scale, np.nan)
