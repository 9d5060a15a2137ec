"""The methods the paper measures itself against: naive references, degenerate data, scales, columns."""

import array_api_strict
import naive_rivals as naive
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from naive import hard_margin, random_problem, separable

import marginpath as mp
from marginpath import solvers
from marginpath.losses import Logistic, SquaredHinge
from marginpath.solvers import (
    GradientDescent,
    HomotopicSubgradient,
    MirrorDescent,
    NormalizedGradient,
    Pegasos,
    Perceptron,
    Subgradient,
)
from marginpath.solvers.rivals.pegasos import _drawn, _uniform

SOLVERS = {
    "exponential": GradientDescent(),
    "logistic": GradientDescent(Logistic()),
    "squared hinge": GradientDescent(SquaredHinge()),
    "normalized": NormalizedGradient(),
    "mirror": MirrorDescent(),
    "accelerated": MirrorDescent(accelerated=True),
    "perceptron": Perceptron(),
    "smooth perceptron": Perceptron(smooth=True),
    "subgradient": Subgradient(),
    "homotopic": HomotopicSubgradient(),
    "pegasos": Pegasos(lambda0=0.5, seed=7),
}
#: Methods whose margin is proved to tend to the maximum.
MAXIMUM_MARGIN = [
    "exponential",
    "logistic",
    "normalized",
    "mirror",
    "accelerated",
    "perceptron",
    "smooth perceptron",
]
every_solver = pytest.mark.parametrize("name", SOLVERS)


def degenerate(kind):
    rng = np.random.default_rng(0)
    if kind == "one point a class":
        return np.array([[1.0, 0.5], [-0.3, 0.8]]), np.array([1.0, -1.0])
    if kind == "duplicate points":
        X, y = separable(1, 8, 3)
        return np.concatenate([X, X[:5], X[:2]]), np.concatenate([y, y[:5], y[:2]])
    if kind == "a zero feature":
        X, y = separable(2, 12, 3)
        return X * np.array([1.0, 0.0, 1.0]) + np.outer(y, [0.5, 0.0, 0.0]), y
    if kind == "d much over n":
        return rng.standard_normal((6, 300)), np.array([1.0, -1.0] * 3)
    return separable(3, 250, 2)


DEGENERATE = ["one point a class", "duplicate points", "a zero feature", "d much over n", "n much over d"]


def reference(name, A, steps):
    """The naive v, with step sizes from the definitions."""
    n, κ2, norm = len(A), np.diag(A).max(), np.linalg.eigvalsh(A)[-1]
    return {
        "exponential": lambda: naive.gradient_descent(A, steps, 1 / (n * κ2), lambda m: -np.exp(-m)),
        "logistic": lambda: naive.gradient_descent(A, steps, 4 / norm, lambda m: -1 / (1 + np.exp(m))),
        "squared hinge": lambda: naive.gradient_descent(
            A, steps, 0.5 / norm, lambda m: -2 * np.maximum(1 - m, 0)
        ),
        "normalized": lambda: naive.normalized_gradient(A, steps, κ2**-0.5),
        "mirror": lambda: naive.mirror_descent(A, steps, 1 / κ2),
        "accelerated": lambda: naive.mirror_descent(A, steps, 1 / κ2, accelerated=True),
        "perceptron": lambda: naive.perceptron(A, steps),
        "smooth perceptron": lambda: naive.smooth_perceptron(A, steps),
        "subgradient": lambda: naive.subgradient(A, steps, 1 / norm),
        "homotopic": lambda: naive.homotopic(A, steps, κ2),
        "pegasos": lambda: naive.pegasos(A, 0.5, samples(7, n, steps)),
    }[name]()


def samples(seed, n, steps):
    return [int(np.ceil(_uniform(seed, t) * n)) - 1 for t in range(1, steps + 1)]


def with_exact_step(name, A):
    """The solver with the step size of the reference, where its own comes from a bound on the norm."""
    norm = np.linalg.eigvalsh(A)[-1]
    exact = {
        "logistic": GradientDescent(Logistic(), 4 / norm),
        "squared hinge": GradientDescent(SquaredHinge(), 0.5 / norm),
        "subgradient": Subgradient(1 / norm),
    }
    return exact.get(name, SOLVERS[name])


