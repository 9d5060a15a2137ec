"""What can go wrong on a cluster: a worker may come and go, the scheduler may not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import CancelledError
from typing import Any

from ...extras import require


class SchedulerLost(RuntimeError):
    """The scheduler, and with it all data on the cluster, is gone."""

    def __init__(self) -> None:
        super().__init__(
            "The connection to the Dask scheduler is lost, and with it the data on the workers. Connect to a "
            "cluster, build the Gram matrix and the problem again, and go on from the last checkpoint: "
            "resume(Path.load(file), problem, steps)."
        )


def spread(client: Any, function: Any, *arguments: Iterable[Any], **shared: Any) -> list[Any]:
    """Start one task for each of the arguments; return their futures.

    What a task needs travels in its description, so that it can be run again wherever a worker is lost.
    """
    require_running(client)
    with large_graphs():
        # map knows a large keyword argument by its bare name, which is the same in every call.
        sent = {k: client.submit(itself, v, pure=False) if _large(v) else v for k, v in shared.items()}
        started: list[Any] = client.map(function, *arguments, pure=False, **sent)
    return started


def large_graphs() -> Any:
    """Return a context in which Dask does not warn of data that travel with their tasks."""
    return dask_module("dask").config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"})


def dask_module(name: str) -> Any:
    """Import a part of Dask, or say what to install."""
    return require(name, extra="dask", what="Data on a cluster")


def itself(value: Any) -> Any:
    """Return what travels."""
    return value


def _large(value: Any) -> bool:
    return bool(dask_module("dask.sizeof").sizeof(value) > 50_000)


def collect(client: Any, futures: Sequence[Any]) -> list[Any]:
    """Wait for the futures and return their values."""
    try:
        values: list[Any] = client.gather(futures)
    except (CancelledError, OSError) as error:
        if client.status != "running" or "scheduler" in str(error):
            raise SchedulerLost from None
        raise
    return values


def require_running(client: Any) -> None:
    """Raise where the client has no scheduler any more."""
    if client.status != "running":
        raise SchedulerLost
