"""Solvers, one method a file; base.py has the protocol."""

from .base import Solver, State
from .coordinate_descent import CoordinateDescent, CoordinateDescentState
from .dual_descent import DualDescent, DualDescentState
from .gradient_descent import GradientDescent, GradientDescentState
from .homotopic import HomotopicSubgradient, HomotopicSubgradientState
from .mirror_descent import MirrorDescent, MirrorDescentState
from .normalized_gradient import NormalizedGradient, NormalizedGradientState
from .pegasos import Pegasos
from .perceptron import Perceptron, SmoothPerceptronState
from .screened import Screened
from .screening import ScreenedState
from .subgradient import Subgradient, SubgradientState
from .tikhonov import Tikhonov, TikhonovSolutions

__all__ = [
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
    "Screened",
    "ScreenedState",
    "SmoothPerceptronState",
    "Solver",
    "State",
    "Subgradient",
    "SubgradientState",
    "Tikhonov",
    "TikhonovSolutions",
]
