"""From the callbacks of :func:`run` to those of scikit-learn, and to a line a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np

from ..path.path import Path
from ..path.run import Callback
from ..problem import Problem
from ..solvers.base import State

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9 has none

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: this scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method


__all__ = ["WATCHERS", "CallbackSupportMixin", "Progress", "StepCallbacks", "watched", "with_callbacks"]

#: The callbacks that watch the fits here.
WATCHERS: ContextVar[tuple[Callback, ...]] = ContextVar("watchers", default=())


@contextmanager
def watched(callback: Callback) -> Iterator[None]:
    """Let a callback of :func:`run` see every step of the fits inside, on all scikit-learn versions.

    Nothing of it stays in the classifiers.

    Examples
    --------
    >>> import marginpath as mp
    >>> from marginpath.estimators import watched
    >>> from sklearn.datasets import load_iris
    >>> clf = mp.MarginPathClassifier(stopping=None, max_iter=2)
    >>> with watched(lambda problem, state, path: print("step", state.t)):
    ...     clf = clf.fit(*load_iris(return_X_y=True))
    step 1
    step 2
    """
    token = WATCHERS.set((*WATCHERS.get(), callback))
    try:
        yield
    finally:
        WATCHERS.reset(token)


class StepCallbacks:
    """Tell scikit-learn's callbacks of every step of a run; one of them may end it.

    Parameters
    ----------
    estimator : estimator
        The one that is being fitted.
    fitted : callable (steps) → dict
        What makes it ready to predict as it stands after that many steps.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, fitted: Callable[[int], dict[str, Any]]) -> None:
        self.estimator, self.data, self.fitted = estimator, {"X": X, "y": y}, fitted
        init = getattr(estimator, "_init_callback_context", None)
        self.context = None if init is None else init(max_subtasks=None)
        if self.context is not None:
            self.context.call_on_fit_task_begin(estimator=estimator, **self.data)

    def __call__(self, problem: Problem, state: State, path: Path) -> bool:
        """Report a step as a task of the fit; return whether to stop."""
        if self.context is None:
            return False
        task = self.context.subcontext(task_name="step")
        task.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return self._end(task, state.t)

    def finish(self, steps: int) -> None:
        """End the task of the fit."""
        if self.context is not None:
            self._end(self.context, steps)

    def _end(self, task: Any, steps: int) -> bool:
        stop = task.call_on_fit_task_end(
            estimator=self.estimator,
            reconstruction_attributes=partial(self.fitted, steps),
            **self.data,
        )
        return bool(stop)


class Progress:
    """Print a line for every step: where the path is, and how well it does."""

    def __call__(self, problem: Problem, state: State, path: Path) -> None:
        """Print the last row of the path."""
        score = f", score {np.mean(path.rows.at('scores', -1)):.4f}" if "scores" in path.rows else ""
        lower, upper = np.min(path.rows.at("estimated_margin_bounds", -1), axis=1)
        C = float(np.max(path.rows.at("bound", -1)))
        print(f"[marginpath] step {state.t}: C = {C:.4g}{score}, margin about {lower:.4g} … {upper:.4g}")
