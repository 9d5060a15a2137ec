"""How many threads compiled code may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

import joblib
from joblib.parallel import get_active_backend

_limit: ContextVar[int | None] = ContextVar("threads", default=None)


def available() -> int:
    """Return the number of threads to use: the cores, or fewer where something else shares them.

    OMP_NUM_THREADS is obeyed (joblib's worker processes have it), and a joblib worker thread has one.

    Examples
    --------
    >>> with limited(1):
    ...     available()
    1
    """
    if (limit := _limit.get()) is not None:
        return limit
    if get_active_backend()[0].nesting_level:
        return 1
    cores = _cores()
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(asked)) if asked.isdigit() and int(asked) > 0 else cores


@contextmanager
def limited(n_jobs: int | None) -> Iterator[None]:
    """Use ``n_jobs`` threads inside: None changes nothing, −1 takes all cores, as in scikit-learn."""
    if n_jobs is None:
        yield
        return
    token = _limit.set(max(1, _cores() + 1 + n_jobs) if n_jobs < 0 else max(1, n_jobs))
    try:
        yield
    finally:
        _limit.reset(token)


@cache
def _cores() -> int:
    return int(joblib.cpu_count())
