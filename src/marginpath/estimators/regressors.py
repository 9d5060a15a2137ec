"""The regressors: a kernel, or features."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..files.records import register
from ..gram.base import Gram
from ..gram.choose import choose_gram, diagonal_of
from ..gram.products import transposed_product_about
from ..gram.samples import rows_of, samples_of
from ..kernels.centred import linear_about
from ..kernels.functions import Kernel
from ..path.path import Path
from ..validation.widths import default_widths
from .kernel_settings import KernelSettingsMixin
from .regression_base import BasePathRegressor

_DOUBLE = 4096  # rows up to which kernel values are kept in float64: 128 MB


@register
class MarginPathRegressor(KernelSettingsMixin, BasePathRegressor):
    """Kernel regression that chooses its own amount of regularization.

    One run solves min ½‖w‖² + C Σ ℓ(y_i − f(x_i)) for a C that grows from step to step, each to a duality gap
    and from the solution before, with the folds of a cross-validation side by side. The step with the best
    score is kept: the support vector regression (or ridge, median, quantile regression) at its C.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "poly", "linear", "precomputed"} or callable
    gamma : {"scale", "auto", "tuned"} or float
        As in scikit-learn's SVR. "tuned" follows a path for each of ten widths of kernel="rbf", and keeps the
        best.
    degree, coef0
        Of kernel="poly".
    loss : {"epsilon_insensitive", "squared", "absolute", "huber", "quantile"} or ResidualLoss
        What residuals cost. "huber" turns from a square into a line at one robust standard deviation of y.
    epsilon : "auto" or float
        Up to which a residual costs nothing with loss="epsilon_insensitive"; "auto" is a tenth of a robust
        standard deviation of y.
    quantile : float
        Of loss="quantile". The intercept is then set so that this share of the held-out targets lies below.
    schedule : "auto" or callable
        t → λ_t = 1/C; "auto" doubles C at every step.
    stopping : "cv" or None
        None keeps the last step.
    cv, scoring, selection
        As in :class:`MarginPathClassifier`; an int means shuffled folds. scoring=None takes the squared error
        for loss="squared", the quantile's loss for "quantile", and the absolute error else.
    path_tol : float
        The relative duality gap to which each step is solved.
    max_iter : "auto" or int
        Steps at most; "auto" is 40.
    time_limit : float, optional
        Seconds.
    landmarks : int, "auto" or None
        So many training rows stand for all in the kernel, as in :class:`MarginPathClassifier`; "auto" has
        landmarks only where the kernel values do not fit into the memory.
    fit_intercept : bool
        Targets are taken relative to their mean, median or quantile, and a constant, the mean of k(x, x), is
        added to the kernel.
    warm_start : bool
        Go on with the last path, on the same data, where max_iter is larger.
    n_jobs : int, optional
        Threads; None takes all cores.
    random_state : int, RandomState or None
        Of folds and sweeps.

    Attributes
    ----------
    step_, C_, n_iter_ : int, float, int
        The step that is kept, its C, and how many were taken.
    support_, dual_coef_, intercept_
        f(x) = Σ_i dual_coef_i k(x_i, x) + intercept over the samples, or landmarks, with a coefficient.
    landmarks_ : array of int or None
        The rows that are landmarks.
    loss_, gamma_, cv_results_, out_of_fold_, path_, X_fit_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> import marginpath as mp
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = mp.MarginPathRegressor(random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.4), model.step_ <= model.n_iter_
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BasePathRegressor._parameter_constraints,
        "kernel": [StrOptions({"rbf", "laplacian", "poly", "linear", "precomputed"}), callable],
        "gamma": [StrOptions({"scale", "auto", "tuned"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Real, 1, None, closed="left")],
        "coef0": [Real],
        "landmarks": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        loss: Any = "epsilon_insensitive",
        epsilon: Any = "auto",
        quantile: float = 0.5,
        schedule: Any = "auto",
        stopping: Any = "cv",
        cv: Any = 5,
        scoring: Any = None,
        selection: str = "smooth",
        path_tol: float = 1e-3,
        max_iter: int | str = "auto",
        time_limit: float | None = None,
        landmarks: int | str | None = "auto",
        fit_intercept: bool = True,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.epsilon = epsilon
        self.quantile = quantile
        self.schedule = schedule
        self.stopping = stopping
        self.cv = cv
        self.scoring = scoring
        self.selection = selection
        self.path_tol = path_tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.landmarks = landmarks
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Say what it takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    def _prepare(self, X: Any, sample_weight: np.ndarray | None) -> None:
        if self.gamma == "tuned" and not (self.kernel == "rbf" and self.stopping == "cv"):
            raise ValueError(
                f"gamma='tuned' chooses the width of kernel='rbf' by stopping='cv'; got kernel="
                f"{self.kernel!r} and stopping={self.stopping!r}."
            )
        self.gamma_ = self._resolved_gamma(X, sample_weight)
        self.constant_ = _constant(X, self.kernel_, sample_weight) if self.fit_intercept else 0.0

    def _follow(self, X: Any, follow: Callable[[Gram], Path], before: Path | None) -> Path:
        if self.gamma != "tuned" or before is not None:
            return follow(self._gram(X))
        best: Path | None = None
        for sigma in default_widths(X, 10, 1 / 8, 4.0).tolist():
            self.gamma_ = gamma = 1 / (2 * sigma**2)
            path = follow(self._gram(X))
            if best is None or _best_score(path) > _best_score(best):
                best, best_gamma, best_landmarks = path, gamma, self.landmarks_
        assert best is not None
        self.gamma_, self.landmarks_ = best_gamma, best_landmarks
        return best

    landmarks_: np.ndarray | None
    support_: np.ndarray

    def _gram(self, X: Any) -> Gram:
        place: dict[str, Any] = {"landmarks": self.landmarks, "seed": self._seed}
        if self.kernel_ is not None and self.centre_ is None and X.shape[0] > _DOUBLE:
            X = X.astype(np.float32, copy=False)  # what that rounds is far below path_tol
        gram = choose_gram(X, self.kernel_, constant=self.constant_, **place)
        self.landmarks_ = gram.chosen
        return gram

    def _expansion(self, step: int) -> np.ndarray:
        if self.landmarks_ is None:
            return self.coefficients(step)
        return np.asarray(self.path_.rows.at("landmark_coef", step), dtype=np.float64).ravel()[:-1]

    def _values(self, X: Any, coefficients: np.ndarray) -> np.ndarray:
        if self.kernel == "precomputed":
            return np.asarray(X @ coefficients)
        support = np.flatnonzero(coefficients)
        return self._sum(
            X, support if self.landmarks_ is None else self.landmarks_[support], coefficients[support]
        )

    def _kept(self, X: Any) -> np.ndarray:
        if self.kernel == "precomputed":
            return np.asarray(X[:, self.support_] @ self.dual_coef_[0])
        return self._sum(X, self.support_, self.dual_coef_[0])

    def _sum(self, X: Any, rows: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """Return Σ_i a_i k(x_i, x) over some of the samples that are there."""
        samples, kernel = samples_of(self.X_fit_).take(rows), self.kernel_
        assert kernel is not None
        product = rows_of(X).kernel_product(samples, kernel, coefficients[:, None].astype(X.dtype))
        return np.asarray(product)[:, 0]

    def _samples_kept(self) -> dict[str, Any]:
        if self.kernel == "precomputed":
            return {}
        vectors, support = samples_of(self.X_fit_).take(self.support_), np.arange(len(self.support_))
        return {"X_fit_": vectors, "support_": support, "landmarks_": None}

    def _attributes_at(self, step: int) -> dict[str, Any]:
        coef = self._expansion(step)
        used = np.flatnonzero(coef)
        support = used if self.landmarks_ is None else self.landmarks_[used]
        return {**super()._attributes_at(step), "support_": support, "dual_coef_": coef[used][None]}


@register
class LinearMarginPathRegressor(BasePathRegressor):
    """Linear regression that chooses its own amount of regularization, on dense or sparse features.

    The path and the choice of :class:`MarginPathRegressor` for f(x) = ⟨w, x⟩ + b. More than 8,192 rows are
    solved without any n × n matrix.

    Parameters
    ----------
    loss, epsilon, quantile, schedule, stopping, cv, scoring, selection, path_tol, max_iter, time_limit, \
fit_intercept, warm_start, n_jobs, random_state
        As in :class:`MarginPathRegressor`.

    Attributes
    ----------
    coef_ : array (n_features,)
    intercept_ : float
    step_, C_, n_iter_, loss_, cv_results_, out_of_fold_, path_, X_fit_, n_features_in_, feature_names_in_
        As in :class:`MarginPathRegressor`.

    Examples
    --------
    >>> import marginpath as mp
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = mp.LinearMarginPathRegressor(loss="absolute", random_state=0).fit(X[:300], y[:300])
    >>> model.coef_.shape, bool(model.score(X[300:], y[300:]) > 0.4)
    ((10,), True)
    """

    def __init__(
        self,
        *,
        loss: Any = "epsilon_insensitive",
        epsilon: Any = "auto",
        quantile: float = 0.5,
        schedule: Any = "auto",
        stopping: Any = "cv",
        cv: Any = 5,
        scoring: Any = None,
        selection: str = "smooth",
        path_tol: float = 1e-3,
        max_iter: int | str = "auto",
        time_limit: float | None = None,
        fit_intercept: bool = True,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.epsilon = epsilon
        self.quantile = quantile
        self.schedule = schedule
        self.stopping = stopping
        self.cv = cv
        self.scoring = scoring
        self.selection = selection
        self.path_tol = path_tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _prepare(self, X: Any, sample_weight: np.ndarray | None) -> None:
        kernel = linear_about(self.centre_)
        self.constant_ = _constant(X, kernel, sample_weight) if self.fit_intercept else 0.0

    def _follow(self, X: Any, follow: Callable[[Gram], Path], before: Path | None) -> Path:
        return follow(choose_gram(X, linear_about(self.centre_), constant=self.constant_))

    def _values(self, X: Any, coefficients: np.ndarray) -> np.ndarray:
        return np.asarray(X @ self._weights(coefficients))

    def _kept(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.coef_)

    def _samples_kept(self) -> dict[str, Any]:
        return {}

    def _attributes_at(self, step: int) -> dict[str, Any]:
        return {**super()._attributes_at(step), "coef_": self._weights(self.coefficients(step))}

    def _weights(self, coefficients: np.ndarray) -> np.ndarray:
        if self.centre_ is None:
            return np.asarray(self.X_fit_.T @ coefficients)
        return transposed_product_about(self.X_fit_, self.centre_, coefficients)

    def _intercept(self, coefficients: np.ndarray) -> float:
        about = super()._intercept(coefficients)
        return about if self.centre_ is None else about - float(self.centre_ @ self._weights(coefficients))


def _constant(X: Any, kernel: Kernel | None, sample_weight: np.ndarray | None) -> float:
    """Return what is added to the kernel: the mean of k(x, x), with which the penalty is hardly felt."""
    mean = float(np.average(diagonal_of(X, kernel), weights=sample_weight))
    return mean if mean > 0 else 1.0


def _best_score(path: Path) -> float:
    return float(path["scores"][1:].mean(axis=1).max())
