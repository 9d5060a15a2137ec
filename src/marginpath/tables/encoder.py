"""All columns of a table together: what each one is, and the features that it became."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..files.records import register
from .encodings import Category, Dates, Encoding, LeftOut, Number, listed
from .frames import column_names, columns_of, is_frame, n_rows, words_of
from .kinds import Decision, as_asked, decide
from .words import Names, Text


@register
@dataclass(frozen=True)
class ColumnReport:
    """What was made of a column, why, and how many features it has.

    Examples
    --------
    >>> print(ColumnReport("number", "numbers written as text", 2))
    number: numbers written as text, 2 features
    """

    kind: str
    why: str
    n_features: int

    def __str__(self) -> str:
        """Return it in a line."""
        count = f", {self.n_features} feature{'s' if self.n_features != 1 else ''}" if self.n_features else ""
        return f"{self.kind}: {self.why}{count}"


@register
class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Raw tables as features: each column by what it is, and nothing is lost where a value is missing.

    Numbers, also those written as "1,234", are scaled by their median and quartiles and cut far out; dates
    become a day and places in the year, the week and the day; categories one feature a level; columns of
    very many levels their frequent ones and shared substrings; free text tf-idf, in few components, or as it
    is where a table has nothing else. A missing number or date has a flag, a missing category is a level.
    Identifiers and columns of one value are left out. The target is never looked at.

    Parameters
    ----------
    kinds : dict, optional
        What some columns are, if not what they look like: {"zip": "category"}. See ``KINDS``.
    scale : bool
        Whether numbers are scaled.

    Attributes
    ----------
    columns_ : dict of str → ColumnReport
        What was made of each column, and why.
    blocks_ : dict of str → slice
        The features of each column.
    encodings_ : dict of str → Encoding
    feature_names_in_, n_features_in_
        As in scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"price": ["1,200", "950", None], "sold": ["2021-03-04", "2021-05-01", None],
    ...                       "shop": ["north", "south", "north"], "country": ["CH"] * 3})
    >>> encoder = TableEncoder().fit(table)
    >>> for name, column in encoder.columns_.items():
    ...     print(name, "–", column)
    price – number: numbers written as text, 2 features
    sold – date: dates, 7 features
    shop – category: 2 levels, 2 features
    country – left out: the same value in every row
    >>> encoder.transform(table).shape
    (3, 11)
    """

    def __init__(self, kinds: Mapping[str, str] | None = None, *, scale: bool = True) -> None:
        self.kinds = kinds
        self.scale = scale

    def fit(self, X: Any, y: Any = None) -> Self:
        """Look at every column; ``y`` is ignored."""
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Look at every column and return the features; ``y`` is ignored."""
        return self._stacked(self._fit(X))

    def transform(self, X: Any) -> Any:
        """Return the features (rows, features): an array, or CSR where all columns are text."""
        check_is_fitted(self)
        return self._stacked(self._values(X))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features."""
        check_is_fitted(self)
        names = [feature for name, made in self.encodings_.items() for feature in made.features(name)]
        return np.array(names, dtype=object)

    def unseen(self, X: Any) -> dict[str, tuple[int, list[str]]]:
        """Return, of every category with levels that the fit had not, in how many rows and which.

        Examples
        --------
        >>> import pandas as pd
        >>> encoder = TableEncoder().fit(pd.DataFrame({"food": ["hay", "fish"]}))
        >>> encoder.unseen(pd.DataFrame({"food": ["pizza", "hay"]}))
        {'food': (1, ['pizza'])}
        """
        values, news = self._values(X), {}
        for name, encoding in self.encodings_.items():
            if isinstance(encoding, Category) and (new := encoding.unseen(values[name])).any():
                news[name] = (int(new.sum()), sorted(set(words_of(values[name])[new])))
        return news

    def _fit(self, X: Any) -> dict[str, np.ndarray]:
        values = dict(columns_of(X))
        asked = dict(self.kinds or {})
        if unknown := [name for name in asked if name not in values]:
            raise ValueError(f"kinds names {listed(unknown)}, and the table has {listed(list(values))}.")
        if not values or n_rows(X) == 0:
            raise ValueError(f"The table has {n_rows(X)} rows and {len(values)} columns: nothing to encode.")
        coded = is_frame(X)
        decisions = {
            name: as_asked(name, column, asked[name]) if name in asked else decide(name, column, coded=coded)
            for name, column in values.items()
        }
        kept = {decision.kind for decision in decisions.values()} - {"left out"}
        if not kept:
            reasons = "; ".join(f"{name}: {made.why}" for name, made in decisions.items())
            raise ValueError(f"No column of the table tells anything about new rows ({reasons}).")
        self.encodings_: dict[str, Encoding] = {
            name: self._encoding(values[name], decision, text_alone=kept == {"text"})
            for name, decision in decisions.items()
        }
        self.columns_ = {
            name: ColumnReport(decision.kind, decision.why, len(self.encodings_[name].features(name)))
            for name, decision in decisions.items()
        }
        ends = np.cumsum([0, *(column.n_features for column in self.columns_.values())]).tolist()
        self.blocks_ = {name: slice(*ends[j : j + 2]) for j, name in enumerate(self.columns_)}
        self.feature_names_in_ = np.array(list(values), dtype=object)
        self.n_features_in_ = len(values)
        return values

    def _encoding(self, values: np.ndarray, decision: Decision, text_alone: bool) -> Encoding:
        if decision.kind == "number":
            return Number.fit(values, self.scale)
        if decision.kind == "date":
            return Dates.fit(values, decision.format, self.scale)
        if decision.kind == "text":
            return Text.fit(values, reduced=not text_alone)
        if decision.kind == "left out":
            return LeftOut()
        return Category.fit(values) if decision.kind == "category" else Names.fit(values)

    def _values(self, X: Any) -> dict[str, np.ndarray]:
        """Return the columns of the fit, whatever their order and whatever else there is."""
        needed = [name for name, column in self.columns_.items() if column.kind != "left out"]
        if lacking := set(needed) - set(column_names(X)):
            named = ", ".join(repr(name) for name in needed if name in lacking)
            raise ValueError(f"The table lacks the columns {named}, which the fit had.")
        values = {name: column for name, column in columns_of(X) if name in self.encodings_}
        empty = np.full(n_rows(X), np.nan)
        return {name: values.get(name, empty) for name in self.encodings_}

    def _stacked(self, values: dict[str, np.ndarray]) -> Any:
        parts = [made.transform(name, values[name]) for name, made in self.encodings_.items()]
        if any(map(sp.issparse, parts)):
            return sp.csr_array(sp.hstack(parts, format="csr"))
        return np.hstack(parts)

    def __sklearn_tags__(self) -> Any:
        """Say that it takes text and gaps."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags
