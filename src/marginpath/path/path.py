"""The path: the one history of a run, and nothing of the data."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from ..arrays import Array, to_numpy
from ..extras import require
from ..files.objects import load, pack, save
from ..files.records import register
from ..metrics import METRICS, Metric
from ..problem import Problem
from ..solvers.base import Solver, State
from .models import ModelHistory
from .observed import Rows


@register
class Status(StrEnum):
    """Why a column of a path ended: a word, with a sentence behind it."""

    STEPS = "steps"
    STOPPED = "stopped"
    CALLBACK = "callback"
    TIME_LIMIT = "time_limit"
    INTERRUPTED = "interrupted"

    @property
    def sentence(self) -> str:
        """What the word means."""
        return {
            Status.STEPS: "All the steps that were asked for are done.",
            Status.STOPPED: "The stopping rule was met.",
            Status.CALLBACK: "A callback asked to stop.",
            Status.TIME_LIMIT: "The time limit was reached.",
            Status.INTERRUPTED: "The run was interrupted; the path so far is complete.",
        }[self]


@register
@dataclass(frozen=True)
class NotSaved:
    """Stands in a file for a solver that no file can hold."""


@register
@dataclass(repr=False)
class Path:
    """What a run left: observed numbers, models, kept states, the last state, a status for each column.

    ``path.steps`` are the observed steps (0 is the start), ``path[name]`` the values observed there, of
    shape (len(steps),) or (len(steps), k), ``path.models`` the dual vectors there, if they were to be kept.
    ``path.last`` is where the solver stands. A path does not own the data.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> problem = mp.Problem(mp.Gram.linear(np.array([[1.0], [-2.0]])), [1, -1])
    >>> path = mp.run(mp.DualDescent(mp.PowerDecay(1.0)), problem, steps=3, observe=["margin"])
    >>> path.steps, path.status.value
    (array([0, 1, 2, 3]), 'steps')
    >>> path["margin"]
    array([0., 1., 1., 1.])
    """

    solver: Solver[Any]
    observers: dict[str, Metric]
    every: int
    keep: int
    fingerprint: dict[str, Any]
    last: State
    stop_steps: np.ndarray  # the step at which a column was stopped; -1 while it runs
    ended: Status = Status.STEPS
    seconds: float = 0.0
    stride: int = 1
    kept: dict[int, State] = field(default_factory=dict)
    rows: Rows = field(default_factory=Rows)
    models: ModelHistory | None = None

    def __post_init__(self) -> None:
        lengths = {len(values) for values in dict.values(self.rows)}
        states = [self.last, *self.kept.values()]
        if (
            min(self.every, self.stride, self.keep + 1) < 1
            or len(lengths) > 1
            or (self.models is not None and self.models.steps != dict.get(self.rows, "step", []))
            or any(state.column_shape != self.stop_steps.shape for state in states)
            or any(t != state.t for t, state in self.kept.items())
        ):
            raise ValueError("The parts of this path do not belong together.")

    @property
    def steps(self) -> np.ndarray:
        """The steps at which the path was observed."""
        return np.asarray(self.rows["step"], dtype=np.int64)

    @property
    def end(self) -> int:
        """The last step: where the solver stands, or the exact solution behind it."""
        return max(self.last.t, int(self.rows["step"][-1]))

    def __repr__(self) -> str:
        """Say where the path stands, not all that it holds."""
        shape = "" if self.stop_steps.ndim == 0 else f", {len(self.stop_steps)} columns"
        ended = Status(self.ended).value
        return f"<Path of {type(self.solver).__name__}: {self.end} steps{shape}, {ended}>"

    def __getitem__(self, name: str) -> np.ndarray:
        """Return what was observed under that name, or ``"seconds"``, the time spent in steps."""
        if name not in self.rows:
            known = ", ".join(n for n in self.rows if n != "step")
            advice = f" Pass observe=[{name!r}]." if name in METRICS else ""
            raise KeyError(f"{name!r} was not observed; this path has {known}.{advice}")
        return np.asarray(self.rows[name])

    @property
    def status(self) -> Status | tuple[Status, ...]:
        """Why the run ended: one word, or one for each column."""
        words = [Status.STOPPED if s >= 0 else Status(self.ended) for s in self.stop_steps.ravel()]
        return words[0] if self.stop_steps.ndim == 0 else tuple(words)

    def running(self, t: int | None = None) -> np.ndarray:
        """Return which columns take the update after step t (default: the last)."""
        t = self.last.t if t is None else t
        return (self.stop_steps < 0) | (self.stop_steps > t)

    def state(self, t: int, problem: Problem | None = None) -> State:
        """Return the state after t updates: kept, or replayed exactly from the nearest earlier one.

        A replay needs the problem that the path was run on.
        """
        if not 0 <= t <= self.end:
            raise ValueError(f"This path has the steps 0 … {self.end}, not {t}.")
        if t == self.last.t:
            return self.last
        if t > self.last.t:
            return self._finished(problem)
        start = self.kept[max(s for s in self.kept if s <= t)]
        if start.t < t and problem is None:
            raise ValueError(
                f"The state at step {t} was not kept. Pass the problem to replay it from step {start.t}, "
                f"or run with a larger keep= (bytes)."
            )
        state = start
        while state.t < t and problem is not None:
            state = advance(self.solver, problem, state, self.running(state.t))
        return state

    def record(self, problem: Problem, state: State, seconds: float) -> None:
        """Observe a state and keep its model; all its numbers are computed before any is written."""
        row = {name: f(problem, state) for name, f in self.observers.items()}
        row = {name: x if is_array_api_obj(x) else np.asarray(x) for name, x in row.items()}
        if self.models is not None:
            self.models.keep(problem, state)
        self.rows.add({"step": state.t, "seconds": seconds, **row})

    def drop(self) -> None:
        """Forget the last recorded step; the state of the solver stays."""
        self.rows.drop()
        if self.models is not None:
            self.models.drop()

    def finish(self, problem: Problem, u: Array, seconds: float = 0.0) -> int:
        """Record the exact maximum margin as one more step, at 1/λ = ∞, and return which one it is.

        The solver stays where it stands: :func:`resume` goes on from there, without this step.

        Examples
        --------
        >>> import marginpath as mp
        >>> data = mp.datasets.toy()
        >>> problem = mp.Problem(mp.Gram.linear(data.X), data.y)
        >>> path = mp.run(mp.CoordinateDescent(), problem, steps=4, observe=["bound", "margin"])
        >>> path.finish(problem, mp.maximum_margin(problem).u)
        5
        >>> float(path["bound"][-1]), round(float(path["margin"][-1]), 9)
        (inf, 1.414213562)
        """
        state = _exact(problem, self.last.t + 1, u)
        self.record(problem, state, self.seconds + seconds)
        return state.t

    def retain(self, state: State) -> None:
        """Keep a state if its turn has come; over the byte budget, every second kept one goes."""
        if state.t % self.stride:
            return
        self.kept[state.t] = state
        room = max(1, self.keep // max(state.nbytes, 1)) if self.keep else 1
        while len(self.kept) > room:
            self.stride *= 2
            self.kept = {t: s for t, s in self.kept.items() if t % self.stride == 0}

    def copy(self) -> Path:
        """Return a path that can grow without changing this one."""
        return replace(
            self,
            kept=dict(self.kept),
            rows=self.rows.copy(),
            models=None if self.models is None else self.models.copy(),
            stop_steps=self.stop_steps.copy(),
        )

    def without(self, name: str) -> Path:
        """Return a path that has forgotten what it observed under that name."""
        path = self.copy()
        path.rows.pop(name, None)
        path.observers = {other: metric for other, metric in self.observers.items() if other != name}
        return path

    def to_frame(self) -> Any:
        """Return the observed numbers as a tidy pandas DataFrame: a row a step, or a step and column."""
        pd = require("pandas", extra="frame", what="Frames")
        shape = (len(self.steps), *self.stop_steps.shape)
        table = {}
        if self.stop_steps.ndim:
            table["column"] = np.broadcast_to(np.arange(shape[1]), shape).ravel()
        for name in self._scalars():
            table[name] = np.broadcast_to(np.asarray(self.rows[name]).T, shape[::-1]).T.ravel()
        return pd.DataFrame(table).set_index("step").reset_index()

    def _finished(self, problem: Problem | None) -> State:
        if problem is None or self.models is None:
            raise ValueError(
                f"Step {self.end} is the exact solution, of which the model is kept, and no state. Pass the "
                f"problem, and run with models=True."
            )
        return _exact(problem, self.end, self.models.u(self.end))

    def _scalars(self) -> list[str]:
        """Names of what is one number a step, or one for each column."""
        shapes = (), self.stop_steps.shape
        return [name for name, values in self.rows.items() if np.shape(values[0]) in shapes]

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the path to one npz file that cannot run code when loaded.

        Functions are not in it: neither those that were observed, nor a solver with one among its settings.
        """
        kept = {t: _on_host(state) for t, state in self.kept.items()}
        last = kept.get(self.last.t) or _on_host(self.last)
        solver: Any = self.solver if _can_be_saved(self.solver) else NotSaved()
        models = None if self.models is None else self.models.on_host()
        save(file, replace(self, solver=solver, observers={}, last=last, kept=kept, models=models))

    @classmethod
    def load(cls, file: str | os.PathLike[str], solver: Solver[Any] | None = None) -> Path:
        """Read a saved path.

        Parameters
        ----------
        solver : Solver, optional
            Needed where the solver had a plain callable among its settings, which no file can hold.
        """
        path = load(file, cls)
        if "step" not in path.rows:
            raise ValueError(
                f"{os.fspath(file)} is not a marginpath file, or it is damaged: it has no steps."
            )
        if solver is None and isinstance(path.solver, NotSaved):
            raise ValueError(
                "A plain callable was among the settings, which no file holds: pass solver=… to load."
            )
        path.solver = path.solver if solver is None else solver
        path.observers = {name: METRICS[name] for name in path.rows if name in METRICS}
        return path


def advance(solver: Solver[Any], problem: Problem, state: State, running: np.ndarray) -> State:
    """Take one update of the columns that run; the others stay as they are."""
    if running.all():
        advanced: State = solver.step(problem, state)
        return advanced
    columns = np.flatnonzero(running)
    index = problem.xp.asarray(columns, device=problem.gram.device)
    part = solver.step(problem.columns(index), state.columns(index))
    return state.merge(columns, part)


def _exact(problem: Problem, t: int, u: Array) -> State:
    """Return the state of a solution in float64, as the observers take it."""
    gram = problem.gram
    scores = problem.scores(gram.xp.asarray(u, dtype=gram.dtype, device=gram.device))
    return State(t=t, u=u, scores=scores, bound=problem.box_size(math.inf))


def _on_host(state: State) -> State:
    arrays: Any = {name: to_numpy(x) for name, x in state.arrays().items()}
    return replace(state, **arrays)


def _can_be_saved(solver: Any) -> bool:
    try:
        pack(solver)
    except TypeError:
        return False
    return True
