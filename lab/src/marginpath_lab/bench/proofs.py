"""`proofs`: what a proof of bounds on the maximum margin costs, beside a fit and a step of its path.

An estimate reads the scores that a step has; a proof multiplies anew, by the samples where u is not 0. Eight
steps are proved in one pass over the matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import marginpath as mp
from marginpath.certificates.bounds import MarginProofs, estimated_margin_bounds
from marginpath.datasets import Dataset

from . import data as sets
from .measure import Benchmark, Contestant, Facts, Task

SIGMA, STEPS, PROVED = 3.4, 24, 8


class Ready(NamedTuple):
    """A path that was followed before the clock starts: its problem, one column, and its states."""

    problem: mp.Problem
    solver: Any
    path: Any

    @property
    def u(self) -> np.ndarray:
        """The last dual vector."""
        last: np.ndarray = self.path.last.u
        return last


def tasks(quick: bool) -> Iterator[Task]:
    """Yield a stored kernel in float32 and float64, one in tiles, and sparse features."""
    digits, adult = sets.mnist(3, 5), sets.a9a()
    for whole, storage, make in (
        (digits, ", stored, float32", lambda data: mp.Gram.from_kernel(data.X, mp.Gaussian(SIGMA))),
        (digits, ", stored, float64", _double),
        (digits, ", in tiles, float32", lambda data: mp.TiledGram(data.X, mp.Gaussian(SIGMA))),
        (adult, ", sparse features", lambda data: mp.Gram.linear(data.X)),
    ):
        data = sets.sized(whole, quick)
        small = sets.part(whole, sets.SMALL)
        yield Task(sets.title(data, storage), data, small, list(_contestants(make)))


def _double(data: Dataset) -> mp.Gram:
    return mp.Gram.from_kernel(data.X.astype(np.float64), mp.Gaussian(SIGMA))


def _contestants(make: Callable[[Dataset], mp.Gram]) -> Iterator[Contestant]:
    made: dict[int, Ready] = {}

    def ready(data: Dataset) -> Ready:
        if id(data) not in made:
            made.clear()
            problem = mp.Problem(make(data), np.sign(np.asarray(data.y, dtype=float))[:, None])
            solver = mp.CoordinateDescent(tol=0.01)
            path = mp.run(solver, problem, STEPS)
            made[id(data)] = Ready(problem, solver, path)
        return made[id(data)]

    def part(name: str, run: Callable[[Ready], Any], judge: Callable[..., Facts] | None = None) -> Contestant:
        return Contestant(name, run, judge or (lambda model, data: {}), prepare=ready)

    yield part(f"the path, {STEPS} steps", lambda r: mp.run(r.solver, r.problem, STEPS))
    yield part("one step", lambda r: r.solver.step(r.problem, r.path.last))
    yield part("an estimate", lambda r: estimated_margin_bounds(r.problem, r.path.last), _width)
    yield part("a proof", lambda r: mp.margin_bounds(r.problem, r.u), _width)
    yield part(f"{PROVED} proofs in one pass", _eight, lambda proofs, data: _width(proofs.best, data))


def _eight(ready: Ready) -> MarginProofs:
    steps = np.linspace(1, STEPS, PROVED).astype(int).tolist()
    return MarginProofs.of(ready.problem, steps, lambda t: ready.path.state(t, ready.problem).u)


def _width(bounds: Any, data: Any) -> Facts:
    lower, upper = (float(np.ravel(end)[0]) for end in bounds)
    return {"lower": lower, "upper": upper}


BENCHMARK = Benchmark("proofs", "what does a proof of the maximum margin cost?", tasks)
