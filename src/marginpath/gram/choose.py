"""Where a kernel matrix goes: stored, in tiles, or streamed; what to do where memory or precision fails."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from ..arrays import Array, all_finite, as_floating, namespace
from ..devices import free_bytes, is_out_of_memory, on_gpu, release, torch_device
from ..kernels.functions import Kernel, as_kernel
from .base import Gram
from .device import DeviceTiledGram
from .filling import matrix_bytes
from .memory import available_memory
from .precision import LADDER, as_precision
from .tiled import TiledGram

logger = logging.getLogger("marginpath")

_SHARE = 0.8  # of the free memory; the rest is for the states of a run and for the products
_SAMPLES = 0.4  # of it for the samples, which are there twice: as they came and as the products take them
_GIB = 2**30

R = TypeVar("R")


def choose_gram(
    X: Array,
    kernel: str | Callable[..., Any],
    *,
    precision: str | None = None,
    device: str | None = None,
    memory: float | None = None,
    **params: Any,
) -> Gram:
    """Return the kernel matrix of X: stored where it fits, else computed in tiles, else with X streamed.

    The choice and its reason go to the logger ``marginpath``.

    Parameters
    ----------
    X : array (n, d)
        Where it lives is where the matrix lives.
    kernel, params
        As in :meth:`Gram.from_kernel`.
    precision : {None, "float32", "tf32", "bfloat16"}
        On a GPU; see :meth:`Gram.from_kernel` and :class:`DeviceTiledGram`.
    device : str, optional
        Compute there what a NumPy array holds, such as "cuda".
    memory : float, optional
        Bytes that may be used; most of what is free by default.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> type(choose_gram(X, mp.Gaussian(1.0))).__name__
    'DenseGram'
    >>> type(choose_gram(X, mp.Gaussian(1.0), memory=10_000)).__name__
    'TiledGram'
    """
    kernel, X = as_kernel(kernel, **params), as_floating(X, "X")
    probe = X if device is None else _first(X, device)
    numbers = as_precision(precision, probe)
    n = X.shape[0]
    room = _room(probe) if memory is None else memory
    needed = matrix_bytes(n, numbers.storage(numbers.samples(probe[:1, :])))
    if needed <= room:
        _say("stored", n, f"its {needed / _GIB:.3g} GiB are in the {room / _GIB:.3g} GiB at hand")
        try:
            return Gram.from_kernel(
                X if device is None else _first(X, device, n), kernel, precision=precision
            )
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            release(probe)
            reason = "memory ran out while it was computed"
    else:
        reason = f"its {needed / _GIB:.3g} GiB are over the {room / _GIB:.3g} GiB at hand"
    return _tiles(X, kernel, precision, device, room, reason, on_gpu(probe) or device is not None)


def with_gram(
    X: Array,
    kernel: str | Callable[..., Any],
    work: Callable[[Gram], R],
    *,
    precision: str | None = None,
    device: str | None = None,
    memory: float | None = None,
    **params: Any,
) -> R:
    """Choose a kernel matrix and work on it; again where memory or precision did not suffice.

    Where memory runs out, the work is repeated once with tiles. Where the last state of the path is not
    finite, it is repeated in the next higher precision, with a warning.

    Parameters
    ----------
    work : callable, Gram → Path or CrossValidatedPath
        Such as ``lambda gram: mp.cross_validate_path(solver, gram, y)``.
    X, kernel, precision, device, memory, params
        As in :func:`choose_gram`.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> data = mp.datasets.toy()
    >>> solver = mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3))
    >>> path = with_gram(data.X, "rbf", lambda gram: mp.run(solver, mp.Problem(gram, data.y), 10), sigma=1.0)
    >>> path.last.t
    10
    """
    kernel, X = as_kernel(kernel, **params), as_floating(X, "X")
    while True:
        result = _attempt(X, kernel, work, precision, device, memory)
        if _finite(result):
            return result
        coarse, precision = precision, _next(precision, X)
        if precision is None:
            raise FloatingPointError(
                f"The path is not finite in {coarse or X.dtype}, the finest precision there is. Check the "
                f"scale of the samples and of the kernel."
            )
        warnings.warn(
            f"The path is not finite in precision {coarse or X.dtype}; it is run again in {precision}.",
            stacklevel=2,
        )
        if precision == "float64":
            X, precision = namespace(X).astype(X, namespace(X).float64), None


def _attempt(
    X: Array,
    kernel: Kernel,
    work: Callable[[Gram], R],
    precision: str | None,
    device: str | None,
    memory: float | None,
) -> R:
    settings: dict[str, Any] = {"precision": precision, "device": device}
    try:
        return work(choose_gram(X, kernel, memory=memory, **settings))
    except Exception as error:
        if not is_out_of_memory(error):
            raise
    probe = X if device is None else _first(X, device)
    release(probe)
    logger.warning("Memory ran out; once more with tiles.")
    try:
        return work(choose_gram(X, kernel, memory=min(memory or _room(probe), _room(probe)) / 4, **settings))
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise MemoryError(
            f"Memory ran out with a stored kernel matrix of {X.shape[0]:,} samples, and with tiles too. Use "
            f"fewer columns (classes × folds), a coarser precision, or fewer samples."
        ) from error


def _tiles(
    X: Array, kernel: Kernel, precision: str | None, device: str | None, room: float, reason: str, gpu: bool
) -> Gram:
    n, d = X.shape
    if not gpu:
        _say("in tiles", n, reason)
        return TiledGram(X, kernel)
    rows = None
    if device is not None and 8 * n * d > _SAMPLES * room:
        rows = max(1, int(_SAMPLES * room) // (16 * d))
        reason += f", and those of the samples too: {rows:,} at a time are streamed"
    _say("in tiles", n, reason)
    block = int(max(2**20, min(2**31, room / 4)))
    return DeviceTiledGram(X, kernel, precision=precision, device=device, rows=rows, room=block)


def _room(X: Array) -> float:
    return _SHARE * (free_bytes(X) if on_gpu(X) else available_memory())


def _first(X: Array, name: str, rows: int = 1) -> Array:
    """Return some rows on that device."""
    torch, place = torch_device(name)
    return torch.asarray(X[:rows, :], device=place)


def _say(how: str, n: int, reason: str) -> None:
    logger.info("The kernel matrix of %s samples is %s: %s.", f"{n:,}", how, reason)


def _finite(result: Any) -> bool:
    state = getattr(result, "path", result).last
    return all_finite(state.u) and all_finite(state.scores)


def _next(precision: str | None, X: Array) -> str | None:
    """Return the next finer precision, or None where there is none."""
    now = precision or str(X.dtype).rpartition(".")[2]
    return LADDER[LADDER.index(now) + 1] if now in LADDER[:-1] else None
