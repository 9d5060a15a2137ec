"""A fitted table: preparation and classifier together, in one file that cannot run code when loaded."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, StandardScaler

from ..estimators import as_choice, watched
from ..estimators.slimming import fit_facts, is_slim
from ..files.objects import load, save
from ..files.records import register
from ..gram.fingerprints import data_digest, row_codes
from .tables.columns import Columns, unseen
from .tables.reading import Table

for _cls in (
    ColumnTransformer,
    FunctionTransformer,
    MaxAbsScaler,
    OneHotEncoder,
    Pipeline,
    SimpleImputer,
    StandardScaler,
):
    register(_cls)  # what the preparation of the columns is made of

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
    columns : Columns
    target, source : str
        Names of the target column and of the file that was fitted.
    impute : bool
        Whether the preparation fills gaps.
    rows : array of int
        The rows of the file that were fitted on, counted from 1.
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
    """

    pipeline: Pipeline
    columns: Columns
    target: str
    source: str
    impute: bool
    rows: np.ndarray
    versions: dict[str, str] = field(default_factory=dict)

    @classmethod
    def fit(
        cls,
        table: Table,
        classifier: Any,
        *,
        categorical: Sequence[str] = (),
        impute: bool = False,
        scale: bool = True,
        watch: Callable[..., Any] | None = None,
        rows: np.ndarray | None = None,
    ) -> Model:
        """Prepare the columns and fit the classifier; ``watch(problem, state, path)`` sees every step."""
        columns = Columns.of(table, categorical)
        prepare = columns.preparation(impute=impute, scale=scale)
        X = prepare.fit_transform(columns.values(table, impute=impute))
        with nullcontext() if watch is None else watched(watch):
            classifier.fit(X, table.y)
        pipeline = Pipeline([("prepare", prepare), ("classify", classifier)])
        rows = np.arange(1, table.n_rows + 1) if rows is None else rows
        return cls(pipeline, columns, table.target, table.name, impute, rows, _versions())

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

    def prepared(self, table: Table) -> Any:
        """Return the rows of a table as the classifier takes them."""
        return self.prepare.transform(self.columns.values(table, impute=self.impute))

    def is_fitted_on(self, X: Any) -> bool:
        """Whether these are the prepared rows of the fit."""
        if self.is_slim:
            return bool(data_digest(row_codes(X), X.shape[1]) == self.classifier.fit_facts_["data"])
        known = self.classifier.X_fit_
        return X.shape == known.shape and not (known != X).sum()

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
        return replace(self, pipeline=pipeline, rows=self.rows[:0])

    def remarks(self, table: Table) -> list[str]:
        """Return a sentence for every column with values that the model has not seen."""
        if self.columns.n_sparse:
            return []
        return unseen(self.columns.values(table, impute=self.impute), self.prepare, self.columns)

    @property
    def feature_names(self) -> list[str]:
        """The names of the columns after the preparation."""
        if self.columns.n_sparse:
            return [f"x{j + 1}" for j in range(self.columns.n_sparse)]
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
            f"anything looks "
            f"odd."
        )


def is_model(file: str | os.PathLike[str]) -> bool:
    """Whether a file has the looks of a stored model or path."""
    try:
        with zipfile.ZipFile(file) as stored:
            return "header.json.npy" in stored.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {"marginpath": version("marginpath"), "scikit-learn": sklearn.__version__, "numpy": np.__version__}
