"""Of a kernel that landmarks approximate: what that changes, and more of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import parallel
from ..arrays import Array, blocks, to_numpy
from ..gram.choose import choose_gram
from ..gram.pivots import choose_landmarks
from ..gram.samples import samples_of
from ..kernels.functions import Kernel
from ..metrics import gap
from ..path.run import run
from ..problem import Problem
from ..schedules import Constant, GeometricDecay
from ..solvers import SolutionPath
from .path_fit import RATIO, asked_gap
from .slimming import require_path

_BEFORE = 100  # times less than the present C, where a refined path begins
_TRIES = 20  # of all the rounds that a solver has for one C
_ROWS = 4096  # that are predicted at a time


class ApproximationMixin:
    """What a classifier on landmarks can tell of them, and do about them."""

    _kept: Any = None  # the landmarks that a fit keeps, the rows that they are, and all labels

    def disagreement(self: Any, X: Any, *, n_rows: int = 2000, random_state: Any = None) -> float:
        """Return the share of the rows of X whose class landmarks change, by two fits on some of the samples.

        Both are fitted on the same ``n_rows`` of the training samples, at the present width and at the C that
        says of so many what ``C_`` says of all, C_ · n / n_rows: one on the landmarks of this classifier, one
        on the kernel itself. It is a measurement and no bound: fits on few samples are uncertain, and differ
        more for it. Raise ``n_rows`` until the answer stays.

        Parameters
        ----------
        X : array or CSR matrix (n_samples, n_features)
            Rows to predict, best such that were not trained on.
        n_rows : int
            How many samples; their kernel matrix, together with the landmarks, is stored.
        random_state : int, RandomState or None
            Of their choice.

        Returns
        -------
        float
            0 without landmarks.

        Examples
        --------
        >>> import marginpath as mp
        >>> from sklearn.datasets import make_moons
        >>> X, y = make_moons(1000, noise=0.3, random_state=0)
        >>> few, more = (mp.MarginPathClassifier(landmarks=m, random_state=0).fit(X, y) for m in (3, 60))
        >>> few.disagreement(X, random_state=0) > more.disagreement(X, random_state=0)
        True
        """
        check_is_fitted(self)
        require_path(self, "disagreement")
        if n_rows < 2:
            raise ValueError(f"n_rows must be at least 2, got {n_rows!r}.")
        if not math.isfinite(self.C_):
            raise ValueError("The maximum margin has no C to compare at: ask this of another step, at(step).")
        Z = self._validated(X).X
        if self.landmarks_ is None:
            return 0.0
        some = _some_of_each_class(self.codes_, n_rows, check_random_state(random_state))
        index, mass = np.union1d(self.landmarks_, some), self.models_.mass
        rows, kernel = _fetched(self.X_fit_, index), self.kernel_
        signs = self.columns_.signs(self.codes_[index]) * np.isin(index, some)[:, None]
        C = self.C_ * float(mass.sum() / mass[some].sum())
        labels = []
        with parallel.limited(self.n_jobs):
            for landmarks in (None, np.searchsorted(index, self.landmarks_)):
                gram = choose_gram(rows, kernel, constant=self.constant_, landmarks=landmarks)
                intercept = self.fit_intercept and self.constant_ == 0
                problem = Problem(gram, signs, mass[index].max(axis=1), intercept=intercept)
                tol = asked_gap(self.path_tol)
                labels.append(self._labels(_decisions(problem, C, tol, Z)))
        return float(np.mean(labels[0] != labels[1]))

    def refine(self: Any, X: Any, y: Any, landmarks: int, sample_weight: Any = None, **params: Any) -> Any:
        """Go on with more landmarks: those that there are stay, and others come where they lack most.

        ``landmarks_`` has the new ones behind. The width stays as well, chosen or tuned, and the path begins
        at a hundredth of the present C, as the steps before need not be taken again; where its first step
        turns out to be the best, it is followed from its start. The trace error cannot rise, but for
        rounding. Should the fit fail, nothing changes.

        Parameters
        ----------
        X, y, sample_weight, **params
            What the classifier was fitted on.
        landmarks : int
            How many there are to be in all. With no more than there are, nothing is done.

        Returns
        -------
        self
            The parameter ``landmarks`` is left as it is.

        Examples
        --------
        >>> import marginpath as mp
        >>> from sklearn.datasets import make_moons
        >>> X, y = make_moons(1000, noise=0.3, random_state=0)
        >>> clf = mp.MarginPathClassifier(landmarks=5, random_state=0).fit(X, y)
        >>> first, lost = clf.landmarks_, clf.trace_error_
        >>> clf = clf.refine(X, y, landmarks=20)
        >>> len(clf.landmarks_), set(first) <= set(clf.landmarks_), clf.trace_error_ < lost
        (20, True, True)
        """
        check_is_fitted(self)
        require_path(self, "refine")
        if self.landmarks_ is None:
            raise ValueError("This classifier has no landmarks to add to: it is fitted on the kernel itself.")
        count = len(self.landmarks_)
        if not isinstance(landmarks, (int, np.integer)) or landmarks < count:
            raise ValueError(
                f"refine adds landmarks to the {count} there are, and needs their number in all; got "
                f"{landmarks!r}."
            )
        if landmarks == count:
            return self
        other = clone(self).set_params(landmarks=landmarks, warm_start=False)
        if self.gamma_ is not None:
            other.set_params(gamma=self.gamma_)
        other._kept = self.landmarks_, _fetched(self.X_fit_, self.landmarks_), self.classes_[self.codes_]
        later = self._later_schedule()
        other.set_params(schedule=later or self.schedule).fit(X, y, sample_weight, **params)
        if later is not None and other.step_ == 1:
            other.set_params(schedule=self.schedule).fit(X, y, sample_weight, **params)
        self._become(other)
        return self

    def _later_schedule(self: Any) -> GeometricDecay | None:
        """Return the schedule that begins a hundredfold before the present C; None where it may not."""
        solutions = self.method_ == "coordinate" and self.stopping in ("cv", "holdout")
        if not solutions or self.schedule != "auto" or self.time_limit is not None:
            return None
        ratio = RATIO["coordinate"]
        begin = ratio ** (math.ceil(math.log(_BEFORE, ratio)) + 1) / self.C_
        return GeometricDecay(begin, ratio) if begin < self.schedule_(1) else None

    def _become(self: Any, other: Any) -> None:
        """Take over what another fit has left, and no parameter."""
        own = {*self.get_params(deep=False), "_kept"}
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)
        fitted = {name: value for name, value in vars(other).items() if name not in own}
        # The path has settings of its own: a warm start begins anew.
        self.__dict__.update({**fitted, "_definition": None})

    def _expansion(self: Any, step: int) -> np.ndarray:
        exact = self.landmarks_ is None
        return np.asarray(self.coefficients(step) if exact else self._on_landmarks(step)[:-1])

    def _intercept(self: Any, step: int) -> np.ndarray:
        if self.landmarks_ is None:
            return np.asarray(super()._intercept(step))  # type: ignore[misc]
        return np.asarray(self._free_intercept(step) + self._on_landmarks(step)[-1])

    def _on_landmarks(self: Any, step: int) -> np.ndarray:
        """Return the coefficients of the landmarks, and in a last row what is added to their sum."""
        coef = self.path_.rows.at("landmark_coef", step).reshape(len(self.landmarks_) + 1, -1)
        return np.asarray(coef, dtype=self._coefficient_dtype)

    def _rounds_features(self: Any, X: Any) -> bool:
        """Whether features may have 16 bits: for sweeps to solutions, which read them again and again."""
        return self.stopping in ("cv", "holdout") and self._follows_solutions(X)

    def _landmarks_on(self: Any, X: Any, kernel: Kernel | None) -> Any:
        """Return what the parameter says of landmarks, or those that are kept and more."""
        if self._kept is None:
            return self.landmarks
        rows, points, labels = self._kept
        if not np.array_equal(self.classes_[self.codes_], labels):
            raise ValueError("refine needs the samples of the fit: their labels are others, or not as many.")
        if X.shape[0] <= rows.max() or not _equal(_fetched(X, rows), points):
            raise ValueError("refine needs the samples of the fit: the rows that are landmarks are others.")
        assert kernel is not None
        return choose_landmarks(X, kernel, min(self.landmarks, X.shape[0]), seed=self._seed, kept=rows)


def _some_of_each_class(codes: np.ndarray, count: int, rng: Any) -> np.ndarray:
    """Return the numbers of so many random samples, and of one of every class."""
    order = rng.permutation(len(codes))
    first = np.unique(codes[order], return_index=True)[1]
    return np.asarray(order[np.union1d(first, np.arange(min(count, len(codes))))])


def _decisions(problem: Problem, C: float, tol: float, Z: Array) -> Array:
    """Return the decision values of the SVM at C."""
    solver = SolutionPath(Constant(1 / C), tol=tol)
    path = run(
        solver, problem, _TRIES, stop=lambda problem, state, path: gap(problem, state) <= solver.gap_tol
    )
    u, offset = path.last.u, path.last.offset  # type: ignore[attr-defined]
    rows = Z if sp.issparse(Z) else to_numpy(Z)
    return np.concatenate([problem.decision(u, rows[a:b], offset) for a, b in blocks(rows.shape[0], _ROWS)])


def _fetched(X: Any, index: np.ndarray) -> Array:
    """Return some of the rows in NumPy or CSR, from wherever they are."""
    rows = samples_of(X).take(index)
    return rows if sp.issparse(rows) else to_numpy(rows)


def _equal(one: Array, other: Array) -> bool:
    return one.shape == other.shape and not (one != other).sum()
