"""Timing: the contestants of a task take turns, so that drifts of the machine hit all of them alike."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, TypeAlias

from .memory import TooLong, bring_to_hand, in_child

#: What is known of a model besides its time: a test error, a certified gap, …
Facts: TypeAlias = Mapping[str, float | str]
#: What is known of every step of a model, for the file and a picture; None where something is not known.
Series: TypeAlias = Mapping[str, Sequence[float | None]]


def _no_facts(model: Any, data: Any) -> Facts:
    return {}


def _no_series(model: Any, data: Any) -> Series:
    return {}


def _ready() -> None:
    return None


def _unchanged(data: Any) -> Any:
    return data


@dataclass(frozen=True)
class Contestant:
    """One way to do a task.

    Parameters
    ----------
    name : str
    run : callable, data → model
        What is timed.
    judge : callable, (model, data) → facts
        Outside the clock, on the model of the last turn.
    prepare : callable, data → data
        Outside the clock, before every turn.
    needs : callable
        Raises ImportError, with what to install, where something optional is missing.
    repeats : int, optional
        At most so many turns, for one that takes minutes.
    target : float, optional
        The ratio to our time that is wanted at least.
    isolated : bool
        Take every turn in a fresh process, and report its peak memory. All of the above must be picklable.
    longest : float, optional
        End a turn after so many times our own, and report that it took longer; for those that are isolated.
    trace : callable, (model, data) → series
        What ``judge`` would tell of every step, too much for a table; not of one that is isolated.
    """

    name: str
    run: Callable[[Any], Any]
    judge: Callable[[Any, Any], Facts] = _no_facts
    prepare: Callable[[Any], Any] = _unchanged
    needs: Callable[[], object] = _ready
    repeats: int | None = None
    target: float | None = None
    isolated: bool = False
    longest: float | None = None
    trace: Callable[[Any, Any], Series] = _no_series


@dataclass(frozen=True)
class Task:
    """What the contestants do: ``data`` on the clock, ``small`` before it to warm up.

    The first contestant is ours. ``slack`` is by how much its test error may exceed that of a rival with a
    target. So many bytes of ``memory`` are at hand in the process of one that has its own.
    """

    name: str
    data: Any
    small: Any
    contestants: Sequence[Contestant]
    slack: float | None = None
    memory: int = 0


@dataclass(frozen=True)
class Entry:
    """A row of the table: what one contestant did in one task.

    ``ratios`` are its times over ours in the same rounds; there are none for ours. Without ``seconds``, the
    contestant took no turn, and ``note`` says why.
    """

    task: str
    contestant: str
    seconds: tuple[float, ...] = ()
    warm_up: float | None = None
    ratios: tuple[float, ...] = ()
    target: float | None = None
    met: bool | None = None
    facts: Facts = field(default_factory=dict)
    note: str = ""
    failed: bool = False
    series: Series = field(default_factory=dict)

    @property
    def median(self) -> float | None:
        """Median time."""
        return median(self.seconds) if self.seconds else None

    @property
    def ratio(self) -> float | None:
        """Median of the ratios to our time."""
        return median(self.ratios) if self.ratios else None


def _no_conclusions(entries: Sequence[Entry]) -> Facts:
    return {}


@dataclass(frozen=True)
class Benchmark:
    """A question, the tasks that answer it, and what follows from all their entries together.

    ``draw`` makes a figure of the entries.
    """

    name: str
    question: str
    tasks: Callable[[bool], Iterable[Task]]
    conclude: Callable[[Sequence[Entry]], Facts] = _no_conclusions
    draw: Callable[[Sequence[Entry]], Any] | None = None


def measure_task(
    task: Task,
    repeats: int = 3,
    *,
    memory: int = 0,
    clock: Callable[[], float] = time.perf_counter,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Entry]:
    """Warm all contestants up, let them take turns, and return an entry for each.

    So many bytes of memory are at hand for everyone's turn, but for those in a process of their own.

    Examples
    --------
    >>> ticks = iter(range(100))
    >>> pair = [Contestant("ours", lambda data: None), Contestant("theirs", lambda data: None)]
    >>> [entry.ratio for entry in measure_task(Task("nothing", 0, 0, pair), clock=lambda: next(ticks))]
    [None, 1.0]
    """
    turns = [_Turns(contestant, task, repeats, memory, clock) for contestant in task.contestants]
    for turn in turns:
        turn.warm_up()
    for number in range(repeats):
        for turn in turns:
            if turn.wanted(number):
                turn.take(number, turns[0].seconds.get(number))
                tell(f"{task.name}, round {number + 1}: {turn.said}")
    return [turn.entry(turns[0]) for turn in turns]


class _Turns:
    """The turns of one contestant."""

    def __init__(
        self, contestant: Contestant, task: Task, repeats: int, memory: int, clock: Callable[[], float]
    ) -> None:
        self.contestant, self.task, self.memory, self.clock = contestant, task, memory, clock
        self.planned = min(repeats, contestant.repeats or repeats)
        self.seconds: dict[int, float] = {}
        self.warmed: float | None = None
        self.facts: Facts = {}
        self.series: Series = {}
        self.note = f"{self.planned} of {repeats} rounds" if self.planned < repeats else ""
        self.out = self.failed = False

    @property
    def said(self) -> str:
        """A line about the last turn."""
        took = f"{list(self.seconds.values())[-1]:.2f} s" if self.seconds and not self.out else self.note
        return f"{self.contestant.name}: {took}"

    def wanted(self, number: int) -> bool:
        """Whether the contestant takes part in that round."""
        return number < self.planned and not self.out

    def warm_up(self) -> None:
        """Run on the small data: imports, compilation, worker processes."""
        try:
            self.contestant.needs()
        except ImportError as missing:
            self.out, self.note = True, f"left out: {missing}"
            return
        if not self.contestant.isolated:  # a fresh process has to warm up by itself
            self._attempt(lambda: self._set_warm(self._timed(self.task.small)[0]))

    def take(self, number: int, ours: float | None = None) -> None:
        """Run once on the data; the last model is judged. Ours took so long in that round."""
        longest = self.contestant.longest
        limit = None if ours is None or longest is None else longest * ours
        self._attempt(lambda: self._run(number, limit))

    def entry(self, ours: _Turns) -> Entry:
        """Return what came of it, compared with ours."""
        shared = [r for r in self.seconds if r in ours.seconds and self is not ours]
        ratios = tuple(self.seconds[r] / ours.seconds[r] for r in shared)
        return Entry(
            task=self.task.name,
            contestant=self.contestant.name,
            seconds=tuple(self.seconds.values()),
            warm_up=self.warmed,
            ratios=ratios,
            target=self.contestant.target,
            met=self._met(ratios, ours),
            facts=self.facts,
            note=self.note,
            failed=self.failed,
            series=self.series,
        )

    def _met(self, ratios: Sequence[float], ours: _Turns) -> bool | None:
        if self.contestant.target is None or not ratios:
            return None
        errors = [turns.facts.get("test error") for turns in (ours, self)]
        worse = float(errors[0] or 0) - float(errors[1] or 0) if None not in errors else 0.0
        return median(ratios) >= self.contestant.target and worse <= (self.task.slack or float("inf"))

    def _run(self, number: int, limit: float | None) -> None:
        last = number + 1 == self.planned
        if self.contestant.isolated:
            try:
                turn = in_child(self.contestant, self.task, limit)
            except TooLong as error:
                self.seconds[number], self.note = float(limit or 0), str(error)
                return
            self.seconds[number], self.warmed, self.facts = turn.seconds, turn.warm_up, turn.facts
            return
        self.seconds[number], facts = self._timed(self.task.data, judged=last)
        self.facts = facts or self.facts

    def _timed(self, data: Any, judged: bool = False) -> tuple[float, Facts]:
        data = self.contestant.prepare(data)
        gc.collect()  # what others left is not to be freed on this contestant's time
        bring_to_hand(self.memory)
        begin = self.clock()
        model = self.contestant.run(data)
        seconds = self.clock() - begin
        facts = self.contestant.judge(model, data) if judged else {}
        self.series = self.contestant.trace(model, data) if judged else {}
        return seconds, facts

    def _attempt(self, work: Callable[[], None]) -> None:
        """Keep the turns of the others where one fails."""
        try:
            work()
        except Exception as error:
            self.out = self.failed = True
            self.note = f"failed: {type(error).__name__}: {error}"

    def _set_warm(self, seconds: float) -> None:
        self.warmed = seconds
