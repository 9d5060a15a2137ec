"""The path of solutions where data or rounding make it hard."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import svm
from sklearn.datasets import make_moons
from solution_paths import (
    BOTH,
    assert_same_classifier,
    decisions,
    objectives,
    overlapping,
    relative_gap,
    states,
)

import marginpath as mp
from marginpath.solvers.solution_path.newton import no_inverse
from marginpath.solvers.solution_path.part import whole_part
from marginpath.solvers.solution_path.steps import solve_part


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 14),
    d=st.integers(1, 3),
    C=st.sampled_from([1e-3, 0.3, 10.0, 1e4]),
    kind=st.sampled_from(["normal", "whole numbers", "equal"]),
)
@pytest.mark.parametrize("intercept", [False, True])
def test_no_problem_is_too_degenerate(seed, n, d, C, intercept, kind):
    """Small problems of low rank, with equal rows and rows of zeros: a feasible u and its gap are a proof."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, d)).astype(float) if kind == "whole numbers" else rng.standard_normal((n, d))
    if kind == "equal":
        X = X[rng.integers(0, max(1, n // 3), n)]
    y = rng.permutation(np.where(np.arange(n) < rng.integers(1, n), 1.0, -1.0))
    problem = mp.Problem(mp.Gram.from_kernel(X, mp.Linear()), y, intercept=intercept)
    state = mp.run(mp.SolutionPath(mp.Constant(1 / C), tol=1e-8), problem, 1).last
    assert np.all((state.u <= 0) & (state.u >= -C))
    assert abs(np.sum(y * state.u)) <= 1e-12 * C * n or not intercept
    assert relative_gap(X @ X.T, y, state, C) <= 1.01e-8


def test_all_samples_may_have_to_move_the_same_way():
    problem = mp.Problem(mp.Gram.from_matrix(np.array([[1.0, -1.0], [-1.0, 4.0]])), [1, -1])
    state = mp.run(mp.SolutionPath(mp.Constant(0.1)), problem, 1).last
    np.testing.assert_allclose(state.scores, [-1, 1], rtol=1e-3)  # w = 1


@BOTH
def test_equal_rows_with_opposite_labels(intercept):
    X, y = overlapping(30)
    X, y = np.vstack([X, X[:12]]), np.concatenate([y, -y[:12]])
    problem = mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(0.5)), y, intercept=intercept)
    path = mp.run(mp.SolutionPath(tol=1e-4), problem, 30, observe=["gap", "error"])
    assert np.all(path["gap"] <= 1.01e-4)
    assert path["error"][-1] >= 12 / 42
    pairs = path.last.u[:12] + path.last.u[30:]
    np.testing.assert_array_less(
        pairs, -0.9 * path.last.bound
    )  # one of each pair is always on the wrong side


@BOTH
def test_where_nothing_can_be_told_all_samples_stay_at_the_bound(intercept):
    X, y = overlapping(20)
    gram = mp.Gram.from_kernel(np.vstack([X, X]), mp.Gaussian(1.0))
    problem = mp.Problem(gram, np.concatenate([y, -y]), intercept=intercept)
    for state in states(mp.SolutionPath(mp.GeometricDecay(1.0, 10.0)), problem, 6):
        assert float(mp.metrics.gap(problem, state)) <= 1.01e-3
        np.testing.assert_allclose(state.u, -state.bound, rtol=1e-3)


@pytest.mark.parametrize("intercept", [False, True])
def test_rows_of_zeros(intercept):
    X, y = overlapping(24)
    X[::6] = 0
    problem = mp.Problem(mp.Gram.from_kernel(X, mp.Linear()), y, intercept=intercept)
    for state in states(mp.SolutionPath(tol=1e-7), problem, 20)[::5]:
        _, best = svm(X @ X.T, y, float(state.bound), intercept)
        _, dual = objectives(X @ X.T, y, state.u, float(state.bound))
        assert dual == pytest.approx(-best, rel=2e-7)


@BOTH
@pytest.mark.parametrize("scale", [1e-6, 1e6, 2.0**30])
def test_the_scale_of_the_kernel_does_not_matter(scale, intercept):
    X, y = overlapping()
    K = mp.Gaussian(1.0)(X)
    one, other = (mp.Problem(mp.Gram.from_matrix(K * s), y, intercept=intercept) for s in (1.0, scale))
    for a, b in zip(*(states(mp.SolutionPath(tol=1e-11), p, 20) for p in (one, other)), strict=True):
        assert b.bound * scale == pytest.approx(a.bound, rel=1e-12)
        assert_same_classifier(decisions(other, b), decisions(one, a))
        if scale == 2.0**30:
            assert np.array_equal(b.u * scale, a.u)


@BOTH
@pytest.mark.parametrize("lonely", [1, -1])
def test_one_sample_of_a_class(lonely, intercept):
    X, _ = overlapping(50)
    y = np.full(50, -lonely)
    y[7] = lonely
    problem = mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(0.5)), y, intercept=intercept)
    path = mp.run(mp.SolutionPath(), problem, 30, observe=["gap", "error"])
    assert np.all(path["gap"] <= 1.01e-3)
    assert path["error"][-1] == 0
    K = problem.gram.matrix
    _, best = svm(K, y, float(path.last.bound), intercept)
    assert objectives(K, y, path.last.u, 0)[1] == pytest.approx(-best, rel=1.01e-3)


