"""How scores choose a step: what is the best, and what is as good as that."""

from __future__ import annotations

import numpy as np

#: How scores choose a step.
SELECTIONS = ("smooth", "best", "one_se")
#: Scores that differ by less are equal, whatever the rounding.
EQUAL = 1e-7

_UNSURE = 0.5  # standard errors of the best score: what differs by less, chance decides


def equally_good(mean: np.ndarray, scores: np.ndarray, selection: str) -> np.ndarray:
    """Return the rows whose mean is the best, or for "smooth" less by no more than chance may make it.

    Parameters
    ----------
    mean : array (rows,)
        Means of the scores, smoothed or not.
    scores : array (rows, folds)
    selection : {"smooth", "best", "one_se"}

    Examples
    --------
    >>> scores = np.array([[0.5, 0.6], [0.7, 0.9], [0.8, 0.9], [0.6, 0.7]])
    >>> equally_good(scores.mean(axis=1), scores, "best"), equally_good(scores.mean(axis=1), scores, "smooth")
    (array([2]), array([2]))
    >>> scores[2, 0] = 0.74
    >>> equally_good(scores.mean(axis=1), scores, "smooth")
    array([1, 2])
    """
    error = standard_error(scores[mean.argmax()]) if selection == "smooth" else 0.0
    return np.flatnonzero(mean >= mean.max() - max(_UNSURE * error, EQUAL))


def smoothed(values: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Return the means of each value and its neighbours, two on either side.

    A neighbour weighs less the further its C is; with three times or a third of it, nothing.

    Examples
    --------
    >>> smoothed(np.array([0.0, 0.0, 7.0, 0.0, 0.0]), C=3.0 ** np.arange(0, 2.5, 0.5))
    array([0.  , 1.75, 3.5 , 1.75, 0.  ])
    """
    step = np.arange(len(values))[:, None]
    near = step + np.arange(-2, 3)
    inside, near = (near >= 0) & (near < len(values)), near.clip(0, len(values) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):  # C is infinite where λ is 0
        apart = np.where(C[near] == C[step], 0, np.abs(np.log(C[near] / C[step])))
    weight = inside * np.maximum(0, 1 - apart / np.log(3))
    return np.asarray((weight * values[near]).sum(axis=1) / weight.sum(axis=1))


def standard_error(scores: np.ndarray) -> float:
    """Return that of the mean of the folds' scores; 0 where there is one.

    Examples
    --------
    >>> round(standard_error(np.array([0.8, 0.9, 1.0, 0.9])), 3), standard_error(np.array([0.8]))
    (0.041, 0.0)
    """
    return 0.0 if len(scores) < 2 else float(scores.std(ddof=1) / len(scores) ** 0.5)
