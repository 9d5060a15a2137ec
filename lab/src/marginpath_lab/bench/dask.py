"""`dask`: what a step costs on a cluster of worker processes, and what it would cost on a large one.

The workers have one thread each and share the cores of this machine, so that nothing can be faster here
than without them; what is measured is what the cluster adds. Small runs give the prices of a model of a step,
others check it, and the model is then asked about machines that are not here.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import marginpath as mp
from marginpath import parallel
from marginpath.datasets import Dataset
from marginpath.gram.cluster import ClusterLandmarkGram
from marginpath.gram.cluster.faults import dask_module
from marginpath.gram.cluster.loading import load_rows
from marginpath.gram.cluster.rows import Rows
from marginpath.gram.memory import available_memory
from marginpath.solvers.coordinate.cluster import ClusterSweeps

from . import data as sets
from .dask_cost import COLUMNS, MADE, MANY, bytes_a_step, conclude, tasks_a_step
from .measure import Benchmark, Contestant, Facts, Task

INERTIAL = mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3))
CHUNKS, SIGMA, MEMORY, COPIES = 16, 3.4, 10**9, 16
EARLY = {"target": 0.4, "spill": 0.5}  # shares of a small worker's memory from which on data go to disk
LANDMARKS, MANY_ROWS, MANY_BYTES = 500, 10_000_000, 15e9  # beside their features, which would take 20 GB
SMALL, MOVING, PASSES = (1600, 20), (1_000_000, 1), (200_000, 400)  # n and d of the small runs
FEW_ROWS = 320_000  # whose features are made anew


@contextmanager
def workers(number: int, quick: bool, memory: int | None = None) -> Iterator[Any]:
    """Start a cluster of so many processes and yield its client; where quick, of threads without a limit.

    They share the memory at hand, unless a limit is given: Dask would go by their share of the cores.
    Threads would count all the memory of the process as theirs, and pause for good where it has more.

    Dask puts data on disk from 60 % of a worker's memory on and pauses it at 80 %, whatever the size. In a
    worker of 1 GB, Python and its packages take a quarter by themselves, so that it has to begin earlier.
    """
    dask, distributed = dask_module("dask"), dask_module("distributed")
    settings = {
        "distributed.deploy.lost-worker-timeout": "300s",
        **({} if memory is None else {f"distributed.worker.memory.{k}": v for k, v in EARLY.items()}),
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=number,
            threads_per_worker=1,
            processes=not quick,
            memory_limit=0 if quick else memory or int(available_memory() / number),
            dashboard_address=":0",
            silence_logs=logging.ERROR,
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client


def tasks(quick: bool) -> Iterator[Task]:
    """Yield the prices, the checks, the same iterates, the sweeps, and data past a worker's memory."""
    steps = 3 if quick else 40
    with workers(2, quick) as client:
        yield _prices("a step, 16 chunks, 2 workers", SMALL, steps)
        yield _empty_tasks(client, 20 if quick else 400)
        yield _prices("moving", (2000, 1) if quick else MOVING, steps)
        yield _prices("passes over X", (2000, 50) if quick else PASSES, steps)
        yield _made_rows(MADE, 2000 if quick else FEW_ROWS, quick, stored=False)
        yield from _iterates(sets.part(sets.mnist(3, 5), 300 if quick else 2000), steps)
        yield _sweeps(sets.sized(sets.mnist(3, 5), quick), 3 if quick else 16)
    with workers(4, quick) as client:
        yield _prices("a step, 16 chunks, 4 workers", SMALL, steps)
        many = MANY_ROWS if available_memory() > MANY_BYTES else MANY_ROWS // 10
        yield _made_rows(MANY, 2000 if quick else many, quick)
    with workers(4, quick, memory=MEMORY) as client:
        yield _past_memory(client, 1 if quick else COPIES, quick)


