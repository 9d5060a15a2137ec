"""Large-margin classification by iterative regularization.

One run travels from a heavily regularized classifier to the maximum-margin one; the number of steps is
the regularization.
"""

from . import datasets, metrics, noise
from .certificates import duality_gap, margin_bounds
from .gram import Gram
from .kernels import Cosine, Gaussian, Kernel, Laplacian, Linear, Polynomial
from .losses import Hinge
from .metrics import HeldOutError, Reference
from .momentum import Inertia
from .path import Path, Status
from .problem import Problem
from .running import resume, run
from .schedules import Constant, GeometricDecay, LogDecay, PowerDecay
from .selection import CrossValidatedPath, cross_validate_path
from .solvers import CoordinateDescent, DualDescent, State
from .stopping import CertifiedMargin, NoImprovement
from .tiled import TiledGram

__version__ = "0.1.0.dev0"

__all__ = [
    "CertifiedMargin",
    "Constant",
    "CoordinateDescent",
    "Cosine",
    "CrossValidatedPath",
    "DualDescent",
    "Gaussian",
    "GeometricDecay",
    "Gram",
    "HeldOutError",
    "Hinge",
    "Inertia",
    "Kernel",
    "Laplacian",
    "Linear",
    "LogDecay",
    "NoImprovement",
    "Path",
    "Polynomial",
    "PowerDecay",
    "Problem",
    "Reference",
    "State",
    "Status",
    "TiledGram",
    "cross_validate_path",
    "datasets",
    "duality_gap",
    "margin_bounds",
    "metrics",
    "noise",
    "resume",
    "run",
]
