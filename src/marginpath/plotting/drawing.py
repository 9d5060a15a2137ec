"""What the displays share: colours, axes, and the classifier of a pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..estimators.base import BasePathClassifier
from ..extras import require

# Okabe and Ito's colours, told apart by all kinds of colour vision.
CLASSES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
BLUE, ORANGE, GREEN, PURPLE = CLASSES[:4]
VERMILION, GREY = CLASSES[5], "#5A5A5A"


def taken_apart(estimator: Any, kind: type = BasePathClassifier, what: str = "classifier") -> tuple[Any, Any]:
    """Return the fitted classifier, or what else is asked for, and what stands before it in a Pipeline."""
    from sklearn.pipeline import Pipeline

    clf, before = estimator, None
    if isinstance(estimator, Pipeline):
        clf, before = estimator[-1], estimator[:-1] if len(estimator) > 1 else None
    if not isinstance(clf, kind):
        raise TypeError(
            f"A {what} of marginpath is needed, or a Pipeline that ends in one, got {type(clf).__name__}."
        )
    check_is_fitted(clf)
    return clf, before


def axes(ax: Any, number: int) -> tuple[Any, np.ndarray]:
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


def legend(panel: Any) -> None:
    """Draw a legend without a frame, over the lines."""
    panel.legend(framealpha=0.9, edgecolor="none")


def tidy(panel: Any) -> None:
    """Draw a light grid behind the lines, and no box around them."""
    panel.grid(color="#E6E6E6", linewidth=0.8)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
