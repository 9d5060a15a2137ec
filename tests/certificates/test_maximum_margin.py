import os

import array_api_strict
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import gaussian, hard_margin, random_problem, separable

import marginpath as mp
from marginpath.certificates.maximum_margin import MarginStatus, MaximumMargin, maximum_margin


def relative_gap(found):
    lower, upper = (np.asarray(end) for end in found.margin_bounds)
    return (upper - lower) / upper


def direction(X, y, u):
    w = -X.T @ (y * u)
    return w / np.linalg.norm(w)


def make_gram(X, K, kind):
    return mp.Gram.linear(X) if kind == "linear" else mp.Gram.from_matrix(K)


def with_a_clear_margin(seed, n, kind):
    """(X, K, y): in the plane, or a Gaussian kernel in five dimensions, where 1e-10 can be proved."""
    if kind == "linear":
        X, y = separable(seed, n, 2)
        return X, X @ X.T, y
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    return X, gaussian(X, X, 1.0), np.where(rng.permutation(n) % 2, 1.0, -1.0)


seeds = st.integers(0, 10**6)


@given(seed=seeds, n=st.integers(2, 25), kind=st.sampled_from(["linear", "kernel"]))
@settings(max_examples=100)
def test_agrees_with_an_independent_solver(seed, n, kind):
    X, K, y = random_problem(seed, n, kind)
    found = maximum_margin(mp.Problem(make_gram(X, K, kind), y))
    u, margin = hard_margin(K, y)
    assert isinstance(found, MaximumMargin)
    assert found.u.shape == y.shape
    assert np.all(found.u <= 0)
    lower, upper = found.margin_bounds
    assert lower <= upper
    np.testing.assert_allclose([lower, upper], margin, rtol=1e-6)
    # Proved to 1e-10, unless the margin is so small that rounding alone takes more.
    assert found.status is (MarginStatus.EXACT if margin > 0.02 else found.status)
    assert found.status is not MarginStatus.LIMITED
    scores = K @ (y * found.u)
    assert np.min(-y * scores) == pytest.approx(1, abs=1e-7)
    assert float(found.u @ (y * scores)) == pytest.approx(1 / margin**2, rel=1e-6)
    if kind == "linear":
        assert np.linalg.norm(direction(X, y, found.u) - direction(X, y, u)) < 1e-5


@given(seed=seeds, n=st.integers(8, 30))
def test_columns_and_left_out_samples(seed, n):
    rng = np.random.default_rng(seed)
    _, K, y = random_problem(seed, n, "kernel")
    Y = np.stack([y, np.where(rng.permutation(n) < n - 3, y, 0), -y], axis=1)
    problem = mp.Problem(mp.Gram.from_matrix(K), Y)
    found = maximum_margin(problem)
    assert found.u.shape == Y.shape
    assert np.all(found.u[Y == 0] == 0)
    assert len(found.status) == 3
    for array in (*found.margin_bounds, found.epsilon, found.factorizations):
        assert array.shape == (3,)
    for j in range(3):
        kept = Y[:, j] != 0
        _, margin = hard_margin(K[np.ix_(kept, kept)], Y[kept, j])
        np.testing.assert_allclose([end[j] for end in found.margin_bounds], margin, rtol=1e-6)
    for mine, again in zip(mp.margin_bounds(problem, found.u), found.margin_bounds, strict=True):
        np.testing.assert_array_equal(mine, again)


@pytest.mark.parametrize("sparse", [False, True])
def test_fewer_features_than_samples(sparse):
    X, y = separable(3, 400, 5)
    found = maximum_margin(mp.Problem(mp.Gram.linear(sp.csr_array(X) if sparse else X), y))
    assert found.status is MarginStatus.EXACT
    assert relative_gap(found) <= 1e-10
    np.testing.assert_allclose(found.margin_bounds[0], hard_margin(X @ X.T, y)[1], rtol=1e-6)
    assert np.count_nonzero(found.u) <= 5


def test_many_more_features_than_samples():
    X, y = separable(4, 30, 600)
    found = maximum_margin(mp.Problem(mp.Gram.linear(X), y))
    assert found.status is MarginStatus.EXACT
    np.testing.assert_allclose(found.margin_bounds[1], hard_margin(X @ X.T, y)[1], rtol=1e-8)


