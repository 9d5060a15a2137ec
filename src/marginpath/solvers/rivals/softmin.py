"""The weights of the smoothed minimum −log Σ_i c_i e^{−m_i}, free of overflow."""

from __future__ import annotations

from ...arrays import Array
from ...problem import Problem


def exponential_weights(problem: Problem, margins: Array) -> Array:
    """Return c_i e^{−(m_i − min m)} with the weights c_i of the samples, the largest c_i in size."""
    xp = problem.xp
    inside = problem.mass > 0
    excess = xp.where(inside, margins - problem.smallest(margins), xp.zeros_like(margins))
    return problem.mass * xp.exp(-excess)


def softmin(problem: Problem, margins: Array) -> Array:
    """Return the softmax of −m over the samples of each column, a sample of weight c as c copies."""
    r = exponential_weights(problem, margins)
    return r / problem.xp.sum(r, axis=0)
