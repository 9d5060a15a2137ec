"""Algorithms 1 and 2 on the toy set: what Figures 1 and 2 show."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import marginpath as mp

from .pieces import Arrays, Pieces
from .settings import Settings

#: The maximum-margin solution of every toy set, and its margin.
SOLUTION = np.array([0.5, 0.5])
MARGIN = 2**0.5


@dataclass(frozen=True, eq=False)
class ToyRuns:
    """The iterates w_t, t = 1, 2, …, of every scheme on one toy set.

    Attributes
    ----------
    schemes : tuple of str
        Algorithm 1, Algorithm 2 for every α, and Algorithm 2 with restarts.
    X, y : arrays
        The samples.
    w : array (schemes, steps, 2)
    """

    schemes: tuple[str, ...]
    X: np.ndarray
    y: np.ndarray
    w: np.ndarray

    @property
    def steps(self) -> np.ndarray:
        """The updates 1, 2, … up to T."""
        return np.arange(1, self.w.shape[1] + 1)

    def error(self) -> np.ndarray:
        """Return ‖w_t/‖w_t‖ − w*/‖w*‖‖, (schemes, steps)."""
        difference = _unit(self.w) - _unit(SOLUTION)
        return np.asarray(np.linalg.norm(difference, axis=-1))

    def angle_gap(self) -> np.ndarray:
        """Return 1 − cos∠(w_t, w*), as half the square of the normalized error."""
        return self.error() ** 2 / 2

    def margin(self) -> np.ndarray:
        """Return M(w_t/‖w_t‖)."""
        return np.asarray(np.min((_unit(self.w) @ self.X.T) * self.y, axis=-1))

    def margin_gap(self) -> np.ndarray:
        """Return M(w*/‖w*‖) − M(w_t/‖w_t‖)."""
        return MARGIN - self.margin()


def toy_runs(settings: Settings, pieces: Pieces, draw: int = 0, data: Any = None) -> ToyRuns:
    """Run every scheme on a toy set: the draw of that number, or the data given."""
    data = mp.datasets.toy(settings.name, seed=draw) if data is None else data
    names = ["Algorithm 1", *(f"Algorithm 2, α = {alpha:g}" for alpha in settings.toy_alphas)]
    names.append("Algorithm 2, restarted")
    key = f"toy {draw} {settings!r} {np.asarray(data.X).tobytes().hex()[:64]}"
    runs = pieces.get(key, lambda: _run_all(settings, data))
    return ToyRuns(tuple(names), data.X, data.y, runs["w"])


def _run_all(settings: Settings, data: Any) -> Arrays:
    problem = mp.Problem(mp.Gram.linear(data.X), data.y)
    step = 1 / float(np.linalg.eigvalsh(data.X.T @ data.X)[-1])
    schedule = settings.schedule(mp.PowerDecay(settings.toy_lambda0))
    solvers = [mp.DualDescent(schedule, step_size=settings.toy_step * step)]
    solvers += [mp.DualDescent(schedule, settings.toy_inertia(α), step) for α in settings.toy_alphas]
    solvers += [mp.DualDescent(schedule, mp.momentum.GradientRestart(), step)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="step_size = .* is over")
        return {"w": np.stack([_weights(solver, problem, settings.toy_steps) for solver in solvers])}


def _weights(solver: Any, problem: mp.Problem, steps: int) -> np.ndarray:
    def weights(problem: mp.Problem, state: mp.State) -> Any:
        return -(problem.gram.X.T @ (problem.Y * state.u))  # type: ignore[attr-defined]

    path = mp.run(solver, problem, steps, observe={"w": weights}, keep=0)
    if path.ended is mp.Status.INTERRUPTED:
        raise KeyboardInterrupt
    return path["w"][1:]


def _unit(w: np.ndarray) -> np.ndarray:
    return np.asarray(w / np.linalg.norm(w, axis=-1, keepdims=True))
