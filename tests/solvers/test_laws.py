"""What the paper proves, as laws over random separable problems, linear and kernel."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import hard_margin, random_problem

import marginpath as mp

problems = given(
    seed=st.integers(0, 10**6),
    n=st.integers(3, 12),
    kind=st.sampled_from(["linear", "kernel"]),
    lambda0=st.sampled_from([0.05, 1.0, 20.0]),
)


def make(seed, n, kind):
    X, K, y = random_problem(seed, n, kind)
    gram = mp.Gram.linear(X) if kind == "linear" else mp.Gram.from_matrix(K)
    u_star, margin = hard_margin(K, y)
    return mp.Problem(gram, y), u_star, margin


def states(solver, problem, steps):
    path = mp.run(solver, problem, steps, keep=2**30)
    return [path.state(t) for t in range(steps + 1)]


def objective(problem, state):
    return float(problem.dual_objective(state.u, state.scores))


def optimum(problem, u_star):
    """D_∞(u*), better than the solver's rounding: scale u* to its best multiple."""
    scores = problem.scores(u_star)
    total, squared = u_star.sum(), float(problem.squared_norm(u_star, scores))
    return -(total**2) / (2 * squared)


@problems
def test_iterates_stay_in_the_box(seed, n, kind, lambda0):
    problem, _, _ = make(seed, n, kind)
    for momentum in (None, mp.Inertia(3)):
        schedule = mp.PowerDecay(lambda0)
        for state in states(mp.DualDescent(schedule, momentum), problem, 50)[1:]:
            assert np.all(state.u <= 0)
            assert np.all(state.u >= -1 / schedule(state.t))


@problems
def test_algorithm_1_never_increases_the_objective(seed, n, kind, lambda0):
    problem, _, _ = make(seed, n, kind)
    values = [objective(problem, s) for s in states(mp.DualDescent(mp.PowerDecay(lambda0)), problem, 200)]
    assert np.all(np.diff(values) <= 1e-13 * np.abs(values[-1]))


@problems
def test_algorithm_1_approaches_every_solution_once_the_box_holds_it(seed, n, kind, lambda0):
    problem, u_star, _ = make(seed, n, kind)
    schedule = mp.PowerDecay(lambda0)
    distances = [
        np.linalg.norm(s.u - u_star)
        for s in states(mp.DualDescent(schedule), problem, 300)
        if 1 / schedule(s.t + 1) >= np.abs(u_star).max() and s.t > 0
    ]
    # u* is known to the accuracy of the interior-point solver only.
    assert np.all(np.diff(distances) <= 1e-6 * np.linalg.norm(u_star))


@problems
def test_primal_distance_is_bounded_by_the_dual_gap(seed, n, kind, lambda0):
    problem, u_star, margin = make(seed, n, kind)
    reference = mp.Reference(problem, u_star)
    best = optimum(problem, u_star)
    for momentum in (None, mp.Inertia(3)):
        for state in states(mp.DualDescent(mp.PowerDecay(lambda0), momentum), problem, 100):
            gap = objective(problem, state) - best
            assert float(reference.distance(problem, state)) ** 2 / 2 <= gap + 1e-8 / margin**2


@problems
def test_both_algorithms_reach_the_maximum_margin_at_the_proved_rate(seed, n, kind, lambda0):
    """From the first step s at which the box holds u*: ½‖w_k − w*‖² ≤ D(u_k) − D* ≤ const / (k − s)^p."""
    problem, u_star, margin = make(seed, n, kind)
    reference = mp.Reference(problem, u_star)
    best = optimum(problem, u_star)
    s = int(np.ceil(lambda0 * np.abs(u_star).max()))
    for momentum in (None, mp.Inertia(3)):
        path = mp.run(mp.DualDescent(mp.PowerDecay(lambda0), momentum), problem, s + 400, every=10**6)
        first, γ = path.state(s, problem), path.last.step_size
        if momentum is None:
            bound = np.sum((first.u - u_star) ** 2) / (2 * γ * 400)
        else:
            bound = energy(problem, first, u_star, best, 3) / (path.last.t + 3) ** 2
        slack = 1e-8 / margin**2  # u* is known to the accuracy of the interior-point solver only
        assert objective(problem, path.last) - best <= bound + slack
        assert float(reference.distance(problem, path.last)) ** 2 / 2 <= bound + slack


@pytest.mark.heavy
@problems
def test_energy_of_the_inertial_proof_never_increases(seed, n, kind, lambda0):
    problem, u_star, _ = make(seed, n, kind)
    best = optimum(problem, u_star)
    s = int(np.ceil(lambda0 * np.abs(u_star).max()))
    for alpha in (3, 5, 30):
        solver = mp.DualDescent(mp.PowerDecay(lambda0), mp.Inertia(alpha))
        values = [energy(problem, x, u_star, best, alpha) for x in states(solver, problem, s + 150)[s:]]
        assert np.all(np.diff(values) <= 1e-6 * values[0])


def energy(problem, state, u_star, best, alpha):
    """E of the inertial proof; the paper's index is one more than the updates done, as its u_0 = u_1."""
    s = state.t + 1
    drift = (alpha - 1) * (state.previous_u - u_star) + (s + alpha - 1) * (state.u - state.previous_u)
    gap = objective(problem, state) - best
    return (s + alpha - 1) ** 2 * gap + drift @ drift / (2 * state.step_size)


@problems
def test_certificate_contains_the_maximum_margin_and_closes(seed, n, kind, lambda0):
    problem, u_star, margin = make(seed, n, kind)
    path = mp.run(
        mp.DualDescent(mp.PowerDecay(lambda0), mp.Inertia(3)),
        problem,
        600,
        observe=["margin_lower", "margin_upper"],
        every=100,
    )
    assert np.all(path["margin_lower"] <= margin * (1 + 1e-7))
    assert np.all(path["margin_upper"] >= margin * (1 - 1e-7))
    lower, upper = mp.margin_bounds(problem, u_star)
    assert lower <= margin * (1 + 1e-7)
    assert upper >= margin * (1 - 1e-7)
    assert upper - lower <= 1e-5 * margin
