"""Which vectors and coefficients a compressed classifier gets: the choice between refits, by folds."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..kernels.functions import Gaussian
from ..parallel import one_blas_thread
from ..prediction.reduction import Reduced
from .compressor import Candidate, Compressor
from .slimming import require_path

#: How coefficients are found: by the smallest ‖w − w̃‖, or by the labels of the training rows.
REFITS = ("projection", "coefficients", "vectors")

#: What they may imitate and be judged by: not our own values, which have seen the rows that folds hold out.
_TARGETS = ("soft labels", "labels")
_RIDGES = (10.0, 1.0, 0.1, 0.01)  # of a mean loss, over the number of rows
_CHOOSING, _REFITTING = 3000, 10_000  # training rows that folds, and the refit that is kept, look at
_FOLDS = 3
_SEED = 0


@one_blas_thread()
def compressed(classifier: Any, n_vectors: int | None, tol: Any, refit: str) -> Any:
    """Return a classifier with fewer vectors; see :meth:`MarginPathClassifier.compress`."""
    work = Compressor(classifier)
    refits = _refits(work, refit)
    if tol is not None:
        require_path(classifier, "tol, a share of the training rows,")
        return work.compressed(_smallest(work, refits, tol))
    assert n_vectors is not None
    if n_vectors >= len(work.support):
        warnings.warn(
            f"n_vectors={n_vectors} is no fewer than the {len(work.support)} support vectors that there are: "
            f"the classifier is returned with all of them.",
            stacklevel=3,
        )
        return work.compressed(_whole(work))
    return work.compressed(best(work, work.chosen(n_vectors), refits))


def best(work: Compressor, reduced: Reduced, refits: Sequence[str]) -> Candidate:
    """Return the refit that is right most often on rows that it did not look at, the first of equals."""
    drawn = np.random.default_rng(_SEED).permutation(len(work.values))
    choosing, rows = drawn[:_CHOOSING], drawn[:_REFITTING]
    if work.codes is None or len(choosing) < 2 * _FOLDS:  # nothing to choose by
        return _candidate(work, reduced, (refits[0], "values", 0.0), rows)
    scores = _scores(work, reduced, refits, choosing)
    way = max(scores, key=scores.__getitem__)
    candidate = _candidate(work, reduced, way, rows)
    return candidate if way[0] == "projection" else replace(candidate, held_out=scores[way])


def _candidate(
    work: Compressor, reduced: Reduced, way: tuple[str, str, float], rows: np.ndarray
) -> Candidate:
    refit, target, ridge = way
    if refit == "projection":
        return work.projection(reduced)
    ridges = (*(r for r in _RIDGES if r > ridge), ridge)
    *_, last = work.refitted(refit, target, reduced, rows, ridges)
    return last


def _scores(
    work: Compressor, reduced: Reduced, refits: Sequence[str], rows: np.ndarray
) -> dict[tuple[str, str, float], float]:
    """Return the accuracy on held-out rows, counted by their weights, of every refit, target and ridge."""
    from sklearn.model_selection import KFold

    mass = work.mass.max(axis=1)
    scores: dict[tuple[str, str, float], float] = defaultdict(float)
    if "projection" in refits:  # it looks at no row, but w has seen all of them
        right = work.is_right(work.projection(reduced).values)[rows]
        scores["projection", "values", 0.0] = float(np.average(right, weights=mass[rows]))
    ways = list(product([r for r in refits if r != "projection"], _TARGETS))
    for fit, held_out in KFold(_FOLDS).split(rows):
        own = rows[held_out]
        share = mass[own] / mass[rows].sum()
        for refit, target in ways:
            for each in work.refitted(refit, target, reduced, rows[fit], _RIDGES):
                right = work.labels(each.values)[own] == work.codes[own]  # type: ignore[index]
                scores[refit, target, each.ridge] += float(share @ right)
    return scores


def _refits(work: Compressor, refit: str) -> tuple[str, ...]:
    """Return what is to be tried: vectors can move where they are dense and the kernel is a Gaussian."""
    moves = isinstance(work.kernel, Gaussian) and not sp.issparse(work.X)
    if refit == "vectors" and not moves:
        raise ValueError(
            f"refit='vectors' moves dense vectors of kernel='rbf'; got kernel={work.classifier.kernel!r} and "
            f"{type(work.X).__name__}. Use refit='coefficients', or 'auto'."
        )
    if refit != "auto":
        return (refit,)
    if work.codes is None:
        return ("projection",)
    return ("projection", "vectors" if moves else "coefficients")


def _whole(work: Compressor) -> Candidate:
    return Candidate("projection", None, work.coef, work.values, work.support)


def _smallest(work: Compressor, refits: tuple[str, ...], tol: float) -> Candidate:
    """Return the fewest vectors, by bisection, with which no more than that share of labels changes."""
    labels = work.labels(work.values)
    rows = np.arange(len(labels))

    def attempt(k: int) -> Candidate:
        reduced = work.chosen(k)
        return min(
            (_candidate(work, reduced, (refit, "values", 0.0), rows) for refit in refits),
            key=lambda each: float(np.mean(work.labels(each.values) != labels)),
        )

    low, high, smallest = 0, len(work.support), _whole(work)
    while high - low > max(1, high // 20):
        middle = (low + high) // 2 if low else max(1, high // 8)
        candidate = attempt(middle)
        if np.mean(work.labels(candidate.values) != labels) <= tol:
            high, smallest = middle, candidate
        else:
            low = middle
    return smallest
