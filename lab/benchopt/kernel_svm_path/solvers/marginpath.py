"""One run through all C, with the folds side by side."""

import numpy as np
from benchopt import BaseSolver

from marginpath import MarginPathClassifier


class Solver(BaseSolver):
    """MarginPathClassifier on the grid, from one C to the next."""

    name = "marginpath"
    requirements = ["pip::marginpath"]
    parameters = {"path_tol": [1e-3]}
    sampling_strategy = "run_once"

    def set_objective(self, X, y, gamma, Cs, folds):
        """Take the problem."""
        self.X, self.y = X, y
        self.classifier = MarginPathClassifier(
            gamma=gamma,
            schedule=lambda t: 1 / Cs[min(t, len(Cs)) - 1],
            cv=folds,
            max_iter=len(Cs),
            n_iter_no_change=len(Cs),
            path_tol=self.path_tol,
            random_state=0,
        )

    def warm_up(self):
        """Compile."""
        self.run_once()

    def run(self, _):
        """Follow the path."""
        self.classifier.fit(self.X, self.y)

    def get_result(self):
        """Return the models of all steps."""
        clf = self.classifier
        steps = range(1, clf.n_iter_ + 1)
        return {
            "coefficients": np.column_stack([clf.coefficients(step)[:, 0] for step in steps]),
            "intercepts": np.array([clf.at(step).intercept_[0] for step in steps]),
            "cv_errors": 1 - clf.cv_results_["mean_test_score"],
        }
