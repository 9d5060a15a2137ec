"""A fitted table: preparation and classifier together, in one file that cannot run code when loaded."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler

from ..estimators import as_choice, watched
from ..estimators.slimming import fit_facts, is_slim
from ..files.objects import load, save
from ..files.records import register
from ..gram.fingerprints import data_digest, row_codes
from ..tables.classifier import best_fit
from ..tables.encoder import ColumnReport, TableEncoder
from ..tables.encodings import Number
from ..tables.frames import columns_of, missing
from ..tables.importance import Importance, permutation_importance
from . import quality
from .tables.reading import Table, Unusable

for _cls in (FunctionTransformer, MaxAbsScaler, Pipeline):
    register(_cls)  # what the preparation of a table is made of, beside the encoder

#: What a file keeps: all that predictions need, or the whole path.
KEEP = ("model", "path")


@register
@dataclass(frozen=True, eq=False)
class Model:
    """A classifier with the preparation of its columns.

    Attributes
    ----------
    pipeline : sklearn.pipeline.Pipeline
        The steps "prepare" and "classify".
    target, source : str
        Names of the target column and of the file that was fitted.
    rows : array of int
        The rows of the file that were fitted on, counted from 1.
    missing : tuple of str
        Words that stand for a missing value in such files.
    importance : Importance or None
        Which columns matter, where there are folds to tell.
    advice : tuple of str
        What the fit would change.
    held_out : dict
        What the folds said of rows that they did not see, where those rows were left behind.
    versions : dict
        Of the packages that wrote the file.

    Examples
    --------
    >>> import marginpath as mp
    >>> from sklearn.datasets import load_iris
    >>> from marginpath.app.tables import Table
    >>> data = load_iris(as_frame=True)
    >>> table = Table("iris", data.data, data.target_names[data.target], "species")
    >>> model = Model.fit(table, mp.LinearMarginPathClassifier(random_state=0))
    >>> model.classes, bool(model.pipeline.score(table.X, table.y) > 0.8)
    (['setosa', 'versicolor', 'virginica'], True)
    >>> model.importance.names[0]
    'petal length (cm)'
    """

    pipeline: Pipeline
    target: str
    source: str
    rows: np.ndarray
    missing: tuple[str, ...] = ()
    importance: Importance | None = None
    advice: tuple[str, ...] = ()
    held_out: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @classmethod
    def fit(
        cls,
        table: Table,
        *classifiers: Any,
        candidates: Callable[[Any], list[Any]] | None = None,
        kinds: Mapping[str, str] | None = None,
        scale: bool = True,
        missing: Sequence[str] = (),
        watch: Callable[..., Any] | None = None,
        rows: np.ndarray | None = None,
    ) -> Model:
        """Prepare the columns and fit; of several classifiers the folds choose one.

        ``candidates(X)`` returns them where they depend on the features; ``watch(problem, state, path)`` sees
        every step.
        """
        prepare = preparation(table, kinds, scale)
        X = told(table, prepare.fit_transform, table.X)
        with nullcontext() if watch is None else watched(watch):
            ways = list(classifiers) if candidates is None else candidates(X)
            classifier, folds = best_fit(ways, X, table.y)
        blocks = getattr(prepare, "blocks_", None)
        importance = permutation_importance(classifier, folds, blocks) if folds and blocks else None
        pipeline = Pipeline([("prepare", prepare), ("classify", classifier)])
        rows = table.row_numbers if rows is None else rows
        return cls(
            pipeline, table.target, table.name, rows, tuple(missing), importance, versions=package_versions()
        )

    @property
    def is_regression(self) -> bool:
        """Whether the target is a quantity."""
        return not self.classes

    @property
    def classifier(self) -> Any:
        """The fitted classifier."""
        return self.pipeline["classify"]

    @property
    def prepare(self) -> Any:
        """The fitted transformer of the columns."""
        return self.pipeline["prepare"]

    @property
    def classes(self) -> list[str]:
        """The classes as text."""
        return [str(label) for label in self.classifier.classes_]

    @property
    def decisions(self) -> list[str]:
        """What each column of the classifier decides: a class against the rest, or a pair of classes."""
        names: list[str] = self.classifier.columns_.names(self.classes)
        return names

    @property
    def columns(self) -> dict[str, ColumnReport]:
        """What was made of each column; empty where they have no names."""
        return getattr(self.prepare, "columns_", {})

    @property
    def n_columns(self) -> int:
        """The number of columns that a table needs, where they have no names."""
        return int(self.prepare.n_features_in_)

    @property
    def is_sparse(self) -> bool:
        """Whether it was fitted on a sparse file, whose columns have no names."""
        return not isinstance(self.prepare, TableEncoder)

    @property
    def number_features(self) -> dict[str, tuple[int, Number | None]]:
        """The features that are plain numbers: their names, places, and how they are scaled."""
        if self.is_sparse:
            return {name: (j, None) for j, name in enumerate(self.feature_names)}
        made = self.prepare.encodings_.items()
        return {
            name: (self.prepare.blocks_[name].start, encoding)
            for name, encoding in made
            if isinstance(encoding, Number)
        }

    def prepared(self, table: Table) -> Any:
        """Return the rows of a table as the classifier takes them."""
        if not self.is_sparse:
            return told(table, self.prepare.transform, table.X)
        if table.X.shape[1] != self.n_columns:
            raise Unusable(
                f"{table.name} has {table.X.shape[1]} columns, but the model was fitted on {self.n_columns}."
            )
        return self.prepare.transform(table.X if table.is_sparse else sp.csr_array(table.X.to_numpy()))

    def is_fitted_on(self, X: Any) -> bool:
        """Whether these are the prepared rows of the fit."""
        if self.is_slim:
            return bool(data_digest(row_codes(X), X.shape[1]) == self.classifier.fit_facts_["data"])
        fitted = self.classifier.X_fit_
        return X.shape == fitted.shape and not (fitted != X).sum()

    @property
    def is_slim(self) -> bool:
        """Whether the path and the rows of the fit were left behind."""
        return is_slim(self.classifier)

    @property
    def facts(self) -> dict[str, Any]:
        """What the fit was: samples, reason, gap, separable, support; cv_error where there were folds."""
        return fit_facts(self.classifier)

    def slim(self) -> Model:
        """Return the model with a slim classifier, its vectors rounded to float32 where that moves little."""
        if self.is_slim:
            return self
        pipeline = Pipeline([("prepare", self.prepare), ("classify", self.classifier.slim(rounded=True))])
        return replace(self, pipeline=pipeline, rows=self.rows[:0], held_out=quality.of_folds(self) or {})

    def remarks(self, table: Table) -> list[str]:
        """Return a sentence for every column with values of a kind that the model has not seen."""
        if self.is_sparse:
            return []
        news = told(table, self.prepare.unseen, table.X)
        levels = [
            f"Column {name!r} has values that the model has not seen, such as "
            f"{', '.join(map(repr, words[:3]))}, in {count} row{'s' if count != 1 else ''}: they count as "
            f"none of the known ones."
            for name, (count, words) in news.items()
        ]
        whole = {n for n, e in self.prepare.encodings_.items() if isinstance(e, Number) and not e.has_gaps}
        gaps = {name: int(missing(column).sum()) for name, column in columns_of(table.X) if name in whole}
        return levels + [
            f"Column {name!r} has no value in {count} row{'s' if count != 1 else ''}, and had one in every "
            f"row of the fit: the median stands in."
            for name, count in gaps.items()
            if count
        ]

    @property
    def feature_names(self) -> list[str]:
        """The names of the columns after the preparation."""
        if self.is_sparse:
            return [f"x{j + 1}" for j in range(self.n_columns)]
        return [str(name) for name in self.prepare.get_feature_names_out()]

    @property
    def cv_error(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Mean and standard deviation over the folds at every step 1, 2, …; None without folds.

        With a scorer other than the accuracy, of 1 − score.
        """
        return None if self.is_slim else as_choice(self.classifier).error

    @property
    def gap(self) -> np.ndarray:
        """The relative duality gap of every step 1, 2, …, the largest of its columns."""
        gaps: np.ndarray = self.classifier.path_["gap"][1:]
        return np.asarray(gaps.reshape(len(gaps), -1).max(axis=1))

    @property
    def inexact(self) -> np.ndarray:
        """Whether each step 1, 2, … has a gap over ``path_tol``: it is not the SVM at its C."""
        return np.asarray(self.gap > getattr(self.classifier.path_.solver, "gap_tol", np.inf))

    @property
    def reason(self) -> str:
        """Why this step was chosen, in a sentence."""
        return str(
            self.classifier.fit_facts_["reason"] if self.is_slim else as_choice(self.classifier).reason
        )

    def save(self, file: str | os.PathLike[str], *, keep: str = "model") -> None:
        """Write the model to one file, whole or not at all; with its path, or without.

        Parameters
        ----------
        file : str or path
        keep : {"model", "path"}
            "model" is all that predictions need, "path" the steps and the rows of the fit too.
        """
        if keep not in KEEP:
            raise ValueError(f"keep must be one of {', '.join(KEEP)}, got {keep!r}.")
        save(file, self if keep == "path" else self.slim())

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Model:
        """Read a model; no classes are made but the records of this package and those of the preparation."""
        from . import regressionmodel  # noqa: F401 (a file may hold one)

        if not os.path.exists(file):
            raise FileNotFoundError(f"There is no file {os.fspath(file)}.")
        return load(file, cls, "model", " Write one with: marginpath fit")

    @property
    def age(self) -> str | None:
        """A sentence where the scikit-learn at hand is another one than that of the fit."""
        fitted, here = self.versions.get("scikit-learn", ""), sklearn.__version__
        if fitted.split(".")[:2] == here.split(".")[:2]:
            return None
        return (
            f"The model was fitted with scikit-learn {fitted}, and this is {here}: fit it again if "
            f"anything looks odd."
        )


