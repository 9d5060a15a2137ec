"""Algorithms 1 and 2 on the mixture of two Gaussians with wrong labels: what Figures 3 and 4 show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits

import marginpath as mp
from marginpath.schedules import Schedule, box_size

from .observing import At, spaced_steps
from .pieces import Arrays, Pieces
from .settings import Settings

ALGORITHMS = ("Algorithm 1", "Algorithm 2")
NOISE = (0.0, 0.1, 0.2)
DRAWS = 20


@dataclass(frozen=True, eq=False)
class MixtureRuns:
    """Margins and test errors of all columns, in all draws.

    Attributes
    ----------
    figure : {"fig3", "fig4"}
    series : tuple of str
        What λ_t is, as mathematical text: one line of a panel each.
    steps : array (m,)
    margin, error : arrays (draws, 2 algorithms, 3 noise levels, series, m)
    """

    figure: str
    series: tuple[str, ...]
    steps: np.ndarray
    margin: np.ndarray
    error: np.ndarray

    @property
    def title(self) -> str:
        """What the paper calls the figure."""
        return {"fig3": "Figure 3", "fig4": "Figure 4"}[self.figure]


class Fading(mp.Problem):
    """Columns that have a schedule each: at λ_t = 1/t, the t is seen in the size of the box."""

    def __init__(self, gram: mp.Gram, Y: np.ndarray, schedules: Sequence[Schedule]) -> None:
        super().__init__(gram, Y)
        self._schedules = schedules

    def box_size(self, size: float) -> np.ndarray:
        """Return 1/λ_t of every column."""
        t = round(size)
        return np.array([box_size(schedule, t) if t else 0.0 for schedule in self._schedules])


def schedules(settings: Settings, figure: str) -> dict[str, Schedule]:
    """Return the schedules of a figure by what they are called."""
    if figure == "fig3":
        return {rf"$\lambda_0 = {value:g}$": mp.PowerDecay(value) for value in settings.fig3_lambda0s}
    value = settings.fig4_lambda0
    return {
        rf"${value:g}/\log t$": mp.LogDecay(value),
        rf"${value:g}/\sqrt{{t}}$": mp.PowerDecay(value, 0.5),
        rf"${value:g}/t$": mp.PowerDecay(value),
        rf"${value:g}/t^2$": mp.PowerDecay(value, 2),
        rf"${value:g}/2^t$": mp.GeometricDecay(value),
    }


def mixture_runs(
    settings: Settings,
    figure: Literal["fig3", "fig4"],
    pieces: Pieces,
    draws: int = DRAWS,
    n: int = 600,
    watch: Callable[[str], Any] = lambda text: None,
) -> MixtureRuns:
    """Run all that a figure shows on that many draws of samples and of wrong labels."""
    steps = spaced_steps(settings.mixture_steps)
    found = []
    for draw in range(draws):
        watch(f"draw {draw + 1} of {draws}")
        key = f"mixture {figure} {draw} {n} {settings!r}"

        def make(draw: int = draw) -> Arrays:
            return run_columns(settings, figure, *drawn(settings, draw, n), steps)

        found.append(pieces.get(key, make))
    margin, error = (np.stack([piece[name] for piece in found]) for name in ("margin", "error"))
    return MixtureRuns(figure, tuple(schedules(settings, figure)), steps, margin, error)


def drawn(settings: Settings, draw: int, n: int = 600) -> tuple[Any, list[np.ndarray]]:
    """Draw a mixture, and its training labels at every noise level."""
    data = mp.datasets.gaussian_mixture(settings.name, n, n, seed=draw)
    rngs = [np.random.default_rng([draw, level]) for level in range(len(NOISE))]
    flips = zip(NOISE, rngs, strict=True)
    return data, [mp.noise.flip_exactly(data.y, round(p * n), seed=rng) for p, rng in flips]


def run_columns(
    settings: Settings, figure: str, data: Any, labels: Sequence[np.ndarray], steps: np.ndarray
) -> Arrays:
    """Run both algorithms, for all noise levels and schedules, as columns of one product.

    Parameters
    ----------
    data : Dataset
        Its samples, and its test part.
    labels : arrays (n,)
        The training labels of each noise level.
    steps : array
        The updates to look at; the last is where the run ends.

    Returns
    -------
    dict
        "margin" and "error", (2 algorithms, noise levels, schedules, steps).
    """
    sigma = settings.fig3_sigma if figure == "fig3" else settings.fig4_sigma
    fading = [settings.schedule(decay) for decay in schedules(settings, figure).values()]
    shape = (len(ALGORITHMS), len(labels), len(fading))
    algorithm, level, series = (index.ravel() for index in np.indices(shape))
    inertia = settings.inertia()

    with threadpool_limits(1, user_api="blas"):  # products this small do not gain from threads
        gram = mp.Gram.from_kernel(data.X, mp.Gaussian(sigma=sigma))
        Y = np.stack(labels, axis=1)[:, level]
        problem = Fading(gram, Y, [fading[j] for j in series])
        solver = mp.DualDescent(
            mp.PowerDecay(1.0),
            momentum=lambda t: algorithm * inertia(t),
            step_size=1 / float(np.linalg.eigvalsh(gram.K)[-1]),
        )
        error = mp.HeldOutError(problem, data.X_test, data.y_test)
        looked = frozenset(steps.tolist())
        observe = {"margin": At(looked, mp.metrics.margin), "error": At(looked, error)}
        path = mp.run(solver, problem, int(steps[-1]), observe=observe, keep=0)
    if path.ended is mp.Status.INTERRUPTED:
        raise KeyboardInterrupt
    return {name: path[name][steps].T.reshape(*shape, len(steps)) for name in observe}
