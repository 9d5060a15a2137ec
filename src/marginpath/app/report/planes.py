"""Planes through the data, and the decision values on a grid in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.feature_selection import f_classif

from ...tables.encodings import Number
from ..modelfile import Model
from ..tables.reading import NotThere

#: Cells of a grid, and of all grids of a page together, where there are many classes or steps.
CELLS, ALL_CELLS = 4800, 2_000_000
#: Beyond these, decision values are drawn alike.
CLIP = 2.5


@dataclass(frozen=True, eq=False)
class Plane:
    """The points base + a·axes[0] + b·axes[1], in the units unit·⟨axis, x⟩ + offset.

    Examples
    --------
    >>> plane = Plane("", "a", "b", np.array([0., 0., 5.]), np.eye(2, 3), np.ones(2), np.zeros(2))
    >>> plane.lift(np.array([[1.0, 2.0]])), plane.coordinates(np.array([[1.0, 2.0, 9.0]]))
    (array([[1., 2., 5.]]), array([[1., 2.]]))
    """

    name: str
    x: str
    y: str
    base: np.ndarray
    axes: np.ndarray
    unit: np.ndarray
    offset: np.ndarray

    def coordinates(self, X: Any) -> np.ndarray:
        """Project rows onto the plane."""
        return np.asarray(np.asarray(X @ self.axes.T) * self.unit + self.offset)

    def lift(self, points: np.ndarray) -> np.ndarray:
        """Return the rows that lie in the plane at these coordinates."""
        along = (points - self.offset) / self.unit - self.base @ self.axes.T
        return np.asarray(self.base + along @ self.axes)


def planes(model: Model, pair: Sequence[str] | None = None) -> list[Plane]:
    """Return the plane of two columns, or for more of them the principal one and that of a telling pair."""
    X = model.classifier.X_fit_
    if X.shape[1] < 2:
        return []
    names = model.feature_names
    index = _indices(model, pair) if pair else _telling_pair(model, X)
    found = [] if index is None else [_pair_plane(model, X, names, index)]
    if X.shape[1] == 2 and found:
        return found
    return [*found, _principal_plane(X)] if pair else [_principal_plane(X), *found]


def extent(points: np.ndarray) -> list[float]:
    """Return [left, right, bottom, top] around nearly all of the points."""
    low, high = np.percentile(points, (0.5, 99.5), axis=0)
    pad = 0.12 * np.where(high > low, high - low, 1.0)
    (left, bottom), (right, top) = low - pad, high + pad
    return [float(left), float(right), float(bottom), float(top)]


def grid_shape(n_planes: int, n_steps: int, n_columns: int) -> tuple[int, int]:
    """Return (rows, columns) of a grid, 3 to 4, such that all grids together keep within bounds."""
    cells = min(CELLS, ALL_CELLS / max(1, n_planes * n_steps * n_columns))
    height = max(12, int((cells * 3 / 4) ** 0.5))
    return height, height * 4 // 3


def decision_grid(
    model: Model, plane: Plane, box: list[float], shape: tuple[int, int], steps: Sequence[int]
) -> tuple[np.ndarray, list[list[float]]]:
    """Return the decision values in ten bits, and [low, high] of every step.

    They are two arrays of bytes (steps, columns, height, width), the upper eight bits and the lower two.
    """
    left, right, bottom, top = box
    x, y = np.meshgrid(np.linspace(left, right, shape[1]), np.linspace(top, bottom, shape[0]))
    points, dtype = np.stack([x.ravel(), y.ravel()], axis=1), model.classifier.X_fit_.dtype
    block = max(1, 4_000_000 // len(plane.base))
    rows = (plane.lift(points[a : a + block]).astype(dtype) for a in range(0, len(points), block))
    parts = [staged(model, part, steps) for part in rows]
    values = np.concatenate(parts, axis=1).transpose(0, 2, 1)
    low = np.maximum(values.min(axis=(1, 2)), -CLIP)
    high = np.maximum(np.minimum(values.max(axis=(1, 2)), CLIP), low + 1e-12)
    scaled = (values - low[:, None, None]) / (high - low)[:, None, None]
    levels = np.clip(np.rint(1023 * scaled), 0, 1023).astype(np.uint16).reshape(len(steps), -1, *shape)
    return np.stack([levels >> 2, levels & 3]).astype(np.uint8), np.stack([low, high], axis=1).tolist()


def staged(model: Model, X: Any, steps: Sequence[int]) -> np.ndarray:
    """Return the decision values at some steps: (steps, rows, columns); two classes share a column."""
    if model.is_slim:
        return np.asarray(model.classifier.decision_function(X)).reshape(1, X.shape[0], -1)
    wanted = set(steps)
    along = model.classifier.staged_decision_function(X)
    kept = [values for step, values in enumerate(along, start=1) if step in wanted]
    return np.stack(kept).reshape(len(kept), X.shape[0], -1)


def _indices(model: Model, pair: Sequence[str]) -> tuple[int, int]:
    numbers = model.number_features
    if len(pair) != 2 or pair[0] == pair[1]:
        raise NotThere(f"A plane takes two different columns, such as --plane a,b; got {', '.join(pair)}.")
    for name in pair:
        if name not in numbers:
            shown = ", ".join(list(numbers)[:30]) or "none"
            raise NotThere(f"There is no column of numbers {name!r} in the model; it has {shown}.")
    return numbers[pair[0]][0], numbers[pair[1]][0]


def _telling_pair(model: Model, X: Any) -> tuple[int, int] | None:
    """Return the two columns of numbers whose means differ most between the classes, or None."""
    if model.is_sparse:
        return None
    numbers = np.array([place for place, _ in model.number_features.values()], dtype=int)
    varied = numbers[np.ptp(X[:, numbers], axis=0) > 0] if len(numbers) >= 2 else numbers
    if len(varied) < 2:
        return None
    if X.shape[1] == 2:
        return 0, 1
    with np.errstate(all="ignore"):
        strength = f_classif(X[:, varied], model.classifier.codes_)[0]
    first, second = varied[np.argsort(-np.nan_to_num(strength, posinf=1e30), kind="stable")[:2]]
    return int(first), int(second)


def _pair_plane(model: Model, X: Any, names: list[str], index: tuple[int, int]) -> Plane:
    axes = np.zeros((2, X.shape[1]))
    axes[[0, 1], index] = 1
    scaling = dict(model.number_features.values())
    scales = [scaling[j] or Number(0.0, 1.0, 0.0, -np.inf, np.inf, False) for j in index]
    unit, offset = np.array([s.scale for s in scales]), np.array([s.center for s in scales])
    a, b = (names[j] for j in index)
    return Plane(f"{a} × {b}", a, b, _middle(model, X), axes, unit, offset)


def _principal_plane(X: Any) -> Plane:
    found = PCA(2, svd_solver="arpack" if hasattr(X, "tocsr") else "full", random_state=0).fit(X)
    first, second = (f"{share:.0%} of the variance" for share in found.explained_variance_ratio_)
    return Plane(
        "principal components",
        f"first principal component ({first})",
        f"second ({second})",
        found.mean_,
        found.components_,
        np.ones(2),
        -found.mean_ @ found.components_.T,
    )


def _middle(model: Model, X: Any) -> np.ndarray:
    """Return the mean of the features, and the most frequent level of every category."""
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    for name, column in model.columns.items():
        if column.kind == "category":
            part = model.prepare.blocks_[name]
            mean[part] = np.arange(column.n_features) == np.argmax(mean[part])
    return mean
