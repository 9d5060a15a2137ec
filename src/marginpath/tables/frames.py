"""From a data frame of any library to columns of three kinds: floats, times, and text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError

#: What people write for a missing number; in a column of text it is a level like any other.
GAPS = frozenset({"", "?", "-", ".", "na", "n/a", "nan", "null", "none", "<na>", "unknown", "missing"})


def column_names(X: Any) -> list[str]:
    """Return the names of the columns, x1, x2, … where there are none.

    Examples
    --------
    >>> column_names(np.eye(2))
    ['x1', 'x2']
    """
    frame = _frame(X)
    if frame is None:
        return [f"x{j + 1}" for j in range(np.shape(X)[1])]
    return [str(name) for name in frame.columns]


def columns_of(X: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name and the values of every column: float64, datetime64[us], or objects, text or None.

    Examples
    --------
    >>> import pandas as pd
    >>> dict(columns_of(pd.DataFrame({"age": [3, None], "food": ["hay", None]})))
    {'age': array([ 3., nan]), 'food': array(['hay', None], dtype=object)}
    """
    names, frame = column_names(X), _frame(X)
    if frame is None:
        for name, column in zip(names, np.asarray(X).T, strict=True):
            yield name, _array_values(column)
        return
    for j, name in enumerate(names):
        yield name, _values(frame[:, j])


def is_frame(X: Any) -> bool:
    """Whether X is a data frame, and no array."""
    return _frame(X) is not None


def n_rows(X: Any) -> int:
    """Return the number of rows."""
    frame = _frame(X)
    return int(np.shape(X)[0] if frame is None else frame.shape[0])


def words_of(values: np.ndarray) -> np.ndarray:
    """Return values as text, None where they are missing; a whole number has no decimals.

    Examples
    --------
    >>> words_of(np.array([1.0, np.nan, 2.5])).tolist()
    ['1', None, '2.5']
    """
    if values.dtype.kind == "O":
        return values
    gaps = np.isnat(values) if values.dtype.kind == "M" else np.isnan(values)
    return _objects([None if gap else _word(value) for value, gap in zip(values.tolist(), gaps, strict=True)])


def missing(values: np.ndarray) -> np.ndarray:
    """Return which values are missing.

    Examples
    --------
    >>> missing(np.array(["a", None], dtype=object))
    array([False,  True])
    """
    if values.dtype.kind == "O":
        return np.fromiter((value is None for value in values), dtype=bool, count=len(values))
    return np.asarray(np.isnat(values) if values.dtype.kind == "M" else np.isnan(values))


def _frame(X: Any) -> Any:
    """Return X as a narwhals frame, or None where it is an array."""
    if isinstance(X, np.ndarray):
        return None
    try:
        return nw.from_native(X, eager_only=True)
    except DuplicateError:
        names = [str(name) for name in X.columns]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"Two columns of the table have the name {twice!r}. Rename one of them.") from None
    except TypeError:
        sparse = hasattr(X, "tocsr")
        if np.ndim(X) == 2 and not sparse:
            return None
        advice = " Sparse features need no encoding: use LinearMarginPathClassifier." if sparse else ""
        raise ValueError(
            f"A table is a data frame such as pandas' or polars', or an array (rows, columns); got a "
            f"{type(X).__name__}.{advice}"
        ) from None


def _values(column: Any) -> np.ndarray:
    dtype = column.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        # Gaps of nullable columns have no place in an integer array, so that they go first.
        return np.asarray(column.cast(nw.Float64).fill_null(float("nan")).to_numpy(), dtype=np.float64)
    if dtype == nw.Date or dtype == nw.Datetime:
        if getattr(dtype, "time_zone", None):
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return np.asarray(column.cast(nw.Datetime("us")).to_numpy(), dtype="datetime64[us]")
    if dtype == nw.Duration:
        seconds = [None if gap is None else gap.total_seconds() for gap in column.to_list()]
        return np.array(seconds, dtype=np.float64)
    return _text(column.to_list())


def _array_values(column: np.ndarray) -> np.ndarray:
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    if column.dtype.kind == "M":
        return column.astype("datetime64[us]")
    return _text(column.tolist())


def _text(items: list[Any]) -> np.ndarray:
    """Return text, None for what is missing; a column of objects that are all numbers becomes one of them."""
    known = [item for item in items if not _is_gap(item)]
    if known and all(isinstance(item, (int, float, np.number)) for item in known):
        return np.array([np.nan if _is_gap(item) else float(item) for item in items])
    return _objects([None if _is_gap(item) else _word(item) for item in items])


def _is_gap(item: Any) -> bool:
    return item is None or item != item or str(item) in ("<NA>", "NaT")


def _word(value: Any) -> str:
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def _objects(items: list[Any]) -> np.ndarray:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array
