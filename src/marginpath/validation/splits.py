"""Which samples a fold holds out; of a class that is rare, never the last one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from .columns import class_codes

_SHOWN = 5  # classes that a message names


def held_out_samples(
    cv: Any, y: np.ndarray, groups: Any = None, weight: np.ndarray | None = None
) -> list[np.ndarray]:
    """Return the samples that every fold holds out.

    A class with fewer samples than folds is trained on in every fold: where a fold would hold out the last
    of them, it holds out none of that class and scores the others. A warning names such classes.

    Parameters
    ----------
    cv : int, splitter or iterable
        As in scikit-learn; an int means stratified folds, of which there are no more than samples of the
        largest class.
    y : array (n,)
        Class labels.
    groups : array (n,), optional
        For the splitter.
    weight : array (n,), optional
        Samples of weight 0 are as good as absent: no fold holds them out, and a splitter does not see them.

    Examples
    --------
    >>> import warnings
    >>> y = np.array(["cat", "dog", "cat", "dog", "eel"])
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     [test.tolist() for test in held_out_samples(2, y)]
    [[0, 1], [2, 3]]
    >>> print(told[0].message)
    Fewer than 2 samples, one for each fold: class 'eel' (1). They are trained on, ...
    """
    from sklearn.model_selection import check_cv

    if weight is not None and not np.all(weight > 0):
        rows = np.flatnonzero(weight > 0)
        known = None if groups is None else np.asarray(groups)[rows]
        return [rows[test] for test in held_out_samples(_among(rows, cv, len(y)), np.asarray(y)[rows], known)]
    classes, codes = class_codes(np.asarray(y))
    counts = np.bincount(codes, minlength=len(classes))
    _require_several(counts)
    asked = 5 if cv is None else cv
    is_number = isinstance(asked, Integral) and not isinstance(asked, bool)
    if is_number:
        tests = stratified_folds(codes, min(int(asked), int(counts.max())))
    else:
        folds = check_cv(asked, y, classifier=True).split(np.zeros(len(y)), y, groups)
        tests = [np.arange(len(y))[test] for _, test in folds]  # masks become indices
    needed = max(2, int(asked) if is_number else len(tests))
    emptied = [counts == np.bincount(codes[test], minlength=len(counts)) for test in tests]
    single = (counts == 1) & (not is_number and len(tests) == 1)  # held out by no splitter that stratifies
    rare = (counts < needed) & (is_number | np.any(emptied, axis=0) | single)
    if rare.any():
        tests = [test[~(gone & rare)[codes[test]]] for test, gone in zip(tests, emptied, strict=True)]
        _warn(classes[rare], counts[rare], needed, len(tests))
    _require_training(tests, codes, classes, counts)
    return tests


def _among(rows: np.ndarray, cv: Any, n: int) -> Any:
    """Return the same folds of some of n samples: those that are listed have the numbers of all."""
    if isinstance(cv, Integral) or cv is None or hasattr(cv, "split"):
        return cv
    return [(None, np.flatnonzero(np.isin(rows, np.arange(n)[test]))) for _, test in cv]


def stratified_folds(codes: np.ndarray, folds: int) -> list[np.ndarray]:
    """Return the samples that every fold of scikit-learn's StratifiedKFold holds out, in few passes.

    Classes are numbered as they first occur. Were the samples sorted by class and dealt out to the folds one
    by one, so many of a class as each fold has then it holds out, the first samples in the first fold.

    Examples
    --------
    >>> [test.tolist() for test in stratified_folds(np.array([1, 1, 0, 1, 0]), 2)]
    [[0, 1, 2], [3, 4]]
    """
    from sklearn.model_selection import StratifiedKFold

    StratifiedKFold(folds)  # refuses less than two
    counts = np.bincount(codes)
    first = np.empty(len(counts), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    order = np.argsort(first)
    dealt = np.repeat(np.arange(len(counts)), counts[order])
    shares = [np.bincount(dealt[j::folds], minlength=len(counts)) for j in range(folds)]
    fold = np.empty(len(codes), dtype=np.min_scalar_type(folds))
    for c, share in zip(order, np.transpose(shares), strict=True):
        fold[codes == c] = np.repeat(np.arange(folds), share)
    return [np.flatnonzero(fold == j) for j in range(folds)]


@dataclass(frozen=True)
class StratifiedHoldout:
    """A splitter with one fold: a share of every class, but for the classes with a single sample.

    Examples
    --------
    >>> y = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2])
    >>> ((train, test),) = StratifiedHoldout(0.25, seed=0).split(np.zeros(9), y)
    >>> y[test].tolist(), 8 in train
    ([1, 0], True)
    """

    fraction: float
    seed: int

    def split(self, X: Any, y: np.ndarray, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the training and the held-out samples."""
        from sklearn.model_selection import StratifiedShuffleSplit

        _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        several = np.flatnonzero(counts[codes] > 1)
        _require_several(counts)
        kinds = int(np.sum(counts > 1))
        size = min(max(int(np.ceil(self.fraction * len(several))), kinds), len(several) - kinds)
        splitter = StratifiedShuffleSplit(1, test_size=size, random_state=self.seed)
        (_, test), *_ = splitter.split(several, codes[several])
        held = several[test]
        yield np.setdiff1d(np.arange(len(y)), held), held

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return 1."""
        return 1


def _require_several(counts: np.ndarray) -> None:
    if counts.max() < 2:
        raise ValueError(
            f"Each of the {len(counts)} classes has one sample: none can be held out. Use more samples, or "
            f"stopping=None."
        )


def _warn(classes: np.ndarray, counts: np.ndarray, needed: int, folds: int) -> None:
    named = [f"class {label!r} ({count})" for label, count in zip(classes.tolist(), counts, strict=True)]
    more = [f"{len(named) - _SHOWN} more"] if len(named) > _SHOWN else []
    fewer = f" There are {folds} folds." if 1 < folds < needed else ""
    warnings.warn(
        f"Fewer than {needed} samples{', one for each fold' if folds > 1 else ''}: "
        f"{', '.join(named[:_SHOWN] + more)}.{fewer} They are trained on, and scored only where some of them "
        f"are left to train on.",
        UserWarning,
        stacklevel=3,
    )


def _require_training(
    tests: list[np.ndarray], codes: np.ndarray, classes: np.ndarray, counts: np.ndarray
) -> None:
    for j, test in enumerate(tests):
        left = counts - np.bincount(codes[test], minlength=len(classes))
        if np.any(left == 0):
            raise ValueError(
                f"Fold {j} leaves no sample of class {classes[np.argmin(left)]} to train on "
                f"({counts[np.argmin(left)]} in all). Use fewer folds, or a splitter that stratifies."
            )
        if not len(test):
            raise ValueError(
                f"Fold {j} holds out no sample that could be scored. Use fewer folds, or more samples of "
                f"each class."
            )
