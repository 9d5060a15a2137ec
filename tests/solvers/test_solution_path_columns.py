"""The columns of a path of solutions and their working sets: what they share, and what they must not."""

import numpy as np
import pytest
from memory_layouts import placements
from naive import svm
from solution_paths import (
    BOTH,
    gaussian_problem,
    overlapping,
)

import marginpath as mp
from marginpath.solvers.solution_path.newton import no_inverse
from marginpath.solvers.solution_path.part import whole_part


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
    from marginpath.solvers.solution_path.newton import _renew, with_room

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
