"""What the workers of a Dask cluster hold, what they release, and what a step costs."""

import gc
import os
import time
from dataclasses import replace

import numpy as np
import pytest

import marginpath as mp

pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pytest.importorskip("dask.array")
pytest.importorskip("dask.dataframe")

from clusters import ALGORITHMS, chunked, make_cluster  # noqa: E402

from marginpath import ClusterSweeps  # noqa: E402
from marginpath.gram import cluster as mc  # noqa: E402


def known_tasks(client, at_most=np.inf):
    """Return how many tasks the scheduler knows of, once they are few enough, or after ten seconds."""
    gc.collect()
    for _ in range(200):
        number = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
        if number <= at_most:
            break
        time.sleep(0.05)
    return number


@pytest.mark.heavy
def test_everything_is_released(client, samples):
    X, Y = samples
    before = known_tasks(client)
    problem = mp.Problem(mp.Gram.from_dask(chunked(X)), Y)
    kernel = mp.Problem(mp.Gram.from_dask(chunked(X), mp.Gaussian(5.0)), Y)
    mp.run(ClusterSweeps(), problem, 1)
    held = known_tasks(client)
    kernel.gram @ Y
    problem.gram @ Y
    assert known_tasks(client, held) <= held
    del problem, kernel
    assert known_tasks(client, before) <= before


def workers(number, gigabytes):
    return {str(j): {"nthreads": 1, "memory_limit": int(gigabytes * 1e9)} for j in range(number)}


def test_the_kernel_matrix_is_held_where_it_fits():
    from marginpath.gram.cluster.kernel import _block_rows, _fits

    samples = mc.Rows(None, [], [], (20_000, 100), np.float64)  # K takes 3.2 GB, X 16 MB
    assert _fits(samples, workers(4, 2.0))
    assert not _fits(samples, workers(2, 2.0))
    assert _fits(samples, workers(2, 0))  # no limit
    with pytest.raises(ValueError, match="Give a number of landmarks"):
        _fits(samples, workers(100, 0.05))
    assert _block_rows(20_000, np.float64, workers(4, 100)) == 5000
    assert _block_rows(20_000, np.float64, workers(4, 2.0)) == 390  # 62 MB


def test_chunks_are_grouped_by_thread_and_by_size():
    from marginpath.gram.cluster.loading import _Block, _packed

    known = [_Block((1, 1), "float64", False, 10)] * 8
    assert [len(run) for run in _packed(list(range(8)), known, 80)] == [8]
    assert [len(run) for run in _packed(list(range(8)), known, 40)] == [4, 4]
    assert [len(run) for run in _packed(list(range(8)), known, 1)] == [1] * 8


@pytest.mark.heavy
def test_the_prices_of_a_step_are_those_that_were_paid():
    from marginpath_lab.bench.dask_cost import StepCost, bytes_a_step, conclude, tasks_a_step
    from marginpath_lab.bench.machine import cores
    from marginpath_lab.bench.measure import Entry

    paid = StepCost(fixed=0.01, task=0.001, byte=2e-9, own=3e-8, entry=1e-9)

    def entry(task, contestant, n, d, seconds):
        name = f"{task}: n = {n:,}, d = {d:,}"
        return Entry(name, contestant, (1.0,), facts={"ms a step": 1000 * seconds})

    def on_cluster(task, n, d):
        return entry(task, "cluster", n, d, paid.seconds(n, d, workers=2))

    entries = [
        on_cluster("a step, 16 chunks, 2 workers", 10, 1),
        entry("a step, 16 chunks, 2 workers", "one thread", 10, 1, 0.001),
        Entry("empty tasks: 100", "cluster", (0.1,)),
        on_cluster("moving", 1_000_000, 1),
        entry("moving", "one thread", 1_000_000, 1, 1e6 * paid.own),
        on_cluster("passes over X", 100_000, 100),
        entry("passes over X", "one thread", 100_000, 100, 1e5 * paid.own + 1e7 * paid.entry),
    ]
    found = conclude(entries)
    assert found["a task, ms"] == pytest.approx(1.0)
    assert found["fixed, ms"] == pytest.approx(10.0, rel=0.05)
    assert found["moving, MB/s"] == pytest.approx(500.0, rel=0.05)
    assert found["passes over X: predicted, ms"] == pytest.approx(
        found["passes over X: measured, ms"], rel=0.05
    )
    assert found["overhead of a step, 16 chunks, 2 workers, ms (wanted: under 50)"] == pytest.approx(
        13, abs=0.1
    )
    anew = replace(paid, entry=7e-9)
    many = [
        entry(
            "features made anew", "cluster", 10**5, 100, anew.seconds(10**5, 100, workers=2, cores=cores())
        ),
        entry("many made rows by landmarks", "cluster", 10**7, 500, 1.0),
    ]
    predicted = conclude([*entries, *many])["10,000,000 rows by landmarks: predicted, ms a step"]
    assert predicted == pytest.approx(1000 * anew.seconds(10**7, 500, workers=4, cores=cores()), rel=0.05)
    assert found["predicted for n = 10⁷, d = 1,000, 10 workers, s a step"] == pytest.approx(
        paid.seconds(10**7, 1000, workers=10), rel=0.05
    )
    assert (tasks_a_step(4), tasks_a_step(64), tasks_a_step(100)) == (8, 136, 215)
    assert bytes_a_step(10, 3, 2) == 4 * 6 * (20 + 12)


@pytest.mark.heavy
def test_nothing_grows_over_a_thousand_steps(samples):
    X, Y = samples
    with make_cluster() as made, distributed.Client(made) as client:
        problem = mp.Problem(mp.Gram.from_dask(chunked(X)), Y)
        path = mp.run(ALGORITHMS["Algorithm 2"], problem, 200, keep=0)
        tasks, futures, memory = known_tasks(client), len(client.futures), worker_memory(client)
        mp.resume(path, problem, 1000)
        assert known_tasks(client, tasks) <= tasks
        assert len(client.futures) == futures
        assert worker_memory(client) <= memory + 20e6


def worker_memory(client):
    import psutil

    return max(client.run(lambda: psutil.Process().memory_info().rss).values())


@pytest.mark.heavy
def test_data_of_three_times_a_workers_memory():
    from marginpath_lab.bench import dask as bench

    with bench.workers(4, quick=False, memory=bench.MEMORY) as client:
        before = client.run(os.getpid)
        X, y = bench.shifted_digits(client, bench.COPIES)
        assert X.nbytes > 3 * bench.MEMORY
        problem = mp.Problem(mp.Gram.from_dask(X), y)
        path = mp.run(ClusterSweeps(rounds=1), problem, 4, observe={"gap": bench.relative_gap}, keep=0)
        assert path["gap"][-1] < 0.1
        assert bench.paused(client) == 0
        assert client.run(os.getpid) == before
