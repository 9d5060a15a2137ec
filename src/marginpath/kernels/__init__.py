"""Kernels: what two sets of rows have in common, as a block of numbers."""

from .functions import (
    Biased,
    Cosine,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    ProductKernel,
    as_kernel,
    biased,
)

__all__ = [
    "Biased",
    "Cosine",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Polynomial",
    "ProductKernel",
    "as_kernel",
    "biased",
]
