"""How far a path of solutions goes on: until its score and its loss on held-out samples have been better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..path.path import Path
from ..path.stopping import NoImprovement
from ..problem import Problem
from ..solvers.base import State

_LOSS_GROWTH = 3.0
_AS_LOW = 1.01  # times the least loss is as good as that


@dataclass(frozen=True)
class Patience:
    """Stop when 1/λ has grown by 10 since the best score and by 3 since the hinge loss was next to its least.

    A score can rest, while the coarse part of a problem is known and the finer one is not, and then rise by
    a lot. The loss of the same held-out samples falls in the meantime. That it came within 1 % of its least
    counts as the least: of classes that no sample is between, it falls slowly for ever.

    The path observes ``scores``, ``hinge`` and ``bound``. The factors were chosen on 144 paths of two classes
    and 51 of more in pairs, of some thirty sets at three to seven widths.

    Parameters
    ----------
    growth : float
        The factor since the best score.
    steps : int, optional
        Stop so many steps after the best score instead, whatever the loss.

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

    growth: float = 10.0
    steps: int | None = None

    def __call__(self, problem: Problem, state: State, path: Path) -> Array:
        """Return the same answer for every column."""
        done = NoImprovement("scores", self.growth, self.steps)(problem, state, path)
        if self.steps is not None or not done.all():
            return done
        loss, size = (np.asarray(path.rows[name][1:], dtype=float) for name in ("hinge", "bound"))
        lowest = int(np.argmax(loss <= _AS_LOW * loss.min()))
        return done & (size[-1] >= _LOSS_GROWTH * size[lowest])
