"""Pictures of a fitted classifier, in the manner of scikit-learn's displays: data, and what draws them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .estimators import as_choice
from .estimators.base import BasePathClassifier
from .estimators.slimming import require_path
from .extras import require

__all__ = ["CompressionDisplay", "MarginDisplay", "PathDisplay"]

# Okabe and Ito's colours, told apart by all kinds of colour vision.
_CLASSES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
_BLUE, _ORANGE, _GREEN, _PURPLE = _CLASSES[:4]
_VERMILION, _GREY = _CLASSES[5], "#5A5A5A"


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
        clf, before = _taken_apart(estimator)
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
        self.figure_, self.ax_ = _axes(ax, 3)
        self._plot_errors(self.ax_[0])
        self._plot_margins(self.ax_[1])
        self._plot_support(self.ax_[2])
        for panel in self.ax_:
            panel.axvline(self.step, color=_GREY, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
            panel.set_xlabel("step")
            panel.xaxis.get_major_locator().set_params(integer=True)
            panel.margins(x=0.02)
            _tidy(panel)
        return self

    def _plot_errors(self, panel: Any) -> None:
        for (name, error), color in zip(self.errors.items(), (_BLUE, _VERMILION), strict=False):
            panel.plot(self.steps, error, color=color, linewidth=2, label=name)
        name, error = next(iter(self.errors.items()))
        if self.spread is not None:
            sides = error - self.spread, error + self.spread
            panel.fill_between(self.steps, *sides, color=_BLUE, alpha=0.15, linewidth=0)
        chosen = error[self.step - 1]
        panel.plot(self.step, chosen, "o", color=_BLUE, markersize=8, markeredgecolor="white", zorder=4)
        panel.yaxis.set_major_formatter(lambda share, position: f"{100 * share:.3g}%")
        panel.set_ylabel(self.measure)
        C = self.C[self.step - 1]
        told = f"{C:.3g}" if np.isfinite(C) else "∞"
        panel.set_title(f"step {self.step} is kept: C = {told}", loc="left", fontsize="medium")
        _legend(panel)

    def _plot_margins(self, panel: Any) -> None:
        low = np.maximum(self.lower, 0)
        panel.fill_between(self.steps, low, self.upper, color=_GREEN, alpha=0.18, linewidth=0)
        panel.plot(self.steps, self.upper, color=_GREEN, linewidth=2, label="at most")
        panel.plot(self.steps, low, color=_GREEN, linewidth=2, linestyle=(0, (1, 1)), label="at least")
        panel.set_yscale("symlog", linthresh=_threshold(self.lower, self.upper))
        panel.set_ylim(bottom=0)
        panel.set_ylabel("maximum margin, proved")
        told = f"in the end between {low[-1]:.3g} and {self.upper[-1]:.3g}"
        panel.set_title(told, loc="left", fontsize="medium")
        _legend(panel)

    def _plot_support(self, panel: Any) -> None:
        panel.plot(self.steps, self.support, color=_PURPLE, linewidth=2)
        chosen = self.support[self.step - 1]
        panel.plot(self.step, chosen, "o", color=_PURPLE, markersize=8, markeredgecolor="white", zorder=4)
        panel.set_ylim(0, 1.05)
        panel.yaxis.set_major_formatter(lambda share, position: f"{100 * share:.3g}%")
        panel.set_ylabel("support vectors")
        panel.set_title(f"{chosen:.0%} of the samples at the step kept", loc="left", fontsize="medium")


@dataclass
class MarginDisplay:
    """How far the samples are from the decision boundary.

    With two features, the plane: the decision function, its boundary and margins, the samples, and rings
    around support vectors. With more, the distribution of the margins y f(x).

    Parameters
    ----------
    margins : array (n_samples,)
        y f(x) of two classes; of several, f of the own class minus the largest of the others.
    codes : array of int (n_samples,)
        The index of every sample's class.
    classes : array
        Their names.
    X : array (n_samples, 2), optional
        Samples in the plane.
    support : array of bool (n_samples,), optional
        Which of them are support vectors.
    grid : pair of arrays (resolution,), optional
        The two coordinates of the points where the decision function is known.
    values : array (resolution, resolution, n_columns), optional
        The decision function there.
    names : pair of str
        The features.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes

    Examples
    --------
    >>> import marginpath as mp
    >>> from marginpath.plotting import MarginDisplay
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = mp.LinearMarginPathClassifier(random_state=0).fit(X / X.std(axis=0), y)
    >>> display = MarginDisplay.from_estimator(clf, X / X.std(axis=0), y)
    >>> float((display.margins > 0).mean()) == clf.score(X / X.std(axis=0), y)
    True
    """

    margins: np.ndarray
    codes: np.ndarray
    classes: np.ndarray
    X: np.ndarray | None = None
    support: np.ndarray | None = None
    grid: tuple[np.ndarray, np.ndarray] | None = None
    values: np.ndarray | None = None
    names: tuple[str, str] = ("feature 0", "feature 1")
    figure_: Any = field(default=None, init=False, repr=False)
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, resolution: int = 200, ax: Any = None) -> Self:
        """Draw the margins of samples under a fitted classifier, or a Pipeline that ends in one.

        Parameters
        ----------
        estimator : MarginPathClassifier, LinearMarginPathClassifier or Pipeline
        X, y : arrays
            Any samples; support vectors are marked if these are the training samples.
        resolution : int
            Points of the grid in each direction.
        ax : Axes, optional
            None makes a figure.
        """
        clf, before = _taken_apart(estimator)
        codes = np.searchsorted(clf.classes_, np.asarray(y))
        if not np.array_equal(clf.classes_[np.minimum(codes, len(clf.classes_) - 1)], np.asarray(y)):
            raise ValueError(f"y has labels that are none of the classes {clf.classes_.tolist()}.")
        margins = _margins(estimator.decision_function(X), codes)
        display = cls(margins, codes, clf.classes_)
        points = np.asarray(X) if not hasattr(X, "toarray") else None
        if points is not None and points.shape[1] == 2:
            display._lay_out(estimator, points, resolution, getattr(X, "columns", None))
            given = points if before is None else before.transform(X)
            if hasattr(clf, "support_") and np.array_equal(given, clf.X_fit_):
                display.support = np.isin(np.arange(len(codes)), clf.support_)
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw into the given axes or a new figure."""
        self.figure_, (self.ax_,) = _axes(ax, 1)
        if self.values is None:
            self._plot_distribution(self.ax_)
        else:
            self._plot_plane(self.ax_)
        self.ax_.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, borderaxespad=0)
        return self

    def _lay_out(self, estimator: Any, X: np.ndarray, resolution: int, names: Any) -> None:
        """Compute the decision function on a grid around the samples."""
        low, high = X.min(axis=0), X.max(axis=0)
        room = 0.08 * (high - low)
        horizontal, vertical = np.linspace(low - room, high + room, resolution, axis=1)
        points = np.stack(np.meshgrid(horizontal, vertical), axis=-1).reshape(-1, 2).astype(X.dtype)
        self.X, self.grid = X, (horizontal, vertical)
        if names is not None:
            pd = require("pandas", extra="frame", what="Features with names")
            points, self.names = pd.DataFrame(points, columns=names), (str(names[0]), str(names[1]))
        self.values = estimator.decision_function(points).reshape(resolution, resolution, -1)

    def _plot_plane(self, ax: Any) -> None:
        assert self.X is not None
        assert self.values is not None
        assert self.grid is not None
        values = self.values if len(self.classes) > 2 else np.concatenate([-self.values, self.values], axis=2)
        for code, color in enumerate(self._colors):
            lead = values[..., code] - np.delete(values, code, axis=2).max(axis=2)
            ax.contourf(*self.grid, lead, levels=[0, np.inf], colors=color, alpha=0.13, zorder=0)
            ax.contour(*self.grid, lead, levels=[0], colors=_GREY, linewidths=2)
        ax.plot([], [], color=_GREY, linewidth=2, label="boundary")
        if len(self.classes) == 2:
            sides = {"levels": [-1, 1], "linestyles": "dashed", "linewidths": 1.2}
            ax.contour(*self.grid, self.values[..., 0], colors=_GREY, **sides)
            ax.plot([], [], color=_GREY, linewidth=1.2, linestyle="dashed", label="f(x) = ±1")
        for code, color in enumerate(self._colors):
            own = self.X[self.codes == code]
            ax.scatter(*own.T, s=24, color=color, edgecolor="white", linewidth=0.5, label=self._names[code])
        if self.support is not None:
            rings = {"s": 60, "facecolor": "none", "edgecolor": "black", "linewidth": 0.8}
            ax.scatter(*self.X[self.support].T, label="support vector", **rings)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.spines[["top", "right"]].set_visible(False)

    def _plot_distribution(self, ax: Any) -> None:
        width = np.diff(np.histogram_bin_edges(self.margins, bins="auto")[:2])[0]
        first, last = np.floor(self.margins.min() / width), np.floor(self.margins.max() / width)
        edges = width * np.arange(min(first, 0), max(last, 0) + 2)  # no bar on both sides of 0
        two, right = len(self.classes) == 2, self.margins > 0
        if two:
            parts, colors, names = [self.codes == 0, self.codes == 1], self._colors, self._names
        else:
            parts, colors, names = [right, ~right], [_BLUE, _VERMILION], ["right", "wrong"]
        style = {"stacked": True, "edgecolor": "white", "linewidth": 0.4}
        ax.hist([self.margins[part] for part in parts], edges, color=colors, label=names, **style)
        ax.axvline(0, color=_GREY, linewidth=2, label="boundary")
        if two:
            ax.axvline(1, color=_GREY, linewidth=1.2, linestyle="dashed", label="y f(x) = 1")
        ax.set_xlabel(r"margin  $y \, f(x)$" if two else r"margin  $f_y(x) - \max_{c \neq y} f_c(x)$")
        ax.set_ylabel("samples")
        told = f"{np.mean(~right):.1%} of {len(right):,} samples on the wrong side"
        ax.set_title(told, loc="left", fontsize="medium")
        _tidy(ax)

    @property
    def _colors(self) -> list[str]:
        return [_CLASSES[code % len(_CLASSES)] for code in range(len(self.classes))]

    @property
    def _names(self) -> list[str]:
        return [name if isinstance(name, str) else f"class {name}" for name in self.classes]


