"""The error against the number of vectors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from ..estimators.refitting import compressed_to
from ..estimators.slimming import require_path
from .drawing import BLUE, GREY, ORANGE, axes, legend, taken_apart, tidy


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
        clf, before = taken_apart(estimator)
        require_path(clf, "CompressionDisplay")
        number = len(clf.support_)
        if sizes is None:
            sizes = np.geomspace(max(1, number / 100), max(1, number / 2), 7).astype(int)
        fewer = [int(size) for size in np.unique(sizes) if 1 <= size < number]
        if not fewer:
            raise ValueError(
                f"CompressionDisplay draws numbers of vectors from 1 to one fewer than the {number} that the "
                f"classifier has; got sizes={np.asarray(sizes).tolist()}."
            )
        classifiers = compressed_to(clf, fewer)
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
        self.figure_, (self.ax_,) = axes(ax, 1)
        lines = {**self.errors, "labels that change": self.changed}
        for (name, values), colour in zip(lines.items(), (BLUE, ORANGE, GREY), strict=False):
            self.ax_.plot(self.sizes, 100 * values, "o-", color=colour, markersize=4, label=name)
        self.ax_.set(xscale="log", xlabel="vectors", ylabel="% of the samples", ylim=(0, None))
        self.ax_.xaxis.set_major_formatter("{x:g}")
        legend(self.ax_)
        tidy(self.ax_)
        return self
