"""Workers and schedulers that die, and checkpoints."""

import contextlib
import subprocess
import sys
import threading
import time

import numpy as np
import psutil
import pytest

import marginpath as mp

pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pytest.importorskip("dask.array")
pytest.importorskip("dask.dataframe")

from clusters import ALGORITHMS, chunked, close, make_cluster  # noqa: E402

from marginpath import Checkpoint  # noqa: E402
from marginpath.gram import cluster as mc  # noqa: E402


def test_a_checkpoint_survives_the_scheduler(samples, tmp_path):
    X, Y = samples
    file, solver = tmp_path / "run.npz", ALGORITHMS["Algorithm 2"]
    wanted = mp.run(solver, mp.Problem(mp.Gram.linear(X), Y), 9).last.u

    def lose(problem, state, path):
        if state.t == 5:
            doomed.close()

    with make_cluster(1, processes=False) as doomed, distributed.Client(doomed) as client:
        problem = mp.Problem(mp.Gram.from_dask(chunked(X), client=client), Y)
        with pytest.raises(mc.SchedulerLost, match="resume"):
            mp.run(solver, problem, 9, callbacks=[Checkpoint(file, seconds=0), lose])
        with pytest.raises(mc.SchedulerLost):
            problem.gram @ Y
    path = mp.Path.load(file)
    assert path.last.t == 5
    with make_cluster(1, processes=False) as fresh, distributed.Client(fresh) as client:
        problem = mp.Problem(mp.Gram.from_dask(chunked(X), client=client), Y)
        close(mp.resume(path, problem, 4).last.u, wanted)


def test_a_checkpoint_is_not_written_before_its_time(samples, tmp_path):
    X, Y = samples
    saving = Checkpoint(tmp_path / "run.npz", seconds=3600)
    mp.run(ALGORITHMS["Algorithm 1"], mp.Problem(mp.Gram.linear(X), Y), 3, callbacks=[saving])
    assert not (tmp_path / "run.npz").exists()


def kill_one(cluster, which):
    psutil.Process(sorted(nanny.pid for nanny in cluster.workers.values() if nanny.pid)[which]).kill()


@pytest.mark.heavy
@pytest.mark.parametrize("kernel", [None, mp.Gaussian(5.0)], ids=["linear", "kernel"])
def test_a_killed_worker_changes_nothing(cluster, client, samples, kernel):
    X, Y = samples
    client.wait_for_workers(2, timeout=300)
    here = mp.Gram.linear(X) if kernel is None else mp.Gram.from_kernel(X, kernel)
    problem = mp.Problem(mp.Gram.from_dask(chunked(X), kernel), Y)
    path = mp.run(
        ALGORITHMS["Algorithm 2"],
        problem,
        7,
        callbacks=[lambda problem, state, path: kill_one(cluster, 0) if state.t == 4 else None],
    )
    close(path.last.u, mp.run(ALGORITHMS["Algorithm 2"], mp.Problem(here, Y), 7).last.u)


@pytest.mark.heavy
@pytest.mark.parametrize("kernel", [None, mp.Gaussian(5.0)], ids=["linear", "kernel"])
def test_twenty_killed_workers_change_nothing(samples, kernel):
    """Ten for each kernel, at any time of a run, also in the middle of a step."""
    X, Y = samples
    rng, solver = np.random.default_rng(0), ALGORITHMS["Algorithm 2"]
    here = mp.Gram.linear(X) if kernel is None else mp.Gram.from_kernel(X, kernel)
    wanted = mp.run(solver, mp.Problem(here, Y), 30).last.u
    with make_cluster() as made, distributed.Client(made) as client:
        problem = mp.Problem(mp.Gram.from_dask(chunked(X), kernel), Y)
        problem.norm_bounds()
        for _ in range(10):
            client.wait_for_workers(2, timeout=300)
            killer = threading.Timer(rng.uniform(0.1, 1.5), kill_one, [made, rng.integers(2)])
            killer.start()
            found = mp.run(solver, problem, 30).last.u
            killer.join()
            close(found, wanted)


@pytest.mark.heavy
def test_a_killed_scheduler_is_one_clear_error(samples, tmp_path):
    X, Y = samples
    address = tmp_path / "scheduler.json"
    common = ["--scheduler-file", str(address), "--no-dashboard"]
    commands = {"scheduler": ["--port", "0"], "worker": ["--nthreads", "1", "--no-nanny"]}
    started = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{name}", *common, *extra],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for name, extra in commands.items()
    ]
    try:
        while not address.exists():
            time.sleep(0.1)
        client = distributed.Client(scheduler_file=str(address), set_as_default=False)
        client.wait_for_workers(1, timeout=120)
        problem = mp.Problem(mp.Gram.from_dask(chunked(X), client=client), Y)
        saving = Checkpoint(tmp_path / "run.npz", seconds=0)

        def lose(problem, state, path):
            if state.t == 3:
                started[0].kill()

        with pytest.raises(mc.SchedulerLost, match="resume"):
            mp.run(ALGORITHMS["Algorithm 1"], problem, 9, callbacks=[saving, lose])
        assert mp.Path.load(tmp_path / "run.npz").last.t == 3
    finally:
        for process in started:
            process.kill()
            process.wait()
        with contextlib.suppress(Exception):
            client.close(timeout=1)
