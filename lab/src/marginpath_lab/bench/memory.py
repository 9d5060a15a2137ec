"""Memory: its peak, measured in a child process, where nobody else allocates; and having it at hand."""

from __future__ import annotations

import gc
import multiprocessing
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil

from marginpath.gram.memory import available_memory

from .machine import processor_seconds

if TYPE_CHECKING:
    from .measure import Contestant, Task

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_MB = 1e6

#: Bytes that are brought to hand before a turn: more than a contestant fills.
AT_HAND = 2**31


@dataclass(frozen=True)
class ChildTurn:
    """What a child process tells of its turn."""

    seconds: float
    warm_up: float
    facts: Mapping[str, float | str]


class TooLong(Exception):
    """A turn was ended before it came to an end."""


def in_child(contestant: Contestant, task: Task, limit: float | None = None) -> ChildTurn:
    """Take one turn of a contestant in a fresh process; end that, and all it has started, after a limit."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    child = multiprocessing.get_context("spawn").Process(
        target=_tell_of_turn, args=(theirs, contestant, task.data, task.small, task.memory)
    )
    child.start()
    theirs.close()
    try:
        begun = ours.recv()  # warm, with its data at hand: from here on time counts
        if isinstance(begun, Exception):
            raise begun
        if not ours.poll(limit):
            raise TooLong(f"ended after {limit:.0f} s, unfinished")
        turn = ours.recv()
        if isinstance(turn, Exception):
            raise turn
        return turn  # type: ignore[no-any-return]
    finally:
        if child.is_alive():
            for process in psutil.Process(child.pid).children(recursive=True):
                process.kill()
            child.kill()
        child.join()


def _tell_of_turn(place: Any, contestant: Contestant, data: Any, small: Any, memory: int) -> None:
    try:
        place.send(_take_turn(contestant, data, small, memory, lambda: place.send("begun")))
    except Exception as error:
        place.send(error)


def _take_turn(
    contestant: Contestant, data: Any, small: Any, memory: int, begun: Callable[[], None]
) -> ChildTurn:
    begin = time.perf_counter()
    contestant.run(contestant.prepare(small))
    warm_up = time.perf_counter() - begin
    data = contestant.prepare(data)
    gc.collect()
    bring_to_hand(memory)
    reset_peak()
    before = peak_bytes()
    begun()
    begin, used = time.perf_counter(), processor_seconds()
    model = contestant.run(data)
    seconds, used = time.perf_counter() - begin, processor_seconds() - used
    peak = peak_bytes()
    facts = {
        **contestant.judge(model, data),
        "CPU s": round(used, 2),
        "peak MB": round(peak / _MB),
        "above data MB": round((peak - before) / _MB),
    }
    return ChildTurn(seconds, warm_up, facts)


def bring_to_hand(size: int) -> None:
    """Write to so much memory and free it: a virtual machine may have to find it first, which takes long."""
    np.ones(min(size, available_memory() // 2), dtype=np.uint8)


def peak_bytes() -> int:
    """Return the largest memory that this process has had, since `reset_peak` where that works.

    Not ``ru_maxrss`` where there is another way: on Linux it starts from the parent's size.
    """
    if _STATUS.exists():
        lines = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) * 1024
    info = psutil.Process().memory_info()
    if hasattr(info, "peak_wset"):  # Windows, which has no `resource`
        return int(info.peak_wset)
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def reset_peak() -> None:
    """Forget the peak, such as that of loading data; where the system cannot, it stays."""
    try:
        _RESET.write_text("5")
    except OSError:
        return
