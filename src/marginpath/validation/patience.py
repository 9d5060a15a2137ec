"""How far a path of solutions goes on: until its score and its loss on held-out samples have been better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..arrays import Array
from ..path.path import Path
from ..path.stopping import NoImprovement
from ..problem import Problem
from ..solvers.base import State
from .selection import standard_error

_LOSS_GROWTH = 3.0
_AS_LOW = 1.01  # times the least loss is as good as that
_LONGER = 10.0  # times as long, while nothing is learned …
_NO_HIGHER = 1.1  # … and the loss is not over so many times its least
_AS_HIGH = 0.1  # standard errors below the best score are as good as that
_NEVER = 1e8  # times the bound of the first step: a score that is the same until then will not change
#: All of these, as compiled steps take them.
PATIENCE = (_LONGER, _LOSS_GROWTH, _AS_LOW, _NO_HIGHER, _AS_HIGH, _NEVER)


@dataclass(frozen=True)
class Patience:
    """Stop when 1/λ has grown by 10 since the best score and by 3 since the hinge loss was next to its least.

    A score can rest, while the coarse part of a problem is known and the finer one is not, and then rise by
    a lot. The loss of the same held-out samples falls in the meantime. That it came within 1 % of its least
    counts as the least: of classes that no sample is between, it falls slowly for ever. So does a score that
    came within a tenth of a standard error of the best: of 30,000 samples, a few that change sides.

    As long as no score is over ``chance``, nothing is learned, and no step is better than another but by
    luck: the factor is ten times as large then. Classes that alternate, as the fields of a chessboard do, are
    told apart from a C on that is a hundred times the first, and more. Where there is nothing to learn, noise
    is: the loss rises, and by 10 % it is too late.

    A score that is still the first one is waited for until 1/λ has grown by 10⁸ without a lower loss.

    Where a step is worse than the best one beyond all chance, sample by sample, and the loss has not been low
    for as long as above, what comes after will not be better: 1/λ need not grow by 10. Of 267 paths of 17
    sets with 214 to 8,000 samples, 41 end so, and none of them had a better score later.

    The path observes ``scores``, ``hinge`` and ``bound``. The factors were chosen on 144 paths of two classes
    and 51 of more in pairs, of some thirty sets at three to seven widths; what is luck and what is chance, on
    980 paths of thirty sets with 100 to 2,700 samples.

    Parameters
    ----------
    growth : float
        The factor since the best score.
    steps : int, optional
        Stop so many steps after the best score instead, whatever the loss.
    chance : float
        The mean score that is reached without learning anything: :attr:`OutOfFold.chance`.
    last : int, optional
        Stop at this step in any case: another path has shown that nothing better comes after it.
    is_beaten : callable, (decisions, decisions) → bool, optional
        Whether decisions about held-out samples, which the path observes as ``out_of_fold``, are worse than
        others: :meth:`OutOfFold.is_beaten`.

    Examples
    --------
    >>> import marginpath as mp
    >>> from marginpath.validation.cross_validation import PathValidation
    >>> data = mp.datasets.gaussian_mixture()
    >>> gram = mp.Gram.from_kernel(data.X, mp.Gaussian(sigma=0.5))
    >>> path = PathValidation(gram, data.y, intercept=True).run(mp.SolutionPath(), 100, stop=Patience())
    >>> best = path["scores"][1:].mean(axis=1).argmax() + 1
    >>> bool(path["bound"][-1] >= 10 * path["bound"][best]), path.last.t < 40
    (True, True)
    """

    _observed: ClassVar = ("scores", "hinge", "bound")

    growth: float = 10.0
    steps: int | None = None
    chance: float = -np.inf
    last: int | None = None
    is_beaten: Callable[[Any, Any], bool] | None = None

    def __call__(self, problem: Problem, state: State, path: Path) -> Array:
        """Return the same answer for every column."""
        if self.last is not None and state.t >= self.last:
            return np.ones(problem.shape[1:], dtype=bool)
        if self.steps is not None:
            return NoImprovement("scores", self.growth, self.steps)(problem, state, path)
        scores, loss, size = (np.asarray(path.rows[name][1:], dtype=float) for name in self._observed)
        lowest = int(np.argmax(loss <= _AS_LOW * loss.min()))
        if size[-1] < _LOSS_GROWTH * size[lowest]:
            return np.zeros(problem.shape[1:], dtype=bool)
        scores = scores.reshape(len(scores), -1)
        mean, begun = scores.mean(axis=1), size > 0
        left = begun & (mean != mean[begun.argmax()])
        if not left.any():
            never = size[-1] >= _NEVER * max(size[lowest], size[begun.argmax()]) > 0
            return np.full(problem.shape[1:], never)
        if mean.max() <= self.chance:
            growth = self.growth * (_LONGER if loss[-1] <= _NO_HIGHER * loss.min() else 1)
            return NoImprovement("scores", growth)(problem, state, path)
        since = size[max(_as_good_as_best(scores), int(left.argmax()))]
        is_long = size[-1] > since and size[-1] >= self.growth * since
        ends = NoImprovement("scores", self.growth)(problem, state, path) | is_long
        return ends if np.all(ends) else ends | self._is_beaten(path, int(mean.argmax()))

    def _is_beaten(self, path: Path, best: int) -> bool:
        if self.is_beaten is None or "out_of_fold" not in path.rows:
            return False
        last = len(path.rows["scores"]) - 1
        return self.is_beaten(*(path.rows.where_kept("out_of_fold", row) for row in (last, best + 1)))


def _as_good_as_best(scores: np.ndarray) -> int:
    """Return the first step whose score differs from the best by luck."""
    mean = scores.mean(axis=1)
    best = int(mean.argmax())
    return int(np.argmax(mean >= mean[best] - _AS_HIGH * standard_error(scores[best])))
