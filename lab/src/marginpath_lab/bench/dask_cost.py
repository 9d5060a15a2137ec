"""A model of what a step costs on a cluster: its prices from small runs, and what it predicts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .machine import cores
from .measure import Entry, Facts

FAR = (10_000_000, 1000)  # n and d of what is predicted
#: Tasks on landmarks: features that are made anew in every pass, and those of many rows.
MADE, MANY = "features made anew", "many made rows by landmarks"
#: Of every step: five folds and all the data.
COLUMNS = 6


@dataclass(frozen=True)
class StepCost:
    """The seconds of a step: fixed + task · tasks + byte · bytes + own · n + entry · n d / workers.

    Those of a step of :data:`COLUMNS` columns in float32.

    Examples
    --------
    >>> cost = StepCost(fixed=0.02, task=0.001, byte=1e-9, own=1e-8, entry=1e-9)
    >>> round(cost.seconds(100_000, 10, workers=2), 4)
    0.0303
    >>> round(cost.seconds(100_000, 10, workers=4, cores=2), 4)  # shared cores
    0.0343
    """

    fixed: float
    task: float
    byte: float
    own: float
    entry: float

    def seconds(self, n: int, d: int, workers: int, cores: int | None = None) -> float:
        """Return the seconds of a step, a shard a worker; workers may share cores."""
        here = self.fixed + self.task * tasks_a_step(workers) + self.byte * bytes_a_step(n, d, workers)
        return here + self.own * n + self.entry * n * d / min(workers, cores or workers)


def tasks_a_step(shards: int) -> int:
    """Return how many tasks X (Xᵀ V) takes: two for each shard, and the tree of sums."""
    total, parts = 2 * shards, shards
    while parts > 8:
        parts = -(-parts // 8)
        total += parts
    return total


def bytes_a_step(n: int, d: int, shards: int) -> int:
    """Return what the client sends and receives in a step."""
    return 4 * COLUMNS * (2 * n + d * (min(shards, 8) + shards))


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
    cost, passes = prices(rows), rows["passes over X", "cluster"]
    n, d = _numbers(passes)
    found |= {
        "fixed, ms": 1000 * cost.fixed,
        "a task, ms": 1000 * cost.task,
        "moving, MB/s": 1e-6 / cost.byte,
        "the client's own, ms for 10⁶ rows": 1e9 * cost.own,
        "both passes over X by one thread, GB/s": 4e-9 / cost.entry,
        "passes over X: predicted, ms": 1000 * cost.seconds(n, d, workers=2),
        "passes over X: measured, ms": _ms(passes),
    }
    anew = _anew(cost, rows)
    if anew is not None:
        found["both passes over features made anew by one thread, GB/s"] = 4e-9 / anew.entry
    if many := [entry for (name, _), entry in rows.items() if name.startswith(MANY)]:
        n, d = _numbers(many[0])
        asked = cost if anew is None or many[0].facts.get("features") == "held" else anew
        seconds = asked.seconds(n, d, workers=4, cores=cores())
        found[f"{n:,} rows by landmarks: predicted, ms a step"] = 1000 * seconds
        found[f"{n:,} rows by landmarks: measured over predicted (wanted: 0.7 to 1.3)"] = (
            _ms(many[0]) / 1000 / seconds
        )
    for number in (10, 100, 1000):
        name = f"predicted for n = 10⁷, d = 1,000, {number:,} workers, s a step"
        found[name] = cost.seconds(*FAR, workers=number)
    return found


def prices(rows: Mapping[tuple[str, str], Entry]) -> StepCost:
    """Return the prices from the runs on two workers and by one thread."""
    small, moving, passes = ("a step, 16 chunks, 2 workers", "moving", "passes over X")
    empty, step = rows["empty tasks", "cluster"], _ms(rows[small, "cluster"]) / 1000
    task = float(empty.median or 0) / _numbers(empty)[0]
    n, d = _numbers(rows[moving, "cluster"])
    own = _ms(rows[moving, "one thread"]) / 1000 / n
    few, narrow = _numbers(rows[small, "cluster"])
    further = bytes_a_step(n, d, 2) - bytes_a_step(few, narrow, 2)
    byte = max(_ms(rows[moving, "cluster"]) / 1000 - step - own * n, 1e-6) / further
    n, d = _numbers(rows[passes, "cluster"])
    entry = max(_ms(rows[passes, "one thread"]) / 1000 - own * n, 1e-6) / (n * d)
    return StepCost(step - task * tasks_a_step(2), task, byte, own, entry)


def _anew(cost: StepCost, rows: Mapping[tuple[str, str], Entry]) -> StepCost | None:
    """Return the prices where features are made anew in every pass, from the run of two workers that does."""
    if (MADE, "cluster") not in rows:
        return None
    n, d = _numbers(rows[MADE, "cluster"])
    free = replace(cost, entry=0.0).seconds(n, d, workers=2)
    return replace(
        cost, entry=max(_ms(rows[MADE, "cluster"]) / 1000 - free, 1e-6) * min(2, cores()) / (n * d)
    )


def _ms(entry: Entry) -> float:
    return float(entry.facts["ms a step"])


def _numbers(entry: Entry) -> list[int]:
    """Return the numbers in the name of a task, behind its colon."""
    return [int(number) for number in re.findall(r"\d+", entry.task.split(":")[1].replace(",", ""))]
