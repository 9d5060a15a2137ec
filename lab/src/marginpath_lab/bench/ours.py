"""marginpath as a contestant: tuned by cross-validation along the path, everything included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import marginpath as mp
from marginpath.datasets import Dataset
from marginpath.validation.cross_validation import CrossValidatedPath

from .measure import Facts


@dataclass(frozen=True)
class Tuned:
    """A tuned model: what it needs to decide about new samples, and the path that it comes from."""

    gram: mp.Gram
    found: CrossValidatedPath

    def error(self, X: Any, y: np.ndarray, labels: np.ndarray) -> float:
        """Return the share of new samples (X, y) that are misclassified; labels are the training ones."""
        classes = self.found.classes
        if len(classes) == 2:
            signs = np.where(labels == classes[1], 1.0, -1.0)
        else:
            signs = 2.0 * (labels[:, None] == classes) - 1
        decision = -(self.gram.cross(X) @ (signs * self.found.u).astype(self.gram.dtype))
        chosen = decision.argmax(axis=1) if decision.ndim == 2 else (decision > 0).astype(int)
        return float(np.mean(classes[chosen] != y))

    def facts(self, error: float) -> Facts:
        """Return what to print beside the time."""
        found = self.found
        return {
            "test error": error,
            "CV error": 1 - found.best_score,
            "C": found.C,
            "steps": int(found.path.last.t),
        }


@dataclass(frozen=True)
class Classifier:
    """Fit the classifier as it comes; ``gamma`` is its kernel's, or "tuned" for a race of widths."""

    gamma: float | str

    def __call__(self, data: Dataset) -> mp.MarginPathClassifier:
        """Return the fitted classifier."""
        model = mp.MarginPathClassifier(gamma=self.gamma, random_state=0)
        model.fit(data.X, data.y)
        return model

    def judge(self, model: mp.MarginPathClassifier, data: Dataset) -> Facts:
        """Return the test error and what was chosen."""
        assert model.gamma_ is not None
        return {**tuned_facts(model, data), "sigma": (2 * model.gamma_) ** -0.5}


@dataclass(frozen=True)
class GaussianPath:
    """Build the kernel matrix and choose the step by 5-fold cross-validation: ours.

    ``algorithm`` 1 and 2 are the paper's, with the kernel as costly; None is the default solver.
    """

    sigma: float
    algorithm: int | None = None

    def __call__(self, data: Dataset) -> Tuned:
        """Return the tuned model."""
        gram = mp.Gram.from_kernel(data.X, mp.Gaussian(self.sigma))
        if self.algorithm is None:
            return Tuned(gram, mp.cross_validate_path(None, gram, data.y))
        # The same start as the default; the growth is what its slower steps can follow.
        start = float(np.max(data.y * (gram @ data.y.astype(gram.dtype))))
        ratio, momentum = (1.02, None) if self.algorithm == 1 else (1.05, mp.Inertia(3))
        solver = mp.DualDescent(mp.GeometricDecay(start * ratio, ratio), momentum)
        return Tuned(gram, mp.cross_validate_path(solver, gram, data.y, steps=1500 // self.algorithm))

    def judge(self, model: Tuned, data: Dataset) -> Facts:
        """Return the test error and the chosen step."""
        assert data.y_test is not None
        return model.facts(model.error(data.X_test, data.y_test, data.y))


@dataclass(frozen=True)
class LinearClassifier:
    """Fit the linear classifier as it comes."""

    def __call__(self, data: Dataset) -> mp.LinearMarginPathClassifier:
        """Return the fitted classifier."""
        model = mp.LinearMarginPathClassifier(random_state=0)
        model.fit(data.X, data.y)
        return model

    def judge(self, model: mp.LinearMarginPathClassifier, data: Dataset) -> Facts:
        """Return the test error and what was chosen."""
        return tuned_facts(model, data)


def tuned_facts(model: mp.MarginPathClassifier | mp.LinearMarginPathClassifier, data: Dataset) -> Facts:
    """Return errors, C and the number of steps of a fitted classifier."""
    return {
        "test error": float(np.mean(model.predict(data.X_test) != data.y_test)),
        "CV error": 1 - float(np.max(model.cv_results_["mean_test_score"])),
        "C": float(model.C_),
        "steps": int(model.n_iter_),
    }
