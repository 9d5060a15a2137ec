"""The same labels from fewer vectors: coefficients, or vectors too, that imitate a classifier on some rows.

Only the order of the classes and the values near a boundary matter for labels. So what is matched are not the
decision values f but their soft labels, softmax(2f), by the cross-entropy; of columns that decide between two
classes each, 1/(1 + exp(−2f)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from ..kernels.functions import Kernel

_SHARPNESS = 2.0  # of the soft labels
_CLIPPED = 2.0  # decision values beyond this are not followed by the start
_RIDGE = 1e-6  # of the start, per row
_JITTERS = (1e-10, 1e-6, 1e-3)  # of the mean of k(z, z): the first that makes a matrix positive definite
_STEPS, _FEWEST, _WORK = 600, 60, 1e11  # steps of the descent, and the products that they may take


@dataclass(frozen=True)
class Distillation:
    """What is imitated: the decision values of a classifier on some rows.

    Parameters
    ----------
    X : array (n, d)
        The rows.
    decision : array (n, columns)
        The values there, with the intercept.
    intercept : array (columns,)
        That of both classifiers.
    pairs : bool
        Whether every column decides between two classes, and not all columns together between as many.

    Examples
    --------
    >>> from marginpath import Gaussian
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> task = Distillation(X, np.sin(2 * X), np.zeros(1))
    >>> vectors, coef = task.vectors(X[::12], Gaussian(0.5))
    >>> values = Gaussian(0.5)(X, vectors) @ coef.T
    >>> bool(np.mean((values > 0) == (np.sin(2 * X) > 0)) > 0.95)
    True
    """

    X: Any
    decision: np.ndarray
    intercept: np.ndarray
    pairs: bool = False

    def coefficients(self, block: np.ndarray, square: np.ndarray) -> np.ndarray:
        """Return coefficients (columns, k): for the kernel values of rows and vectors, and of these alone."""
        triangle = _triangle(square)
        return _in_vectors(triangle, self._in_basis(triangle, block))

    def vectors(self, vectors: np.ndarray, kernel: Kernel) -> tuple[np.ndarray, np.ndarray]:
        """Return vectors near the given ones, for a Gaussian, and their coefficients (columns, k)."""
        sigma: float = kernel.sigma  # type: ignore[attr-defined]
        X, Z = (np.asarray(part, dtype=np.float64) / sigma for part in (self.X, vectors))
        centre = X.mean(axis=0)
        X, Z = X - centre, Z - centre
        k, columns = len(Z), len(self.intercept)
        triangle = _triangle(_gaussian(Z, Z))
        start = self._in_basis(triangle, _gaussian(X, Z))

        def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
            coef = _in_vectors(triangle, theta[: k * columns].reshape(k, columns)).T
            Z = theta[k * columns :].reshape(k, -1)
            block = _gaussian(X, Z)
            value, slope = self._loss(block @ coef)
            pull = block * (slope @ coef.T)
            along = solve_triangular(triangle, block.T @ slope, lower=True)
            return value, np.append(along, pull.T @ X - pull.sum(axis=0)[:, None] * Z)

        theta = _descended(loss, np.append(start, Z), 4 * k * X.size)
        coef = _in_vectors(triangle, theta[: k * columns].reshape(k, columns))
        return (theta[k * columns :].reshape(k, -1) + centre) * sigma, coef

    def _in_basis(self, triangle: np.ndarray, block: np.ndarray) -> np.ndarray:
        """Return the best coefficients (k, columns) of an orthonormal basis of the vectors' span."""
        basis = solve_triangular(triangle, block.T, lower=True).T
        columns = len(self.intercept)

        def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
            value, slope = self._loss(basis @ theta.reshape(-1, columns))
            return value, (basis.T @ slope).ravel()

        return _descended(loss, self._start(basis), block.size * columns).reshape(-1, columns)

    def _loss(self, products: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the cross-entropy of the soft labels, and its slope in the values."""
        logits = _SHARPNESS * (products + self.intercept)
        n, target = len(logits), self._soft_labels
        if self._apart:
            value = np.logaddexp(0, logits) - target * logits
            return float(value.sum() / n), _SHARPNESS * (expit(logits) - target) / n
        logs = log_softmax(logits, axis=1)
        return -float((target * logs).sum() / n), _SHARPNESS * (np.exp(logs) - target) / n

    @property
    def _soft_labels(self) -> np.ndarray:
        sharp = _SHARPNESS * self.decision
        return np.asarray(expit(sharp) if self._apart else softmax(sharp, axis=1))

    @property
    def _apart(self) -> bool:
        return self.pairs or self.decision.shape[1] == 1

    def _start(self, basis: np.ndarray) -> np.ndarray:
        """Return the least squares of the values, less what no label depends on."""
        if self._apart:
            near = np.clip(self.decision, -_CLIPPED, _CLIPPED)
        else:
            near = np.maximum(self.decision, self.decision.max(axis=1, keepdims=True) - 2 * _CLIPPED)
        normal = basis.T @ basis + _RIDGE * len(basis) * np.eye(basis.shape[1])
        return np.asarray(np.linalg.solve(normal, basis.T @ (near - self.intercept)).ravel())


def _gaussian(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return exp(−‖x − z‖²/2); what is certified of it later does not depend on its rounding."""
    squares = (X * X).sum(axis=1)[:, None] + (Z * Z).sum(axis=1) - 2 * (X @ Z.T)
    return np.asarray(np.exp(-np.maximum(squares, 0) / 2))


def _triangle(square: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor of kernel values of the vectors with each other."""
    mean = float(np.trace(square)) / len(square)
    for jitter in _JITTERS[:-1]:
        try:
            return np.asarray(cholesky(square + jitter * mean * np.eye(len(square)), lower=True))
        except np.linalg.LinAlgError:  # float32 kernel values of vectors that depend on each other
            continue
    return np.asarray(cholesky(square + _JITTERS[-1] * mean * np.eye(len(square)), lower=True))


def _in_vectors(triangle: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return the coefficients of the vectors, from those of an orthonormal basis of their span."""
    return np.asarray(solve_triangular(triangle, theta, trans="T", lower=True).T)


def _descended(
    loss: Callable[[np.ndarray], tuple[float, np.ndarray]], start: np.ndarray, products: int
) -> np.ndarray:
    steps = int(np.clip(_WORK / products, _FEWEST, _STEPS))
    result = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps, "ftol": 1e-8})
    return np.asarray(result.x)
