"""Columns on very different scales: said once, with what to do, where it probably costs accuracy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

#: At most so many numbers are looked at, but always so many rows.
NUMBERS, ROWS = 2_000_000, 200
#: Columns lie apart where their spreads are less than this part of the spread of all numbers.
APART = 0.05
#: A column tells something about the classes where its F statistic is at least this.
TELLS = 10.0


class UnscaledDataWarning(UserWarning):
    """The columns are on such different scales that some of those that tell the classes apart hardly count.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("ignore", UnscaledDataWarning)  # for those who know it
    """


def warn_of_scales(X: Any, codes: np.ndarray, names: Any, *, hidden: float, apart: bool, who: str) -> None:
    """Warn where a column of a far smaller spread than others tells more of the classes than all of those.

    That is no matter of the spreads alone: pixels at the border, rare words and levels have small ones too,
    and tell little. Only columns of which no value fills half are looked at.

    Parameters
    ----------
    X : array (n_samples, n_features)
        Anything but a dense NumPy array is left alone.
    codes : array of int (n_samples,)
        Classes.
    names : sequence of str or None
        Names of the columns.
    hidden : float
        A column is hidden by another whose standard deviation is so many times its own.
    apart : bool
        Whether to warn too where the means of the columns differ far more than the values in each.
    who : str
        The estimator.
    """
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.shape[1] < 2:
        return
    rows = slice(None, None, max(1, len(X) // max(ROWS, NUMBERS // X.shape[1])))
    X, codes = X[rows].astype(np.float64), codes[rows]
    reason = _hidden(X, codes, names, hidden) or (_apart(X) if apart else None)
    if reason:
        warnings.warn(
            f"{reason} Scale the columns: make_pipeline(StandardScaler(), {who}(...)). For tables with "
            f"categories or gaps there is TablePathClassifier, which does it by itself.",
            UnscaledDataWarning,
            stacklevel=4,
        )


def _hidden(X: np.ndarray, codes: np.ndarray, names: Any, factor: float) -> str | None:
    """Return a sentence on the hidden column that tells most, if it tells more than those that hide it."""
    spread = X.std(axis=0)
    small = np.flatnonzero((spread > 0) & (spread < spread.max() / factor))
    middle = np.median(X[:, small], axis=0)
    small = small[np.median(np.abs(X[:, small] - middle), axis=0) > 0]
    if not len(small):
        return None
    told = explained(X, codes)
    best, largest = small[told[small].argmax()], int(spread.argmax())
    seen = told[spread >= spread.max() / factor].max()
    n, k = len(codes), len(np.unique(codes))
    if told[best] <= seen or told[best] * (n - k) < TELLS * (k - 1) * (1 - told[best]):
        return None
    large, little = (str(names[j]) if names is not None else f"column {j}" for j in (largest, best))
    return (
        f"The spread of {large} is {spread[largest] / spread[best]:,.0f} times that of {little}, which tells "
        f"more about the classes and hardly counts beside it."
    )


def explained(X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the share of the variance of every column that lies between the classes; 0 for constants.

    Examples
    --------
    >>> explained(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 0, 1, 1]))
    array([1., 0.])
    """
    apart, whole = X - X.mean(axis=0), X.var(axis=0)
    between = sum(np.mean(codes == k) * apart[codes == k].mean(axis=0) ** 2 for k in np.unique(codes))
    return np.asarray(np.divide(between, whole, out=np.zeros(X.shape[1]), where=whole > 0))


def _apart(X: np.ndarray) -> str | None:
    within, whole = float(X.var(axis=0).mean()), float(X.var())
    if not 0 < within < APART * whole:
        return None
    return (
        f"The means of the columns differ far more than the values in each: {1 - within / whole:.1%} of the "
        f"variance of X is between the columns, where it tells no two samples apart."
    )
