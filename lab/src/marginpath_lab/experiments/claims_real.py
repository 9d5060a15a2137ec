"""The claims about MNIST and HTRU2, Figure 5."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import marginpath as mp
from marginpath.gram.dense import DenseGram

from .observing import average
from .pieces import Arrays, Pieces
from .real_runs import PAIRS, PAPER_METHODS, RealRun, load, prepare, run_method
from .settings import PROGRAM, Settings
from .verdicts import NEGATIVE, POSITIVE, Claim, Part, mean_part

DRAWS, SIZE = 10, 1000
SLIGHTLY = 0.01
FIRST, SECOND, NORMALIZED, MIRROR = range(4)  # of PAPER_METHODS

Averages = dict[str, np.ndarray]  # name of the data set → (draws, methods)


def real_claims(
    settings: Settings,
    pieces: Pieces,
    runs: Sequence[RealRun],
    names: list[str],
    draws: int = DRAWS,
    watch: Callable[[str], Any] = lambda text: None,
) -> list[Claim]:
    """Judge the claims on small draws and, where there are runs of Figure 5, on all the data."""
    both = _Both(runs, _drawn(settings, pieces, names, draws, watch))
    pairs = [name for name in PAIRS if name in names]
    pulsars = [name for name in names if name == "HTRU2"]
    return [*_mnist(both, pairs), *_htru2(both, pulsars), _one_product()]


def _summary(steps: np.ndarray, margin: np.ndarray, error: np.ndarray) -> dict[str, float]:
    """Return what is compared of a path: margin and test error, averaged, and the lowest test error."""
    return {
        "margin": float(average(steps, margin)),
        "error": float(average(steps, error)),
        "lowest error": float(error.min()),
    }


class _Both:
    """Summaries of the paths of the methods, in the draws and on all the data."""

    def __init__(self, runs: Sequence[RealRun], drawn: dict[str, Averages]) -> None:
        self.drawn = drawn
        self.full = {
            (what, run.data, run.method): value
            for run in runs
            for what, value in _summary(run.steps, run.margin, run.error).items()
        }

    @property
    def also(self) -> str:
        """What the descriptions say where there are runs on all the data."""
        return ", and on all of them" if self.full else ""

    def part(self, what: str, name: str, i: int, j: int, claimed: tuple[float, float]) -> Part:
        """Compare two methods: the first less the second."""
        first, second = PAPER_METHODS[i], PAPER_METHODS[j]
        values = self.drawn[what][name]
        full = None
        if (what, name, first) in self.full:
            full = self.full[what, name, first] - self.full[what, name, second]
        label = f"{name}, {what}, {first} less {second}"
        return mean_part(label, values[:, i] - values[:, j], claimed, full)


def _mnist(both: _Both, names: list[str]) -> list[Claim]:
    rivals = (FIRST, NORMALIZED, MIRROR)
    how = f"in {DRAWS} draws of {SIZE:,} training images{both.also}"
    return [
        Claim(
            "MNIST: Algorithm 2 has the best margin",
            "Section 6.2, Figure 5",
            "on MNIST, Algorithm 2 has the best margin convergence of all four methods",
            f"average margin over the path, Algorithm 2 less each other method, {how}, claimed to be "
            "positive",
            [both.part("margin", name, SECOND, j, POSITIVE) for name in names for j in rivals],
        ),
        Claim(
            "MNIST: Algorithm 2 has the best test error",
            "Section 6.2, Figure 5",
            "on MNIST, Algorithm 2 has the best test error of all four methods",
            f"test error, averaged over the path and the lowest of the path, Algorithm 2 less each other "
            f"method, {how}, claimed to be negative",
            [
                both.part(what, name, SECOND, j, NEGATIVE)
                for name in names
                for what in ("error", "lowest error")
                for j in rivals
            ],
        ),
    ]


def _htru2(both: _Both, names: list[str]) -> list[Claim]:
    how = f"in {DRAWS} random splits with {SIZE:,} training samples{both.also}"
    return [
        Claim(
            "HTRU2: Algorithm 2 has the fastest margin",
            "Section 6.2, Figure 5",
            "on HTRU2, Algorithm 2 still has the fastest margin convergence",
            f"average margin over the path, Algorithm 2 less each other method, {how}, claimed to be "
            "positive",
            [
                both.part("margin", name, SECOND, j, POSITIVE)
                for name in names
                for j in (FIRST, NORMALIZED, MIRROR)
            ],
        ),
        Claim(
            "HTRU2: Algorithm 2 slightly worse than mirror descent",
            "Section 6.2, Figure 5",
            "on HTRU2, the test error of Algorithm 2 is slightly worse than that of accelerated "
            "mirror descent",
            f"average test error over the path, difference {how}, claimed to be over 0 and under "
            f"{SLIGHTLY:g}",
            [both.part("error", name, SECOND, MIRROR, (0, SLIGHTLY)) for name in names],
        ),
        Claim(
            "HTRU2: Algorithm 1 and normalized gradient have better test errors",
            "Section 6.2, Figure 5",
            "on HTRU2, Algorithm 1 and the normalized gradient method have better test errors than "
            "the other two",
            f"average test error over the path, difference {how}, claimed to be negative",
            [
                both.part("error", name, i, j, NEGATIVE)
                for name in names
                for i in (FIRST, NORMALIZED)
                for j in (SECOND, MIRROR)
            ],
        ),
    ]


class _Counting(DenseGram):
    """A Gram matrix that counts its products with a vector."""

    products = 0

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        self.products += 1
        return np.asarray(self.K @ V)


def _one_product() -> Claim:
    data = mp.datasets.gaussian_mixture(n_samples=40, n_test=10)
    dense = mp.Gram.from_kernel(data.X.astype(np.float32), mp.Gaussian(sigma=0.5))
    parts = []
    for method in PAPER_METHODS:
        counts = []
        for steps in (10, 60):
            gram = _Counting(dense.K, dense.cross)
            problem = mp.Problem(gram, data.y)
            error = mp.HeldOutError(problem, data.X_test.astype(np.float32), data.y_test)
            run_method(replace(PROGRAM, real_steps=steps), "HTRU2", method, problem, error)
            counts.append(gram.products)
        per_update = (counts[1] - counts[0]) / 50
        parts.append(Part(method, per_update, per_update, per_update, (0.99, 1.01)))
    return Claim(
        "the same work per update",
        "Section 6.2",
        "all four methods have the same complexity per iteration: one evaluation of the kernel expansion",
        "products with the Gram matrix per update, counted, claimed to be 1",
        parts,
    )


def _drawn(
    settings: Settings, pieces: Pieces, names: list[str], draws: int, watch: Callable[[str], Any]
) -> dict[str, Averages]:
    drawn: dict[str, Averages] = {}
    for name in names:
        found = []
        for draw in range(draws):
            watch(f"{name}, draw {draw + 1} of {draws}")
            key = f"real draw {name} {draw} {SIZE} {settings!r}"
            found.append(pieces.get(key, lambda name=name, draw=draw: _draw(settings, name, draw)))  # type: ignore[misc]
        for what in found[0]:
            drawn.setdefault(what, {})[name] = np.stack([piece[what] for piece in found])
    return drawn


def _draw(settings: Settings, name: str, draw: int) -> Arrays:
    """Run the paper's methods on some of the training samples, and sum up their paths."""
    data = load(settings, name, seed=draw)
    rows = np.random.default_rng(draw).permutation(len(data.y))[:SIZE]
    with threadpool_limits(1, user_api="blas"):
        problem, error = prepare(settings, name, replace(data, X=data.X[rows], y=data.y[rows]))
        runs = [run_method(settings, name, method, problem, error) for method in PAPER_METHODS]
    summaries = [_summary(run["steps"], run["margin"], run["error"]) for run in runs]
    return {what: np.array([summary[what] for summary in summaries]) for what in summaries[0]}
