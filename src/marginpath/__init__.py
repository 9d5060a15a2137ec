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
from .solvers import DualDescent, State
from .stopping import CertifiedMargin

__version__ = "0.1.0.dev0"

__all__ = [
    "CertifiedMargin",
    "Constant",
    "Cosine",
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
    "Path",
    "Polynomial",
    "PowerDecay",
    "Problem",
    "Reference",
    "State",
    "Status",
    "datasets",
    "duality_gap",
    "margin_bounds",
    "metrics",
    "noise",
    "resume",
    "run",
]
