"""From a file to a table with a target."""

from __future__ import annotations

import codecs
import gzip
import re
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...extras import require
from .table import NotThere, Table, Unusable, as_labels

__all__ = ["FORMATS", "NotThere", "Table", "Unusable", "format_of", "read"]

FORMATS = {
    "csv": (".csv", ".tsv", ".txt"),
    "parquet": (".parquet", ".pq"),
    "svmlight": (".svm", ".svmlight", ".libsvm"),
    "npz": (".npz",),
}
_PACKED = (".gz", ".bz2", ".xz")

#: Sparse files up to so many cells are made dense, and scaled like any table.
DENSE_CELLS = 10_000_000


def read(
    file: Path,
    target: str | None = None,
    *,
    drop: Sequence[str] = (),
    missing: Sequence[str] = (),
    format: str | None = None,
    encoding: str | None = None,
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
    encoding : str, optional
        Of a csv file: "latin-1", "cp1252", …; UTF-8 by default.
    labelled : bool
        Whether a target is needed, and rows without one are left out; if not, it is taken where it is there.
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
    frame = _npz(file, target or "y") if kind == "npz" else _frame(file, kind, missing, encoding)
    table = _split(frame, file.name, (target or "y") if kind == "npz" else target, drop, labelled)
    return replace(table, is_array=kind == "npz")


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


def _frame(file: Path, kind: str, missing: Sequence[str], encoding: str | None) -> Any:
    pd = _pandas()
    try:
        if kind == "parquet":
            require("pyarrow", extra="frame", what="Parquet files")
            return pd.read_parquet(file)
        codec = codecs.lookup(encoding or "utf-8").name
        return pd.read_csv(file, na_values=list(missing), encoding=codec, **_dialect(file, codec))
    except LookupError:
        raise NotThere(f"--encoding {encoding} is none that is known: try latin-1 or cp1252.") from None
    except UnicodeDecodeError:
        raise Unusable(
            f"{file.name} is not text in {(encoding or 'UTF-8')}. Say what it is, such as --encoding cp1252 "
            f"(Windows) or --encoding latin-1, or save it as “CSV UTF-8”."
        ) from None
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


def _dialect(file: Path, codec: str) -> dict[str, str]:
    """Return the separator that the first line has most of, and the decimal comma that goes with “;”."""
    opened = gzip.open if file.suffix.lower() == ".gz" else open
    try:
        with opened(file, "rb") as stream:
            first, second = stream.read(200_000).decode(codec, "replace").partition("\n")[::2]
    except gzip.BadGzipFile as error:
        raise OSError(f"{file} is not packed by gzip, or damaged: {error}.") from None
    separator = max(",;\t|", key=first.count)
    fields = [field.strip(' "\r') for field in second.partition("\n")[0].split(separator)]
    comma, point = (any(re.fullmatch(rf"-?\d+{c}\d+", field) for field in fields) for c in (",", r"\."))
    return {"sep": separator, "decimal": "," if separator == ";" and comma and not point else "."}


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
    import scipy.sparse as sp
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(str(file), n_features=n_features)
    except ValueError as error:
        if n_features is not None and "n_features" in str(error):
            raise Unusable(f"{file.name} has features that the model does not know: {error}") from None
        raise OSError(f"{file} is not an svmlight file: {str(error).splitlines()[0]}.") from None
    labels = y.astype(int) if np.all(y == np.round(y)) else y
    if sparse or (sparse is None and np.prod(X.shape, dtype=float) > DENSE_CELLS):
        return Table(file.name, sp.csr_array(X), labels, "label")
    return Table(file.name, _numbered(X.toarray()), labels, "label", is_array=True)


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
    if target not in columns:
        return Table(name, X, None, target or "")
    table = Table(name, X, _labels(frame[target]), str(target))
    return _without_gaps(table) if labelled else table


def _without_gaps(table: Table) -> Table:
    """Leave out the rows without a target, and say so."""
    gaps = np.flatnonzero(~table.labelled)
    if not len(gaps):
        return table
    if len(gaps) == table.n_rows:
        raise Unusable(f"No row of {table.name} has a value in the target column {table.target!r}.")
    rows = ", ".join(str(i + 1) for i in gaps[:5]) + (", …" if len(gaps) > 5 else "")
    note = (
        f"{len(gaps)} {'rows have' if len(gaps) > 1 else 'row has'} no value in the target column "
        f"{table.target!r} (row {rows}): left out."
    )
    kept = table.rows(np.flatnonzero(table.labelled))
    y = kept.y if kept.y is None else as_labels(kept.y.tolist())
    return replace(kept, y=y, notes=(*kept.notes, note))


def _labels(column: Any) -> np.ndarray:
    """Return the target as numbers or text; objects, with None, where some are missing."""
    gaps = column.isna().to_numpy()
    if not gaps.any():
        return as_labels(column.tolist())
    labels = np.full(len(gaps), None, dtype=object)
    labels[~gaps] = as_labels(column[~gaps].tolist()).tolist()
    return labels
