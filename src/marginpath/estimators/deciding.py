"""The short way from rows to decision values: checks that cost little, and compiled sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.utils import get_tags

from ..arrays import all_finite
from ..prediction import Predictor

_FEW = 2**14
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
    return bool(np.isfinite(values).all()) if values.size < _FEW else all_finite(values)


def compiled_sums(
    classifier: Any, X: Any, coef: Any, parts: tuple[Any, ...], pack: Callable[[], Predictor | None]
) -> np.ndarray | None:
    """Return Σ_j coef[k, j] k(x_i, z_j) by a compiled predictor, (n, columns); None where there is none.

    Parameters
    ----------
    classifier : classifier
        It owns the predictor, which is packed once.
    X : array
        Rows of any kind; not all have a predictor.
    coef : array (columns, vectors)
    parts : tuple
        What the predictor is packed of: where one is another object, it is packed anew.
    pack : callable
        Makes the predictor.
    """
    packed = _PACKED.get(classifier)
    if packed is None or not all(a is b for a, b in zip(packed[0], parts, strict=True)):
        packed = _PACKED[classifier] = (parts, pack())
    predictor = packed[1]
    return None if predictor is None or not predictor.takes(X) else predictor(X, coef)
