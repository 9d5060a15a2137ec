"""The path of solutions: every step is the SVM at its C, to the gap that was asked for."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_layouts import placements
from naive import svm
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import marginpath as mp
from marginpath.solvers.solution_path.kernel_columns import KernelColumns
from marginpath.solvers.solution_path.newton import no_inverse
from marginpath.solvers.solution_path.part import whole_part
from marginpath.solvers.solution_path.steps import solve_part

BOTH = pytest.mark.parametrize("intercept", [False, True])


def overlapping(n=40, seed=0, positive=0.4):
    """X and labels that hardly depend on it."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    y = np.where(X[:, 0] + 1.5 * rng.standard_normal(n) > np.quantile(X[:, 0], 1 - positive), 1, -1)
    y[:2] = 1, -1
    return X, y


def gaussian_problem(n=40, seed=0, *, intercept=True, dtype=np.float64, **settings):
    X, y = overlapping(n, seed)
    return mp.Problem(
        mp.Gram.from_kernel(X.astype(dtype), mp.Gaussian(1.0)), y, intercept=intercept, **settings
    )


def states(solver, problem, steps):
    path = mp.run(solver, problem, steps, keep=2**30)
    return [path.state(t) for t in range(1, steps + 1)]


def decisions(problem, state):
    """Return f(x_i) of every sample from u and the offset alone."""
    return -np.asarray(problem.gram.matrix, dtype=np.float64) @ (problem.Y * state.u) - state.offset


def objectives(K, y, u, bound, offset=0.0):
    """Primal and dual objective, from their definitions."""
    w_squared = (y * u) @ K @ (y * u)
    margins = -y * (K @ (y * u) + offset)
    return w_squared / 2 + np.sum(bound * np.maximum(0, 1 - margins)), -w_squared / 2 - np.sum(u)


def relative_gap(K, y, state, bound):
    """(P − D)/P, where P is also that of w over its smallest margin, which has no loss if it is positive."""
    primal, dual = objectives(K, y, state.u, bound, state.offset)
    least = np.min(-y * (K @ (y * state.u) + state.offset))
    if least > 0:
        primal = min(primal, (y * state.u) @ K @ (y * state.u) / 2 / least**2)
    return (primal - dual) / primal


def assert_same_classifier(f, g, tolerance=1e-6):
    np.testing.assert_allclose(f, g, rtol=0, atol=tolerance * max(1.0, np.abs(g).max()))


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


def test_threads_change_no_bit():
    X, y = overlapping(90)
    rng = np.random.default_rng(0)
    Y = np.where(rng.random((90, 5)) < 0.8, y[:, None], 0)
    problem = mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(0.7)), Y, intercept=True)
    bits = {mp.run(mp.SolutionPath(threads=n), problem, 15).last.u.tobytes() for n in (1, 2, 3)}
    assert len(bits) == 1


@BOTH
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [37, 150])
def test_it_does_not_see_where_arrays_lie(n, dtype, intercept):
    from marginpath.solvers.solution_path.column import choose, follow, improve, survey
    from marginpath.solvers.solution_path.newton import no_inverse
    from marginpath.solvers.solution_path.part import Part

    X, y = overlapping(n)
    K, y = mp.Gaussian(0.5)(X).astype(dtype), y.astype(np.float64)
    low, high = np.where(y > 0, -3.0, 0.0), np.where(y > 0, 0.0, 3.0)
    bits = set()
    for placed in placements(n, K, np.diag(K), y, low, high, np.zeros(n), np.zeros(n)):
        K_, diagonal, *given_ = placed
        for _ in range(4):
            beta, violation, gap, objective, _ = survey(*given_, intercept)
            index = choose(*given_, beta, n // 2)
            m = len(index)
            part = Part(index, K_, np.empty((m, m), dtype), np.zeros(m, dtype=np.int64))
            steps, _ = improve(part, no_inverse(), index, diagonal, *given_, intercept, 1e-3 * violation)
            follow(K_, index, steps, given_[4])
        bits.add((given_[3].tobytes(), given_[4].tobytes(), beta, gap))
    assert len(bits) == 1
    assert 0 < gap < objective


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


def test_every_step_of_noisy_moons_reaches_the_gap_up_to_a_million():
    X, y = make_moons(375, noise=0.25, random_state=0)
    y[np.random.default_rng(0).permutation(375)[:56]] ^= 1
    problem = mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(0.7)), 2 * y - 1, intercept=True)
    path = mp.run(mp.SolutionPath(), problem, 45, observe=["gap", "bound", "error"])
    assert path["bound"][-1] > 1e6
    assert np.all(path["gap"] <= 1.000001e-3)
    assert np.all(np.diff(path["error"][5:]) <= 0.02)  # no spikes


@BOTH
@pytest.mark.parametrize("working_set", [2, 5, 64])
def test_the_dual_objective_never_increases_at_a_lambda(working_set, intercept):
    """One set at a step: the objective falls to that of the solution."""
    problem = gaussian_problem(60, intercept=intercept)
    solver = mp.SolutionPath(mp.Constant(0.05), tol=1e-9, working_set=working_set, rounds=1)
    path = mp.run(solver, problem, 400, observe=["dual_objective", "gap"])
    objective = path["dual_objective"]
    assert np.all(np.diff(objective[1:]) <= 1e-12 * np.abs(objective[-1]))
    assert path["gap"][-1] <= 0.01 * path["gap"][1]
    best = svm(problem.gram.matrix, problem.Y, 20.0, intercept)[1]
    assert 0 <= objective[-1] / best <= 1 + 1e-7
    if working_set == 64:
        assert path["gap"][-1] <= 1.01e-9


