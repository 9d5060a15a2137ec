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

A short path has one step where a path has four, solved less exactly, and waits half as long for a better
score; it ends at C = 1,000,000, where a larger C changes no fold any more, or where both losses of the
held-out decisions have risen. Its score is minus the least log loss of these, which chance changes less than
errors (:func:`short_path`); where a scoring is given, the best mean of that over the folds. Of equal scores
in the first round the widest counts as the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Array
from ..metrics import Metric
from ..path.path import Path, Status
from ..path.run import Rule
from ..problem import Problem
from ..solvers import SolutionPath
from ..solvers.base import State
from ..solvers.coordinate.spaces import at_bound
from .cross_validation import PathValidation, largest_bound
from .patience import Patience

#: The share of the rows in the first round, and how many they are at least and at most.
SHARE, FEWEST, MOST = 1 / 3, 200, 4000
#: Rows of that part that are enough for the second round too.
ENOUGH = 2000
#: Steps of a path that are one of a short path, the duality gap of these, and the largest C.
LONG, TOLERANCE, LARGEST = 4, 1e-2, 1e6
_COLUMNS = 16  # that are looked at at a time
_RISEN = {"log_loss": 1.001, "hinge": 1.002}  # times its least a loss is clearly over it
#: Which of the default widths is next to the usual one.
USUAL = 3


@dataclass(frozen=True)
class ShortPath:
    """A path of few steps, and the best score on it: the higher, the better.

    It is settled where no sample is at its bound in the end, so that a larger C changes nothing.
    """

    path: Path
    score: float
    is_settled: bool = False


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

    Examples
    --------
    >>> widths = np.geomspace(1 / 4, 8, 11)
    >>> race = race_widths(widths, lambda sigma: -abs(sigma - 0.8), lambda sigma: -abs(sigma - 0.6))
    >>> race.last_round
    array([0, 2, 3, 2, 2, 1, 0, 1, 0, 0, 0])
    """
    widths, scores = len(sigmas), np.full((2, len(sigmas)), np.nan)
    # Should time be over before all had their turn, those around the usual width have had it.
    for k in sorted(range(1, widths - 3, 2), key=lambda k: abs(k - USUAL)):
        scores[0, k] = first(float(sigmas[k]))
    if np.isnan(scores[0]).all():
        return Race(sigmas, scores, min(USUAL, widths - 1))
    asked = set(np.flatnonzero(~np.isnan(scores[0])).tolist()) if second is first else set()
    scores[1, list(asked)] = scores[0, list(asked)]

    def score(k: int) -> float:
        if not 0 <= k < widths:
            return -math.inf
        if k not in asked:
            asked.add(k)
            scores[1, k] = second(float(sigmas[k]))
        return -math.inf if np.isnan(scores[1, k]) else float(scores[1, k])

    def around(k: int) -> float:
        return sum(score(min(max(j, 0), widths - 1)) for j in (k - 1, k, k + 1))

    at = max(np.flatnonzero(~np.isnan(scores[0])).tolist(), key=lambda k: (scores[0, k], k))
    while score(at) < score(at - 1):
        at -= 1
    while score(at) < score(at + 1):
        at += 1
    beside = max((at - 1, at + 1), key=score)
    moves = by_means and 0 <= beside < widths and around(at) < around(beside)
    return Race(sigmas, scores, beside if moves else at)


def short_path(validation: PathValidation, steps: int, time_limit: float | None = None) -> ShortPath:
    """Run a path in long steps, about as far as one of so many usual ones, and return its best score.

    That is minus the least log loss (:meth:`PathValidation.log_loss`), or the best mean of a given scoring.

    Examples
    --------
    >>> import marginpath as mp
    >>> data = mp.datasets.gaussian_mixture()
    >>> gram = mp.Gram.from_kernel(data.X, mp.Gaussian(sigma=0.5))
    >>> short = short_path(PathValidation(gram, data.y), steps=100)
    >>> short.path.last.t < 15, -0.4 < short.score < 0
    (True, True)
    """
    ratio, judge = SolutionPath.ratio**LONG, validation.judge
    observe: dict[str, Metric] = {"bound": largest_bound, "scores": judge.scores, "hinge": judge.hinge}
    if judge.scorer is None:
        observe["log_loss"] = validation.log_loss
    patience = Patience(validation.patience_with_solutions / 2, chance=judge.chance)
    path = validation.run(
        SolutionPath(ratio=ratio, tol=TOLERANCE),
        math.ceil(steps / LONG),
        stop=_NothingToGain(patience, LARGEST / ratio, judge.chance),
        observe=observe,
        models=False,
        time_limit=time_limit,
    )
    if path.ended is Status.INTERRUPTED:  # there is no model yet that could be kept
        raise KeyboardInterrupt
    scores = -path["log_loss"] if judge.scorer is None else path["scores"].mean(axis=1)
    is_settled = not _is_any_at_bound(validation.problem, path.last)
    path = replace(path, observers={})  # which hold the Gram matrix
    return ShortPath(path, float(scores[1:].max()), is_settled)


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


@dataclass(frozen=True)
class _NothingToGain:
    """Stop where the score has not improved for long, the box is large, or no sample is at its bound.

    In that last case the solution is that of every larger box. Where widths are compared by their log loss
    and something was learned, also where that and the hinge loss have both risen: one of them alone may fall
    again.
    """

    rule: Rule
    largest: float
    chance: float

    def __call__(self, problem: Problem, state: State, path: Path) -> Array:
        is_last = path["bound"][-1] > self.largest or self._has_overfitted(path)
        return self.rule(problem, state, path) | (is_last or not _is_any_at_bound(problem, state))

    def _has_overfitted(self, path: Path) -> bool:
        if "log_loss" not in path.rows or path["scores"][1:].mean(axis=1).max() <= self.chance:
            return False
        return all(path[loss][-1] > times * path[loss][1:].min() for loss, times in _RISEN.items())


def _is_any_at_bound(problem: Problem, state: State) -> bool:
    """Whether any sample is at its bound: in the first columns some are, but for the end of a path."""
    if state.packed is not None:
        return bool(state.packed.is_any_at(np.atleast_1d(state.bound)))
    columns = range(0, problem.shape[1], _COLUMNS)
    parts = ((..., slice(c, c + _COLUMNS)) for c in columns)
    return any(at_bound(state.u[p], problem.mass[p], state.bound[p]).any() for p in parts)
