"""What the two regressors share: the fit, the path afterwards, the steps on it."""

from __future__ import annotations

import copy
import time
import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import parallel
from ..gram.base import Gram
from ..gram.fingerprints import data_digest
from ..gram.samples import samples_of
from ..kernels.centred import far_centre
from ..losses import Absolute, EpsilonInsensitive, Huber, LeastSquares, Quantile, ResidualLoss
from ..parallel import one_blas_thread
from ..path.path import Path, Status
from ..schedules import GeometricDecay
from ..solvers import ResidualSweeps
from ..validation.regression_path import RegressionValidation, location
from ..validation.selection import SELECTIONS
from .slimming import is_slim, require_path
from .warm_start import defined_by, require_same

_STEPS = 40
_SWEEPS, _WORK = (50, 500), 5e8  # at each step: the fewest and the most, and numbers read by them in between
_LOSSES = ("squared", "absolute", "huber", "epsilon_insensitive", "quantile")


class BasePathRegressor(RegressorMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """A regressor that is one step of a path; subclasses say where the Gram matrix comes from."""

    #: What a warm start must find again; None where the last fit was not to be gone on with.
    _definition: dict[str, Any] | None = None
    #: The mean of rows that are far from 0, where the path is that of rows about it.
    centre_: np.ndarray | None = None
    X_fit_: Any

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "loss": [StrOptions(set(_LOSSES)), ResidualLoss],
        "epsilon": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
        "schedule": [StrOptions({"auto"}), callable],
        "stopping": [StrOptions({"cv"}), None],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "selection": [StrOptions(set(SELECTIONS))],
        "path_tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "fit_intercept": ["boolean"],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Follow the path and keep the step that cross-validation chooses.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Training samples; for kernel="precomputed", their kernel matrix.
        y : array (n_samples,)
            Targets.
        sample_weight : array (n_samples,), optional
            How often each sample counts.
        groups : array (n_samples,), optional
            For a splitter that asks for them.

        Returns
        -------
        self
        """
        begin = time.monotonic()
        X, y = self._check(X, y, ensure_min_samples=2, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            if not sample_weight.any():
                raise ValueError("All sample weights are zero: nothing is left to learn from.")
        definition = None
        self.__dict__.pop("fit_facts_", None)  # of a slim regressor that is fitted again
        if self.warm_start:
            settings = self.get_params(deep=False)
            definition = defined_by(settings, X, np.empty(0), y, sample_weight, groups)
            if self._definition is not None:
                require_same(self._definition, definition)
        before = self.path_ if definition is not None and self._definition is not None else None
        if before is None:
            self._definition = None  # should this fit fail, there is nothing to go on with
            self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.X_fit_, self.loss_ = X, self._resolved_loss(y, sample_weight)
        splits = self._splits(X, y, groups)

        def follow(gram: Gram) -> Path:
            given = self.loss_, self.scoring, sample_weight, self.fit_intercept
            validation = RegressionValidation(gram, y, splits, *given)
            left = None if self.time_limit is None else max(begin + self.time_limit - time.monotonic(), 1e-9)
            steps = _STEPS if self.max_iter == "auto" else int(self.max_iter)
            steps = steps if before is None else max(0, steps - before.last.t)
            schedule = None if self.schedule == "auto" else self.schedule
            sweeps = int(np.clip(_WORK / (gram.numbers * (len(splits) + 1)), *_SWEEPS))
            solver = ResidualSweeps(self.loss_, schedule, tol=self.path_tol, sweeps=sweeps, seed=self._seed)
            self._validation = validation
            return validation.run(solver, steps, before=before, time_limit=left)

        with parallel.limited(self.n_jobs), one_blas_thread():
            if before is None:
                self.centre_ = self._far_centre(X, sample_weight) if self.fit_intercept else None
                self._prepare(X, sample_weight)
            path = self._follow(X, follow, before)
        self._keep(path, y, sample_weight)
        self._definition = definition
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return f(x) of every row of X."""
        check_is_fitted(self)
        return np.asarray(self._kept(self._check(X, reset=False)) + self.intercept_)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the predictions after every step: 1, 2, …, n_iter_."""
        check_is_fitted(self)
        require_path(self, "staged_predict")
        X = self._check(X, reset=False)
        for step in range(1, self.n_iter_ + 1):
            yield np.asarray(self._predicted(X, step))

    def at(self, step: int) -> Self:
        """Return the regressor as it stood after that many steps, fitted, beside this one."""
        self._require_step(step)
        other = copy.copy(self)
        other.__dict__.update(self._attributes_at(int(step)))
        return other

    def slim(self) -> Self:
        """Return the regressor without its path and its training samples, for files and other machines.

        ``predict`` is the same, and ``fit_facts_`` says what the fit was; ``at``, ``staged_predict`` and what
        else needs the path says that it is missing.

        Examples
        --------
        >>> import pickle, marginpath as mp
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = mp.LinearMarginPathRegressor(random_state=0).fit(X, y)
        >>> slim = model.slim()
        >>> bool((slim.predict(X) == model.predict(X)).all())
        True
        >>> len(pickle.dumps(slim)) < len(pickle.dumps(model)) / 10
        True
        """
        check_is_fitted(self)
        slim = copy.copy(self)
        if is_slim(self):
            return slim
        slim.fit_facts_ = self.fit_facts()
        for name in ("path_", "cv_results_", "out_of_fold_", "_definition"):
            slim.__dict__.pop(name, None)
        del slim.X_fit_
        slim.__dict__.update(self._samples_kept())
        return slim

    fit_facts_: dict[str, Any]

    def fit_facts(self) -> dict[str, Any]:
        """Return what the fit was, in plain values."""
        facts: dict[str, Any] = {
            "samples": int(self.X_fit_.shape[0]),
            "gap": float(self.path_["gap"][self.path_.steps == self.step_][0]),
            "support": int(np.count_nonzero(self.coefficients(self.step_))),
            "data": data_digest(samples_of(self.X_fit_).codes(), self.n_features_in_),
        }
        if hasattr(self, "cv_results_"):
            names = ("mean", "std")
            facts |= {name: float(self.cv_results_[f"{name}_test_score"][self.step_ - 1]) for name in names}
        return facts

    def coefficients(self, step: int) -> np.ndarray:
        """Return a after that many steps, (n_samples,): f(x) = Σ_i a_i k(x_i, x) + intercept."""
        self._require_step(step)
        assert self.path_.models is not None
        return np.asarray(-self.path_.models.u(step)[:, 0])

    def __sklearn_tags__(self) -> Any:
        """Say what it takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _far_centre(self, X: Any, sample_weight: np.ndarray | None) -> np.ndarray | None:
        """Return what rows are taken about; None where that is 0."""
        return far_centre(X, sample_weight)

    @abstractmethod
    def _prepare(self, X: Any, sample_weight: np.ndarray | None) -> None:
        """Resolve settings that depend on the samples."""

    @abstractmethod
    def _follow(self, X: Any, follow: Callable[[Gram], Path], before: Path | None) -> Path:
        """Build the Gram matrix and follow the path on it."""

    @abstractmethod
    def _values(self, X: Any, coefficients: np.ndarray) -> np.ndarray:
        """Return Σ_i a_i k(x_i, x) of new rows over what they are a sum over, the constant left out."""

    @abstractmethod
    def _kept(self, X: Any) -> np.ndarray:
        """Return the same at the step that is kept, of what is there without the path."""

    @abstractmethod
    def _samples_kept(self) -> dict[str, Any]:
        """Return the attributes with the training samples that predictions need, and no others."""

    def _predicted(self, X: Any, step: int) -> np.ndarray:
        return self._values(X, self._expansion(step)) + self._intercept(self.coefficients(step))

    def _expansion(self, step: int) -> np.ndarray:
        """Return the coefficients of what predictions are a sum over: the samples."""
        return self.coefficients(step)

    def _intercept(self, coefficients: np.ndarray) -> float:
        return float(self.offset_ + self.constant_ * coefficients.sum())

    def _attributes_at(self, step: int) -> dict[str, Any]:
        """Return what the regressor is made of at a step."""
        assert self.path_.models is not None
        a = self.coefficients(step)
        return {"step_": step, "C_": self.path_.models.bound(step), "intercept_": self._intercept(a)}

    def _keep(self, path: Path, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Set what the fit leaves."""
        validation = self.__dict__.pop("_validation")
        step = validation.choose(path, self.selection)
        self.path_, self.n_iter_ = replace(path, observers={}), path.last.t
        self.offset_ = float(validation.locations[-1])
        for name in ("cv_results_", "out_of_fold_"):
            self.__dict__.pop(name, None)
        if validation.splits:
            self.cv_results_ = _cv_results(path)
            self.out_of_fold_ = path.rows.at("out_of_fold", int(np.flatnonzero(path.steps == step)[0]))
            if isinstance(self.loss_, Quantile) and self.fit_intercept:
                # As many held-out targets lie below as was asked for.
                seen = ~np.isnan(self.out_of_fold_)
                weights = np.ones(len(y)) if weight is None else weight
                self.offset_ += location((y - self.out_of_fold_)[seen], weights[seen], self.loss_)
        self.__dict__.update(self._attributes_at(step))
        self._warn(path, step)

    def _warn(self, path: Path, step: int) -> None:
        kept = f"step {step} is kept"
        gap = float(path["gap"][path.steps == step][0])
        if path.ended is Status.TIME_LIMIT:
            reason = f"The time limit of {self.time_limit} s was over after {path.last.t} steps; {kept}."
        elif path.ended is Status.INTERRUPTED:
            reason = f"Interrupted after {path.last.t} steps; {kept}."
        elif gap > 10 * self.path_tol:
            reason = f"The duality gap of the step that is kept, {step}, is {gap:.1e} of its objective."
        elif self.stopping == "cv" and path.running().any() and step == path.last.t > 1:
            reason = f"max_iter={path.last.t} was reached before the score fell; {kept}. Raise max_iter."
        else:
            return
        warnings.warn(reason, ConvergenceWarning, stacklevel=3)

    def _resolved_loss(self, y: np.ndarray, weight: np.ndarray | None) -> ResidualLoss:
        """Return the loss; what "auto" says is relative to the spread of the targets."""
        if isinstance(self.loss, ResidualLoss):
            return self.loss
        weight = np.ones(len(y)) if weight is None else weight
        spread = location(np.abs(y - location(y, weight, Absolute())), weight, Absolute()) / 0.6745
        mean = location(y, weight, LeastSquares())
        spread = spread or float(np.sqrt(np.average((y - mean) ** 2, weights=weight)))
        epsilon = 0.1 * spread if self.epsilon == "auto" else float(self.epsilon)
        makers: dict[str, Callable[[], ResidualLoss]] = {
            "squared": LeastSquares,
            "absolute": Absolute,
            "huber": lambda: Huber(spread or 1.0),
            "epsilon_insensitive": lambda: EpsilonInsensitive(epsilon),
            "quantile": lambda: Quantile(float(self.quantile)),
        }
        return makers[self.loss]()

    def _splits(self, X: Any, y: np.ndarray, groups: Any) -> list[np.ndarray]:
        if self.stopping is None:
            return []
        cv = self.cv
        if isinstance(cv, Integral):  # shuffled: files are often sorted by the target
            from sklearn.model_selection import KFold

            cv = KFold(min(int(cv), len(y)), shuffle=True, random_state=self._seed)
        from sklearn.model_selection import check_cv

        return [test for _, test in check_cv(cv, y).split(np.zeros(len(y)), y, groups)]

    def _require_step(self, step: int) -> None:
        check_is_fitted(self)
        require_path(self, "A step")
        if step not in range(1, (last := self.path_.last.t) + 1):
            raise ValueError(f"step must be a whole number from 1 to n_iter_ = {last}, got {step!r}.")

    def _check(self, X: Any, *y: Any, **settings: Any) -> Any:
        dtypes = [np.float64, np.float32]
        return validate_data(self, X, *y, accept_sparse="csr", dtype=dtypes, order="C", **settings)

    @property
    def schedule_(self) -> Callable[[int], float]:
        """T → λ_t, as it was resolved from the data."""
        solver: Any = self.path_.solver
        last: Any = self.path_.last
        return solver.schedule or GeometricDecay(last.start * solver.ratio, solver.ratio)


def _cv_results(path: Path) -> dict[str, Any]:
    """Return scikit-learn's table of scores, a row for each step."""
    scores, C = path["scores"][1:], path["bound"][1:]
    params = [{"step": int(step), "C": float(c)} for step, c in zip(path.steps[1:], C, strict=True)]
    return {
        "params": params,
        **{f"param_{name}": np.array([row[name] for row in params]) for name in params[0]},
        **{f"split{j}_test_score": column for j, column in enumerate(scores.T)},
        "mean_test_score": scores.mean(axis=1),
        "std_test_score": scores.std(axis=1),
        "rank_test_score": rankdata(-scores.mean(axis=1), method="min").astype(np.int32),
        "gap": path["gap"][1:],
    }
