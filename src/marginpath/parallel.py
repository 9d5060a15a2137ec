"""Threads of our own, and BLAS kept to one.

They are started once, because a step of a path may be shorter than their start.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import joblib
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

#: Samples up to which no column of a path takes so long that an interrupt could not wait for it.
QUICK = 2048

_limit: ContextVar[int | None] = ContextVar("threads", default=None)
_deadline: ContextVar[tuple[float, threading.Event] | None] = ContextVar("deadline", default=None)


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
    """Use ``n_jobs`` threads inside: −1 takes all cores, as in scikit-learn; None those available now."""
    if n_jobs is None:
        n_jobs = available()
    token = _limit.set(max(1, _cores() + 1 + n_jobs) if n_jobs < 0 else max(1, n_jobs))
    try:
        yield
    finally:
        _limit.reset(token)


@cache
def _cores() -> int:
    return int(joblib.cpu_count())


_NAME = "marginpath"


def for_all(
    task: Callable[[Any], None], items: Iterable[Any], workers: int, stop: Callable[[], Any] | None = None
) -> None:
    """Run the task on every item, so many at a time, and return when all have ended.

    After an error or an interrupt, what has not begun never does, and ``stop`` tells the others to end: for
    that the calling thread waits. Without ``stop`` it takes part, and there is one thread less to wake, which
    takes the system as long as some tasks do.

    Examples
    --------
    >>> found = []
    >>> for_all(found.append, range(3), 2)
    >>> sorted(found)
    [0, 1, 2]
    """
    if workers == 1 or _limit.get() == 1 or threading.current_thread().name.startswith(_NAME):
        for item in items:
            task(item)
        return
    left = deque(items)

    def work() -> None:
        try:
            with limited(1):  # a task has the thread that it runs on
                while (item := _next(left)) is not None:
                    task(*item)
        except BaseException:
            give_up()
            raise

    def give_up() -> None:
        left.clear()
        if stop is not None:
            stop()

    takes_part = stop is None
    others = [_threads(workers).submit(work) for _ in range(min(workers, len(left)) - takes_part)]
    try:
        if takes_part:
            work()
        for other in others:
            other.result()
    except BaseException:
        give_up()
        raise
    finally:
        wait(others)


def _next(left: deque[Any]) -> tuple[Any] | None:
    """Take the first of what is left, or nothing: another thread may have been faster."""
    try:
        return (left.popleft(),)
    except IndexError:
        return None


@contextmanager
def until(deadline: float) -> Iterator[threading.Event]:
    """Let what runs inside know of a deadline, a moment of ``time.monotonic``: see :func:`stopped_in_time`.

    Whether anything was stopped there is what it gives.
    """
    stopped = threading.Event()
    token = _deadline.set((deadline, stopped) if deadline < float("inf") else None)
    try:
        yield stopped
    finally:
        _deadline.reset(token)


@contextmanager
def stopped_in_time(stop: Callable[[], Any]) -> Iterator[None]:
    """Call ``stop`` when the deadline has passed, if there is one, and what runs inside has not ended.

    Examples
    --------
    >>> stop = threading.Event()
    >>> with until(time.monotonic() + 0.01) as stopped, stopped_in_time(stop.set):
    ...     stop.wait(60)
    True
    >>> stopped.is_set()
    True
    """
    if (limit := _deadline.get()) is None:
        yield
        return
    deadline, stopped = limit

    def end() -> None:
        stopped.set()  # first: whoever ends because of stop finds it set
        stop()

    timer = threading.Timer(max(0.0, deadline - time.monotonic()), end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@cache
def _threads(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix=_NAME)


if hasattr(os, "register_at_fork"):  # a child process has none of them
    os.register_at_fork(after_in_child=_threads.cache_clear)


class _OneThread:
    """Whether BLAS is kept to one thread, and for how many that asked for it: the last one lets it go.

    The limit is one of the whole process, so that two who each put back what they met would undo each other,
    and threadpoolctl lets one thread alone change it: ours does nothing else.
    """

    def __init__(self) -> None:
        self.limit: Any = None
        self.renew()

    def renew(self) -> None:
        """Start with a thread of its own, and nobody inside."""
        self.lock, self.users = threading.Lock(), 0
        self.keeper = ThreadPoolExecutor(1, thread_name_prefix="marginpath-blas")

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Hold BLAS to one thread until the end of the with statement."""
        with self.lock:
            self.users += 1
            if self.users == 1:
                self.keeper.submit(self._hold).result()
        try:
            yield
        finally:
            with self.lock:
                self.users -= 1
                if self.users == 0:
                    self.keeper.submit(self._let_go).result()

    def _hold(self) -> None:
        self.limit = _blas().limit(limits=1)
        self.limit.__enter__()

    def _let_go(self) -> None:
        self.limit.__exit__(None, None, None)


#: Keep BLAS to the thread that calls it, inside a with statement.
one_blas_thread = _OneThread()


if hasattr(os, "register_at_fork"):  # a child process has no such thread
    os.register_at_fork(after_in_child=one_blas_thread.renew)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def for_each(task: Callable[[Any], None], items: Iterable[Any], *, parallel: bool) -> None:
    """Run the tasks; in parallel, each on one core with a single-threaded BLAS."""
    if not parallel:
        for item in items:
            task(item)
        return
    with one_blas_thread():
        for_all(task, items, available())
