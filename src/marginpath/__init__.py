"""Large-margin classification by iterative regularization.

One run travels from a heavily regularized classifier to the maximum-margin one; the number of steps is
the regularization.
"""

from . import datasets, experimental, metrics, noise, regression, theory
from .certificates.bounds import duality_gap, margin_bounds
from .certificates.maximum_margin import MarginStatus, MaximumMargin, maximum_margin
from .estimators import Compression, LinearMarginPathClassifier, MarginPathClassifier
from .gram.base import Gram
from .gram.choose import with_gram
from .gram.device import DeviceTiledGram
from .gram.tiled import TiledGram
from .kernels.functions import Cosine, Gaussian, Kernel, Laplacian, Linear, Polynomial
from .losses import Exponential, Hinge, Logistic, SquaredHinge
from .metrics import HeldOutError, Reference
from .momentum import FunctionRestart, GradientRestart, Inertia
from .path.checkpoint import Checkpoint
from .path.path import Path, Status
from .path.run import resume, run
from .path.stopping import APriori, CertifiedMargin, Discrepancy, LeaveOneOut, NoImprovement, QuasiOptimality
from .plotting import CompressionDisplay, MarginDisplay, PathDisplay
from .problem import Problem
from .schedules import Constant, GeometricDecay, LogDecay, PowerDecay
from .solvers import (
    ClusterSweeps,
    CoordinateDescent,
    DualDescent,
    GradientDescent,
    HomotopicSubgradient,
    MirrorDescent,
    NormalizedGradient,
    Pegasos,
    Perceptron,
    SolutionPath,
    State,
    Subgradient,
    Tikhonov,
    TikhonovSolutions,
)
from .validation.cross_validation import CrossValidatedPath, cross_validate_path
from .validation.widths import SquaredDistances, WidthSearch, cross_validate_widths, default_widths

__version__ = "0.1.0.dev0"

__all__ = [
    "APriori",
    "CertifiedMargin",
    "Checkpoint",
    "ClusterSweeps",
    "Compression",
    "CompressionDisplay",
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
    "SolutionPath",
    "SquaredDistances",
    "SquaredHinge",
    "State",
    "Status",
    "Subgradient",
    "Tikhonov",
    "TikhonovSolutions",
    "TiledGram",
    "WidthSearch",
    "cross_validate_path",
    "cross_validate_widths",
    "datasets",
    "default_widths",
    "duality_gap",
    "experimental",
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
