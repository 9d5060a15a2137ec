"""The path of solutions: every step is the SVM at its C, to the gap that was asked for."""

import numpy as np
import pytest
from naive import svm
from sklearn.svm import SVC
from solution_paths import (
    BOTH,
    assert_same_classifier,
    decisions,
    gaussian_problem,
    objectives,
    overlapping,
    relative_gap,
    states,
)

import marginpath as mp


@BOTH
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_step_is_the_svm_at_its_c(intercept, dtype, weighted):
    weights = np.arange(40) % 4 / 2 if weighted else np.ones(40)
    problem = gaussian_problem(intercept=intercept, dtype=dtype, sample_weight=weights)
    K, y = problem.gram.matrix.astype(np.float64), problem.Y.astype(np.float64)
    for state in states(mp.SolutionPath(tol=1e-6), problem, 25)[::4]:
        bound = float(state.bound) * weights
        primal, dual = objectives(K, y, state.u, bound, state.offset)
        _, best = svm(K, y, bound, intercept)
        assert primal - dual <= 1.01e-6 * primal
        assert -best - dual == pytest.approx(0, abs=1.01e-6 * primal)
        assert np.all((state.u <= 0) & (state.u >= -bound * (1 + 1e-7)))
        if not intercept:
            assert state.offset == 0


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0, 1000.0])
def test_agrees_with_libsvm(C):
    problem = gaussian_problem(60, seed=1)
    K, y = problem.gram.matrix, problem.Y
    state = mp.run(mp.SolutionPath(lambda t: 1 / C, tol=1e-11), problem, 1).last
    svc = SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, y)
    v = np.zeros(60)
    v[svc.support_] = np.abs(svc.dual_coef_[0])
    _, ours = objectives(K, y, state.u, C)
    _, theirs = objectives(K, y, -v, C)
    assert ours == pytest.approx(theirs, rel=1e-7)
    assert ours >= theirs * (1 - 1e-10)
    apart = np.sqrt(2 * 1e-11 * ours) + 1e-5  # ½‖w − w*‖² is at most the gap, and k(x, x) is 1
    np.testing.assert_allclose(decisions(problem, state), svc.decision_function(K), rtol=0, atol=2 * apart)


def test_the_whole_path_agrees_with_libsvm_to_the_gap_asked_for():
    problem = gaussian_problem(80, seed=2)
    K, y = problem.gram.matrix, problem.Y
    for state in states(mp.SolutionPath(), problem, 24)[2::3]:
        C = float(state.bound)
        svc = SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, y)
        v = np.zeros(80)
        v[svc.support_] = np.abs(svc.dual_coef_[0])
        primal, dual = objectives(K, y, state.u, C, state.offset)
        theirs_primal, theirs_dual = objectives(K, y, -v, C, -svc.intercept_[0])
        assert dual <= theirs_primal
        assert primal * (1 - 1.01e-3) <= theirs_dual
        wrong, theirs = (np.mean(y * f <= 0) for f in (decisions(problem, state), svc.decision_function(K)))
        assert abs(wrong - theirs) <= 0.02


@BOTH
def test_a_weight_of_2_is_the_sample_twice_and_a_weight_of_0_is_none(intercept):
    X, y = overlapping()
    weights = np.arange(40) % 3
    repeated = np.repeat(np.arange(40), weights)
    solver = mp.SolutionPath(mp.GeometricDecay(20.0, 2.0), tol=1e-11)
    gram = mp.Gram.from_kernel(X, mp.Gaussian(1.0))
    weighted = mp.Problem(gram, y, weights, intercept=intercept)
    copied = mp.Problem(mp.Gram.from_kernel(X[repeated], mp.Gaussian(1.0)), y[repeated], intercept=intercept)
    for one, other in zip(states(solver, weighted, 12), states(solver, copied, 12), strict=True):
        assert np.all(one.u[weights == 0] == 0)
        assert_same_classifier(decisions(weighted, one)[repeated], decisions(copied, other))


