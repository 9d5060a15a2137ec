"""The steps of a short path on few samples, observed and ended in compiled calls (import late).

A step on so few samples takes less time than Python takes to ask for it, to observe it and to ask whether it
was the last. Nothing of a short path is kept but these numbers: no path, no model and no state. The loops of
the solver are those of ``few_samples.py``; what is observed and where it ends is what ``run`` does for other
columns, by ``scores.py``, ``proper.py``, and ``NothingToGain`` in ``short_path.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..solvers.solution_path.few_finish import finish_few
from ..solvers.solution_path.few_samples import advance_few
from ..solvers.solution_path.few_start import begin_few
from ..solvers.solution_path.packing import is_any_at_bound
from ..solvers.solution_path.part import compiled
from .proper_compiled import held_out_values, hinge_sums, least_losses, winners


class Judged(NamedTuple):
    """What decisions about held-out samples are compared with.

    ``signs``, (columns, n), are ±1 and 0; ``fold`` is the one that holds a sample out, ``mass`` that of each.
    """

    signs: Any
    weight: Any
    codes: Any
    classes: int
    in_pairs: bool
    fold: Any
    mass: Any


class End(NamedTuple):
    """Where a short path ends: see ``short_path.NothingToGain``, the same of a path that was run."""

    largest: float
    chance: float
    growth: float
    longer: float
    loss_growth: float
    as_low: float
    no_higher: float
    as_high: float
    never: float
    risen_loss: float
    risen_hinge: float


class Seen(NamedTuple):
    """What is observed after every step: the scores of the folds (steps, folds), both losses, and 1/λ."""

    scores: Any
    hinge: Any
    log_loss: Any
    bound: Any


@compiled
def short_steps(
    few: Any, duals: Any, bounds: Any, judged: Any, end: Any, asked: Any, stop: Any, seen: Any
) -> Any:
    """Take a step for every row of the bounds, at most; count them, and say if any sample is at its bound.

    The arrays of the duals are those of the start, and of the last step in the end.
    """
    questions, count, at_bound, is_over = few.ends.size - 1, 0, True, False
    solved = np.zeros(duals.bound.size, np.bool_)
    while count < len(bounds) and not is_over:
        enter(duals, bounds, count)
        if count == 0:
            begin_few(few, 0, questions, 0, few.together, duals)
        advance_few(few, 0, questions, 0, few.together, duals, asked, stop, solved)
        at_bound, is_over = look(few, duals, judged, end, asked, solved, count, seen)
        count += 1
    return count, at_bound


@compiled
def enter(duals: Any, bounds: Any, t: int) -> None:
    """Raise the bounds to those of step t."""
    for j in range(duals.bound.size):
        duals.before[j] = bounds[max(t - 1, 0), j]
        duals.bound[j] = bounds[t, j]


@compiled
def look(few: Any, duals: Any, judged: Any, end: Any, asked: Any, solved: Any, t: int, seen: Any) -> Any:
    """End step t: observe it, and say if any sample is at its bound and whether it is the last step."""
    finish_few(few, duals, asked, solved)
    duals.start[:] = duals.u
    at_bound = is_any_at_bound(few.ends, few.signed, few.together, duals.u, duals.bound)
    _observe(few, duals, judged, np.empty((len(judged.signs), judged.weight.size)), t, seen)
    return at_bound, not at_bound or seen.bound[t] > end.largest or _is_over(seen, t + 1, end)


@compiled
def _observe(few: Any, duals: Any, judged: Any, values: Any, t: int, seen: Any) -> None:
    """Write what is observed after step t."""
    n, k, losses, mass = judged.weight.size, len(values), np.empty(len(values)), np.empty(len(values))
    seen.bound[t] = duals.bound.max()
    values[:] = np.nan
    held_out_values(duals.outside, duals.offset, few.watched, few.begins, values)
    given = winners(values, judged.classes) if judged.in_pairs else _largest(values)
    for i in range(n):
        if judged.fold[i] < judged.mass.size and given[i] == judged.codes[i]:
            seen.scores[t, judged.fold[i]] += judged.weight[i]
    for fold in range(judged.mass.size):
        seen.scores[t, fold] /= judged.mass[fold]
    loss, total = hinge_sums(values, judged.signs, judged.weight)
    seen.hinge[t] = loss / total
    if judged.in_pairs:  # as they are kept: they are many
        for q in range(k):
            for i in range(n):
                values[q, i] = np.float32(values[q, i])
    least_losses(values, judged.signs, judged.weight, 0, k, losses, mass)
    seen.log_loss[t] = losses.sum() / mass.sum()


@compiled
def _largest(values: Any) -> Any:
    """Return the class of the largest value, of one column the second one where it is over 0."""
    given = np.zeros(values.shape[1], np.int64)
    for i in range(given.size):
        if len(values) == 1:
            given[i] = values[0, i] > 0
        for q in range(1, len(values)):
            given[i] = q if values[q, i] > values[given[i], i] else given[i]
    return given


@compiled
def _is_over(seen: Any, count: int, end: Any) -> Any:
    """Whether nothing is to be gained any more: what ``Patience`` and both losses say of these steps."""
    last, size, hinge = count - 1, seen.bound, seen.hinge[:count]
    mean = np.empty(count)
    for t in range(count):
        mean[t] = seen.scores[t].sum() / seen.scores.shape[1]
    least, best = hinge.min(), mean.max()
    has_risen = hinge[last] > end.risen_hinge * least
    if has_risen and best > end.chance and seen.log_loss[last] > end.risen_loss * seen.log_loss[:count].min():
        return True
    lowest = _first(hinge <= end.as_low * least)
    if size[last] < end.loss_growth * size[lowest]:
        return False
    left = mean != mean[0]
    if not left.any():
        return size[last] >= end.never * size[lowest]
    left_at = _first(left)
    if best <= end.chance:
        factor = end.growth * (end.longer if hinge[last] <= end.no_higher * least else 1.0)
        return _has_grown(size, last, max(_first(mean >= best - 1e-12), left_at), factor)
    near = best - end.as_high * _standard_error(seen.scores[_first(mean == best)])
    since = min(_first(mean >= near), _first(mean >= best - 1e-12))
    return _has_grown(size, last, max(since, left_at), end.growth)


@compiled
def _has_grown(size: Any, last: int, since: int, factor: float) -> Any:
    return size[last] > size[since] and size[last] >= factor * size[since]


@compiled
def _first(holds: Any) -> Any:
    """Return the first place where it holds, or 0."""
    for t in range(holds.size):
        if holds[t]:
            return t
    return 0


@compiled
def _standard_error(scores: Any) -> Any:
    """Return that of the mean: ``selection.standard_error``."""
    if scores.size < 2:
        return 0.0
    return scores.std() * np.sqrt(scores.size / (scores.size - 1.0)) / np.sqrt(scores.size)
