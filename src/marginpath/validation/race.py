"""A race of kernel widths: short paths on some of the rows, and one path to its end on all of them.

The rule:

1. Every second width, without the outermost and the widest, has a short path on a part of the rows, with the
   folds that they are in: a third of them, at least 200 and at most 4,000 (:func:`part_of_rows`). Where the
   widest of them is the best, the next one has its own, too.
2. Along the widths, scores rise and fall slowly: a parabola through the best and those beside it tells where
   the top is, and chance moves that less than it changes which of them is the best.
3. The more rows, the narrower the best width: by the fourth root of how many times as many they are, or of
   ten, as more were not looked at. The width next to that has the path.

What a short path is, and its score, says ``short_path.py``. Of equal scores the widest counts as the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .columns import class_codes

#: The share of the rows that short paths have, and how many they are at least and at most.
SHARE, FEWEST, MOST = 1 / 3, 200, 4000
#: Which of the default widths is next to the usual one.
USUAL = 3
#: The power of the number of rows that the best width shrinks by, and how many times as many it was seen for.
_NARROWER, _SEEN = 1 / 4, 10.0


@dataclass(frozen=True)
class Race:
    """What came of a race.

    Attributes
    ----------
    sigmas : array (widths,)
        The widths, the narrowest first.
    scores : array (widths,)
        Of their short paths; NaN where a width had none.
    winner : int
        Which width's path is followed; the usual one, where there was no time for a race.
    """

    sigmas: np.ndarray
    scores: np.ndarray
    winner: int

    @property
    def scored(self) -> int:
        """How many widths had a short path."""
        return int(np.count_nonzero(~np.isnan(self.scores)))


def race_widths(
    sigmas: np.ndarray,
    score: Callable[[float], float],
    times: float = 1.0,
    ahead: Callable[[list[float]], None] = lambda sigmas: None,
) -> Race:
    """Let widths race for a path.

    Parameters
    ----------
    sigmas : array (widths,)
        The narrowest first, each as many times the one before.
    score : callable, width → score
        That of its short path, NaN where there is no time for it.
    times : float
        How many times as many rows there are as the short paths have.
    ahead : callable (widths), optional
        Is told which widths will be asked for: threads may score them side by side.

    Examples
    --------
    >>> widths = np.geomspace(1 / 4, 8, 11)
    >>> race = race_widths(widths, lambda sigma: -abs(np.log(sigma / 0.8)))
    >>> np.flatnonzero(~np.isnan(race.scores)), race.winner, widths[race.winner].round(2)
    (array([1, 3, 5, 7]), 3, np.float64(0.71))
    """
    scores = np.full(len(sigmas), np.nan)
    # Should time be over before all had their turn, those around the usual width have had it.
    turns = sorted(range(1, len(sigmas) - 3, 2), key=lambda k: abs(k - USUAL))
    ahead(sigmas[turns].tolist())
    for k in turns:
        scores[k] = score(float(sigmas[k]))
    if not np.isnan(scores[turns]).any() and _best(scores) == (widest := max(turns)):
        scores[widest + 2] = score(float(sigmas[widest + 2]))
    if np.isnan(scores).all():
        return Race(sigmas, scores, min(USUAL, len(sigmas) - 1))
    step = math.log(sigmas[-1] / sigmas[0]) / (len(sigmas) - 1)
    place = _top(scores) - _NARROWER * math.log(min(times, _SEEN)) / step
    return Race(sigmas, scores, min(max(round(place), 0), len(sigmas) - 1))


def _best(scores: np.ndarray) -> int:
    """Return the widest of the best."""
    return int(np.flatnonzero(scores == np.nanmax(scores))[-1])


def _top(scores: np.ndarray) -> float:
    """Return where the parabola through the best score and those beside it is the highest."""
    best = _best(scores)
    beside = scores[[best - 2, best + 2]] if 2 <= best < len(scores) - 2 else np.full(2, np.nan)
    falls = scores[best] - beside
    return float(best + (falls[0] - falls[1]) / falls.sum()) if falls.sum() > 0 else float(best)


def part_of_rows(
    y: np.ndarray, held_out: list[np.ndarray], weight: np.ndarray | None = None, seed: int = 0
) -> np.ndarray:
    """Return some of the rows: of every class the same share in every fold, and at least one.

    Parameters
    ----------
    y : array (n,)
        Class labels.
    held_out : list of arrays
        The rows that every fold holds out.
    weight : array (n,), optional
        Rows with weight 0 are left out.
    seed : int

    Returns
    -------
    array of int
        The rows in their order; all of them where a part would save little.

    Examples
    --------
    >>> y = np.repeat([0, 1], [500, 1000])
    >>> rows = part_of_rows(y, [np.arange(0, 1500, 2), np.arange(1, 1500, 2)])
    >>> len(rows), np.bincount(y[rows]), np.bincount(rows % 2)
    (502, array([168, 334]), array([251, 251]))
    """
    wanted = min(max(SHARE * len(y), FEWEST), MOST)
    if wanted > len(y) / 2:
        return np.arange(len(y))
    fold = np.full(len(y), len(held_out))
    for j, test in enumerate(held_out):
        fold[test] = j
    cells = np.unique(y, return_inverse=True)[1] * (len(held_out) + 1) + fold
    counts = np.ones(len(y), dtype=bool) if weight is None else weight > 0
    order = np.random.default_rng(seed).permutation(np.flatnonzero(counts))
    by_cell = (order[cells[order] == cell] for cell in np.unique(cells[counts]))
    return np.sort(np.concatenate([rows[: math.ceil(len(rows) * wanted / len(y))] for rows in by_cell]))


def side_by_side(rows: np.ndarray, y: np.ndarray, held_out: list[np.ndarray]) -> np.ndarray:
    """Return the same rows, those of a fold side by side, and in a fold those of a class.

    Kernel values that are read together lie together then: of pairs of many classes, a step reads few of a
    row, and a part of a cache line takes as long as all of it.

    Examples
    --------
    >>> side_by_side(np.arange(6), np.array([0, 1, 0, 1, 0, 1]), [np.array([2, 3, 4]), np.array([0, 1, 5])])
    array([2, 4, 3, 0, 1, 5])
    """
    fold = np.full(len(y), len(held_out))
    for j, test in enumerate(held_out):
        fold[test] = j
    return rows[np.lexsort((class_codes(y)[1][rows], fold[rows]))]