@BOTH
def test_stretching_to_the_next_bound_never_increases_the_objective(intercept):
    problem = gaussian_problem(60, intercept=intercept)
    path = mp.run(mp.SolutionPath(tol=0.5), problem, 30, observe=["dual_objective"])
    assert np.all(np.diff(path["dual_objective"]) < 0)


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


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_of_few_samples_are_solved_as_if_there_were_no_others(intercept, dtype):
    """Columns of different sizes, of which the samples that count are packed; their scores are of all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3)).astype(dtype)
    codes = np.repeat(np.arange(5), [30, 24, 18, 12, 6])
    X[:, 0] += codes
    first, second = np.triu_indices(5, 1)
    Y = np.where(codes[:, None] == second, 1.0, np.where(codes[:, None] == first, -1.0, 0.0))[:, 1:]
    weight = rng.integers(0, 3, 90).astype(float) + (np.arange(90) % 6 == 0)
    kernel, solver = mp.Gaussian(2.0), mp.SolutionPath(mp.GeometricDecay(8.0, 1.5), tol=1e-9)
    whole = mp.Problem(mp.Gram.from_kernel(X, kernel), Y, weight, intercept=intercept)
    assert whole.packed is not None
    assert whole.packed[0].shape == (np.max(np.sum(whole.mass > 0, axis=0)), 9)
    path = mp.run(solver, whole, steps=14, observe=["gap"])
    assert path["gap"][1:].max() <= solver.gap_tol
    np.testing.assert_allclose(
        path.last.scores,
        whole.scores(path.last.u) + path.last.offset,
        rtol=0,
        atol=2e-5 if dtype == np.float32 else 1e-9,
    )
    for j in range(9):
        own = Y[:, j] != 0
        part = mp.Problem(mp.Gram.from_kernel(X[own], kernel), Y[own, j], weight[own], intercept=intercept)
        alone = mp.run(solver, part, steps=14).last
        np.testing.assert_allclose(path.last.scores[own, j], alone.scores, rtol=0, atol=2e-3)
        assert not path.last.u[~own, j].any()


def test_nothing_is_packed_where_most_samples_count():
    Y = np.array([[1.0, 1], [-1, 0], [1, -1], [0, 0]])
    assert mp.Problem(mp.Gram.from_matrix(np.eye(4)), Y).packed is None
    assert mp.Problem(mp.Gram.from_matrix(np.eye(4)), Y[:, 0]).packed is None


@BOTH
def test_what_is_free_does_not_enter_again(intercept):
    """Rounding may put a free coordinate on its bound; entering twice, it outgrows the inverse."""
    from marginpath.solvers.solution_path.newton import _worst

    low, high, z = np.zeros(3), np.ones(3), np.array([0.0, 0.5, 1.0])
    e = np.array([-5.0, 0.0, 2.0])
    assert _worst(low, high, z, e, np.array([0, 1]), intercept)[0] == 2
    assert _worst(low, high, z, e, np.array([1]), intercept)[0] == 0


def test_a_part_grows_with_its_set():
    from marginpath.solvers.solution_path.part import empty_part, row_of

    K = np.random.default_rng(0).random((9, 9)).astype(np.float32)
    part, samples = empty_part(K, np.empty(30, np.float32), 5), [7, 2, 4, 0, 8]
    part.where[:] = samples
    for c, m in [(0, 2), (1, 3), (0, 5), (1, 4), (0, 3)]:
        np.testing.assert_array_equal(row_of(part, c, m)[:m], K[samples[c], samples[:m]])
    assert part.width.tolist() == [5, 4, 0, 0, 0]


def test_the_inverse_follows_what_is_free():
    from marginpath.solvers.solution_path.newton import _renew, no_inverse, with_room
    from marginpath.solvers.solution_path.part import whole_part

    rng, n = np.random.default_rng(1), 30
    K = mp.Gaussian(1.0)(rng.standard_normal((n, 3)))
    low, high, inverse = np.zeros(n), np.ones(n), no_inverse()
    for room, share in [(20, 0.8), (30, 0.7), (30, 0.75), (30, 0.1), (30, 0.0)]:
        z = np.where(rng.random(room) < share, 0.5, 1.0)
        inverse = with_room(inverse, room)
        part = whole_part(np.ascontiguousarray(K[:room, :room]))
        _renew(part, inverse, np.ones(room), low[:room], high[:room], z, 0.0)
        r = inverse.size[0]
        free = inverse.free[:r]
        assert sorted(free) == np.flatnonzero(z < 1).tolist()
        np.testing.assert_allclose(inverse.matrix[:r, :r] @ K[np.ix_(free, free)], np.eye(r), atol=1e-9)
        np.testing.assert_allclose(inverse.ones[:r], inverse.matrix[:r, :r].sum(axis=1), atol=1e-8)


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
    problem = mp.Problem(mp.Gram.linear(np.ones((4, 1))), np.array([1.0, 1.0, -1.0, -1.0])[:, None])
    state = SimpleNamespace(u=-np.ones((4, 1)), field=1e-16 * problem.Y, bound=np.ones(1))
    columns = KernelColumns(problem, state, np.array([1.5]))
    assert np.sum(columns.z * columns.f) < 0
    columns.stretch()
    np.testing.assert_array_equal(np.abs(columns.z), np.full((1, 4), 1.5))


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