@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_equal_samples_share_the_solution_and_change_nothing(kind):
    X, K, y = with_a_clear_margin(5, 30, kind)
    once = maximum_margin(mp.Problem(make_gram(X, K, kind), y))
    twice = np.repeat(np.arange(30), 2)
    found = maximum_margin(mp.Problem(make_gram(X[twice], K[np.ix_(twice, twice)], kind), y[twice]))
    assert found.status is MarginStatus.EXACT
    np.testing.assert_allclose(found.margin_bounds, once.margin_bounds, rtol=1e-9)
    if kind == "kernel":  # the solution of distinct samples is unique here
        np.testing.assert_allclose(found.u.reshape(30, 2).sum(axis=1), once.u, atol=1e-7)


def test_weights_over_zero_change_nothing_and_zero_leaves_out():
    _, K, y = random_problem(6, 20, "kernel")
    weights = np.random.default_rng(0).exponential(size=20)
    gram = mp.Gram.from_matrix(K)
    plain, weighted = (maximum_margin(mp.Problem(gram, y, w)) for w in (None, weights))
    np.testing.assert_array_equal(weighted.u, plain.u)
    weights[:2] = 0
    fewer = maximum_margin(mp.Problem(gram, y, weights))
    assert np.all(fewer.u[:2] == 0)
    np.testing.assert_allclose(fewer.margin_bounds[0], hard_margin(K[2:, 2:], y[2:])[1], rtol=1e-6)


def test_one_point_a_class():
    found = maximum_margin(mp.Problem(mp.Gram.linear(np.array([[3.0, 0.0], [0.0, 4.0]])), [1, -1]))
    assert found.status is MarginStatus.EXACT
    assert float(found.margin_bounds[0]) == pytest.approx(12 / 5, rel=1e-10)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_scale_of_the_data_scales_the_margin_only(scale, kind):
    X, K, y = with_a_clear_margin(17, 40, kind)
    one = maximum_margin(mp.Problem(make_gram(X, K, kind), y))
    found = maximum_margin(mp.Problem(make_gram(scale * X, scale**2 * K, kind), y))
    assert found.status is one.status is MarginStatus.EXACT
    np.testing.assert_allclose(found.margin_bounds, np.multiply(one.margin_bounds, scale), rtol=1e-9)


def test_rows_of_very_different_length():
    X, y = separable(8, 60, 4)
    X *= 10.0 ** np.random.default_rng(0).integers(0, 5, 60)[:, None]
    found = maximum_margin(mp.Problem(mp.Gram.linear(X), y), tol=1e-6)
    assert found.margin_bounds[0] > 0
    assert relative_gap(found) <= 1e-2  # rounding is relative to the longest row
    assert found.status in (MarginStatus.EXACT, MarginStatus.ROUNDING)


