"""Large-margin classification by iterative regularization.

One run travels from a heavily regularized classifier to the maximum-margin one; the number of steps is
the regularization.
"""

from . import datasets, metrics, noise, regression, theory
from .certificates import duality_gap, margin_bounds
from .device_tiles import DeviceTiledGram
from .estimators import LinearMarginPathClassifier, MarginPathClassifier
from .gram import Gram
from .hard_margin import MarginStatus, MaximumMargin, maximum_margin
from .kernels import Cosine, Gaussian, Kernel, Laplacian, Linear, Polynomial
from .losses import Exponential, Hinge, Logistic, SquaredHinge
from .metrics import HeldOutError, Reference
from .momentum import FunctionRestart, GradientRestart, Inertia
from .path import Path, Status
from .placement import choose_gram, with_gram
from .plotting import MarginDisplay, PathDisplay
from .problem import Problem
from .running import resume, run
from .schedules import Constant, GeometricDecay, LogDecay, PowerDecay
from .selection import CrossValidatedPath, cross_validate_path
from .solvers import (
    CoordinateDescent,
    DualDescent,
    GradientDescent,
    HomotopicSubgradient,
    MirrorDescent,
    NormalizedGradient,
    Pegasos,
    Perceptron,
    Screened,
    State,
    Subgradient,
    Tikhonov,
    TikhonovSolutions,
)
from .stopping import (
    APriori,
    CertifiedMargin,
    Discrepancy,
    LeaveOneOut,
    NoImprovement,
    QuasiOptimality,
)
from .tiled import TiledGram
from .widths import SquaredDistances, WidthSearch, cross_validate_widths, default_widths

__version__ = "0.1.0.dev0"

__all__ = [
    "APriori",
    "CertifiedMargin",
    "Constant",
    "CoordinateDescent",
    "Cosine",
    "CrossValidatedPath",
    "DeviceTiledGram",
    "Discrepancy",
    "DualDescent",
    "Exponential",
    "FunctionRestart",
    "Gaussian",
    "GeometricDecay",
    "GradientDescent",
    "GradientRestart",
    "Gram",
    "HeldOutError",
    "Hinge",
    "HomotopicSubgradient",
    "Inertia",
    "Kernel",
    "Laplacian",
    "LeaveOneOut",
    "Linear",
    "LinearMarginPathClassifier",
    "LogDecay",
    "Logistic",
    "MarginDisplay",
    "MarginPathClassifier",
    "MarginStatus",
    "MaximumMargin",
    "MirrorDescent",
    "NoImprovement",
    "NormalizedGradient",
    "Path",
    "PathDisplay",
    "Pegasos",
    "Perceptron",
    "Polynomial",
    "PowerDecay",
    "Problem",
    "QuasiOptimality",
    "Reference",
    "Screened",
    "SquaredDistances",
    "SquaredHinge",
    "State",
    "Status",
    "Subgradient",
    "Tikhonov",
    "TikhonovSolutions",
    "TiledGram",
    "WidthSearch",
    "choose_gram",
    "cross_validate_path",
    "cross_validate_widths",
    "datasets",
    "default_widths",
    "duality_gap",
    "margin_bounds",
    "maximum_margin",
    "metrics",
    "noise",
    "regression",
    "resume",
    "run",
    "theory",
    "with_gram",
]
