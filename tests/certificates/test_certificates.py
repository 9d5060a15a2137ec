import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import hard_margin, random_problem, soft_margin_with_intercept, svm

import marginpath as mp
from marginpath.gram.linear import centred_gram
from marginpath.kernels.centred import CentredLinear


@given(seed=st.integers(0, 10**6), n=st.integers(2, 20), dtype=st.sampled_from([np.float32, np.float64]))
def test_any_dual_vector_brackets_the_maximum_margin(seed, n, dtype):
    rng = np.random.default_rng(seed)
    _, K, y = random_problem(seed, n, "kernel")
    _, margin = hard_margin(K.astype(dtype).astype(float), y)
    problem = mp.Problem(mp.Gram.from_matrix(K.astype(dtype)), y)
    u = -(rng.exponential(size=n) * rng.integers(0, 2, n) * 10.0 ** rng.integers(-20, 20)).astype(dtype)
    lower, upper = mp.margin_bounds(problem, u)
    assert lower <= margin * (1 + 1e-7)
    assert upper >= margin * (1 - 1e-7)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 20),
    kind=st.sampled_from(["linear", "kernel"]),
    tied=st.booleans(),
)
def test_any_dual_vector_brackets_the_maximum_margin_with_an_intercept(seed, n, kind, tied):
    rng = np.random.default_rng(seed)
    X, K, y = random_problem(seed, n, kind)
    if kind == "linear":
        X = X + 3 * rng.standard_normal(3)  # no plane through the origin need separate them
        K = X @ X.T
    _, best = svm(K, y, np.inf, intercept=True)
    margin = (-2 * best) ** -0.5
    gram = mp.Gram.linear(X) if kind == "linear" else mp.Gram.from_matrix(K)
    v = rng.exponential(size=n) * np.maximum(rng.integers(0, 3, n), tied)
    if tied:
        v = v / np.where(y > 0, v[y > 0].sum(), v[y < 0].sum())
    lower, upper = mp.margin_bounds(mp.Problem(gram, y, intercept=True), -v * 10.0 ** rng.integers(-20, 20))
    assert lower <= margin * (1 + 1e-6)
    assert upper >= margin * (1 - 1e-6)


def test_the_bounds_with_an_intercept_close_and_are_not_those_without():
    X, y = np.array([[1.0], [2.0], [4.0], [5.0]]), [-1, -1, 1, 1]
    with_it, without = (mp.Problem(mp.Gram.linear(X), y, intercept=b) for b in (True, False))
    u = np.array([0.0, -0.5, -0.5, 0.0])
    assert tuple(map(float, mp.margin_bounds(with_it, u))) == pytest.approx((1, 1), rel=1e-12)
    assert float(mp.margin_bounds(without, u)[0]) < 0
    unbalanced = mp.margin_bounds(with_it, np.array([0.0, -0.5, -0.55, 0.0]))
    assert float(unbalanced[1]) >= 1
    assert float(mp.margin_bounds(with_it, np.zeros(4))[1]) == pytest.approx(2.5)  # (1 + 4)/2


def test_columns_and_masks():
    _, K, y = random_problem(1, 10, "kernel")
    Y = np.stack([y, np.where(np.arange(10) < 8, y, 0)], axis=1)
    u = -np.abs(Y)
    lower, upper = mp.margin_bounds(mp.Problem(mp.Gram.from_matrix(K), Y), u)
    alone = mp.margin_bounds(mp.Problem(mp.Gram.from_matrix(K[:8, :8]), y[:8]), u[:8, 1])
    np.testing.assert_allclose((lower[1], upper[1]), alone, rtol=1e-10)


def test_zero_vector_says_what_is_trivial():
    problem = mp.Problem(mp.Gram.linear(np.array([[3.0, 0.0], [0.0, 4.0]])), [1, -1])
    assert tuple(map(float, mp.margin_bounds(problem, np.zeros(2)))) == pytest.approx((0.0, 3.0))


def test_float32_rounding_proves_nothing_false():
    """Two nearly equal samples of opposite label: the true margin is far below float32's rounding."""
    rng = np.random.default_rng(0)
    X = np.repeat(100 * rng.standard_normal((200, 30)), 2, axis=0)
    X[1::2] += 1e-5 * rng.standard_normal((200, 30))
    y = np.where(np.arange(400) % 2, 1, -1)
    X = X.astype(np.float32)
    problem = mp.Problem(mp.Gram.from_kernel(X, mp.Linear()), y)
    path = mp.run(
        mp.DualDescent(mp.GeometricDecay(1e-6)), problem, 500, observe=["margin_lower", "margin_upper"]
    )
    assert np.all(path["margin_upper"] >= 0)
    assert np.all(path["margin_lower"] <= path["margin_upper"])
    lower, upper = mp.margin_bounds(problem, path.last.u)
    assert lower <= upper
    assert upper <= 50


def test_non_separable_data_is_seen_to_be():
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    problem = mp.Problem(mp.Gram.linear(X), [1, -1, 1])  # equal points, opposite labels
    path = mp.run(
        mp.DualDescent(mp.GeometricDecay(1.0)), problem, 500, observe=["margin_upper", "margin_lower"]
    )
    assert path["margin_upper"][-1] < 0.01
    assert np.all(path["margin_lower"] <= 0)


