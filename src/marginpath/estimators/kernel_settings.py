"""What kernel, gamma, degree and coef0 of an estimator stand for, once its samples are there."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..gram.samples import samples_of
from ..kernels.centred import far_centre, linear_about
from ..kernels.functions import Gaussian, Kernel, Laplacian, Polynomial, as_kernel


class KernelSettingsMixin:
    """The kernel of a classifier or regressor, and its vectors."""

    kernel: Any
    gamma: Any
    degree: int
    coef0: float
    kernel_params: dict[str, Any] | None = None
    gamma_: float | None
    centre_: np.ndarray | None
    X_fit_: Any
    support_: np.ndarray

    @property
    def kernel_(self) -> Kernel | None:
        """The kernel, with the gamma of the fit; None where the matrix was given.

        Examples
        --------
        >>> import marginpath as mp
        >>> mp.MarginPathClassifier(gamma=0.5).fit([[0.0], [1.0]] * 5, [0, 1] * 5).kernel_
        Gaussian(sigma=1.0)
        """
        if self.kernel == "precomputed":
            return None
        if callable(self.kernel):
            return partial(self.kernel, **self.kernel_params) if self.kernel_params else self.kernel
        if self.kernel == "linear":
            return linear_about(self.centre_)
        if self.gamma_ is None:
            return as_kernel(self.kernel)
        if self.kernel == "rbf":
            return Gaussian((2 * self.gamma_) ** -0.5)
        if self.kernel == "laplacian":
            return Laplacian(1 / self.gamma_)
        return Polynomial(self.degree, self.gamma_, self.coef0)

    @property
    def support_vectors_(self) -> Any:
        """The training samples with a coefficient."""
        return samples_of(self.X_fit_).take(self.support_)

    def _far_centre(self, X: Any, sample_weight: np.ndarray | None) -> np.ndarray | None:
        return far_centre(X, sample_weight) if self.kernel == "linear" else None

    def _resolved_gamma(self, X: Any, sample_weight: np.ndarray | None) -> float | None:
        """Return gamma as a number; None for a kernel without one. A width to be tuned begins at "scale"."""
        if self.kernel not in ("rbf", "poly", "laplacian"):
            return None
        if self.gamma == "auto":
            return 1.0 / float(X.shape[1])
        if self.gamma in ("scale", "tuned"):
            variance = samples_of(X).variance(sample_weight) or 1.0
            # Distances of "laplacian" are no squares: they grow with X itself.
            scale = float(X.shape[1] * (variance**0.5 if self.kernel == "laplacian" else variance))
            if not np.isfinite(scale):
                raise ValueError(
                    f"gamma='scale' divides by the variance of X, which is more than {X.dtype} can hold. "
                    f"Scale the samples, for example by sklearn.preprocessing.StandardScaler."
                )
            return 1.0 / scale
        return float(self.gamma)


def memory_for(cache_size: float | str, X: Any) -> float | None:
    """Return the bytes that kernel values of X may take; None is most of what is free.

    Examples
    --------
    >>> memory_for(0.5, np.ones((3, 2)))
    500000.0
    """
    return samples_of(X).memory if isinstance(cache_size, str) else float(cache_size) * 1e6
