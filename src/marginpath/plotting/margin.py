"""How far samples are from the boundary, and the boundary itself in a plane."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from ..extras import require
from .drawing import BLUE, CLASSES, GREY, VERMILION, axes, taken_apart, tidy


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
        clf, before = taken_apart(estimator)
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
        self.figure_, (self.ax_,) = axes(ax, 1)
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
            ax.contour(*self.grid, lead, levels=[0], colors=GREY, linewidths=2)
        ax.plot([], [], color=GREY, linewidth=2, label="boundary")
        if len(self.classes) == 2:
            sides = {"levels": [-1, 1], "linestyles": "dashed", "linewidths": 1.2}
            ax.contour(*self.grid, self.values[..., 0], colors=GREY, **sides)
            ax.plot([], [], color=GREY, linewidth=1.2, linestyle="dashed", label="f(x) = ±1")
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
            parts, colors, names = [right, ~right], [BLUE, VERMILION], ["right", "wrong"]
        style = {"stacked": True, "edgecolor": "white", "linewidth": 0.4}
        ax.hist([self.margins[part] for part in parts], edges, color=colors, label=names, **style)
        ax.axvline(0, color=GREY, linewidth=2, label="boundary")
        if two:
            ax.axvline(1, color=GREY, linewidth=1.2, linestyle="dashed", label="y f(x) = 1")
        ax.set_xlabel(r"margin  $y \, f(x)$" if two else r"margin  $f_y(x) - \max_{c \neq y} f_c(x)$")
        ax.set_ylabel("samples")
        told = f"{np.mean(~right):.1%} of {len(right):,} samples on the wrong side"
        ax.set_title(told, loc="left", fontsize="medium")
        tidy(ax)

    @property
    def _colors(self) -> list[str]:
        return [CLASSES[code % len(CLASSES)] for code in range(len(self.classes))]

    @property
    def _names(self) -> list[str]:
        return [name if isinstance(name, str) else f"class {name}" for name in self.classes]


def _margins(decision: np.ndarray, codes: np.ndarray) -> np.ndarray:
    if decision.ndim == 1:
        return np.where(codes == 1, decision, -decision)
    own = np.arange(decision.shape[1]) == codes[:, None]
    return np.asarray(decision[own] - np.where(own, -np.inf, decision).max(axis=1))
