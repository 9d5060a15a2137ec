"""A Gram matrix, labels or targets, and weights: the dual problems that solvers take."""

from .classification import Problem
from .regression import RegressionProblem

__all__ = ["Problem", "RegressionProblem"]
