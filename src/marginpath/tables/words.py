"""Free text and columns of very many levels: tf-idf of words or of substrings, in few components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from ..files.records import register
from .encodings import Category
from .frames import words_of

#: Most terms where they are features themselves, and where they are reduced to components.
TERMS, REDUCED_TERMS, COMPONENTS = 50_000, 5_000, 30
#: Levels of a column of very many that get a feature of their own: the most frequent ones.
FREQUENT = 30
_ANALYZERS: dict[str, dict[str, Any]] = {
    "words": {"analyzer": "word", "ngram_range": (1, 2), "token_pattern": r"(?u)\b\w+\b"},
    "substrings": {"analyzer": "char_wb", "ngram_range": (2, 4)},
}


@register
@dataclass(frozen=True, eq=False)
class TermWeights:
    """The tf-idf weights of terms, and the components that they are reduced to, if any.

    The terms, not a fitted vectorizer, are stored: what a file can change are words and numbers.

    Examples
    --------
    >>> weights = TermWeights.fit(["fish and hay", "hay", "fish"], "words", reduced=False)
    >>> weights.terms.tolist(), weights.transform(["hay hay"]).toarray().round(2).tolist()
    (['and', 'and hay', 'fish', 'fish and', 'hay'], [[0.0, 0.0, 0.0, 0.0, 1.0]])
    """

    analyzer: str
    terms: np.ndarray
    idf: np.ndarray
    components: np.ndarray | None
    scale: float

    @classmethod
    def fit(cls, texts: list[str], analyzer: str, *, reduced: bool) -> TermWeights:
        """Count the terms of all texts; those of one text only tell nothing where there are some."""
        settings = {
            "max_features": REDUCED_TERMS if reduced else TERMS,
            "min_df": 2 if len(texts) >= 50 else 1,
        }
        vectorizer = _vectorizer(analyzer, **settings)
        try:
            X = vectorizer.fit_transform(texts)
        except ValueError:  # no two texts share a term
            vectorizer = _vectorizer("substrings", max_features=settings["max_features"])
            analyzer, X = "substrings", vectorizer.fit_transform(texts)
        terms, idf = vectorizer.get_feature_names_out().astype(str), np.asarray(vectorizer.idf_)
        if not reduced or X.shape[1] <= COMPONENTS:
            return cls(analyzer, terms, idf, None, 1.0)
        svd = TruncatedSVD(COMPONENTS, random_state=0).fit(X)
        spread = float(np.sqrt(np.var(X @ svd.components_.T, axis=0).sum()))
        return cls(analyzer, terms, idf, svd.components_.astype(np.float32), 1 / (spread or 1.0))

    @property
    def n_features(self) -> int:
        """Of a text."""
        return len(self.terms) if self.components is None else len(self.components)

    def transform(self, texts: list[str]) -> Any:
        """Return the weights (texts, terms) as CSR, or the components as an array."""
        vectorizer = _vectorizer(self.analyzer, vocabulary=self.terms.tolist())
        vectorizer.idf_ = self.idf
        X = sp.csr_array(vectorizer.transform(texts))
        return X if self.components is None else self.scale * (X @ self.components.T.astype(np.float64))


@register
@dataclass(frozen=True, eq=False)
class Text:
    """Free text by its words and pairs of words; missing is an empty text."""

    kind: ClassVar[str] = "text"
    weights: TermWeights

    @classmethod
    def fit(cls, values: np.ndarray, *, reduced: bool) -> Text:
        """Take sparse weights of terms, or their components."""
        return cls(TermWeights.fit(_texts(values), "words", reduced=reduced))

    def transform(self, name: str, values: np.ndarray) -> Any:
        """Return sparse weights, or an array of components."""
        X = self.weights.transform(_texts(values))
        return X.toarray() if self.weights.components is None and self.weights.n_features <= COMPONENTS else X

    def features(self, name: str) -> list[str]:
        """Return the terms, or numbers of the components."""
        if self.weights.components is None:
            return [f"{name}: {term}" for term in self.weights.terms.tolist()]
        return [f"{name}, component {j + 1}" for j in range(self.weights.n_features)]


@register
@dataclass(frozen=True, eq=False)
class Names:
    """Very many levels: a feature for each of the frequent ones, and substrings that others share.

    Examples
    --------
    >>> cities = np.array([f"{kind}town {i}" for i in range(50) for kind in ("New", "Old")], dtype=object)
    >>> Names.fit(cities).transform("city", cities[:2]).shape
    (2, 60)
    """

    kind: ClassVar[str] = "names"
    frequent: Category
    weights: TermWeights

    @classmethod
    def fit(cls, values: np.ndarray) -> Names:
        """Count levels and substrings."""
        weights = TermWeights.fit(_texts(values), "substrings", reduced=True)
        return cls(Category.fit(values, FREQUENT), weights)

    def transform(self, name: str, values: np.ndarray) -> np.ndarray:
        """Return the levels and the components side by side."""
        parts = self.weights.transform(_texts(values))
        parts = parts.toarray() if sp.issparse(parts) else parts
        return np.hstack([self.frequent.transform(name, values), parts])

    def features(self, name: str) -> list[str]:
        """Return names of levels, then of components."""
        parts = [f"{name}, substrings {j + 1}" for j in range(self.weights.n_features)]
        return [*self.frequent.features(name), *parts]


def _vectorizer(analyzer: str, **settings: Any) -> TfidfVectorizer:
    return TfidfVectorizer(**_ANALYZERS[analyzer], sublinear_tf=True, **settings)


def _texts(values: np.ndarray) -> list[str]:
    return ["" if word is None else word for word in words_of(values)]
