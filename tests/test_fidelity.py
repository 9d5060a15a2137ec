"""The trajectories of the authors' own program, with its conventions.

Row t of a result is the state after t - 1 updates; update k uses λ at k + 1 and the step 1/L.
"""

import numpy as np
import pytest
from reference_data import FIXTURES, REAL

import marginpath as mp

DECAYS = {
    "": lambda t: t,
    "log": lambda t: np.log(t),
    "square": lambda t: t**0.5,
    "two": lambda t: t**2,
    "exp": lambda t: 2.0 ** min(t, 1021),
}


def toy_inertia(alpha):
    return lambda k: (k - 1 - alpha / 4) / (k + 3 * alpha / 4)


def program_inertia(k):
    return (k - 1) / (k + 3)


def linear_weights(X):
    return lambda problem, state: -(X.T @ (problem.Y * state.u))


@pytest.mark.parametrize("lambda0", [0.001, 4])
@pytest.mark.parametrize("alpha", [None, 10, 30, 50])
def test_toy(alpha, lambda0):
    stored = np.load(FIXTURES / "toy.npz")
    y, X = stored["in/toy"][:, 0], stored["in/toy"][:, 1:]
    problem = mp.Problem(mp.Gram.linear(X), y)
    solver = mp.DualDescent(
        lambda t: lambda0 / (t + 1),
        momentum=None if alpha is None else toy_inertia(alpha),
        step_size=1 / np.linalg.eigvalsh(X.T @ X)[-1],
    )
    path = mp.run(solver, problem, 999, observe={"w": linear_weights(X), "margin": mp.metrics.margin})
    expected = stored[f"out/toy_FB_l{lambda0}" if alpha is None else f"out/toy_iFB_a{alpha}_l{lambda0}"]
    rows = stored["rows"]
    np.testing.assert_allclose(path["w"][rows], expected[:, :2], rtol=0, atol=1e-12)
    np.testing.assert_allclose(path["margin"][rows], expected[:, 2], rtol=0, atol=1e-12)


@pytest.mark.parametrize("steps", [499, pytest.param(1999, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("inertial", [False, True])
@pytest.mark.parametrize(
    "decay",
    [pytest.param(d, marks=pytest.mark.heavy) if d in ("square", "log", "two") else d for d in DECAYS],
)
def test_gauss(decay, inertial, steps):
    """Three noise levels (and, for λ0/t, four λ0) are the columns of one run."""
    stored = np.load(FIXTURES / "gauss.npz")
    X, test = stored["in/gauss_train"][:, 1:], stored["in/gauss_test"]
    gram = mp.Gram.from_kernel(X, mp.Gaussian(sigma=0.15**0.5))
    lambdas = [0.01, 1, 10, 100] if decay == "" else [8]
    noise = ["", "_p10", "_p20"]
    Y = np.stack([stored[f"in/gauss_train{p}"][:, 0] for p in noise for _ in lambdas], axis=1)
    problem = mp.Problem(gram, Y, box_scale=[1 / value for _ in noise for value in lambdas])
    solver = mp.DualDescent(
        lambda t: 1 / DECAYS[decay](t + 1),
        momentum=program_inertia if inertial else None,
        step_size=1 / np.linalg.eigvalsh(gram.K)[-1],
    )
    error = mp.HeldOutError(problem, test[:, 1:], test[:, 0])
    path = mp.run(solver, problem, steps, observe={"margin": mp.metrics.margin, "error": error}, keep=0)
    rows = stored["rows"][stored["rows"] <= steps]
    assert rows.size > 10
    method = f"iFB{decay}_a3" if inertial else f"FB{decay}"
    for j, (p, value) in enumerate((p, value) for p in noise for value in lambdas):
        name = f"out/gauss{p}_{method}_l{value}"
        margin, expected = path["margin"][rows, j], stored[f"{name}/margin"][: rows.size]
        np.testing.assert_allclose(margin, expected, rtol=0, atol=1e-10, err_msg=name)
        wrong = np.round(path["error"][:, j] * 600)
        np.testing.assert_array_equal(wrong, stored[f"{name}/wrong"][: steps + 1], name)


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("method", ["FB_l1", "iFB_a3_l1"])
@pytest.mark.parametrize("steps", [99, pytest.param(299, marks=pytest.mark.heavy)])
def test_real_data(name, method, steps):
    X, y, X_test, y_test, sigma = REAL[name]()
    stored = np.load(FIXTURES / f"{name}.npz")
    gram = mp.Gram.from_kernel(X, mp.Gaussian(sigma=sigma))
    problem = mp.Problem(gram, y)
    solver = mp.DualDescent(
        lambda t: 1 / (t + 1),
        momentum=None if method.startswith("FB") else program_inertia,
        step_size=1 / float(stored[f"out/{name}_L"]),
    )
    error = mp.HeldOutError(problem, X_test, y_test)
    path = mp.run(solver, problem, steps, observe={"margin": mp.metrics.margin, "error": error}, keep=0)
    expected = stored[f"out/{name}_{method}"][: steps + 1]
    np.testing.assert_allclose(path["margin"], expected[:, 0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(path["error"], expected[:, 1], rtol=0, atol=1e-12)
    u = stored[f"out/{name}_{method}_u"]
    assert steps < 299 or np.linalg.norm(path.last.u - u) <= 1e-9 * np.linalg.norm(u)


@pytest.mark.parametrize("name", ["toy", "gauss", *REAL])
def test_fixtures_are_copies(name, reference_folder):
    full, compact = np.load(reference_folder / f"{name}.npz"), np.load(FIXTURES / f"{name}.npz")
    rows = compact["rows"] if "rows" in compact else slice(None)
    for key in full.files:
        if key.startswith("in/") or name in REAL:
            np.testing.assert_array_equal(compact[key], full[key])
        elif name == "toy":
            np.testing.assert_array_equal(compact[key], full[key][rows])
        else:
            np.testing.assert_array_equal(compact[f"{key}/margin"], full[key][rows, 0])
            np.testing.assert_allclose(compact[f"{key}/wrong"] / 600, full[key][:, 1], atol=1e-12)
