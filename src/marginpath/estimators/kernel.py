"""The kernel classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..arrays import Array, beside, take_columns
from ..files.records import register
from ..gram.base import Gram
from ..gram.choose import diagonal_of, fits, with_gram
from ..gram.samples import AnyRows, samples_of
from ..kernels.functions import Gaussian, Kernel
from ..path.path import Status
from ..validation.columns import OneVsOne
from ..validation.widths import SquaredDistances, default_widths
from .approximation import ApproximationMixin
from .base import BasePathClassifier
from .compression import CompressionMixin
from .deciding import decisions_for_labels, kernel_predictor
from .kernel_settings import KernelSettingsMixin, memory_for
from .path_fit import Choice, Followed, Follower
from .racing import OnWidth, race_of, width_results
from .scales import warn_of_scales

#: Samples times pairs of classes up to which "auto" compares the classes in pairs: with five folds, an array
#: over all columns has six times as many numbers, and a step holds some twenty of them.
_PAIR_NUMBERS = 1_000_000
R = TypeVar("R")
_KERNELS = ("rbf", "poly", "linear", "laplacian", "cosine")


@register
class MarginPathClassifier(KernelSettingsMixin, ApproximationMixin, CompressionMixin, BasePathClassifier):
    """Large-margin kernel classifier that chooses its own amount of regularization.

    One run goes from a heavily regularized classifier to the maximum-margin one, through the SVM at every C;
    cross-validation along the way chooses the step to keep. There is no C to set.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear", "laplacian", "cosine", "precomputed"} or callable
        A callable takes (X, Z) and returns the block of kernel values. It must be positive semi-definite.
    gamma : {"scale", "auto", "tuned"} or float
        "scale" is 1 / (n_features · variance of X, samples counted by their weights), of "laplacian" with the
        square root of that variance; "auto" 1 / n_features; "tuned" lets eleven widths of "rbf" race.
    degree, coef0 : int, float
        Of "poly": (gamma ⟨x, z⟩ + coef0)^degree.
    kernel_params : dict, optional
        Further arguments of a callable.
    method : {"auto", "coordinate", "inertial", "gradient"}
        The solutions, by :class:`marginpath.SolutionPath` (coordinate sweeps for stopping="margin"), the
        paper's Algorithm 2, or its Algorithm 1. "auto" takes the fastest.
    schedule : "auto" or callable
        t → λ_t. "auto" falls geometrically from where the path leaves the trivial solution; of a winner of
        widths in long steps at first, and in short ones where its short path was at its best.
    stopping : {"cv", "holdout", "margin", "discrepancy"}, rule or None
        What chooses the step. "cv": cross-validation. "holdout": ``validation_fraction`` of the samples.
        "margin": a certified relative gap of the maximum margin of at most ``tol``. "discrepancy": training
        labels contradicted fall to ``noise_level``. None: ``max_iter`` steps. A rule is an object such as
        :class:`marginpath.LeaveOneOut`.
    cv : int, splitter or iterable
        For stopping="cv".
    scoring : str or callable, optional
        A scorer that needs only decision values or labels; None is the accuracy.
    selection : {"smooth", "best", "one_se"}
        "smooth": each mean score is averaged with those of steps with a similar C, and of the steps within
        half a standard error of the best that one is kept whose held-out decisions have the least log loss.
        "best": the step of the best mean score. "one_se": the first within a standard error of it.
    noise_level : float, optional
        For stopping="discrepancy": the share of labels to take for wrong.
    validation_fraction : float
        For stopping="holdout".
    n_iter_no_change : "auto" or int
        Stop after so many steps without a better score; "auto" waits until 1/λ has grown tenfold, and
        threefold without a lower loss of the held-out samples; or thirtyfold where the steps are no
        solutions; a hundredfold there and for "ovr" with more than two classes.
    tol : float
        For stopping="margin".
    max_iter : "auto" or int
        At most so many steps.
    time_limit : float, optional
        Seconds, after which the best model so far is kept, with a warning.
    path_tol : "auto" or float
        For method="coordinate": the duality gap of every step, over its objective. Every step is the SVM at
        its C to this accuracy; one that is not is never chosen silently. "auto" is 0.001, and 0.01 where a
        linear kernel has more than some 10,000 rows, or landmarks stand for it (0.02 if they lack as much).
    fit_intercept : bool
        Whether the classifier has an intercept, which is not penalized, as in SVC. Algorithms 1 and 2,
        stopping="margin" and :class:`marginpath.LeaveOneOut` add a constant to the kernel instead, whose part
        of the norm is penalized.
    intercept_scaling : float
        That constant is its square times a tenth of the mean of k(x, x).
    class_weight : dict or "balanced", optional
        Weights of the classes, as in scikit-learn. Probabilities are those of the samples as they are.
    multi_class : {"auto", "ovr", "ovo"}
        More than two classes: each against the rest, or each pair of them, as SVC does, with the class that
        wins most pairs. "auto" is "ovo"; for Algorithms 1 and 2, and for samples times pairs of over a
        million, "ovr".
    calibration : {"temperature", "isotonic", "auto"}
        How held-out decision values become probabilities: by one temperature, in the order of the decision
        values; by an increasing function of each class, which may change that order; or by the one with the
        lower Brier score on held-out samples.
    warm_start : bool
        Let the next fit go on with the path. Samples, labels, weights and all settings that define the path
        must be the same, or it raises; limits such as ``max_iter`` and ``time_limit`` may change.
    cache_size : "auto" or float
        Memory for kernel values in MB, on a GPU too. A larger kernel matrix is not stored but computed when
        needed; features of landmarks that take more than half of it lie in a temporary file. "auto" is 4000
        in main memory, or two fifths of what is free if that is more; on a GPU, most of what is free.
    landmarks : int, "auto" or None
        Approximate the kernel by so many of the training samples (Nyström), whose number then decides time,
        and room in memory or on disk. "auto" does so for 10,000 rows and more whose kernel matrix does not
        fit into ``cache_size``, with 10 √n landmarks or as many as fit; None computes kernel values again and
        again there, and is None on a cluster. Not with a linear or precomputed kernel.
    n_jobs : int, optional
        Threads; None takes the cores there are.
    precision : {"float32", "tf32", "bfloat16"}, optional
        Of the kernel matrix on a GPU; None keeps that of X. See :meth:`Gram.from_kernel`.
    random_state : int, RandomState or None
        Of the held-out samples, and of the orders of sweeps.
    verbose : int
        1 prints a line a step.

    Attributes
    ----------
    classes_ : array
    step_, n_iter_ : int
        The step that is kept, and the number of steps that were run.
    C_ : float
        1/λ at that step, to compare with scikit-learn's SVC.
    kernel_, gamma_, centre_ : Kernel or None, float or None, array or None
        The kernel, None where its matrix was given; its gamma; the mean that a linear one takes rows about.
    method_, schedule_, multi_class_
        What "auto" stood for.
    columns_ : OneVsRest or OneVsOne
        How the classes became columns, and what the columns of coefficients stand for.
    landmarks_ : array of int or None
        The training samples that the kernel is approximated by; they are the support vectors then, and what
        is said of margins and gaps is said of the approximate kernel.
    trace_error_ : float
        The share of the trace of the kernel matrix that the approximation lacks; 0 for the kernel itself.
        What that changes, :meth:`disagreement` measures, and :meth:`refine` adds landmarks.
    support_ : array of int
        The samples with a coefficient in any column.
    dual_coef_ : array (n_columns, n_support)
    intercept_ : array (n_columns,)
        Two classes share one column.
    constant_ : float
        What is added to the kernel for an intercept that is penalized; 0 where it is not.
    X_fit_, codes_ : array (n_samples, n_features), array of int (n_samples,)
        The training samples, and the class of each as an index into ``classes_``.
    path_ : Path
        What the run observed and kept; the exact maximum margin, if it was asked for, is the last step.
    models_ : ModelHistory
        ``path_.models``: the dual vectors of every step, ``models_.u(step)``, and their bound 1/λ,
        ``models_.bound(step)``.
    cv_results_ : dict
        Scores of every step, by scikit-learn's names (stopping="cv" or "holdout"), and its duality gap over
        its objective, the largest of its columns: "gap".
    width_results_ : dict
        For gamma="tuned", what became of every width: its "param_gamma", its "score" in the race (NaN where
        it was not in it), and whether it is the "chosen" one, whose path is the only one in ``cv_results_``.
        Where the steps are no solutions (Algorithms 1 and 2) there is no race, and all paths are there.
    out_of_fold_ : array
        The decision value of every training sample by the fold that held it out, at the chosen step.
    out_of_fold_proba_ : array (n_samples, n_classes)
        The probabilities that these are calibrated to; NaN where no fold held a sample out.
    calibrator_, conformal_ : Temperature or Isotonic, ConformalScores
        What makes probabilities, and sets of classes, of decision values.
    margin_bounds_ : (lower, upper)
        Bounds on the maximum margin, one for each column, proved by steps of the path; with any intercept,
        or of the problem with the constant where that is not 0.
    margin_proofs_ : MarginProofs
        The steps with a proof, and what is proved up to any step.
    separable_ : bool or None
        True where the lower bound is positive, False where equal samples have different labels.
    compression_ : Compression
        What :meth:`compress` has lost, proved and measured; of a compressed classifier only.
    fit_facts_ : dict
        What the fit was, of a classifier that :meth:`slim` or :meth:`compress` returned.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import marginpath as mp
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = mp.MarginPathClassifier(random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.95
    True
    >>> clf.at(1).score(X, y) < clf.score(X, y)  # the path is there afterwards
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BasePathClassifier._parameter_constraints,
        "kernel": [StrOptions({*_KERNELS, "precomputed"}), callable],
        "gamma": [StrOptions({"scale", "auto", "tuned"}), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "coef0": [Interval(Real, 0, None, closed="left")],
        "kernel_params": [dict, None],
        "precision": [StrOptions({"float32", "tf32", "bfloat16"}), None],
        "cache_size": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "landmarks": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
    }

    def __init__(
        self,
        kernel: str | Callable[..., Any] = "rbf",
        *,
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        kernel_params: dict[str, Any] | None = None,
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
        cache_size: float | str = "auto",
        landmarks: int | str | None = "auto",
        n_jobs: int | None = None,
        precision: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
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
        self.cache_size = cache_size
        self.landmarks = landmarks
        self.n_jobs = n_jobs
        self.precision = precision
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        """Say that a precomputed kernel is a matrix of pairs."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel in _KERNELS
        return tags

    def _check_settings(self, choice: Choice) -> None:
        super()._check_settings(choice)
        if self.gamma == "tuned" and not (self.kernel == "rbf" and choice.has_probabilities):
            raise ValueError(
                f"gamma='tuned' chooses the width of kernel='rbf' by stopping='cv' or 'holdout'; got "
                f"kernel={self.kernel!r} and stopping={self.stopping!r}."
            )

    def _resolved_multi_class(self, n_samples: int, n_classes: int) -> str:
        """Return "ovo" for "auto" where a step costs the samples of a pair, and there is room for all."""
        numbers = n_samples * OneVsOne(n_classes).n_columns
        if self.multi_class == "auto" and self.method_ == "coordinate" and numbers <= _PAIR_NUMBERS:
            return "ovo"
        return super()._resolved_multi_class(n_samples, n_classes)

    def _prepare(self, X: Any, sample_weight: np.ndarray | None) -> None:
        self.gamma_ = None if self.gamma == "tuned" else self._resolved_gamma(X, sample_weight)

    def _warn_of_scales(self, X: Any, codes: np.ndarray) -> None:
        if self.kernel not in _KERNELS:
            return  # what its values mean is known to the user alone
        names, apart = getattr(self, "feature_names_in_", None), (self.kernel, self.gamma) == ("rbf", "scale")
        warn_of_scales(X, codes, names, hidden=100.0, apart=apart, who=type(self).__name__)

    def _diagonal(self, X: Any) -> np.ndarray:
        if self.kernel == "rbf":
            return np.ones(X.shape[0])
        return diagonal_of(X, self.kernel_)

    def _search(self, X: Any, follower: Follower) -> Followed:
        if follower.before is None:
            self.__dict__.pop("width_results_", None)
        if self.gamma == "tuned" and follower.before is None:
            return self._search_widths(X, follower)
        return self._with_gram(X, self.kernel_, follower.follow)

    def _with_gram(self, X: Any, kernel: Kernel | None, work: Callable[[Gram], R]) -> R:
        """Work on the Gram matrix of X, by landmarks or in a finer precision where need be."""
        settings: dict[str, Any] = {"precision": self.precision, "memory": memory_for(self.cache_size, X)}
        settings |= {"landmarks": self._landmarks_on(X, kernel), "rounded": self._rounds_features(X)}
        settings["centred"] = self.constant_ > 0 and self.method_ != "coordinate"
        return with_gram(X, kernel, work, constant=self.constant_, seed=self._seed, **settings)

    def _search_widths(self, X: Any, follower: Follower) -> Followed:
        """Follow the path of who wins the race; where paths are no solutions, all, the widest of equals."""
        sigmas, distances = default_widths(X), self._distances(X)
        on_width = self._on_width(X, distances)
        if self._follows_solutions(X):

            def on_rows(rows: np.ndarray) -> OnWidth:
                part = samples_of(X).take(rows)
                known = distances.among(rows, np.float32) if distances else self._distances(part)
                return self._on_width(part, known)

            race, short = race_of(follower, sigmas, on_width, on_rows, by_threads=distances is not None)
            self.width_results_ = width_results(race)
            sigmas, follower = sigmas[[race.winner]], replace(follower, short=short)
        best: Followed | None = None
        tried = []
        for sigma in sigmas.tolist():
            self.gamma_ = gamma = 1 / (2 * sigma**2)
            followed = on_width(sigma, follower.follow)
            assert followed.validation is not None
            tried.append(({"gamma": gamma}, followed.validation))
            if best is None or followed.score >= best.score:
                best, best_gamma = followed, gamma
            if follower.late or followed.path.ended in (Status.INTERRUPTED, Status.CALLBACK):
                break
        assert best is not None
        self.gamma_, self.landmarks_, self.trace_error_ = best_gamma, best.landmarks, best.trace_error
        return replace(best, tried=tuple(tried))

    def _distances(self, X: Any) -> SquaredDistances | None:
        """Return one matrix of distances for all widths where it fits."""
        exact, memory = self.landmarks in (None, "auto"), memory_for(self.cache_size, X)
        can = exact and self._can_sweep(X) and fits(X, 2, precision=self.precision, memory=memory)
        return SquaredDistances(X) if can else None

    def _on_width(self, X: Any, distances: SquaredDistances | None) -> OnWidth:
        """Return what works on the Gram matrix of a width."""
        if distances is None:
            return lambda sigma, work: self._with_gram(X, Gaussian(sigma), work)
        return distances.on_widths(self.constant_)

    def _begin(self, gram: Gram) -> None:
        self.landmarks_, self.trace_error_ = gram.chosen, gram.trace_error

    def _attributes_at(self, step: int) -> dict[str, Any]:
        coef = self._expansion(step)
        support = np.flatnonzero(coef.any(axis=1))
        dual_coef = beside(coef[support].T, self.X_fit_)
        support = support if self.landmarks_ is None else self.landmarks_[support]
        return {**super()._attributes_at(step), "support_": support, "dual_coef_": dual_coef}

    def _decide(self, rows: AnyRows) -> Array:
        if self.kernel == "precomputed":
            return take_columns(rows.X, self.support_) @ self.dual_coef_.T + self.intercept_
        if (predictor := kernel_predictor(self, rows.X)) is not None:
            return predictor(rows.X, self.dual_coef_) + self.intercept_
        return self._product(rows, self.support_vectors_, self.dual_coef_.T) + self.intercept_

    def _decide_labels(self, rows: AnyRows) -> Array:
        return decisions_for_labels(self, self._decide, rows)

    def _decide_by(self, rows: AnyRows, coefficients: Array) -> Array:
        if self.kernel == "precomputed":
            return rows.X @ coefficients
        samples = self.X_fit_ if self.landmarks_ is None else samples_of(self.X_fit_).take(self.landmarks_)
        return self._product(rows, samples[...], coefficients)

    def _product(self, rows: AnyRows, samples: Array, coefficients: Array) -> Array:
        """Return Σ_i k(x, x_i) coef_i over the samples x_i."""
        assert self.kernel_ is not None
        return rows.kernel_product(samples, self.kernel_, coefficients)
