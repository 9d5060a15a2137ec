"""What the two classifiers share: the fit, the path afterwards, the steps on it, probabilities."""

from __future__ import annotations

import copy
import time
from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_random_state, compute_sample_weight, get_tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import parallel
from ..arrays import Array, beside
from ..certificates.bounds import contradictory
from ..gram.base import Gram
from ..gram.samples import AnyRows, float_dtypes, rows_of, samples_of
from ..kernels.centred import far_centre
from ..parallel import one_blas_thread
from ..path.models import ModelHistory
from ..path.path import Path
from ..problem import Problem
from ..solvers.base import State
from ..validation.columns import MULTI_CLASS, class_codes, columns_for
from ..validation.selection import SELECTIONS
from .callbacks import WATCHERS, CallbackSupportMixin, Progress, StepCallbacks, with_callbacks
from .choices import CHOICES, as_choice
from .cross_validated import cv_results, warn_of_majority
from .deciding import is_plain
from .decisions import CALIBRATED, DecisionsMixin
from .path_fit import Choice, Followed, Follower
from .slimming import SlimMixin, require_path
from .warm_start import defined_by, require_same


class BasePathClassifier(SlimMixin, CallbackSupportMixin, DecisionsMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """A classifier that is one step of a path; subclasses say where the Gram matrix comes from."""

    #: What method="coordinate" runs on: kernel values of the "samples", or the "features".
    _swept: ClassVar[str] = "samples"
    #: What a warm start must find again; None where the last fit was not to be gone on with.
    _definition: dict[str, Any] | None = None
    #: The mean of rows that are far from 0, where the path is that of rows about it.
    centre_: np.ndarray | None = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "method": [StrOptions({"auto", "coordinate", "inertial", "gradient"})],
        "schedule": [StrOptions({"auto"}), callable],
        "stopping": [StrOptions(set(CHOICES)), callable, None],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
        "selection": [StrOptions(set(SELECTIONS))],
        "noise_level": [Interval(Real, 0, 1, closed="left"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "path_tol": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "multi_class": [StrOptions({"auto", *MULTI_CLASS})],
        "calibration": [StrOptions({"temperature", "isotonic", "auto"})],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Follow the path and keep the step that the stopping rule chooses.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Training samples; for kernel="precomputed", their kernel matrix.
        y : array (n_samples,)
            Class labels.
        sample_weight : array (n_samples,), optional
            How often each sample counts.
        **params
            ``groups`` for the splitter, or what else it asks for by scikit-learn's metadata routing.

        Returns
        -------
        self
        """
        begin = time.monotonic()
        choice = as_choice(self)
        self._check_settings(choice)
        groups = self._groups(params)
        check = partial(self._check, ensure_min_samples=2)
        X, y, sample_weight = rows_of(X).loaded(check, y, sample_weight)
        check_classification_targets(y)
        classes, codes = class_codes(y)
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but the data "
                f"contains only one class: {classes[0]!r}."
            )
        sample_weight = _checked_weight(sample_weight, codes)
        fit_weight = _fit_weight(sample_weight, self.class_weight, y)
        _require_weight(fit_weight, classes, codes)
        definition = None
        if self.warm_start:
            settings = self.get_params(deep=False)
            definition = defined_by(settings, X, classes, codes, sample_weight, groups)
        before = self._before(definition)

        self.classes_, self.codes_, self.X_fit_ = classes, codes, X
        if before is None:
            self._definition = None  # should this fit fail, there is nothing to go on with
            self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.method_ = self._resolved_method(X)
        self.multi_class_ = self._resolved_multi_class(len(codes), len(classes))
        self.columns_ = columns_for(len(classes), self.multi_class_)
        intercept = self.fit_intercept and self._follows_solutions(X) and choice.free_intercept
        told = StepCallbacks(self, X, y, self._attributes_at)
        follower = Follower(
            choice=choice,
            method=self.method_,
            seed=self._seed,
            y=y,
            multi_class=self.multi_class_,
            sample_weight=sample_weight,
            fit_weight=fit_weight,
            groups=groups,
            callbacks=(self._watch, told, *WATCHERS.get(), *([Progress()] if self.verbose else [])),
            deadline=None if self.time_limit is None else begin + self.time_limit,
            before=before,
            intercept=intercept,
            begun=self._begin,
        )
        with parallel.limited(self.n_jobs), one_blas_thread():
            if before is None:
                self.centre_ = self._far_centre(X, sample_weight) if intercept else None
                self._prepare(X, sample_weight)
                penalized = self.fit_intercept and not intercept
                self.constant_ = self._constant_of(X, sample_weight) if penalized else 0.0
            self._warn_of_scales(X, codes)
            followed = self._search(X, follower)
        self._keep(followed, sample_weight)
        self._definition = definition
        told.finish(self.step_)
        return self

    def at(self, step: int) -> Self:
        """Return the classifier as it stood after that many steps, fitted, beside this one."""
        self._require_step(step)
        other = copy.copy(self)
        other.__dict__.update(self._attributes_at(int(step)))
        if step != self.step_:
            for name in CALIBRATED:
                other.__dict__.pop(name, None)
        return other

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which metadata goes where: weights to the fit, and to the splitter what it asks for."""
        from sklearn.model_selection import check_cv

        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        splitter = check_cv(self.cv, classifier=True)
        return router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))

    def __sklearn_tags__(self) -> Any:
        """Say what it takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def models_(self) -> ModelHistory:
        """The dual vectors of all steps: ``models_.u(step)``, and their 1/λ, ``models_.bound(step)``."""
        require_path(self, "models_")
        assert self.path_.models is not None
        return self.path_.models

    @property
    def separable_(self) -> bool | None:
        """True where a positive margin is proved, False where equal rows disagree, None where not known."""
        check_is_fitted(self)
        require_path(self, "separable_")
        if np.all(self.margin_bounds_[0] > 0):
            return True
        counts = np.flatnonzero(self.models_.mass.max(axis=1) > 0)
        rows = samples_of(self.X_fit_).to_compare(counts)
        return False if rows is not None and contradictory(rows, self.codes_[counts]) else None

    def _prepare(self, X: Any, sample_weight: np.ndarray | None) -> None:
        """Resolve settings that depend on the samples."""

    @abstractmethod
    def _warn_of_scales(self, X: Any, codes: np.ndarray) -> None:
        """Warn where columns on very different scales probably cost accuracy."""

    @abstractmethod
    def _diagonal(self, X: Any) -> np.ndarray:
        """Return k(x_i, x_i) of every row."""

    @abstractmethod
    def _search(self, X: Any, follower: Follower) -> Followed:
        """Build the Gram matrix and follow the path on it."""

    @abstractmethod
    def _decide_by(self, rows: AnyRows, coefficients: Array) -> Array:
        """Return the decision values of any coefficients of all the samples, without the intercept."""

    def _far_centre(self, X: Any, sample_weight: np.ndarray | None) -> np.ndarray | None:
        """Return what rows are taken about; None where that is 0."""
        return far_centre(X, sample_weight)

    def _attributes_at(self, step: int) -> dict[str, Any]:
        """Return what the classifier is made of at a step."""
        intercept = beside(self._intercept(step) - self._at_centre(self._expansion(step)), self.X_fit_)
        return {"step_": step, "C_": self.models_.bound(step), "intercept_": intercept}

    def _expansion(self, step: int) -> np.ndarray:
        """Return the coefficients of the samples that decision values are sums over."""
        return self.coefficients(step)

    def _intercept(self, step: int) -> np.ndarray:
        """Return the intercept, of which one of the two parts is 0: penalized, and not."""
        penalized = self.constant_ * self.coefficients(step).sum(axis=0)
        return np.asarray(self._free_intercept(step) + penalized)

    def _free_intercept(self, step: int) -> np.ndarray:
        """Return the part of the intercept that is not penalized."""
        return np.atleast_1d(self.path_.rows.at("offset", step)).astype(self._coefficient_dtype)

    def _constant_of(self, X: Any, sample_weight: np.ndarray | None) -> float:
        """Return what is added to the kernel: a tenth of the mean of k(x, x), if intercept_scaling is 1.

        More slows the steps down, less keeps the intercept small for long.
        """
        mean = float(np.average(self._diagonal(X), weights=sample_weight))
        return 0.1 * mean * float(self.intercept_scaling) ** 2 if mean > 0 else 1.0

    def _begin(self, gram: Gram) -> None:
        """Learn what the Gram matrix is before the first step on it."""

    def _watch(self, problem: Problem, state: State, path: Path) -> None:
        """Let the callbacks that follow see the classifier with the path so far."""
        self.path_ = _without_observers(path)

    def _keep(self, followed: Followed, sample_weight: np.ndarray | None) -> None:
        """Set what the fit leaves."""
        path = followed.path if self.warm_start else followed.path.without("out_of_fold")
        self.path_, self.n_iter_ = _without_observers(path), path.end
        self.schedule_, self.margin_proofs_ = followed.schedule, followed.proofs
        self.margin_bounds_ = followed.proofs.best
        self.__dict__.update(self._attributes_at(followed.step))
        for name in ("cv_results_", "out_of_fold_", "fit_facts_", "compression_", *CALIBRATED):
            self.__dict__.pop(name, None)
        if (validation := followed.validation) is not None:
            self.cv_results_ = cv_results(followed.tried or (({}, validation),))
            self.out_of_fold_ = validation.out_of_fold
            self._calibrate(validation.held_out, sample_weight)
            warn_of_majority(self, validation)

    def _before(self, definition: dict[str, Any] | None) -> Followed | None:
        """Return what a warm start goes on with: the last fit, if it was to be gone on with."""
        if definition is None or self._definition is None:
            return None
        require_same(self._definition, definition)
        return Followed(self.path_, self.step_, self.margin_proofs_)

    def _require_step(self, step: int) -> None:
        check_is_fitted(self)
        require_path(self, "A step")
        if step not in range(1, (last := self.path_.end) + 1):
            raise ValueError(f"step must be a whole number from 1 to n_iter_ = {last}, got {step!r}.")

    def _follows_solutions(self, X: Any) -> bool:
        """Whether the steps are solutions of the SVM, whose intercept is not penalized: not on a cluster."""
        return self.method_ == "coordinate" and "samples" in samples_of(X).sweeps

    @property
    def _sparse(self) -> str | bool:
        return "csr" if get_tags(self).input_tags.sparse else False

    def _validated(self, X: Any) -> AnyRows:
        if is_plain(self, X):
            return rows_of(X)
        check_is_fitted(self)
        return rows_of(X).checked(partial(self._check, reset=False))

    def _check(self, X: Any, *y: Any, **settings: Any) -> Any:
        """Check rows as scikit-learn does; in one piece, as the order of sums may depend on it."""
        dtypes = float_dtypes(X, as_given=get_config()["array_api_dispatch"])
        return validate_data(self, X, *y, accept_sparse=self._sparse, dtype=dtypes, order="C", **settings)

    def _staged(self, X: Any) -> Iterator[Array]:
        """Yield the decision values (n, columns) after every step."""
        require_path(self, "A staged method")
        rows = self._validated(X)
        coefs = [self._expansion(step) for step in range(1, self.n_iter_ + 1)]
        every, k = np.hstack(coefs), coefs[0].shape[1]
        intercepts = np.hstack([self._intercept(step) for step in range(1, self.n_iter_ + 1)])
        intercepts = beside(intercepts - self._at_centre(every), self.X_fit_)
        values = self._decide_by(rows, beside(every, self.X_fit_))
        for begin in range(0, every.shape[1], k):
            yield values[:, begin : begin + k] + intercepts[begin : begin + k]

    def _groups(self, params: dict[str, Any]) -> Any:
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, "fit", **params).splitter.split.get("groups")
        if unknown := set(params) - {"groups"}:
            raise TypeError(
                f"fit got {', '.join(sorted(unknown))}; beside X, y, sample_weight it takes groups."
            )
        return params.get("groups")

    def _resolved_method(self, X: Any) -> str:
        """Return steps in few coordinates where they run, and else Algorithm 2."""
        sweeps = self._can_sweep(X)
        if self.method == "coordinate" and not sweeps:
            raise ValueError(
                f"method='coordinate' works on NumPy arrays, but X is a {type(X).__name__}. Use "
                f"method='auto', which takes Algorithm 2 there."
            )
        return ("coordinate" if sweeps else "inertial") if self.method == "auto" else str(self.method)

    def _resolved_multi_class(self, n_samples: int, n_classes: int) -> str:
        """Return "ovr" for "auto"; kernels have a better answer."""
        return "ovr" if self.multi_class == "auto" else str(self.multi_class)

    def _can_sweep(self, X: Any) -> bool:
        return self._swept in samples_of(X).sweeps

    def _check_settings(self, choice: Choice) -> None:
        """Raise where settings do not go together."""
        choice.check()


def _without_observers(path: Path) -> Path:
    """Return the same path, less what knows the Gram matrix, which is not kept."""
    return replace(path, observers={})


def _checked_weight(sample_weight: Any, codes: np.ndarray) -> np.ndarray | None:
    """Return the weights in float64; refuse negative ones, and those of which all are zero."""
    if sample_weight is None:
        return None
    weight = _check_sample_weight(sample_weight, codes, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():  # scikit-learn before 1.8 takes them
        raise ValueError("All sample weights are zero: nothing is left to learn from.")
    return np.asarray(weight)


def _fit_weight(sample_weight: np.ndarray | None, class_weight: Any, y: np.ndarray) -> np.ndarray | None:
    """Return the weights of samples and classes together."""
    if class_weight is None:
        return sample_weight
    weight = compute_sample_weight(class_weight, y)
    return np.asarray(weight if sample_weight is None else weight * sample_weight)


def _require_weight(weight: np.ndarray | None, classes: np.ndarray, codes: np.ndarray) -> None:
    """Refuse classes all of whose samples weigh nothing: nothing tells them from others."""
    if weight is None:
        return
    without = classes[np.bincount(codes, weight > 0, minlength=len(classes)) == 0].tolist()
    if without:
        raise ValueError(
            f"Every class needs a sample with a positive weight, but all of class "
            f"{', '.join(map(repr, without))} weigh 0. Leave these samples out, or give them a weight."
        )
