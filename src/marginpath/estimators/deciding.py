"""The short way from rows to decision values: checks that cost little, and compiled sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.utils import get_tags

from ..arrays import all_finite, blocks
from ..gram.samples import AnyRows, rows_of
from ..parallel import available, for_all, one_blas_thread
from ..prediction import Predictor, predictor_of
from ..validation.columns import Columns, settled

_FEW = 2**14
_FIRST, _ENOUGH = 512, 0.5  # rows that are tried, and the share of them that quick values must settle
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))

#: What was packed for each classifier, and of what; beside it, so that no file or copy carries it.
_PACKED: WeakKeyDictionary[Any, tuple[tuple[Any, ...], Predictor | None]] = WeakKeyDictionary()


def is_plain(classifier: Any, X: Any) -> bool:
    """Whether scikit-learn's checks would return these rows as they are: most rows are so.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> clf = SVC().fit([[0.0], [1.0]], [0, 1])
    >>> is_plain(clf, np.ones((1, 1))), is_plain(clf, np.array([[np.nan]]))
    (True, False)
    """
    known = classifier.__dict__
    if type(X) is np.ndarray:
        if X.ndim != 2 or not X.flags.c_contiguous:
            return False
    elif not (sp.issparse(X) and X.format == "csr" and get_tags(classifier).input_tags.sparse):
        return False
    if X.dtype not in _FLOATS or X.shape[1] != known.get("n_features_in_") or not X.shape[0]:
        return False
    if "feature_names_in_" in known:  # of which scikit-learn has to warn
        return False
    return get_config()["assume_finite"] or _is_finite(X if type(X) is np.ndarray else X.data)


def _is_finite(values: np.ndarray) -> bool:
    """Whether no value is NaN or infinite; of a few rows, without a guard against sums that overflow."""
    if values.size < _FEW:
        return bool(np.isfinite(values).all())
    found: list[bool] = []
    parts = [values[a:b] for a, b in blocks(len(values), -(-len(values) // available()))]
    for_all(lambda part: found.append(all_finite(part)), parts, len(parts))
    return all(found)


def packed(classifier: Any, parts: tuple[Any, ...], pack: Callable[[], Predictor | None]) -> Predictor | None:
    """Return the predictor of a classifier, packed once.

    Parameters
    ----------
    classifier : classifier
    parts : tuple
        What the predictor is packed of: where one is another object, it is packed anew.
    pack : callable
        Makes the predictor, or None where there is none.
    """
    found = _PACKED.get(classifier)
    if found is None or not all(a is b for a, b in zip(found[0], parts, strict=True)):
        found = _PACKED[classifier] = (parts, pack())
    return found[1]


def kernel_predictor(classifier: Any, X: Any) -> Predictor | None:
    """Return the predictor of a kernel classifier, or None where there is none for its kernel or the rows."""
    if classifier.kernel == "precomputed":
        return None
    parts = classifier.X_fit_, classifier.support_, classifier.kernel, classifier.gamma_
    found = packed(classifier, parts, lambda: predictor_of(classifier.support_vectors_, classifier.kernel_))
    return found if found is not None and found.takes(X) else None


def decisions_for_labels(classifier: Any, decide: Callable[[AnyRows], Any], rows: AnyRows) -> Any:
    """Return decision values (n, columns) with the labels of what ``decide`` says, of many in float32."""
    predictor = kernel_predictor(classifier, rows.X)
    bounded = None if predictor is None else predictor.bounded(rows.X, classifier.dual_coef_)
    if bounded is None:
        return decide(rows)

    def quick(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sums, bound = bounded(X)
        decision = sums + classifier.intercept_
        return decision, bound + np.finfo(decision.dtype).eps * np.abs(decision)

    with one_blas_thread():  # the threads are ours
        return settled_decisions(rows.X, quick, lambda X: np.asarray(decide(rows_of(X))), classifier.columns_)


def settled_decisions(
    X: np.ndarray,
    quick: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    decide: Callable[[np.ndarray], np.ndarray],
    columns: Columns,
) -> np.ndarray:
    """Return the quick decision values where their bound settles the label, and the others anew.

    Where few of the first rows are settled, all others are decided at once.

    Examples
    --------
    >>> from marginpath.validation.columns import OneVsRest
    >>> settled_decisions(np.ones((2, 1)), lambda X: (X / 3, X), np.copy, OneVsRest(2))
    array([[1.],
           [1.]])
    """

    def decided(X: np.ndarray) -> tuple[np.ndarray, float]:
        values, bound = quick(X)
        sure = settled(columns, values, bound)
        if not sure.all():
            values[~sure] = decide(X[~sure])
        return values, float(sure.mean())

    first, share = decided(X[:_FIRST])
    if len(X) <= _FIRST:
        return first
    others = decided(X[_FIRST:])[0] if share > _ENOUGH else decide(X[_FIRST:])
    return np.concatenate([first, others])
