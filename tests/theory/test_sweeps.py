"""The theorem for diagonal coordinate descent with a line search: its claims, and every step of its proof."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import hard_margin, random_problem, separable

import marginpath as mp
from marginpath import theory

seeds = st.integers(0, 10**6)
ratios = st.sampled_from([1.5, 3.0, 10.0])
kinds = st.sampled_from(["linear", "kernel"])


def objective(A, u):
    return u @ A @ u / 2 + u.sum()


def steps(A, ratio, count, seed, first=None):
    """Yield (u before, box before, box, order, u after) of a path whose box grows by the ratio."""
    rng = np.random.default_rng(seed)
    u, b, size = np.zeros(len(A)), 0.0, first or 0.1 / np.abs(A).sum(axis=1).max()
    for _ in range(count):
        order = rng.permutation(len(A))
        after = theory.searched_sweep(A, u, b, size, order)
        yield u, b, size, order, after
        u, b, size = after, size, size * ratio


def labelled(seed, n, kind):
    _, K, y = random_problem(seed, n, kind)
    return K * np.outer(y, y), K, y


@given(seed=seeds, ratio=ratios, kind=kinds)
@settings(max_examples=60)
def test_step_1_the_objective_never_increases_and_the_box_is_kept(seed, ratio, kind):
    A, _, _ = labelled(seed, 12, kind)
    for before, _, size, _, after in steps(A, ratio, 25, seed):
        assert objective(A, after) <= objective(A, before) + 1e-12 * max(1, abs(objective(A, before)))
        assert np.all((after <= 0) & (after >= -size))


@given(seed=seeds, ratio=ratios, kind=kinds)
@settings(max_examples=60)
def test_step_2_a_sweep_lowers_it_by_the_square_of_what_moved(seed, ratio, kind):
    A, _, _ = labelled(seed, 12, kind)
    k = np.diag(A).min()
    for before, b, size, order, after in steps(A, ratio, 25, seed):
        risen = theory.searched_sweep(A, before, b, size, order[:0])
        won = objective(A, risen) - objective(A, after)
        assert won >= k / 2 * np.sum((after - risen) ** 2) - 1e-10 * max(1, abs(objective(A, after)))


@given(seed=seeds, ratio=ratios, kind=kinds)
@settings(max_examples=60)
def test_step_3_a_subgradient_is_bounded_by_what_moved(seed, ratio, kind):
    A, _, _ = labelled(seed, 12, kind)
    Λ = np.sqrt(np.sum(np.triu(A, 1) ** 2))
    for before, b, size, order, after in steps(A, ratio, 25, seed):
        risen = theory.searched_sweep(A, before, b, size, order[:0])
        gradient = A @ after + 1
        # The element of gradient + normal cone of the box that is nearest to 0.
        inside = np.where(after <= -size, np.minimum(gradient, 0), gradient)
        least = np.where(after >= 0, np.maximum(gradient, 0), inside)
        assert np.linalg.norm(least) <= Λ * np.linalg.norm(after - risen) + 1e-9 * (
            1 + np.abs(A @ after).max()
        )


@given(seed=seeds, ratio=ratios)
@settings(max_examples=40)
def test_the_gap_shrinks_by_the_factor_once_the_box_holds_the_solution(seed, ratio):
    """Also where A is singular: fewer features than samples, and Hoffman's constant."""
    if seed % 2:
        X, y = separable(seed, 7, 1 + seed // 2 % 4)
        K = X @ X.T
    else:
        _, K, y = random_problem(seed, 7, "kernel")
    K = K / np.linalg.norm(K, 2)
    problem, A = mp.Problem(mp.Gram.from_matrix(K), y), K * np.outer(y, y)
    c = theory.constants(problem)
    theorem, best = theory.SweepTheorem.of(problem, c), -(c.w_norm**2) / 2
    for t, (before, _, _, _, after) in enumerate(steps(A, ratio, 25, seed, first=c.u_max), 1):
        gap, left = objective(A, before) - best, objective(A, after) - best
        assert left <= theorem.factor * gap + 1e-11 * c.w_norm**2
        off = np.sqrt(max(2 * left, 0))
        assert off <= theorem.distance(t) + 1e-5 * c.w_norm


def test_the_path_reaches_the_maximum_margin_from_a_small_box():
    X, y = separable(3, 30, 4)
    A = X @ X.T * np.outer(y, y)
    *_, (_, _, _, _, u) = steps(A, 1.5, 200, 0)
    margins = -(A @ u)
    assert margins.min() / np.sqrt(u @ A @ u) == pytest.approx(hard_margin(X @ X.T, y)[1], rel=1e-6)


def test_without_the_search_a_rise_of_the_box_can_raise_the_objective():
    """Why the theorem is not about the solver as it is."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = np.where(X @ np.ones(3) + 0.5 * rng.standard_normal(40) > 0, 1.0, -1.0)
    A = X @ X.T * np.outer(y, y)
    rises = 0
    for _, _, size, _, u in steps(A, 3.0, 12, 0):
        carried = np.where(u == -size, -3.0 * size, u)
        rises += objective(A, carried) > objective(A, u) + 1e-9
    assert rises > 0


def test_zero_samples_are_refused():
    problem = mp.Problem(mp.Gram.from_matrix(np.diag([1.0, 0.0, 1.0])), [1, -1, -1])
    fine = mp.Problem(mp.Gram.from_matrix(np.eye(3)), [1, -1, -1])
    with pytest.raises(ValueError, match="zero"):
        theory.SweepTheorem.of(problem, theory.constants(fine))
    assert theory.SweepTheorem.of(fine, theory.constants(fine)).factor == 0  # one sweep is enough
