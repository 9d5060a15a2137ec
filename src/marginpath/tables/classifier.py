"""A classifier that takes tables as they come."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..estimators import (
    LinearMarginPathClassifier,
    MarginPathClassifier,
    UnscaledDataWarning,
    as_choice,
    watched,
)
from ..estimators.slimming import require_path
from ..files.records import register
from ..path.path import Status
from .encoder import TableEncoder
from .importance import FoldModels, FoldWatch, Importance, permutation_importance

#: Rows up to which a Gaussian kernel is tried beside the linear classifier, where none is asked for.
KERNEL_ROWS = 20_000
_DEFAULTS: dict[str, Any] = {"class_weight": None, "scoring": None, "cv": 5, "random_state": None}


def _tells_probabilities(self: TablePathClassifier) -> bool:
    """Raise where the classifier inside has none."""
    inner = getattr(self, "classifier_", None) or self.classifier or MarginPathClassifier()
    return getattr(inner, "predict_proba", None) is not None


def _compresses(self: TablePathClassifier) -> bool:
    """Raise where the classifier inside has no vectors."""
    inner = getattr(self, "classifier_", None) or self.classifier or MarginPathClassifier()
    return getattr(inner, "compress", None) is not None


@register
class TablePathClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Large-margin classifier of raw tables: text, dates, categories, missing values and all.

    A :class:`TableEncoder` makes features of the columns and a path classifier learns from them. All that the
    fitted classifier has is here too: ``step_``, ``cv_results_``, ``margin_bounds_``, ``coefficients``, ….

    Parameters
    ----------
    classifier : MarginPathClassifier or LinearMarginPathClassifier, optional
        None follows a linear path and, on tables that are not text alone, the path of a Gaussian kernel
        too, and keeps the one that the folds find better.
    kinds : dict, optional
        What some columns are, if not what they look like: {"zip": "category", "remark": "text"}.
    scale : bool
        Whether numbers are scaled.
    class_weight, scoring, cv, random_state
        Of the classifier that None stands for, as in :class:`MarginPathClassifier`.

    Attributes
    ----------
    columns_ : dict of str → ColumnReport
        What was made of each column, and why.
    encoder_ : TableEncoder
    classifier_ : the fitted classifier
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn; features are the columns of the table.

    Examples
    --------
    >>> import marginpath as mp, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.choice(["cat", "rabbit"], 80)
    >>> pets = pd.DataFrame({
    ...     "ears": np.where(kind == "cat", 6.0, 11.0) + rng.normal(size=80),
    ...     "food": np.where(rng.random(80) < 0.1, None, np.where(kind == "cat", "fish", "hay")),
    ...     "joined": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, 80), "D"),
    ... })
    >>> clf = mp.TablePathClassifier(random_state=0).fit(pets, kind)
    >>> print(clf.columns_["food"])
    category: 2 levels, 3 features
    >>> bool(clf.score(pets, kind) > 0.95), clf.at(1).predict(pets[:1]).shape
    (True, (1,))
    >>> clf.importance().names[-1]
    'joined'
    """

    def __init__(
        self,
        classifier: Any = None,
        *,
        kinds: Mapping[str, str] | None = None,
        scale: bool = True,
        class_weight: Any = None,
        scoring: Any = None,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.kinds = kinds
        self.scale = scale
        self.class_weight = class_weight
        self.scoring = scoring
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Encode the columns and follow the path.

        Parameters
        ----------
        X : data frame of pandas or polars, or array
        y : array or series (n_rows,)
            Class labels.
        sample_weight : array (n_rows,), optional
        **params
            As in :meth:`MarginPathClassifier.fit`.
        """
        labels = np.asarray(y)
        gaps = [i for i, label in enumerate(labels.tolist()) if label is None or label != label]
        if gaps:
            raise ValueError(
                f"y has no value in {len(gaps)} rows, such as row {gaps[0]}: leave those rows out."
            )
        self.encoder_ = TableEncoder(self.kinds, scale=self.scale)
        features = self.encoder_.fit_transform(X)
        self.columns_ = self.encoder_.columns_
        candidates = self._candidates(features)
        found = best_fit(candidates, features, labels, sample_weight=sample_weight, **params)
        self.classifier_, self.fold_models_ = found
        self.classes_ = self.classifier_.classes_
        self.feature_names_in_, self.n_features_in_ = (
            self.encoder_.feature_names_in_,
            self.encoder_.n_features_in_,
        )
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of every row."""
        return np.asarray(self._fitted().predict(self.encode(X)))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return f(x) for every row: (n_rows,) for two classes, else (n_rows, n_classes)."""
        return np.asarray(self._fitted().decision_function(self.encode(X)))

    @available_if(_tells_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of every class."""
        return np.asarray(self._fitted().predict_proba(self.encode(X)))

    @available_if(_tells_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of the probabilities."""
        return np.asarray(np.log(self.predict_proba(X)))

    @available_if(_tells_probabilities)
    def predict_set(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Return which classes each row may have: :meth:`MarginPathClassifier.predict_set`."""
        return np.asarray(self._fitted().predict_set(self.encode(X), coverage))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the predicted classes after every step."""
        yield from self._fitted().staged_predict(self.encode(X))

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the decision values after every step."""
        yield from self._fitted().staged_decision_function(self.encode(X))

    def at(self, step: int) -> Self:
        """Return the classifier as it stood after that many steps, fitted, beside this one."""
        return self._with(self._fitted().at(step))

    def slim(self, *, rounded: bool = False) -> Self:
        """Return the classifier without its path and its training rows: :meth:`MarginPathClassifier.slim`."""
        return self._with(self._fitted().slim(rounded=rounded))

    @available_if(_compresses)
    def compress(self, n_vectors: Any = None, *, tol: Any = None, refit: str = "auto") -> Self:
        """Return a classifier with fewer vectors: :meth:`MarginPathClassifier.compress`."""
        return self._with(self._fitted().compress(n_vectors, tol=tol, refit=refit))

    @available_if(_compresses)
    def decision_bound(self, X: Any) -> np.ndarray:
        """Return a bound on the difference of the decision values before and after ``compress``."""
        return np.asarray(self._fitted().decision_bound(self.encode(X)))

    @available_if(_compresses)
    def certain(self, X: Any) -> np.ndarray:
        """Return for every row whether its label is certainly the one from before ``compress``."""
        return np.asarray(self._fitted().certain(self.encode(X)))

    def _with(self, classifier: Any) -> Self:
        """Return a copy with another classifier inside, which has no folds."""
        other = copy.copy(self)
        other.classifier_, other.fold_models_ = classifier, None
        return other

    def importance(self, scoring: Any = None, *, n_repeats: int = 5, seed: int = 0) -> Importance:
        """Return which columns matter: the score that held-out rows lose where a column is shuffled.

        The folds of the fit judge the rows they did not see; nothing is fitted again.

        Parameters
        ----------
        scoring : str or callable, optional
            The classifier's own by default, or the accuracy.
        n_repeats : int
            How often each column is shuffled.
        seed : int
        """
        classifier = self._fitted()
        require_path(classifier, "Importance")
        if self.fold_models_ is None:
            raise ValueError(
                "Importance needs the folds of the fit at the kept step: use stopping='cv' on NumPy arrays, "
                "and ask the classifier that was fitted, not one of its other steps."
            )
        settings: dict[str, Any] = {"scoring": scoring, "n_repeats": n_repeats, "seed": seed}
        return permutation_importance(classifier, self.fold_models_, self.encoder_.blocks_, **settings)

    def encode(self, X: Any) -> Any:
        """Return the features of a table."""
        check_is_fitted(self, "classifier_")
        return self.encoder_.transform(X)

    def _fitted(self) -> Any:
        """Return the fitted classifier, or raise where there is none yet."""
        check_is_fitted(self, "classifier_")
        return self.classifier_

    def __getattr__(self, name: str) -> Any:
        """Return what the fitted classifier has."""
        inner = self.__dict__.get("classifier_")
        if inner is None or name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}, or has it once fitted.")
        return getattr(inner, name)

    def __sklearn_tags__(self) -> Any:
        """Say that it takes text and gaps."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags

    def _candidates(self, features: Any) -> list[Any]:
        """Return the classifiers to follow, of which the folds choose."""
        own = {name: getattr(self, name) for name in _DEFAULTS}
        if self.classifier is not None:
            if twice := [name for name, value in own.items() if value != _DEFAULTS[name]]:
                raise ValueError(f"Set {twice[0]} of the classifier that is given, not of the table's.")
            return [clone(self.classifier)]
        linear = LinearMarginPathClassifier(**own)
        if sp.issparse(features) or features.shape[0] > KERNEL_ROWS:
            return [linear]
        return [linear, MarginPathClassifier(gamma=wide_gamma(features), **own)]


def wide_gamma(features: np.ndarray) -> float:
    """Return half of gamma="scale": encoded tables have columns that say nothing, and like it wider.

    Examples
    --------
    >>> wide_gamma(np.array([[0.0], [2.0]]))
    0.5
    """
    return 0.5 / (features.shape[1] * float(features.var()) or 1.0)


def best_fit(candidates: list[Any], X: Any, y: Any, **params: Any) -> tuple[Any, FoldModels | None]:
    """Fit all and return the one that its folds find best, the first of equals, with their models.

    Examples
    --------
    >>> import marginpath as mp
    >>> from sklearn.datasets import make_moons
    >>> ways = [mp.LinearMarginPathClassifier(), mp.MarginPathClassifier()]
    >>> type(best_fit(ways, *make_moons(100, noise=0.1, random_state=0))[0]).__name__
    'MarginPathClassifier'
    """
    best, folds, begin = None, None, time.monotonic()
    for candidate in candidates:
        if best is not None and candidate.time_limit is not None:
            if (left := candidate.time_limit - (time.monotonic() - begin)) <= 0:
                break
            candidate.set_params(time_limit=left)
        watch = FoldWatch()
        with watched(watch), warnings.catch_warnings():
            warnings.simplefilter("ignore", UnscaledDataWarning)  # the encoder chose the scales, or was told
            candidate.fit(X, y, **params)
        if best is None or _score(candidate) > _score(best):
            best, folds = candidate, watch.kept(candidate)
        if candidate.path_.ended is Status.INTERRUPTED:
            break
    return best, folds


def _score(classifier: Any) -> float:
    """Return the mean score of the folds at the kept step."""
    error = as_choice(classifier).error
    assert error is not None
    return 1 - float(error[0][classifier.step_ - 1])
