"""How fast each method reaches the maximum margin: the proved rates beside measured ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import marginpath as mp

from .drawing import picture_files
from .methods import BY_NAME, Method
from .problems import PROBLEMS, Separable, separable
from .rates_page import curves_csv, markdown, printed, rows_csv
from .rates_picture import draw
from .trajectories import FLOOR, Law, fitted_law, reached

__all__ = ["Curve", "Rates", "Row", "compute", "draw", "files", "printed"]

STEPS = 10_000
TARGETS = (1e-2, 1e-4, 1e-6)
_PATIENCE = 200  # updates with nothing left to measure, after which a run ends
_POINTS = 30  # a decade, of a curve


@dataclass(frozen=True)
class Row:
    """What was measured of one method on one problem.

    Attributes
    ----------
    gaps : dict
        Updates → the margin gap after them.
    updates, seconds : dict
        Target → when the gap is at most that for good; None if never.
    law : Law, optional
        The fitted rate; None where the method was done too soon for a fit.
    done : int, optional
        Updates until the gap is below the precision of the exact margin.
    """

    problem: str
    method: str
    gaps: dict[int, float]
    updates: dict[float, int | None]
    seconds: dict[float, float | None]
    law: Law | None
    done: int | None


@dataclass(frozen=True, eq=False)
class Curve:
    """The margin gap along a run, at updates evenly spaced in their logarithm.

    A gap is the largest since the update before, so that swings show as they are and not by chance.
    """

    problem: str
    method: str
    updates: np.ndarray
    gaps: np.ndarray
    seconds: np.ndarray


@dataclass(frozen=True, eq=False)
class Rates:
    """The table: a row and a curve for every method on every problem."""

    problems: tuple[Separable, ...]
    methods: tuple[Method, ...]
    steps: int
    rows: list[Row] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)

    def ranked(self, problem: str) -> list[Row]:
        """Return the rows of a problem, the largest gap at the end first."""
        rows = [row for row in self.rows if row.problem == problem]
        return sorted(rows, key=lambda row: (-row.gaps[self.steps], -(row.done or 0)))


def compute(
    problems: Sequence[str] = tuple(PROBLEMS),
    methods: Sequence[str] = tuple(BY_NAME),
    steps: int = STEPS,
    watch: Callable[[str], Any] = lambda text: None,
) -> Rates:
    """Run every method on every problem and measure its margin gap after every update.

    Parameters
    ----------
    problems, methods : names
        Keys of ``PROBLEMS`` and of ``BY_NAME``.
    steps : int
        Updates of each method.
    watch : callable
        Told what is being run.
    """
    unknown = [name for name in methods if name not in BY_NAME]
    if unknown:
        raise ValueError(f"There is no method {unknown[0]!r}; there are {'; '.join(BY_NAME)}.")
    with threadpool_limits(1, user_api="blas"):  # products this small do not gain from threads
        watch("exact maximum margins")
        solved = tuple(separable(name) for name in problems)
        table = Rates(solved, tuple(BY_NAME[name] for name in methods), steps)
        for known in solved:
            for method in table.methods:
                watch(f"{known.name}: {method.name}")
                row, curve = _measure(known, method, steps)
                table.rows.append(row)
                table.curves.append(curve)
    return table


def files(table: Rates) -> dict[str, bytes]:
    """Return the tables, the picture and the pieces of a page, by name of file."""
    text = {
        "rates.csv": rows_csv(table),
        "rates_curves.csv": curves_csv(table),
        "rates.md": markdown(table),
    }
    return {name: content.encode() for name, content in text.items()} | picture_files(draw(table), "rates")


def _measure(known: Separable, method: Method, steps: int) -> tuple[Row, Curve]:
    solver = method.solver(known.size)
    mp.run(solver, known.problem, steps=2, keep=0)  # what is compiled is compiled before the clock runs
    path = mp.run(
        solver,
        known.problem,
        steps,
        observe={"gap": lambda problem, state: known.margin - mp.metrics.margin(problem, state)},
        stop=_nothing_left,
        keep=0,
    )
    if path.ended is mp.Status.INTERRUPTED:
        raise KeyboardInterrupt
    gaps, seconds = np.maximum(path["gap"], FLOOR), path["seconds"]
    when = {target: reached(gaps, target) for target in TARGETS}
    row = Row(
        problem=known.name,
        method=method.name,
        gaps={t: float(gaps[min(t, len(gaps) - 1)]) for t in _milestones(steps)},
        updates=when,
        seconds={target: None if t is None else float(seconds[t]) for target, t in when.items()},
        law=fitted_law(gaps),
        done=reached(gaps, FLOOR),
    )
    return row, _thinned(known.name, method.name, gaps, seconds)


def _nothing_left(problem: mp.Problem, state: mp.State, path: mp.Path) -> np.ndarray:
    """Stop when the gap has been at the floor for a while."""
    recent = path.rows["gap"][-_PATIENCE:]
    return np.asarray(recent[0] <= FLOOR and max(recent) <= FLOOR)


def _milestones(steps: int) -> list[int]:
    return [t for t in (100, 1_000) if t < steps] + [steps]


def _thinned(problem: str, method: str, gaps: np.ndarray, seconds: np.ndarray) -> Curve:
    last = len(gaps) - 1
    count = max(2, round(_POINTS * np.log10(last)))
    t = np.unique(np.geomspace(1, last, count).round().astype(int))
    largest = np.maximum.reduceat(gaps, np.append(1, t[:-1] + 1))
    return Curve(problem, method, t, largest, seconds[t])
