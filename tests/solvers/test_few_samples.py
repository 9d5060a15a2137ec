"""Columns of few samples: pair steps on all of them at once, against naive references and the other ways."""

import pickle

import numpy as np
import pytest
from memory_layouts import placements
from naive import svm
from solution_paths import overlapping, relative_gap

import marginpath as mp
from marginpath import parallel
from marginpath.problem.questions import packed
from marginpath.solvers.solution_path import few_columns
from marginpath.solvers.solution_path.few_desk import Few, FewDuals, empty_desk
from marginpath.solvers.solution_path.few_samples import advance_few, pair_steps
from marginpath.solvers.solution_path.few_start import begin_few
from marginpath.solvers.solution_path.kernel_columns import balanced
from marginpath.validation.cross_validation import PathValidation


def pairs_of_classes(n=120, classes=4, folds=3, seed=0):
    """Labels of the folds of every pair of classes, then all the data, the rows held out, and X."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, n)
    X = rng.normal(size=(n, 3))
    X[:, 0] += 0.7 * codes
    first, second = np.triu_indices(classes, 1)
    signs = np.where(codes[:, None] == second, 1, np.where(codes[:, None] == first, -1, 0))
    held_out = [np.arange(j, n, folds) for j in range(folds)]
    Y = np.repeat(signs, folds + 1, axis=1)
    for j, test in enumerate(held_out):
        Y[test, j :: folds + 1] = 0
    return X, Y, [*held_out, np.arange(0)]


def problem_of_pairs(dtype=np.float64, hint=True, weight=None, **settings):
    X, Y, watched = pairs_of_classes(**settings)
    gram = mp.Gram.from_kernel(X.astype(dtype), mp.Gaussian(1.0))
    watched = watched if hint else None
    return mp.Problem(gram, Y, weight, intercept=True, together=4, watched=watched)


@pytest.mark.parametrize("n", [5, 16, 17, 60, 130])
def test_pair_steps_end_at_the_solution(n):
    X, y = overlapping(n)
    K = mp.Gaussian(0.7)(X)
    problem = mp.Problem(mp.Gram.from_matrix(K), y, intercept=True)
    few = Few(K, np.ones(n), *packed(problem.questions), np.arange(n).astype(np.uint32), np.array([0, n]))
    desk = empty_desk(n)
    desk.low[:n], desk.high[:n] = np.where(y > 0, -2.0, 0.0), np.where(y > 0, 0.0, 2.0)
    desk.up[:], desk.down[:] = -1e300, -1e300
    desk.up[:n][y < 0], desk.down[:n][y > 0] = 1.0, 1.0  # e = y at z = 0
    assert 0 < pair_steps(desk, few, 0, 1e-8, 10**6) < 10**6
    z = desk.z[:n]
    assert abs(z.sum()) < 1e-9
    assert np.all((desk.low[:n] <= z) & (z <= desk.high[:n]))
    best = svm(K, y.astype(float), 2.0, intercept=True)[1]
    assert 0 <= (z @ K @ z / 2 + y @ z) / best <= 1 + 1e-7
    e = np.where(z > desk.low[:n], desk.down[:n], -desk.up[:n])
    np.testing.assert_allclose(e - y, K @ z, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_column_is_the_svm_at_its_bound(dtype, weighted):
    weight = np.random.default_rng(1).integers(1, 4, 120).astype(float) if weighted else None
    problem = problem_of_pairs(dtype, weight=weight)
    solver = mp.SolutionPath(tol=1e-6)
    assert solver._columns_of(problem) is few_columns.FewColumns
    path = mp.run(solver, problem, 14, observe=["gap"], keep=2**30)
    K = np.asarray(problem.gram.matrix, dtype=np.float64)
    for t in (1, 2, 7, 14):
        state = path.state(t)
        for j in range(0, problem.shape[1], 5):
            own = problem.mass[:, j] > 0
            part = mp.State(t=t, u=state.u[own, j], scores=state.scores[own, j], bound=state.bound[j])
            object.__setattr__(part, "offset", state.offset[j])
            box = state.bound[j] * problem.mass[own, j]
            gap = relative_gap(K[np.ix_(own, own)], problem.Y[own, j].astype(float), part, box)
            assert gap <= 1.1e-6 if dtype == np.float64 else gap < 1e-4
            assert not state.u[~own, j].any()
            assert abs(problem.Y[:, j] @ state.u[:, j]) <= 1e-9 * np.abs(state.u[:, j]).sum()
    assert path["gap"][1:].max() <= solver.gap_tol * (1 if dtype == np.float64 else 100)


@pytest.mark.parametrize("hint", [False, True])
def test_scores_are_those_of_u_where_they_are_read(hint):
    problem = problem_of_pairs(hint=hint)
    path = mp.run(mp.SolutionPath(), problem, 12, keep=2**30)
    for t in (1, 5, 12):
        state = path.state(t)
        exact = problem.scores(state.u) + state.offset
        for j in range(problem.shape[1]):
            watched = problem.watched[j % 4] if hint else np.arange(120)
            for rows in (watched, np.flatnonzero(problem.mass[:, j])):
                np.testing.assert_allclose(state.scores[rows, j], exact[rows, j], rtol=0, atol=1e-10)


def test_columns_of_many_samples_are_beside_those_of_few(monkeypatch):
    """Some questions are too large, and some columns too slow: working sets solve these."""
    few = mp.run(mp.SolutionPath(tol=1e-7), problem_of_pairs(), 12, observe=["gap"]).last
    sizes = [len(question.samples) for question in problem_of_pairs().questions]
    monkeypatch.setattr(few_columns, "FEW", int(np.median(sizes)))
    both = mp.run(mp.SolutionPath(tol=1e-7), problem_of_pairs(), 12, observe=["gap"])
    assert both["gap"][1:].max() <= 1e-7 * (1 + 1e-6)
    np.testing.assert_allclose(both.last.u, few.u, atol=1e-2 * np.abs(few.u).max())


def test_what_takes_long_goes_on_by_working_sets(monkeypatch):
    left = []

    def at_once(few, first, last, begin, end, duals, asked, stop, solved):
        stopped = np.ones(1, dtype=bool)
        advance_few(few, first, last, begin, end, duals, asked, stopped, solved)
        left.append(not solved.all())

    monkeypatch.setattr("marginpath.solvers.solution_path.few_samples.advance_few", at_once)
    path = mp.run(mp.SolutionPath(tol=1e-7), problem_of_pairs(), 12, observe=["gap"])
    assert any(left)
    assert path["gap"][1:].max() <= 1e-7 * (1 + 1e-6)


def test_the_first_step_begins_as_others_do():
    """Of the larger class the worst samples only, and the field that belongs to them."""
    problem = problem_of_pairs()
    state = mp.SolutionPath().init(problem)
    columns = few_columns.FewColumns(problem, state, problem.box_size(0.5))
    columns.begin()
    every = np.arange(problem.shape[1])
    start = columns.layout.spread(120, every, columns.packed_start, None)
    field = columns.layout.spread(120, every, columns.fields, columns.outside)
    for question in problem.questions:
        for j, direction in enumerate(question.signed, question.first):
            chosen = balanced(direction, state.field[question.samples, j])
            np.testing.assert_allclose(start[j, question.samples], -0.5 * np.abs(chosen), atol=1e-12)
            z = problem.Y[:, j] * start[j]
            rows = np.concatenate([question.samples[direction != 0], problem.watched[j % 4]])
            np.testing.assert_allclose(field[j, rows], (problem.gram @ z)[rows], atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_does_not_see_where_arrays_lie(dtype):
    from marginpath.solvers.solution_path.advance import Asked

    problem = problem_of_pairs(dtype)
    state = mp.SolutionPath().init(problem)
    k, rows, packed = problem.shape[1], np.asarray(problem.gram.matrix), state.packed
    fixed = packed.layout
    bits = set()
    given = (
        rows,
        np.diag(rows),
        fixed.samples,
        fixed.signed,
        fixed.watched,
        packed.u,
        packed.u,
        packed.fields,
        packed.outside,
    )
    for K, diagonal, samples, signed, read, start, u, f, outside in placements(len(rows), *given):
        few = Few(K, diagonal, fixed.ends, samples, signed, 4, read, fixed.begins)
        bound, offset, solved = np.full(k, 0.7), np.zeros(k), np.zeros(k, dtype=bool)
        duals = FewDuals(start, u, f, outside, bound, bound, offset)
        begin_few(few, 0, 6, 0, 4, duals)
        advance_few(few, 0, 6, 0, 4, duals, Asked(True, 1e-5, 2048, 200), np.zeros(1, dtype=bool), solved)
        assert solved.all()
        bits.add((u.tobytes(), f.tobytes(), outside.tobytes(), offset.tobytes()))
    assert len(bits) == 1


def test_threads_and_who_takes_what_change_no_bit(monkeypatch):
    bits = set()
    for shared in (0, 2**30):
        monkeypatch.setattr(few_columns, "_SHARED", shared)
        for n in (1, 2, 3):
            with mp.parallel.limited(n):
                last = mp.run(mp.SolutionPath(), problem_of_pairs(), 12).last
            bits.add((last.u.tobytes(), last.scores.tobytes()))
    assert len(bits) == 1


def test_questions_are_shared_out_without_those_of_many(monkeypatch):
    monkeypatch.setattr(few_columns, "_SHARED", 0)
    problem = problem_of_pairs(n=300, classes=9)
    sizes = np.array([len(question.samples) for question in problem.questions])
    for most, workers in ((1024, 1), (1024, 2), (int(np.median(sizes)), 2), (int(sizes.min()), 3)):
        monkeypatch.setattr(few_columns, "FEW", most)
        taken = [
            (q, c)
            for first, last, begin, end in few_columns._parts(problem, workers)
            for q in range(first, last)
            for c in range(begin, end)
        ]
        assert sorted(taken) == [(q, c) for q in np.flatnonzero(sizes <= most) for c in range(4)]


def test_watched_is_checked_and_goes_with_its_columns():
    problem = problem_of_pairs()
    part = problem.columns(np.array([1, 6]))
    assert [rows.tolist() for rows in part.watched] == [problem.watched[j].tolist() for j in (1, 2)]
    with pytest.raises(ValueError, match="watched must be 4 arrays"):
        mp.Problem(problem.gram, problem.Y, together=4, watched=[np.arange(3)])


@pytest.mark.parametrize("rows", [[10**6], [-121], np.ones(7, dtype=bool)])
def test_rows_that_do_not_exist_cannot_be_watched(rows):
    problem = problem_of_pairs()
    with pytest.raises(ValueError, match="watched must be numbers of rows under 120, or a mask of 120"):
        mp.Problem(problem.gram, problem.Y, together=4, watched=[rows, [], [], []])


def test_arrays_of_a_packed_state_are_made_when_asked_for():
    """They are the same after pickling, and a state of some of the columns goes on as all of them do."""
    problem, solver = problem_of_pairs(), mp.SolutionPath()
    state = mp.run(solver, problem, 6, keep=0).last
    assert not {"u", "scores", "field"} & set(vars(state))
    again = pickle.loads(pickle.dumps(state))
    assert again.u.tobytes() == state.u.tobytes()
    assert again.scores.tobytes() == state.scores.tobytes()
    some = np.array([1, 6, 7, 20])
    part = solver.step(problem.columns(some), state.columns(some))
    whole = solver.step(problem, state)
    assert part.u.tobytes() == np.take(whole.u, some, axis=1).tobytes()
    with pytest.raises(AttributeError, match="has no attribute 'gap'"):
        state.gap  # noqa: B018


def test_a_state_goes_on_where_columns_lie_otherwise(rng):
    """How many columns have a question in common is a hint, which tells no problems apart."""
    X, half = rng.standard_normal((60, 3)), np.arange(60) % 2
    y = np.sign(X[:, 0] + 0.3 * rng.standard_normal(60))
    Y = np.column_stack([y, half * y, y, (1 - half) * y])
    gram = mp.Gram.from_kernel(X, mp.Gaussian(1.0))
    alone, pairs = (mp.Problem(gram, Y, intercept=True, together=together) for together in (1, 2))
    whole = mp.run(mp.SolutionPath(), alone, 12)
    path = mp.resume(mp.run(mp.SolutionPath(), alone, 6), pairs, 6)
    np.testing.assert_allclose(path.last.u, whole.last.u, atol=1e-12)


def test_rows_that_are_watched_twice_count_once():
    """As those that a bootstrap holds out; masks and numbers from the end will do."""
    once = problem_of_pairs()
    rows = [
        np.concatenate([once.watched[0], once.watched[0]]),
        once.watched[1] - 120,
        np.isin(np.arange(120), once.watched[2]),
        once.watched[3],
    ]
    twice = mp.Problem(once.gram, once.Y, intercept=True, together=4, watched=rows)
    states = [mp.run(mp.SolutionPath(), problem, 8).last for problem in (once, twice)]
    assert states[0].scores.tobytes() == states[1].scores.tobytes()
    assert once.fingerprint() == twice.fingerprint()


def test_a_bootstrap_holds_rows_out_twice(rng):
    """Its scores are those of decisions computed anew."""
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1], 30)
    X[y == 1] += 1
    test = rng.choice(60, 40)
    rest = np.setdiff1d(np.arange(60), test)
    gram = mp.Gram.from_kernel(X, mp.Gaussian(1.0))
    validation = PathValidation(gram, y, cv=[(rest, test)], intercept=True)
    state = validation.run(mp.SolutionPath(), 10, stop=None).last
    scores = validation.problem.scores(state.u) + state.offset
    np.testing.assert_allclose(state.scores[test, 0], scores[test, 0], atol=1e-9)


def test_a_path_is_not_resumed_where_other_scores_are_watched():
    problem = problem_of_pairs()
    path = mp.run(mp.SolutionPath(), problem, 4)
    all_of_them = mp.Problem(problem.gram, problem.Y, intercept=True, together=4)
    with pytest.raises(ValueError, match="another problem"):
        mp.resume(path, all_of_them, 2)


def test_no_more_threads_than_there_are_to_be(monkeypatch):
    workers, real = set(), few_columns.for_all
    monkeypatch.setattr(few_columns, "for_all", lambda task, items, n: workers.add(n) or real(task, items, n))
    with parallel.limited(2):
        mp.run(mp.SolutionPath(), problem_of_pairs(), 2)
    assert max(workers) == 2
