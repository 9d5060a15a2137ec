"""The theorem for the solution path: its claims and the steps of its proof, against another solver."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import hard_margin, random_problem, regularized, separable, svm
from residual_losses import LOSSES, every_loss

import marginpath as mp
from marginpath import theory

seeds = st.integers(0, 10**6)
kinds = st.sampled_from(["linear", "kernel"])
tols = st.sampled_from([1e-1, 1e-2, 1e-4])
shares = st.floats(0.01, 3.0)  # of C*


def labelled(seed, n, kind):
    _, K, y = random_problem(seed, n, kind)
    return K * np.outer(y, y), K, y


def dual(A, u):
    return -u @ A @ u / 2 - u.sum()


def primal(A, u, C):
    return u @ A @ u / 2 + C * np.maximum(0, 1 + A @ u).sum()


def distance(A, u, v):
    return np.sqrt(max(0.0, (u - v) @ A @ (u - v)))


@given(seed=seeds, kind=kinds, share=shares, noise=st.floats(0, 1))
@settings(max_examples=60)
def test_step_1_the_gap_bounds_the_square_of_the_distance_not_half_of_it(seed, kind, share, noise):
    """For any u in the box, and not only near the solution."""
    A, K, y = labelled(seed, 10, kind)
    C = share * np.abs(hard_margin(K, y)[0]).max()
    best = svm(K, y, C)[0]
    rng = np.random.default_rng(seed)
    u = (1 - noise) * best - noise * C * rng.random(10)
    gap = primal(A, u, C) - dual(A, u)
    assert distance(A, u, best) ** 2 <= gap + 1e-7 * max(1, abs(gap))


@given(seed=seeds, kind=kinds, share=st.floats(1.0, 10.0))
@settings(max_examples=60)
def test_step_2_from_c_star_on_the_solution_is_the_maximum_margin_one(seed, kind, share):
    A, K, y = labelled(seed, 10, kind)
    star, margin = hard_margin(K, y)
    best = svm(K, y, share * np.abs(star).max())[0]
    assert distance(A, best, star) <= 1e-4 / margin
    assert -star.sum() == pytest.approx(1 / margin**2, rel=1e-5)  # Σ|u*| = ‖w*‖², which step 3 uses


@given(seed=seeds, kind=kinds, share=st.floats(0.001, 1.0))
@settings(max_examples=60)
def test_step_3_before_the_distance_falls_as_one_minus_c_over_c_star(seed, kind, share):
    A, K, y = labelled(seed, 10, kind)
    star, margin = hard_margin(K, y)
    best = svm(K, y, share * np.abs(star).max())[0]
    assert dual(A, star) - dual(A, best) <= (1 - share) ** 2 / (2 * margin**2) + 1e-7 / margin**2
    assert distance(A, best, star) <= (1 - share) / margin + 1e-4 / margin


def test_step_3_is_attained():
    """Two orthogonal samples: w at C is C/C* of w*, so that no better constant is possible."""
    star, margin = hard_margin(np.eye(2), np.array([1.0, -1.0]))
    best = svm(np.eye(2), np.array([1.0, -1.0]), 0.3)[0]
    assert distance(np.eye(2), best, star) == pytest.approx(0.7 / margin, rel=1e-5)


@given(seed=seeds, kind=kinds, tol=tols, ratio=st.sampled_from([1.5, 4.0]))
@settings(max_examples=60, deadline=None)
def test_the_theorem_at_every_step_of_the_solver(seed, kind, tol, ratio):
    A, K, y = labelled(seed, 10, kind)
    problem = mp.Problem(mp.Gram.from_matrix(K), y)
    star, margin = hard_margin(K, y)
    theorem = theory.SolutionTheorem.of(problem, star)
    assert theorem.w_norm == pytest.approx(1 / margin)
    solver = mp.SolutionPath(tol=tol, ratio=ratio)
    path = mp.run(solver, problem, 40, observe={"gap": mp.DualityGap(mp.Hinge()), "C": lambda p, s: s.bound})
    last = theorem.steps(float(path["C"][1]), ratio)
    for t in range(1, 41):
        u, C, gap = path.state(t, problem).u, float(path["C"][t]), float(path["gap"][t])
        assert distance(A, u, star) <= theorem.distance(C, gap) + 2e-5 / margin
        if t >= last:
            assert theorem.u_max * (1 - 1e-9) <= C
            assert distance(A, u, star) <= (theorem.relative_distance(tol) + 2e-5) / margin
    assert last <= 40


@given(seed=seeds, tol=tols)
@settings(max_examples=30, deadline=None)
def test_with_an_intercept_too(seed, tol):
    X, y = separable(seed, 12, 4)
    K = (X + 3) @ (X + 3).T  # far from the origin
    A = K * np.outer(y, y)
    problem = mp.Problem(mp.Gram.from_matrix(K), y, intercept=True)
    star = svm(K, y, np.inf, intercept=True)[0]
    theorem = theory.SolutionTheorem.of(problem, star)
    observe = {"gap": mp.DualityGap(mp.Hinge()), "C": lambda p, s: s.bound}
    path = mp.run(mp.SolutionPath(tol=tol), problem, 40, observe=observe)
    for t in range(1, 41, 3):
        bound = theorem.distance(float(path["C"][t]), float(path["gap"][t]))
        assert distance(A, path.state(t, problem).u, star) <= bound + 1e-4 * theorem.w_norm


def interpolant(X, y, ε):
    """Return the least w that is nowhere off by more than ε, and its a with w = Xᵀa, of independent rows."""
    w = regularized(X, y, np.inf, (ε, 0, np.inf, np.inf))
    at_the_edge = np.abs(y - X @ w) > ε - 1e-6
    a = np.zeros(len(y))
    a[at_the_edge] = np.linalg.lstsq(X[at_the_edge].T, w, rcond=None)[0]
    assert np.linalg.norm(X.T @ a - w) < 1e-6
    return w, a


@every_loss
@given(seed=seeds, tol=tols)
@settings(max_examples=12)
def test_a_regression_has_the_theorem_too(loss, seed, tol):
    """Its limit is the interpolant of least norm, reached at a finite C by losses with corners."""
    rng = np.random.default_rng(seed)
    X, y, weight = (
        rng.standard_normal((7, 15)),
        2 * rng.standard_normal(7),
        rng.integers(1, 4, 7).astype(float),
    )
    problem = mp.RegressionProblem(mp.Gram.linear(X), y, weight)
    limit, a = interpolant(X, y, loss.insensitivity)
    theorem = theory.SolutionTheorem.of(problem, -a, loss)
    observe = {"gap": mp.DualityGap(loss), "C": lambda p, s: s.bound}
    path = mp.run(mp.ResidualSweeps(loss, ratio=4.0, tol=tol, sweeps=500), problem, 14, observe=observe)
    for t in range(1, 15):
        C, gap = float(path["C"][t]), float(path["gap"][t])
        off = np.linalg.norm(limit + X.T @ path.state(t, problem).u)
        assert off <= theorem.distance(C, gap) + 1e-5
        solved = regularized(X, y, C * weight, LOSSES[loss][1])
        assert np.linalg.norm(solved - limit) <= theorem.distance(C, 0.0) + 1e-4
        if theorem.u_max <= C and not loss.curvature:
            assert np.linalg.norm(solved - limit) < 1e-4
    assert theorem.u_max <= C


@pytest.mark.parametrize("C", [0.3, 0.9])
def test_the_bound_of_a_regression_is_attained(C):
    """Of one sample x = y = 1 and the absolute loss, w is C up to C* = 1; of squares, w = C/(1 + C)."""
    problem = mp.RegressionProblem(mp.Gram.linear(np.ones((1, 1))), np.ones(1))
    absolute, squared = (
        theory.SolutionTheorem.of(problem, -np.ones(1), loss) for loss in (mp.Absolute(), mp.LeastSquares())
    )
    assert absolute.distance(C, 0.0) == pytest.approx(1 - C)
    assert squared.distance(1 / C, 0.0) == pytest.approx(np.sqrt(C))
    assert squared.distance(1 / C, 0.0) >= 1 - (1 / C) / (1 + 1 / C)
    twice = mp.RegressionProblem(problem.gram, np.ones(1), [2.0])
    assert theory.SolutionTheorem.of(twice, -np.ones(1), mp.Absolute()).u_max == 0.5
    assert squared.steps(1.0, 2.0) == 1
