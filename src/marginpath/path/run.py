"""The loop. There is one, and it owns the clock, the interruption and the end of a run."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from ..arrays import Array, is_numpy, to_numpy
from ..parallel import one_blas_thread, until
from ..problem import Problem
from ..solvers.base import Solver, State
from .models import ModelHistory
from .observed import Observe, as_observers
from .path import Path, Status, advance

#: (problem, state, path) → which columns are done, shape () or (k,).
Rule: TypeAlias = Callable[[Problem, State, Path], Array]
#: (problem, state, path) → true to end the run.
Callback: TypeAlias = Callable[[Problem, State, Path], Any]

#: What a problem must share with the one that a path was run on.
_PARTS = {
    "shape": "shape of y",
    "dtype": "dtype",
    "labels": "labels or weights",
    "data": "samples or the kernel matrix",
    "kernel": "kernel",
}


def run(
    solver: Solver[Any],
    problem: Problem,
    steps: int,
    *,
    observe: Observe = (),
    every: int = 1,
    stop: Rule | None = None,
    callbacks: Sequence[Callback] = (),
    time_limit: float | None = None,
    keep: int = 2**26,
    models: bool | np.ndarray = False,
    start: Array | None = None,
) -> Path:
    """Run a solver and return the path it took.

    Parameters
    ----------
    solver, problem
        What to run on what.
    steps : int
        Number of updates.
    observe : names, callables (problem, state) → number a column, or a mapping of names to them
        What to record. The names are the keys of ``marginpath.metrics.METRICS``.
    every : int
        Record at multiples of this; the start and the end are always recorded.
    stop : callable (problem, state, path) → mask, optional
        Asked at every recorded step; a column for which it is true is finished: it keeps its state and
        leaves the product.
    callbacks : callables (problem, state, path)
        Called at every recorded step; a true answer ends the run.
    time_limit : float, optional
        Seconds of wall time after which the run ends: in the midst of a step of :class:`SolutionPath`, which
        then does not count, and after the step at hand of the other solvers. The first step always counts;
        whether it is a solution, its duality gap tells, the metric ``"gap"``.
    keep : int
        Bytes for intermediate states; what was not kept can be replayed.
    models : bool or array of int
        Keep the dual vector of every recorded step, packed, in ``path.models``; or these columns of it.
    start : array of the shape of y, optional
        Where to start; u = 0 by default.

    Returns
    -------
    Path
        Ctrl-C ends the run with the path so far; a second one raises.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> data = mp.datasets.toy()
    >>> problem = mp.Problem(mp.Gram.linear(data.X), data.y)
    >>> solver = mp.DualDescent(mp.PowerDecay(4.0), momentum=mp.Inertia(30))
    >>> path = mp.run(solver, problem, steps=1000, observe=["margin"], every=500)
    >>> path["margin"].round(6)
    array([0.      , 1.413828, 1.414214])
    """
    _require_count("steps", steps, 0)
    _require_count("every", every, 1)
    _require_count("keep", keep, 0)
    if not (stop is None or callable(stop)):
        raise TypeError(f"stop must be a rule such as CertifiedMargin(1e-3), got {stop!r}.")
    observers = as_observers(observe)
    problem.check_range()
    if problem.intercept and not getattr(solver, "fits_intercept", False):
        raise ValueError(
            f"{type(solver).__name__} knows no intercept that is not penalized. Use SolutionPath, or a "
            f"problem without one on a kernel plus a constant."
        )
    state = solver.init(problem, start)
    path = Path(
        solver=solver,
        observers=observers,
        every=every,
        keep=keep,
        fingerprint=problem.fingerprint(),
        last=state,
        stop_steps=np.full(problem.shape[1:], -1, dtype=np.int64),
        models=_history(models),
    )
    path.retain(state)
    path.record(problem, state, 0.0)
    return _continue(path, problem, steps, stop, callbacks, time_limit)


def resume(
    path: Path,
    problem: Problem,
    steps: int,
    *,
    observe: Observe | None = None,
    stop: Rule | None = None,
    callbacks: Sequence[Callback] = (),
    time_limit: float | None = None,
) -> Path:
    """Continue a path by ``steps`` more updates, as if it had never stopped, and return the longer one.

    Parameters
    ----------
    path : Path
        It is not changed. What it observed and kept is continued; an exact solution at its end is left out.
    problem : Problem
        The one that the path was run on; another is refused. Labels, weights, samples (or the kernel matrix,
        where that was given) and the settings of the kernel must be the same bit for bit, and the dtype too;
        where and how the matrix is stored may change. Of a kernel that is a function, name and a few rows
        are compared.
    observe : optional
        Needed after loading where the path observed by plain callables; by default what it observed.
    stop, callbacks, time_limit
        As in :func:`run`; pass the same ones again. Columns that a rule finished stay finished.
    """
    _require_count("steps", steps, 0)
    _check_fingerprint(path.fingerprint, problem.fingerprint())
    path = path.copy()
    if observe is not None:
        path.observers = as_observers(observe)
    missing = set(path.rows) - set(path.observers) - {"step", "seconds"}
    extra = set(path.observers) - set(path.rows)
    if missing or extra:
        raise ValueError(
            f"A path goes on observing what it observed: pass observe= with "
            f"{', '.join(sorted(set(path.rows) - {'step', 'seconds'}))}."
        )
    path.last = _onto(problem, path.last)
    path.kept = {t: _onto(problem, state) for t, state in path.kept.items()}
    if path.end > path.last.t:  # an exact solution is no step of the solver
        path.drop()
    if path.last.t % path.every:  # the recorded end was no multiple of every: it is no end any more
        path.drop()
    return _continue(path, problem, steps, stop, callbacks, time_limit)


def _continue(
    path: Path,
    problem: Problem,
    steps: int,
    stop: Rule | None,
    callbacks: Sequence[Callback],
    time_limit: float | None,
) -> Path:
    end = path.last.t + steps
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    path.ended = Status.STEPS
    with _interruptible() as interrupted, one_blas_thread(), until(deadline) as cut:
        try:
            while path.last.t < end and path.running().any():
                begin = time.perf_counter()
                state = advance(path.solver, problem, path.last, path.running())
                path.seconds += time.perf_counter() - begin
                if cut.is_set() and path.last.t > 0:  # no solution: one that is resumed takes it again
                    path.ended = Status.TIME_LIMIT
                    break
                path.last = state
                path.retain(state)
                if state.t % path.every == 0:
                    path.record(problem, state, path.seconds)
                    _apply_rule(stop, problem, path)
                    if max([bool(callback(problem, state, path)) for callback in callbacks], default=False):
                        path.ended = Status.CALLBACK
                        break
                if interrupted.is_set():
                    raise KeyboardInterrupt
                if time.monotonic() >= deadline:
                    path.ended = Status.TIME_LIMIT
                    break
        except KeyboardInterrupt:
            path.ended = Status.INTERRUPTED
    if path.rows["step"][-1] != path.last.t:
        path.record(problem, path.last, path.seconds)
    return path


def _apply_rule(stop: Rule | None, problem: Problem, path: Path) -> None:
    if stop is None:
        return
    done = to_numpy(stop(problem, path.last, path)).astype(bool)
    path.stop_steps = np.where(path.running() & done, path.last.t, path.stop_steps)


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Let the first Ctrl-C finish the step at hand, and the second raise; elsewhere change nothing."""
    flag = threading.Event()
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield flag
        return

    def handler(signum: int, frame: object) -> None:
        if flag.is_set():
            raise KeyboardInterrupt
        flag.set()

    signal.signal(signal.SIGINT, handler)
    try:
        yield flag
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _onto(problem: Problem, state: State) -> State:
    """Bring a loaded state (NumPy arrays) to the arrays of the problem."""
    if is_numpy(problem.Y) or not is_numpy(state.u):
        return state
    gram = problem.gram
    moved = {n: gram.xp.asarray(x, device=gram.device) for n, x in state.arrays().items()}
    return replace(state, **moved)


def _check_fingerprint(stored: dict[str, Any], given: dict[str, Any]) -> None:
    for key, what in _PARTS.items():
        if stored.get(key) != given[key]:
            raise ValueError(f"This path belongs to another problem: the {what} differ(s).")
    if (rows := given["probe"]) is None:
        return
    # Rows of a kernel that is a function: their last digits depend on how they were computed.
    tolerance = 1e-4 if given["dtype"] == "float32" else 1e-9
    if not np.allclose(stored["probe"], rows, rtol=tolerance, atol=tolerance * np.max(np.abs(rows))):
        raise ValueError("This path belongs to another problem: the values of the kernel differ.")


def _history(models: bool | np.ndarray) -> ModelHistory | None:
    if isinstance(models, bool):
        return ModelHistory() if models else None
    columns = np.asarray(models)
    if columns.ndim != 1 or columns.dtype.kind not in "iu":
        raise ValueError(f"models must be True, False or the numbers of the columns to keep, got {models!r}.")
    return ModelHistory(columns)


def _require_count(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