def test_sharper_than_the_free_bounds_in_float32():
    _, K, y = random_problem(2, 20, "kernel")
    problem = mp.Problem(mp.Gram.from_matrix(K.astype(np.float32)), y)
    path = mp.run(
        mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3)),
        problem,
        3000,
        observe=["margin_lower", "margin_upper"],
        every=3000,
    )
    lower, upper = mp.margin_bounds(problem, path.last.u)
    assert path["margin_lower"][-1] <= lower
    assert path["margin_upper"][-1] >= upper


def test_duality_gap_bounds_the_distance_to_the_fixed_lambda_solution():
    _, K, y = random_problem(3, 12, "kernel")
    problem = mp.Problem(mp.Gram.from_matrix(K), y)
    solver = mp.DualDescent(mp.Constant(0.5), mp.Inertia(3))
    exact = mp.Reference(problem, mp.run(solver, problem, 20_000, every=20_000).last.u)
    path = mp.run(solver, problem, 200, observe={"gap": mp.duality_gap, "distance": exact.distance})
    assert np.all(path["gap"][1:] >= path["distance"][1:] ** 2 / 2 - 1e-12)
    assert path["gap"][-1] < 1e-2 * path["gap"][1]


def test_bad_vectors():
    problem = mp.Problem(mp.Gram.linear(np.eye(2)), [1, -1])
    with pytest.raises(ValueError, match=r"shape \(3,\), but that of y, \(2,\)"):
        mp.margin_bounds(problem, np.zeros(3))
    with pytest.raises(ValueError, match="at most 0"):
        mp.margin_bounds(problem, np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match="at most 0"):
        mp.margin_bounds(problem, np.array([np.nan, -1.0]))


def test_bounds_with_an_intercept_bracket_its_maximum_margin():
    """Three samples against 21: no classifier without an intercept has this margin."""
    _, K, y = random_problem(5, 24, "kernel")
    y = np.where(np.arange(24) < 3, -1.0, 1.0)
    u, _ = soft_margin_with_intercept(K, y, np.ones(24), 1e6)
    margin = 1 / np.sqrt((y * u) @ K @ (y * u))
    assert hard_margin(K, y)[1] < 0.99 * margin
    problem = mp.Problem(mp.Gram.from_matrix(K), y, intercept=True)
    path = mp.run(mp.SolutionPath(tol=1e-9), problem, steps=40)
    assert abs(float(path.last.offset)) > 0.1
    for step in (1, 10, 20, 40):
        state = path.state(step, problem)
        proved = np.array(mp.certificates.state_margin_bounds(problem, state))
        assert proved[0] <= margin * (1 + 1e-6)
        assert proved[1] >= margin * (1 - 1e-6)
        estimated = mp.certificates.bounds.estimated_margin_bounds(problem, state)
        np.testing.assert_allclose(estimated, proved, rtol=1e-6)
    np.testing.assert_allclose(proved, margin, rtol=1e-3)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("exponent", [-30, 0, 30])
def test_bounds_are_proved_where_the_features_are(exponent, intercept):
    rng = np.random.default_rng(0)
    Y = rng.choice([-1.0, 0.0, 1.0], (300, 3))
    X = ((rng.standard_normal((300, 5)) + 4 * Y[:, :1]) * 2.0**exponent).astype(np.float32)
    u = -rng.exponential(size=(300, 3)) * (rng.random((300, 3)) < 0.5) * 10.0**-exponent
    here, there = (
        mp.Problem(mp.Gram.linear(asarray(X)), Y, intercept=intercept)
        for asarray in (np.asarray, array_api_strict.asarray)
    )
    expected = mp.margin_bounds(here, u)
    assert here.gram.roots_there is None
    assert there.gram.roots_there is not None
    for ours, numpys in zip(mp.margin_bounds(there, u), expected, strict=True):
        np.testing.assert_allclose(np.asarray(ours), numpys, rtol=1e-12)


def test_models_stay_where_they_are_until_they_are_asked_for():
    xp, data = array_api_strict, mp.datasets.toy()
    gram = mp.Gram.linear(xp.asarray(data.X.astype(np.float32)))
    path = mp.run(mp.DualDescent(mp.PowerDecay(4.0)), mp.Problem(gram, data.y), 5, models=True)
    assert isinstance(path.models.where_kept(5), type(xp.ones(1)))
    np.testing.assert_array_equal(np.asarray(path.models.where_kept(5)), path.models.u(5))


@given(seed=st.integers(0, 10**6), dtype=st.sampled_from([np.float32, np.float64]))
def test_bounds_are_of_rows_before_their_differences_to_a_centre_are_rounded(seed, dtype):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 4)) * 10.0 ** rng.uniform(-3, 3, (30, 1)) + 3000
    X[::6] -= 3000
    kernel = CentredLinear(X.mean(axis=0).astype(dtype))
    gram = centred_gram(X.astype(dtype), kernel)
    V = rng.standard_normal((30, 3)) / gram.roots[:, None]
    found, rows = gram.enclose(V), X.astype(dtype).astype(np.longdouble) - kernel.centre
    w = rows.T @ V
    norm, lengths = np.sqrt(np.sum(w**2, axis=0)), np.sqrt(np.sum(rows**2, axis=1))
    assert np.all(np.abs(found.product - rows @ w) <= found.error)
    assert np.all((found.low <= norm) & (norm <= found.high))
    assert np.all((lengths <= gram.roots) & (gram.roots <= 1.001 * lengths))
    gram.row_rounding = 0.0
    unaware = gram.enclose(V)
    assert dtype == np.float64 or np.any(np.abs(unaware.product - rows @ w) > unaware.error)