def _prices(name: str, shape: tuple[int, int], steps: int) -> Task:
    """Time steps of five folds and all the data on random features, on the cluster and by one thread here."""
    da = dask_module("dask.array")
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape, dtype=np.float32)
    Y = _folds(np.where(rng.random(shape[0]) < 0.5, 1, -1))
    rows = -(-shape[0] // CHUNKS)
    chunks = [da.from_delayed(_rows_of(j, rows, shape), (rows, shape[1]), np.float32) for j in range(CHUNKS)]
    there = mp.Problem(mp.Gram.from_dask(da.concatenate(chunks)[: shape[0]]), Y)
    here = mp.Problem(mp.Gram.linear(X), Y)
    contestants = [
        Contestant("cluster", lambda data: _timed_steps(there, steps), _step_facts(there)),
        Contestant("one thread", lambda data: _alone(here, steps), _step_facts(here)),
    ]
    return Task(f"{name}: n = {shape[0]:,}, d = {shape[1]:,}", None, None, contestants)


def _rows_of(number: int, rows: int, shape: tuple[int, int]) -> Any:
    return dask_module("dask").delayed(_random_rows)(number, rows, shape[1])


def _random_rows(number: int, rows: int, d: int) -> np.ndarray:
    return np.random.default_rng(number).standard_normal((rows, d), dtype=np.float32)


def _folds(y: np.ndarray) -> np.ndarray:
    """Return the labels of five folds and of all the data."""
    Y = np.repeat(y[:, None], COLUMNS, axis=1)
    for fold in range(COLUMNS - 1):
        Y[fold :: COLUMNS - 1, fold] = 0
    return Y


class Steps(NamedTuple):
    """Seconds of every step: by the clock, and of this process, the client and the scheduler, at work."""

    wall: np.ndarray
    busy: np.ndarray


def _timed_steps(problem: mp.Problem, steps: int) -> Steps:
    busy: list[float] = []

    def look(problem: object, state: object, path: object) -> None:
        busy.append(time.process_time())

    solver = mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3), step_size=1e-9)
    path = mp.run(solver, problem, steps, keep=0, callbacks=[look])
    return Steps(np.diff(path["seconds"]), np.diff(busy))


def _alone(problem: mp.Problem, steps: int) -> Steps:
    with threadpool_limits(1), parallel.limited(1):
        return _timed_steps(problem, steps)


def _step_facts(problem: mp.Problem) -> Callable[[Steps, Any], Facts]:
    """Return a judge that tells the price of a step."""

    def judge(took: Steps, data: Any) -> Facts:
        facts: dict[str, float | str] = {
            "ms a step": 1000 * float(np.median(took.wall)),
            "best tenth": 1000 * float(np.quantile(took.wall, 0.1)),
        }
        if problem.gram.space == "cluster":
            features: Rows = problem.gram.features
            n, d, shards = *features.shape, len(features.shards)
            facts["at work"] = 1000 * float(np.median(took.busy))
            facts["a step is"] = f"{tasks_a_step(shards)} tasks, {bytes_a_step(n, d, shards) / 1000:,.0f} kB"
        return facts

    return judge


def _made_rows(name: str, n: int, quick: bool, stored: bool | None = None) -> Task:
    """Time steps of five folds and all the data on made rows by landmarks."""
    count, rows = 10 if quick else LANDMARKS, n // CHUNKS

    def run(rows: int) -> tuple[Steps, bool]:
        problem = _made_problem(rows, count, stored)
        return _timed_steps(problem, 2 if quick else 6), cast(ClusterLandmarkGram, problem.gram).stored

    def judge(took: tuple[Steps, bool], data: Any) -> Facts:
        (wall, busy), held = took
        return {
            "ms a step": 1000 * float(np.median(wall)),
            "at work": 1000 * float(np.median(busy)),
            "features": "held" if held else "made anew",
        }

    made = Contestant("cluster", run, judge, repeats=1)
    return Task(f"{name}: n = {rows * CHUNKS:,}, d = {count:,}", rows, count, [made])


