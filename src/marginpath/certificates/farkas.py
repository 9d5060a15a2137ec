"""That nothing separates, proved in whole numbers.

By Gordan's theorem, a form of Farkas' lemma, exactly one of two things exists: w with y_i⟨w, x_i⟩ > 0 for
all i, or v ≥ 0, not 0, with Σ_i v_i y_i x_i = 0. The second is a proof that anyone can check without
rounding: the numbers in X are dyadic fractions, and v is made of whole numbers. A linear program in floating
point guesses which v_i are over 0; a system of equations in rational numbers says what they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from .bounds import contradiction

_LARGEST_SYSTEM = 80  # unknowns; the digits of exact numbers grow with their number
_TRIES = 4  # corners of the polytope that are looked at


@dataclass(frozen=True)
class Farkas:
    """A proof that nothing separates: v over 0 on ``samples``, 0 elsewhere, with Σ_i v_i y_i x_i = 0.

    Attributes
    ----------
    samples : array of int
        The samples that take part.
    weights : tuple of int
        Their v_i, whole numbers over 0 of any size.
    intercept : bool
        Whether also Σ_i v_i y_i = 0, so that no ⟨w, x⟩ + b separates either.
    """

    samples: np.ndarray
    weights: tuple[int, ...]
    intercept: bool = False

    def holds(self, X: Any, y: Any) -> bool:
        """Check the proof on the data, in rational arithmetic.

        Examples
        --------
        >>> proof = nonseparability(np.array([[1.0], [2.0], [3.0]]), [1, -1, 1], intercept=True)
        >>> proof.weights, proof.holds(np.array([[1.0], [2.0], [3.0]]), [1, -1, 1])
        ((1, 2, 1), True)
        >>> proof.holds(np.array([[1.0], [2.0], [3.5]]), [1, -1, 1])
        False
        """
        if not self.weights or min(self.weights) <= 0:
            return False
        rows = _equations(X, np.asarray(y, dtype=np.float64), self.samples, self.intercept)
        return all(sum(map(int.__mul__, row, self.weights)) == 0 for row in rows)


def nonseparability(X: Any, y: Any, *, intercept: bool = False) -> Farkas | None:
    """Prove that no w has y_i⟨w, x_i⟩ > 0 for all i; with an intercept, that no w and b do.

    Parameters
    ----------
    X : array or sparse matrix (n, d)
        Finite floats; the proof is about these numbers, every bit of them.
    y : array (n,)
        Labels −1 and +1; samples with 0 are left out.
    intercept : bool
        Whether ⟨w, x⟩ + b is to be excluded, too.

    Returns
    -------
    Farkas or None
        None says nothing: the samples may be separable, or no proof of at most 80 samples was found.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> nonseparability(X, [1, 1, -1, -1], intercept=True).weights  # exclusive or
    (1, 1, 1, 1)
    >>> nonseparability(X[1:], [1, -1, -1], intercept=True) is None  # separable
    True
    """
    signs = np.asarray(y, dtype=np.float64)
    if (pair := contradiction(X, signs)) is not None:
        return Farkas(np.array(pair), (1, 1), intercept)
    Z = _signed(X, signs, intercept)
    n = Z.shape[1]
    stack = sp.vstack if sp.issparse(Z) else np.vstack
    constraints = stack([Z, np.ones((1, n))])
    target = np.append(np.zeros(Z.shape[0]), 1.0)
    counted, rng = np.flatnonzero(signs), np.random.default_rng(0)
    for _ in range(_TRIES):
        corner = linprog(rng.random(n), A_eq=constraints, b_eq=target, method="highs-ds")
        if corner.x is None:
            return None
        samples = counted[corner.x > 1e-12]
        if len(samples) > _LARGEST_SYSTEM:
            return None
        weights = _solution(_equations(X, signs, samples, intercept), len(samples))
        if weights is not None:
            return Farkas(samples, weights, intercept)
    return None


def _signed(X: Any, signs: np.ndarray, intercept: bool) -> Any:
    """Return Zᵀ of the samples that count, features scaled to about 1, as the program's tolerances ask."""
    counted = np.flatnonzero(signs)
    if sp.issparse(X):
        Z = sp.diags_array(signs[counted]) @ sp.csr_array(X)[counted].astype(np.float64)
        scale = np.abs(Z).max(axis=0).toarray().ravel()
        Z = (Z @ sp.diags_array(1 / np.where(scale > 0, scale, 1))).T
        return sp.vstack([Z, signs[None, counted]], format="csr") if intercept else Z
    Z = (signs[counted, None] * np.asarray(X, dtype=np.float64)[counted]).T
    Z = Z / np.where((scale := np.abs(Z).max(axis=1, keepdims=True)) > 0, scale, 1)
    return np.vstack([Z, signs[counted]]) if intercept else Z


def _equations(X: Any, signs: np.ndarray, samples: np.ndarray, intercept: bool) -> list[list[int]]:
    """Return the rows of Σ_i v_i y_i x_i = 0 in whole numbers: each feature times a power of two."""
    rows = sp.csr_array(X)[samples].toarray() if sp.issparse(X) else np.asarray(X)[samples]
    rows = rows[:, np.any(rows != 0, axis=0)].astype(np.float64) * signs[samples, None]
    features = [[Fraction(value) for value in column] for column in rows.T.tolist()]
    if intercept:
        features.append([Fraction(value) for value in signs[samples].tolist()])
    equations = []
    for feature in features:
        scale = math.lcm(*(value.denominator for value in feature))
        equations.append([int(value * scale) for value in feature])
    return equations


def _solution(equations: list[list[int]], k: int) -> tuple[int, ...] | None:
    """Return whole numbers over 0 that solve the equations, if they determine them but for a factor.

    Elimination without fractions (Bareiss, Math. Comp. 22, 1968): every division leaves no rest, and all
    pivots are equal in the end.
    """
    rows, pivots, last = [list(row) for row in equations], list[int](), 1
    for column in range(k):
        rank = len(pivots)
        at = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if at is None:
            continue
        rows[rank], rows[at] = rows[at], rows[rank]
        lead, pivot = rows[rank], rows[rank][column]
        for i, row in enumerate(rows):
            if i != rank:
                factor = row[column]
                rows[i] = [(pivot * a - factor * b) // last for a, b in zip(row, lead, strict=True)]
        pivots.append(column)
        last = pivot
    if len(pivots) != k - 1:
        return None
    free = next(column for column in range(k) if column not in pivots)
    v = [last] * k
    for row, column in zip(rows, pivots, strict=False):
        v[column] = -row[free]
    v = [value if last > 0 else -value for value in v]
    divisor = math.gcd(*v)
    return tuple(value // divisor for value in v) if min(v) > 0 else None
