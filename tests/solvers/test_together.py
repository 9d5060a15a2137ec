"""Columns of a question that go together, and pair steps on blocks of the worst samples."""

import numpy as np
import pytest
from memory_layouts import placements
from naive import svm
from solution_paths import overlapping

import marginpath as mp
from marginpath.solvers.coordinate.compiled import add_rows
from marginpath.solvers.solution_path import gathered, together
from marginpath.solvers.solution_path.blocks import BLOCK, pairs_in_blocks
from marginpath.solvers.solution_path.column import least_loss

GOING = np.zeros(1, dtype=bool)


@pytest.fixture
def always_together(monkeypatch):
    """Let few samples go together too."""
    monkeypatch.setattr("marginpath.parallel.QUICK", 10)


def folds_of(columns, n, folds=3):
    """Repeat each column of labels, a part left out of each but the last."""
    Y = np.repeat(columns.reshape(n, -1), folds + 1, axis=1)
    for j in range(folds):
        Y[np.arange(n) % folds == j, j :: folds + 1] = 0
    return Y


def folded(n=300, dtype=np.float64, sigma=0.7, classes=2, **settings):
    """Folds of one question, or of one for each class."""
    X, y = overlapping(n)
    codes = np.digitize(X[:, 1], [-0.5, 0.5])
    columns = y if classes == 2 else np.where(codes[:, None] == np.arange(3), 1, -1)
    gram = mp.Gram.from_kernel(X.astype(dtype), mp.Gaussian(sigma))
    return mp.Problem(gram, folds_of(columns, n), intercept=True, together=4, **settings)


def column(n, bound=2.0):
    """K of an SVM's dual problem, and y, low, high, z and e at z = 0."""
    X, y = overlapping(n)
    K, y = mp.Gaussian(0.7)(X), y.astype(np.float64)
    return K, y, np.where(y > 0, -bound, 0.0), np.where(y > 0, 0.0, bound), np.zeros(n), y.copy()


def in_order(n):
    """The samples, each at its own place."""
    return np.arange(n, dtype=np.uint32)


