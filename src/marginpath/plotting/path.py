"""The error and the certified margins along a path."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from ..estimators import as_choice
from .drawing import (
    GREEN,
    axes,
    draw_errors,
    draw_support,
    in_percent,
    legend,
    mark_step,
    standard_error,
    taken_apart,
)


@dataclass
class PathDisplay:
    """Error, certified margin and number of support vectors along the path, with the chosen step marked.

    Parameters
    ----------
    steps, C : arrays (n_steps,)
        1, 2, … and 1/λ there.
    step : int
        The one that is kept.
    errors : dict of arrays (n_steps,)
        By the name of what they are measured on.
    spread : array (n_steps,), optional
        The standard error of the first of them.
    lower, upper : arrays (n_steps,)
        What is known of the maximum margin after each step: the smallest one of the classes.
    support : array (n_steps,)
        The share of the training samples with a coefficient.
    measure : str
        What the errors are.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : array of three matplotlib Axes

    Examples
    --------
    >>> import marginpath as mp
    >>> from marginpath.plotting import PathDisplay
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(100, noise=0.3, random_state=0)
    >>> clf = mp.MarginPathClassifier(random_state=0).fit(X, y)
    >>> display = PathDisplay.from_estimator(clf)
    >>> display.step == clf.step_, len(display.ax_)
    (True, 3)
    """

    steps: np.ndarray
    C: np.ndarray
    step: int
    errors: dict[str, np.ndarray]
    lower: np.ndarray
    upper: np.ndarray
    support: np.ndarray
    spread: np.ndarray | None = None
    measure: str = "error"
    figure_: Any = field(default=None, init=False, repr=False)
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any = None, y: Any = None, *, ax: Any = None) -> Self:
        """Draw the path of a fitted classifier, or of a Pipeline that ends in one.

        Parameters
        ----------
        estimator : MarginPathClassifier, LinearMarginPathClassifier or Pipeline
        X, y : arrays, optional
            Further samples, to show the error on them too.
        ax : Axes, or three of them, optional
            Where to draw; one is divided into three. None makes a figure.
        """
        clf, before = taken_apart(estimator)
        steps = np.arange(1, clf.n_iter_ + 1)
        errors, spread = _held_out_error(clf)
        if not errors:
            errors["training"] = _staged_error(clf, clf.X_fit_, clf.classes_[clf.codes_])
        if X is not None:
            errors["test"] = _staged_error(clf, X if before is None else before.transform(X), y)
        lower, upper = clf.margin_proofs_.up_to(steps)
        display = cls(
            steps=steps,
            C=np.array([clf.models_.bound(step) for step in steps]),
            step=clf.step_,
            errors=errors,
            spread=spread,
            lower=lower.min(axis=1),
            upper=upper.min(axis=1),
            support=np.array([np.mean(clf.coefficients(step).any(axis=1)) for step in steps]),
            measure="error" if X is not None else as_choice(clf).measure,
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw into the given axes or a new figure."""
        self.figure_, self.ax_ = axes(ax, 3)
        draw_errors(self.ax_[0], self.steps, self.errors, self.spread, self.step, self.C[self.step - 1])
        in_percent(self.ax_[0])
        self.ax_[0].set_ylabel(self.measure)
        self._plot_margins(self.ax_[1])
        draw_support(self.ax_[2], self.steps, self.support, self.step)
        mark_step(self.ax_, self.step)
        return self

    def _plot_margins(self, panel: Any) -> None:
        low = np.maximum(self.lower, 0)
        panel.fill_between(self.steps, low, self.upper, color=GREEN, alpha=0.18, linewidth=0)
        panel.plot(self.steps, self.upper, color=GREEN, linewidth=2, label="at most")
        panel.plot(self.steps, low, color=GREEN, linewidth=2, linestyle=(0, (1, 1)), label="at least")
        panel.set_yscale("symlog", linthresh=_threshold(self.lower, self.upper))
        panel.set_ylim(bottom=0)
        panel.set_ylabel("maximum margin, proved")
        told = f"in the end between {low[-1]:.3g} and {self.upper[-1]:.3g}"
        panel.set_title(told, loc="left", fontsize="medium")
        legend(panel)


def _held_out_error(clf: Any) -> tuple[dict[str, np.ndarray], np.ndarray | None]:
    """Return the error on held-out samples, where there were some, and its standard error."""
    choice = as_choice(clf)
    if not (choice.has_probabilities and hasattr(clf, "cv_results_")):
        return {}, None
    results = clf.cv_results_
    own = np.ones(len(results["param_step"]), dtype=bool)
    if "param_gamma" in results:
        own = results["param_gamma"] == clf.gamma_
    spread = standard_error(results)
    return {choice.judge: 1 - results["mean_test_score"][own]}, None if spread is None else spread[own]


def _staged_error(clf: Any, X: Any, y: Any) -> np.ndarray:
    return np.array([np.mean(np.asarray(y) != labels) for labels in clf.staged_predict(X)])


def _threshold(lower: np.ndarray, upper: np.ndarray) -> float:
    """Return where the logarithmic part of the axis begins: at the smallest bound that is proved."""
    return float(max(np.min(np.where(lower > 0, lower, upper)), 1e-6 * upper.max()))
