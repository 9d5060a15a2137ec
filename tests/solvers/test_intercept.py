"""The intercept that is not penalized, against solvers that share no code with ours."""

import numpy as np
import pytest
from naive import random_problem, separable, soft_margin_with_intercept
from sklearn.svm import SVC

import marginpath as mp


def shifted_classes():
    """Twenty samples of one class and ten of both, away from the origin: the intercept matters."""
    X, _, y = random_problem(4, 30, "kernel")
    y[:20] = 1
    return X + y[:, None] + 0.7, y


@pytest.mark.parametrize("storage", ["stored", "tiled"])
@pytest.mark.parametrize("kernel", [mp.Linear(), mp.Gaussian(1.0)])
def test_the_intercept_is_that_of_an_independent_solver(kernel, storage):
    X, y = shifted_classes()
    gram = mp.Gram.from_kernel(X, kernel) if storage == "stored" else mp.TiledGram(X, kernel)
    problem = mp.Problem(gram, y, intercept=True)
    last = mp.run(mp.SolutionPath(mp.Constant(0.5), tol=1e-12), problem, 1).last
    K = gram.rows(np.arange(30))
    u, intercept = soft_margin_with_intercept(K, y, np.ones(30), 2.0)
    assert abs(np.sum(y * last.u)) < 1e-12
    np.testing.assert_allclose(K @ (y * last.u), K @ (y * u), atol=1e-5)
    assert -last.offset == pytest.approx(intercept, abs=1e-5)
    np.testing.assert_allclose(last.scores, K @ (y * last.u) + last.offset, atol=1e-9)
    np.testing.assert_allclose(problem.decision(last.u, X, last.offset), -last.scores, atol=1e-9)


def test_the_intercept_is_that_of_scikit_learn():
    """With weights, and of two columns with opposite labels."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((120, 3))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(120) > -0.8, 1, -1)
    weights = rng.integers(1, 4, 120).astype(float)
    peer = SVC(C=0.7, kernel="linear", tol=1e-8).fit(X, y, weights)
    gram, columns = mp.Gram.from_kernel(X, mp.Linear()), np.stack([y, -y], axis=1)
    problem = mp.Problem(gram, columns, weights, intercept=True)
    last = mp.run(mp.SolutionPath(mp.Constant(1 / 0.7), tol=1e-12), problem, 1).last
    np.testing.assert_allclose(-last.offset, peer.intercept_[0] * np.array([1, -1]), atol=1e-4)
    np.testing.assert_allclose(-last.scores[:, 0], peer.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("seed", range(12))
def test_every_step_has_the_objective_of_libsvm(seed):
    """From a small box, where nearly all samples are at the bound, to one that is hardly there."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 60))
    X = (rng.standard_normal((n, 2)) + rng.choice([0, 5])) * 10.0 ** rng.uniform(-3, 3)
    y = np.where(rng.random(n) < 0.85, np.sign(X[:, 0] - X[:, 0].mean()), 1.0)
    y[:2] = 1, -1
    gram = mp.Gram.from_kernel(X, mp.Linear() if seed % 2 else mp.Gaussian(float(np.std(X))))
    K, largest = gram.K, float(np.mean(gram.diagonal))
    problem = mp.Problem(gram, y, intercept=True)
    path = mp.run(mp.SolutionPath(mp.GeometricDecay(1000 * largest, 10.0)), problem, 5)

    def objective(coefficients, intercept):
        losses = np.maximum(0, 1 - y * (K @ coefficients + intercept))
        return coefficients @ K @ coefficients / 2 + C * losses.sum()

    for step in range(1, 6):
        state = path.state(step, problem)
        C = float(state.bound)
        peer = SVC(kernel="precomputed", C=C, tol=1e-9).fit(K, y)
        theirs = np.zeros(n)
        theirs[peer.support_] = peer.dual_coef_[0]
        ours = objective(-y * state.u, -float(state.offset))
        assert ours <= (1 + 1e-3) * objective(theirs, peer.intercept_[0])


@pytest.mark.parametrize("columns", [1, 3])
def test_a_path_with_an_intercept_resumes_bit_equal(columns, tmp_path):
    _, K, y = random_problem(0, 20, "kernel")
    Y = y if columns == 1 else np.stack([y, -y, np.where(np.arange(20) % 4, y, 0)], axis=1)
    problem = mp.Problem(mp.Gram.from_matrix(K), Y, intercept=True)
    solver = mp.SolutionPath(refresh=5)
    whole = mp.run(solver, problem, 20)
    mp.run(solver, problem, 7).save(tmp_path / "p.npz")
    resumed = mp.resume(mp.Path.load(tmp_path / "p.npz"), problem, 13)
    assert np.any(whole.last.offset != 0)
    for name, values in whole.last.arrays().items():
        np.testing.assert_array_equal(resumed.last.arrays()[name], values, strict=True)


def test_the_classes_stay_in_balance_where_the_kernel_has_a_small_rank():
    """24 samples and rank 2: the inverse in Newton steps is large; its rounding must not reach Σ y u."""
    X, y = separable(5, 24, 2)
    problem = mp.Problem(mp.Gram.from_kernel(X + 0.2, mp.Linear()), y, intercept=True)
    path = mp.run(mp.SolutionPath(tol=1e-9), problem, 40, observe=["gap"])
    assert np.max(path["gap"][1:]) <= 1e-9
    assert abs(np.sum(y * path.last.u)) <= 1e-12 * np.sum(np.abs(path.last.u))
