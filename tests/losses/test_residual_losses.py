"""Losses of the residual: their definitions, their duals, and an interior-point solver."""

from dataclasses import replace

import array_api_strict
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import gaussian, regularized
from residual_losses import LOSSES, every_loss
from scipy.optimize import minimize_scalar

import marginpath as mp

numbers = st.floats(-30, 30)


@every_loss
@given(r=numbers)
def test_values_are_as_defined(loss, r):
    assert float(loss.value(np.array([r]))[0]) == pytest.approx(LOSSES[loss][0](r), rel=1e-12, abs=1e-12)


@every_loss
@given(r=numbers, s=numbers)
def test_fenchel_young_with_equality_at_the_derivative(loss, r, s):
    """ℓ(r) + ℓ*(a) ≥ a r, and = where a = ℓ'(r)."""
    r, a = np.array([r]), loss.derivative(np.array([s]))
    assert loss.value(r) + loss.conjugate(a) >= a * r - 1e-9
    a = loss.derivative(r)
    np.testing.assert_allclose(loss.value(r) + loss.conjugate(a), a * r, rtol=1e-12, atol=1e-9)


@every_loss
@given(a=st.floats(-2, 2))
def test_the_conjugate_is_the_supremum(loss, a):
    grid = np.linspace(-50, 50, 100_001)
    supremum = np.max(a * grid - loss.value(grid))
    value = float(loss.conjugate(np.array([a]))[0])
    low, high = loss.box
    if low <= a <= high:
        assert value == pytest.approx(supremum, abs=1e-5)
    else:
        assert value == np.inf
        assert supremum > 0.5 * min(abs(a - low), abs(a - high)) * 50


@every_loss
@given(p=numbers, log_step=st.floats(-3, 3), log_bound=st.floats(-3, 3))
def test_prox_is_the_minimiser(loss, p, log_step, log_bound):
    step, b = 10**log_step, 10**log_bound
    a = float(loss.prox_conjugate(np.array([p]), step, np.array([b]))[0])
    low, high = (float(np.clip(end * b, -1e6, 1e6)) for end in loss.box)
    assert low <= a <= high

    def objective(x):
        return b * loss.conjugate(np.array([np.clip(x / b, *loss.box)]))[0] + (x - p) ** 2 / (2 * step)

    least = minimize_scalar(objective, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).fun
    assert objective(a) <= least + 1e-9 * (1 + abs(least))


@every_loss
def test_ends_of_the_scale(loss):
    p = np.array([-1e300, -1.0, 0.0, 1.0, 1e300])
    np.testing.assert_array_equal(loss.prox_conjugate(p, 1.0, np.zeros(5)), 0)  # an empty box
    free = loss.prox_conjugate(p, 0.0, np.full(5, np.inf))
    np.testing.assert_array_equal(free, p)  # no box, no step
    assert np.isfinite(loss.prox_conjugate(p, 1e300, np.full(5, 1e-300))).all()


@every_loss
def test_other_arrays(loss):
    x = array_api_strict.asarray([-2.0, 0.1, 3.0], dtype=array_api_strict.float32)
    for method in (loss.value, loss.derivative, loss.conjugate):
        assert method(x).dtype == array_api_strict.float32
    assert loss.prox_conjugate(x, 0.5, array_api_strict.ones_like(x)).dtype == array_api_strict.float32


def test_wrong_settings():
    for make, message in (
        (lambda: mp.Huber(0.0), "delta"),
        (lambda: mp.EpsilonInsensitive(-1.0), "epsilon"),
        (lambda: mp.Quantile(1.0), "quantile"),
        (lambda: mp.ElasticNet(-0.1), "l1"),
    ):
        with pytest.raises(ValueError, match=message):
            make()


