"""Classifiers without their path: what prediction and probabilities need, and a few facts of the fit."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..gram.fingerprints import data_digest
from ..gram.samples import samples_of
from ..solvers.coordinate.spaces import at_bound
from .choices import as_choice

_MOVED = 1e-3  # of a decision value, by rounded vectors
#: What the path and the training rows are, and only they need.
LEFT_BEHIND = (
    "path_",
    "codes_",
    "cv_results_",
    "width_results_",
    "out_of_fold_",
    "out_of_fold_proba_",
    "margin_proofs_",
    "schedule_",
    "_definition",
)


def is_slim(classifier: Any) -> bool:
    """Whether a fitted classifier has left its path behind."""
    return "fit_facts_" in vars(classifier) and "path_" not in vars(classifier)


def require_path(classifier: Any, what: str) -> None:
    """Raise where the classifier has no path."""
    if is_slim(classifier):
        raise AttributeError(
            f"{what} needs the steps of the path and the training samples, which this slim "
            f"{type(classifier).__name__} has left behind. Use the one that slim() or compress() was called "
            f"on, or write the model file with: marginpath fit --keep path"
        )


def slimmed(classifier: Any) -> Any:
    """Return a copy without path and training samples; see :meth:`MarginPathClassifier.slim`."""
    if is_slim(classifier):
        return copy.copy(classifier)
    slim = copy.copy(classifier)
    for name in LEFT_BEHIND:
        slim.__dict__.pop(name, None)
    slim.fit_facts_ = fit_facts(classifier)
    if hasattr(classifier, "dual_coef_") and classifier.kernel != "precomputed":
        slim.X_fit_ = samples_of(classifier.X_fit_).take(classifier.support_)
        slim.support_ = np.arange(len(classifier.support_))
        slim.dual_coef_ = classifier.dual_coef_ + 0.0  # no −0, which files would have to keep apart from 0
    else:  # of a matrix of kernel values, and of weights, no samples are needed
        del slim.X_fit_
    return slim


def round_vectors(slim: Any) -> None:
    """Round the vectors to float32 where that moves no decision value by more than _MOVED.

    ‖φ(z) − φ(z̃)‖² = 2 − 2 exp(−‖z − z̃‖²/(2σ²)) ≤ ‖z − z̃‖²/σ², so that f moves by Σ |coef_j| ‖z_j − z̃_j‖/σ
    at most.
    """
    vectors = getattr(slim, "X_fit_", None)
    if getattr(slim, "kernel", None) != "rbf" or getattr(vectors, "dtype", None) != np.float64:
        return
    if not isinstance(vectors, np.ndarray):  # elsewhere, or sparse: most of it is no number to round
        return
    with np.errstate(over="ignore"):
        near = vectors.astype(np.float32).astype(np.float64)
        steps = np.linalg.norm(vectors - near, axis=1) * (2 * slim.gamma_) ** 0.5
    moved = (np.abs(slim.dual_coef_) @ steps) * (1 + 1e-6)
    if np.max(moved) <= _MOVED:
        slim.X_fit_ = near
        slim.fit_facts_["rounded"] = float(np.max(moved))
        if hasattr(slim, "compression_"):
            slim.compression_ = slim.compression_.with_moved_vectors(moved, float(np.max(steps)))


def fit_facts(classifier: Any) -> dict[str, Any]:
    """Return what a fit was, in plain values: all that a slim classifier can tell of it.

    Examples
    --------
    >>> import marginpath as mp
    >>> from sklearn.datasets import load_iris
    >>> clf = mp.LinearMarginPathClassifier(random_state=0).fit(*load_iris(return_X_y=True))
    >>> fit_facts(clf)["samples"]
    150
    """
    if is_slim(classifier):
        return dict(classifier.fit_facts_)
    choice, row = as_choice(classifier), classifier.step_ - 1
    models = classifier.models_
    u, bound = models.u(classifier.step_), np.asarray(models.bound(classifier.step_))
    gap = float(np.max(classifier.path_["gap"][1:][row]))
    facts = {
        "samples": int(classifier.X_fit_.shape[0]),
        "counts": np.bincount(classifier.codes_, minlength=len(classifier.classes_)).tolist(),
        "reason": choice.reason,
        "gap": gap,
        "inexact": gap > getattr(classifier.path_.solver, "gap_tol", np.inf),
        "separable": classifier.separable_,
        "support": int(np.count_nonzero(u.any(axis=1))),
        "at_bound": int(np.count_nonzero(at_bound(u, models.mass, bound).any(axis=1))),
        "data": data_digest(samples_of(classifier.X_fit_).codes(), classifier.n_features_in_),
    }
    if choice.error is not None:
        mean, spread = choice.error
        facts |= {"cv_error": float(mean[row]), "cv_error_std": float(spread[row])}
    return facts


class SlimMixin:
    """What a classifier can do about the path that it carries."""

    def slim(self, *, rounded: bool = False) -> Self:
        """Return the classifier without its path and its training samples, for files and other machines.

        Support vectors, coefficients and what probabilities need are there, and ``fit_facts_``, what the fit
        was. ``predict`` and all that comes from it is the same to the last bit; ``at``, ``staged_predict``
        and what else needs the path says that it is missing.

        Parameters
        ----------
        rounded : bool
            Round the vectors of kernel="rbf" to numbers that float32 holds, so that files take half the
            space, where this moves no decision value by more than 0.001; the margin is 1. By how much at
            most is then in ``fit_facts_["rounded"]``. What ``predict_set`` goes by becomes 128 quantiles,
            each rounded up: its sets cover as much as is asked for and up to 0.8 % more.

        Examples
        --------
        >>> import pickle, marginpath as mp
        >>> from sklearn.datasets import make_moons
        >>> X, y = make_moons(300, noise=0.2, random_state=0)
        >>> clf = mp.MarginPathClassifier(random_state=0).fit(X, y)
        >>> slim = clf.slim()
        >>> bool((slim.predict_proba(X) == clf.predict_proba(X)).all())
        True
        >>> len(pickle.dumps(slim)) < len(pickle.dumps(clf)) / 3
        True
        """
        check_is_fitted(self)
        slim = slimmed(self)
        if rounded:
            round_vectors(slim)
            if hasattr(slim, "conformal_"):
                slim.conformal_ = slim.conformal_.rounded()
        return slim  # type: ignore[no-any-return]
