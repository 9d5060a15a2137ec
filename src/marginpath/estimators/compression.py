"""compress, and what it proves: for the kernel classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..arrays import blocks, to_numpy
from ..gram.choose import diagonal_of
from ..gram.samples import ArrayRows, samples_of
from ..prediction.reduction import Span
from ..validation.columns import settled
from .compressor import Compression
from .refitting import REFITS, compressed

_BLOCK = 2**22  # kernel values that a bound looks at together


def _is_compressed(self: Any) -> bool:
    """Raise where there is nothing to compare with."""
    if not hasattr(self, "compression_"):
        raise AttributeError(
            f"This {type(self).__name__} was not compressed: there is no other one whose labels could "
            f"differ. Call compress first, and this method of what it returns."
        )
    return True


class CompressionMixin:
    """What a kernel classifier can do about its size."""

    def compress(self: Any, n_vectors: Any = None, *, tol: Any = None, refit: str = "auto") -> Any:
        """Return a fitted classifier with fewer vectors, and the proof of what that can change.

        The vectors are chosen one after the other, each the one that takes most from ‖w − w̃‖². Then the
        coefficients of all columns are found anew. What came of it is in ``compression_``, a
        :class:`Compression`, and its ``decision_bound`` holds for every row, rounding included.

        Parameters
        ----------
        n_vectors : int, optional
            At most so many vectors.
        tol : float, optional
            In place of a number: the largest share of the training rows whose label may change.
        refit : {"auto", "projection", "coefficients", "vectors"}
            "projection" has the smallest ‖w − w̃‖, and so the smallest bound; it keeps the intercept.
            "coefficients" learns the labels of the training rows instead, with a ridge and an intercept of
            its own, and "vectors" moves the vectors too (dense rows and kernel="rbf"): more accurate, with a
            larger bound. Folds of the training rows choose the ridge, and for "auto" between the projection,
            where it costs next to nothing, and a refit.

        Returns
        -------
        classifier
            Of the same class, as slim as :meth:`slim` makes it.

        Examples
        --------
        >>> import marginpath as mp
        >>> from sklearn.datasets import make_moons
        >>> X, y = make_moons(300, noise=0.2, random_state=0)
        >>> clf = mp.MarginPathClassifier(random_state=0).fit(X, y)
        >>> small = clf.compress(n_vectors=5)
        >>> len(small.support_vectors_), bool(small.score(X, y) > 0.9)
        (5, True)
        >>> difference = abs(small.decision_function(X) - clf.decision_function(X))
        >>> bool(np.all(difference <= small.decision_bound(X)))
        True
        """
        check_is_fitted(self)
        if (n_vectors is None) == (tol is None):
            raise ValueError(
                f"compress takes one of n_vectors, the number of vectors, and tol, the share of labels that "
                f"may change; got n_vectors={n_vectors!r} and tol={tol!r}."
            )
        if n_vectors is not None and not (isinstance(n_vectors, int | np.integer) and n_vectors >= 1):
            raise ValueError(f"n_vectors must be a whole number of at least 1, got {n_vectors!r}.")
        if tol is not None and not (isinstance(tol, int | float | np.number) and 0 <= tol < 1):
            raise ValueError(f"tol must be a share of labels, 0 ≤ tol < 1, got {tol!r}.")
        if refit not in ("auto", *REFITS):
            raise ValueError(f"refit must be 'auto', {', '.join(map(repr, REFITS))}, got {refit!r}.")
        return compressed(self, None if n_vectors is None else int(n_vectors), tol, refit)

    @available_if(_is_compressed)
    def decision_bound(self: Any, X: Any, *, diagonal: Any = None) -> np.ndarray:
        """Return a bound on the difference of the decision values before and after ``compress``.

        Parameters
        ----------
        X : array (n_samples, n_features)
        diagonal : array (n_samples,), optional
            k(x, x) of every row: for kernel="precomputed", where X does not tell it.

        Returns
        -------
        array
            Of the shape of ``decision_function(X)``: ‖w − w̃‖ √k(x, x), or less where x is near the vectors,
            and what rounding can add. Of classes in pairs, whose decision values count the pairs that they
            win, that many pairs as may change.
        """
        if not self.columns_.in_pairs:
            bound = _bound(self, self._validated(X).X, diagonal)
            return np.asarray(bound[:, 0] if bound.shape[1] == 1 else bound)
        decision, bound = self._of_columns(X, diagonal)
        low, high = self.columns_.enclosed(decision, bound)
        middle = self.columns_.values(decision).astype(np.float64)
        return np.asarray(np.maximum(high - middle, middle - low))

    @available_if(_is_compressed)
    def certain(self: Any, X: Any, *, diagonal: Any = None) -> np.ndarray:
        """Return for every row whether its label is certainly the one from before ``compress``.

        Parameters
        ----------
        X, diagonal
            As in :meth:`decision_bound`.
        """
        return settled(self.columns_, *self._of_columns(X, diagonal))

    def _of_columns(self: Any, X: Any, diagonal: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the decision values (n, columns) and their bounds: of the pairs, where classes are so."""
        rows = self._validated(X)
        return to_numpy(self._decide(rows)), _bound(self, rows.X, diagonal)


def _bound(classifier: Any, X: Any, diagonal: Any) -> np.ndarray:
    """Return the bounds (n, columns), some rows at a time."""
    found: Compression = classifier.compression_
    if classifier.kernel == "precomputed":
        if diagonal is None:
            raise ValueError(
                "The bound on a decision value needs k(x, x) of every row, which a precomputed kernel does "
                "not tell. Pass diagonal=, an array of them."
            )
        return found.bound(np.asarray(diagonal, dtype=np.float64))
    kernel, k = classifier.kernel_, found.n_vectors
    terms = X.shape[1] * getattr(kernel, "degree", 1) + k + 96
    rounding = terms * float(np.finfo(np.float64).eps)
    rows: Any = ArrayRows(X).to_compare(np.arange(X.shape[0])).astype(np.float64)
    vectors: Any = samples_of(classifier.X_fit_).to_compare(classifier.support_)
    span = Span(vectors.astype(np.float64), kernel, rounding) if k else None
    out = np.empty((rows.shape[0], len(found.distance)))
    for a, b in blocks(len(out), max(1, _BLOCK // max(1, k))):
        diagonal = diagonal_of(rows[a:b], kernel) * (1 + rounding)
        with np.errstate(over="ignore", invalid="ignore"):  # a bound that is no number gives way to the other
            out[a:b] = found.bound(diagonal, None if span is None else span.distances(rows[a:b], diagonal))
    return out
