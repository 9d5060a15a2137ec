"""A table with its target, and what can be wrong with one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np


class NotThere(ValueError):
    """A name was given for something that the file does not have."""


class Unusable(ValueError):
    """The data cannot be used as they are; the message says what to change."""


@dataclass(frozen=True, eq=False)
class Table:
    """Columns and, where there is one, the target.

    ``X`` is a pandas DataFrame, or a CSR array where the file is sparse and wide. ``lines`` are the rows of
    the file, counted from 1; ``notes`` say what was left out of it. In an array all columns are numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> table = Table("pets.csv", pd.DataFrame({"ears": [6, 12]}), np.array(["cat", "rabbit"]), "kind")
    >>> table.n_rows, table.rows(np.array([1])).y.tolist()
    (2, ['rabbit'])
    """

    name: str
    X: Any
    y: np.ndarray | None = None
    target: str = ""
    lines: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    is_array: bool = False

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Whether the columns have no names and are stored sparsely."""
        return hasattr(self.X, "tocsr")

    def rows(self, index: np.ndarray) -> Table:
        """Return some of the rows."""
        X = self.X[index] if self.is_sparse else self.X.iloc[index]
        y = None if self.y is None else self.y[index]
        return replace(self, X=X, y=y, lines=self.row_numbers[index])

    @property
    def row_numbers(self) -> np.ndarray:
        """The rows of the file, counted from 1."""
        return np.arange(1, self.n_rows + 1) if self.lines is None else self.lines

    @property
    def labelled(self) -> np.ndarray:
        """Which rows have a value in the target column."""
        if self.y is None:
            return np.zeros(self.n_rows, dtype=bool)
        return np.array([label is not None for label in self.y], dtype=bool)


def as_labels(values: list[Any]) -> np.ndarray:
    """Return classes as whole numbers, numbers, or text.

    Examples
    --------
    >>> as_labels([1.0, 2.0]), as_labels([True, False]), as_labels([" a", "b"])
    (array([1, 2]), array(['True', 'False'], dtype='<U5'), array(['a', 'b'], dtype='<U1'))
    """
    array = np.asarray(values)
    if array.dtype.kind in "iu":
        return array
    if array.dtype.kind == "f":
        return array.astype(int) if np.all(array == np.round(array)) else array
    return np.asarray([str(value).strip() for value in values])