def is_model(file: str | os.PathLike[str]) -> bool:
    """Whether a file has the looks of a stored model or path."""
    try:
        with zipfile.ZipFile(file) as stored:
            return "header.json.npy" in stored.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def preparation(table: Table, kinds: Mapping[str, str] | None, scale: bool) -> Any:
    """Return the transformer of a table's columns, not fitted yet."""
    if not table.is_sparse:
        numbers = dict.fromkeys(table.X.columns, "number") if table.is_array else {}
        return TableEncoder({**numbers, **(kinds or {})}, scale=scale)
    return MaxAbsScaler() if scale else FunctionTransformer(accept_sparse=True)


def told(table: Table, prepare: Callable[[Any], Any], X: Any) -> Any:
    """Let what is wrong with the data be said with the name of the file."""
    try:
        return prepare(X)
    except ValueError as error:
        sentence = str(error)
        if sentence.startswith("The table "):
            raise Unusable(table.name + sentence.removeprefix("The table")) from None
        raise Unusable(f"{table.name}: {sentence}") from None


def package_versions() -> dict[str, str]:
    """Return the versions of the packages that a file depends on."""
    from importlib.metadata import version

    return {"marginpath": version("marginpath"), "scikit-learn": sklearn.__version__, "numpy": np.__version__}
