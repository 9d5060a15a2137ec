import array_api_strict
import naive_rivals as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import random_problem, separable
from scipy.optimize import minimize_scalar

import marginpath as mp
from marginpath.losses import Exponential, Hinge, Logistic, SquaredHinge
from marginpath.losses.entropy import wright_omega

LOSSES = [Hinge(), SquaredHinge(), Logistic(), Exponential()]
SMOOTH = LOSSES[1:]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
every_smooth_loss = pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: type(loss).__name__)
EXTREMES = np.array([0.0, 1e-300, 1e-30, 1e-3, 1.0, 1e3, 1e30, 1e300])
margins = st.floats(-30, 30)


@every_loss
@given(a=margins, b=margins)
def test_convex_and_above_its_tangents(loss, a, b):
    value, slope = loss.value(np.array([a, b])), loss.derivative(np.array([a]))
    assert value[1] >= value[0] + slope[0] * (b - a) - 1e-12 * np.abs(value).max() - 1e-14


@every_loss
@given(a=margins, b=margins)
def test_fenchel_young_with_equality_at_the_derivative(loss, a, b):
    """ℓ(a) + ℓ*(u) ≥ u a, and = where u = ℓ'(a)."""
    a, u = np.array([a]), loss.derivative(np.array([b]))
    scale = 1e-13 * (1 + loss.value(a) + np.abs(u * a) + np.abs(loss.conjugate(u)))
    assert np.all(loss.value(a) + loss.conjugate(u) >= u * a - scale)
    tight = loss.derivative(a)
    scale = 1e-13 * (1 + loss.value(a) + np.abs(tight * a))
    assert np.all(np.abs(loss.value(a) + loss.conjugate(tight) - tight * a) <= scale)


