from . import datasets, experimental, metrics, noise, regression, theory
from .certificates.bounds import duality_gap, margin_bounds
from .certificates.farkas import Farkas, nonseparability
from .certificates.interpolation import interpolant_distance
from .certificates.maximum_margin import MarginStatus, MaximumMargin, maximum_margin
from .estimators import (
    Compression,
    LinearMarginPathClassifier,
    LinearMarginPathRegressor,
    MarginPathClassifier,
    MarginPathRegressor,
    UnscaledDataWarning,
)
from .gram.base import Gram
from .gram.choose import with_gram
from .gram.device import DeviceTiledGram
from .gram.tiled import TiledGram
from .kernels.functions import Cosine, Gaussian, Kernel, Laplacian, Linear, Polynomial
from .losses import (
    Absolute,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    LeastSquares,
    Logistic,
    Quantile,
    SquaredHinge,
)
from .metrics import DualityGap, HeldOutError, Reference
from .momentum import FunctionRestart, GradientRestart, Inertia
from .path.checkpoint import Checkpoint
from .path.path import Path, Status
from .path.run import resume, run
from .path.stopping import APriori, CertifiedMargin, Discrepancy, LeaveOneOut, NoImprovement, QuasiOptimality
from .plotting import CompressionDisplay, MarginDisplay, PathDisplay, RegressionPathDisplay
from .problem import Problem, RegressionProblem
from .regularizers import ElasticNet, Ridge
from .schedules import Constant, GeometricDecay, LogDecay, LongThenShort, PowerDecay
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
    ResidualSweeps,
    SolutionPath,
    State,
    Subgradient,
    Tikhonov,
    TikhonovSolutions,
)
from .tables import Importance, PositiveScore, TableEncoder, TablePathClassifier
from .validation.cross_validation import CrossValidatedPath, cross_validate_path
from .validation.widths import SquaredDistances, WidthSearch, cross_validate_widths, default_widths

__version__: str

__all__ = [
    "APriori",
    "Absolute",
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
    "DualityGap",
    "ElasticNet",
    "EpsilonInsensitive",
    "Exponential",
    "Farkas",
    "FunctionRestart",
    "Gaussian",
    "GeometricDecay",
    "GradientDescent",
    "GradientRestart",
    "Gram",
    "HeldOutError",
    "Hinge",
    "HomotopicSubgradient",
    "Huber",
    "Importance",
    "Inertia",
    "Kernel",
    "Laplacian",
    "LeastSquares",
    "LeaveOneOut",
    "Linear",
    "LinearMarginPathClassifier",
    "LinearMarginPathRegressor",
    "LogDecay",
    "Logistic",
    "LongThenShort",
    "MarginDisplay",
    "MarginPathClassifier",
    "MarginPathRegressor",
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
    "PositiveScore",
    "PowerDecay",
    "Problem",
    "Quantile",
    "QuasiOptimality",
    "Reference",
    "RegressionPathDisplay",
    "RegressionProblem",
    "ResidualSweeps",
    "Ridge",
    "SolutionPath",
    "SquaredDistances",
    "SquaredHinge",
    "State",
    "Status",
    "Subgradient",
    "TableEncoder",
    "TablePathClassifier",
    "Tikhonov",
    "TikhonovSolutions",
    "TiledGram",
    "UnscaledDataWarning",
    "WidthSearch",
    "cross_validate_path",
    "cross_validate_widths",
    "datasets",
    "default_widths",
    "duality_gap",
    "experimental",
    "interpolant_distance",
    "margin_bounds",
    "maximum_margin",
    "metrics",
    "noise",
    "nonseparability",
    "regression",
    "resume",
    "run",
    "theory",
    "with_gram",
]
