"""Bounds of the theorems with constants that are too good, or as printed: they do not hold."""

import math
from dataclasses import replace

import numpy as np
import pytest
from naive import random_problem

import marginpath as mp
from marginpath import theory


def diagonal(*entries):
    """Samples on the axes, so that A is diagonal: everything is known by heart."""
    return mp.Problem(mp.Gram.from_matrix(np.diag(np.array(entries, dtype=float))), [1, -1][: len(entries)])


def run_gaps(problem, u, steps, momentum=None, start=None, lam=1e-3):
    γ = 1 / np.linalg.eigvalsh(problem.gram.K)[-1]
    r = mp.Reference(problem, u)
    observe = {"distance": r.distance, "angle_gap": r.angle_gap, "margin_gap": r.margin_gap}
    solver = mp.DualDescent(mp.Constant(lam), momentum, γ)
    return γ, mp.run(solver, problem, steps, observe=observe, start=start)


def broken(path, bounds, name, first=0):
    return bool(np.any(path[name][first:] > bounds(path.steps[first:]) * (1 + 1e-9) + 1e-12))


def test_tenth_of_C_breaks_theorem_1():
    problem = diagonal(1.0, 0.1)
    c = theory.constants(problem)
    γ, path = run_gaps(problem, [-1.0, -10.0], 50)
    for factor, wrong in ((1.0, False), (0.1, True)):
        bounds = theory.Theorem1(replace(c, C=factor * c.C), γ)
        assert broken(path, bounds.distance, "distance", 1) is wrong


def test_a_rate_ten_times_as_good_breaks_theorem_1():
    problem = diagonal(1.0, 0.01)
    c = theory.constants(problem)
    assert c.mu == pytest.approx(0.01)
    γ, path = run_gaps(problem, [-1.0, -100.0], 500)
    for factor, wrong in ((1.0, False), (10.0, True)):
        bounds = theory.Theorem1(replace(c, smallest=factor * c.smallest), γ)
        assert broken(path, bounds.distance, "distance") is wrong


def test_tenth_of_tau_breaks_theorem_1():
    Z, y = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.6]]), np.array([1.0, -1.0, 1.0])
    problem = mp.Problem(mp.Gram.from_matrix(np.outer(y, y) * (Z @ Z.T)), y)
    c = theory.constants(problem)
    assert c.smallest == 0
    γ, path = run_gaps(problem, mp.maximum_margin(problem).u, 60)
    for factor, wrong in ((1.0, False), (0.1, True)):
        bounds = theory.Theorem1(replace(c, tau=factor * c.tau), γ)
        assert broken(path, bounds.distance, "distance") is wrong


def test_tenth_of_C_breaks_theorem_2():
    problem = diagonal(1.0, 1.0)
    c = theory.constants(problem)
    γ, path = run_gaps(problem, [-1.0, -1.0], 50, mp.Inertia(3))
    bounds = theory.Theorem2(c, γ)
    assert not broken(path, bounds.distance, "distance")
    assert path["distance"][0] > 0.1 * bounds.distance(0)
    assert path["distance"][0] == pytest.approx(bounds.distance(0) / math.sqrt(1 + 4 / 9))


def test_tenths_break_the_bounds_of_angle_and_margin():
    """From w_0 = (1, 0.2) towards w* = (1, 1): both gaps are within a factor 2 of their bounds."""
    problem, start = diagonal(1.0, 1.0), np.array([-1.0, -0.2])
    c = theory.constants(problem, start=start)
    γ, path = run_gaps(problem, [-1.0, -1.0], 1, start=start)
    bounds = theory.Theorem1(c, γ)
    assert bounds.first_step == 0
    for name in ("angle_gap", "margin_gap"):
        ratio = getattr(bounds, name)(0) / path[name][0]
        assert 1 <= ratio < 2
    assert path["margin_gap"][0] > theory.Theorem1(replace(c, kappa=0.1 * c.kappa), γ).margin_gap(0)


def test_first_step_is_where_the_bound_passes_below_the_norm():
    problem, start = diagonal(1.0, 0.2), np.array([-9.0, -1.0])
    c = theory.constants(problem, start=start)
    for bounds in (theory.Theorem1(c, 1.0), theory.Theorem2(c, 1.0), theory.Theorem2(c, 0.3, 8.0)):
        t = bounds.first_step
        assert t >= 1
        assert bounds.distance(t) < c.w_norm <= bounds.distance(t - 1)
        assert np.isinf(bounds.margin_gap(t - 1))
        assert np.isfinite(bounds.angle_gap(t))


def test_the_printed_margin_bound_of_theorem_1_fails():
    """Z = 0.2 diag(1, 1/2), t = 1: 2 C ‖X‖_F / ‖w*‖² is less than the gap, Z read for X."""
    problem = diagonal(0.04, 0.01)
    c = theory.constants(problem)
    γ, path = run_gaps(problem, [-25.0, -100.0], 1, lam=1e-6)
    printed = theory.PrintedTheorem1(c, γ, C=c.C, mu=c.mu)
    assert path["margin_gap"][1] > printed.margin_gap(1)
    assert path["margin_gap"][1] < theory.Theorem1(c, γ).margin_gap(1)


def test_the_printed_first_step_of_theorem_1_is_minus_infinity():
    c = theory.constants(diagonal(1.0, 0.5))
    assert theory.PrintedTheorem1(c, 1.0, mu=c.mu).first_step == -math.inf


def test_the_printed_first_step_of_theorem_2_changes_with_the_scale():
    """One of its terms is not divided by ‖w*‖²; the path and the true t* do not change."""
    found = []
    for scale in (1.0, 0.1):
        c = theory.constants(diagonal(scale**2, scale**2 / 4))
        found.append((theory.PrintedTheorem2(c, 1 / c.L).first_step, theory.Theorem2(c, 1 / c.L).first_step))
    assert found[0][1] == found[1][1]
    assert abs(found[0][0] - found[1][0]) > 1


def test_the_printed_C_with_X_may_be_no_number_and_may_be_too_small():
    """With opposite labels on near points Xᵀu is long where Zᵀu is short, or the other way round."""
    undefined = violated = 0
    for seed in range(20):
        _, K, y = random_problem(seed, 8, "linear")
        problem = mp.Problem(mp.Gram.from_matrix(K / np.linalg.norm(K, 2)), y)
        u = mp.maximum_margin(problem).u
        c = theory.constants(problem, solution=u)
        with np.errstate(invalid="ignore"):
            bounds = theory.PrintedTheorem1(c, 1.0, mu=c.mu)
            undefined += bool(np.isnan(bounds.distance(1)))
            _, path = run_gaps(problem, u, 5, lam=1 / c.u_max)
            violated += broken(path, bounds.distance, "distance", 1)
    assert undefined + violated > 0


def test_printed_theorem_2_fails_at_its_first_step():
    """α = 3, Z read for X: at t = 1 of the text, where u_1 = u_0, (α−1)√(…)/α can be under ‖w_0 − w*‖."""
    problem = diagonal(1.0, 1.0)
    c = theory.constants(problem)
    printed = theory.PrintedTheorem2(c, 0.99, C=c.C).distance(1)
    assert printed < c.w_norm * math.sqrt(2) * 2 / 3 * 1.01
    assert printed < c.w_norm < theory.Theorem2(c, 0.99).distance(0)