@BOTH
def test_label_0_leaves_a_sample_out(intercept):
    X, y = overlapping()
    left = np.where(np.arange(40) % 4, y, 0)
    inside = np.flatnonzero(left)
    solver = mp.SolutionPath(mp.GeometricDecay(20.0, 2.0), tol=1e-11)
    whole = mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(1.0)), left, intercept=intercept)
    part = mp.Problem(mp.Gram.from_kernel(X[inside], mp.Gaussian(1.0)), y[inside], intercept=intercept)
    for one, other in zip(states(solver, whole, 12), states(solver, part, 12), strict=True):
        assert np.all(one.u[left == 0] == 0)
        assert_same_classifier(decisions(whole, one)[inside], decisions(part, other))


@BOTH
def test_columns_do_not_see_each_other(intercept):
    X, y = overlapping(60)
    rng = np.random.default_rng(0)
    Y = np.stack([y, np.where(rng.random(60) < 0.7, y, 0), -y, rng.permutation(y)], axis=1)
    gram, solver = (
        mp.Gram.from_kernel(X, mp.Gaussian(1.0)),
        mp.SolutionPath(mp.GeometricDecay(20.0), tol=1e-10),
    )
    together = mp.Problem(gram, Y, box_scale=[1, 1, 1, 2], intercept=intercept)
    last = mp.run(solver, together, 15).last
    for j in range(4):
        alone = mp.Problem(gram, Y[:, j], box_scale=together.box_scale[j], intercept=intercept)
        state = mp.run(solver, alone, 15).last
        assert state.bound == last.bound[j]
        assert_same_classifier(decisions(alone, state), decisions(together, last)[:, j])
    np.testing.assert_allclose(last.u[:, 0], last.u[:, 2], atol=1e-6 * np.abs(last.u).max())


@BOTH
def test_a_resumed_path_is_the_uninterrupted_one_bit_for_bit(intercept, tmp_path):
    X, y = overlapping(60)
    Y = np.stack([y, np.where(np.arange(60) % 5, y, 0)], axis=1)
    problem = mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(1.0)), Y, intercept=intercept)
    solver = mp.SolutionPath(refresh=4)
    whole = mp.run(solver, problem, 18, observe=["gap"])
    mp.run(solver, problem, 7, observe=["gap"]).save(tmp_path / "path.npz")
    resumed = mp.resume(mp.Path.load(tmp_path / "path.npz"), problem, 11)
    assert resumed["gap"].tobytes() == whole["gap"].tobytes()
    for name, values in whole.last.arrays().items():
        assert resumed.last.arrays()[name].tobytes() == values.tobytes(), name


@BOTH
@pytest.mark.parametrize("shape", [(60,), (60, 2)])
def test_a_step_changes_no_state(shape, intercept):
    X, y = overlapping(60)
    Y = np.broadcast_to(y[:, None], (60, 2)) if len(shape) == 2 else y
    problem = mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(1.0)), Y, intercept=intercept)
    solver = mp.SolutionPath(refresh=2)
    state = solver.init(problem)
    for _ in range(4):
        before = {name: values.tobytes() for name, values in state.arrays().items()}
        new = solver.step(problem, state)
        assert {name: values.tobytes() for name, values in state.arrays().items()} == before
        assert all(values.shape == getattr(state, name).shape for name, values in new.arrays().items())
        state = new


@BOTH
def test_a_matrix_that_is_not_stored_gives_the_same_path(intercept):
    X, y = overlapping(70)
    Y = np.stack([y, np.where(np.arange(70) % 5, y, 0)], axis=1)
    solver, kernel = mp.SolutionPath(tol=1e-10, working_set=16, refresh=5), mp.Gaussian(1.0)
    stored, tiled = (
        mp.Problem(gram, Y, intercept=intercept)
        for gram in (mp.Gram.from_kernel(X, kernel), mp.TiledGram(X, kernel))
    )
    assert tiled.gram.matrix is None
    for a, b in zip(states(solver, stored, 14), states(solver, tiled, 14), strict=True):
        assert_same_classifier(a.scores, b.scores)
        np.testing.assert_allclose(a.offset, b.offset, atol=1e-6 * np.abs(a.scores).max())


