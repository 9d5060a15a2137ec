"""What a problem asks of labels and weights before it takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array, to_numpy
from ..gram.base import Gram

_SOME = 1000  # rows, among which every column most often has both classes


def require_gram(gram: object) -> None:
    """Refuse a matrix or samples where a Gram is needed."""
    if not isinstance(gram, Gram):
        raise TypeError(
            f"gram must be a Gram, got {type(gram).__name__}. Use Gram.from_kernel(X, kernel), "
            f"Gram.linear(X), or Gram.from_matrix(K) for a kernel matrix."
        )


def check_labels(labels: np.ndarray, n: int) -> None:
    """Refuse labels that are not −1, 0 or +1, or not one a sample."""
    if labels.ndim not in (1, 2) or labels.shape[0] != n or labels.size == 0:
        raise ValueError(
            f"y has shape {labels.shape}, but the Gram matrix has {n} samples: ({n},) or ({n}, k) is needed."
        )
    if not np.all((labels == 1) | (labels == -1) | (labels == 0)):  # sorting many takes long
        values = np.unique(labels[~_missing(labels)])
        given = ", ".join(str(v) for v in values[:5].tolist()) + (" …" if values.size > 5 else "")
        raise ValueError(
            f"y must contain only −1 and +1 (0 leaves a sample out), got {given or 'missing values'}"
            f"{' and missing values' if _missing(labels).any() and values.size else ''}. "
            f"Map your classes first, for example y = np.where(y == positive, 1, -1)."
        )


def _missing(labels: np.ndarray) -> np.ndarray:
    return np.asarray(labels != labels)  # NaN alone differs from itself, in any dtype


def check_classes(labels: np.ndarray, mass: np.ndarray) -> None:
    """Refuse a column that has samples of one class only."""
    some = slice(None, None, 1 + len(labels) // _SOME)
    for sign in (1, -1):
        if np.all(np.any((labels[some] == sign) & (mass[some] > 0), axis=0)):
            continue
        absent = ~np.any((labels == sign) & (mass > 0), axis=0)
        if np.any(absent):
            where = "" if labels.ndim == 1 else f" in column(s) {np.flatnonzero(absent).tolist()}"
            hint = " For labels 0 and 1 give 2 * y - 1." if np.min(labels) == 0 else ""
            raise ValueError(
                f"y has no sample of class {sign:+d}{where} (of positive weight). "
                f"Both classes are needed to separate them.{hint}"
            )


def representable(mass: np.ndarray, dtype: Any, xp: Any) -> np.ndarray:
    """Return weights that the dtype does not take for 0 where they are over 0; refuse too large ones."""
    numbers = xp.finfo(dtype)
    if mass.max() > float(numbers.max):
        raise ValueError(
            f"sample_weight has {mass.max():.3g}, more than {dtype} can hold. Divide the weights, or pass "
            f"float64 samples."
        )
    return np.where(mass > 0, np.maximum(mass, float(numbers.smallest_normal)), 0.0)


def checked_weights(sample_weight: Array | None, n: int) -> np.ndarray:
    """Return sample weights, ones by default; refuse what are none."""
    if sample_weight is None:
        return np.ones(n)
    weights = to_numpy(sample_weight).astype(np.float64)
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}, but ({n},) is needed.")
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ValueError(
            "sample_weight must be finite and not negative: they count how often a sample occurs."
        )
    return weights


def checked_rows(rows: Any, n: int) -> np.ndarray:
    """Return the numbers of some of n rows, each once; a mask and numbers from the end will do too.

    Examples
    --------
    >>> checked_rows([2, -1, 2], 4)
    array([2, 3])
    """
    index = np.asarray(rows)
    try:
        return np.unique(np.arange(n)[index if index.size else index.astype(int)])
    except IndexError as error:
        raise ValueError(f"watched must be numbers of rows under {n}, or a mask of {n}: {error}.") from error
