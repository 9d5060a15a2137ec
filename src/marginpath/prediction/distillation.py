"""The same labels from fewer vectors: coefficients, or vectors too, that imitate a classifier on some rows.

Only the order of the classes and the values near a boundary matter for labels. So what is matched are not the
decision values f but their soft labels, softmax(2f), or the labels of the rows themselves, by the
cross-entropy; of columns that decide between two classes each, 1/(1 + exp(−2f)). A ridge on ‖w̃‖² keeps
vectors from learning the rows by heart. The intercept is found too: sums of few Gaussians make no constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from ..kernels.functions import Kernel

_SHARPNESS = 2.0  # of the soft labels
_CLIPPED = 2.0  # decision values beyond this are not followed by the start
_RIDGE = 1e-6  # of the start, per row
_JITTERS = (1e-10, 1e-6, 1e-3)  # of the mean of k(z, z): the first that makes a matrix positive definite
_STEPS, _FEWEST, _WORK = 100, 40, 1e11  # steps of a descent, and the products that they may take
_MEMORY = 20  # pairs of steps that a descent keeps
_WIDE, _VARIANCE, _DRAWN = 64, 0.97, 2000  # features that are reduced to this share, seen in so many rows


class Fewer(NamedTuple):
    """What imitates a classifier.

    Attributes
    ----------
    vectors : array (k, d) or None
        None where the vectors are the given ones.
    coef : array (columns, k)
    intercept : array (columns,)
    """

    vectors: np.ndarray | None
    coef: np.ndarray
    intercept: np.ndarray


@dataclass(frozen=True)
class Distillation:
    """What is imitated on some rows, and by which loss.

    Parameters
    ----------
    X : array (n, d)
        The rows.
    target : array (n, columns)
        Soft labels between 0 and 1; see :func:`soft_labels`.
    apart : bool
        Whether every column decides between two classes, and not all columns together between as many.
    weight : array (n, columns), optional
        How much every row counts.

    Examples
    --------
    >>> from marginpath import Gaussian
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> task = Distillation(X, soft_labels(np.sin(2 * X), apart=True))
    >>> heavy, light = task.vectors(X[::12], Gaussian(0.5), ridges=(100.0, 0.0))
    >>> decision = Gaussian(0.5)(X, light.vectors) @ light.coef.T + light.intercept
    >>> bool(np.mean((decision > 0) == (np.sin(2 * X) > 0)) > 0.95)
    True
    >>> bool(np.abs(heavy.coef).sum() < np.abs(light.coef).sum())
    True
    """

    X: Any
    target: np.ndarray
    apart: bool = True
    weight: np.ndarray | None = None

    def coefficients(
        self, block: np.ndarray, square: np.ndarray, ridges: Sequence[float] = (0.0,)
    ) -> Iterator[Fewer]:
        """Yield coefficients for every ridge, by kernel values of rows and vectors."""
        triangle = _triangle(square)
        for theta in self._in_basis(triangle, block, ridges):
            yield Fewer(None, _in_vectors(triangle, theta[1:]), theta[0])

    def vectors(
        self, vectors: np.ndarray, kernel: Kernel, ridges: Sequence[float] = (0.0,)
    ) -> Iterator[Fewer]:
        """Yield vectors near the given ones, for a Gaussian, and their coefficients, for every ridge.

        Each descent starts where that of the ridge before has ended, so that they should decrease.
        """
        sigma: float = kernel.sigma  # type: ignore[attr-defined]
        dtype = np.result_type(self.X, np.float32)
        centre = np.asarray(self.X, dtype=np.float64).mean(axis=0)
        X, Z = (((np.asarray(part) - centre) / sigma).astype(dtype) for part in (self.X, vectors))
        halves = (X * X).sum(axis=1) / 2
        axes = _axes(X)
        X, Z = X @ axes, Z @ axes  # what of a row is across all axes is in its half square alone
        k, columns = len(Z), self.target.shape[1]
        triangle = _triangle(_gaussian(Z, (Z * Z).sum(axis=1) / 2, Z))
        first = next(self._in_basis(triangle, _gaussian(X, halves, Z), ridges[:1]))
        theta = np.append(first, Z).astype(np.float64)

        def loss(theta: np.ndarray, ridge: float) -> tuple[float, np.ndarray]:
            intercept, own, Z = _parts(theta, k, columns)
            coef, Z = _in_vectors(triangle, own).T.astype(dtype), Z.astype(dtype)
            block = _gaussian(X, halves, Z)
            value, slope = self._loss(block @ coef + intercept)
            pull = block * (slope.astype(dtype) @ coef.T)
            along = solve_triangular(triangle, block.T @ slope, lower=True) + 2 * ridge * own
            moves = pull.T @ X - pull.sum(axis=0)[:, None] * Z
            parts = slope.sum(axis=0), along.ravel(), moves.ravel()
            return value + ridge * float((own**2).sum()), np.concatenate(parts)

        for ridge in ridges:
            theta = _descended(loss, theta, ridge / len(X), 4 * k * X.size)
            intercept, own, Z = _parts(theta, k, columns)
            yield Fewer(Z @ axes.T.astype(np.float64) * sigma + centre, _in_vectors(triangle, own), intercept)

    def _in_basis(
        self, triangle: np.ndarray, block: np.ndarray, ridges: Sequence[float]
    ) -> Iterator[np.ndarray]:
        """Yield the best intercept, and below it coefficients (k, columns) of an orthonormal basis."""
        basis = np.insert(solve_triangular(triangle, block.T, lower=True).T, 0, 1.0, axis=1)
        columns = self.target.shape[1]
        weight = np.full(basis.shape[1], float((triangle**2).sum()) / len(triangle))  # the mean of k(z, z)
        weight[0] = 0  # of the intercept

        def loss(theta: np.ndarray, ridge: float) -> tuple[float, np.ndarray]:
            own = theta.reshape(-1, columns)
            value, slope = self._loss(basis @ own)
            pull = ridge * weight[:, None] * own
            return value + float((pull * own).sum()), (basis.T @ slope + 2 * pull).ravel()

        theta = self._start(basis)
        for ridge in ridges:
            theta = _descended(loss, theta, ridge / len(basis), block.size * columns)
            yield theta.reshape(-1, columns)

    def _loss(self, decision: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the cross-entropy of the soft labels, and its slope in the decision values."""
        logits = _SHARPNESS * decision
        if self.apart:
            fade = np.exp(-np.abs(logits))  # logaddexp and expit take three times as long
            value = np.maximum(logits, 0) + np.log1p(fade) - self.target * logits
            slope = np.where(logits >= 0, 1.0, fade) / (1 + fade) - self.target
        else:
            logs = log_softmax(logits, axis=1)
            value, slope = -self.target * logs, np.exp(logs) - self.target
        return float((self._share * value).sum()), _SHARPNESS * self._share * slope

    @cached_property
    def _share(self) -> Any:
        """Return what every row counts, 1 on average, over the number of rows."""
        n = len(self.target)
        return (
            1 / n if self.weight is None else self.weight / (n * max(self.weight.max(axis=1).mean(), 1e-300))
        )

    def _start(self, basis: np.ndarray) -> np.ndarray:
        """Return the least squares of the values, less what no label depends on."""
        least = np.exp(-4 * _SHARPNESS * _CLIPPED)
        values = np.log(np.maximum(self.target, least))
        if self.apart:
            values -= np.log(np.maximum(1 - self.target, least))
            near = np.clip(values / _SHARPNESS, -_CLIPPED, _CLIPPED)
        else:
            near = np.maximum(values / _SHARPNESS, -2 * _CLIPPED)
        normal = basis.T @ basis + _RIDGE * len(basis) * np.eye(basis.shape[1])
        return np.asarray(np.linalg.solve(normal, basis.T @ near).ravel())


