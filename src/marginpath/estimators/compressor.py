"""Fewer vectors for a fitted kernel classifier, and a proof of what that can change."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import beside, to_numpy
from ..files.records import register
from ..gram.base import SLACK, Gram
from ..gram.samples import samples_of
from ..gram.tiled import TiledGram, kernel_diagonal
from ..kernels.functions import Gaussian, Polynomial
from ..parallel import one_blas_thread
from ..prediction.distillation import Distillation
from ..prediction.reduction import Difference, Pursuit, Reduced, difference_bounds
from ..validation.columns import Columns, OneVsOne
from .slimming import require_path

#: How coefficients are found: by the smallest ‖w − w̃‖, or by the labels of the training rows.
REFITS = ("projection", "coefficients", "vectors")

_ROWS = 6000  # training rows that a refit looks at
_FOLDS = 3  # of them, to choose between refits
_SEED = 0
_UPWARDS = 1 + 2.0**-48  # more than a few roundings take away


@register
@dataclass(frozen=True, eq=False)
class Compression:
    """What a compressed classifier has lost, proved and measured.

    Attributes
    ----------
    n_before, n_vectors : int
        Vectors before and after.
    refit : str
        "projection", "coefficients" or "vectors"; see :meth:`MarginPathClassifier.compress`.
    distance : array (columns,)
        Upper bounds on ‖w − w̃‖.
    residual : array (columns,)
        Upper bounds on ``|f − f̃|``, up to rounding, at the vectors themselves: next to 0 for a projection.
    rounding : array (columns,)
        What rounding can do to the two decision values, over √k(x, x).
    constant : array (columns,)
        The same for the intercept.
    changed : float or None
        The share of the training rows whose label is another one; None where there were no such rows.
    accuracy_before, accuracy_after : float or None
        On the out-of-fold values of the training rows, before and with f̃ − f added to them; on the training
        rows themselves where no fold held them out.

    Examples
    --------
    >>> import marginpath as mp
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.2, random_state=0)
    >>> lost = mp.MarginPathClassifier(random_state=0).fit(X, y).compress(12).compression_
    >>> lost.n_vectors, lost.changed < 0.05, lost.accuracy_before - lost.accuracy_after < 0.02
    (12, True, True)
    """

    n_before: int
    n_vectors: int
    refit: str
    distance: np.ndarray
    residual: np.ndarray
    rounding: np.ndarray
    constant: np.ndarray
    changed: float | None
    accuracy_before: float | None
    accuracy_after: float | None

    def bound(
        self, diagonal: np.ndarray, distances: tuple[np.ndarray, np.ndarray] | None = None
    ) -> np.ndarray:
        """Return bounds (n, columns) on ``|f(x) − f̃(x)|``.

        Parameters
        ----------
        diagonal : array (n,)
            k(x, x) of every row, or more.
        distances : pair of arrays (n,), optional
            The distance of φ(x) from Σ_j a_j φ(z_j), z_j being the vectors, and ``Σ_j |a_j|``, for any a:
            then ``|⟨w − w̃, φ(x)⟩| ≤ ‖w − w̃‖ distance + Σ_j |a_j| |f(z_j) − f̃(z_j)|``.
        """
        roots = np.sqrt(np.maximum(diagonal, 0))
        exact = np.outer(roots, self.distance)
        if distances is not None:
            near, size = distances
            exact = np.fmin(exact, np.outer(near, self.distance) + np.outer(size, self.residual))
        return np.asarray(_UPWARDS * (exact + np.outer(roots, self.rounding)) + self.constant)


@dataclass(frozen=True)
class Candidate:
    """Vectors and coefficients (columns, k), and what they are on the rows: Σ_j coef_j k(x_i, z_j)."""

    refit: str
    vectors: Any
    coef: np.ndarray
    values: np.ndarray
    chosen: np.ndarray


class Compressor:
    """The way from a fitted classifier to one with fewer vectors.

    Parameters
    ----------
    classifier : MarginPathClassifier
        With its training samples, or without: then its vectors are the only rows.
    """

    def __init__(self, classifier: Any) -> None:
        self.classifier, self.kernel = classifier, classifier._resolved_kernel()
        self.columns: Columns = classifier.columns_
        self.support = classifier.support_
        self.coef = to_numpy(classifier.dual_coef_).astype(np.float64)
        self.intercept = to_numpy(classifier.intercept_).astype(np.float64)
        self.codes = getattr(classifier, "codes_", None)
        n = classifier.X_fit_.shape[0]
        self.X: Any = samples_of(classifier.X_fit_).to_compare(np.arange(n))
        self.values = self.block(self.support) @ self.coef.T

    def block(self, index: np.ndarray) -> np.ndarray:
        """Return the kernel values of all rows with some of them, in float64."""
        if self.kernel is None or not len(index):
            return np.asarray(self.X[:, index], dtype=np.float64)
        return np.asarray(self.kernel(self.X, self.X[index]), dtype=np.float64)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """k(x, x) of every row."""
        if self.kernel is None:
            return np.diagonal(self.X).astype(np.float64)
        return kernel_diagonal(self.X, self.kernel).astype(np.float64)

    def chosen(self, most: int) -> Reduced:
        """Return the greedy choice of so many vectors, or of all that add anything."""
        pursuit = Pursuit(lambda j: self.block(np.array([j]))[:, 0], self.support, self.values, self.diagonal)
        for reduced in pursuit.steps(most):
            last = reduced
        return last

    def candidate(self, refit: str, reduced: Reduced, rows: np.ndarray) -> Candidate:
        """Return the vectors and the coefficients of a refit that looks at some of the rows."""
        order = np.argsort(reduced.chosen)
        chosen = self.support[reduced.chosen[order]]
        block = self.block(chosen)
        if refit == "projection":
            coef = reduced.coef[:, order]
            return Candidate(refit, None, coef, block @ coef.T, chosen)
        pairs = isinstance(self.columns, OneVsOne)
        task = Distillation(self.X[rows], self.values[rows] + self.intercept, self.intercept, pairs)
        if refit == "coefficients":
            coef = task.coefficients(block[rows], block[chosen])
            return Candidate(refit, None, coef, block @ coef.T, chosen)
        assert self.kernel is not None
        vectors, coef = task.vectors(self.X[chosen], self.kernel)
        vectors = vectors.astype(self.X.dtype)
        return Candidate(refit, vectors, coef, np.asarray(self.kernel(self.X, vectors)) @ coef.T, chosen)

    def best(self, reduced: Reduced, refits: tuple[str, ...]) -> Candidate:
        """Return the refit that is right most often on rows that it did not look at, the first of equals."""
        from sklearn.model_selection import KFold

        drawn = np.random.default_rng(_SEED).permutation(len(self.values))[:_ROWS]
        if len(refits) > 1 and len(drawn) >= 2 * _FOLDS:
            right = dict.fromkeys(refits, 0)
            for fit, held_out in KFold(_FOLDS).split(drawn):
                for refit in refits:
                    values = self.candidate(refit, reduced, drawn[fit]).values
                    right[refit] += int(self._is_right(values)[drawn[held_out]].sum())
            refits = (max(refits, key=right.__getitem__),)
        return self.candidate(refits[0], reduced, drawn)

    def compressed(self, candidate: Candidate) -> Any:
        """Return the classifier with those vectors, and what is proved and measured of it."""
        clf = self.classifier
        dtype = str(clf.dual_coef_.dtype).rpartition(".")[2]
        small, coef = clf.slim(), candidate.coef.astype(dtype)
        small.dual_coef_, small.support_ = beside(coef, clf.dual_coef_), candidate.chosen
        if self.kernel is not None:
            vectors = self.X[candidate.chosen] if candidate.vectors is None else candidate.vectors
            small.X_fit_, small.support_ = beside(vectors, clf.X_fit_), np.arange(coef.shape[1])
        changed = self._labels(candidate.values) != self._labels(self.values)
        has_rows = self.codes is not None
        difference = self._difference(candidate, coef.astype(np.float64))
        small.compression_ = Compression(
            n_before=len(self.support),
            n_vectors=coef.shape[1],
            refit=candidate.refit,
            distance=difference.distance,
            residual=difference.values.max(axis=0, initial=0.0),
            rounding=self._rounding(candidate, coef.astype(np.float64)),
            constant=8 * float(np.finfo(dtype).eps) * np.abs(self.intercept),
            changed=float(changed.mean()) if has_rows else None,
            accuracy_before=float(self._is_right(self.values).mean()) if has_rows else None,
            accuracy_after=float(self._is_right(candidate.values).mean()) if has_rows else None,
        )
        return small

    def _decision(self, values: np.ndarray) -> np.ndarray:
        """Return the decision values of the classes; two classes share a column."""
        return np.asarray(self.columns.values(values + self.intercept))

    def _labels(self, values: np.ndarray) -> np.ndarray:
        return _chosen(self._decision(values))

    def _is_right(self, values: np.ndarray) -> np.ndarray:
        """Return whether each row has its label, by what its fold said and values − f added to it."""
        if self.codes is None:
            return np.asarray(self._labels(values) == self._labels(self.values))
        decision, held_out = self._decision(values), getattr(self.classifier, "out_of_fold_", None)
        if held_out is not None:
            held_out = np.asarray(held_out, dtype=np.float64).reshape(len(values), -1)
            known = np.isfinite(held_out).all(axis=1, keepdims=True)
            decision = decision + np.where(known, held_out - self._decision(self.values), 0)
        return np.asarray(_chosen(decision) == self.codes)

    def _difference(self, candidate: Candidate, coef: np.ndarray) -> Difference:
        """Return what is certain of w − w̃, of the coefficients as they are kept, and at their vectors."""
        if not len(self.support):
            return Difference(np.zeros(len(self.coef)), np.zeros((0, len(self.coef))))
        if candidate.vectors is not None:
            rows = np.concatenate([self.X[self.support], candidate.vectors])
            found = difference_bounds(self._gram(rows), np.concatenate([self.coef, -coef], axis=1).T)
            return found._replace(values=found.values[len(self.support) :])
        own = np.searchsorted(self.support, candidate.chosen)
        V = self.coef.T.copy()
        V[own] -= coef.T
        rows = self.X[np.ix_(self.support, self.support)] if self.kernel is None else self.X[self.support]
        found = difference_bounds(self._gram(rows), V)
        return found._replace(values=found.values[own])

    def _gram(self, rows: Any) -> Gram:
        return Gram.from_matrix(rows) if self.kernel is None else TiledGram(rows, self.kernel)

    def _rounding(self, candidate: Candidate, coef: np.ndarray) -> np.ndarray:
        """Return how far both decision values may be off, over √k(x, x): sums, kernel values, a result."""
        d = 0 if self.kernel is None else self.X.shape[1]
        terms = d * (self.kernel.degree if isinstance(self.kernel, Polynomial) else 1) + len(self.support)
        eps = float(np.finfo(str(self.classifier.dual_coef_.dtype).rpartition(".")[2]).eps)
        roots = np.sqrt(self.diagonal)
        # Vectors move for Gaussians alone, whose k(z, z) is 1.
        new = roots[candidate.chosen] if candidate.vectors is None else np.ones(coef.shape[1])
        length = np.abs(self.coef) @ roots[self.support] + np.abs(coef) @ new
        return np.asarray(SLACK * (terms + 96) * eps * length)


def _chosen(decision: np.ndarray) -> np.ndarray:
    """Return the class of every row, from the decision values of classes."""
    return decision[:, 0] > 0 if decision.shape[1] == 1 else decision.argmax(axis=1)


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
        return work.compressed(Candidate("projection", None, work.coef, work.values, work.support))
    return work.compressed(work.best(work.chosen(n_vectors), refits))


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
    return REFITS if moves else REFITS[:2]


def _smallest(work: Compressor, refits: tuple[str, ...], tol: float) -> Candidate:
    """Return the fewest vectors, by bisection, with which no more than that share of labels changes."""
    labels = work._labels(work.values)
    whole = Candidate("projection", None, work.coef, work.values, work.support)

    def attempt(k: int) -> Candidate:
        return min(
            (work.candidate(refit, work.chosen(k), np.arange(len(labels))) for refit in refits),
            key=lambda each: float(np.mean(work._labels(each.values) != labels)),
        )

    low, high, best = 0, len(work.support), whole
    while high - low > max(1, high // 20):
        middle = (low + high) // 2 if low else max(1, high // 8)
        candidate = attempt(middle)
        if np.mean(work._labels(candidate.values) != labels) <= tol:
            high, best = middle, candidate
        else:
            low = middle
    return best