@every_solver
@pytest.mark.parametrize("kind", DEGENERATE)
def test_agrees_with_the_naive_reference_on_degenerate_data(name, kind):
    X, y = degenerate(kind)
    A = np.outer(y, y) * (X @ X.T)
    problem = mp.Problem(mp.Gram.linear(X), y)
    path = mp.run(with_exact_step(name, A), problem, 300)
    v = reference(name, A, 300)
    m = A @ v
    np.testing.assert_allclose(problem.margins(path.last.scores), m, rtol=1e-8, atol=1e-11 * np.abs(m).max())
    np.testing.assert_allclose(path.last.scores, X @ (X.T @ (y * path.last.u)), rtol=1e-10, atol=1e-10)
    if (name, kind) != ("perceptron", "duplicate points"):  # which of two equal points is taken is rounding
        np.testing.assert_allclose(-path.last.u, v, rtol=1e-8, atol=1e-11 * np.abs(v).max())


@every_solver
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_the_naive_reference_on_a_kernel(name, seed):
    _, K, y = random_problem(seed, 10, "kernel")
    A = np.outer(y, y) * K
    path = mp.run(with_exact_step(name, A), mp.Problem(mp.Gram.from_matrix(K), y), 500)
    v = reference(name, A, 500)
    np.testing.assert_allclose(-path.last.u, v, rtol=1e-8, atol=1e-11 * np.abs(v).max())


@given(seed=st.integers(0, 10**6), k=st.integers(1, 4), name=st.sampled_from(list(SOLVERS)))
def test_columns_equal_separate_runs(seed, k, name):
    rng = np.random.default_rng(seed)
    _, K, _ = random_problem(seed, 12, "kernel")
    Y = rng.permuted(np.repeat([[1.0], [-1.0], [0.0]], [5, 5, 2], axis=0).repeat(k, axis=1), axis=0)
    gram, scale = mp.Gram.from_matrix(K), rng.uniform(0.1, 10, k)
    together = mp.run(SOLVERS[name], mp.Problem(gram, Y, box_scale=scale), 100, observe="margin")
    for j in range(k):
        problem = mp.Problem(gram, Y[:, j], box_scale=scale[j])
        alone = mp.run(SOLVERS[name], problem, 100, observe="margin")
        largest = np.abs(alone.last.u).max()
        np.testing.assert_allclose(together.last.u[:, j], alone.last.u, rtol=1e-12, atol=1e-12 * largest)
        np.testing.assert_allclose(together["margin"][:, j], alone["margin"], rtol=0, atol=1e-12)
        np.testing.assert_array_equal(together.last.u[Y[:, j] == 0, j], 0)


@every_solver
def test_resumed_replayed_and_stored_paths_are_bit_equal(name, tmp_path):
    _, K, y = random_problem(0, 9, "kernel")
    problem = mp.Problem(mp.Gram.from_matrix(K), np.stack([y, np.roll(y, 1)], axis=1))
    whole = mp.run(SOLVERS[name], problem, 60, observe="margin", keep=0)
    part = mp.run(SOLVERS[name], problem, 25, observe="margin")
    part.save(tmp_path / "path.npz")
    for begun in (part, mp.Path.load(tmp_path / "path.npz")):
        resumed = mp.resume(begun, problem, 35)
        np.testing.assert_array_equal(resumed["margin"], whole["margin"])
        for field, value in whole.last.arrays().items():
            np.testing.assert_array_equal(getattr(resumed.last, field), value)
    np.testing.assert_array_equal(whole.state(25, problem).u, part.last.u)


@every_solver
def test_a_stopped_column_leaves_the_others_alone(name):
    _, K, y = random_problem(0, 9, "kernel")
    problem = mp.Problem(mp.Gram.from_matrix(K), np.stack([y, np.roll(y, 1)], axis=1))
    stopped = mp.run(SOLVERS[name], problem, 40, stop=lambda p, s, path: np.array([s.t >= 20, False]))
    free = mp.run(SOLVERS[name], problem, 40)
    np.testing.assert_array_equal(stopped.last.u[:, 0], free.state(20, problem).u[:, 0])
    np.testing.assert_allclose(stopped.last.u[:, 1], free.last.u[:, 1], rtol=1e-11)


@pytest.mark.parametrize("name", [n for n in SOLVERS if n not in ("perceptron", "pegasos")])
def test_weight_two_is_the_sample_twice(name):
    X, y = separable(4, 10, 3)
    weights = np.array([1, 2, 0, 3, 1, 1, 2, 0, 1, 1])
    copies = np.repeat(np.arange(10), weights)
    problems = [
        mp.Problem(mp.Gram.linear(X[copies]), y[copies]),
        mp.Problem(mp.Gram.linear(X), y, sample_weight=weights),
    ]
    solver = with_exact_step(name, np.outer(y[copies], y[copies]) * (X[copies] @ X[copies].T))
    a, b = (mp.run(solver, problem, 200, observe="margin") for problem in problems)
    u = np.zeros(10)
    np.add.at(u, copies, a.last.u)
    np.testing.assert_allclose(b.last.u, u, rtol=1e-9, atol=1e-12 * np.abs(u).max())
    np.testing.assert_allclose(a["margin"], b["margin"], rtol=0, atol=1e-10)


