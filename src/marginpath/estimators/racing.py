"""The race of widths of a classifier: its folds, weights and time limit on all rows and on a part of them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from ..arrays import blocks
from ..gram.base import Gram
from ..parallel import QUICK, available, for_all
from ..validation.race import MOST, Race, part_of_rows, race_widths, side_by_side
from ..validation.short_path import ShortPath
from .path_fit import Follower

#: Rows of the part from which on a short path of all rows costs more than it saves: long steps on many rows
#: are no faster than short ones.
ENOUGH = 2000
#: (width, work on its Gram matrix) → what the work returns.
OnWidth: TypeAlias = Callable[[float, Callable[[Gram], Any]], Any]


def race_of(
    follower: Follower,
    sigmas: np.ndarray,
    on_all: OnWidth,
    on_rows: Callable[[np.ndarray], OnWidth],
    by_threads: bool,
) -> tuple[Race, ShortPath | None]:
    """Let widths race by the rule of :mod:`marginpath.validation.race`.

    Where nothing was learned from a part of the rows, all of them tell. Return it with the short path of the
    winner on all rows, if it had one. A time limit leaves two thirds of the time to the winner. Of classes
    that are rare, the winner's path warns. Threads may work on widths side by side, where these say so.
    """
    choice: Any = follower.choice
    if follower.deadline is not None:
        now = time.monotonic()
        follower = replace(follower, deadline=now + (follower.deadline - now) / 3)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Fewer than", UserWarning)
        held_out = choice.held_out(follower)
        rows = part_of_rows(follower.y, held_out, follower.fit_weight, follower.seed)
        n = len(follower.y)
        everything = side_by_side(np.arange(n), follower.y, held_out) if n <= QUICK else np.arange(n)
        on_everything = on_rows(everything) if n <= QUICK else on_all
        whole = part = Heat(on_everything, follower.on(everything, held_out), QUICK * by_threads)
        if len(rows) < n:
            rows = side_by_side(rows, follower.y, held_out)
            part = Heat(on_rows(rows), follower.on(rows, held_out), MOST * by_threads)
        race = race_widths(sigmas, part, n / len(rows), ahead=part.run)
        if len(rows) < ENOUGH:
            if not part.has_learned:
                again = race_widths(sigmas, whole, ahead=whole.run)
                race = again if again.scored >= race.scored else race  # else there was no time for it
            whole(float(sigmas[race.winner]))
    return race, whole.paths.get(float(sigmas[race.winner]))


class Heat:
    """The short paths of widths on the same rows, each run once, and by threads side by side.

    These share rows up to so many: as many matrices as threads are there at a time, and where rows are a part
    of all, there is room for that. A scoring is Python, of which one thread at a time runs, and what it warns
    of is caught for all threads at once. What was run ahead and is not asked for counts nowhere: a race does
    not depend on how many threads it has.
    """

    def __init__(self, on_width: OnWidth, fit: Follower, shared: int) -> None:
        choice: Any = fit.choice
        self.on_width, self.fit, self.ready = on_width, fit, choice.shorts(fit)
        self.is_shared = len(fit.y) <= shared and fit.deadline is choice.classifier.scoring is None
        self.paths: dict[float, ShortPath] = {}

    def __call__(self, sigma: float) -> float:
        """Return the score of a width, NaN where there is no time for it."""
        if sigma not in self.paths and not self.fit.late:
            self._run([sigma])
        return self.paths[sigma].score if sigma in self.paths else np.nan

    @property
    def has_learned(self) -> bool:
        """Whether any width is better than one class for all samples, beyond chance."""
        return any(path.has_learned for path in self.paths.values())

    def run(self, sigmas: list[float]) -> None:
        """Run the short paths of these widths, where there are threads for them, room, and time."""
        new, workers = [sigma for sigma in sigmas if sigma not in self.paths], available()
        if min(len(new), workers) > 1 and self.is_shared:
            for first, last in blocks(len(new), workers):
                self._run(new[first:last])

    def _run(self, sigmas: list[float], ready: tuple[Callable[[], ShortPath], ...] = ()) -> ShortPath:
        """Run them side by side; return the last, as whoever made its matrix asks if that was fine enough.

        Python makes all of them ready before, as one thread at a time runs it.
        """
        if len(ready) < len(sigmas):
            path: ShortPath = self.on_width(
                sigmas[len(ready)], lambda gram: self._run(sigmas, (*ready, self.ready(gram)))
            )
            return path
        tasks = zip(sigmas, ready, strict=True)
        for_all(lambda task: self.paths.update({task[0]: task[1]()}), tasks, len(sigmas))
        return self.paths[sigmas[-1]]


def width_results(race: Race) -> dict[str, np.ndarray]:
    """Return what became of every width in a race, by name.

    Examples
    --------
    >>> race = Race(np.array([0.5, 1.0, 2.0]), np.array([0.8, np.nan, 0.7]), winner=0)
    >>> width_results(race)["param_gamma"], width_results(race)["chosen"]
    (array([2.   , 0.5  , 0.125]), array([ True, False, False]))
    """
    return {
        "param_gamma": 1 / (2 * race.sigmas**2),
        "score": race.scores,
        "chosen": np.arange(len(race.sigmas)) == race.winner,
    }
