"""A race of kernel widths: short paths on some of the rows, a few on all of them, and one to its end.

The rule, in three rounds:

1. Every second width, without the outermost and the widest, has a short path on a part of the rows, with the
   folds that they are in: a third of them, at least 200 and at most 4,000 (:func:`part_of_rows`).
2. From the best of these begins the climb, by short paths on all rows: the next narrower width while that is
   better, else the next wider one. Along the widths, scores rise and fall slowly; and the more rows, the
   narrower the best. A part of 2,000 rows or more is enough for the climb too: on many rows, long steps are
   no faster than short ones.
3. Where the climb ends, or beside it, on the side that is better, if the mean of the scores of three widths
   around it is: chance moves a mean less. Not after a climb on a part: so many rows leave little to chance,
   and all of them want no wider one. This width has the whole path, the only one that is kept; where its
   short path was on all rows, that tells where to look closely, and where to end (``closer_look.py``).

What a short path is, and its score, says ``short_path.py``. Of equal scores in the first round the widest
counts as the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .columns import class_codes

#: The share of the rows in the first round, and how many they are at least and at most.
SHARE, FEWEST, MOST = 1 / 3, 200, 4000
#: Rows of that part that are enough for the second round too.
ENOUGH = 2000
#: Which of the default widths is next to the usual one.
USUAL = 3


@dataclass(frozen=True)
class Race:
    """What came of a race.

    Attributes
    ----------
    sigmas : array (widths,)
        The widths, the narrowest first.
    scores : array (2, widths)
        Of the first and the second round; NaN where a width was not in it.
    winner : int
        Which width's path is followed: where the climb ended, or beside that; the best of the first round, or
        else the usual one, where there was no time for more.
    """

    sigmas: np.ndarray
    scores: np.ndarray
    winner: int

    @property
    def last_round(self) -> np.ndarray:
        """The last round that a width was in, 3 for the winner; 0 where it was in none."""
        rounds = np.max(np.where(np.isnan(self.scores), 0, [[1], [2]]), axis=0)
        rounds[self.winner] = 3
        return np.asarray(rounds)


def race_widths(
    sigmas: np.ndarray,
    first: Callable[[float], float],
    second: Callable[[float], float],
    by_means: bool = True,
    ahead: Callable[[Any, list[float]], None] = lambda score, sigmas: None,
) -> Race:
    """Let widths race for a path: every second one, and then a climb from the best of these.

    Parameters
    ----------
    sigmas : array (widths,)
        The narrowest first.
    first, second : callables, width → score
        The score of a short path in that round, NaN where there is no time for it. Where they are the same,
        no width is scored twice.
    by_means : bool
        Whether means of three scores have the last word.
    ahead : callable (first or second, widths), optional
        Is told which widths will be asked for, all or the first of them: threads may score them side by side.

    Examples
    --------
    >>> widths = np.geomspace(1 / 4, 8, 11)
    >>> race = race_widths(widths, lambda sigma: -abs(sigma - 0.8), lambda sigma: -abs(sigma - 0.6))
    >>> race.last_round
    array([0, 2, 3, 2, 2, 1, 0, 1, 0, 0, 0])
    """
    widths, scores = len(sigmas), np.full((2, len(sigmas)), np.nan)
    # Should time be over before all had their turn, those around the usual width have had it.
    turns = sorted(range(1, widths - 3, 2), key=lambda k: abs(k - USUAL))
    ahead(first, sigmas[turns].tolist())
    for k in turns:
        scores[0, k] = first(float(sigmas[k]))
    if np.isnan(scores[0]).all():
        return Race(sigmas, scores, min(USUAL, widths - 1))
    asked = set(np.flatnonzero(~np.isnan(scores[0])).tolist()) if second is first else set()
    scores[1, list(asked)] = scores[0, list(asked)]

    def score(k: int, then: int = 0) -> float:
        """Return the score of width number k, after which that of a neighbour may be asked for."""
        if not 0 <= k < widths:
            return -math.inf
        if k not in asked:
            next_ones = [j for j in sorted({k, k + then}) if 0 <= j < widths and j not in asked]
            ahead(second, sigmas[next_ones].tolist())
            asked.add(k)
            scores[1, k] = second(float(sigmas[k]))
        return -math.inf if np.isnan(scores[1, k]) else float(scores[1, k])

    def around(k: int) -> float:
        return sum(score(min(max(j, 0), widths - 1)) for j in (k - 1, k, k + 1))

    at = max(np.flatnonzero(~np.isnan(scores[0])).tolist(), key=lambda k: (scores[0, k], k))
    while score(at, -1) < score(at - 1, -1):
        at -= 1
    while score(at) < score(at + 1, 1):
        at += 1
    beside = max((at - 1, at + 1), key=score)
    moves = by_means and 0 <= beside < widths and around(at) < around(beside)
    return Race(sigmas, scores, beside if moves else at)


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
