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
            part = Part(index, K_, np.empty((m, m), dtype), np.zeros(m, dtype=bool))
            steps, _ = improve(part, no_inverse(), index, diagonal, *given_, intercept, 1e-3 * violation)
            follow(K_, index, steps, given_[4])
        bits.add((given_[3].tobytes(), given_[4].tobytes(), beta, gap))
    assert len(bits) == 1
    assert 0 < gap < objective


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_of_few_samples_are_solved_as_if_there_were_no_others(intercept, dtype):
    """Columns of different sizes, of which the samples that count are worked on; their scores are of all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3)).astype(dtype)
    codes = np.repeat(np.arange(5), [30, 24, 18, 12, 6])
    X[:, 0] += codes
    first, second = np.triu_indices(5, 1)
    Y = np.where(codes[:, None] == second, 1.0, np.where(codes[:, None] == first, -1.0, 0.0))[:, 1:]
    weight = rng.integers(0, 3, 90).astype(float) + (np.arange(90) % 6 == 0)
    kernel, solver = mp.Gaussian(2.0), mp.SolutionPath(mp.GeometricDecay(8.0, 1.5), tol=1e-9)
    whole = mp.Problem(mp.Gram.from_kernel(X, kernel), Y, weight, intercept=intercept)
    assert [len(question.samples) for question in whole.questions] == np.sum(whole.mass > 0, axis=0).tolist()
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


@BOTH
@pytest.mark.parametrize("k", [2, 12])
def test_columns_of_one_question_share_their_working_sets(k, intercept):
    """Folds of some columns, together and each by itself: few questions are shared out by columns."""
    X, y = overlapping(80)
    rng = np.random.default_rng(0)
    flipped = np.where(rng.random((80, k)) < 0.1, -y[:, None], y[:, None])
    Y = np.repeat(flipped, 3, axis=1)
    Y[:40, ::3] = Y[40:, 1::3] = 0
    gram, solver = mp.Gram.from_kernel(X, mp.Gaussian(1.0)), mp.SolutionPath(tol=1e-9, working_set=16)
    together, apart = (mp.Problem(gram, Y, intercept=intercept, together=t) for t in (3, 1))
    paths = [mp.run(solver, problem, 12, observe=["gap"]) for problem in (together, apart)]
    assert max(path["gap"][1:].max() for path in paths) <= solver.gap_tol
    np.testing.assert_allclose(paths[0].last.scores, paths[1].last.scores, atol=1e-3)
    bits = {mp.run(mp.SolutionPath(threads=n), together, 12).last.u.tobytes() for n in (1, 2, 3)}
    assert len(bits) == 1


def test_a_question_has_the_samples_of_its_columns():
    Y = np.array([[1.0, 1], [-1, 0], [1, -1], [0, 0]])
    (question,) = mp.Problem(mp.Gram.from_matrix(np.eye(4)), Y, [1, 2, 1, 1], together=2).questions
    assert question.first == 0
    assert question.samples.tolist() == [0, 1, 2]
    assert question.signed.tolist() == [[1, -2, 1], [1, 0, -1]]
    with pytest.raises(ValueError, match="together must be a number that the columns"):
        mp.Problem(mp.Gram.from_matrix(np.eye(4)), Y, together=3)


@BOTH
def test_what_is_free_does_not_enter_again(intercept):
    """Rounding may put a free coordinate on its bound; entering twice, it outgrows the inverse."""
    from marginpath.solvers.solution_path.newton import _worst

    low, high, z = np.zeros(3), np.ones(3), np.array([0.0, 0.5, 1.0])
    e = np.array([-5.0, 0.0, 2.0])
    assert _worst(low, high, z, e, np.array([0, 1]), intercept)[0] == 2
    assert _worst(low, high, z, e, np.array([1]), intercept)[0] == 0


def test_a_part_grows_with_its_set():
    from marginpath.solvers.solution_path.part import empty_part, join, row_of

    K = np.random.default_rng(0).random((9, 9)).astype(np.float32)
    K = K + K.T
    part, samples = empty_part(K, np.full(30, np.nan, np.float32), 5), [7, 2, 4, 0, 8]
    for m, sample in enumerate(samples):
        join(part, sample, m)
        if m in (1, 3):
            row_of(part, m, m + 1)
    assert part.known.tolist() == [False, True, False, True, False]
    for c in (0, 1, 3):
        np.testing.assert_array_equal(row_of(part, c, 5), K[samples[c], samples])
    assert np.isnan(part.matrix[[2, 4]]).all()


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


@pytest.mark.parametrize("shape", [(60,), (60, 12)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_alike_samples_are_summed_once(dtype, weighted, shape, rng):
    """Labels have few different rows; with a weight for each sample, as many as there are samples."""
    from marginpath.solvers.solution_path.kernel_columns import product_of_alike

    gram = mp.Gram.from_kernel(rng.standard_normal((60, 3)).astype(dtype), mp.Gaussian(1.0))
    kinds = rng.choice([-1.0, 0.0, 1.0], (7, *shape[1:]))
    Y = kinds[rng.integers(0, 7, 60)]
    weight = rng.random(60) if weighted else None
    product = product_of_alike(mp.Problem(gram, Y, weight))
    V = Y if weight is None else (Y.T * weight.astype(dtype)).T
    assert product.shape == shape
    assert product.dtype == np.float64
    np.testing.assert_allclose(product, gram.matrix.astype(np.float64) @ V, rtol=0, atol=1e-13)
