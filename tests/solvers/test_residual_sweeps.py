"""Coordinate sweeps for regression against an interior-point solver and against Algorithm 1."""

import numpy as np
import pytest
import scipy.sparse as sp
from naive import gaussian, regularized
from test_residual_losses import LOSSES, every_loss

import marginpath as mp


@every_loss
@pytest.mark.parametrize("kind", ["features", "sparse", "stored", "tiled"])
@pytest.mark.parametrize(("seed", "scale", "λ"), [(0, 1e-2, 0.3), (1, 1.0, 1.0), (2, 1e2, 10.0)])
def test_the_solution_is_that_of_another_solver(loss, kind, seed, scale, λ):
    """Also with equal samples, a zero row and weights."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((14, 4)), rng.standard_normal(14)
    X[3], X[5] = X[2], 0
    weight = rng.integers(0, 3, 14).astype(float)
    weight[0] = 1
    gram = {
        "features": lambda: mp.Gram.linear(X * scale),
        "sparse": lambda: mp.Gram.linear(sp.csr_array(X * scale)),
        "stored": lambda: mp.Gram.from_matrix(X @ X.T * scale**2),
        "tiled": lambda: mp.TiledGram(X * scale, mp.Linear()),
    }[kind]()
    problem = mp.RegressionProblem(gram, y, weight)
    solver = mp.ResidualSweeps(loss, mp.Constant(λ * scale**2), tol=1e-10, sweeps=2000)
    state = mp.run(solver, problem, 1).last
    w = -X.T @ state.u * scale**2
    np.testing.assert_allclose(w, regularized(X, y, weight / λ, LOSSES[loss][1]), atol=1e-4)
    np.testing.assert_allclose(problem.predictions(state.scores), X @ w, atol=1e-8)
    assert state.gap <= 1e-10
    absolute = float(mp.DualityGap(loss)(problem, state))
    assert absolute + 1e-12 / scale**2 >= 0


@every_loss
def test_folds_as_columns_are_separate_runs(loss, rng):
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    K = gaussian(X, X, 1.0)
    counted = np.ones((40, 3))
    counted[:10, 0] = counted[10:20, 1] = 0
    solver = mp.ResidualSweeps(loss, mp.GeometricDecay(8.0), tol=1e-9, sweeps=3000)
    many = mp.RegressionProblem(mp.Gram.from_matrix(K), np.stack([y] * 3, axis=1), counted=counted)
    together = mp.run(solver, many, 4).last
    for j, rows in enumerate((np.arange(10, 40), np.r_[:10, 20:40], np.arange(40))):
        part = mp.RegressionProblem(mp.Gram.from_matrix(K[np.ix_(rows, rows)]), y[rows])
        alone = mp.run(solver, part, 4).last
        np.testing.assert_allclose(together.scores[rows, j], alone.scores, atol=2e-4)
        assert not np.any(np.delete(together.u[:, j], rows))


@every_loss
def test_every_step_is_solved_to_its_gap_and_the_gap_is_true(loss, rng):
    X, y = rng.standard_normal((60, 3)), 5 * rng.standard_normal(60)
    problem = mp.RegressionProblem(mp.Gram.from_matrix(gaussian(X, X, 1.0)), y)
    observe = {"gap": mp.DualityGap(loss), "relative": lambda problem, state: state.gap}
    path = mp.run(mp.ResidualSweeps(loss, sweeps=2000), problem, 10, observe=observe)
    assert path["relative"].max() <= 1e-3
    primal = []
    for t in range(1, 11):
        state = path.state(t, problem)
        loss_part = state.bound * loss.value(problem.residuals(state.scores)).sum()
        primal.append(float(problem.squared_norm(state.u, state.scores) / 2 + loss_part))
    np.testing.assert_allclose(
        path["gap"][1:], path["relative"][1:] * primal, rtol=1e-6, atol=1e-9 * max(primal)
    )


def test_the_same_seed_the_same_bits_whatever_the_threads(rng):
    X, y = rng.standard_normal((300, 3)), rng.standard_normal(300)
    problem = mp.RegressionProblem(mp.Gram.from_kernel(X, "rbf", sigma=1.0), np.stack([y, -y, y**2], axis=1))
    paths = []
    for threads in (1, 3):
        with mp.parallel.limited(threads):
            paths.append(mp.run(mp.ResidualSweeps(mp.Huber(0.5)), problem, 5).last)
    np.testing.assert_array_equal(paths[0].u, paths[1].u)
    other = mp.run(mp.ResidualSweeps(mp.Huber(0.5), seed=1), problem, 5).last
    assert np.any(other.u != paths[0].u)


def test_settings_and_problems(rng):
    gram = mp.Gram.linear(rng.standard_normal((4, 2)))
    with pytest.raises(TypeError, match="loss of the margin"):
        mp.run(mp.ResidualSweeps(), mp.Problem(gram, [1, -1, 1, -1]), 1)
    with pytest.raises(ValueError, match="ratio"):
        mp.ResidualSweeps(ratio=1.0)
    constant = mp.RegressionProblem(gram, np.zeros(4))
    assert not np.any(mp.run(mp.ResidualSweeps(mp.Absolute()), constant, 5).last.u)
