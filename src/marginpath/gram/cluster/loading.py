"""From the chunks of a dask array or dataframe to rows on the workers."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...arrays import Array, as_floating
from .faults import collect, dask_module, large_graphs, spread
from .rows import Rows

_SHARE = 32  # what a task works on takes at most one part in so many of a worker's memory


def load_rows(X: Any, client: Any = None, dtype: Any = None) -> Rows:
    """Compute the chunks of a dask array or dataframe where they are, and keep them there.

    Chunks may be dense or sparse, of any sizes, known or not; empty ones are left out, and all get the same
    floating dtype.
    """
    client = find_client(client)
    chunks, known = _held_chunks(X, client)
    wanted = np.dtype(dtype) if dtype is not None else np.result_type(*(block.dtype for block in known))
    sparse = any(block.sparse for block in known)
    if any(block.dtype != wanted.name or block.sparse != sparse for block in known):
        chunks = spread(client, _converted, chunks, dtype=wanted.name, sparse=sparse)
        known = collect(client, spread(client, _describe, chunks))
    stops = list(accumulate(block.shape[0] for block in known))
    places = [slice(stop - block.shape[0], stop) for stop, block in zip(stops, known, strict=True)]
    shards, shard_places = [], []
    for worker, members in _grouped(client, chunks, known):
        bundle = [chunks[i] for i in members]
        shards.append(client.submit(list, bundle, workers=[worker], allow_other_workers=True, pure=False))
        shard_places.append([places[i] for i in members])
    return Rows(client, shards, shard_places, (stops[-1], known[0].shape[1]), wanted)


def is_dask(X: object) -> bool:
    """Whether this is a dask array, dataframe or series; Dask need not be installed.

    Examples
    --------
    >>> is_dask([1.0, 2.0])
    False
    """
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def collected(values: Any) -> Any:
    """Return labels or weights as a NumPy array; what is not Dask's is left as it is.

    Examples
    --------
    >>> collected([1, -1])
    [1, -1]
    """
    return np.asarray(values.compute()) if is_dask(values) else values


def as_dask_array(X: Any) -> Any:
    """Return a dask array of two dimensions, its columns in one chunk, from an array or dataframe."""
    if not is_dask(X):
        raise TypeError(
            f"A dask array or dataframe is needed, got {type(X).__name__}. For data in memory use "
            f"Gram.linear(X) or Gram.from_kernel(X, kernel)."
        )
    X = X.to_dask_array() if hasattr(X, "to_dask_array") else X
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimension(s), but 2 are needed: (n_samples, n_features).")
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


def find_client(client: Any) -> Any:
    """Return the client given, or the current one."""
    distributed = dask_module("distributed")
    if client is not None:
        return client
    try:
        return distributed.default_client()
    except ValueError:
        raise ValueError(
            "There is no Dask client. Make one first: client = distributed.Client(address), or "
            "distributed.Client() for the cores of this machine."
        ) from None


def workers_of(client: Any) -> dict[str, dict[str, Any]]:
    """Return what the scheduler knows of its workers, by address; raise where there is none.

    The scheduler itself is asked: ``client.scheduler_info`` answers from a copy that the client
    replaces every other second by one without workers.
    """
    known = client.sync(client.scheduler.identity)["workers"]
    found: dict[str, dict[str, Any]] = dict(sorted(known.items()))
    if not found:
        raise ValueError("The Dask cluster has no workers. Start some: cluster.scale(2), or dask worker.")
    return found


def block_bytes(workers: dict[str, dict[str, Any]]) -> float:
    """Return the most that one task should work on, from the memory of the smallest worker."""
    return memory(workers) / _SHARE


def memory(workers: dict[str, dict[str, Any]]) -> float:
    """Return the memory limit of the smallest worker; infinite where none is set."""
    return min(float(worker["memory_limit"] or np.inf) for worker in workers.values())


class _Block(NamedTuple):
    """What is known here of a block there."""

    shape: tuple[int, ...]
    dtype: str
    sparse: bool
    nbytes: int


def _held_chunks(X: Any, client: Any) -> tuple[list[Any], list[_Block]]:
    """Compute the chunks on the workers; return those that have rows, and what is known of them."""
    chunk = dask_module("dask").delayed(_as_block, pure=False)
    parts = as_dask_array(X).to_delayed().ravel()
    with large_graphs():
        held = client.compute([chunk(part, number) for number, part in enumerate(parts)])
    known = collect(client, spread(client, _describe, held))
    kept = [number for number, block in enumerate(known) if block.shape[0]]
    if not kept:
        raise ValueError("X is empty: none of its chunks has a row.")
    widths = sorted({known[i].shape[1] for i in kept})
    if len(widths) > 1:
        raise ValueError(f"The chunks of X have {' and '.join(map(str, widths))} columns; give all the same.")
    return [held[i] for i in kept], [known[i] for i in kept]


def _grouped(client: Any, chunks: list[Any], known: list[_Block]) -> list[tuple[str, list[int]]]:
    """Group the chunks of each worker: a group a thread, more where they are large."""
    owners = client.who_has(chunks)
    workers = workers_of(client)
    own: dict[str, list[int]] = {}
    for number, future in enumerate(chunks):
        alive = [worker for worker in owners.get(future.key, ()) if worker in workers]
        own.setdefault(min(alive or workers), []).append(number)
    groups = []
    for worker, members in own.items():
        size = sum(known[i].nbytes for i in members) / workers[worker]["nthreads"]
        groups += [(worker, group) for group in _packed(members, known, min(size, block_bytes(workers)))]
    return groups


def _packed(members: list[int], known: list[_Block], size: float) -> list[list[int]]:
    """Cut a list of chunks into runs of about that many bytes."""
    runs: list[list[int]] = []
    filled = np.inf
    for i in members:
        if filled + known[i].nbytes / 2 > size:
            runs.append([])
            filled = 0.0
        runs[-1].append(i)
        filled += known[i].nbytes
    return runs


def _as_block(part: Any, number: int) -> Array:
    if part.shape[0] == 0:
        return part
    return as_floating(part, f"X (its chunk {number})")


def _describe(block: Array) -> _Block:
    sparse = sp.issparse(block)
    nbytes = 12 * block.nnz if sparse else block.nbytes
    return _Block(block.shape, block.dtype.name, sparse, int(nbytes))


def _converted(block: Array, dtype: str, sparse: bool) -> Array:
    return (sp.csr_array(block) if sparse else block).astype(dtype, copy=False)