def soft_labels(decision: np.ndarray, *, apart: bool) -> np.ndarray:
    """Return what decision values (n, columns) say of the labels, between 0 and 1.

    Examples
    --------
    >>> soft_labels(np.array([[0.0], [1.0]]), apart=True).round(2).T
    array([[0.5 , 0.88]])
    """
    sharp = _SHARPNESS * decision
    return np.asarray(expit(sharp) if apart else softmax(sharp, axis=1))


def _parts(theta: np.ndarray, k: int, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the intercept (columns,), coefficients (k, columns) of a basis, and k vectors."""
    intercept, own, Z = np.split(theta, [columns, (k + 1) * columns])
    return intercept, own.reshape(k, columns), Z.reshape(k, -1)


def _axes(X: np.ndarray) -> np.ndarray:
    """Return the directions (d, axes) in which vectors move: of many features, those in which rows vary."""
    d = X.shape[1]
    if d <= _WIDE:
        return np.eye(d, dtype=X.dtype)
    rows = X[:: -(-len(X) // _DRAWN)].astype(np.float64)
    shares, axes = np.linalg.eigh(rows.T @ rows)
    count = int(np.searchsorted(np.cumsum(shares[::-1]), _VARIANCE * shares.sum())) + 1
    return np.eye(d, dtype=X.dtype) if 2 * count > d else np.asarray(axes[:, -count:], dtype=X.dtype)


def _gaussian(X: np.ndarray, halves: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return exp(−‖x − z‖²/2); what is certified of it later does not depend on its rounding."""
    exponents = X @ Z.T
    exponents -= halves[:, None]
    exponents -= (Z * Z).sum(axis=1) / 2
    np.minimum(exponents, 0, out=exponents)
    return np.asarray(np.exp(exponents, out=exponents))


def _triangle(square: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor of kernel values of the vectors with each other."""
    square = square.astype(np.float64)
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
    loss: Callable[[np.ndarray, float], tuple[float, np.ndarray]],
    start: np.ndarray,
    ridge: float,
    products: int,
) -> np.ndarray:
    steps = int(np.clip(_WORK / products, _FEWEST, _STEPS))
    options = {"maxiter": steps, "ftol": 1e-8, "maxcor": _MEMORY}
    return np.asarray(minimize(loss, start, (ridge,), "L-BFGS-B", jac=True, options=options).x)
