"""Separable problems with their exact maximum margin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import marginpath as mp

#: Width of the certified interval that an exact margin must have.
PRECISION = 1e-11


@dataclass(frozen=True, eq=False)
class Separable:
    """A problem whose maximum margin is known.

    Attributes
    ----------
    name, title : str
        Its key, and a line for a picture.
    problem : Problem
        With max_i K_ii = 1, so that margin gaps of different problems can be compared.
    margin, width : float
        The maximum margin, and the width of the certified interval that contains it.
    size : float
        max v*, v* = −u* the dual solution: the hinge-loss solution has maximum margin from λ = 1/size on.
    """

    name: str
    title: str
    problem: mp.Problem
    margin: float
    width: float
    size: float


def random_problem(n: int = 100, d: int = 60, seed: int = 0) -> mp.Problem:
    """Return Gaussian samples, labelled by a random linear rule, the longest sample of length 1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return mp.Problem(mp.Gram.linear(_scaled(X)), np.where(X @ rng.standard_normal(d) > 0, 1, -1))


def toy_problem() -> mp.Problem:
    """Return the paper's toy set in the plane, the longest sample of length 1."""
    data = mp.datasets.toy()
    return mp.Problem(mp.Gram.linear(_scaled(data.X)), data.y)


def mixture_problem(n: int = 200) -> mp.Problem:
    """Return the paper's mixture of two Gaussians with the kernel of the authors' program."""
    data = mp.datasets.gaussian_mixture("program", n_samples=n, n_test=0)
    return mp.Problem(mp.Gram.from_kernel(data.X, mp.Gaussian(sigma=0.12)), data.y)


#: name → title and maker.
PROBLEMS: dict[str, tuple[str, Callable[[], mp.Problem]]] = {
    "random": ("Random samples, $n$ = 100, $d$ = 60", random_problem),
    "toy": ("Toy set, $n$ = 80, $d$ = 2", toy_problem),
    "mixture": ("Gaussian kernel, $n$ = 200", mixture_problem),
}


def separable(name: str) -> Separable:
    """Make a problem and solve it to the precision of its certificate.

    Examples
    --------
    >>> toy = separable("toy")
    >>> round(toy.margin, 6), toy.width < PRECISION
    (0.255576, True)
    """
    if name not in PROBLEMS:
        raise ValueError(f"There is no problem {name!r}; there are {', '.join(PROBLEMS)}.")
    title, make = PROBLEMS[name]
    problem = make()
    solver = mp.DualDescent(mp.Constant(1e-6), momentum=mp.Inertia(30))
    path = mp.run(solver, problem, steps=5_000, observe=["margin"], every=5_000, keep=0)
    lower, upper = mp.margin_bounds(problem, path.last.u)
    if not upper - lower <= PRECISION:
        raise RuntimeError(f"The maximum margin of {name!r} is known to {upper - lower:.1e} only.")
    size = float(-path.last.u.min())
    return Separable(name, title, problem, float(path["margin"][-1]), float(upper - lower), size)


def _scaled(X: np.ndarray) -> np.ndarray:
    scaled: np.ndarray = X / np.linalg.norm(X, axis=1).max()
    return scaled
