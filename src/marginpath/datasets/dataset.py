"""What every loader and generator returns."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Dataset"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples and labels of one data set, in a training and a test part.

    Parameters
    ----------
    name : str
        Name of the data set.
    X, X_test : ndarray or csr_array of shape (n, d)
        Samples; `X_test` is None where there is no test part.
    y, y_test : ndarray of int, shape (n,)
        Labels: -1 and +1, or 0, 1, 2, … for several classes.
    target_names : tuple of str
        Names of the classes, in increasing order of their labels.

    Examples
    --------
    >>> from marginpath.datasets import toy
    >>> toy().X.shape
    (80, 2)
    """

    name: str
    X: Any
    y: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64] | None
    target_names: tuple[str, ...]