@every_solver
def test_samples_of_weight_zero_change_nothing(name):
    """Not even where their margin is so bad that its loss overflows."""
    X, y = separable(4, 10, 3)
    X[0] *= -1e3
    plain = mp.run(SOLVERS[name], mp.Problem(mp.Gram.linear(X[1:]), y[1:], np.ones(9)), 100, observe="margin")
    weights = np.array([0] + 9 * [1])
    problem = mp.Problem(mp.Gram.linear(X), y, weights)
    path = mp.run(SOLVERS[name], problem, 100, observe="margin")
    assert path.last.u[0] == 0
    np.testing.assert_allclose(path["margin"], plain["margin"], rtol=0, atol=2e-2)
    if name not in ("logistic", "squared hinge", "subgradient"):  # those step by a bound on the norm
        np.testing.assert_allclose(path.last.u[1:], plain.last.u, rtol=1e-9, atol=1e-12)


def test_pegasos_draws_in_proportion_to_the_weights():
    y, weights = np.array([1.0, -1.0, 1.0, -1.0]), np.array([1.0, 2.0, 0.0, 5.0])
    problem = mp.Problem(mp.Gram.from_matrix(np.eye(4)), y, weights)
    drawn = [int(_drawn(problem, _uniform(0, t))) for t in range(1, 4001)]
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 4000, weights / 8, atol=0.02)
    assert 2 not in drawn


