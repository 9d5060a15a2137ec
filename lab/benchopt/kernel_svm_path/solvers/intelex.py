"""Intel's extension of scikit-learn: its own SVC, one fit for every C and fold."""

import numpy as np
from benchopt import BaseSolver
from sklearnex.svm import SVC


class Solver(BaseSolver):
    """The SVC of scikit-learn-intelex; its threads use the cores."""

    name = "intelex"
    requirements = ["pip::scikit-learn-intelex"]
    parameters = {"tol": [1e-3]}
    sampling_strategy = "run_once"

    def set_objective(self, X, y, gamma, Cs, folds):
        """Take the problem."""
        self.X, self.y, self.gamma, self.Cs, self.folds = X, y, gamma, Cs, folds

    def run(self, _):
        """Fit everything."""
        self.models, self.errors = [], []
        for C in self.Cs:
            model = SVC(C=C, gamma=self.gamma, tol=self.tol, cache_size=1000)
            self.errors.append(np.mean([self.error(model, *fold) for fold in self.folds]))
            model.fit(self.X, self.y)
            self.models.append((model.support_, model.dual_coef_[0], model.intercept_[0]))

    def error(self, model, train, test):
        """Return the error of one fold."""
        return np.mean(model.fit(self.X[train], self.y[train]).predict(self.X[test]) != self.y[test])

    def get_result(self):
        """Return the coefficients of all samples."""
        coefficients = np.zeros((len(self.y), len(self.Cs)))
        for column, (support, values, _) in zip(coefficients.T, self.models, strict=True):
            column[support] = values
        intercepts = np.array([intercept for _, _, intercept in self.models])
        return {"coefficients": coefficients, "intercepts": intercepts, "cv_errors": np.array(self.errors)}
