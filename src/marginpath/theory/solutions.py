"""The solutions of the SVM along C, and steps that are solved to a duality gap: how far from w* they are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, to_numpy
from ..problem import Problem


@dataclass(frozen=True)
class SolutionTheorem:
    """A path that is solved to a gap at every C: ‖w_t − w*‖ ≤ ‖w*‖ max(0, 1 − C_t/C*) + √gap_t.

    C* = max_i abs(u_i) of a solution of the hard-margin dual: from there on the solution at C is w* itself.

    Parameters
    ----------
    w_norm : float
        ‖w*‖.
    u_max : float
        C*.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> data = mp.datasets.toy()
    >>> problem = mp.Problem(mp.Gram.from_kernel(data.X, "linear"), data.y)
    >>> theorem = SolutionTheorem.of(problem, mp.maximum_margin(problem).u)
    >>> observe = {"gap": mp.DualityGap(mp.Hinge())}
    >>> path = mp.run(mp.SolutionPath(tol=1e-3), problem, steps=30, observe=observe)
    >>> bool(theorem.distance(path.last.bound, path["gap"][-1]) <= 0.0224 * theorem.w_norm)
    True
    >>> round(theorem.relative_distance(1e-3), 4)
    0.0224
    """

    w_norm: float
    u_max: float

    @classmethod
    def of(cls, problem: Problem, u: Array) -> SolutionTheorem:
        """Take the constants from a solution u* ≤ 0 of the hard-margin dual."""
        squared = float(problem.squared_norm(u, problem.scores(u)))
        return cls(math.sqrt(squared), float(np.max(np.abs(to_numpy(u)))))

    def distance(self, C: float, gap: float) -> float:
        """Return the bound on ‖w_t − w*‖ after a step at this C with this duality gap."""
        return self.w_norm * max(0.0, 1 - float(C) / self.u_max) + math.sqrt(max(float(gap), 0.0))

    def relative_distance(self, tol: float) -> float:
        """Return the bound on ‖w_t − w*‖/‖w*‖ once C_t ≥ C*, for a gap of at most tol of the objective."""
        return math.sqrt(tol / (2 * (1 - tol)))

    def steps(self, first: float, ratio: float) -> int:
        """Return the step at which C_t = first · ratio^(t − 1) has reached C*."""
        return max(1, 1 + math.ceil(math.log(self.u_max / first) / math.log(ratio) - 1e-12))
