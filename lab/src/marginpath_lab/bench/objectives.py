"""What the SVM at a C says of given coefficients, in float64 and from the kernel matrix alone.

    P(w, b) = ½ ‖w‖² + C Σ_i max(0, 1 − y_i f(x_i)),   D(a) = Σ_i y_i a_i − ½ aᵀ K a,   f = K a + b,

and D ≤ P for all a with Σ a_i = 0 and 0 ≤ y_i a_i ≤ C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Objectives:
    """Of several models, one number each; a model of NaN has NaN for all.

    Parameters
    ----------
    dual, primal : array (models,)
    scaled : array (models,)
        The primal objective of the same classifier, divided by its smallest margin where that is positive:
        then no sample has a loss. A large C makes much of a margin of 0.9999.
    error : array (models,)
        The share of samples on the wrong side.
    imbalance : array (models,)
        |Σ a_i| / Σ |a_i|: where it is not 0 but for rounding, the dual objective bounds nothing.

    Examples
    --------
    >>> K, y = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([1.0, -1.0])  # samples at 1 and −1
    >>> best = Objectives.of(K, y, coefficients=[[0.5], [-0.5]], intercepts=[0.0], C=[1.0])
    >>> best.dual, best.primal, best.error
    (array([0.5]), array([0.5]), array([0.]))
    """

    dual: np.ndarray
    primal: np.ndarray
    scaled: np.ndarray
    error: np.ndarray
    imbalance: np.ndarray

    @classmethod
    def of(
        cls, K: np.ndarray, y: np.ndarray, *, coefficients: object, intercepts: object, C: object
    ) -> Objectives:
        """Measure models of one column of labels ±1: coefficients (n, models), the rest (models,)."""
        a, b, C = (np.asarray(values, dtype=np.float64) for values in (coefficients, intercepts, C))
        scores = K @ a
        squared = np.sum(a * scores, axis=0)
        margins = y[:, None] * (scores + b)
        primal = squared / 2 + C * np.sum(np.maximum(0, 1 - margins), axis=0)
        smallest = np.min(margins, axis=0)
        hard = squared / 2 / np.where(smallest > 0, smallest, 1) ** 2
        wrong = np.mean((scores + b > 0) != (y[:, None] > 0), axis=0)
        return cls(
            dual=y @ a - squared / 2,
            primal=primal,
            scaled=np.where(smallest > 0, np.minimum(primal, hard), primal),
            error=np.where(np.isnan(primal), np.nan, wrong),
            imbalance=np.abs(np.sum(a, axis=0)) / np.sum(np.abs(a), axis=0),
        )

    @property
    def gap(self) -> np.ndarray:
        """The duality gap over the primal objective, scaled where it can be: proved without any rival."""
        return np.asarray(1 - self.dual / self.scaled)

    def excess(self, reference: Objectives) -> dict[str, np.ndarray]:
        """How far both objectives are from those of a solution, relatively.

        A dual objective over the solution's counts too, as only coefficients out of bounds have one.
        """
        return {
            "dual": np.abs(self.dual / reference.dual - 1),
            "primal": self.primal / reference.primal - 1,
            "scaled": self.scaled / reference.scaled - 1,
        }
