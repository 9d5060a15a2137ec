"""The race of widths of a classifier: its folds, weights and time limit on all rows and on a part of them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from ..gram.base import Gram
from ..validation.race import ENOUGH, Race, ShortPath, part_of_rows, race_widths
from .path_fit import Follower

#: (width, work on its Gram matrix) → what the work returns.
OnWidth: TypeAlias = Callable[[float, Callable[[Gram], Any]], Any]


def race_of(
    follower: Follower, sigmas: np.ndarray, on_all: OnWidth, on_rows: Callable[[np.ndarray], OnWidth]
) -> tuple[Race, ShortPath | None]:
    """Let widths race by the rule of :mod:`marginpath.validation.race`.

    Return it with the short path of the winner on all rows, if it had one. A time limit leaves two thirds of
    the time to the winner. Of classes that are rare, the winner's path warns.
    """
    choice: Any = follower.choice
    if follower.deadline is not None:
        now = time.monotonic()
        follower = replace(follower, deadline=now + (follower.deadline - now) / 3)

    paths: dict[float, ShortPath] = {}

    def scored(on_width: OnWidth, fit: Follower) -> Callable[[float], float]:
        short = choice.shorts(fit)

        def score(sigma: float) -> float:
            if fit.late:
                return np.nan
            path: ShortPath = on_width(sigma, short)
            if len(fit.y) == len(follower.y):
                paths[sigma] = path
            return path.score

        return score

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Fewer than", UserWarning)
        held_out = choice.held_out(follower)
        rows = part_of_rows(follower.y, held_out, follower.fit_weight, follower.seed)
        everything = np.arange(len(follower.y))
        whole = scored(on_all, follower.on(everything, held_out))
        if len(rows) == len(everything):
            race = race_widths(sigmas, whole, whole)
        else:
            part = scored(on_rows(rows), follower.on(rows, held_out))
            enough = len(rows) >= ENOUGH
            race = race_widths(sigmas, part, part if enough else whole, by_means=not enough)
    return race, paths.get(float(sigmas[race.winner]))


def width_results(race: Race) -> dict[str, np.ndarray]:
    """Return what became of every width in a race, by name.

    Examples
    --------
    >>> scores = np.array([[0.8, np.nan, 0.7], [0.9, 0.8, np.nan]])
    >>> race = Race(np.array([0.5, 1.0, 2.0]), scores, winner=0)
    >>> width_results(race)["param_gamma"], width_results(race)["last_round"]
    (array([2.   , 0.5  , 0.125]), array([3, 2, 1]))
    """
    return {
        "param_gamma": 1 / (2 * race.sigmas**2),
        "first_round_score": race.scores[0],
        "second_round_score": race.scores[1],
        "last_round": race.last_round,
    }
