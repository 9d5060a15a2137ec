"""Which columns are numbers and which categories, what is odd about them, and how they are prepared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, StandardScaler

from ...files.records import register
from .reading import NotThere, Table, Unusable


@register
@dataclass(frozen=True)
class Columns:
    """The columns that a model takes.

    ``n_sparse`` is their number where the table is sparse and has no names.

    Examples
    --------
    >>> import pandas as pd
    >>> table = Table("pets.csv", pd.DataFrame({"ears": [6.0, 12.0], "food": ["fish", "hay"]}))
    >>> columns = Columns.of(table)
    >>> columns.numbers, columns.categories
    (('ears',), ('food',))
    >>> columns.preparation().fit_transform(columns.values(table))
    array([[-1.,  1.,  0.],
           [ 1.,  0.,  1.]])
    """

    numbers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    n_sparse: int = 0

    @classmethod
    def of(cls, table: Table, categorical: Sequence[str] = ()) -> Columns:
        """Tell numbers from categories; ``categorical`` names numbers that are categories."""
        if table.is_sparse:
            return cls(n_sparse=table.X.shape[1])
        if unknown := [name for name in categorical if name not in table.X.columns]:
            raise NotThere(f"There is no column {unknown[0]!r} to take as categorical in {table.name}.")
        kinds = {name: _kind(table.X[name]) for name in table.X.columns}
        if dates := [name for name, kind in kinds.items() if kind == "date"]:
            raise Unusable(
                f"The columns {_listed(dates)} hold dates or times, which have no place in a "
                f"distance. Turn them "
                f"into numbers such as a year or an age, or leave them out: {_options('--drop', dates)}"
            )
        numbers = [n for n, kind in kinds.items() if kind == "number" and n not in categorical]
        return cls(tuple(numbers), tuple(name for name in kinds if name not in numbers))

    def values(self, table: Table, *, impute: bool = False) -> Any:
        """Return the columns of a table as the preparation takes them: floats, and text for categories.

        Gaps are refused unless the preparation fills them, and infinity is always.
        """
        if self.n_sparse:
            return self._sparse_values(table)
        names = [*self.numbers, *self.categories]
        if table.is_sparse or (lacking := [name for name in names if name not in table.X.columns]):
            what = "named columns" if table.is_sparse else f"the columns {_listed(lacking)}"
            raise Unusable(f"{table.name} lacks {what}, which the model was fitted on.")
        frame = table.X[names].copy()
        for name in self.numbers:
            frame[name] = _numbers(frame[name], table.name)
        for name in self.categories:
            frame[name] = _words(frame[name])
        if not impute:
            _refuse_gaps(frame, table.name)
        return frame

    def preparation(self, *, impute: bool = False, scale: bool = True) -> Any:
        """Return the scikit-learn transformer, not fitted yet."""
        if self.n_sparse:
            return MaxAbsScaler() if scale else FunctionTransformer(accept_sparse=True)
        to_numbers = [SimpleImputer(strategy="median")] if impute else []
        to_numbers += [StandardScaler()] if scale else []
        to_words = [SimpleImputer(strategy="most_frequent")] if impute else []
        encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        parts = [
            ("numbers", make_pipeline(*to_numbers) if to_numbers else "passthrough", list(self.numbers)),
            ("categories", make_pipeline(*to_words, encoder), list(self.categories)),
        ]
        return ColumnTransformer([p for p in parts if p[2]], verbose_feature_names_out=False)

    def _sparse_values(self, table: Table) -> Any:
        if table.X.shape[1] != self.n_sparse:
            raise Unusable(
                f"{table.name} has {table.X.shape[1]} columns, but the model was fitted on {self.n_sparse}."
            )
        return table.X if table.is_sparse else sp.csr_array(table.X.to_numpy())


def remarks(table: Table, columns: Columns) -> list[str]:
    """Return a sentence for every column that is probably a mistake."""
    said = []
    for name in [*columns.numbers, *columns.categories]:
        column = table.X[name]
        if _like_an_id(column, name):
            said.append(
                f"Column {name!r} looks like an id: a different value in every row. It cannot help with new "
                f"rows; leave it out with --drop {_quoted(name)}"
            )
        elif name in columns.categories and (odd := _odd_ones(column)):
            said.append(
                f"Column {name!r} has numbers and also {_listed(odd)}, so each value is taken as a "
                f"category. If "
                f"that means a missing value: --missing {_quoted(odd[0])}"
            )
        elif column.nunique(dropna=True) <= 1:
            said.append(f"Column {name!r} has the same value in every row: it tells nothing.")
    return said


def check_target(table: Table, folds: int | None) -> None:
    """Raise unless the target looks like classes that every fold can hold."""
    assert table.y is not None
    classes, counts = np.unique(table.y, return_counts=True)
    if len(classes) < 2:
        raise Unusable(f"The target {table.target!r} is {classes[0]!s} in every row; two classes are needed.")
    if len(classes) > max(20, len(table.y) // 5):
        quantity = "a quantity" if table.y.dtype.kind in "iuf" else "names"
        raise Unusable(
            f"The target {table.target!r} has {len(classes)} different values in {len(table.y)} "
            f"rows: {quantity} "
            f"rather than classes. Is it the right column? A quantity can be cut into classes first."
        )
    if folds and counts.min() < folds:
        rare, count = classes[np.argmin(counts)], int(counts.min())
        ways = f"pass --cv {count}, or " if count > 1 else ""
        raise Unusable(
            f"The class {str(rare)!r} has {_rows(count)}, fewer than the {folds} folds of the "
            f"cross-validation: {ways}collect more rows of it, or leave it out of the file."
        )


def unseen(values: Any, preparation: Any, columns: Columns) -> list[str]:
    """Return a sentence for every column with categories that the model has not seen."""
    if not columns.categories:
        return []
    encoder = preparation.named_transformers_["categories"][-1]
    said = []
    for name, known in zip(columns.categories, encoder.categories_, strict=True):
        new = ~values[name].isin(known) & values[name].notna()
        if new.any():
            words = _listed(sorted(set(values[name][new]))[:3])
            said.append(
                f"Column {name!r} has values that the model has not seen, such as {words}, in "
                f"{_rows(new.sum())}: "
                f"they count as none of the known ones."
            )
    return said


def _kind(column: Any) -> str:
    kind = getattr(column.dtype, "kind", "O")
    if kind in "mM" or str(column.dtype).startswith(("date", "time", "period")):
        return "date"
    if column.isna().all():
        return "number"
    return "number" if kind in "biuf" else "category"


def _numbers(column: Any, table: str) -> np.ndarray:
    try:
        values = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        odd = _odd_ones(column) or sorted({str(value) for value in column.dropna()})[:3]
        raise Unusable(
            f"Column {column.name!r} of {table} must hold numbers, as in the data of the fit; it "
            f"has {_listed(odd)}."
        ) from None
    if np.isinf(values).any():
        raise Unusable(
            f"Column {column.name!r} of {table} has infinite values (row "
            f"{int(np.argmax(np.isinf(values))) + 1}). "
            f"Replace them by numbers, or leave the column out: --drop {_quoted(column.name)}"
        )
    return values


def _words(column: Any) -> Any:
    """Return text, with NaN for gaps; a whole number reads the same with and without decimals."""
    words = [_word(value) for value in column.astype(object)]
    filled = np.empty(len(words), dtype=object)
    filled[:] = words
    return filled


def _word(value: Any) -> Any:
    if value is None or value != value or str(value) == "<NA>":
        return np.nan
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def _refuse_gaps(frame: Any, table: str) -> None:
    gaps = frame.isna().sum()
    if not (gaps := gaps[gaps > 0]).any():
        return
    told = ", ".join(f"{name} ({_rows(count)})" for name, count in gaps.items())
    raise Unusable(
        f"{table} has missing values in {told}. Fill them with --impute (the median of numbers, the "
        f"most frequent "
        f"category), or leave columns out: {_options('--drop', list(gaps.index))}"
    )


def _like_an_id(column: Any, name: str) -> bool:
    known = column.dropna()
    if len(known) < 10 or known.nunique() < len(known):
        return False
    kind = getattr(column.dtype, "kind", "O")
    if kind == "f":
        return False
    if kind in "iu":
        steps = np.diff(known.to_numpy().astype(np.float64))
        word = name.lower().replace("-", "_").split("_")
        return bool(
            np.all(steps > 0) or {"id", "index", "nr", "no", "key", "unnamed: 0"} & {*word, name.lower()}
        )
    return True


def _odd_ones(column: Any) -> list[str]:
    """Return what is no number in a column of text where nearly everything is."""
    import pandas as pd

    known = column.dropna()
    bad = known[pd.to_numeric(known, errors="coerce").isna()]
    mostly = len(bad) < 0.2 * len(known) and len(known) >= 10
    return sorted({str(value) for value in bad})[:3] if mostly else []


def _rows(count: int) -> str:
    return f"{count} row{'s' if count != 1 else ''}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:8])
    return f"{shown}, …" if len(names) > 8 else shown


def _options(option: str, names: Sequence[str]) -> str:
    return " ".join(f"{option} {_quoted(name)}" for name in names[:8])


def _quoted(name: str) -> str:
    return name if str(name).replace("_", "").replace("-", "").isalnum() else f'"{name}"'
