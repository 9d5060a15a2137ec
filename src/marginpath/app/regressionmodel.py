"""A fitted table whose target is a quantity: preparation and regressor together, in one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.pipeline import Pipeline

from ..files.records import register
from .modelfile import Model, package_versions, preparation, told
from .tables.reading import Table, Unusable


@register
@dataclass(frozen=True, eq=False)
class RegressionModel(Model):
    """A regressor with the preparation of its columns; the file always has all the steps.

    Attributes
    ----------
    pipeline : sklearn.pipeline.Pipeline
        The steps "prepare" and "regress".

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
        )

    @property
    def classifier(self) -> Any:
        """The fitted regressor."""
        return self.pipeline["regress"]

    @property
    def classes(self) -> list[str]:
        """None: the target is a quantity."""
        return []

    @property
    def is_slim(self) -> bool:
        """No: the path is there."""
        return False

    def slim(self) -> Model:
        """Return the model itself."""
        return self

    @property
    def facts(self) -> dict[str, Any]:
        """What the fit was: samples, gap, support, and the score of the folds where there are some."""
        model = self.classifier
        kept = int(np.flatnonzero(model.path_.steps == model.step_)[0])
        found = {
            "samples": int(model.X_fit_.shape[0]),
            "gap": float(model.path_["gap"][kept]),
            "support": int(np.count_nonzero(model.coefficients(model.step_))),
        }
        if hasattr(model, "cv_results_"):
            table = model.cv_results_
            found |= {name: float(table[f"{name}_test_score"][model.step_ - 1]) for name in ("mean", "std")}
        return found


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
