"""Compile what most tests run: `python tests/compiled.py kernels`, or `rows`.

The two workers of a fresh checkout would each do it for themselves. ``make test`` does it beside the linters.
"""

import sys

import numpy as np
import scipy.sparse as sp

import marginpath as mp


def kernels(X, y):
    """Paths of solutions on stored and on lent kernel values, and predictions."""
    model = mp.MarginPathClassifier(cv=3).fit(X, y)
    model.predict(X)
    model.decision_function(X)
    mp.MarginPathClassifier(cv=3, cache_size=0.01, landmarks=None).fit(X, y)


def rows(X, y):
    """Paths over features, dense and sparse, regressions, and sweeps with kernel values."""
    for features in (X, sp.csr_array(X)):
        mp.LinearMarginPathClassifier(cv=3).fit(features, y).predict(features)
    mp.MarginPathRegressor(cv=3).fit(X, X[:, 0] + 0.1 * y).predict(X)
    problem = mp.Problem(mp.Gram.from_kernel(X, "rbf", sigma=1.0), y)
    mp.run(mp.CoordinateDescent(mp.GeometricDecay(1.0, 1.5)), problem, 3)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    y = np.where(X[:, 0] + rng.standard_normal(120) > 0, 1, -1)
    for dtype in (np.float32, np.float64):
        {"kernels": kernels, "rows": rows}[sys.argv[1]](X.astype(dtype), y)
