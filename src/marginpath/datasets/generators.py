"""Seeded generators of the paper's synthetic sets."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .dataset import Dataset

__all__ = ["gaussian_mixture", "toy"]

Settings = Literal["text", "program"]

_TOY_SOLUTION = np.array([0.5, 0.5])
_TOY_SUPPORT = np.array([[0.5, 1.5], [1.5, 0.5]])


def toy(settings: Settings = "text", seed: int = 0) -> Dataset:
    """Draw the paper's toy set: 40 + 40 points whose maximum-margin solution is w* = (1/2, 1/2).

    The support vectors ±(1/2, 3/2) and ±(3/2, 1/2) are the first two points of each class. A point
    with y⟨w*, x⟩ ≤ 1 is drawn again, so no other point is a support vector and w* is exact.

    Parameters
    ----------
    settings : {"text", "program"}
        "text": the paper leaves open how the other 76 points are drawn; here they are uniform on
        the square [-4, 4]² outside the margin. "program": N(±(2, 2), 0.45² I), as in the
        authors' program.
    seed : int
        Passed to `numpy.random.default_rng`.

    Returns
    -------
    Dataset
        The class +1, then the class -1; no test part.

    Examples
    --------
    >>> data = toy("program")
    >>> float(np.min(data.y * (data.X @ [0.5, 0.5])))
    1.0
    """
    _check_settings(settings)
    rng = np.random.default_rng(seed)

    def draw_class() -> NDArray[np.float64]:
        points = list(_TOY_SUPPORT)
        while len(points) < 40:
            point = rng.uniform(-4, 4, 2) if settings == "text" else rng.normal(2, 0.45, 2)
            if point @ _TOY_SOLUTION > 1:
                points.append(point)
        return np.array(points)

    X = np.vstack([draw_class(), -draw_class()])
    return Dataset("toy", X, np.repeat([1, -1], 40), None, None, ("-1", "+1"))


def gaussian_mixture(
    settings: Settings = "text", n_samples: int = 600, n_test: int = 600, seed: int = 0
) -> Dataset:
    """Draw two overlapping Gaussian classes in the plane, N(±(1/2, 1/2), σ² I).

    Parameters
    ----------
    settings : {"text", "program"}
        "text": the paper's N(·, 0.4), 0.4 read as the variance, σ = √0.4 ≈ 0.63. "program":
        standard deviation σ = 0.4, as in the authors' program.
    n_samples, n_test : int
        How many training and test points, an even number each, half of them in either class.
        The training points do not depend on `n_test`; ``n_test=0``: no test part.
    seed : int
        Passed to `numpy.random.default_rng`.

    Returns
    -------
    Dataset
        The class +1, then the class -1, in both parts.

    Examples
    --------
    >>> data = gaussian_mixture("program", n_samples=20, n_test=10)
    >>> data.X.shape, data.X_test.shape, int(data.y.sum())
    ((20, 2), (10, 2), 0)
    """
    _check_settings(settings)
    if n_samples < 2 or n_samples % 2 or n_test < 0 or n_test % 2:
        raise ValueError(
            f"n_samples is {n_samples} and n_test is {n_test}; even numbers are needed, "
            "at least 2 and at least 0, for classes of equal size"
        )
    rng = np.random.default_rng(seed)
    sigma = np.sqrt(0.4) if settings == "text" else 0.4

    def draw(n: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        y = np.repeat([1, -1], n // 2)
        return 0.5 * y[:, None] + sigma * rng.standard_normal((n, 2)), y

    X, y = draw(n_samples)
    X_test, y_test = draw(n_test) if n_test else (None, None)
    return Dataset("gaussian mixture", X, y, X_test, y_test, ("-1", "+1"))


def _check_settings(settings: str) -> None:
    if settings not in ("text", "program"):
        raise ValueError(f'settings is "{settings}"; "text" or "program" is needed')