@every_loss
@pytest.mark.parametrize("momentum", [None, mp.GradientRestart()], ids=["plain", "restarted"])
@pytest.mark.parametrize(("seed", "scale", "λ"), [(0, 1e-2, 0.3), (1, 1.0, 1.0), (2, 1e2, 10.0)])
def test_regression_at_a_fixed_lambda_is_that_of_another_solver(loss, momentum, seed, scale, λ):
    """Also with equal samples, a zero row and weights; scaled, so that the solution is w/scale."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((12, 4)), rng.standard_normal(12)
    X[3], X[5] = X[2], 0
    weight = rng.integers(0, 3, 12).astype(float)
    weight[0] = 1
    problem = mp.RegressionProblem(mp.Gram.linear(X * scale), y, weight)
    solver = mp.DualDescent(mp.Constant(λ * scale**2), momentum, loss=loss)
    steps = 3000 if momentum is None else 800
    path = mp.run(solver, problem, steps, observe={"gap": mp.DualityGap(loss)}, every=100)
    w, expected = solver.weights(problem, path.last), regularized(X, y, weight / λ, LOSSES[loss][1]) / scale
    np.testing.assert_allclose(w * scale, expected * scale, rtol=0, atol=1e-4)
    # The gap bounds the distance at every step that is observed.
    for t, gap in zip(path.steps[1:], path["gap"][1:], strict=True):
        off = solver.weights(problem, path.state(int(t), problem)) - expected
        assert off @ off / 2 <= gap + 1e-9 / scale**2


@every_loss
@given(
    seed=st.integers(0, 10**6),
    powers=st.tuples(st.integers(-4, 4), st.integers(-4, 4)),
    l1=st.sampled_from([0.0, 0.2, 30.0]),
)
@settings(max_examples=10)
def test_descent_at_any_scale_on_degenerate_data(loss, seed, powers, l1):
    """Zero rows, equal rows with equal and other targets, a column of zeros, weights of 0, both regularizers.

    With features s x and targets c y the solution is (c/s) w, if what has the unit of the targets, ε, δ and
    the slope of a curved loss, grows with them.
    """
    rng = np.random.default_rng(seed)
    X, y, weight = rng.standard_normal((10, 4)), rng.standard_normal(10), rng.integers(0, 3, 10).astype(float)
    X[2], X[3], X[5], X[:, 3] = X[1], 0, X[4], 0
    y[5], weight[0] = y[4], 1
    s, c = 10.0 ** np.array(powers)
    units = {name: getattr(loss, name) * c for name in ("epsilon", "delta") if hasattr(loss, name)}
    R, λ = mp.ElasticNet(l1 * c / s), s**2 if loss.curvature else s**2 / c
    problem = mp.RegressionProblem(mp.Gram.linear(s * X), c * y, weight)
    scaled = replace(loss, **units)
    solver = mp.DualDescent(mp.Constant(λ), mp.GradientRestart(), loss=scaled, regularizer=R)
    path = mp.run(solver, problem, 800, observe={"gap": mp.DualityGap(scaled)}, every=200)
    expected = regularized(X, y, weight, LOSSES[loss][1], l1)
    for t, gap in zip(path.steps[1:], (s / c) ** 2 * path["gap"][1:], strict=True):
        w = s / c * solver.weights(problem, path.state(int(t), problem))
        assert np.sum((w - expected) ** 2) / 2 <= gap + 1e-7  # of clarabel
        assert w[3] == 0
    assert gap < 1e-5
    if l1 == 30.0:
        assert not w.any()


@every_loss
def test_the_limit_is_the_interpolant_of_minimum_norm(loss, rng):
    X, y = rng.standard_normal((8, 20)), rng.standard_normal(8)
    problem = mp.RegressionProblem(mp.Gram.linear(X), y)
    solver = mp.DualDescent(mp.GeometricDecay(10.0, 1.05), mp.GradientRestart(), loss=loss)
    path = mp.run(solver, problem, 1000)
    w = solver.weights(problem, path.last)
    hard = (LOSSES[loss][1][0], 0, np.inf, np.inf)
    limit = regularized(X, y, np.inf, hard)
    np.testing.assert_allclose(w, limit, atol=1e-6)
    if hard[0] == 0:
        np.testing.assert_allclose(limit, mp.regression.minimum_norm(X, y), atol=1e-8)
        bound = mp.interpolant_distance(problem, path.last.u)
        assert np.linalg.norm(w - mp.regression.minimum_norm(X, y)) <= bound < 1e-5


@given(seed=st.integers(0, 10**6))
def test_the_distance_to_the_interpolant_is_bounded_for_any_u(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((6, 9)), rng.standard_normal((6, 2))
    problem = mp.RegressionProblem(mp.Gram.linear(X), Y, counted=rng.random((6, 2)) < 0.8)
    u = np.asarray(problem.Y) * rng.standard_normal((6, 2)) * 10.0 ** rng.integers(-8, 8)
    bound = mp.interpolant_distance(problem, u)
    for j in range(2):
        rows = np.asarray(problem.mass)[:, j] > 0
        distance = np.linalg.norm(-X.T @ u[:, j] - mp.regression.minimum_norm(X[rows], Y[rows, j]))
        assert distance <= bound[j]
    thin = mp.RegressionProblem(mp.Gram.linear(X[:, :2]), Y[:, 0])
    assert mp.interpolant_distance(thin, u[:, 0]) == np.inf  # a line through six targets there is not


@pytest.mark.parametrize("l1", [0.0, 0.1, 1.0])
@given(seed=st.integers(0, 10**6))
def test_the_distance_to_the_interpolant_of_least_r_is_bounded_for_any_u(l1, seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((4, 9)), rng.standard_normal((4, 2))
    sparse = mp.Gram.linear(sp.csr_array(X)) if seed % 2 else mp.Gram.linear(X)
    problem = mp.RegressionProblem(sparse, Y, counted=rng.random((4, 2)) < 0.9)
    u = np.asarray(problem.Y) * rng.standard_normal((4, 2)) * 10.0 ** rng.integers(-8, 4)
    R = mp.ElasticNet(l1)
    bound = mp.interpolant_distance(problem, u, R)
    for j in range(2):
        rows = np.asarray(problem.mass)[:, j] > 0
        limit = regularized(X[rows], Y[rows, j], np.inf, (0, 0, np.inf, np.inf), l1)
        assert np.linalg.norm(R.gradient_conjugate(-X.T @ u[:, j]) - limit) <= bound[j] + 1e-7  # of clarabel
    if l1 == 0:
        ridge = mp.interpolant_distance(problem, u, mp.Ridge())
        np.testing.assert_array_equal(bound, ridge)
        assert np.all(ridge <= mp.interpolant_distance(problem, u) * (1 + 1e-9))  # sharper: no eigenvalue
    thin = mp.RegressionProblem(mp.Gram.linear(X[:, :2]), Y[:, 0])
    assert mp.interpolant_distance(thin, u[:, 0], R) == np.inf


@pytest.mark.parametrize("loss", [mp.LeastSquares(), mp.Absolute(), mp.Huber(0.5), mp.Quantile(0.3)])
def test_the_limit_of_an_elastic_net_is_the_interpolant_of_least_r(loss, rng):
    X, y, R = rng.standard_normal((6, 20)), rng.standard_normal(6), mp.ElasticNet(0.2)
    problem = mp.RegressionProblem(mp.Gram.linear(X), y)
    solver = mp.DualDescent(mp.GeometricDecay(10.0, 1.05), mp.GradientRestart(), loss=loss, regularizer=R)
    path = mp.run(solver, problem, 1500)
    limit = regularized(X, y, np.inf, (0, 0, np.inf, np.inf), R.l1)
    bounds = [mp.interpolant_distance(problem, path.state(t, problem).u, R) for t in (10, 1500)]
    distance = np.linalg.norm(solver.weights(problem, path.last) - limit)
    assert distance <= bounds[-1] + 1e-7
    assert bounds[0] > 1e-2
    assert bounds[1] < 1e-5
    kernel = mp.RegressionProblem(mp.Gram.from_matrix(np.eye(6)), y)
    with pytest.raises(TypeError, match="needs features"):
        mp.interpolant_distance(kernel, path.last.u, R)


def test_kernels_columns_and_folds_agree_with_separate_runs(rng):
    X, y = rng.standard_normal((15, 2)), rng.standard_normal(15)
    gram = mp.Gram.from_matrix(gaussian(X, X, 1.0))
    counted = np.ones((15, 2))
    counted[:5, 0] = 0
    both = mp.RegressionProblem(gram, np.stack([y, y], axis=1), counted=counted)
    solver = mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3), loss=mp.Huber(0.5))
    together = mp.run(solver, both, 50).last
    part = mp.RegressionProblem(mp.Gram.from_matrix(gaussian(X[5:], X[5:], 1.0)), y[5:])
    step = replace_step(solver, both)
    np.testing.assert_allclose(together.u[5:, 0], mp.run(step, part, 50).last.u, atol=1e-12)
    np.testing.assert_array_equal(together.u[:5, 0], 0)
    alone = mp.run(solver, mp.RegressionProblem(gram, y), 50).last
    np.testing.assert_allclose(together.u[:, 1], alone.u, atol=1e-13)
    held_out = gaussian(X[:5], X, 1.0) @ (-together.u[:, 0])
    np.testing.assert_allclose(both.predictions(together.scores)[:5, 0], held_out, atol=1e-12)


def replace_step(solver, problem):
    return replace(solver, step_size=1 / problem.norm_bounds()[1])


def test_problems_and_losses_of_the_other_kind_are_refused(rng):
    gram = mp.Gram.linear(rng.standard_normal((4, 2)))
    regression, classification = mp.RegressionProblem(gram, np.arange(4.0)), mp.Problem(gram, [1, -1, 1, -1])
    with pytest.raises(TypeError, match="loss of the residual"):
        mp.run(mp.DualDescent(mp.Constant(1.0)), regression, 1)
    with pytest.raises(TypeError, match="loss of the margin"):
        mp.run(mp.DualDescent(mp.Constant(1.0), loss=mp.Absolute()), classification, 1)
    with pytest.raises(ValueError, match="finite"):
        mp.RegressionProblem(gram, [0.0, np.nan, 1.0, 2.0])
    with pytest.raises(ValueError, match="shape"):
        mp.RegressionProblem(gram, np.zeros(3))
    with pytest.raises(ValueError, match="positive weight"):
        mp.RegressionProblem(gram, np.zeros(4), np.zeros(4))


def test_a_path_on_other_targets_is_not_resumed(rng):
    gram, y = mp.Gram.linear(rng.standard_normal((6, 3))), rng.standard_normal(6)
    solver = mp.DualDescent(mp.PowerDecay(1.0), loss=mp.LeastSquares())
    path = mp.run(solver, mp.RegressionProblem(gram, y), 5)
    assert mp.resume(path, mp.RegressionProblem(gram, y), 5).last.t == 10
    with pytest.raises(ValueError, match="another problem"):
        mp.resume(path, mp.RegressionProblem(gram, y + 1), 5)
