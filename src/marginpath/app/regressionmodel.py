"""A fitted table whose target is a quantity: preparation and regressor together, in one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.pipeline import Pipeline

from ..files.records import register
from .modelfile import Model, package_versions, preparation, told
from .tables.reading import Table, Unusable

_SHOWN = 1000  # rows that a page draws


@register
@dataclass(frozen=True, eq=False)
class RegressionModel(Model):
    """A regressor with the preparation of its columns.

    Attributes
    ----------
    pipeline : sklearn.pipeline.Pipeline
        The steps "prepare" and "regress".
    pairs : array (2, rows)
        Targets, and what the folds that held their rows out predict; of a thousand rows at most.
    path : array (4, steps)
        Step, C, mean score of the folds and its standard deviation. Both are empty without folds.

    Examples
    --------
    >>> import marginpath as mp
    >>> from sklearn.datasets import load_diabetes
    >>> from marginpath.app.tables import Table
    >>> data = load_diabetes(as_frame=True)
    >>> table = Table("diabetes", data.data, data.target.to_numpy(), "progress")
    >>> model = RegressionModel.fit_quantity(table, [mp.LinearMarginPathRegressor(random_state=0)])
    >>> bool(model.held_out["r2"] > 0.4)
    True
    """

    pairs: np.ndarray = field(default_factory=lambda: np.empty((2, 0)))
    path: np.ndarray = field(default_factory=lambda: np.empty((4, 0)))

    @classmethod
    def fit_quantity(
        cls,
        table: Table,
        regressors: Sequence[Any],
        *,
        kinds: Mapping[str, str] | None = None,
        scale: bool = True,
        missing: Sequence[str] = (),
    ) -> RegressionModel:
        """Prepare the columns and fit; of several regressors the one whose folds score best is kept."""
        prepare = preparation(table, kinds, scale)
        X, y = told(table, prepare.fit_transform, table.X), quantities(table)
        fitted = [regressor.fit(X, y) for regressor in regressors]
        best = max(fitted, key=_score)
        pipeline = Pipeline([("prepare", prepare), ("regress", best)])
        return cls(
            pipeline,
            table.target,
            table.name,
            table.row_numbers,
            tuple(missing),
            held_out=_held_out(best, y),
            versions=package_versions(),
            pairs=_pairs(best, y),
            path=_path(best),
        )

    @property
    def classifier(self) -> Any:
        """The fitted regressor."""
        return self.pipeline["regress"]

    @property
    def classes(self) -> list[str]:
        """None: the target is a quantity."""
        return []

    def slim(self) -> Model:
        """Return the model without path and rows; the pairs of the page, of a thousand rows at most, stay."""
        if self.is_slim:
            return self
        pipeline = Pipeline([("prepare", self.prepare), ("regress", self.classifier.slim())])
        return replace(self, pipeline=pipeline, rows=self.rows[:0])

    @property
    def reason(self) -> str:
        """Why this step was chosen, in a sentence."""
        model = self.classifier
        why = "its score over the folds is best" if model.stopping == "cv" else "it is the last"
        return f"Step {model.step_} of {model.n_iter_} is kept: {why}."

    @property
    def facts(self) -> dict[str, Any]:
        """What the fit was: samples, gap, support, and the score of the folds where there are some."""
        model = self.classifier
        return dict(model.fit_facts_) if self.is_slim else model.fit_facts()


def quantities(table: Table) -> np.ndarray:
    """Return the target as numbers, or say that it is none."""
    try:
        y = np.asarray(table.y, dtype=np.float64)
    except (TypeError, ValueError):
        raise Unusable(f"The target {table.target!r} is not a number in every row.") from None
    if not np.isfinite(y).all():
        raise Unusable(f"The target {table.target!r} is infinite or missing in some rows. Leave them out.")
    return y


def _score(model: Any) -> float:
    return (
        float(model.cv_results_["mean_test_score"][model.step_ - 1]) if hasattr(model, "cv_results_") else 0.0
    )


def _pairs(model: Any, y: np.ndarray) -> np.ndarray:
    """Return targets and out-of-fold predictions, of rows spread over all."""
    if not hasattr(model, "out_of_fold_"):
        return np.empty((2, 0))
    seen = np.flatnonzero(np.isfinite(model.out_of_fold_))
    shown = seen[np.linspace(0, len(seen) - 1, min(len(seen), _SHOWN)).astype(int)]
    return np.stack([y[shown], model.out_of_fold_[shown]])


def _path(model: Any) -> np.ndarray:
    """Return steps, C, scores and their spread."""
    if not hasattr(model, "cv_results_"):
        return np.empty((4, 0))
    names = ("param_step", "param_C", "mean_test_score", "std_test_score")
    return np.stack([np.asarray(model.cv_results_[name], dtype=np.float64) for name in names])


def _held_out(model: Any, y: np.ndarray) -> dict[str, Any]:
    """Return what the folds said of the rows that they did not see."""
    if not hasattr(model, "out_of_fold_"):
        return {}
    seen = np.isfinite(model.out_of_fold_)
    truth, predicted = y[seen], model.out_of_fold_[seen]
    share = float(np.mean(truth <= predicted))
    return {
        "mean_absolute_error": float(mean_absolute_error(truth, predicted)),
        "r2": float(r2_score(truth, predicted)) if len(truth) > 1 else None,
        "below": share,
    }