@BOTH
def test_schedules(intercept):
    problem = gaussian_problem(intercept=intercept)
    first, second = states(mp.SolutionPath(mp.Constant(0.1)), problem, 2)
    assert first.bound == second.bound == pytest.approx(10)
    assert first.u.tobytes() == second.u.tobytes()  # nothing is left to do
    empty, some = states(mp.SolutionPath(lambda t: np.inf if t == 1 else 0.5), problem, 2)
    assert empty.bound == 0
    assert not empty.u.any()
    assert float(mp.metrics.gap(problem, empty)) == 0
    _, best = svm(problem.gram.matrix, problem.Y, 2.0, intercept)
    assert objectives(problem.gram.matrix, problem.Y, some.u, 2.0)[1] == pytest.approx(-best, rel=1.01e-3)


@BOTH
def test_a_box_without_bounds_holds_the_maximum_margin(intercept):
    X, y = overlapping()
    problem = mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(0.2)), y, intercept=intercept)
    path = mp.run(mp.SolutionPath(lambda t: 2.0**-t if t < 9 else 0.0, tol=1e-9), problem, 9, observe=["gap"])
    _, best = svm(problem.gram.matrix, y, np.inf, intercept)
    assert objectives(problem.gram.matrix, y, path.last.u, 0)[1] == pytest.approx(-best, rel=1e-6)
    lower, upper = mp.margin_bounds(problem, path.last.u)
    assert lower <= (-2 * best) ** -0.5 * (1 + 1e-7)
    assert upper - lower <= 1e-4 * upper


@BOTH
@pytest.mark.parametrize("rounds", [1, 200])
def test_the_gap_is_that_of_its_definition(rounds, intercept):
    weights = np.arange(40) % 3 + 0.5
    problem = gaussian_problem(intercept=intercept, sample_weight=weights)
    solver = mp.SolutionPath(working_set=4, rounds=rounds)
    K, y = problem.gram.matrix, problem.Y
    for state in states(solver, problem, 20)[1:]:
        expected = relative_gap(K, y, state, float(state.bound) * weights)
        assert float(mp.metrics.gap(problem, state)) == pytest.approx(expected, abs=1e-12)


def test_a_gap_that_is_not_reached_is_told():
    problem = gaussian_problem(60)
    path = mp.run(mp.SolutionPath(working_set=2, rounds=1), problem, 20, observe=["gap"])
    assert np.max(path["gap"]) > path.solver.gap_tol


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
@pytest.mark.parametrize(
    "kernel",
    [
        mp.Gaussian(0.3),
        mp.Linear(),
        mp.Polynomial(3, 1.0, 1.0),
    ],
)
def test_the_two_classes_weigh_the_same(kernel, tol):
    X, y = overlapping(80)
    problem = mp.Problem(mp.Gram.from_kernel(X, kernel), y, intercept=True)
    for state in states(mp.SolutionPath(tol=tol), problem, 30):
        assert abs(np.sum(y * state.u)) <= 1e-13 * np.sum(np.abs(state.u))


def test_without_an_intercept_asked_for_there_is_none_and_other_solvers_refuse_one():
    problem = gaussian_problem()
    with pytest.raises(ValueError, match="Use SolutionPath"):
        mp.run(mp.CoordinateDescent(), problem, 1)
    assert mp.run(mp.SolutionPath(), gaussian_problem(intercept=False), 5).last.offset == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ratio": 1.0}, "ratio must be a finite number over 1"),
        ({"tol": 0.0}, "tol must be over 0"),
        ({"working_set": 1}, "working_set must be at least 2"),
        ({"rounds": 0}, "rounds must be at least 1"),
        ({"refresh": 0}, "refresh must be at least 1"),
    ],
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(ValueError, match=message):
        mp.SolutionPath(**settings)


def test_a_start_is_refused():
    with pytest.raises(ValueError, match="starts at u = 0"):
        mp.run(mp.SolutionPath(), gaussian_problem(), 1, start=np.zeros(40))
