"""The solutions along C, and steps that are solved to a duality gap: how far from their limit w* they are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, to_numpy
from ..losses import ResidualLoss
from ..problem import Problem


@dataclass(frozen=True)
class SolutionTheorem:
    """A path that is solved to a gap at every C: ‖w_t − w*‖ ≤ ‖w*‖ max(0, 1 − C_t/C*) + √gap_t.

    C* = max_i abs(u_i) of a solution of the hard-margin dual: from there on the solution at C is w* itself.
    In a regression, w* is the interpolant of least norm, or the least that is off by ε at most, and C* where
    the box first holds u*. A loss with a curvature c only comes near: with s = min(1, C/C*), the bound is
    √((1 − s)²‖w*‖² + s² c Σ u_i²/C) + √gap.

    Parameters
    ----------
    w_norm : float
        ‖w*‖.
    u_max : float
        C*.
    curved : float
        c Σ u_i², each over the weight of its sample; 0 for a loss with corners.

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
    curved: float = 0.0

    @classmethod
    def of(cls, problem: Problem, u: Array, loss: ResidualLoss | None = None) -> SolutionTheorem:
        """Take the constants from a solution u* of the dual of the limit, ≤ 0 for margins.

        A loss is that of a regression.
        """
        norm = math.sqrt(float(problem.squared_norm(u, problem.scores(u))))
        a = -np.asarray(to_numpy(u), dtype=np.float64)
        if loss is None:
            return cls(norm, float(np.max(a)))
        mass = np.asarray(to_numpy(problem.mass), dtype=np.float64)
        a, mass = a[mass > 0], mass[mass > 0]
        ends = mass * np.where(a > 0, loss.box[1], -loss.box[0])
        curved = loss.curvature * float(np.sum(a**2 / mass))
        return cls(norm, float(np.max(np.abs(a) / ends)), curved)

    def distance(self, C: float, gap: float) -> float:
        """Return the bound on ‖w_t − w*‖ after a step at this C with this duality gap."""
        C = float(C)
        s = min(1.0, C / self.u_max) if self.u_max > 0 else 1.0
        curved = s * math.sqrt(self.curved / C) if self.curved else 0.0
        return math.hypot((1 - s) * self.w_norm, curved) + math.sqrt(max(float(gap), 0.0))

    def relative_distance(self, tol: float) -> float:
        """Return the bound on ‖w_t − w*‖/‖w*‖ once C_t ≥ C*, for a gap of at most tol of the objective.

        Of a loss with corners.
        """
        return math.sqrt(tol / (2 * (1 - tol)))

    def steps(self, first: float, ratio: float) -> int:
        """Return the step at which C_t = first · ratio^(t − 1) has reached C*."""
        if self.u_max <= first:
            return 1
        return 1 + math.ceil(math.log(self.u_max / first) / math.log(ratio) - 1e-12)
