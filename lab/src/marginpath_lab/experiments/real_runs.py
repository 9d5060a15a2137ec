"""All methods on MNIST and HTRU2: what Figure 5 shows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg.blas import ssymv
from scipy.sparse.linalg import LinearOperator, eigsh

import marginpath as mp
from marginpath.gram.dense import DenseGram

from .observing import At, spaced_steps
from .pieces import Arrays, Pieces
from .settings import Settings

PAPER_METHODS = ("Algorithm 1", "Algorithm 2", "normalized gradient", "accelerated mirror descent")
#: Those of the paper's figure, and our additions.
METHODS = (*PAPER_METHODS, "coordinate descent", "homotopic subgradient")
PAIRS = {"MNIST 3 vs 5": (3, 5), "MNIST 3 vs 8": (3, 8), "MNIST 4 vs 9": (4, 9)}
DATA_SETS = (*PAIRS, "HTRU2")
SWEEPS = 200  # of coordinate descent: its box is larger than any coefficient after some 50


@dataclass(frozen=True, eq=False)
class RealRun:
    """One method on one data set: seconds, margin and test error after some updates."""

    data: str
    method: str
    steps: np.ndarray
    seconds: np.ndarray
    margin: np.ndarray
    error: np.ndarray


class HalfGram(DenseGram):
    """A stored kernel matrix of which a product with one vector reads one half, in half the time."""

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """Return K V."""
        if V.ndim == 1 and self.K.dtype == V.dtype == np.float32:
            return np.asarray(ssymv(1.0, self.K.T, V))
        return np.asarray(self.K @ V)


def load(settings: Settings, name: str, seed: int = 0) -> Any:
    """Load a data set as the settings have it, in float32; the seed is that of the split of HTRU2."""
    if name == "HTRU2":
        return mp.datasets.load_htru2(settings.htru2_standardized, seed=seed, dtype=np.float32)
    data = mp.datasets.load_mnist(PAIRS[name])
    return _standardized(data) if settings.mnist_standardized else data


def real_runs(
    settings: Settings,
    pieces: Pieces,
    names: Sequence[str] = DATA_SETS,
    methods: Sequence[str] = METHODS,
    watch: Callable[[str], Any] = lambda text: None,
) -> tuple[list[RealRun], dict[str, str]]:
    """Run every method on every data set that can be reached.

    Returns
    -------
    runs, left_out
        The second says why, by name of the data set.
    """
    runs, left_out = [], {}
    for name in names:
        keys = {method: f"real {name} {method} {settings!r}" for method in methods}
        problem = error = None
        for method in methods:
            if keys[method] not in pieces and problem is None:
                watch(f"{name}: kernel matrix")
                try:
                    problem, error = prepare(settings, name, load(settings, name))
                except (OSError, ImportError) as reason:
                    left_out[name] = str(reason).splitlines()[0]
                    break
            watch(f"{name}: {method}")
            runs.append(_piece(settings, pieces, keys[method], (name, method), problem, error, watch))
    return runs, left_out


def _piece(
    settings: Settings,
    pieces: Pieces,
    key: str,
    names: tuple[str, str],
    problem: mp.Problem | None,
    error: mp.HeldOutError | None,
    watch: Callable[[str], Any],
) -> RealRun:
    def make() -> Arrays:
        assert problem is not None
        assert error is not None
        return run_method(settings, *names, problem, error, watch)

    piece = pieces.get(key, make)
    return RealRun(*names, *(piece[name] for name in ("steps", "seconds", "margin", "error")))


def prepare(settings: Settings, name: str, data: Any) -> tuple[mp.Problem, mp.HeldOutError]:
    """Return the problem and its test error; the Gram matrix is made once, for all methods."""
    sigma = settings.htru2_sigma if name == "HTRU2" else settings.mnist_sigma
    dense = mp.Gram.from_kernel(data.X, mp.Gaussian(sigma=sigma))
    problem = mp.Problem(HalfGram(dense.K, dense.cross), data.y)
    return problem, mp.HeldOutError(problem, data.X_test, data.y_test)


def run_method(
    settings: Settings,
    name: str,
    method: str,
    problem: mp.Problem,
    error: mp.HeldOutError,
    watch: Callable[[str], Any] = lambda text: None,
) -> Arrays:
    """Run one method; its seconds are those of the updates alone."""
    solver, start = _solver(settings, name, method, problem)
    last = min(SWEEPS, settings.real_steps) if method == "coordinate descent" else settings.real_steps
    steps = spaced_steps(last)
    looked = frozenset(steps.tolist())

    def tell(problem: mp.Problem, state: mp.State, path: mp.Path) -> None:
        if state.t % 50 == 0:
            watch(f"{name}: {method}, update {state.t} of {last}")

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="step_size = .* is over")
        mp.run(solver, problem, steps=2, keep=0)  # what is compiled is compiled before the clock runs
        path = mp.run(
            solver,
            problem,
            last,
            observe={"margin": At(looked, mp.metrics.margin), "error": At(looked, error)},
            callbacks=[tell],
            start=start,
            keep=0,
        )
    if path.ended is mp.Status.INTERRUPTED:
        raise KeyboardInterrupt
    return {"steps": steps} | {key: path[key][steps] for key in ("seconds", "margin", "error")}


def _solver(settings: Settings, name: str, method: str, problem: mp.Problem) -> tuple[Any, np.ndarray | None]:
    """Return the solver and where it starts; None is 0."""
    if method == "normalized gradient":
        return mp.NormalizedGradient(first=1 + settings.offset), None
    if method == "accelerated mirror descent":
        return mp.MirrorDescent(accelerated=True, first=1 + settings.offset), None
    if method == "coordinate descent":
        return mp.CoordinateDescent(), None
    if method == "homotopic subgradient":
        return mp.HomotopicSubgradient(), None
    schedule = settings.schedule(mp.PowerDecay(settings.real_lambda0))
    momentum = settings.inertia() if method == "Algorithm 2" else None
    mnist = name in PAIRS
    factor = (settings.mnist_step_2 if momentum else settings.mnist_step_1) if mnist else 1.0
    step = factor / largest_eigenvalue(problem.gram)
    start = None
    if mnist and settings.mnist_start:
        start = settings.mnist_start * np.random.default_rng(0).standard_normal(problem.shape[0])
    return mp.DualDescent(schedule, momentum, step), start


def largest_eigenvalue(gram: mp.Gram) -> float:
    """Return L to six digits, the same at every call."""

    def product(v: np.ndarray) -> Any:
        return gram @ v.astype(np.float32).ravel()

    operator = LinearOperator(gram.shape, matvec=product, dtype=np.float32)
    start = np.random.default_rng(0).standard_normal(gram.shape[0]).astype(np.float32)
    return float(eigsh(operator, k=1, v0=start, tol=1e-6, return_eigenvectors=False)[0])


def _standardized(data: Any) -> Any:
    """Bring every pixel to mean 0 and deviation 1 over the training images; one that is constant to 0."""
    mean, deviation = data.X.mean(axis=0), data.X.std(axis=0, ddof=1)
    scale = np.where(deviation > 0, deviation, np.inf).astype(data.X.dtype)
    return replace(data, X=(data.X - mean) / scale, X_test=(data.X_test - mean) / scale)