def scaled_path(name, scale, steps):
    X, y = separable(0, 30, 5)
    problem = mp.Problem(mp.Gram.linear(scale * X), y)
    solver = Pegasos(0.5 * scale**2) if name == "pegasos" else SOLVERS[name]
    observe = ["margin", "norm", "margin_lower", "margin_upper"]
    return mp.run(solver, problem, steps, observe=observe, every=steps // 50, keep=0)


def check_scaled_path(name, scale, steps, gap):
    path = scaled_path(name, scale, steps)
    for value in ("margin", "norm", "margin_lower", "margin_upper"):
        assert np.isfinite(path[value]).all()
    assert np.all(path.last.u <= 0)
    if name in MAXIMUM_MARGIN:
        lower, upper = path["margin_lower"], path["margin_upper"]
        assert lower[1] < lower[5] <= lower[-1] * (1 + 1e-9)
        assert lower[-1] <= upper[-1]
        assert lower[-1] >= (1 - gap[name]) * scale * MARGIN


MARGIN = hard_margin(*(lambda X, y: (X @ X.T, y))(*separable(0, 30, 5)))[1]


@every_solver
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_no_overflow_and_a_growing_certified_margin(name, scale):
    gap = {
        "exponential": 0.4,
        "logistic": 0.12,
        "normalized": 0.06,
        "mirror": 0.02,
        "accelerated": 1e-4,
        "perceptron": 0.02,
        "smooth perceptron": 1e-4,
    }
    check_scaled_path(name, scale, 2000, gap)


@pytest.mark.heavy
@every_solver
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_no_overflow_in_a_hundred_thousand_steps(name, scale):
    gap = {
        "exponential": 0.2,
        "logistic": 0.06,
        "normalized": 0.01,
        "mirror": 1e-3,
        "accelerated": 1e-7,
        "perceptron": 1e-3,
        "smooth perceptron": 1e-7,
    }
    check_scaled_path(name, scale, 100_000, gap)


@every_solver
def test_the_scale_of_the_data_does_not_matter(name):
    """By a power of two, so that rounding does not either."""
    plain, scaled = (scaled_path(name, scale, 300) for scale in (1.0, 2.0**-10))
    np.testing.assert_allclose(scaled["margin"], plain["margin"] * 2.0**-10, rtol=1e-9, atol=1e-15)


def test_homotopic_subgradient_reaches_the_maximum_margin():
    X, y = separable(0, 30, 5)
    problem = mp.Problem(mp.Gram.linear(X), y)
    path = mp.run(HomotopicSubgradient(lambda0=1.0), problem, 10_000, observe="margin", every=1000)
    assert path["margin"][1] < path["margin"][-1]
    assert path["margin"][-1] > 0.997 * MARGIN


def test_subgradient_reaches_zero_loss_but_not_the_maximum_margin():
    problem = mp.Problem(mp.Gram.linear(np.array([[2.0, 0.0], [0.0, 1.0], [-2.0, 0.0]])), [1, 1, -1])
    path = mp.run(Subgradient(), problem, 5000, observe=["functional_margin", "margin"], every=500)
    assert path["functional_margin"][-1] >= 1
    assert np.all(path["margin"][1:] == path["margin"][-1])
    assert path["margin"][-1] < 0.9 * 2 / 5**0.5


def test_pegasos_solves_the_problem_at_its_lambda():
    X, y = separable(0, 30, 5)
    problem = mp.Problem(mp.Gram.linear(X), y)
    exact = solvers.Tikhonov([0.5]).solve(problem)
    reference = mp.Reference(problem, exact.u[0])
    path = mp.run(Pegasos(0.5), problem, 6000, observe={"distance": reference.distance}, every=2000)
    assert path["distance"][-1] < 0.15 * float(reference.norm)


@every_solver
@pytest.mark.parametrize("xp", [np, array_api_strict], ids=["numpy", "strict"])
def test_float32_stays_and_other_arrays_do(name, xp):
    _, K, y = random_problem(1, 8, "kernel")
    K = K.astype(np.float32)
    Y = np.stack([y, np.roll(y, 1)], axis=1)
    path = mp.run(SOLVERS[name], mp.Problem(mp.Gram.from_matrix(xp.asarray(K)), Y), 30, observe="margin")
    exact = mp.run(SOLVERS[name], mp.Problem(mp.Gram.from_matrix(K.astype(float)), Y), 30, observe="margin")
    for value in path.last.arrays().values():
        assert value.dtype == xp.float32
    np.testing.assert_allclose(path["margin"], exact["margin"], rtol=0, atol=1e-3)


@every_solver
def test_sparse_features(name):
    X, y = separable(5, 15, 4)
    a, b = (
        mp.run(with_exact_step(name, np.outer(y, y) * (X @ X.T)), mp.Problem(gram, y), 50)
        for gram in (mp.Gram.linear(X), mp.Gram.linear(sp.csr_array(X)))
    )
    np.testing.assert_allclose(a.last.u, b.last.u, rtol=1e-9, atol=1e-12)


@every_solver
def test_one_product_a_step(name):
    class Counting(mp.gram.DenseGram):
        products = 0

        def __matmul__(self, V):
            self.products += 1
            return super().__matmul__(V)

    _, K, y = random_problem(0, 40, "kernel")
    gram = Counting(K)
    problem = mp.Problem(gram, y)
    state = SOLVERS[name].init(problem)
    before = gram.products
    for _ in range(20):
        state = SOLVERS[name].step(problem, state)
    assert gram.products - before == (0 if name in ("perceptron", "pegasos") else 20)


@every_solver
def test_all_zero_data_does_no_harm(name):
    problem = mp.Problem(mp.Gram.linear(np.zeros((4, 2))), [1, -1, 1, -1])
    path = mp.run(SOLVERS[name], problem, 5, observe=["margin", "margin_upper"])
    np.testing.assert_array_equal(path["margin"], 0)
    np.testing.assert_array_equal(path["margin_upper"], 0)


@every_solver
def test_data_that_nothing_separates_stay_finite(name):
    X, y = np.array([[1.0, 0.2], [1.0, 0.2], [0.3, -1.0]]), np.array([1.0, -1.0, 1.0])
    path = mp.run(SOLVERS[name], mp.Problem(mp.Gram.linear(X), y), 200, observe=["margin", "margin_upper"])
    assert np.isfinite(path.last.u).all()
    assert np.all(path["margin"] <= 1e-12)


@every_solver
def test_start(name):
    _, K, y = random_problem(0, 8, "kernel")
    problem = mp.Problem(mp.Gram.from_matrix(K), y)
    start = np.linspace(-2, 0, 8)
    state = SOLVERS[name].init(problem, start)
    np.testing.assert_allclose(state.u, start / 8 if name == "smooth perceptron" else start)  # the simplex
    np.testing.assert_allclose(state.scores, K @ (y * state.u), rtol=1e-12)
    assert np.isfinite(SOLVERS[name].step(problem, state).u).all()
    for bad in (start[:5], -start, start * np.nan):
        with pytest.raises(ValueError, match=r"finite u ≤ 0 of the shape of y, \(8,\)"):
            SOLVERS[name].init(problem, bad)
