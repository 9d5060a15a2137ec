"""From a file to a table with a target."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from ...extras import require

FORMATS = {
    "csv": (".csv", ".tsv", ".txt"),
    "parquet": (".parquet", ".pq"),
    "svmlight": (".svm", ".svmlight", ".libsvm"),
    "npz": (".npz",),
}
_PACKED = (".gz", ".bz2", ".xz")

#: Sparse files up to so many cells are made dense, and scaled like any table.
DENSE_CELLS = 10_000_000


class NotThere(ValueError):
    """A name was given for something that the file does not have."""


class Unusable(ValueError):
    """The data cannot be used as they are; the message says what to change."""


@dataclass(frozen=True, eq=False)
class Table:
    """Columns and, where there is one, the target.

    ``X`` is a pandas DataFrame, or a CSR array where the file is sparse and wide.

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

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Whether the columns have no names and are stored sparsely."""
        return bool(sp.issparse(self.X))

    def rows(self, index: np.ndarray) -> Table:
        """Return some of the rows."""
        X = self.X[index] if self.is_sparse else self.X.iloc[index]
        return Table(self.name, X, None if self.y is None else self.y[index], self.target)


def read(
    file: Path,
    target: str | None = None,
    *,
    drop: Sequence[str] = (),
    missing: Sequence[str] = (),
    format: str | None = None,
    labelled: bool = True,
    n_features: int | None = None,
    sparse: bool | None = None,
) -> Table:
    """Read a table.

    Parameters
    ----------
    file : path
        Its ending tells the format: see ``FORMATS``; also packed by gzip.
    target : str, optional
        The column with the classes (for npz, the array; "y" by default). svmlight has its own.
    drop : sequence of str
        Columns to leave out.
    missing : sequence of str
        Words in a csv file that stand for a missing value, beside the usual ones.
    format : str, optional
        Where the ending does not tell.
    labelled : bool
        Whether a target is needed; if not, it is taken where it is there.
    n_features : int, optional
        For svmlight, which does not say.
    sparse : bool, optional
        Whether svmlight stays sparse; by default where it is large.
    """
    kind = format_of(file, format)
    if not file.exists():
        raise FileNotFoundError(f"There is no file {file}.")
    if kind == "svmlight":
        return _svmlight(file, target, drop, n_features, sparse)
    frame = _npz(file, target or "y") if kind == "npz" else _frame(file, kind, missing)
    return _split(frame, file.name, (target or "y") if kind == "npz" else target, drop, labelled)


def format_of(file: Path, asked: str | None = None) -> str:
    """Return the format that was asked for, or that the ending of a file tells.

    Examples
    --------
    >>> format_of(Path("data/flowers.csv.gz"))
    'csv'
    """
    if asked is not None and asked not in FORMATS:
        raise NotThere(f"--format {asked} is none of {', '.join(FORMATS)}.")
    if asked is not None:
        return asked
    suffixes = [s.lower() for s in file.suffixes if s.lower() not in _PACKED]
    for kind, endings in FORMATS.items():
        if suffixes and suffixes[-1] in endings:
            return kind
    known = ", ".join(ending for endings in FORMATS.values() for ending in endings)
    raise NotThere(
        f"The ending of {file.name} does not tell what it holds; known are {known}. "
        f"Pass --format {' or '.join(FORMATS)}."
    )


def _frame(file: Path, kind: str, missing: Sequence[str]) -> Any:
    pd = _pandas()
    try:
        if kind == "parquet":
            require("pyarrow", extra="frame", what="Parquet files")
            return pd.read_parquet(file)
        return pd.read_csv(file, na_values=list(missing), **_dialect(file))
    except UnicodeDecodeError:
        raise Unusable(f"{file.name} is not text in UTF-8. Save it as “CSV UTF-8” and try again.") from None
    except pd.errors.EmptyDataError:
        raise Unusable(f"{file.name} is empty. It needs a line of column names, then a line a row.") from None
    except pd.errors.ParserError as error:
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise Unusable(
            f"{file.name} is not a regular table: {reason}. Every line needs as many values as the "
            f"first, and "
            f"a value that contains the separator needs quotes around it."
        ) from None
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise OSError(f"{file} could not be read as {kind}: {str(error).splitlines()[0]}") from None


def _dialect(file: Path) -> dict[str, str]:
    """Return the separator that the first line has most of, and the decimal comma that goes with “;”."""
    opened = gzip.open if file.suffix.lower() == ".gz" else open
    try:
        with opened(file, "rb") as stream:
            first, second = (stream.readline(100_000).decode("utf-8", "replace") for _ in range(2))
    except gzip.BadGzipFile as error:
        raise OSError(f"{file} is not packed by gzip, or damaged: {error}.") from None
    separator = max(",;\t|", key=first.count)
    decimal = "," if separator == ";" and "," in second and "." not in second else "."
    return {"sep": separator, "decimal": decimal}


def _npz(file: Path, target: str) -> Any:
    try:
        with np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (ValueError, zipfile.BadZipFile, EOFError, AttributeError):
        raise OSError(
            f"{file} is not an npz file of plain arrays, or it is damaged. Write it with "
            f"numpy.savez(file, X=X, y=y)."
        ) from None
    X = arrays.get("X")
    if X is None or X.ndim != 2 or X.dtype.kind not in "biuf":
        has = ", ".join(f"{name} {x.shape}" for name, x in arrays.items()) or "nothing"
        raise NotThere(f"{file.name} needs an array X of numbers, (rows, columns); it holds {has}.")
    frame = _numbered(X)
    if target in arrays:
        if arrays[target].shape != (len(X),):
            raise Unusable(
                f"{target} in {file.name} has shape {arrays[target].shape}; it needs one entry for each of "
                f"the {len(X)} rows of X."
            )
        frame[target] = arrays[target]
    return frame


def _svmlight(
    file: Path, target: str | None, drop: Sequence[str], n_features: int | None, sparse: bool | None
) -> Table:
    if target or drop:
        raise NotThere(
            "An svmlight file has its labels in front and no column names: leave out --target and --drop."
        )
    try:
        X, y = load_svmlight_file(str(file), n_features=n_features)
    except ValueError as error:
        if n_features is not None and "n_features" in str(error):
            raise Unusable(f"{file.name} has features that the model does not know: {error}") from None
        raise OSError(f"{file} is not an svmlight file: {str(error).splitlines()[0]}.") from None
    labels = y.astype(int) if np.all(y == np.round(y)) else y
    if sparse or (sparse is None and np.prod(X.shape, dtype=float) > DENSE_CELLS):
        return Table(file.name, sp.csr_array(X), labels, "label")
    return Table(file.name, _numbered(X.toarray()), labels, "label")


def _numbered(X: np.ndarray) -> Any:
    """Return a frame with the columns x1, x2 and so on."""
    return _pandas().DataFrame(X, columns=[f"x{j + 1}" for j in range(X.shape[1])])


def _pandas() -> Any:
    return require("pandas", extra="frame", what="Tables")


def _split(frame: Any, name: str, target: str | None, drop: Sequence[str], labelled: bool) -> Table:
    frame.columns = [str(column).strip() for column in frame.columns]
    columns = list(frame.columns)
    has = f"{name} has the columns {', '.join(columns[:30])}{', …' if len(columns) > 30 else ''}."
    if labelled and target is None:
        raise NotThere(f"Which column holds the classes? Pass --target COLUMN. {has}")
    if labelled and target not in columns:
        raise NotThere(f"There is no column {target!r}. {has}")
    if unknown := [column for column in drop if column not in columns]:
        raise NotThere(f"There is no column {unknown[0]!r} to drop. {has}")
    if len(frame) == 0:
        raise Unusable(f"{name} has no rows.")
    left_out = {*drop, target}
    X = frame[[column for column in columns if column not in left_out]]
    if X.shape[1] == 0:
        raise Unusable(f"{name} has no column left to learn from.")
    y = _labels(frame[target], str(target)) if target in columns else None
    return Table(name, X, y, target or "")


def _labels(column: Any, target: str) -> np.ndarray:
    """Return the target as numbers or text; refuse gaps in it."""
    gaps = np.flatnonzero(column.isna().to_numpy())
    if len(gaps):
        lines = ", ".join(str(i + 1) for i in gaps[:5])
        raise Unusable(
            f"{len(gaps)} {'rows have' if len(gaps) > 1 else 'row has'} no value in the target column "
            f"{target!r} (row {lines}{', …' if len(gaps) > 5 else ''}). Fill them in, or delete those rows."
        )
    values = np.asarray(column)
    if values.dtype.kind in "iub":
        return values.astype(str) if values.dtype.kind == "b" else values
    if values.dtype.kind == "f":
        return values.astype(int) if np.all(values == np.round(values)) else values
    return np.asarray([str(value).strip() for value in values])
