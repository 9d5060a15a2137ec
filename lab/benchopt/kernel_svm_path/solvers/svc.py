"""scikit-learn's SVC (LIBSVM), one fit for every C and fold, on all cores."""

import numpy as np
from benchopt import BaseSolver
from joblib import Parallel, delayed
from sklearn.svm import SVC


def fit(X, y, **settings):
    """Return a fitted SVC."""
    return SVC(cache_size=1000, **settings).fit(X, y)


def error(train, test, X, y, **settings):
    """Return the error of one fold."""
    return np.mean(fit(X[train], y[train], **settings).predict(X[test]) != y[test])


class Solver(BaseSolver):
    """SVC on the grid."""

    name = "SVC"
    requirements = ["scikit-learn", "joblib"]
    parameters = {"tol": [1e-3]}
    sampling_strategy = "run_once"
    fit, error = staticmethod(fit), staticmethod(error)

    def set_objective(self, X, y, gamma, Cs, folds):
        """Take the problem."""
        self.X, self.y, self.Cs, self.folds = X, y, Cs, folds
        self.settings = {"gamma": gamma, "tol": self.tol}

    def run(self, _):
        """Fit everything."""
        X, y, run = self.X, self.y, Parallel(n_jobs=-1)
        each = [{"C": C, **self.settings} for C in self.Cs]
        self.models = run(delayed(self.fit)(X, y, **one) for one in each)
        errors = run(delayed(self.error)(*fold, X, y, **one) for one in each for fold in self.folds)
        self.errors = np.reshape(errors, (len(self.Cs), len(self.folds))).mean(axis=1)

    def get_result(self):
        """Return the coefficients of all samples."""
        coefficients = np.zeros((len(self.y), len(self.Cs)))
        for column, model in zip(coefficients.T, self.models, strict=True):
            column[model.support_] = model.dual_coef_[0]
        intercepts = np.array([model.intercept_[0] for model in self.models])
        return {"coefficients": coefficients, "intercepts": intercepts, "cv_errors": self.errors}
