"""What the three theorems promise beside what happens: bounds, their tightest cases, Tikhonov's side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import marginpath as mp
from marginpath import theory
from marginpath.losses import Loss

from .drawing import picture_files
from .problems import random_problem
from .theory_page import markdown, printed, stability_csv
from .theory_picture import draw, draw_stability, draw_theorem, draw_tikhonov
from .theory_tightest import tightest

__all__ = ["Convergence", "Stability", "TheoryBounds", "compute", "draw", "files", "printed"]

STEPS, DRAWS = 5_000, 100
QUANTITIES = ("distance", "angle_gap", "margin_gap")


@dataclass(frozen=True, eq=False)
class Convergence:
    """One algorithm on one problem: what was measured at every step, what is proved, what is printed.

    ``measured``, ``proved`` and ``printed`` have the three quantities by name, an array each.
    """

    title: str
    constants: theory.Constants
    bounds: theory.Bounds
    measured: dict[str, np.ndarray]
    proved: dict[str, np.ndarray]
    printed: dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Stability:
    """Algorithm 1 on flipped labels: ‖w̃_t − w*‖ over ‖w*‖.

    Attributes
    ----------
    flips : array
        N = 1 … n/4.
    mean : array (N, steps + 1)
        Of all draws, at every step.
    best, when : arrays (N, draws)
        The smallest distance of a draw, and its step.
    bound : array (N, steps + 1)
        Theorem 3, also over ‖w*‖.
    ratio : float
        The smallest ratio of bound to distance over all draws and steps.
    exponents : dict
        p of fits c N^p over these N: to the mean of ``best``, to √N ln(1 + n/N), and to the bound at
        t*(N) = 1.
    """

    title: str
    constants: theory.Constants
    flips: np.ndarray
    mean: np.ndarray
    best: np.ndarray
    when: np.ndarray
    bound: np.ndarray
    ratio: float
    exponents: dict[str, float]


@dataclass(frozen=True, eq=False)
class TheoryBounds:
    """All tables of the three pages."""

    theorem1: tuple[Convergence, ...]
    theorem2: tuple[Convergence, ...]
    stability: tuple[Stability, ...]
    tikhonov: dict[str, theory.TikhonovSide]
    tightest: dict[str, tuple[str, float]]


def blobs(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return two Gaussian classes, cut in half and moved one unit apart from the boundary."""
    y = np.where(np.arange(n) % 2, 1, -1)
    X = np.random.default_rng(seed).standard_normal((n, d))
    X[:, 0] = y * (1 + np.abs(X[:, 0]))
    return X, y


def compute(
    steps: int = STEPS,
    draws: int = DRAWS,
    count: int = 100,
    watch: Callable[[str], Any] = lambda text: None,
) -> TheoryBounds:
    """Measure all of it, on problems small enough for exact constants.

    Parameters
    ----------
    steps, draws, count : int
        Updates, draws of flips for each N, and random problems for the tightest cases.
    watch : callable
        Told what is being run.
    """
    with threadpool_limits(1, user_api="blas"):
        X, y = blobs(6, 2, seed=13)
        problems = {
            "12 random samples, $d$ = 30": random_problem(12, 30, 0),
            "6 samples in the plane": mp.Problem(mp.Gram.from_kernel(X, mp.Linear()), y),
        }
        watch("Theorems 1 and 2")
        first = tuple(_convergence(title, problem, None, steps) for title, problem in problems.items())
        second = tuple(_convergence(title, problem, 3.0, steps) for title, problem in problems.items())
        watch("Theorem 3")
        X, y = blobs(40, 10)
        noisy = {
            "random samples, $n$ = 40, $d$ = 60": random_problem(40, 60, 0),
            "Gaussian kernel, $n$ = 40": mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(sigma=3.0)), y),
        }
        third = tuple(
            _stability(title, problem, draws, min(steps, 1_000)) for title, problem in noisy.items()
        )
        watch("Tikhonov's side")
        example = problems["12 random samples, $d$ = 30"]
        lambdas = np.geomspace(1e2, 1e-8, 61).tolist()
        losses: dict[str, Loss] = {
            "hinge": mp.Hinge(),
            "logistic": mp.Logistic(),
            "exponential": mp.Exponential(),
        }
        sides = {name: theory.tikhonov_side(example, lambdas, loss) for name, loss in losses.items()}
        watch("the tightest cases")
        return TheoryBounds(first, second, third, sides, tightest(count))


