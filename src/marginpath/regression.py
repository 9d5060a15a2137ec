"""The regression picture that the classification one is drawn after.

Ridge regression regularizes least squares by λ; Landweber iteration, gradient descent on least squares,
by the number of steps. Both run from w = 0 to the interpolant of minimum norm, w† = X⁺y, and stopping
early is what protects from noise in y.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .arrays import Array, as_floating, namespace
from .schedules import require_positive


def ridge_path(X: Array, y: Array, lambdas: Sequence[float]) -> Array:
    """Return w_λ = argmin_w ‖X w − y‖² + λ ‖w‖² for every λ, one a row.

    With the singular value decomposition X = U S Vᵀ it is V diag(s/(s² + λ)) Uᵀy.

    Examples
    --------
    >>> import numpy as np
    >>> ridge_path(np.array([[1.0, 0.0]]), np.array([2.0]), [1.0, 0.0])
    array([[1., 0.],
           [2., 0.]])
    """
    xp, X, y = _checked(X, y)
    for value in lambdas:
        if not 0 <= value < float("inf"):
            raise ValueError(f"Each λ must be finite and at least 0, got {value!r}.")
    U, s, Vt = xp.linalg.svd(X, full_matrices=False)
    kept = s > max(X.shape) * float(xp.finfo(s.dtype).eps) * xp.max(s)
    s = xp.where(kept, s, xp.ones_like(s))
    coefficients = xp.where(kept, U.T @ y, xp.zeros_like(s))
    return xp.stack([Vt.T @ (coefficients * (s / (s * s + float(value)))) for value in lambdas])


def minimum_norm(X: Array, y: Array) -> Array:
    """Return w† = X⁺y, of smallest norm among the minimisers of ‖X w − y‖.

    Examples
    --------
    >>> import numpy as np
    >>> minimum_norm(np.array([[1.0, 1.0]]), np.array([2.0]))
    array([1., 1.])
    """
    return ridge_path(X, y, [0.0])[0, :]


def landweber(X: Array, y: Array, steps: int, step_size: float | None = None) -> Array:
    """Return w_0 = 0, w_1, …, w_steps of gradient descent on least squares, one a row.

    An update is w ← w + γ Xᵀ(y − X w), and w_t → w† at the rate of its smallest singular value.

    Parameters
    ----------
    step_size : float, optional
        γ, under 2/‖X‖². None takes 1/‖X‖².

    Examples
    --------
    >>> import numpy as np
    >>> landweber(np.array([[1.0, 1.0]]), np.array([2.0]), steps=2, step_size=0.25)
    array([[0.  , 0.  ],
           [0.5 , 0.5 ],
           [0.75, 0.75]])
    """
    xp, X, y = _checked(X, y)
    squared = float(xp.linalg.matrix_norm(X, ord=2)) ** 2
    γ = (1 / squared if squared > 0 else 1.0) if step_size is None else step_size
    require_positive("step_size", γ)
    if γ * squared >= 2:
        raise ValueError(
            f"step_size = {γ:.6g} cannot converge: it must be under 2/‖X‖² = {2 / squared:.6g}. "
            f"Use None for 1/‖X‖²."
        )
    path = [xp.zeros_like(X[0, :])]
    for _ in range(steps):
        w = path[-1]
        path.append(w + γ * (X.T @ (y - X @ w)))
    return xp.stack(path)


def discrepancy_step(X: Array, y: Array, path: Array, noise: float, factor: float = 1.0) -> int:
    """Return the first t with ‖X w_t − y‖ ≤ factor · noise, the discrepancy principle of Morozov (1966).

    A better fit than the noise in y is a fit of the noise. The last t where none fits so well.

    Parameters
    ----------
    path : array (steps, d)
        w_0, w_1, …, as of :func:`landweber` or :func:`ridge_path`.
    noise : float
        A bound on the norm of the noise in y.
    factor : float
        At least 1.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[1.0, 1.0]]), np.array([2.0])
    >>> discrepancy_step(X, y, landweber(X, y, steps=9, step_size=0.25), noise=0.6)
    2
    """
    xp, X, y = _checked(X, y)
    if not noise >= 0 or not factor >= 1:
        raise ValueError(f"noise must be at least 0 and factor at least 1, got {noise!r} and {factor!r}.")
    residuals = xp.linalg.vector_norm(path @ X.T - y, axis=1)
    fits = residuals <= factor * noise
    return int(xp.argmax(xp.astype(fits, xp.int8))) if bool(xp.any(fits)) else path.shape[0] - 1


def _checked(X: Array, y: Array) -> tuple[Any, Array, Array]:
    X, y = as_floating(X, "X"), as_floating(y, "y", ndim=(1,))
    if y.shape[0] != X.shape[0]:
        raise ValueError(f"y has {y.shape[0]} values, but X has {X.shape[0]} rows; one for each is needed.")
    return namespace(X), X, y
