"""What the tests of the classifiers share."""

import numpy as np

import marginpath as mp

BOTH = [mp.MarginPathClassifier, mp.LinearMarginPathClassifier]
METHODS = ["coordinate", "inertial", "gradient"]


def solved(tol=1e-11):
    """Return the setting with which two ways to the same solution agree to many digits."""
    return {"path_tol": tol}


def decisions(classifier, X):
    return classifier.decision_function(X)


def close(a, b, tolerance=1e-8):
    scale = max(1.0, float(np.max(np.abs(b))))
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale)