def _made_problem(rows: int, landmarks: int, stored: bool | None) -> mp.Problem:
    """Return six columns on landmarks' features; the rows are made by the workers that keep them."""
    da, delayed = dask_module("dask.array"), dask_module("dask").delayed
    parts = [
        da.from_delayed(delayed(sets.made_part)(j, rows)[0], (rows, 20), np.float32) for j in range(CHUNKS)
    ]
    y = np.concatenate([sets.made_part(j, rows)[1] for j in range(CHUNKS)])
    there = load_rows(da.concatenate(parts))
    gram = ClusterLandmarkGram(there, mp.Gaussian(4.0), landmarks, stored=stored)
    return mp.Problem(gram, _folds(y))


def _empty_tasks(client: Any, number: int) -> Task:
    """Time tasks that do nothing, all at once."""

    def run(data: Any) -> int:
        return len(client.gather(client.map(_nothing, range(number), pure=False)))

    return Task(f"empty tasks: {number}", None, None, [Contestant("cluster", run)])


def _nothing(number: int) -> None:
    return None


def _iterates(data: Dataset, steps: int) -> Iterator[Task]:
    """Compare the iterates of Algorithm 2 on the cluster with those of one machine."""
    da = dask_module("dask.array")
    X = data.X.astype(np.float64)
    rows = da.from_array(X, chunks=(-(-len(X) // CHUNKS), X.shape[1]))
    linear, kernel = mp.Gram.linear(X), mp.Gram.from_kernel(X, mp.Gaussian(SIGMA))
    pairs: dict[str, tuple[mp.Gram, mp.Gram]] = {
        "linear, dense": (mp.Gram.from_dask(rows), linear),
        "linear, sparse": (mp.Gram.from_dask(rows.map_blocks(sp.csr_array)), linear),
        "kernel, held": (mp.Gram.from_dask(rows, mp.Gaussian(SIGMA), stored=True), kernel),
        "kernel, computed": (mp.Gram.from_dask(rows, mp.Gaussian(SIGMA), stored=False), kernel),
    }
    for name, (there, here) in pairs.items():
        problems = [mp.Problem(gram, data.y) for gram in (there, here)]
        wanted = mp.run(INERTIAL, problems[1], steps, every=steps, keep=0).last.u
        contestants = [
            Contestant(label, _runner(problem, steps), _difference(wanted))
            for label, problem in zip(("cluster", "one machine"), problems, strict=True)
        ]
        yield Task(sets.title(data, f", {name}, {steps} steps of Algorithm 2"), None, None, contestants)


def _runner(problem: mp.Problem, steps: int) -> Callable[[Any], mp.Path]:
    return lambda data: mp.run(INERTIAL, problem, steps, every=steps, keep=0)


def _difference(wanted: np.ndarray) -> Callable[[mp.Path, Any], Facts]:
    """Return a judge that compares with the iterate of one machine, relative to its largest entry."""

    def judge(path: mp.Path, data: Any) -> Facts:
        worst = float(np.max(np.abs(path.last.u - wanted)) / np.max(np.abs(wanted)))
        return {"ms a step": 1000 * path.seconds / path.last.t, "difference": worst}

    return judge


def _sweeps(data: Dataset, steps: int) -> Task:
    """Sweep on the cluster and here; tell the test error and the certified gap at the end."""
    da = dask_module("dask.array")
    X, X_test = (sets.with_constant(sp.csr_array(X)) for X in (data.X, data.X_test))
    dense = da.from_array(X.toarray(), chunks=(-(-X.shape[0] // 4), X.shape[1]))
    there = mp.Problem(mp.Gram.from_dask(dense.map_blocks(sp.csr_array)), data.y)
    here = mp.Problem(mp.Gram.linear(X), data.y)

    def judge(path: mp.Path, given: Any) -> Facts:
        error = np.mean(np.sign(here.decision(path.last.u, X_test)) != data.y_test)
        return {
            "test error": float(error),
            "relative gap": relative_gap(here, path.last),
            "ms a step": 1000 * path.seconds / steps,
        }

    contestants = [
        Contestant("cluster sweeps", lambda given: mp.run(ClusterSweeps(), there, steps, keep=0), judge),
        Contestant(
            "one machine", lambda given: mp.run(mp.CoordinateDescent(sweeps=4), here, steps, keep=0), judge
        ),
    ]
    return Task(sets.title(data, f", linear sweeps, {steps} steps"), None, None, contestants, slack=0.002)


def relative_gap(problem: mp.Problem, state: Any) -> float:
    """Return the duality gap over the primal objective: a certificate, from the scores at hand."""
    gap = float(mp.duality_gap(problem, state))
    return gap / max(gap - float(problem.dual_objective(state.u, state.scores)), np.finfo(float).tiny)


def shifted_digits(client: Any, copies: int, n: int = 60_000) -> tuple[Any, np.ndarray]:
    """Return MNIST and shifted copies of it as a lazy dask array of float32, and odd or even as ±1."""
    da = dask_module("dask.array")
    digits = sets.part(sets.parity(), n)
    pixels = np.round(digits.X * 255).astype(np.uint8)
    # By names of their own: equal data of the turn before may be on the way out, and would take these along.
    places = client.scatter([pixels[a : a + 3000] for a in range(0, len(pixels), 3000)], hash=False)
    shifts = [(r // 5 - 2, r % 5 - 2) for r in range(25)][:copies]
    shape = [min(3000, len(pixels) - a) for a in range(0, len(pixels), 3000)]
    chunks = [
        da.from_delayed(_shift(place, shift), (rows, pixels.shape[1]), np.float32)
        for shift in shifts
        for place, rows in zip(places, shape, strict=True)
    ]
    return da.concatenate(chunks), np.tile(digits.y, copies)


def _shift(place: Any, shift: tuple[int, int]) -> Any:
    return dask_module("dask").delayed(_shifted)(place, shift)


def _shifted(pixels: np.ndarray, shift: tuple[int, int]) -> np.ndarray:
    images = pixels.reshape(len(pixels), 28, 28)
    moved = np.roll(images, shift, axis=(1, 2)).reshape(pixels.shape)
    return moved.astype(np.float32) / np.float32(255)


def _past_memory(client: Any, copies: int, quick: bool) -> Task:
    """Fit data of three times a worker's memory, and watch the workers."""
    steps = 2 if quick else 4

    def run(number: int) -> mp.Path:
        X, y = shifted_digits(client, number, 600 if quick else 60_000)
        problem = mp.Problem(mp.Gram.from_dask(X), y)
        return mp.run(ClusterSweeps(rounds=1), problem, steps, observe={"gap": relative_gap}, keep=0)

    before = client.run(os.getpid)

    def judge(path: mp.Path, data: Any) -> Facts:
        restarted = len(set(client.run(os.getpid).values()) - set(before.values()))
        return {
            "ms a step": 1000 * path.seconds / path.last.t,
            "relative gap": float(path["gap"][-1]),
            "workers": f"{paused(client)} paused, {restarted} restarted",
        }

    size = f"{copies * 60_000 * 784 * 4 / 1e9:.1f} GB"
    name = f"MNIST and {copies - 1} shifted copies, {size}, on 4 workers of {MEMORY / 1e9:.0f} GB"
    return Task(name, copies, 1, [Contestant("cluster", run, judge, repeats=1)])


def paused(client: Any) -> int:
    """Return how often workers have said that they pause for lack of memory."""
    logs = client.get_worker_logs()
    return sum("Pausing" in line for lines in logs.values() for _, line in lines)


BENCHMARK = Benchmark("dask", "what does a step cost on a cluster, here and far from here?", tasks, conclude)
