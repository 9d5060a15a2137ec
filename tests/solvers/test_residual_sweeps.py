"""Working sets and sweeps for regression against an interior-point solver and against Algorithm 1."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from naive import gaussian, regularized
from residual_losses import LOSSES, every_loss
from scipy.optimize import lsq_linear

import marginpath as mp
from marginpath.solvers.residual import sweeps, working_sets
from marginpath.solvers.residual.interior import minimise_in_box
from marginpath.solvers.residual.sets_compiled import plan, steps_in_set
from marginpath.solvers.residual.working_sets import Column


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
@pytest.mark.parametrize("kind", ["features", "sparse", "stored", "tiled"])
def test_sweeps_by_themselves_reach_it_too(loss, kind, rng, monkeypatch):
    """What thousands of rows are solved by, on few: no working sets, and no matrix for features."""
    monkeypatch.setattr(sweeps, "FEW", 0)
    monkeypatch.setattr(sweeps, "_has_sets", lambda problem, loss: False)
    X, y, weight = rng.standard_normal((14, 4)), rng.standard_normal(14), rng.integers(0, 3, 14).astype(float)
    gram = {
        "features": lambda: mp.Gram.linear(X),
        "sparse": lambda: mp.Gram.linear(sp.csr_array(X)),
        "stored": lambda: mp.Gram.from_matrix(X @ X.T),
        "tiled": lambda: mp.TiledGram(X, mp.Linear()),
    }[kind]()
    problem = mp.RegressionProblem(gram, y, weight)
    solver = mp.ResidualSweeps(loss, mp.GeometricDecay(8.0), tol=1e-8, sweeps=600)
    path = mp.run(solver, problem, 4)
    for t in (1, 4):
        state = path.state(t, problem)
        w = -X.T @ state.u
        np.testing.assert_allclose(w, regularized(X, y, weight * state.bound, LOSSES[loss][1]), atol=5e-4)
        np.testing.assert_allclose(problem.predictions(state.scores), X @ w, atol=1e-8)


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
    X, y = rng.standard_normal((2100, 3)), rng.standard_normal(2100)  # so many rows are swept over
    problem = mp.RegressionProblem(mp.Gram.from_kernel(X, "rbf", sigma=1.0), np.stack([y, -y, y**2], axis=1))
    paths = []
    for threads in (1, 3):
        with mp.parallel.limited(threads):
            paths.append(mp.run(mp.ResidualSweeps(mp.Huber(0.5)), problem, 5).last)
            sets = mp.run(mp.ResidualSweeps(mp.Absolute()), problem, 5).last
            paths[-1] = replace(paths[-1], u=np.concatenate([paths[-1].u, sets.u]))
    np.testing.assert_array_equal(paths[0].u, paths[1].u)
    other = mp.run(mp.ResidualSweeps(mp.Huber(0.5), seed=1), problem, 5).last
    assert np.any(other.u != paths[0].u[:2100])


def test_settings_and_problems(rng):
    gram = mp.Gram.linear(rng.standard_normal((4, 2)))
    with pytest.raises(TypeError, match="loss of the margin"):
        mp.run(mp.ResidualSweeps(), mp.Problem(gram, [1, -1, 1, -1]), 1)
    with pytest.raises(ValueError, match="ratio"):
        mp.ResidualSweeps(ratio=1.0)
    constant = mp.RegressionProblem(gram, np.zeros(4))
    assert not np.any(mp.run(mp.ResidualSweeps(mp.Absolute()), constant, 5).last.u)


@every_loss
@pytest.mark.parametrize("kind", ["features", "stored", "tiled"])
@given(seed=st.integers(0, 10**6), x_scale=st.integers(-6, 6), y_scale=st.integers(-6, 6))
def test_any_scale_and_degenerate_data(loss, kind, seed, x_scale, y_scale):
    """Rows that are zero, equal, or equal with other targets; weights of 0; a last step with a large C.

    The gap is that of the definitions: ½‖w‖² + C Σ ℓ(r) against the dual objective of the same u.
    """
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((9, 3)), rng.standard_normal(9)
    X[2], X[3], y[4] = X[1], 0, y[5]
    X, y, weight = X * 10.0**x_scale, y * 10.0**y_scale, rng.integers(0, 3, 9).astype(float)
    weight[0] = 1
    for name in ("epsilon", "delta"):  # what has the unit of the targets
        if hasattr(loss, name):
            loss = replace(loss, **{name: getattr(loss, name) * 10.0**y_scale})
    gram = {
        "features": lambda: mp.Gram.linear(X),
        "stored": lambda: mp.Gram.from_matrix(X @ X.T),
        "tiled": lambda: mp.TiledGram(X, mp.Linear()),
    }[kind]()
    solver = mp.ResidualSweeps(loss, ratio=10.0, tol=1e-6)
    path = mp.run(solver, mp.RegressionProblem(gram, y, weight), 4, models=True)
    for t in (1, 4):
        a, b = -path.models.u(t), path.models.bound(t) * weight
        w = X.T @ a
        losses = b * loss.value(y - X @ w)
        ratio = np.clip(a / np.where(b > 0, b, 1.0), *loss.box)  # at an end, but for rounding
        conjugates = b * loss.conjugate(ratio)
        primal = w @ w / 2 + losses.sum()
        assert primal + w @ w / 2 + conjugates.sum() - y @ a <= 1.01e-6 * primal
        assert not np.any(a[weight == 0])


@every_loss
def test_a_smooth_kernel_at_a_large_c_is_solved(loss, rng):
    """Nearly all samples are between their bounds, and K is nearly singular: sweeps got nowhere."""
    X = rng.standard_normal((250, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(250)
    problem = mp.RegressionProblem(mp.Gram.from_kernel(X, "rbf", sigma=1.0), y)
    path = mp.run(mp.ResidualSweeps(loss), problem, 22, observe={"gap": lambda problem, state: state.gap})
    assert path["gap"].max() <= 1e-3
    assert path.last.bound > 1e3
    assert path.last.scores.dtype == np.float64


def test_small_sets_of_many_rows_are_as_many_as_it_takes(rng, monkeypatch):
    """Of 20,000 rows more than 50 sets were needed and no more taken: steps were left unsolved."""
    monkeypatch.setattr(working_sets, "_SET", 4)
    X = rng.standard_normal((400, 3))
    y = np.sin(X[:, 0]) + 0.5 * rng.standard_normal(400)
    problem = mp.RegressionProblem(mp.Gram.from_kernel(X, "rbf", sigma=1.0), y)
    gaps = {}
    for most in (1, 50):
        solver = mp.ResidualSweeps(mp.EpsilonInsensitive(0.1), sweeps=most)
        path = mp.run(solver, problem, 8, observe={"gap": lambda problem, state: state.gap})
        gaps[most] = path["gap"].max()
    assert gaps[50] <= 1e-3 < gaps[1]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sigma", [1.0, 4.0])
def test_a_small_dual_error_that_is_a_large_primal_one_is_made_smaller(dtype, sigma, rng):
    """At C = 10,000 and more: the same set was solved again and again, to an accuracy that was not enough."""
    X = rng.standard_normal((400, 4))
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(400)
    problem = mp.RegressionProblem(mp.Gram.from_kernel(X.astype(dtype), "rbf", sigma=sigma), y)
    solver = mp.ResidualSweeps(mp.EpsilonInsensitive(0.05))
    path = mp.run(solver, problem, 26, observe={"gap": lambda problem, state: state.gap})
    assert path["gap"].max() <= 1e-3
    assert path.last.bound > 1e4


@given(seed=st.integers(0, 10**6), rank=st.integers(1, 15), scale=st.integers(-6, 6))
def test_the_interior_point_method_finds_the_least_squares_in_a_box(seed, rank, scale):
    """M = BBᵀ may be singular, and g = Bc: ½‖Bᵀa + c‖² in a box, which scipy solves by another method."""
    rng = np.random.default_rng(seed)
    B, c = rng.standard_normal((12, rank)) * 10.0**scale, rng.standard_normal(rank)
    low, high = -rng.random(12), rng.random(12) * 10.0 ** rng.integers(-3, 3)
    low, high = low * 10.0**-scale, high * 10.0**-scale
    a = minimise_in_box(B @ B.T, B @ c, low, high, np.zeros(12), 1e-9)
    assert np.all((low <= a) & (a <= high))
    best = lsq_linear(B.T, -c, (low, high), method="bvls", tol=1e-13).cost
    assert np.sum((B.T @ a + c) ** 2) / 2 <= best + 1e-8
    free = minimise_in_box(B @ B.T + np.eye(12), B @ c, np.full(12, -np.inf), np.full(12, np.inf), a, 0.0)
    np.testing.assert_allclose(B @ (B.T @ free) + free, -B @ c, atol=1e-8 * max(1, np.abs(B @ c).max()))


def test_samples_between_their_bounds_come_first_into_a_set():
    """Where there is no room for all that violate more: without the free to give way, they overshoot."""
    free, bound = 3, 17
    a = np.concatenate([np.full(free, 0.5), np.zeros(bound)])
    y = np.concatenate([np.full(free, 0.01), np.arange(1.0, bound + 1)])
    ends, ridge = np.ones(len(a)), np.zeros(len(a))
    index, _, _ = plan(Column(y, -ends, ends, ridge, 0.1, a, np.zeros(len(a))), 1e-3, 6)
    assert index.tolist() == [0, 1, 2, 17, 18, 19]  # and of the others the worst


def _naive_steps(M, low, high, ε, a, y, eps, limit):
    """Exact steps in the coordinate that gains most, by a loop."""
    for step in range(limit):
        slope = M @ a - y
        down, up = slope + np.where(a > 0, ε, -ε), slope + np.where(a < 0, -ε, ε)
        e = np.where((up < 0) & (a < high), up, np.where((down > 0) & (a > low), down, 0.0))
        if np.abs(e).max() <= eps:
            return step
        i = int(np.argmax(e**2 / M.diagonal()))
        z = M[i, i] * a[i] - slope[i]
        a[i] = np.clip(np.sign(z) * max(abs(z) - ε, 0) / M[i, i], low[i], high[i])
    return limit


@pytest.mark.parametrize("m", [1, 3, 4, 30])
@pytest.mark.parametrize(("ε", "end"), [(0.0, np.inf), (0.1, 1.0), (0.1, 0.05)])
def test_steps_in_a_set_are_those_of_a_loop(m, ε, end, rng):
    X, y = rng.standard_normal((m, 3)), rng.standard_normal(m)
    M = gaussian(X, X, 1.0) * np.outer(*[rng.uniform(0.5, 2, m)] * 2) + 0.1 * np.eye(m)
    low, high, a = np.full(m, -end), np.full(m, 2 * end), np.zeros(m)
    expected = a.copy()
    steps = _naive_steps(M, low, high, ε, expected, y, 1e-6, 5000)
    assert 0 < steps < 5000
    assert not steps_in_set(M, low, high, ε, np.zeros(m), -y, 1e-6, steps)
    slope = -y
    assert steps_in_set(M, low, high, ε, a, slope, 1e-6, steps + 1)
    np.testing.assert_allclose(a, expected, atol=1e-9)
    np.testing.assert_allclose(slope, M @ a - y, atol=1e-9)