def test_every_step_of_noisy_moons_reaches_the_gap_up_to_a_million():
    X, y = make_moons(375, noise=0.25, random_state=0)
    y[np.random.default_rng(0).permutation(375)[:56]] ^= 1
    problem = mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(0.7)), 2 * y - 1, intercept=True)
    path = mp.run(mp.SolutionPath(), problem, 45, observe=["gap", "bound", "error"])
    assert path["bound"][-1] > 1e6
    assert np.all(path["gap"] <= 1.000001e-3)
    assert np.all(np.diff(path["error"][5:]) <= 0.02)  # no spikes


def test_what_rounding_keeps_open_is_left_soon():
    """At a C of 1e9 the scores of a plane are sums of huge numbers: no number of rounds closes the gap."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(400) > 0.05, 1.0, -1.0)
    X = np.column_stack([rng.poisson(3, 400) + (y < 0), rng.normal(20, 6, 400)])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    problem = mp.Problem(mp.Gram.from_kernel(X, "linear"), y, intercept=True)
    solvers = [mp.SolutionPath(mp.GeometricDecay(1e-9, 1.5), rounds=rounds) for rounds in (300, 3000)]
    paths = [mp.run(solver, problem, steps=1, observe=["gap"]) for solver in solvers]
    assert paths[0].last.u.tobytes() == paths[1].last.u.tobytes()
    assert np.isfinite(paths[0]["gap"][-1])


def test_samples_stay_at_a_bound_that_rises_where_w_is_lost_in_rounding():
    """‖w‖² = zᵀK z may be computed as less than 0: all samples at the bound would become free at once."""
    from marginpath.solvers.solution_path.advance import enter

    signed, ones = np.array([1.0, 1.0, -1.0, -1.0]), np.ones(4)
    field = 1e-16 * signed
    _, y, low, high, z = enter(np.arange(4), ones, signed, -ones, field, (1.0, 1.5))
    assert np.sum(z * field) < 0
    np.testing.assert_array_equal(np.abs(z), 1.5)
    np.testing.assert_array_equal([y, high - low], [signed, 1.5 * ones])
    np.testing.assert_array_equal(field, 1.5e-16 * signed)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("bound", "sigma"), [(1e4, 1.0), (1e5, 2.0)])
def test_a_set_whose_inverse_is_lost_to_rounding_is_solved(dtype, bound, sigma):
    """Many free samples in a plane: their kernel matrix has eigenvalues below any rounding."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    y = np.where((X[:, 0] * X[:, 1] > 0) ^ (rng.random(200) < 0.1), 1.0, -1.0)
    K = mp.Gaussian(sigma)(X, X).astype(dtype)
    low, high = np.where(y > 0, -bound, 0.0), np.where(y > 0, 0.0, bound)
    z, e = np.zeros(200), y.copy()
    solve_part(whole_part(K), no_inverse(), np.diag(K).astype(float), low, high, z, e, True, 0.01)
    assert np.all((low <= z) & (z <= high))
    assert abs(z.sum()) < 1e-9 * np.abs(z).sum()
    e = K.astype(float) @ z + y
    assert e[z > low].max() - e[z < high].min() <= 0.011  # rounding of e has its part
