"""What can go wrong on a cluster: a worker may come and go, the scheduler may not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

import numpy as np

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
        work = partial(at_home, function)
        started: list[Any] = client.map(work, *arguments, key=function.__name__, pure=False, **sent)
    return started


def at_home(function: Callable[..., Any], *arguments: Any, **shared: Any) -> Any:
    """Call a function on a worker, with arrays whose numbers lie where numbers of their size do.

    What has travelled lies at any byte. NumPy copies such an array for a product, in an order of its own, and
    with the order the last bits change.
    """
    return function(*map(aligned, arguments), **{name: aligned(value) for name, value in shared.items()})


def aligned(value: Any) -> Any:
    """Return arrays, and what holds them, with all numbers where numbers of their size lie.

    Examples
    --------
    >>> travelled = np.frombuffer(bytes(17), dtype=np.float64, offset=1)
    >>> travelled.flags.aligned, aligned([travelled])[0].flags.aligned
    (False, True)
    """
    if isinstance(value, np.ndarray):
        return np.require(value, requirements="A")
    if type(value) in (list, tuple):
        return type(value)(map(aligned, value))
    if is_dataclass(value) and not isinstance(value, type):
        own = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        moved = {name: aligned(part) for name, part in own.items()}
        return replace(value, **moved) if any(moved[name] is not own[name] for name in own) else value
    return value


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
