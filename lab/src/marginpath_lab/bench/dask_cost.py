"""A model of what a step costs on a cluster: its prices from small runs, and what it predicts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .machine import cores
from .measure import Entry, Facts

FAR = (10_000_000, 1000)  # n and d of what is predicted
MANY = "many made rows by landmarks"


@dataclass(frozen=True)
class StepCost:
    """A model of the seconds of a linear step: fixed + task · tasks + byte · bytes + entry · n d / workers.

    Examples
    --------
    >>> cost = StepCost(fixed=0.02, task=0.001, byte=1e-9, entry=1e-9)
    >>> round(cost.seconds(1000, 10, workers=2), 4)
    0.024
    >>> round(cost.seconds(1000, 10, workers=4, columns=6, width=4, cores=2), 4)  # float32, shared cores
    0.0281
    """

    fixed: float
    task: float
    byte: float
    entry: float

    def seconds(
        self, n: int, d: int, workers: int, columns: int = 1, width: int = 8, cores: int | None = None
    ) -> float:
        """Return the seconds of a step, a shard a worker, for numbers of so many bytes.

        Passes over X are as long as reading it takes, whatever the columns; workers may share cores.
        """
        share = width / 8
        work = share * self.entry * n * d / min(workers, cores or workers)
        moved = share * columns * bytes_a_step(n, d, workers)
        return self.fixed + self.task * tasks_a_step(workers) + self.byte * moved + work


def tasks_a_step(shards: int) -> int:
    """Return how many tasks X (Xᵀ V) takes: two for each shard, and the tree of sums."""
    total, parts = 2 * shards, shards
    while parts > 8:
        parts = -(-parts // 8)
        total += parts
    return total


def bytes_a_step(n: int, d: int, shards: int) -> int:
    """Return what the client sends and receives in a step of one column in float64."""
    return 8 * (2 * n + d * (min(shards, 8) + shards))


def conclude(entries: Sequence[Entry]) -> Facts:
    """Set the prices of a step from the small runs, check them on a larger one, and predict."""
    rows = {(entry.task.split(":")[0], entry.contestant): entry for entry in entries if entry.seconds}
    found: dict[str, float | str] = {}
    for number in (2, 4):
        step = f"a step, 16 chunks, {number} workers"
        if (step, "cluster") in rows:
            extra = _ms(rows[step, "cluster"]) - _ms(rows[step, "one thread"])
            found[f"overhead of {step}, ms (wanted: under 50)"] = extra
            found[f"of which the client and the scheduler are at work, {number} workers, ms"] = float(
                rows[step, "cluster"].facts.get("at work", 0.0)
            )
    if ("passes over X", "one thread") not in rows:
        return found
    small, empty, moving, passes = (
        rows[name, "cluster"]
        for name in ("a step, 16 chunks, 2 workers", "empty tasks", "moving", "passes over X")
    )
    cost = prices(small, empty, moving, passes, _ms(rows["passes over X", "one thread"]))
    n, d = _numbers(passes)
    found |= {
        "fixed, ms": 1000 * cost.fixed,
        "a task, ms": 1000 * cost.task,
        "moving, MB/s": 1e-6 / cost.byte,
        "both passes over X by one thread, GB/s": 8e-9 / cost.entry,
        "passes over X: predicted, ms": 1000 * cost.seconds(n, d, workers=2),
        "passes over X: measured, ms": _ms(passes),
    }
    if many := [entry for (name, _), entry in rows.items() if name.startswith(MANY)]:
        n, d = _numbers(many[0])
        seconds = cost.seconds(n, d, workers=4, columns=6, width=4, cores=cores())
        found[f"{n:,} rows by landmarks: predicted, ms a step"] = 1000 * seconds
        found[f"{n:,} rows by landmarks: measured over predicted (wanted: 0.7 to 1.3)"] = (
            _ms(many[0]) / 1000 / seconds
        )
    for number in (10, 100, 1000):
        name = f"predicted for n = 10⁷, d = 1,000, {number:,} workers, s a step"
        found[name] = cost.seconds(*FAR, workers=number)
    return found


def prices(small: Entry, empty: Entry, moving: Entry, passes: Entry, thread: float) -> StepCost:
    """Return the prices from the entries on two workers, and the ms of the passes by one thread."""
    task = float(empty.median or 0) / _numbers(empty)[0]
    fixed = _ms(small) / 1000 - task * tasks_a_step(2)
    sizes = [_numbers(entry) for entry in (moving, small)]
    further = bytes_a_step(sizes[0][0], sizes[0][1], 2) - bytes_a_step(sizes[1][0], sizes[1][1], 2)
    byte = max(_ms(moving) - _ms(small), 1e-3) / 1000 / further
    n, d = _numbers(passes)
    return StepCost(fixed, task, byte, thread / 1000 / (n * d))


def _ms(entry: Entry) -> float:
    return float(entry.facts["ms a step"])


def _numbers(entry: Entry) -> list[int]:
    """Return the numbers in the name of a task, behind its colon."""
    return [int(number) for number in re.findall(r"\d+", entry.task.split(":")[1].replace(",", ""))]
