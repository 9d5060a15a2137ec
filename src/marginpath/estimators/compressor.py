"""Fewer vectors for a fitted kernel classifier, and a proof of what that can change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import beside, to_numpy
from ..files.records import register
from ..gram.base import SLACK, Gram
from ..gram.samples import samples_of
from ..gram.tiled import TiledGram, kernel_diagonal
from ..kernels.functions import Polynomial
from ..prediction.distillation import Distillation, soft_labels
from ..prediction.reduction import Difference, Pursuit, Reduced, difference_bounds
from ..validation.columns import Columns, OneVsOne
from .slimming import is_slim

_ROWS = 20_000  # training rows that are looked at, beside the vectors
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
        How far the intercepts are apart, and what rounding can do to them.
    changed : float or None
        The share of the training rows whose label is another one; None where there were no such rows.
    accuracy_before, accuracy_after : float or None
        On training rows that were held out: before, by the folds of the fit; after, by folds that the refit
        did not look at. Of a projection, which looks at no row, and with ``tol``, f̃ − f is added to the
        values from before. On the training rows themselves where no fold of the fit held them out.
    target : str
        What a refit imitates: the "values" of the classifier, the "labels" of the training rows, or "soft
        labels", which ask for a margin of 1 and for no more.
    ridge : float
        How much a refit holds ‖w̃‖² down.

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
    target: str = "values"
    ridge: float = 0.0

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

    def with_moved_vectors(self, moved: np.ndarray, furthest: float) -> Compression:
        """Return what is certain where the vectors are others, as where they are rounded.

        Parameters
        ----------
        moved : array (columns,)
            By how much that may change a decision value, over √k(x, x) = 1.
        furthest : float
            The largest ‖φ(z) − φ(z̃)‖ of a vector z and its new place.
        """
        residual = _UPWARDS * (self.residual + furthest * self.distance)
        return replace(self, residual=residual, constant=_UPWARDS * (self.constant + moved))


@dataclass(frozen=True)
class Candidate:
    """Vectors and coefficients (columns, k), and what they are on the rows: f̃(x_i) less the intercept of f.

    ``shift`` (columns,) is what is added to that intercept, ``held_out`` the accuracy on rows that a refit
    did not look at, where folds have told it.
    """

    refit: str
    vectors: Any
    coef: np.ndarray
    values: np.ndarray
    chosen: np.ndarray
    target: str = "values"
    ridge: float = 0.0
    shift: np.ndarray | float = 0.0
    held_out: float | None = None


class Compressor:
    """The way from a fitted classifier to one with fewer vectors.

    Parameters
    ----------
    classifier : MarginPathClassifier
        With its training samples, or without: then its vectors are the only rows.
    """

    def __init__(self, classifier: Any) -> None:
        self.classifier, self.kernel = classifier, classifier.kernel_
        self.columns: Columns = classifier.columns_
        self.rows = _rows(classifier)
        self.support = np.searchsorted(self.rows, classifier.support_)
        self.coef = to_numpy(classifier.dual_coef_).astype(np.float64)
        self.intercept = to_numpy(classifier.intercept_).astype(np.float64)
        self.codes = classifier.codes_[self.rows] if hasattr(classifier, "codes_") else None
        self.X: Any = samples_of(classifier.X_fit_).to_compare(self.rows)
        self.values = self.block(self.support) @ self.coef.T

    @cached_property
    def mass(self) -> np.ndarray:
        """How much every row counts in each (n, columns): of pairs of classes, in those of its own."""
        if self.codes is None or is_slim(self.classifier):
            return np.ones_like(self.values)
        mass = np.asarray(self.classifier.models_.mass, dtype=np.float64)
        return np.asarray(mass.reshape(len(mass), -1)[self.rows] * np.abs(self.columns.signs(self.codes)))

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

    def chosen(self, *sizes: int) -> list[Reduced]:
        """Return the greedy choices of so many vectors, the fewest first, or of all that add anything."""
        pursuit = Pursuit(lambda j: self.block(np.array([j]))[:, 0], self.support, self.values, self.diagonal)
        return list(pursuit.steps(sizes))

    def projection(self, reduced: Reduced) -> Candidate:
        """Return the greedy choice as it is."""
        order = np.argsort(reduced.chosen)
        chosen, coef = self.support[reduced.chosen[order]], reduced.coef[:, order]
        return Candidate("projection", None, coef, self.block(chosen) @ coef.T, chosen)

    def refitted(
        self, refit: str, target: str, reduced: Reduced, rows: np.ndarray, ridges: tuple[float, ...]
    ) -> Iterator[Candidate]:
        """Yield the vectors and the coefficients of a refit that looks at some rows, for every ridge."""
        chosen = np.sort(self.support[reduced.chosen])
        task = self._task(target, rows)
        if refit == "coefficients":
            block = self.block(chosen)
            models = task.coefficients(block[rows], block[chosen], ridges)
        else:
            assert self.kernel is not None
            models = task.vectors(self.X[chosen], self.kernel, ridges)
        for (moved, coef, intercept), ridge in zip(models, ridges, strict=True):
            vectors = None if moved is None else moved.astype(self.X.dtype)
            if vectors is not None:
                block = np.asarray(self.kernel(self.X, vectors), dtype=np.float64)
            shift = intercept - self.intercept
            yield Candidate(refit, vectors, coef, block @ coef.T + shift, chosen, target, ridge, shift)

    def _task(self, target: str, rows: np.ndarray) -> Distillation:
        """Return what a refit imitates: our values, or the labels in the columns where a row counts."""
        apart = isinstance(self.columns, OneVsOne) or len(self.intercept) == 1
        if target == "values":
            soft = soft_labels(self.values[rows] + self.intercept, apart=apart)
            return Distillation(self.X[rows], soft, apart)
        assert self.codes is not None
        signs = self.columns.signs(self.codes[rows])
        wanted = (signs > 0) * 1.0 if target == "labels" else soft_labels(signs, apart=apart)
        return Distillation(self.X[rows], wanted, apart, self.mass[rows])

    def compressed(self, candidate: Candidate) -> Any:
        """Return the classifier with those vectors, and what is proved and measured of it."""
        clf = self.classifier
        dtype = str(clf.dual_coef_.dtype).rpartition(".")[2]
        small, coef = clf.slim(), candidate.coef.astype(dtype)
        small.dual_coef_, small.support_ = beside(coef, clf.dual_coef_), candidate.chosen
        intercept = (self.intercept + candidate.shift).astype(str(clf.intercept_.dtype).rpartition(".")[2])
        small.intercept_ = beside(intercept, clf.intercept_)
        if self.kernel is not None:
            vectors = self.X[candidate.chosen] if candidate.vectors is None else candidate.vectors
            small.X_fit_, small.support_ = beside(vectors, clf.X_fit_), np.arange(coef.shape[1])
        changed = self.labels(candidate.values) != self.labels(self.values)
        has_rows = self.codes is not None
        difference = self._difference(candidate, coef.astype(np.float64))
        before = float(self.is_right(self.values).mean()) if has_rows else None
        after = float(self.is_right(candidate.values).mean()) if has_rows else None
        small.compression_ = Compression(
            n_before=len(self.support),
            n_vectors=coef.shape[1],
            refit=candidate.refit,
            distance=difference.distance,
            residual=difference.values.max(axis=0, initial=0.0),
            rounding=self._rounding(candidate, coef.astype(np.float64)),
            constant=self._constant(intercept.astype(np.float64), float(np.finfo(dtype).eps)),
            changed=float(changed.mean()) if has_rows else None,
            accuracy_before=before,
            accuracy_after=after if candidate.held_out is None else candidate.held_out,
            target=candidate.target,
            ridge=candidate.ridge,
        )
        return small

    def _decision(self, values: np.ndarray) -> np.ndarray:
        """Return the decision values of the classes; two classes share a column."""
        return np.asarray(self.columns.values(values + self.intercept))

    def labels(self, values: np.ndarray) -> np.ndarray:
        """Return the class of every row, as a number, from values without the intercept."""
        return _chosen(self._decision(values))

    def is_right(self, values: np.ndarray) -> np.ndarray:
        """Return whether each row has its label, by what its fold said and values − f added to it."""
        if self.codes is None:
            return np.asarray(self.labels(values) == self.labels(self.values))
        decision, held_out = self._decision(values), getattr(self.classifier, "out_of_fold_", None)
        if held_out is not None:
            held_out = np.asarray(held_out, dtype=np.float64)[self.rows].reshape(len(values), -1)
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

    def _constant(self, intercept: np.ndarray, eps: float) -> np.ndarray:
        """Return how far the intercepts are apart, and what rounding can do to a sum with either."""
        largest = np.maximum(np.abs(intercept), np.abs(self.intercept))
        return np.asarray(_UPWARDS * np.abs(intercept - self.intercept) + 8 * eps * largest)

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


def _rows(classifier: Any) -> np.ndarray:
    """Return the training rows that are looked at: of very many, the vectors and some others."""
    n = classifier.X_fit_.shape[0]
    if n <= _ROWS or classifier.kernel == "precomputed":
        return np.arange(n)
    drawn = np.random.default_rng(_SEED).choice(n, _ROWS, replace=False)
    return np.union1d(drawn, classifier.support_)


def _chosen(decision: np.ndarray) -> np.ndarray:
    """Return the class of every row, from the decision values of classes."""
    return decision[:, 0] > 0 if decision.shape[1] == 1 else decision.argmax(axis=1)
