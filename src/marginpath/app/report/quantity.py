"""The page of a regression: its error along the path, predictions against targets, and residuals.

It does not move: three pictures, drawn here, and a table of facts.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

import numpy as np
from sklearn.metrics import mean_absolute_error, r2_score

from ..regressionmodel import RegressionModel, quantities
from ..tables.reading import Table

_WIDTH, _HEIGHT = 560, 360  # of a picture
_LEFT, _RIGHT, _TOP, _FOOT = 70, 24, 28, 46  # what its numbers and names take
_TICKS, _SHOWN = 7, 1000
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"  # the page asks for nothing
_COLUMNS = 20  # bars of the histogram


def render_quantity(model: RegressionModel, table: Table | None = None) -> str:
    """Return the page of a regression as html; ``table`` has rows with their targets to judge it by.

    Examples
    --------
    >>> import marginpath as mp
    >>> from sklearn.datasets import load_diabetes
    >>> data = load_diabetes(as_frame=True)
    >>> table = Table("diabetes", data.data, data.target.to_numpy(), "progress")
    >>> model = RegressionModel.fit_quantity(table, [mp.LinearMarginPathRegressor(random_state=0)])
    >>> page = render_quantity(model)
    >>> page.startswith("<!doctype html>"), page.count("<svg")
    (True, 3)
    """
    y, predicted, rows = _judged(model, table)
    cards = [_path_card(model)] if model.path.size else []
    if y.size:
        cards += [_scatter_card(model.target, y, predicted, rows), _residual_card(model.target, y, predicted)]
    css = files("marginpath.app.report").joinpath("assets", "page.css").read_text(encoding="utf-8")
    title = escape(f"{model.source} – marginpath")
    said = _facts(model, y, predicted, rows)
    facts = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in said)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<style>{css}\n{_CSS}</style></head><body><header><h1>{escape(model.source)} "
        f"<small>predicting {escape(model.target)}</small></h1>"
        f'<p class="lead">{escape(model.reason)}</p><dl class="settings">{facts}</dl></header>'
        f'<main class="quantity">{"".join(cards)}</main></body></html>\n'
    )


def write_quantity(model: RegressionModel, file: str | os.PathLike[str], table: Table | None = None) -> Path:
    """Write the page of a regression to a file, and return where it is."""
    target = Path(file)
    html = render_quantity(model, table)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(html, encoding="utf-8")
    return target


_CSS = """main.quantity { display: grid; gap: 1rem; }
main.quantity { grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
main.quantity svg { width: 100%; height: auto; }
main.quantity text { font: 14px system-ui, sans-serif; fill: var(--ink, currentColor); }
main.quantity .axis { stroke: var(--quiet, #888); fill: none; }
main.quantity .dot { fill: var(--ink, currentColor); fill-opacity: 0.35; }
main.quantity .line { stroke: var(--ink, currentColor); stroke-width: 2; fill: none; }
main.quantity .band, main.quantity .bar { fill: var(--quiet, #888); fill-opacity: 0.3; }
main.quantity .kept { stroke: #c2410c; stroke-width: 2; stroke-dasharray: 4 4; }"""


def _judged(model: RegressionModel, table: Table | None) -> tuple[np.ndarray, np.ndarray, str]:
    """Return targets, predictions, and of which rows they are."""
    if table is None:
        return model.pairs[0], model.pairs[1], "the rows that folds held out"
    predicted = model.classifier.predict(model.prepared(table))
    return quantities(table), np.asarray(predicted), table.name


def _facts(model: RegressionModel, y: np.ndarray, predicted: np.ndarray, rows: str) -> list[tuple[str, str]]:
    """Return what the head of the page says."""
    regressor, fit = model.classifier, model.facts
    kernel = getattr(regressor, "kernel", "linear")
    facts = [
        ("rows", str(fit["samples"])),
        ("loss", regressor.loss if isinstance(regressor.loss, str) else repr(regressor.loss)),
        ("kernel", kernel if isinstance(kernel, str) else repr(kernel)),
        ("kept", f"step {regressor.step_} of {regressor.n_iter_}, C = {regressor.C_:.4g}"),
        ("duality gap", f"{fit['gap']:.1e}"),
    ]
    if y.size > 1:
        facts.append(("judged on", rows))
        if regressor.loss == "quantile":
            facts.append(("targets below", f"{np.mean(y <= predicted):.1%} of {regressor.quantile:.1%}"))
        else:
            error, r2 = mean_absolute_error(y, predicted), r2_score(y, predicted)
            facts += [("mean absolute error", f"{error:.4g}"), ("R²", f"{r2:.3f}")]
    return facts


class _Picture:
    """A picture with two axes: what is drawn is in their numbers."""

    def __init__(self, x: Sequence[float], y: Sequence[float], names: tuple[str, str]) -> None:
        self.x, self.y = _range(x), _range(y)
        size = f'width="{_WIDTH - _LEFT - _RIGHT}" height="{_HEIGHT - _TOP - _FOOT}"'
        self.parts = [f'<rect class="axis" x="{_LEFT}" y="{_TOP}" {size}/>']
        for value in _round_numbers(*self.x):
            self._text(self.at_x(value), _HEIGHT - _FOOT + 18, f"{value:.6g}", "middle")
        for value in _round_numbers(*self.y):
            self._text(_LEFT - 6, self.at_y(value) + 5, f"{value:.6g}", "end")
        self._text((_WIDTH + _LEFT - _RIGHT) / 2, _HEIGHT - 6, names[0], "middle")
        self._text(_LEFT, _TOP - 10, names[1], "start")
        self.label = f"{names[1]} against {names[0]}"

    def at_x(self, value: float) -> float:
        """Return where a number lies from left to right."""
        low, high = self.x
        return float(_LEFT + (value - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT))

    def at_y(self, value: float) -> float:
        """Return where a number lies from top to bottom."""
        low, high = self.y
        return float(_TOP + (high - value) / (high - low) * (_HEIGHT - _TOP - _FOOT))

    def points(self, x: np.ndarray, y: np.ndarray) -> str:
        """Return the places of points."""
        return " ".join(f"{self.at_x(a):.1f},{self.at_y(b):.1f}" for a, b in zip(x, y, strict=True))

    def line(self, x: np.ndarray, y: np.ndarray, kind: str = "line") -> None:
        """Draw a line through points."""
        self.parts.append(f'<polyline class="{kind}" points="{self.points(x, y)}"/>')

    def dots(self, x: np.ndarray, y: np.ndarray) -> None:
        """Draw points."""
        self.parts += [
            f'<circle class="dot" cx="{self.at_x(a):.1f}" cy="{self.at_y(b):.1f}" r="2.5"/>'
            for a, b in zip(x, y, strict=True)
        ]

    def svg(self) -> str:
        """Return the picture."""
        inside = "".join(self.parts)
        size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}"'
        return f'<svg {size} role="img" aria-label="{escape(self.label)}">{inside}</svg>'

    def _text(self, x: float, y: float, words: str, anchor: str) -> None:
        place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
        self.parts.append(f"<text {place}>{escape(words)}</text>")


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Return the least and the largest, with some room around them; nothing under 0, where counts begin."""
    low, high = float(np.min(values)), float(np.max(values))
    spare = 0.03 * (high - low) or 1.0
    return low - spare if low != 0 else 0.0, high + spare


def _round_numbers(low: float, high: float) -> np.ndarray:
    """Return some multiples of 1, 2 or 5 times a power of ten in the range.

    Examples
    --------
    >>> _round_numbers(0.7, 10.3).tolist(), _round_numbers(-0.31, 0.2).round(1).tolist()
    ([2.0, 4.0, 6.0, 8.0, 10.0], [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2])
    """
    power = 10.0 ** math.floor(math.log10((high - low) / _TICKS))
    step = next(power * each for each in (1, 2, 5, 10) if (high - low) / (power * each) <= _TICKS)
    return step * np.arange(math.ceil(low / step), math.floor(high / step) + 1)


def _card(title: str, picture: _Picture, note: str) -> str:
    return (
        f'<section class="card"><div class="head"><h2>{escape(title)}</h2></div>{picture.svg()}'
        f'<p class="note">{escape(note)}</p></section>'
    )


def _path_card(model: RegressionModel) -> str:
    steps, C, mean, spread = model.path
    kept = model.classifier.step_
    error = -mean
    picture = _Picture(steps, [*(error - spread), *(error + spread)], ("step", "error of the folds"))
    around = np.concatenate([steps, steps[::-1]]), np.concatenate([error + spread, (error - spread)[::-1]])
    picture.parts.append(f'<polygon class="band" points="{picture.points(*around)}"/>')
    picture.line(steps, error)
    picture.line(np.array([kept, kept]), np.array(picture.y), "kept")
    note = (
        f"Mean and standard deviation over the folds of what is minimized; C doubles from {C[0]:.3g} to "
        f"{C[-1]:.3g} unless the schedule is another. The dashed line is the step that is kept."
    )
    return _card("Error along the path", picture, note)


def _scatter_card(target: str, y: np.ndarray, predicted: np.ndarray, rows: str) -> str:
    shown = np.linspace(0, len(y) - 1, min(len(y), _SHOWN)).astype(int)
    y, predicted = y[shown], predicted[shown]
    both = [*y, *predicted]
    picture = _Picture(both, both, (f"{target}, predicted", f"{target}, observed"))
    picture.dots(predicted, y)
    picture.line(np.array(picture.x), np.array(picture.x), "kept")
    return _card("Observed against predicted", picture, f"{len(y)} of {rows}; on the line they are equal.")


def _residual_card(target: str, y: np.ndarray, predicted: np.ndarray) -> str:
    off = y - predicted
    heights, edges = np.histogram(off, bins=_COLUMNS)
    picture = _Picture([*edges], [0, *heights], (f"{target}, observed − predicted", "rows"))
    for height, low, high in zip(heights, edges, edges[1:], strict=False):
        corners = np.array([low, low, high, high]), np.array([0, height, height, 0])
        picture.parts.append(f'<polygon class="bar" points="{picture.points(*corners)}"/>')
    picture.line(np.zeros(2), np.array(picture.y), "kept")
    words = f"Half of them lie between {np.quantile(off, 0.25):.3g} and {np.quantile(off, 0.75):.3g}."
    return _card("Residuals", picture, words)
