"""What a file of a fitted classifier contains: the types that skops has to be told to trust."""

__all__ = ["SKOPS_TRUSTED"]

#: All types of this package that a fitted classifier can hold, to give to ``skops.io.load(…, trusted=…)``.
SKOPS_TRUSTED = (
    "marginpath.compact.ModelHistory",
    "marginpath.compact.PackedDual",
    "marginpath.estimators.kernel.MarginPathClassifier",
    "marginpath.estimators.linear.LinearMarginPathClassifier",
    "marginpath.kernels.Cosine",
    "marginpath.kernels.Gaussian",
    "marginpath.kernels.Laplacian",
    "marginpath.kernels.Linear",
    "marginpath.kernels.Polynomial",
    "marginpath.losses.Hinge",
    "marginpath.momentum.Inertia",
    "marginpath.path.Path",
    "marginpath.path.Rows",
    "marginpath.schedules.Constant",
    "marginpath.schedules.GeometricDecay",
    "marginpath.schedules.LogDecay",
    "marginpath.schedules.PowerDecay",
    "marginpath.solvers.coordinate_descent.CoordinateDescent",
    "marginpath.solvers.coordinate_descent.CoordinateDescentState",
    "marginpath.solvers.dual_descent.DualDescent",
    "marginpath.solvers.dual_descent.DualDescentState",
    "marginpath.stopping.APriori",
    "marginpath.stopping.CertifiedMargin",
    "marginpath.stopping.Discrepancy",
    "marginpath.stopping.LeaveOneOut",
    "marginpath.stopping.QuasiOptimality",
)
