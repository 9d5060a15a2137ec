"""Losses of the margin, for classification, and of the residual, for regression."""

from .margin import Exponential, Hinge, Logistic, Loss, SmoothLoss, SquaredHinge
from .residual import Absolute, EpsilonInsensitive, Huber, LeastSquares, Quantile, ResidualLoss

__all__ = [
    "Absolute",
    "EpsilonInsensitive",
    "Exponential",
    "Hinge",
    "Huber",
    "LeastSquares",
    "Logistic",
    "Loss",
    "Quantile",
    "ResidualLoss",
    "SmoothLoss",
    "SquaredHinge",
]
