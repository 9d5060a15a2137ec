"""NGD and iPD of the authors' program: it counts t from 2, and its kernels have K_ii = 1."""

import numpy as np
import pytest
from reference_data import FIXTURES, REAL

import marginpath as mp
from marginpath.solvers import MirrorDescent, NormalizedGradient

# Sign of the stored u: NGD has f = + Σ y_i u_i K(x_i, ·), iPD has − as everywhere here.
METHODS = {"NGD": (NormalizedGradient(first=2), -1), "iPD": (MirrorDescent(accelerated=True, first=2), 1)}


@pytest.mark.parametrize("name", ["mnist35", pytest.param("htru2", marks=pytest.mark.heavy)])
def test_trajectories_of_the_rivals(name):
    X, y, X_test, y_test, sigma = REAL[name]()
    stored = np.load(FIXTURES / f"{name}.npz")
    problem = mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(sigma=sigma)), y)
    error = mp.HeldOutError(problem, X_test, y_test)
    for method, (solver, sign) in METHODS.items():
        path = mp.run(solver, problem, 299, observe={"margin": mp.metrics.margin, "error": error}, keep=0)
        expected = stored[f"out/{name}_{method}"]
        np.testing.assert_allclose(path["margin"], expected[:, 0], rtol=0, atol=1e-9)
        np.testing.assert_allclose(path["error"], expected[:, 1], rtol=0, atol=1e-12)
        u = sign * stored[f"out/{name}_{method}_u"]
        assert np.linalg.norm(path.last.u - u) <= 1e-9 * np.linalg.norm(u)