@pytest.mark.parametrize("n", [BLOCK // 2, BLOCK, 5 * BLOCK + 3])
def test_blocks_end_at_the_solution(n):
    K, y, low, high, z, e = column(n)
    taken = pairs_in_blocks(K, 1.0, np.ones(n), low, high, z, e, in_order(n), 1e-7, 10**6, GOING)
    assert 0 < taken < 10**6
    assert np.all((low <= z) & (z <= high))
    assert abs(z.sum()) < 1e-9
    np.testing.assert_allclose(e, K @ z + y, atol=1e-9)
    best = svm(K, y, 2.0, intercept=True)[1]
    assert 0 <= (z @ K @ z / 2 + y @ z) / best <= 1 + 1e-7


def test_blocks_of_rounded_values_end_at_the_solution_of_those():
    K, y, low, high, z, e = column(200)
    unit = 1 / (2**15 - 1)
    rounded = np.rint(K / unit).astype(np.int16)
    pairs_in_blocks(rounded, unit, np.ones(200), low, high, z, e, in_order(200), 1e-6, 10**6, GOING)
    np.testing.assert_allclose(e, unit * rounded @ z + y, atol=1e-9)
    assert np.max(e[z > low]) - np.min(e[z < high]) <= 1e-6


@pytest.mark.parametrize(("limit", "stop"), [(0, False), (10**6, True)])
def test_blocks_can_be_stopped(limit, stop):
    K, _, low, high, z, e = column(100)
    given = K, 1.0, np.ones(100), low, high, z, e, in_order(100)
    assert pairs_in_blocks(*given, 1e-9, limit, np.array([stop])) == 0
    assert not z.any()


def test_a_limit_ends_soon_after_it():
    K, _, low, high, z, e = column(300)
    taken = pairs_in_blocks(K, 1.0, np.ones(300), low, high, z, e, in_order(300), 1e-9, 50, GOING)
    assert 50 <= taken <= 50 + 10 * BLOCK


def test_many_samples_that_violate_alike_do_no_harm():
    """More than a block of equal ranks, of one class first: half a block of each is taken."""
    n = 4 * BLOCK
    y = np.repeat([1.0, -1.0], n // 2)
    z, low, high = np.zeros(n), np.minimum(-y, 0), np.maximum(-y, 0)
    pairs_in_blocks(np.eye(n), 1.0, np.ones(n), low, high, z, y.copy(), in_order(n), 1e-9, 10**6, GOING)
    np.testing.assert_allclose(z, -y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_blocks_do_not_see_where_arrays_lie(dtype):
    """Kernel values of 16 bits go with an e of 32."""
    K, _, low, high, z, e = column(150)
    unit = 2.0**-14 if dtype == np.int16 else 1.0
    K, e, bits = (K / unit).astype(dtype), e.astype(np.float32 if dtype == np.int16 else np.float64), set()
    for K_, diagonal, low_, high_, z_, e_ in placements(0, K, np.ones(150), low, high, z, e):
        pairs_in_blocks(K_, unit, diagonal, low_, high_, z_, e_, in_order(150), 1e-3, 10**6, GOING)
        bits.add((z_.tobytes(), e_.tobytes()))
    assert len(bits) == 1
    assert z_.any()


@pytest.mark.parametrize("dtype", [np.float64, np.int16])
@pytest.mark.parametrize("alike", [False, True])
def test_blocks_do_not_see_at_which_places_samples_are(dtype, alike, rng):
    """Nor who else rests there; also where more samples violate alike than a block takes."""
    K, _, low, high, z, e = column(150)
    if alike:
        K = np.eye(150) + 0.1
    unit, bits = (2.0**-14 if dtype == np.int16 else 1.0), set()
    for places in (np.arange(150), rng.permutation(150), rng.permutation(220)[:150]):
        m = places.max() + 1
        matrix, given = np.full((m, m), 7, dtype=dtype), np.zeros((4, m))
        matrix[np.ix_(places, places)] = (K / unit).astype(dtype)
        given[:, places] = low, high, z, e
        order = places.astype(np.uint32)
        violation, gap = together.gap_of_part(np.sign(given[3]), *given, order)
        pairs_in_blocks(matrix, unit, np.ones(m), *given, order, 1e-3, 10**6, GOING)
        bits.add((given[2:, places].tobytes(), violation, gap))
    assert len(bits) == 1
    assert given[2].any()


@pytest.mark.parametrize("count", range(18))
def test_rows_added_together_are_those_added_one_by_one(count, rng):
    rows, factor = rng.standard_normal((20, 37)).astype(np.float32), rng.standard_normal(18)
    index, start = rng.integers(0, 20, count), rng.standard_normal(30)
    out, single = start.copy(), start.copy()
    add_rows(rows, index, factor, out, 4)
    for c in range(count):
        add_rows(rows, index[c : c + 1], factor[c : c + 1], single, 4)
    assert out.tobytes() == single.tobytes()
    np.testing.assert_allclose(out, start + factor[:count] @ rows[index, 4:34], atol=1e-12)


def assert_solved(problem, state):
    """The dual objective of every third column is that of an interior-point method, up to the gap."""
    K = np.asarray(problem.gram.matrix, dtype=np.float64)
    for j in range(0, problem.shape[1], 3):
        own = problem.mass[:, j] > 0
        part, y, u = K[np.ix_(own, own)], problem.Y[own, j], state.u[own, j]
        dual = -(y * u) @ part @ (y * u) / 2 - u.sum()
        best = -svm(part, y, state.bound[j] * problem.mass[own, j], intercept=True)[1]
        assert (1 - 2e-3) * best <= dual <= (1 + 1e-6) * best
        assert not state.u[~own, j].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_step_is_the_solution(dtype, classes, weighted, always_together, rng):
    weights = rng.integers(0, 4, 300).astype(float) if weighted else None
    problem = folded(dtype=dtype, classes=classes, sample_weight=weights)
    solver = mp.SolutionPath()
    path = mp.run(solver, problem, 18, observe=["gap"])
    assert path["gap"][1:].max() <= solver.gap_tol
    assert_solved(problem, path.last)
    scores = problem.scores(path.last.u) + path.last.offset
    np.testing.assert_allclose(path.last.scores, scores, atol=1e-4 if dtype == np.float32 else 1e-9)


def test_they_do_go_together(always_together, monkeypatch):
    """Next to nothing is left for the columns by themselves."""
    solved, advance = [], together.Together.advance

    def noted(self, *given):
        solved.append(advance(self, *given))
        return solved[-1]

    monkeypatch.setattr(together.Together, "advance", noted)
    mp.run(mp.SolutionPath(), folded(), 12)
    assert len(solved) == 12
    assert sum(map(len, solved)) > 0.8 * 12 * 4


@pytest.mark.parametrize(
    "coarse", [{"LARGEST": 7}, {"_LIMIT": 0.01}, {"_ROUNDS": 1}, {"_EARLY": 0.0}, {"_EARLY": 1e9}]
)
def test_what_is_left_is_done_by_each_column(coarse, always_together, monkeypatch):
    """Kernel values of three bits, too few steps or rounds: slower, never wrong."""
    for name, value in coarse.items():
        monkeypatch.setattr(gathered if name == "LARGEST" else together, name, value)
    for compiled in (together.approach, together.settle):  # their numbers are compiled into them
        monkeypatch.setattr(together, compiled.__name__, compiled.py_func)
    problem, solver = folded(150), mp.SolutionPath()
    path = mp.run(solver, problem, 12, observe=["gap"])
    assert path["gap"][1:].max() <= solver.gap_tol
    assert_solved(problem, path.last)


def test_too_little_memory_does_no_harm(always_together):
    solver = mp.SolutionPath(working_set=16)
    path = mp.run(solver, folded(), 14, observe=["gap"])
    assert path["gap"][1:].max() <= solver.gap_tol


def test_threads_and_resuming_change_no_bit(always_together):
    problem = folded(dtype=np.float32)
    paths = [mp.run(mp.SolutionPath(threads=n), problem, 14) for n in (1, 2, 3)]
    half = mp.run(mp.SolutionPath(threads=2), problem, 7)
    paths.append(mp.resume(half, problem, 7))
    assert len({path.last.u.tobytes() for path in paths}) == 1
    assert len({path.last.scores.tobytes() for path in paths}) == 1


def test_no_step_changes_the_state_before(always_together):
    problem, solver = folded(), mp.SolutionPath()
    state = solver.init(problem)
    for _ in range(8):
        before = [getattr(state, name).copy() for name in ("u", "scores", "field", "bound", "offset")]
        following = solver.step(problem, state)
        for name, array in zip(("u", "scores", "field", "bound", "offset"), before, strict=True):
            np.testing.assert_array_equal(getattr(state, name), array)
        state = following


@pytest.mark.parametrize("kernel", [mp.Gaussian(0.7), mp.Polynomial(2, coef0=1.0)])
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_who_goes_together(kernel, tol, always_together, monkeypatch):
    """16 bits do for gaps that are not small, and kernels whose values are of one size."""
    calls, advance = [], together.Together.advance
    monkeypatch.setattr(together.Together, "advance", lambda self, *a: calls.append(1) or advance(self, *a))
    X, y = overlapping(60)
    gram = mp.Gram.from_kernel(X, kernel)
    solver = mp.SolutionPath(tol=tol)
    path = mp.run(solver, mp.Problem(gram, folds_of(y, 60), intercept=True, together=4), 6, observe=["gap"])
    assert path["gap"][1:].max() <= solver.gap_tol
    assert bool(calls) == (tol == 1e-3 and isinstance(kernel, mp.Gaussian))


def test_a_round_that_makes_it_worse_is_undone(always_together, monkeypatch):
    """Steps that go astray, as rounded kernel values may let them: the column is where it was before them."""
    settle = together.settle

    def astray(*given):
        own, _, column, *_, steps = given[4:]
        settle(*given)
        free = np.flatnonzero(column.high[own] > column.low[own])
        bound = np.where(column.y > 0, column.low, column.high)  # every sample at its bound
        steps[free] += bound[own[free]] - column.z[own[free]]
        column.z[own[free]] = bound[own[free]]

    monkeypatch.setattr(together, "settle", astray)
    monkeypatch.setattr(together, "_EARLY", 0.0)
    worse, look = [], together.Way.look

    def noted(self, asked):
        z, field, gap = *(kept.copy() for kept in self.kept), self.gap
        look(self, asked)
        if gap < np.inf and not self.is_solved and not len(self.wanted) and self.gap > gap:
            worse.append(np.array_equal(self.column.z, z) and np.array_equal(self.field, field))

    monkeypatch.setattr(together.Way, "look", noted)
    problem, solver = folded(), mp.SolutionPath()
    path = mp.run(solver, problem, 14, observe=["gap"])
    assert worse
    assert all(worse)
    assert path["gap"][1:].max() <= solver.gap_tol
    assert_solved(problem, path.last)


def test_kernel_values_over_the_diagonal_do_not_overflow(always_together):
    """Rounding may put entries of a given matrix a little over its diagonal."""
    X, y = overlapping(300)
    X[:4] = X[0]
    K = mp.Gaussian(0.7)(X).astype(np.float32)
    K[:4, :4] = np.where(np.eye(4), 1.0, 1.00005)
    problem = mp.Problem(mp.Gram.from_matrix(K), folds_of(y, 300), intercept=True, together=4)
    solver = mp.SolutionPath()
    assert mp.run(solver, problem, 14, observe=["gap"])["gap"][1:].max() <= solver.gap_tol


@pytest.mark.parametrize(
    ("diagonal", "bound", "fine"), [([1, 1.5], 1, True), ([1, 3], 1, False), ([1, 1], 1e4, False)]
)
def test_when_16_bits_do(diagonal, bound, fine):
    assert together.fine_enough(np.array(diagonal, dtype=float), np.array([1.0, bound])) == fine


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 3, 8, 21])
def test_rows_are_added_to_all_fields_as_to_each(count, k, rng):
    """To the bit: how many columns there are, and where a thread's part begins, changes nothing."""
    rows, fields = rng.standard_normal((40, 9000)).astype(np.float32), rng.standard_normal((7, 9000))
    where, steps, columns = (
        rng.integers(0, 40, count),
        rng.standard_normal((k, count)),
        rng.permutation(7)[:k],
    )
    single = fields.copy()
    for j in range(k):
        add_rows(rows, where, steps[j], single[columns[j]], 0)
    for first, last in ((0, 4500), (4500, 9000)):
        together.add_to_all(rows, where, steps, columns, fields, first, last)
    assert fields.tobytes() == single.tobytes()


def test_what_is_solved_is_not_undone(always_together, monkeypatch):
    """A gap may rise and be small all the same, where the objective that it is judged by has risen more."""
    problem, ways = folded(), []
    candidates, begin = together.candidates, together.Way.__init__

    def noted(self, *given):
        begin(self, *given)
        ways.append(self)

    monkeypatch.setattr(together.Way, "__init__", noted)
    mp.run(mp.SolutionPath(), problem, 3)
    way, asked = ways[-1], together.Asked(True, 1e-3, 2048, 200)
    way.gap, way.kept = 1.0, (np.full_like(way.column.z, np.nan), np.full_like(way.field, np.nan))
    monkeypatch.setattr(together, "candidates", lambda *given: (2.0, 1e6, candidates(*given)[2][:0], 0.5))
    way.look(asked)
    assert way.is_solved
    assert not np.isnan(way.column.z).any()
    assert way.duals.offset[way.j] == 0.5


@pytest.mark.parametrize("weighted", [False, True])
def test_the_offset_is_where_the_losses_are_least(weighted, rng):
    """As a plain search says, up to what is left of the interval; samples far off do not move it."""
    _, y, low, high, _, _ = column(200)
    if weighted:
        weights = rng.integers(0, 4, 200)
        low, high = weights * low, weights * high
    f = -y + 0.1 * rng.standard_normal(200)
    f[3] += 5 * y[3]

    def loss(beta):
        return np.sum((high - low) * np.maximum(0, 1 + y * (f + beta)))

    found = least_loss(y, low, high, f, -3.0, 4.0)
    grid = np.linspace(-3, 4, 7001)
    losses = np.array([loss(beta) for beta in grid])
    assert abs(found - grid[losses.argmin()]) <= 7 / 2**7
    assert abs(found) < 0.2
