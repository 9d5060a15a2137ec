"""Where stopping rules stop: their excess test error over the best step of the same path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

import marginpath as mp
from marginpath.metrics import Metric
from marginpath.path.stopping import Discrepancy, LeaveOneOut, QuasiOptimality

from .drawing import picture_files
from .stopping_page import draw, markdown, printed, rules_csv

__all__ = ["DATA", "LEVELS", "RULES", "StoppingRules", "compute", "draw", "files", "printed"]

LEVELS = (0.0, 0.05, 0.1, 0.2, 0.3)
DRAWS, STEPS, FOLDS, HELD_OUT = 10, 30, 5, 0.1
SOLVER = mp.CoordinateDescent(tol=0.01)

#: name → what it has to know.
RULES: dict[str, str] = {
    "5-fold cross-validation": "nothing",
    "hold-out, 10 %": "nothing",
    "leave-one-out bound": "nothing",
    "quasi-optimality": "nothing",
    "discrepancy, p": "share of flips p",
    "discrepancy, p + best error": "p, and the error of the best classifier",
    "a priori, t*(N)": "N, and the solution of the true labels",
    "last step": "nothing",
}


@dataclass(frozen=True, eq=False)
class Source:
    """Samples, their true labels, a kernel, and test samples for one draw."""

    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    sigma: float


def mixture(n_test: int = 4_000) -> Source:
    """Return the paper's mixture of two Gaussians, its text's settings, with more test samples."""
    data = mp.datasets.gaussian_mixture(n_test=n_test)
    return Source("Gaussian mixture", data.X, data.y, data.X_test, data.y_test, 0.15**0.5)  # type: ignore[arg-type]


def htru2() -> Source:
    """Return HTRU2, standardized."""
    data = mp.datasets.load_htru2(dtype=np.float32)
    return Source("HTRU2", data.X, data.y, data.X_test, data.y_test, 4.0)  # type: ignore[arg-type]


def mnist() -> Source:
    """Return the digits 3 and 5 of MNIST."""
    data = mp.datasets.load_mnist((3, 5))
    return Source("MNIST 3 vs 5", data.X, data.y, data.X_test, data.y_test, 3.4)  # type: ignore[arg-type]


#: name → maker.
DATA: dict[str, Callable[[], Source]] = {"mixture": mixture, "htru2": htru2, "mnist": mnist}


@dataclass(frozen=True, eq=False)
class StoppingRules:
    """The table.

    Attributes
    ----------
    sources : tuple of str
        Names of the data.
    samples : tuple of int
        How many training samples each of them has.
    levels : tuple of float
        Shares of flipped labels.
    best : array (sources, levels, draws)
        The smallest test error of a path.
    error, step : arrays (sources, levels, draws, rules)
        The test error at the step that a rule chose, and the step.
    """

    sources: tuple[str, ...]
    samples: tuple[int, ...]
    levels: tuple[float, ...]
    best: np.ndarray
    error: np.ndarray
    step: np.ndarray

    @property
    def excess(self) -> np.ndarray:
        """The error of a rule over the best of its path."""
        return np.asarray(self.error - self.best[..., None])


def compute(
    data: Sequence[str] = tuple(DATA),
    levels: Sequence[float] = LEVELS,
    draws: int = DRAWS,
    steps: int = STEPS,
    watch: Callable[[str], Any] = lambda text: None,
) -> StoppingRules:
    """Run every draw of noise, its folds and its hold-out as columns, and let every rule choose a step."""
    found, names, samples = [], [], []
    for key in data:
        source = DATA[key]()
        names.append(source.name)
        samples.append(len(source.y))
        watch(f"{source.name}: kernel")
        gram = mp.Gram.from_kernel(source.X, mp.Gaussian(sigma=source.sigma))
        cross = gram.cross(source.X_test)
        for level in levels:
            watch(f"{source.name}: {level:.0%} flips")
            found.append(_choices(source, gram, cross, level, draws, steps))
    shape = (len(data), len(levels), draws)
    best = np.array([piece[0] for piece in found]).reshape(shape)
    error = np.array([piece[1] for piece in found]).reshape(*shape, len(RULES))
    step = np.array([piece[2] for piece in found]).reshape(*shape, len(RULES))
    return StoppingRules(tuple(names), tuple(samples), tuple(levels), best, error, step)


def files(table: StoppingRules) -> dict[str, bytes]:
    """Return the table, pieces of a page and the picture, by name of file."""
    text = {"stopping_rules.csv": rules_csv(table), "stopping_rules.md": markdown(table)}
    return {name: content.encode() for name, content in text.items()} | picture_files(
        draw(table), "stopping_rules"
    )


def _choices(
    source: Source, gram: mp.Gram, cross: Any, level: float, draws: int, steps: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for one level of noise: best errors (draws,), errors and steps of the rules (draws, rules)."""
    flips = round(level * len(source.y))
    noisy = np.stack([mp.noise.flip_exactly(source.y, flips, seed=j) for j in range(draws)], axis=1)
    held, labels = _held_out(noisy)
    problem = mp.Problem(gram, np.concatenate([noisy, labels], axis=1))

    def test_error(problem: mp.Problem, state: mp.State) -> np.ndarray:
        decision = cross @ (-problem.Y[:, :draws] * state.u[:, :draws])
        return np.asarray(np.mean(decision * source.y_test[:, None] <= 0, axis=0))

    def held_out_error(problem: mp.Problem, state: mp.State) -> np.ndarray:
        decision = np.repeat(noisy, FOLDS + 1, axis=1) * -state.scores[:, draws:]
        wrong = np.where(held, decision <= 0, False).sum(axis=0).reshape(draws, FOLDS + 1)
        count = held.sum(axis=0).reshape(draws, FOLDS + 1)
        folds = wrong[:, :FOLDS].sum(axis=1) / count[:, :FOLDS].sum(axis=1)
        return np.stack([folds, wrong[:, FOLDS] / count[:, FOLDS]])

    changes = _Changes(draws)
    rule = LeaveOneOut()
    observe: dict[str, Metric] = {
        **rule.observed,
        "error": mp.metrics.error,
        "test": test_error,
        "held_out": held_out_error,
        "change": changes,
    }
    path = mp.run(SOLVER, problem, steps, observe=observe, keep=0)
    if path.ended is mp.Status.INTERRUPTED:
        raise KeyboardInterrupt
    test, held_out = path["test"][1:], path["held_out"][1:]
    best = test.min(axis=0)
    skip = QuasiOptimality().skip
    level_with_best = level + (1 - 2 * level) * float(best.mean())
    chosen = {
        "5-fold cross-validation": held_out[:, 0].argmin(axis=0),
        "hold-out, 10 %": held_out[:, 1].argmin(axis=0),
        "leave-one-out bound": rule.choose(path)[:draws] - 1,
        "quasi-optimality": skip + path["change"][2:][skip:].argmin(axis=0),
        "discrepancy, p": Discrepancy(level).choose(path)[:draws] - 1,
        "discrepancy, p + best error": Discrepancy(level_with_best).choose(path)[:draws] - 1,
        "a priori, t*(N)": np.full(draws, 0 if flips else steps - 1),
        "last step": np.full(draws, steps - 1),
    }
    rows = np.stack([chosen[name] for name in RULES], axis=1)
    return best, test[rows, np.arange(draws)[:, None]], rows + 1


def _held_out(noisy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which samples are left out of each column, and its labels: every draw's folds and hold-out."""
    held, labels = [], []
    for j, y in enumerate(noisy.T):
        splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=j)
        parts = [test for _, test in splitter.split(np.zeros(len(y)), y)]
        parts.append(np.random.default_rng([j, 1]).permutation(len(y))[: round(HELD_OUT * len(y))])
        for part in parts:
            out = np.zeros(len(y), dtype=bool)
            out[part] = True
            held.append(out)
            labels.append(np.where(out, 0, y))
    return np.stack(held, axis=1), np.stack(labels, axis=1)


class _Changes:
    """‖w_t − w_{t−1}‖ of the first columns: λ falls geometrically, so every step is on the grid."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.before: tuple[np.ndarray, np.ndarray] | None = None

    def __call__(self, problem: mp.Problem, state: mp.State) -> np.ndarray:
        k = self.columns
        now = problem.Y[:, :k] * state.u[:, :k], state.scores[:, :k]
        then, self.before = self.before or now, now
        squared = np.sum((now[0] - then[0]) * (now[1] - then[1]), axis=0)
        return np.asarray(np.sqrt(np.maximum(squared, 0)))
