"""Parquet files that need not fit into memory: read in batches, into a file that is mapped."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..extras import require
from ..mapped import mapped_array

__all__ = ["MappedRows", "read_parquet"]

logger = logging.getLogger("marginpath")

_BATCH = 65_536  # rows that are read at a time
_LOST = 0.01  # of a column's standard deviation, by which float32 may round it without a warning
_TABLES = "read it with pandas: marginpath.tables.TablePathClassifier takes such columns"


class MappedRows(NamedTuple):
    """Rows that lie in a file, and their labels.

    Attributes
    ----------
    X : memory-mapped array of float32 (n_samples, n_features)
        The system reads what is used of it, and lets go of it where memory is short.
    y : array (n_samples,)
        The labels, in memory.
    feature_names : list of str
        The columns of X.
    """

    X: np.ndarray
    y: np.ndarray
    feature_names: list[str]


def read_parquet(
    path: str | os.PathLike[str],
    target: str,
    *,
    columns: Sequence[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> MappedRows:
    """Copy a parquet file, or all of a folder, into a memory-mapped array: some rows are in memory at a time.

    The copy, 4 bytes for each row and column, is a temporary file without a name, which is gone when nobody
    uses the array any more. Files of a folder are taken in the order of their names. The logger
    ``marginpath`` has a line for each.

    Parameters
    ----------
    path : path
        A file, or a folder with files ``*.parquet``, also in folders within.
    target : str
        The column with the labels.
    columns : sequence of str, optional
        The columns of X; all but the target by default. Numbers or booleans, none of them missing.
    folder : path, optional
        Where the copy lies; that of the system for temporary files by default, which should be on a disk.

    Returns
    -------
    MappedRows
        X, y and the names of the columns.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd, marginpath as mp
    >>> table = pd.DataFrame({"width": [1.0, 2.0, 3.0], "height": [1, 0, 1], "kind": ["a", "b", "a"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table.to_parquet(f"{folder}/table.parquet")
    ...     X, y, names = mp.datasets.read_parquet(f"{folder}/table.parquet", target="kind")
    >>> X
    memmap([[1., 1.],
            [2., 0.],
            [3., 1.]], dtype=float32)
    >>> y, names
    (array(['a', 'b', 'a'], dtype='<U1'), ['width', 'height'])
    """
    files = _files(Path(path))
    names, n = _surveyed(files, target, columns)
    if n == 0:
        raise ValueError(f"{path} has no rows.")
    advice = "Pass folder= with a folder on a disk that has room."
    X = mapped_array((n, len(names)), np.float32, "The copy", advice, folder)
    labels, start, spreads = [], 0, [_Spread() for _ in names]
    for file in files:
        with _opened(file) as table:
            for batch in table.iter_batches(_BATCH, columns=[*names, target], use_threads=False):
                rows = X[start : start + batch.num_rows]
                for j, column in enumerate(names):
                    numbers = _numbers(batch.column(column), column, file)
                    rows[:, j] = numbers
                    spreads[j].add(numbers, rows[:, j])
                labels.append(_labels(batch.column(target), target, file))
                start += batch.num_rows
        logger.info("%s is read: %s of %s rows.", file.name, f"{start:,}", f"{n:,}")
    _warn_of_rounding(dict(zip(names, spreads, strict=True)))
    return MappedRows(X, np.concatenate(labels), names)


class _Spread:
    """By how much float32 rounds a column at most, and how far it spreads, batch after batch."""

    def __init__(self) -> None:
        self.rounded, self.count, self.mean, self.squares = 0.0, 0, 0.0, 0.0
        self.origin: Any = None  # the first number, from which all others are apart

    def add(self, numbers: np.ndarray, single: np.ndarray) -> None:
        """Take the numbers of a batch, and what float32 makes of them."""
        if np.can_cast(numbers.dtype, np.float32) or not len(numbers):
            return  # nothing is rounded
        whole = numbers.astype(np.int64 if numbers.dtype.kind in "iu" else np.float64)
        if self.origin is None:
            self.origin = whole[0], float(numbers[0])
        exact = (whole - self.origin[0]).astype(np.float64)  # float64 rounds large whole numbers, too
        self.rounded = max(self.rounded, float(np.max(np.abs(single - self.origin[1] - exact))))
        count, apart = self.count + len(exact), float(exact.mean()) - self.mean
        self.squares += float(exact.var()) * len(exact) + apart**2 * self.count * len(exact) / count
        self.mean, self.count = self.mean + apart * len(exact) / count, count

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return float(np.sqrt(self.squares / max(self.count, 1)))


def _warn_of_rounding(spreads: dict[str, _Spread]) -> None:
    """Warn of columns of which float32 keeps too little of what tells rows apart, such as time stamps."""
    lost = {name: spread for name, spread in spreads.items() if spread.rounded > _LOST * spread.deviation > 0}
    if lost:
        told = ", ".join(
            f"{name!r} by up to {spread.rounded:.3g}, with a standard deviation of {spread.deviation:.3g}"
            for name, spread in lost.items()
        )
        warnings.warn(
            f"The copy is in float32, which rounds {told}. Take what they have in common from such columns "
            f"before, for example the first time from time stamps, scale what is tiny, or leave them out by "
            f"columns=.",
            UserWarning,
            stacklevel=3,
        )


def _files(path: Path) -> list[Path]:
    """Return the file, or those of a folder in order."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}.")
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise FileNotFoundError(f"The folder {path} has no files *.parquet.")
    return files


def _opened(file: Path) -> Any:
    parquet = require("pyarrow.parquet", extra="frame", what="Parquet files")
    try:
        return parquet.ParquetFile(file)
    except (OSError, ValueError) as error:
        raise ValueError(f"{file} could not be read as parquet: {str(error).splitlines()[0]}") from None


def _surveyed(files: list[Path], target: str, columns: Sequence[str] | None) -> tuple[list[str], int]:
    """Return the columns of X, and the number of rows; every file must have them, and numbers in them."""
    names, n = list(columns or ()), 0
    for file in files:
        with _opened(file) as table:
            schema, n = table.schema_arrow, n + table.metadata.num_rows
        names = names or [name for name in schema.names if name != target]
        if target in names or not names:
            raise ValueError(
                f"X needs columns, and none of them the target {target!r}; got {', '.join(names) or 'none'}."
            )
        for name in (target, *names):
            if name not in schema.names:
                raise ValueError(f"{file.name} has no column {name!r}; it has {', '.join(schema.names)}.")
        for name in names:
            _require_numbers(schema.field(name).type, name, file)
    return names, n


def _require_numbers(kind: Any, column: str, file: Path) -> None:
    """Refuse a column of anything but numbers and booleans."""
    types = require("pyarrow.types", extra="frame", what="Parquet files")
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise ValueError(
            f"Column {column!r} of {file.name} holds {kind}, and numbers are needed. Leave it out by "
            f"columns=, or {_TABLES}."
        )


def _numbers(values: Any, column: str, file: Path) -> np.ndarray:
    """Return a column of a batch, which float32 can hold."""
    numbers = values.to_numpy(zero_copy_only=False)
    if values.null_count or (numbers.dtype.kind == "f" and np.isnan(numbers).any()):
        raise ValueError(
            f"Column {column!r} of {file.name} has missing values. Fill them in, leave it out by columns=, "
            f"or {_TABLES}."
        )
    with np.errstate(over="ignore"):
        held = np.isfinite(numbers.astype(np.float32)).all()
    if not held:
        raise ValueError(f"Column {column!r} of {file.name} has values that float32 cannot hold. Scale it.")
    return np.asarray(numbers)


def _labels(values: Any, target: str, file: Path) -> np.ndarray:
    """Return the labels of a batch."""
    labels = np.array(values.to_pylist())
    if values.null_count or (labels.dtype.kind == "f" and np.isnan(labels).any()):
        raise ValueError(
            f"The target {target!r} of {file.name} has missing values. Leave these rows out: nothing can be "
            f"learned from them."
        )
    return labels