@pytest.mark.parametrize("kernel", [mp.Linear(), mp.Gaussian(sigma=1.0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_samples_with_opposite_labels_have_no_margin(kernel, dtype, rng):
    X = rng.standard_normal((40, 50 if isinstance(kernel, mp.Linear) else 5)).astype(dtype)
    X = np.concatenate([X, X[:1]])
    y = np.where(np.arange(41) % 2, 1, -1)
    y[-1] = -y[0]
    found = maximum_margin(mp.Problem(mp.Gram.from_kernel(X, kernel), y))
    assert found.status is MarginStatus.CERTIFIED
    assert found.margin_bounds[0] <= 0  # though rounding of K may part equal samples
    assert found.margin_bounds[1] <= found.epsilon
    assert "no margin" in found.status.sentence


@pytest.mark.parametrize(("n", "d"), [(4, 1), (50, 3), (500, 40), (600, 250)])
def test_linearly_inseparable_data_have_no_margin(n, d, rng):
    X, y = rng.standard_normal((n, d)), np.where(np.arange(n) % 2, 1, -1)
    X[:2], y[:2] = 1.0, (1, -1) if n == 4 else y[:2]
    found = maximum_margin(mp.Problem(mp.Gram.linear(X), y))
    proved = d <= 64  # with more features exact numbers grow too long
    assert found.status is (MarginStatus.NOT_SEPARABLE if proved else MarginStatus.CERTIFIED)
    assert found.proof.holds(X, y) if proved else found.proof is None
    assert found.margin_bounds[0] <= 0 < found.margin_bounds[1] <= found.epsilon
    length = np.average(np.linalg.norm(X, axis=1), weights=-found.u)
    assert found.epsilon == pytest.approx(4 * np.sqrt(max(n, 8) * 2.0**-52) * length)


def test_separable_and_inseparable_columns_do_not_disturb_each_other():
    X, y = separable(9, 50, 3)
    Y = np.stack([y, np.random.default_rng(0).permutation(y)], axis=1)
    found = maximum_margin(mp.Problem(mp.Gram.linear(X), Y))
    assert found.status == (MarginStatus.EXACT, MarginStatus.NOT_SEPARABLE)
    assert found.proof[0] is None
    assert found.proof[1].holds(X, Y[:, 1])
    np.testing.assert_allclose(found.margin_bounds[0][0], hard_margin(X @ X.T, y)[1], rtol=1e-6)


def test_zero_rows_are_named():
    X, y = separable(10, 20, 3)
    X[[4, 7]] = 0
    Y = np.stack([y, np.where(np.isin(np.arange(20), [4, 7]), 0, y)], axis=1)
    found = maximum_margin(mp.Problem(mp.Gram.linear(X), Y))
    assert found.status == (MarginStatus.ZERO_ROWS, MarginStatus.EXACT)
    assert found.zero_rows.tolist() == [4, 7]
    assert tuple(end[0] for end in found.margin_bounds) == (0, 0)
    assert "zero_rows" in found.status[0].sentence
    alone = maximum_margin(mp.Problem(mp.Gram.linear(X), Y[:, 0]))
    assert alone.status is MarginStatus.ZERO_ROWS
    assert alone.u.shape == y.shape


@pytest.mark.parametrize("width", [0.3, 1.0, 4.0])
def test_nearly_singular_kernels_end_with_a_proof_or_a_tight_interval(width, rng):
    X = rng.standard_normal((300, 2))
    y = np.where(X[:, 0] + 0.3 * np.sin(3 * X[:, 1]) > 0, 1, -1)
    found = maximum_margin(mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(sigma=width)), y))
    assert found.status is not MarginStatus.LIMITED
    assert found.status is MarginStatus.CERTIFIED or relative_gap(found) < 0.05


@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_float32_data_are_finished_in_float64(kind):
    X, K, y = with_a_clear_margin(11, 60, kind)
    X, K = X.astype(np.float32), K.astype(np.float32)
    found = maximum_margin(mp.Problem(make_gram(X, K, kind), y))
    assert found.status is MarginStatus.EXACT
    assert found.u.dtype == np.float64
    exact = X.astype(float) @ X.astype(float).T if kind == "linear" else K.astype(float)
    np.testing.assert_allclose(found.margin_bounds[0], hard_margin(exact, y)[1], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_any_array_library(kind, dtype):
    X, K, y = with_a_clear_margin(18, 40, kind)
    X, K = (array_api_strict.asarray(x, dtype=getattr(array_api_strict, dtype)) for x in (X, K))
    found = maximum_margin(mp.Problem(make_gram(X, K, kind), y))
    assert found.status is MarginStatus.EXACT
    assert found.u.dtype == array_api_strict.float64
    wanted = maximum_margin(mp.Problem(make_gram(np.asarray(X), np.asarray(K), kind), y))
    np.testing.assert_allclose(float(found.margin_bounds[0]), wanted.margin_bounds[0], rtol=1e-9)


def test_tiled_gram():
    X, _, y = with_a_clear_margin(12, 150, "kernel")
    stored, tiled = mp.Gram.from_kernel(X, mp.Gaussian(1.0)), mp.TiledGram(X, mp.Gaussian(1.0))
    found, wanted = (maximum_margin(mp.Problem(gram, y), tol=1e-8) for gram in (tiled, stored))
    assert found.status is wanted.status is MarginStatus.EXACT
    np.testing.assert_allclose(found.u, wanted.u, rtol=1e-6, atol=1e-6 * np.abs(wanted.u).max())


@pytest.mark.parametrize("solver", [None, mp.DualDescent(mp.PowerDecay(1.0)), mp.CoordinateDescent()])
@pytest.mark.parametrize("steps", [0, 1, 30])
def test_any_rough_path_will_do(solver, steps):
    _, K, y = with_a_clear_margin(13, 60, "kernel")
    problem = mp.Problem(mp.Gram.from_matrix(K), y)
    found = maximum_margin(problem, solver=solver, steps=steps)
    assert found.status is MarginStatus.EXACT
    assert found.steps == steps
    np.testing.assert_allclose(found.margin_bounds[0], hard_margin(K, y)[1], rtol=1e-6)


def test_working_set_grows_to_what_is_needed(monkeypatch):
    """From a few of the largest coefficients to a support of nearly all samples."""
    rng = np.random.default_rng(14)
    X = rng.standard_normal((400, 10))
    y = rng.choice([-1, 1], 400)
    problem = mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(sigma=1.0)), y)
    wanted = maximum_margin(problem)
    monkeypatch.setattr("marginpath.certificates.maximum_margin._FIRST_SUPPORT", 10)
    found = maximum_margin(problem)
    assert np.count_nonzero(wanted.u) > 350
    np.testing.assert_allclose(found.u, wanted.u, atol=1e-8 * np.abs(wanted.u).max())


