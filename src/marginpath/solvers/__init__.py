"""Solvers, one method a file; base.py has the protocol."""

from .base import Solver, State
from .coordinate.cluster import ClusterSweeps, ClusterSweepsState
from .coordinate.descent import CoordinateDescent, CoordinateDescentState
from .dual_descent import DualDescent, DualDescentState
from .residual.sweeps import ResidualSweeps, ResidualSweepsState
from .rivals.gradient_descent import GradientDescent, GradientDescentState
from .rivals.homotopic import HomotopicSubgradient, HomotopicSubgradientState
from .rivals.mirror_descent import MirrorDescent, MirrorDescentState
from .rivals.normalized_gradient import NormalizedGradient, NormalizedGradientState
from .rivals.pegasos import Pegasos
from .rivals.perceptron import Perceptron, SmoothPerceptronState
from .rivals.subgradient import Subgradient, SubgradientState
from .solution_path.solver import SolutionPath, SolutionPathState
from .tikhonov import Tikhonov, TikhonovSolutions

__all__ = [
    "ClusterSweeps",
    "ClusterSweepsState",
    "CoordinateDescent",
    "CoordinateDescentState",
    "DualDescent",
    "DualDescentState",
    "GradientDescent",
    "GradientDescentState",
    "HomotopicSubgradient",
    "HomotopicSubgradientState",
    "MirrorDescent",
    "MirrorDescentState",
    "NormalizedGradient",
    "NormalizedGradientState",
    "Pegasos",
    "Perceptron",
    "ResidualSweeps",
    "ResidualSweepsState",
    "SmoothPerceptronState",
    "SolutionPath",
    "SolutionPathState",
    "Solver",
    "State",
    "Subgradient",
    "SubgradientState",
    "Tikhonov",
    "TikhonovSolutions",
]
