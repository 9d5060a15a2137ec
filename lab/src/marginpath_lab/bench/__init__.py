"""Benchmarks: one question each about time or memory, side by side with what people use today.

A benchmark is a list of tasks, a task a list of contestants that take turns. `measure` times them and makes
entries, `report` turns the entries into a table and a file. One module a benchmark, named after it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # the command line lists the benchmarks, and waits for nothing that they need
    from .measure import Benchmark, Task
    from .report import Report

#: The benchmarks, in the order in which one would read them.
NAMES = (
    "kernel",
    "tuned",
    "one-fit",
    "widths",
    "hard-margin",
    "linear",
    "dense",
    "large",
    "scaling",
    "landmarks",
    "digits",
    "parquet",
    "screening",
    "parts",
    "proofs",
    "gpu",
    "dask",
    "predict",
    "accuracy",
    "accuracy-tuned",
    "calibration",
    "tables",
    "path",
    "regression",
)


class NoTask(ValueError):
    """No task has the name that was asked for."""


def find(name: str) -> Benchmark:
    """Return the benchmark of that name.

    Examples
    --------
    >>> find("one-fit").name
    'one-fit'
    """
    if name not in NAMES:
        raise ValueError(f"There is no benchmark {name!r}; there are {', '.join(NAMES)}.")
    found: Benchmark = import_module(f"{__name__}.{name.replace('-', '_')}").BENCHMARK
    return found


def run(
    name: str,
    *,
    quick: bool = False,
    repeats: int | None = None,
    only: str | None = None,
    out: Path | None = None,
    processor: bool = False,
    clock: Callable[[], float] | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Report:
    """Run a benchmark and return its report; with ``out``, it is written there after every task.

    What is finished of an interrupted run stays in the folder, and the same call goes on from there. So
    several processes can share the work: each measures ``only`` some tasks, and a call for all of them then
    finds these finished and writes the report.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    quick : bool
        Reduced sizes, in seconds: to try the code, not to quote.
    repeats : int, optional
        Turns of every contestant but the slowest; 3 by default, 1 where quick.
    only : str, optional
        Measure the tasks with this in their names, and write no report.
    out : Path, optional
        The folder for NAME.json, or NAME-quick.json, and the picture if there is one.
    processor : bool
        Count the seconds of processors, of this process and its children, instead of those on the wall: for
        a machine that others use too.
    clock, tell : callables
        What tells the time, and what takes lines about the progress.
    """
    from ..experiments.drawing import picture_files
    from ..experiments.pieces import Pieces
    from ..experiments.writing import write_files
    from .machine import processor_seconds
    from .measure import Entry, measure_task
    from .memory import AT_HAND
    from .report import Report

    benchmark = find(name)
    repeats = repeats or (1 if quick else 3)
    clock = clock or (processor_seconds if processor else time.perf_counter)
    report = Report(benchmark.name, benchmark.question, quick, repeats, processor)
    if out is not None:
        out.mkdir(
            parents=True, exist_ok=True
        )  # a folder that cannot be made is known before the hours of work
    pieces = Pieces(None if out is None else out / f".{name}-unfinished")

    def measured(task: Task) -> dict[str, np.ndarray]:
        memory = 0 if quick or processor else AT_HAND
        entries = measure_task(task, repeats, memory=memory, clock=clock, tell=tell)
        return {"entries": np.array(json.dumps([asdict(entry) for entry in entries]))}

    names = []
    for place, task in enumerate(benchmark.tasks(quick)):  # sizes of one set share a name
        names.append(task.name)
        if only is not None and only.lower() not in task.name.lower():
            continue
        key = f"{quick} {repeats} {place} {task.name}" + (", processors" if processor else "")
        kept = pieces.get(key, partial(measured, task))["entries"]
        report.entries.extend(Entry(**row) for row in json.loads(str(kept)))
        report.conclusions = benchmark.conclude(report.entries)
        if out is not None and only is None:
            report.write(out)
    if only is not None:
        if not report.entries:
            raise NoTask(f"No task of {name} has {only!r} in its name; there are {', '.join(names)}.")
        return report
    if out is not None and benchmark.draw is not None:
        png = f"{report.stem}.png"
        write_files(out, {png: picture_files(benchmark.draw(report.entries), report.stem)[png]})
    pieces.clear()
    return report