def test_near_supports_share_a_factor(monkeypatch):
    rng = np.random.default_rng(19)
    X = rng.standard_normal((500, 8))
    problem = mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(sigma=1.5)), rng.choice([-1, 1], 500))
    found = maximum_margin(problem)
    monkeypatch.setattr(
        "marginpath.certificates.maximum_margin.PrincipalSystems.update", lambda self, S: None
    )
    wanted = maximum_margin(problem)
    assert found.status is wanted.status is MarginStatus.EXACT
    assert found.factorizations < wanted.factorizations
    np.testing.assert_allclose(found.u, wanted.u, atol=1e-9 * np.abs(wanted.u).max())


@given(seed=seeds, tol=st.sampled_from([1e-2, 1e-4, 1e-8]))
@settings(max_examples=10)
def test_tolerance_is_kept(seed, tol):
    _, K, y = random_problem(seed, 30, "kernel")
    found = maximum_margin(mp.Problem(mp.Gram.from_matrix(K), y), tol=tol)
    assert (found.status is MarginStatus.EXACT) == bool(relative_gap(found) <= tol)
    assert found.status is MarginStatus.EXACT or found.margin_bounds[1] < 1e-2


def test_what_rounding_hides_is_said():
    X, y = separable(15, 100, 3, gap=0.2)
    found = maximum_margin(mp.Problem(mp.Gram.linear(X), y), tol=1e-15)
    assert found.status is MarginStatus.ROUNDING
    assert relative_gap(found) < 1e-10


def test_the_work_is_limited(monkeypatch):
    monkeypatch.setattr("marginpath.certificates.maximum_margin._FACTORIZATIONS", 1)
    X, y = separable(16, 200, 10, gap=1e-3)
    problem = mp.Problem(mp.Gram.linear(X), y)
    found = maximum_margin(problem, steps=5)
    assert found.status is MarginStatus.LIMITED
    assert found.factorizations == 1
    assert found.margin_bounds[0] <= hard_margin(X @ X.T, y)[1] <= found.margin_bounds[1]
    for word in MarginStatus:
        assert word.sentence.endswith(".")


def test_a_kernel_matrix_that_rounding_made_indefinite(rng):
    """Pivoting must survive the Cholesky failures of a float32 matrix of low rank."""
    X = rng.standard_normal((200, 2))
    y = np.where(X @ [1.0, 0.5] > 0, 1, -1)
    X = np.concatenate([X, X]).astype(np.float32) + np.float32(3.0)
    problem = mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(sigma=3.0)), np.concatenate([y, y]))
    found = maximum_margin(problem)
    assert found.margin_bounds[0] <= found.margin_bounds[1]


@pytest.mark.parametrize("tol", [0, 1, -1e-3, np.nan])
def test_tolerances_that_make_no_sense(tol):
    problem = mp.Problem(mp.Gram.linear(np.eye(2)), [1, -1])
    with pytest.raises(ValueError, match=r"between 0 and 1, got"):
        maximum_margin(problem, tol=tol)


@pytest.mark.heavy
@pytest.mark.parametrize("digits", [(3, 5), (4, 9)])
def test_mnist_at_full_size(digits):
    if not os.environ.get("MARGINPATH_DATA"):
        pytest.skip("MNIST is not on this machine")
    data = mp.datasets.load_mnist(digits)
    problem = mp.Problem(mp.Gram.from_kernel(data.X, mp.Gaussian(sigma=3.4)), data.y)
    found = maximum_margin(problem, tol=1e-6)
    assert found.status is MarginStatus.EXACT
    assert relative_gap(found) <= 1e-7
    assert found.factorizations <= 10


def test_a_small_margin_is_not_called_none(rng):
    """Where the lower bound is over 0 there is a margin, however small."""
    X = np.array([[1.0, 1e-9], [1.0, -1e-9], [1.0, 3e-9]])
    found = maximum_margin(mp.Problem(mp.Gram.linear(X), [1, -1, 1]))
    assert found.margin_bounds[0] <= 1e-9 <= found.margin_bounds[1]
    assert found.status is not MarginStatus.CERTIFIED or found.margin_bounds[0] <= 0
