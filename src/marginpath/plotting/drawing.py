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


def draw_errors(
    panel: Any,
    steps: np.ndarray,
    errors: dict[str, np.ndarray],
    spread: np.ndarray | None,
    step: int,
    C: float,
) -> None:
    """Draw the errors along a path, the spread of the first, and its value at the step that is kept."""
    for (name, error), color in zip(errors.items(), (BLUE, VERMILION), strict=False):
        panel.plot(steps, error, color=color, linewidth=2, label=name)
    error = next(iter(errors.values()))
    if spread is not None:
        panel.fill_between(steps, error - spread, error + spread, color=BLUE, alpha=0.15, linewidth=0)
    _dot(panel, step, error[step - 1], BLUE)
    told = f"{C:.3g}" if np.isfinite(C) else "∞"
    panel.set_title(f"step {step} is kept: C = {told}", loc="left", fontsize="medium")
    legend(panel)


def draw_support(panel: Any, steps: np.ndarray, support: np.ndarray, step: int) -> None:
    """Draw the share of the samples that are support vectors along a path."""
    panel.plot(steps, support, color=PURPLE, linewidth=2)
    chosen = support[step - 1]
    _dot(panel, step, chosen, PURPLE)
    panel.set_ylim(0, 1.05)
    in_percent(panel)
    panel.set_ylabel("support vectors")
    panel.set_title(f"{chosen:.0%} of the samples at the step kept", loc="left", fontsize="medium")


def mark_step(panels: np.ndarray, step: int) -> None:
    """Mark the step that is kept in all panels of a path."""
    for panel in panels:
        panel.axvline(step, color=GREY, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
        panel.set_xlabel("step")
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.margins(x=0.02)
        tidy(panel)


def in_percent(panel: Any) -> None:
    """Write the shares on the vertical axis in percent."""
    panel.yaxis.set_major_formatter(lambda share, position: f"{100 * share:.3g}%")


def standard_error(results: dict[str, Any]) -> np.ndarray | None:
    """Return that of the scores of every step in ``cv_results_``, where there was more than one fold."""
    folds = sum(key.startswith("split") for key in results)
    return results["std_test_score"] / (folds - 1) ** 0.5 if folds > 1 else None


def _dot(panel: Any, step: int, value: float, color: str) -> None:
    panel.plot(step, value, "o", color=color, markersize=8, markeredgecolor="white", zorder=4)
