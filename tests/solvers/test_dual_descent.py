import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from naive import dual_descent, random_problem, separable

import marginpath as mp

SCHEDULES = [
    mp.PowerDecay(4.0),
    mp.PowerDecay(0.5, power=2),
    mp.LogDecay(8.0),
    mp.GeometricDecay(8.0),
    mp.Constant(0.3),
    lambda t: 3 / t**0.5,
]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("momentum", [None, mp.Inertia(3), lambda t: 0.4])
@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_agrees_with_the_naive_reference(schedule, momentum, kind):
    _, K, y = random_problem(3, 9, kind)
    γ = 0.9 / np.linalg.eigvalsh(K)[-1]
    path = mp.run(mp.DualDescent(schedule, momentum, γ), mp.Problem(mp.Gram.from_matrix(K), y), 600)
    expected = dual_descent(K, y, schedule, 600, γ, momentum or (lambda t: 0.0))
    np.testing.assert_allclose(path.last.u, expected[-1], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(path.state(7).u, expected[7], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(path.last.scores, K @ (y * path.last.u), rtol=1e-12, atol=1e-13)


@given(seed=st.integers(0, 10**6), k=st.integers(1, 5), inertial=st.booleans())
def test_columns_equal_separate_runs(seed, k, inertial):
    rng = np.random.default_rng(seed)
    _, K, _ = random_problem(seed, 12, "kernel")
    Y = rng.permuted(np.repeat([[1.0], [-1.0], [0.0]], [5, 5, 2], axis=0).repeat(k, axis=1), axis=0)
    gram = mp.Gram.from_matrix(K)
    scale = rng.uniform(0.1, 10, k)
    solver = mp.DualDescent(mp.PowerDecay(2.0), mp.Inertia(3) if inertial else None)
    together = mp.run(solver, mp.Problem(gram, Y, box_scale=scale), 100, observe=["margin", "error"])
    for j in range(k):
        alone = mp.run(
            solver, mp.Problem(gram, Y[:, j], box_scale=scale[j]), 100, observe=["margin", "error"]
        )
        np.testing.assert_allclose(together.last.u[:, j], alone.last.u, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(together["margin"][:, j], alone["margin"], rtol=0, atol=1e-12)
        np.testing.assert_array_equal(together["error"][:, j], alone["error"])


def test_box_scale_is_another_lambda0():
    _, K, y = random_problem(1, 10, "kernel")
    gram = mp.Gram.from_matrix(K)
    scaled = mp.run(mp.DualDescent(mp.PowerDecay(1.0)), mp.Problem(gram, y, box_scale=0.25), 50)
    plain = mp.run(mp.DualDescent(mp.PowerDecay(4.0)), mp.Problem(gram, y), 50)
    np.testing.assert_array_equal(scaled.last.u, plain.last.u)


@given(seed=st.integers(0, 10**6), inertial=st.booleans(), kind=st.sampled_from(["linear", "kernel"]))
def test_weight_two_is_the_sample_twice(seed, inertial, kind):
    rng = np.random.default_rng(seed)
    X, _, y = random_problem(seed, 10, kind)
    weights = rng.integers(0, 4, 10)
    weights[:2] = 1  # one of each class stays
    y[:2] = 1, -1
    repeated = np.repeat(np.arange(10), weights)

    def gram(X):
        return mp.Gram.linear(X) if kind == "linear" else mp.Gram.from_kernel(X, mp.Gaussian(0.7))

    copies = mp.Problem(gram(X[repeated]), y[repeated])
    weighted = mp.Problem(gram(X), y, sample_weight=weights)
    γ = 0.9 / copies.norm_bounds()[1]
    solver = mp.DualDescent(mp.PowerDecay(2.0), mp.Inertia(3) if inertial else None, γ)
    a, b = mp.run(solver, copies, 200, observe="margin"), mp.run(solver, weighted, 200, observe="margin")
    u = np.zeros(10)
    np.add.at(u, repeated, a.last.u)
    np.testing.assert_allclose(b.last.u, u, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(a["margin"], b["margin"], rtol=0, atol=1e-10)


def test_weighted_step_bound_is_that_of_the_copies():
    X, _, y = random_problem(5, 20, "linear")
    weights = np.arange(20) % 4 + 1
    weighted = mp.Problem(mp.Gram.linear(X), y, sample_weight=weights).norm_bounds()
    copies = np.linalg.norm(np.repeat(X, weights, axis=0), 2) ** 2
    assert weighted[0] <= copies <= weighted[1] <= 1.05 * copies


def test_zero_labels_leave_samples_out():
    X, _, y = random_problem(2, 12, "kernel")
    keep = np.arange(12) >= 3
    y_masked = np.where(keep, y, 0)
    part = mp.Problem(mp.Gram.from_kernel(X[keep], mp.Gaussian(0.7)), y[keep])
    whole = mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(0.7)), y_masked)
    solver = mp.DualDescent(mp.GeometricDecay(1.0), mp.Inertia(3), 0.5 / whole.norm_bounds()[1])
    a = mp.run(solver, part, 2000, observe=["margin", "error", "support"])
    b = mp.run(solver, whole, 2000, observe=["margin", "error", "support"])
    np.testing.assert_array_equal(b.last.u[~keep], 0)
    np.testing.assert_allclose(b.last.u[keep], a.last.u, rtol=1e-10)
    for name in ("margin", "error", "support"):
        np.testing.assert_allclose(a[name], b[name], rtol=0, atol=1e-10)


def test_dense_sparse_and_stored_linear_grams_agree():
    X, _, y = random_problem(4, 15, "linear")
    X[:, 1] = 0
    X[3] = 0  # an all-zero row is allowed
    grams = [mp.Gram.linear(X), mp.Gram.linear(sp.csr_array(X)), mp.Gram.from_kernel(X, mp.Linear())]
    solver = mp.DualDescent(mp.PowerDecay(1.0), step_size=0.9 / np.linalg.norm(X, 2) ** 2)
    last = [mp.run(solver, mp.Problem(g, y), 300).last.u for g in grams]
    np.testing.assert_allclose(last[1], last[0], rtol=1e-12)
    np.testing.assert_allclose(last[2], last[0], rtol=1e-12)
    assert last[0][3] == pytest.approx(-300 * solver.step_size)  # its coordinate goes to the bound


def test_one_product_a_step():
    class Counting(mp.gram.DenseGram):
        products = 0

        def __matmul__(self, V):
            self.products += 1
            return super().__matmul__(V)

    _, K, y = random_problem(0, 8, "kernel")
    for momentum in (None, mp.Inertia(3)):
        gram = Counting(K)
        problem = mp.Problem(gram, y)
        solver = mp.DualDescent(mp.PowerDecay(1.0), momentum)
        state = solver.init(problem)
        before = gram.products
        for _ in range(10):
            state = solver.step(problem, state)
        assert gram.products == before + 10


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fast_decay_neither_overflows_nor_underflows(scale, dtype):
    X, y = separable(0, 30, 5)
    problem = mp.Problem(mp.Gram.linear((X * scale).astype(dtype)), y)
    path = mp.run(
        mp.DualDescent(mp.GeometricDecay(8.0), mp.Inertia(3)),
        problem,
        3000,
        observe=["margin", "norm", "duality_gap", "margin_upper"],
        every=100,
    )
    assert path.last.u.dtype == dtype
    assert np.isfinite(path["margin"]).all()
    assert np.isfinite(path["norm"]).all()
    assert not np.isnan(path["duality_gap"]).any()
    assert path["margin"][-1] > 0.9 * path["margin_upper"][-1] > 0


def test_infinite_lambda_is_an_empty_box():
    _, K, y = random_problem(0, 6, "kernel")
    path = mp.run(mp.DualDescent(mp.LogDecay(1.0)), mp.Problem(mp.Gram.from_matrix(K), y), 2)
    np.testing.assert_array_equal(path.state(1).u, 0)
    assert np.any(path.last.u < 0)


def test_start_is_taken_and_brought_into_the_box():
    _, K, y = random_problem(0, 6, "kernel")
    problem = mp.Problem(mp.Gram.from_matrix(K), y)
    start = np.linspace(-3, 1, 6)
    path = mp.run(mp.DualDescent(mp.Constant(1.0)), problem, 1, start=start)
    γ = path.last.step_size
    expected = dual_descent(K, y, mp.Constant(1.0), 1, γ, u=start)[-1]
    np.testing.assert_allclose(path.last.u, expected, rtol=1e-13, atol=1e-15)
    with pytest.raises(ValueError, match=r"shape of y, \(6,\); got shape \(5,\)"):
        mp.run(mp.DualDescent(mp.Constant(1.0)), problem, 1, start=start[:5])
    with pytest.raises(ValueError, match="from nan to nan"):
        mp.run(mp.DualDescent(mp.Constant(1.0)), problem, 1, start=start * np.nan)


def test_step_sizes():
    _, K, y = random_problem(0, 40, "kernel")
    problem = mp.Problem(mp.Gram.from_matrix(K), y)
    L = np.linalg.eigvalsh(K)[-1]
    lower, upper = problem.norm_bounds()

    def start(γ):
        return mp.DualDescent(mp.PowerDecay(1.0), step_size=γ).init(problem)

    assert start(None).step_size == 1 / upper
    assert start(1 / L).step_size == 1 / L
    with pytest.warns(UserWarning, match=r"over 1/‖K‖"):
        start(1.4 / L)
    with pytest.warns(UserWarning, match=r"over 1/‖K‖"):
        start(1.99 / lower)
    with pytest.raises(ValueError, match=r"cannot converge.*Use "):
        start(2.001 / lower)
    for bad in (0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="positive finite"):
            start(bad)


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (lambda t: -1.0, r"λ = -1.0 at t = 1"),
        (lambda t: float("nan"), r"λ = nan at t = 1"),
        (lambda t: 1.0 if t < 5 else 2.0, r"increases: λ = 2 at t = 5 after 1"),
        (lambda t: "one", r"'one' at t = 1; a number is needed"),
    ],
)
def test_bad_schedules(schedule, message):
    _, K, y = random_problem(0, 6, "kernel")
    with pytest.raises((ValueError, TypeError), match=message):
        mp.run(mp.DualDescent(schedule), mp.Problem(mp.Gram.from_matrix(K), y), 10)


def test_all_zero_data_does_no_harm():
    problem = mp.Problem(mp.Gram.linear(np.zeros((4, 2))), [1, -1, 1, -1])
    path = mp.run(mp.DualDescent(mp.PowerDecay(1.0)), problem, 5, observe=["margin", "margin_upper"])
    np.testing.assert_array_equal(path["margin"], 0)
    np.testing.assert_array_equal(path["margin_upper"], 0)
