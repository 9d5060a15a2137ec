"""The error along the path of a regression."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from ..estimators.regression_base import BasePathRegressor
from ..losses import LeastSquares, Quantile
from ..validation.regression_path import regression_score
from .drawing import axes, draw_errors, draw_support, mark_step, standard_error, taken_apart


@dataclass
class RegressionPathDisplay:
    """Error and number of support vectors along the path of a regression, with the chosen step marked.

    Parameters
    ----------
    steps, C : arrays (n_steps,)
        1, 2, … and 1/λ there.
    step : int
        The one that is kept.
    errors : dict of arrays (n_steps,)
        By the name of what they are measured on: minus the score.
    support : array (n_steps,)
        The share of the training samples with a coefficient.
    spread : array (n_steps,), optional
        The standard error of the first of the errors.
    measure : str
        What the errors are.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : array of two matplotlib Axes

    Examples
    --------
    >>> import marginpath as mp
    >>> from marginpath.plotting import RegressionPathDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = mp.MarginPathRegressor(random_state=0).fit(X[:300], y[:300])
    >>> display = RegressionPathDisplay.from_estimator(model, X[300:], y[300:])
    >>> display.step == model.step_, sorted(display.errors)
    (True, ['cross-validation', 'test'])
    """

    steps: np.ndarray
    C: np.ndarray
    step: int
    errors: dict[str, np.ndarray]
    support: np.ndarray
    spread: np.ndarray | None = None
    measure: str = "error"
    figure_: Any = field(default=None, init=False, repr=False)
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None) -> Self:
        """Draw the path of a fitted regressor, or of a Pipeline that ends in one.

        Parameters
        ----------
        estimator : MarginPathRegressor, LinearMarginPathRegressor or Pipeline
        X, y : arrays, optional
            Samples, to show the error on them too; needed where the fit had no folds.
        ax : Axes, or two of them, optional
            Where to draw; one is divided into two. None makes a figure.
        """
        model, before = taken_apart(estimator, BasePathRegressor, "regressor")
        steps = np.arange(1, model.n_iter_ + 1)
        errors, spread = _held_out(model)
        if X is not None:
            X = X if before is None else before.transform(X)
            judged = np.asarray(y, dtype=np.float64), model.loss_, model.scoring
            errors["test"] = np.array([-regression_score(f, *judged) for f in model.staged_predict(X)])
        if not errors:
            raise ValueError("The fit had no folds (stopping=None): pass X and y, to show the error on them.")
        coefficients = [model.coefficients(step) for step in steps]
        display = cls(
            steps=steps,
            C=np.array([model.path_.models.bound(step) for step in steps]),
            step=model.step_,
            errors=errors,
            support=np.array([np.mean(a != 0) for a in coefficients]),
            spread=spread,
            measure=_measure(model),
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw into the given axes or a new figure."""
        self.figure_, self.ax_ = axes(ax, 2)
        draw_errors(self.ax_[0], self.steps, self.errors, self.spread, self.step, self.C[self.step - 1])
        self.ax_[0].set_ylabel(self.measure)
        draw_support(self.ax_[1], self.steps, self.support, self.step)
        mark_step(self.ax_, self.step)
        return self


def _measure(model: Any) -> str:
    """Say what minus the score is."""
    if model.scoring is None:
        by_loss = {LeastSquares: "mean squared error", Quantile: "mean quantile loss"}
        return by_loss.get(type(model.loss_), "mean absolute error")
    if isinstance(model.scoring, str) and model.scoring.startswith("neg_"):
        return model.scoring.removeprefix("neg_").replace("_", " ")
    return f"−{model.scoring}" if isinstance(model.scoring, str) else "minus the score"


def _held_out(model: Any) -> tuple[dict[str, np.ndarray], np.ndarray | None]:
    """Return minus the score of the folds, where there were some, and its standard error."""
    if not hasattr(model, "cv_results_"):
        return {}, None
    results = model.cv_results_
    return {"cross-validation": -results["mean_test_score"]}, standard_error(results)
