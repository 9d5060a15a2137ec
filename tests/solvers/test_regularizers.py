"""Other regularizers than the norm: sparse large-margin paths, against an interior-point solver."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import regularized, separable

import marginpath as mp

HINGE = (0, 0, 0, 1)  # max(0, 1 − m) is the loss of r = 1 − m


@pytest.mark.parametrize("R", [mp.Ridge(), mp.ElasticNet(0.4)])
@given(seed=st.integers(0, 10**6))
def test_conjugate_and_its_gradient(R, seed):
    rng = np.random.default_rng(seed)
    w, v = 2 * rng.standard_normal((2, 5, 3))
    best = R.gradient_conjugate(v)
    np.testing.assert_allclose(R.value(best) + R.conjugate(v), np.sum(v * best, axis=0), rtol=1e-12)
    assert np.all(R.value(w) + R.conjugate(v) >= np.sum(v * w, axis=0) - 1e-12)
    # Strong convexity: the gap bounds the distance.
    assert np.all(
        R.value(w) + R.conjugate(v) - np.sum(v * w, axis=0) >= np.sum((w - best) ** 2, axis=0) / 2 - 1e-12
    )


@pytest.mark.parametrize("momentum", [None, mp.GradientRestart()], ids=["plain", "restarted"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(("seed", "l1", "λ"), [(0, 0.0, 1.0), (1, 0.1, 0.3), (2, 1.0, 0.3)])
def test_a_fixed_lambda_is_that_of_another_solver(momentum, sparse, seed, l1, λ):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((10, 6)), np.where(np.arange(10) % 2, 1.0, -1.0)
    X[4], X[7] = X[3], 0
    problem = mp.Problem(mp.Gram.linear(sp.csr_array(X) if sparse else X), y)
    solver = mp.DualDescent(mp.Constant(λ), momentum, regularizer=mp.ElasticNet(l1))
    path = mp.run(solver, problem, 1500, observe={"gap": mp.DualityGap(mp.Hinge())}, every=100)
    w = solver.weights(problem, path.last)
    expected = regularized(y[:, None] * X, np.ones(10), 1 / λ, HINGE, l1)
    np.testing.assert_allclose(w, expected, atol=1e-4)
    assert np.sum((w - expected) ** 2) / 2 <= path["gap"][-1] + 1e-9
    np.testing.assert_allclose(-path.last.scores, X @ w, atol=1e-10)  # decision values are those of w


@given(seed=st.integers(0, 10**6), power=st.integers(-4, 4), l1=st.sampled_from([0.0, 0.1, 1.0, 30.0]))
@settings(max_examples=15, deadline=None)
def test_any_scale_and_degenerate_data(seed, power, l1):
    """Zero, equal and contradictory samples, a column of zeros, an l1 that leaves nothing, any scale s."""
    rng = np.random.default_rng(seed)
    X, y, s = rng.standard_normal((9, 4)), np.where(np.arange(9) % 2, 1.0, -1.0), 10.0**power
    X[2], X[3], X[4], X[:, 3] = X[1], 0, X[6], 0
    problem = mp.Problem(mp.Gram.linear(s * X), y)
    solver = mp.DualDescent(mp.Constant(s**2), mp.GradientRestart(), regularizer=mp.ElasticNet(l1 / s))
    path = mp.run(solver, problem, 600, observe={"gap": mp.DualityGap(mp.Hinge())}, every=200)
    expected = regularized(y[:, None] * X, np.ones(9), 1.0, HINGE, l1)
    for t, gap in zip(path.steps[1:], s**2 * path["gap"][1:], strict=True):
        w = s * solver.weights(problem, path.state(int(t), problem))
        assert np.sum((w - expected) ** 2) / 2 <= gap + 1e-7
        assert w[3] == 0
    assert gap < 1e-5
    if l1 == 30.0:
        assert not w.any()


@pytest.mark.parametrize(("seed", "l1"), [(0, 0.05), (1, 0.05), (2, 0.5), (3, 0.5)])
def test_the_limit_is_the_least_regularizer_with_all_margins_one(seed, l1):
    X, y = separable(seed, 8, 5, gap=0.5)
    problem = mp.Problem(mp.Gram.linear(X), y)
    solver = mp.DualDescent(
        mp.GeometricDecay(100.0, 1.05), mp.GradientRestart(), regularizer=mp.ElasticNet(l1)
    )
    path = mp.run(solver, problem, 1500)
    w = solver.weights(problem, path.last)
    expected = hard_margin(y[:, None] * X, l1)
    np.testing.assert_allclose(w, expected, atol=1e-5 * max(1, np.abs(expected).max()))
    assert mp.ElasticNet(l1).value(w) == pytest.approx(mp.ElasticNet(l1).value(expected), rel=1e-5)


def hard_margin(Z, l1):
    """Return argmin ½‖w‖² + l1‖w‖₁ with Z w ≥ 1."""
    import clarabel

    n, d = Z.shape
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    P = sp.diags(np.append(np.ones(d), np.zeros(d)), format="csc")
    one = np.eye(d)
    G = np.block([[one, -one], [-one, -one], [-Z, np.zeros((n, d))]])
    h = np.concatenate([np.zeros(2 * d), -np.ones(n)])
    cones = [clarabel.NonnegativeConeT(len(G))]
    q = np.append(np.zeros(d), np.full(d, l1))
    return np.array(clarabel.DefaultSolver(P, q, sp.csc_matrix(G), h, cones, settings).solve().x[:d])


def test_a_path_takes_features_up_one_by_one(rng):
    """Twenty features, of which two tell the classes apart: the path begins with these."""
    X, y = rng.standard_normal((60, 20)), np.where(np.arange(60) % 2, 1.0, -1.0)
    X[:, :2] += 1.5 * y[:, None]
    problem = mp.Problem(mp.Gram.linear(X), y)
    solver = mp.DualDescent(mp.GeometricDecay(400.0, 1.02), regularizer=mp.ElasticNet(0.5))

    def features(problem, state):
        return np.count_nonzero(solver.weights(problem, state))

    path = mp.run(solver, problem, 500, observe={"features": features}, models=True)
    first = np.flatnonzero(path["features"])[0]
    assert path["features"][0] == 0
    assert 1 <= path["features"][first] <= 3
    assert path["features"][-1] > 5
    w = solver.weights(problem, path.state(int(first), problem))
    assert set(np.flatnonzero(w)) <= {0, 1}


def test_a_kernel_has_the_norm_alone(rng):
    problem = mp.Problem(mp.Gram.from_matrix(np.eye(4)), [1, -1, 1, -1])
    with pytest.raises(TypeError, match=r"Gram\.linear"):
        mp.run(mp.DualDescent(mp.Constant(1.0), regularizer=mp.ElasticNet(0.1)), problem, 1)
    with pytest.raises(TypeError, match="FunctionRestart"):
        mp.DualDescent(mp.Constant(1.0), mp.FunctionRestart(), regularizer=mp.ElasticNet(0.1))


def test_ridge_is_todays_to_the_last_bit_and_elastic_net_without_l1_is_ridge(rng):
    X, y = separable(3, 20, 4)
    problem = mp.Problem(mp.Gram.linear(X), y)
    plain = mp.run(mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3)), problem, 50).last
    ridge = mp.run(
        mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3), regularizer=mp.Ridge()), problem, 50
    ).last
    np.testing.assert_array_equal(plain.u, ridge.u)
    net = mp.run(
        mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3), regularizer=mp.ElasticNet(0.0)), problem, 50
    ).last
    np.testing.assert_allclose(net.u, plain.u, atol=1e-12)


def test_a_path_with_a_regularizer_is_stored_and_resumed(tmp_path, rng):
    X, y = separable(4, 20, 4)
    problem = mp.Problem(mp.Gram.linear(X), y)
    solver = mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3), regularizer=mp.ElasticNet(0.2))
    observe = {"gap": mp.DualityGap(mp.Hinge())}
    path = mp.run(solver, problem, 20, observe=observe)
    path.save(tmp_path / "path")
    longer = mp.resume(mp.Path.load(tmp_path / "path"), problem, 20)
    np.testing.assert_array_equal(longer.last.u, mp.run(solver, problem, 40, observe=observe).last.u)