def _taken_apart(estimator: Any) -> tuple[Any, Any]:
    """Return the fitted classifier, and what stands before it in a Pipeline."""
    from sklearn.pipeline import Pipeline

    clf, before = estimator, None
    if isinstance(estimator, Pipeline):
        clf, before = estimator[-1], estimator[:-1] if len(estimator) > 1 else None
    if not isinstance(clf, BasePathClassifier):
        raise TypeError(
            f"A classifier of marginpath is needed, or a Pipeline that ends in one, got {type(clf).__name__}."
        )
    check_is_fitted(clf)
    return clf, before


@dataclass
class CompressionDisplay:
    """Error against the number of vectors that :meth:`MarginPathClassifier.compress` leaves.

    Parameters
    ----------
    sizes : array of int (n_sizes,)
        Numbers of vectors; the last one is that of the classifier itself.
    errors : dict of arrays (n_sizes,)
        By the name of what they are measured on.
    changed : array (n_sizes,)
        The share of the training samples whose label changes.
    classifiers : list
        The classifiers themselves.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes

    Examples
    --------
    >>> import marginpath as mp
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> clf = mp.MarginPathClassifier(random_state=0).fit(X, y)
    >>> display = mp.CompressionDisplay.from_estimator(clf, sizes=[2, 8])
    >>> display.sizes[:2], bool(display.errors["out of fold"][1] < display.errors["out of fold"][0])
    (array([2, 8]), True)
    """

    sizes: np.ndarray
    errors: dict[str, np.ndarray]
    changed: np.ndarray
    classifiers: list[Any]
    figure_: Any = field(default=None, init=False, repr=False)
    ax_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, y: Any = None, *, sizes: Any = None, ax: Any = None
    ) -> Self:
        """Compress a fitted classifier, or that of a Pipeline, to several sizes and draw their errors.

        Parameters
        ----------
        estimator : MarginPathClassifier or Pipeline
        X, y : arrays, optional
            Further samples, to show the error on them too.
        sizes : array of int, optional
            Numbers of vectors; None takes seven from 1 % to a half of them.
        ax : Axes, optional
        """
        clf, before = _taken_apart(estimator)
        require_path(clf, "CompressionDisplay")
        number = len(clf.support_)
        if sizes is None:
            sizes = np.geomspace(max(1, number / 100), max(1, number / 2), 7).astype(int)
        classifiers = [clf.compress(int(size)) for size in np.unique(sizes) if size < number]
        found = [small.compression_ for small in classifiers]
        held_out = "out of fold" if hasattr(clf, "out_of_fold_") else "training"
        errors = {
            held_out: 1 - np.array([each.accuracy_after for each in found] + [found[0].accuracy_before])
        }
        if X is not None:
            rows = X if before is None else before.transform(X)
            errors["test"] = 1 - np.array([each.score(rows, y) for each in [*classifiers, clf]])
        sizes = np.array([*(each.n_vectors for each in found), number])
        changed = np.array([*(each.changed for each in found), 0.0])
        return cls(sizes, errors, changed, [*classifiers, clf]).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw into the given axes or a new figure."""
        self.figure_, (self.ax_,) = _axes(ax, 1)
        lines = {**self.errors, "labels that change": self.changed}
        for (name, values), colour in zip(lines.items(), (_BLUE, _ORANGE, _GREY), strict=False):
            self.ax_.plot(self.sizes, 100 * values, "o-", color=colour, markersize=4, label=name)
        self.ax_.set(xscale="log", xlabel="vectors", ylabel="% of the samples", ylim=(0, None))
        _legend(self.ax_)
        _tidy(self.ax_)
        return self


def _held_out_error(clf: Any) -> tuple[dict[str, np.ndarray], np.ndarray | None]:
    """Return the error on held-out samples, where there were some, and its standard error."""
    choice = as_choice(clf)
    if not (choice.has_probabilities and hasattr(clf, "cv_results_")):
        return {}, None
    results = clf.cv_results_
    own = np.ones(len(results["param_step"]), dtype=bool)
    if "param_gamma" in results:
        own = results["param_gamma"] == clf.gamma_
    folds = sum(key.startswith("split") for key in results)
    spread = results["std_test_score"][own] / (folds - 1) ** 0.5 if folds > 1 else None
    return {choice.judge: 1 - results["mean_test_score"][own]}, spread


def _staged_error(clf: Any, X: Any, y: Any) -> np.ndarray:
    return np.array([np.mean(np.asarray(y) != labels) for labels in clf.staged_predict(X)])


def _margins(decision: np.ndarray, codes: np.ndarray) -> np.ndarray:
    if decision.ndim == 1:
        return np.where(codes == 1, decision, -decision)
    own = np.arange(decision.shape[1]) == codes[:, None]
    return np.asarray(decision[own] - np.where(own, -np.inf, decision).max(axis=1))


def _axes(ax: Any, number: int) -> tuple[Any, np.ndarray]:
    """Return a figure and so many axes: new ones, the given ones, or the given one divided."""
    plt = require("matplotlib.pyplot", extra="plot", what="Displays")
    if ax is None:
        size = (4 * number + 0.8, 3.4) if number > 1 else (6.4, 4.4)
        figure, axes = plt.subplots(1, number, figsize=size, layout="constrained", squeeze=False)
        figure.get_layout_engine().set(wspace=0.04)
        return figure, axes[0]
    axes = np.ravel(ax)
    if len(axes) == 1 < number:
        axes[0].set_axis_off()
        divided = axes[0].get_subplotspec().subgridspec(1, number, wspace=0.4)
        axes = np.array([axes[0].figure.add_subplot(divided[i]) for i in range(number)])
    if len(axes) != number:
        raise ValueError(
            f"ax must be one Axes{f' or {number} of them' if number > 1 else ''}, got {len(axes)}."
        )
    return axes[0].figure, axes


def _threshold(lower: np.ndarray, upper: np.ndarray) -> float:
    """Return where the logarithmic part of the axis begins: at the smallest bound that is proved."""
    return float(max(np.min(np.where(lower > 0, lower, upper)), 1e-6 * upper.max()))


def _legend(panel: Any) -> None:
    panel.legend(framealpha=0.9, edgecolor="none")


def _tidy(panel: Any) -> None:
    panel.grid(color="#E6E6E6", linewidth=0.8)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