@every_smooth_loss
def test_derivatives_are_those_of_the_value(loss):
    a, h = np.linspace(-4, 4, 41) + 0.013, 1e-6
    first = (loss.value(a + h) - loss.value(a - h)) / (2 * h)
    second = (loss.derivative(a + h) - loss.derivative(a - h)) / (2 * h)
    np.testing.assert_allclose(loss.derivative(a), first, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(loss.second_derivative(a), second, rtol=1e-7, atol=1e-9)
    if np.isfinite(loss.smoothness):
        assert loss.second_derivative(a).max() <= loss.smoothness
        assert loss.second_derivative(a).max() >= 0.99 * loss.smoothness
    else:
        np.testing.assert_array_equal(loss.second_derivative(a), loss.value(a))


def objective(loss, p, step, b):
    return lambda u: float(b * loss.conjugate(np.array([u / b]))[0] + (u - p) ** 2 / (2 * step))


@every_loss
@given(
    p=st.floats(-20, 20),
    log_step=st.floats(-3, 3),
    log_bound=st.floats(-3, 3),
)
def test_prox_is_the_minimiser(loss, p, log_step, log_bound):
    step, b = np.exp(log_step), np.exp(log_bound)
    u = float(loss.prox_conjugate(np.array([p]), np.array([step]), np.array([b]))[0])
    f = objective(loss, p, step, b)
    low = min(-b, p - 60 * step)
    domain = (low if np.isfinite(f(low)) else -b, 0.0)
    found = minimize_scalar(f, bounds=domain, method="bounded", options={"xatol": 1e-12})
    assert domain[0] <= u <= 0
    assert f(u) <= found.fun + 1e-12 * (1 + abs(found.fun))
    assert abs(u - found.x) <= 1e-4 * (1 + abs(u))


@every_smooth_loss
@given(p=st.floats(-20, 20), log_step=st.floats(-12, 12), log_bound=st.floats(-12, 12))
def test_prox_satisfies_its_equation(loss, p, log_step, log_bound):
    """u = b ℓ'(a) at the margin a = (p − u)/step: where the equation is well conditioned, to rounding."""
    step, b = np.exp(log_step), np.exp(log_bound)
    u = loss.prox_conjugate(np.array([p]), np.array([step]), np.array([b]))
    a = (p - u) / step
    expected = b * loss.derivative(a)
    slack = 1e-12 * (1 + (np.abs(p) + np.abs(u)) / step) * b * loss.second_derivative(a)
    assert np.all(np.abs(u - expected) <= 1e-12 * np.abs(u) + slack)


@every_loss
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_extremes_neither_overflow_nor_turn_to_nan(loss, dtype):
    values = EXTREMES if dtype is np.float64 else np.array([0, 1e-30, 1e-3, 1, 1e3, 1e30])
    signed = np.concatenate([-values, values]).astype(dtype)
    bounds = np.append(values, np.inf).astype(dtype)
    p, step, b = (x.ravel() for x in np.meshgrid(signed, values.astype(dtype), bounds))
    u = loss.prox_conjugate(p, step, b)
    assert u.dtype == dtype
    assert np.isfinite(u).all()
    assert np.all(u <= 0)
    np.testing.assert_array_equal(u[b == 0], 0)
    if not isinstance(loss, (SquaredHinge, Exponential)):
        assert np.all(u >= -b)
    at_rest = (step == 0) & (b > 0)
    box = b if isinstance(loss, (Hinge, Logistic)) else np.inf
    np.testing.assert_array_equal(u[at_rest], np.clip(p, -box, 0)[at_rest])
    ends = np.append(signed, [-np.inf, np.inf]).astype(dtype)
    for function in (loss.value, loss.derivative, loss.conjugate):
        result = function(ends if function != loss.conjugate else signed)
        assert result.dtype == dtype
        assert not np.isnan(result).any()


@every_loss
def test_prox_is_monotone_in_p_and_in_the_box(loss):
    p = np.linspace(-50, 20, 500)
    for b in (1e-3, 1.0, 1e3):
        u = loss.prox_conjugate(p, np.full(500, 0.7), np.full(500, b))
        larger = loss.prox_conjugate(p, np.full(500, 0.7), np.full(500, 2 * b))
        assert np.all(np.diff(u) >= 0)
        assert np.all(larger <= u)


def test_infinite_box():
    """The hinge losses have a limit; the entropies grow like log b and read ∞ as half the largest number."""
    p, step, inf = np.array([-3.0, -0.2, 5.0]), np.full(3, 0.5), np.full(3, np.inf)
    for loss in (Hinge(), SquaredHinge()):
        np.testing.assert_array_equal(loss.prox_conjugate(p, step, inf), np.minimum(p - step, 0))
    largest = np.full(3, np.finfo(float).max)
    for loss in (Logistic(), Exponential()):
        u = loss.prox_conjugate(p, step, inf)
        np.testing.assert_array_equal(u, loss.prox_conjugate(p, step, largest))
        assert np.all(np.abs(u + 350) < 20)  # p − step · log(1.8e308)


@every_loss
def test_other_arrays_and_scalar_steps(loss):
    p, b = np.linspace(-5, 2, 12).reshape(4, 3), np.geomspace(0.01, 100, 12).reshape(4, 3)
    xp = array_api_strict
    result = loss.prox_conjugate(xp.asarray(p), 0.3, xp.asarray(b))
    np.testing.assert_array_equal(np.asarray(result), loss.prox_conjugate(p, np.full((4, 3), 0.3), b))
    for function in (loss.value, loss.derivative, loss.conjugate):
        np.testing.assert_array_equal(np.asarray(function(xp.asarray(p))), function(p))


@every_loss
def test_float32_is_accurate(loss):
    p, step, b = (
        np.random.default_rng(0).uniform(*ends, 500).astype(np.float32)
        for ends in ((-9, 3), (0.01, 3), (0.01, 20))
    )
    u = loss.prox_conjugate(p, step, b)
    exact = loss.prox_conjugate(*(x.astype(np.float64) for x in (p, step, b)))
    assert u.dtype == np.float32
    # The entropies see p/step, which float32 rounds by 1e-7 of some hundreds.
    np.testing.assert_allclose(u, exact, rtol=2e-4, atol=1e-6)


def test_wright_omega():
    y = np.geomspace(1e-300, 1e300, 2001)
    np.testing.assert_allclose(wright_omega(y + np.log(y)), y, rtol=1e-12)


@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic(), Exponential()], ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("λ", [20.0, 1.0, 0.05])
def test_dual_descent_minimises_the_regularized_loss(loss, λ):
    X, y = separable(1, 20, 4)
    w = naive.tikhonov_smooth(X, y, λ, loss.value, loss.derivative)
    solver = mp.DualDescent(mp.Constant(λ), mp.Inertia(3), loss=loss)
    path = mp.run(solver, mp.Problem(mp.Gram.linear(X), y), 2500, every=2500)
    np.testing.assert_allclose(-X.T @ (y * path.last.u), w, rtol=0, atol=2e-6 * np.linalg.norm(w))


@every_smooth_loss
def test_dual_descent_is_the_primal_gradient_at_its_fixed_point(loss):
    """On a kernel, with weights: u_i = c_i b ℓ'(m_i), the primal optimality."""
    _, K, y = random_problem(3, 12, "kernel")
    weights = np.arange(12) % 3
    problem = mp.Problem(mp.Gram.from_matrix(K), y, weights)
    path = mp.run(mp.DualDescent(mp.Constant(0.5), mp.Inertia(3), loss=loss), problem, 3000, every=3000)
    m = problem.margins(path.last.scores)
    np.testing.assert_allclose(path.last.u, 2 * weights * loss.derivative(m), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("loss", SMOOTH, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dual_descent_stays_finite_while_the_regularization_fades_to_nothing(loss, dtype):
    X, y = separable(0, 30, 5)
    problem = mp.Problem(mp.Gram.linear(X.astype(dtype)), y)
    solver = mp.DualDescent(mp.GeometricDecay(8.0), mp.Inertia(3), loss=loss)
    path = mp.run(solver, problem, 1500, observe=["margin", "margin_upper"], every=100)
    assert path.last.u.dtype == dtype
    assert np.isfinite(path.last.u).all()
    assert 0.9 * path["margin_upper"][-1] < path["margin"][-1]
