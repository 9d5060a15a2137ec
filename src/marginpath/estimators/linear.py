"""The linear classifier."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..arrays import Array, beside, is_numpy
from ..files.records import register
from ..gram.choose import diagonal_of, with_gram
from ..gram.products import transposed_product, transposed_product_about
from ..gram.samples import AnyRows
from ..kernels.centred import linear_about
from ..kernels.functions import Linear
from ..prediction import weights_of
from .base import BasePathClassifier
from .deciding import packed
from .path_fit import Followed, Follower
from .scales import warn_of_scales


@register
class LinearMarginPathClassifier(BasePathClassifier):
    """Large-margin linear classifier that chooses its own amount of regularization.

    The path and the stopping of :class:`MarginPathClassifier` for f(x) = ⟨w, x⟩ + b, on dense or sparse
    features. Beyond some 10,000 rows there is no n × n matrix: a step costs a few passes over the features
    for each class and fold, of dense ones by products of matrices. Dense columns that are far from 0 for
    their spread, such as years, are taken about their mean, in a copy, where the intercept is not penalized.

    Parameters
    ----------
    method, schedule, stopping, cv, scoring, selection, noise_level, validation_fraction, n_iter_no_change, \
tol, max_iter, time_limit, class_weight, calibration, warm_start, n_jobs, random_state, verbose
        As in :class:`MarginPathClassifier`.
    path_tol : "auto" or float
        Duality gap of every step, over its objective. "auto": 0.001, and 0.01 where features are swept over,
        from some 10,000 rows on.
    fit_intercept : bool
        Whether there is an intercept, which is not penalized. Algorithms 1 and 2, clusters, stopping="margin"
        and :class:`marginpath.LeaveOneOut` add a constant feature instead, whose weight is penalized.
    multi_class : {"auto", "ovr", "ovo"}
        More than two classes: each against the rest, which is "auto", or each pair of them.
    intercept_scaling : float
        The square of that feature is a tenth of the mean of ‖x‖², times the square of this.

    Attributes
    ----------
    coef_ : array (n_columns, n_features)
    intercept_ : array (n_columns,)
        Two classes share one column. In float64 where ``centre_`` is not None, for sums that cancel.
    centre_ : array (n_features,) or None
        The mean that the path took rows about; ``coef_`` and ``intercept_`` are of rows as they are given.
    classes_, step_, n_iter_, C_, method_, schedule_, multi_class_, columns_, constant_, \
X_fit_, codes_, path_, models_, cv_results_, out_of_fold_, out_of_fold_proba_, calibrator_, conformal_, \
margin_bounds_, margin_proofs_, separable_, n_features_in_, feature_names_in_
        As in :class:`MarginPathClassifier`.

    Examples
    --------
    >>> import marginpath as mp
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = mp.LinearMarginPathClassifier(random_state=0).fit(StandardScaler().fit_transform(X), y)
    >>> clf.coef_.shape, bool(max(clf.cv_results_["mean_test_score"]) > 0.96)
    ((1, 30), True)
    """

    _swept = "features"

    def __init__(
        self,
        *,
        method: str = "auto",
        schedule: Any = "auto",
        stopping: Any = "cv",
        cv: Any = 5,
        scoring: Any = None,
        selection: str = "smooth",
        noise_level: float | None = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | str = "auto",
        tol: float = 1e-4,
        max_iter: int | str = "auto",
        time_limit: float | None = None,
        path_tol: float | str = "auto",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        multi_class: str = "auto",
        calibration: str = "temperature",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.method = method
        self.schedule = schedule
        self.stopping = stopping
        self.cv = cv
        self.scoring = scoring
        self.selection = selection
        self.noise_level = noise_level
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.path_tol = path_tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.calibration = calibration
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _warn_of_scales(self, X: Any, codes: np.ndarray) -> None:
        names = getattr(self, "feature_names_in_", None)
        warn_of_scales(X, codes, names, hidden=10.0, apart=self.constant_ > 0, who=type(self).__name__)

    def _diagonal(self, X: Any) -> np.ndarray:
        return diagonal_of(X, Linear())

    def _search(self, X: Any, follower: Follower) -> Followed:
        return with_gram(X, linear_about(self.centre_), follower.follow, constant=self.constant_)

    def _attributes_at(self, step: int) -> dict[str, Any]:
        weights = self._weights(beside(self._expansion(step), self.X_fit_))
        return {**super()._attributes_at(step), "coef_": weights.T}

    def _expansion(self, step: int) -> np.ndarray:
        """Return the coefficients, in NumPy as precise as they were found: w has sums that cancel."""
        if not is_numpy(self.X_fit_):
            return self.coefficients(step)
        return np.asarray(-self.columns_.signs(self.codes_) * self.models_.u(step))

    def _decide(self, rows: AnyRows) -> Array:
        predictor = packed(self, (self.coef_,), partial(weights_of, self.coef_))
        if predictor is not None and predictor.takes(rows.X):
            return predictor(rows.X, self.coef_) + self.intercept_
        return rows.product(self.coef_.T) + self.intercept_

    def _decide_by(self, rows: AnyRows, coefficients: Array) -> Array:
        return rows.product(self._weights(coefficients))

    def _weights(self, coefficients: Array) -> Array:
        """Return Xᵀ times the coefficients, summed in float64 in NumPy: far from 0 their sums cancel."""
        X = self.X_fit_
        if not is_numpy(X):
            return X.T @ coefficients
        wide = coefficients.astype(np.float64)
        if self.centre_ is None:
            return transposed_product(X, wide).astype(X.dtype)
        return transposed_product_about(X, self.centre_, wide)  # in float64, as ⟨w, x⟩ and b cancel

    @property
    def _coefficient_dtype(self) -> np.dtype[Any]:
        """Float64 about a centre: weights that are rounded belong to another intercept."""
        return super()._coefficient_dtype if self.centre_ is None else np.dtype(np.float64)

    def _at_centre(self, coefficients: Array) -> Any:
        return 0 if self.centre_ is None else self.centre_.astype(np.float64) @ self._weights(coefficients)
