"""Threads for compiled code: started once, because a step of a path may be shorter than their start."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import Any

_NAME = "marginpath"


def for_all(
    task: Callable[[Any], None], items: Iterable[Any], workers: int, stop: Callable[[], Any] | None = None
) -> None:
    """Run the task on every item, so many at a time, and return when all have ended.

    After an error or an interrupt, what has not begun never does, and ``stop`` can tell the others to end.

    Examples
    --------
    >>> found = []
    >>> for_all(found.append, range(3), 2)
    >>> sorted(found)
    [0, 1, 2]
    """
    if workers == 1 or threading.current_thread().name.startswith(_NAME):
        for item in items:
            task(item)
        return
    futures = [_threads(workers).submit(task, item) for item in items]
    try:
        for future in futures:
            future.result()
    except BaseException:
        for future in futures:
            future.cancel()
        if stop is not None:
            stop()
        raise
    finally:
        wait(futures)


@cache
def _threads(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix=_NAME)


if hasattr(os, "register_at_fork"):  # a child process has none of them
    os.register_at_fork(after_in_child=_threads.cache_clear)