def files(table: TheoryBounds) -> dict[str, bytes]:
    """Return tables, pieces of pages and pictures, by name of file."""
    text = {"theory_bounds.md": markdown(table), "theory_stability.csv": stability_csv(table)}
    return (
        {name: content.encode() for name, content in text.items()}
        | picture_files(draw_theorem(table.theorem1, 1), "theorem1")
        | picture_files(draw_theorem(table.theorem2, 2), "theorem2")
        | picture_files(draw_stability(table), "theorem3")
        | picture_files(draw_tikhonov(table), "tikhonov")
    )


def _convergence(title: str, problem: mp.Problem, alpha: float | None, steps: int) -> Convergence:
    solution = mp.maximum_margin(problem, tol=1e-13).u
    c = theory.constants(problem, solution=solution)
    γ = 1 / c.L
    reference = mp.Reference(problem, solution)
    momentum = None if alpha is None else mp.Inertia(alpha)
    solver = mp.DualDescent(mp.Constant(1 / c.u_max), momentum, γ)
    observe = {name: getattr(reference, name) for name in QUANTITIES}
    path = mp.run(solver, problem, steps, observe=observe, keep=0)
    if alpha is None:
        bounds: theory.Bounds = theory.Theorem1(c, γ)
        printed: theory.Bounds = theory.PrintedTheorem1(c, γ, C=c.C, mu=None if c.tau == c.tau else c.mu)
    else:
        bounds, printed = theory.Theorem2(c, γ, alpha), theory.PrintedTheorem2(c, γ, alpha, C=c.C)
    t = path.steps
    return Convergence(
        title,
        c,
        bounds,
        {name: path[name] for name in QUANTITIES},
        {name: getattr(bounds, name)(t) for name in QUANTITIES},
        {name: getattr(printed, name)(t) for name in QUANTITIES},
    )


def _stability(title: str, problem: mp.Problem, draws: int, steps: int) -> Stability:
    n, y = problem.shape[0], np.asarray(problem.Y)
    solution = mp.maximum_margin(problem, tol=1e-13).u
    c = theory.constants(problem, solution=solution)
    flips = np.arange(1, n // 4 + 1)
    rng = np.random.default_rng(0)
    labels = [mp.noise.flip_exactly(y, int(N), seed=rng) for N in flips for _ in range(draws)]
    noisy = mp.Problem(problem.gram, np.stack(labels, axis=1))
    v, S = (y * solution)[:, None], problem.scores(solution)[:, None]

    def distance(noisy: mp.Problem, state: mp.State) -> Any:
        squared = np.sum((noisy.Y * state.u - v) * (state.scores - S), axis=0)
        return np.sqrt(np.maximum(squared, 0)) / c.w_norm

    solver = mp.DualDescent(mp.Constant(1 / c.u_max), step_size=1 / c.L)
    path = mp.run(solver, noisy, steps, observe={"distance": distance}, keep=0)
    distances = path["distance"].T.reshape(len(flips), draws, -1)
    bounds = [theory.Theorem3(c, 1 / c.L, int(N)).distance(path.steps) / c.w_norm for N in flips]
    best = distances[..., 1:].min(axis=-1)
    return Stability(
        title=title,
        constants=c,
        flips=flips,
        mean=distances.mean(axis=1),
        best=best,
        when=1 + distances[..., 1:].argmin(axis=-1),
        bound=np.array(bounds),
        ratio=float(np.min(np.array(bounds)[:, None, 1:] / distances[..., 1:])),
        exponents={
            "measured": _exponent(flips, best.mean(axis=1)),
            "√N ln(1 + n/N)": _exponent(flips, np.sqrt(flips) * np.log1p(n / flips)),
            "the bound at t*(N)": _exponent(flips, np.array(bounds)[:, 1]),
        },
    )


def _exponent(x: np.ndarray, values: np.ndarray) -> float:
    return float(np.polyfit(np.log(x), np.log(values), 1)[0])
