"""The dual problem of regression: a Gram matrix, targets, sample weights.

With f = K a, a = −u, and a loss ℓ of the residual, the dual of min ½‖w‖² + (1/λ) Σ ℓ(y_i − f(x_i)) is

    min ½ aᵀK a − yᵀa + Σ_i (1/λ) ℓ*(λ a_i).

As λ → 0 it becomes min ½ aᵀK a − yᵀa + ε‖a‖₁, the dual of the interpolant of minimum norm (up to ε).
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from ..arrays import Array, to_numpy
from ..gram.base import Gram
from ..losses import Loss, ResidualLoss
from .checks import checked_weights, require_gram
from .classification import Problem


class RegressionProblem(Problem):
    """One or many regressions on the same samples, a column each, in the form that the solvers take.

    The dual variable is u = −a, as in :class:`Problem`, so that decision values are −S there and predictions
    are here.

    Parameters
    ----------
    gram : Gram
        The kernel matrix of the n samples.
    y : array (n,) or (n, k)
        Targets; all results have its shape.
    sample_weight : array (n,), optional
        Multiplicities: weight 2 is the sample twice.
    counted : array of bool of the shape of y, optional
        Which samples count in which column; by default all do.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> X, y = np.array([[1.0], [2.0]]), np.array([2.0, 4.0])
    >>> problem = RegressionProblem(mp.Gram.linear(X), y)
    >>> path = mp.run(mp.DualDescent(mp.Constant(1e-6), loss=mp.LeastSquares()), problem, steps=500)
    >>> problem.predictions(path.last.scores).round(3)
    array([2., 4.])
    """

    def __init__(
        self, gram: Gram, y: Array, sample_weight: Array | None = None, *, counted: Array | None = None
    ) -> None:
        require_gram(gram)
        targets = to_numpy(y).astype(np.float64)
        n = gram.shape[0]
        if targets.ndim not in (1, 2) or targets.shape[0] != n or targets.size == 0:
            raise ValueError(
                f"y has shape {targets.shape}, but the Gram matrix has {n} samples: ({n},) or ({n}, k) is "
                f"needed."
            )
        if not np.all(np.isfinite(targets)):
            raise ValueError("y must be finite, but has missing or infinite values. Leave these rows out.")
        inside = np.ones(targets.shape) if counted is None else to_numpy(counted).astype(np.float64)
        if inside.shape != targets.shape:
            raise ValueError(f"counted has shape {inside.shape}, but that of y, {targets.shape}, is needed.")
        weights = checked_weights(sample_weight, n)
        self.gram, self.intercept = gram, False
        self.Y, self.targets = self._array(inside), self._array(targets)
        self.mass = self._array(inside * (weights if targets.ndim == 1 else weights[:, None]))
        if not np.all(np.any(to_numpy(self.mass) > 0, axis=0)):
            raise ValueError("Every column needs a sample of positive weight.")
        self.box_scale = self._array(np.ones(targets.shape[1:]))
        self.sample_weight = None if sample_weight is None else self._array(weights)

    def predictions(self, scores: Array) -> Array:
        """Return f(x_i) = −S_i."""
        return -scores

    def residuals(self, scores: Array) -> Array:
        """Return y_i − f(x_i)."""
        return self.targets + scores

    def check_loss(self, loss: Any) -> None:
        """Refuse a loss of the margin."""
        if not isinstance(loss, ResidualLoss):
            raise TypeError(
                f"Regression needs a loss of the residual, such as LeastSquares() or Absolute(), "
                f"got {loss!r}. Losses of the margin are for Problem."
            )

    def prox(self, loss: Loss | ResidualLoss, p: Array, step: Array, box: Array) -> Array:
        """Return argmin_u y u + b ℓ*(−u/b) + (u − p)² / (2 step)."""
        return -loss.prox_conjugate(step * self.targets - p, step, box)

    def loss_terms(self, loss: Any, u: Array, scores: Array, box: Array) -> Array:
        """Return b ℓ(r) + y u + b ℓ*(−u/b) of every sample."""
        xp = self.xp
        b = xp.where(box > 0, box, xp.ones_like(box))
        low, high = (xp.full_like(u, end) for end in loss.box)
        a = xp.minimum(xp.maximum(-u / b, low), high)  # at an end of the box, but for rounding
        terms = b * (loss.value(self.residuals(scores)) + loss.conjugate(a)) + self.targets * u
        return xp.where(box > 0, terms, xp.zeros_like(terms))

    def columns(self, index: Array) -> RegressionProblem:
        """Return the problem of some of the columns, on the same Gram matrix."""
        part = object.__new__(RegressionProblem)
        part.gram, part.sample_weight, part.intercept = self.gram, self.sample_weight, False
        for name in ("Y", "targets", "mass", "box_scale"):
            setattr(part, name, self.xp.take(getattr(self, name), index, axis=-1))
        return part

    def fingerprint(self) -> dict[str, Any]:
        """Return what tells this problem from another, the targets among it."""
        before = super().fingerprint()
        targets = hashlib.sha256(np.ascontiguousarray(to_numpy(self.targets)).data).hexdigest()
        return {**before, "labels": before["labels"] + targets}
