"""The path of a kernel SVM: the classifier of every C on a grid, and its error in cross-validation.

A solver gets samples, labels ±1, the gamma of the Gaussian kernel, an increasing grid of C, and folds. It is
timed until it has, for every C, the SVM of all the samples and the error of the folds. How good its models
are is computed here, from their coefficients: the duality gap, in float64.
"""

import numpy as np
from benchopt import BaseObjective
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold


class Objective(BaseObjective):
    """Errors along C, and how far each model is from the SVM at its C."""

    name = "Kernel SVM path"
    min_benchopt_version = "1.6"
    requirements = ["scikit-learn"]
    parameters = {"n_C": [13], "n_folds": [5]}
    sampling_strategy = "run_once"

    def set_data(self, X, y, X_test, y_test, gamma):
        """Take a data set."""
        self.X, self.y, self.X_test, self.y_test, self.gamma = X, y, X_test, y_test, gamma
        self.Cs = np.logspace(-2, 4, self.n_C)

    def get_objective(self):
        """Return what a solver may know."""
        folds = StratifiedKFold(self.n_folds).split(self.X, self.y)
        return {"X": self.X, "y": self.y, "gamma": self.gamma, "Cs": self.Cs, "folds": [*folds]}

    def evaluate_result(self, coefficients, intercepts, cv_errors):
        """Judge a path.

        coefficients : (n, n_C), those of f(x) = Σ c_i k(x_i, x) + b for every C
        intercepts : (n_C,)
        cv_errors : (n_C,), the mean error over the folds
        """
        K = rbf_kernel(self.X, gamma=self.gamma)
        gaps = [self.gap(K, *model) for model in zip(coefficients.T, intercepts, self.Cs, strict=True)]
        best = int(np.argmin(cv_errors))
        scores = rbf_kernel(self.X_test, self.X, gamma=self.gamma) @ coefficients[:, best] + intercepts[best]
        return {
            "value": float(np.min(cv_errors)),
            "test_error": float(np.mean(np.where(scores > 0, 1, -1) != self.y_test)),
            "C": float(self.Cs[best]),
            "largest_gap": float(np.max(gaps)),
            "median_gap": float(np.median(gaps)),
        }

    def gap(self, K, c, b, C):
        """Return the duality gap over the objective; what is infeasible is moved into the box first."""
        alpha, f = np.clip(self.y * c, 0, C), K @ c
        primal = c @ f / 2 + C * np.maximum(0, 1 - self.y * (f + b)).sum()
        # The dual asks for Σ y α = 0: the heavier class is scaled down to the lighter one.
        weight = {side: alpha[self.y == side].sum() for side in (-1, 1)}
        for side, total in weight.items():
            alpha[self.y == side] *= min(1, weight[-side] / total) if total > 0 else 0
        signed = self.y * alpha
        dual = alpha.sum() - signed @ (K @ signed) / 2
        return (primal - dual) / primal

    def get_one_result(self):
        """Return a result of the right shape."""
        n, k = len(self.y), len(self.Cs)
        return {"coefficients": np.zeros((n, k)), "intercepts": np.zeros(k), "cv_errors": np.ones(k)}
