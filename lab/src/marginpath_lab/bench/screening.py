"""`screening`: Algorithm 2 on the coordinates that can move, against the plain one: the same iterates.

The kernel matrix and its norm are there before the clock starts; both contestants only make steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import marginpath as mp
from marginpath.datasets import Dataset

from . import data as sets
from .measure import Benchmark, Contestant, Facts, Task

SIGMA, STEPS, QUICK_STEPS = 3.4, 2000, 200
#: The settings of the authors' program for MNIST: λ_t = 1/t.
PLAIN = mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3))


def tasks(quick: bool) -> Iterator[Task]:
    """Yield MNIST 3 vs 5 in both precisions."""
    whole, steps = sets.mnist(3, 5), QUICK_STEPS if quick else STEPS
    data, small = sets.sized(whole, quick), sets.part(whole, sets.SMALL)
    for dtype in (np.float32, np.float64):
        judge = _judge_iterates()
        contestants = [
            Contestant("screened", lambda problem: _iterate(_screened(), problem, steps), judge),
            Contestant("plain", lambda problem: _iterate(PLAIN, problem, steps), judge, target=5),
        ]
        title = sets.title(data, f", {steps:,} steps, {np.dtype(dtype).name}")
        yield Task(title, _problem(data, dtype), _problem(small, dtype), contestants)


def _problem(data: Dataset, dtype: Any) -> mp.Problem:
    problem = mp.Problem(mp.Gram.from_kernel(data.X.astype(dtype), mp.Gaussian(SIGMA)), data.y)
    problem.norm_bounds()
    return problem


def _screened() -> Any:
    from marginpath.experimental import Screened

    return Screened(PLAIN)


def _iterate(solver: Any, problem: mp.Problem, steps: int) -> np.ndarray:
    return np.asarray(mp.run(solver, problem, steps, every=steps, keep=0).last.u)


def _judge_iterates() -> Callable[[np.ndarray, mp.Problem], Facts]:
    """Return a judge that compares a last iterate with the first one that it saw."""
    seen: list[np.ndarray] = []

    def judge(u: np.ndarray, problem: mp.Problem) -> Facts:
        seen.append(u)
        facts: dict[str, float | str] = {"support": int(np.count_nonzero(u))}
        if len(seen) > 1:
            facts["largest difference of u"] = float(np.abs(u - seen[0]).max() / np.abs(seen[0]).max())
        return facts

    return judge


BENCHMARK = Benchmark("screening", "how much faster are the same iterates, screened?", tasks)
