"""Which vectors and coefficients a compressed classifier gets: the choice between refits, by folds."""

from __future__ import annotations

import warnings
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
_RIDGES = (10.0, 1.0, 0.1, 0.01, 0.001)  # of a mean loss, over the number of rows
_CHOOSING, _REFITTING = 3000, 10_000  # training rows that folds, and the refit that is kept, look at
_FOLDS = 3
_HARMLESS = 0.001  # of the accuracy
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
    return work.compressed(best(work, work.chosen(n_vectors)[-1], refits))


@one_blas_thread()
def compressed_to(classifier: Any, sizes: Any, refit: str = "auto") -> list[Any]:
    """Return a classifier for each of several numbers of vectors, the fewest first.

    They are what ``compress`` makes of each number, but the vectors are chosen once for all of them.
    """
    work = Compressor(classifier)
    refits = _refits(work, refit)
    return [work.compressed(best(work, reduced, refits)) for reduced in work.chosen(*sizes)]


def best(work: Compressor, reduced: Reduced, refits: Sequence[str]) -> Candidate:
    """Return the refit that is right most often on rows that it did not look at.

    Where it is asked for, the projection stays if next to nothing is lost with it, for it has the smallest
    bound, or if it is better than the refit by more than a standard error: folds show a refit fewer rows.
    """
    drawn = np.random.default_rng(_SEED).permutation(len(work.values))
    choosing, rows = drawn[:_CHOOSING], drawn[:_REFITTING]
    if work.codes is None or len(choosing) < 2 * _FOLDS:  # nothing to choose by
        return _candidate(work, reduced, (refits[0], "values", 0.0), rows)
    learned, share = refits[-1], work.mass.max(axis=1)[choosing]
    share /= share.sum()
    if "projection" in refits:
        projection = work.projection(reduced)
        right = work.is_right(projection.values)[choosing]
        lost = share @ work.is_right(work.values)[choosing] - share @ right
        if learned == "projection" or lost <= _HARMLESS:
            return projection
    held_out = _held_out(work, reduced, learned, choosing)
    scores = {way: float(share @ held_out[way]) for way in held_out}
    # Both targets vote on the ridge: of many ways, the best by itself is often the luckiest.
    ridge = max(_RIDGES, key=lambda ridge: sum(scores[target, ridge] for target in _TARGETS))
    way = max(((target, ridge) for target in _TARGETS), key=scores.__getitem__)
    if "projection" in refits and _is_better(right, held_out[way], share):
        return projection
    return replace(_candidate(work, reduced, (learned, *way), rows), held_out=scores[way])


def _is_better(right: np.ndarray, other: np.ndarray, share: np.ndarray) -> bool:
    """Whether one is right more often than the other, by more than a standard error."""
    difference = right.astype(np.float64) - other
    mean = float(share @ difference)
    return mean > float(np.sqrt(share**2 @ (difference - mean) ** 2))


def _candidate(
    work: Compressor, reduced: Reduced, way: tuple[str, str, float], rows: np.ndarray
) -> Candidate:
    refit, target, ridge = way
    if refit == "projection":
        return work.projection(reduced)
    ridges = (*(r for r in _RIDGES if r > ridge), ridge)
    *_, last = work.refitted(refit, target, reduced, rows, ridges)
    return last


def _held_out(
    work: Compressor, reduced: Reduced, refit: str, rows: np.ndarray
) -> dict[tuple[str, float], np.ndarray]:
    """Return for every target and ridge which of the rows are right where a fold holds them out."""
    from sklearn.model_selection import KFold

    right = {way: np.empty(len(rows)) for way in product(_TARGETS, _RIDGES)}
    for (fit, held_out), target in product(KFold(_FOLDS).split(rows), _TARGETS):
        own = rows[held_out]
        for each in work.refitted(refit, target, reduced, rows[fit], _RIDGES):
            right[target, each.ridge][held_out] = work.labels(each.values)[own] == work.codes[own]  # type: ignore[index]
    return right


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
        reduced = work.chosen(k)[-1]
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
