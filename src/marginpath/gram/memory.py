"""How much memory a new array can take: what the machine has free, within the limit of a container."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import psutil

# The limit, the use, and the part of the use that the system gives back on demand; by version of cgroup.
_VERSION_1 = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
_VERSION_2 = "memory.max", "memory.current", "inactive_file"


_FRESH = 0.1  # seconds in which an answer holds: to ask again takes a tenth of a small fit


def available_memory() -> int:
    """Bytes that a new array can take without swapping, and without passing the limit of a container.

    The answer may be a tenth of a second old.

    Examples
    --------
    >>> 0 <= available_memory() <= psutil.virtual_memory().total
    True
    """
    return _available_in(int(time.monotonic() / _FRESH))


@lru_cache(maxsize=1)
def _available_in(period: int) -> int:
    return min([int(psutil.virtual_memory().available), *container_rooms()])


def container_rooms(
    root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")
) -> list[int]:
    """Return the bytes that are left under each limit that the system sets for this process, if any.

    psutil tells of the whole machine, also inside a container. A limit holds for the group of the process and
    for every group around it; files that were read count as use, but make room when memory is asked for.
    """
    rooms = []
    for folder, (limit, use, reclaimable) in _groups(root, membership):
        try:
            if (allowed := (folder / limit).read_text().strip()) == "max":
                continue
            used = int((folder / use).read_text())
            counts = dict(line.split(" ", 1) for line in (folder / "memory.stat").read_text().splitlines())
        except OSError:  # the outermost group has no limit
            continue
        rooms.append(max(0, int(allowed) - used + int(counts.get(reclaimable, 0))))
    return rooms


def _groups(root: Path, membership: Path) -> Iterator[tuple[Path, tuple[str, str, str]]]:
    """Yield the folders of the groups that this process is in, and the names of what they tell."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:  # not Linux
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers or "memory" in controllers.split(","):
            top, names = (root / "memory", _VERSION_1) if controllers else (root, _VERSION_2)
            # A container often sees its own group as the top, under a path of the machine outside.
            group = Path(path.lstrip("/"))
            for folder in (group, *group.parents):
                yield top / folder, names
