"""The path of solutions on features: blocks of dense rows, sparse rows, and an intercept by multipliers."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from memory_layouts import Yard
from naive import svm
from sklearn.svm import SVC

import marginpath as mp
from marginpath import parallel
from marginpath.gram.linear import RUN, interleaved_blocks, interleaved_rows
from marginpath.gram.scaled import Scaled, in_16_bits
from marginpath.solvers.solution_path.feature_rows import DenseRows
from marginpath.solvers.solution_path.sweeping import Blocks, step_in_blocks

KINDS = pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
BOTH = pytest.mark.parametrize("intercept", [False, True])


@pytest.fixture(scope="module", autouse=True)
def _no_rows_are_few():
    """Let features be swept over however few rows there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("marginpath.solvers.solution_path.solver.FEW", 0)
        yield


def overlapping(n=300, d=5, seed=0, positive=0.3):
    """Features that are not centred, sorted by a class that hardly depends on them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.5
    X[np.abs(X) < 0.2] = 0
    score = X[:, 0] + 1.5 * rng.standard_normal(n)
    y = np.where(score > np.quantile(score, 1 - positive), 1, -1)
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def in_folds(y):
    """Six columns: a fifth of the samples left out of each, and all."""
    Y = np.repeat(np.asarray(y, dtype=float)[:, None], 6, axis=1)
    for j in range(5):
        Y[j::5, j] = 0
    return Y


def objectives(X, y, u, length, offset):
    """Primal and dual objective, from their definitions."""
    w = X.T @ (y * u)
    return w @ w / 2 + np.sum(length * np.maximum(0, 1 + y * (X @ w + offset))), -w @ w / 2 - np.sum(u)


@KINDS
@BOTH
@pytest.mark.parametrize("weighted", [False, True])
def test_every_step_is_the_svm_at_its_c(kind, intercept, weighted):
    X, y = overlapping()
    weights = np.arange(len(y)) % 4 / 2 if weighted else np.ones(len(y))
    problem = mp.Problem(mp.Gram.linear(kind(X)), y, weights, intercept=intercept)
    path = mp.run(mp.SolutionPath(tol=1e-6), problem, 24, keep=2**30, observe=["gap"])
    assert np.max(path["gap"][1:]) <= 1e-6
    for t in (1, 9, 17, 24):
        state = path.state(t)
        length = float(state.bound) * weights
        primal, dual = objectives(X, y, state.u, length, state.offset)
        _, best = svm(X @ X.T, y, length, intercept)
        least = -best  # of the primal objective, from an independent solver
        assert least * (1 - 1e-6) <= primal <= least * (1 + 3e-6)
        if not intercept:
            assert dual <= least * (1 + 1e-6)
        assert np.all((state.u <= 0) & (state.u >= -length * (1 + 1e-12)))
        np.testing.assert_allclose(state.scores, X @ (X.T @ (y * state.u)) + state.offset, atol=1e-9)
        assert intercept or state.offset == 0


@KINDS
@pytest.mark.parametrize("C", [0.01, 0.5, 20.0])
def test_agrees_with_libsvm(kind, C):
    X, y = overlapping()
    svc = SVC(C=C, kernel="linear", tol=1e-8).fit(X, y)
    problem = mp.Problem(mp.Gram.linear(kind(X)), y, intercept=True)
    state = mp.run(mp.SolutionPath(mp.Constant(1 / C), tol=1e-9), problem, 1).last
    np.testing.assert_allclose(-state.field, svc.coef_[0], atol=2e-4)
    assert -state.offset == pytest.approx(svc.intercept_[0], abs=1e-3)


@KINDS
@BOTH
@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.heavy)])
def test_columns_reach_their_gaps(kind, intercept, dtype):
    X, y = overlapping(1000, 150, seed=1)
    problem = mp.Problem(mp.Gram.linear(kind(X.astype(dtype))), in_folds(y), intercept=intercept)
    path = mp.run(mp.SolutionPath(), problem, 18, observe=["gap", "error"])
    assert np.max(path["gap"][1:]) <= 1.01e-3
    assert path["error"][-1, -1] < 0.2 < path["error"][5, -1]
    assert path.last.u.shape == (1000, 6)
    assert np.all(path.last.u[problem.Y == 0] == 0)


@KINDS
def test_two_kinds_of_solvers_have_the_same_solutions(kind):
    X, y = overlapping(200)
    on_features = mp.Problem(mp.Gram.linear(kind(X)), y, intercept=True)
    on_kernel = mp.Problem(mp.Gram.from_matrix(X @ X.T), y, intercept=True)
    solver = mp.SolutionPath(mp.Constant(1.0), tol=1e-9)
    ours, theirs = (mp.run(solver, problem, 1).last for problem in (on_features, on_kernel))
    np.testing.assert_allclose(ours.scores, theirs.scores, atol=2e-4)


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 150),
    d=st.integers(1, 4),
    C=st.sampled_from([1e-3, 0.3, 10.0]),
    data=st.sampled_from(["normal", "whole numbers", "equal", "zero"]),
    sparse=st.booleans(),
    intercept=st.booleans(),
)
def test_no_features_are_too_degenerate(seed, n, d, C, data, sparse, intercept):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if data == "whole numbers":
        X = rng.integers(-1, 2, (n, d)).astype(float)
    elif data == "equal":
        X = X[rng.integers(0, max(1, n // 3), n)]
    elif data == "zero":
        X *= 0
    y = rng.permutation(np.where(np.arange(n) < rng.integers(1, n), 1.0, -1.0))
    problem = mp.Problem(mp.Gram.linear(sp.csr_array(X) if sparse else X), y, intercept=intercept)
    state = mp.run(mp.SolutionPath(mp.Constant(1 / C), tol=1e-4), problem, 1).last
    assert np.all((state.u <= 0) & (state.u >= -C))
    primal, _ = objectives(X, y, state.u, C, state.offset)
    assert primal <= -svm(X @ X.T, y, np.full(n, C), intercept)[1] * (1 + 2.1e-4) + 1e-9


@KINDS
def test_bits_depend_neither_on_threads_nor_on_where_arrays_lie(kind):
    X, y = overlapping(700, 40)
    bits = set()
    for threads in (1, 2, 3, 6):
        for gap in (0, 8, 40):
            placed = Yard().put(X, gap)
            problem = mp.Problem(mp.Gram.linear(kind(placed)), in_folds(y), intercept=True)
            state = mp.run(mp.SolutionPath(threads=threads), problem, 12).last
            bits.add((state.u.tobytes(), state.scores.tobytes(), state.offset.tobytes()))
    assert len(bits) == 1


@KINDS
def test_going_on_is_going_through(kind, tmp_path):
    X, y = overlapping()
    problem = mp.Problem(mp.Gram.linear(kind(X)), in_folds(y), intercept=True)
    whole = mp.run(mp.SolutionPath(), problem, 9).last
    half = mp.run(mp.SolutionPath(), problem, 4)
    half.save(tmp_path / "half.npz")
    rest = mp.resume(mp.Path.load(tmp_path / "half.npz"), problem, 5).last
    assert rest.t == 9
    assert rest.u.tobytes() == whole.u.tobytes()
    assert rest.scores.tobytes() == whole.scores.tobytes()


@pytest.mark.parametrize(
    ("n", "d", "shape"), [(5, 3, (1, 5, 5)), (300, 3, (5, 64, 64)), (300, 200, (3, 112, 112))]
)
def test_blocks_are_interleaved_rows(n, d, shape, rng):
    X = rng.standard_normal((n, d))
    blocks = interleaved_blocks(X)
    assert blocks.shape == shape
    found = [interleaved_rows(n, len(blocks), c) for c in range(len(blocks))]
    assert sorted(np.concatenate(found).tolist()) == list(range(n))
    for index, block in zip(found, blocks, strict=True):
        m, rows = len(index), X[index]
        np.testing.assert_allclose(block[:m, :m], rows @ rows.T, rtol=1e-12, atol=1e-12)
        assert not block[m:].any()
        assert not block[:, m:].any()


@pytest.mark.parametrize(("n", "k"), [(1, 1), (7, 2), (150, 3), (301, 5)])
@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("whole", [False, True])
def test_a_sweep_is_one_exact_step_after_the_other(n, k, passes, whole, rng):
    numbers, units = rng.integers(-999, 999, (n, 7)).astype(np.int16), np.exp2(rng.integers(-11, -8, 7))
    X = numbers * units
    Y, mass = rng.choice([-1.0, 1.0], (n, k)), rng.choice([0.0, 0.5, 1.0], (n, k))
    u = -mass * rng.choice([0.0, 0.3, 2.0], (n, k))
    bound, total, offset, rho = np.full(k, 2.0), np.sum(Y * u, axis=0), rng.standard_normal(k), np.ones(k)
    grams, tol = interleaved_blocks(X), 0.01
    order, w = rng.permutation(len(grams)), X.T @ (Y * u)

    expected, field, tied = u.copy(), w.copy(), total.copy()
    for c in order:
        for j in range(k):
            for i in np.tile(interleaved_rows(n, len(grams), c), passes):
                gradient = Y[i, j] * (X[i] @ field[:, j] + offset[j] + rho[j] * tied[j]) + 1
                if mass[i, j] > 0 and abs(gradient) > tol:
                    free = expected[i, j] - gradient / (X[i] @ X[i] + rho[j])
                    step = Y[i, j] * (np.clip(free, -bound[j] * mass[i, j], 0) - expected[i, j])
                    expected[i, j] += Y[i, j] * step
                    field[:, j] += step * X[i]
                    tied[j] += step

    sums = np.ascontiguousarray((w.T / units) if whole else w.T)
    rows = (numbers, units**2) if whole else (X, np.empty(0))
    settings = bound, total, offset, rho, tol, units**2 * sums if whole else sums, sums
    step_in_blocks(order, Blocks(*rows, np.sum(X**2, axis=1), grams, RUN), passes, Y, mass, u, *settings)
    np.testing.assert_allclose(u, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sums.T * (units[:, None] if whole else 1), field, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(total, tied, rtol=1e-9, atol=1e-9)


def test_a_sweep_takes_a_zero_sample_to_its_bound_unless_it_has_no_weight():
    X, Y, mass, u = np.zeros((3, 2)), np.ones((3, 1)), np.array([[1.0], [0.5], [0.0]]), np.zeros((3, 1))
    settings, w = (np.full(1, 2.0), np.zeros(1), np.zeros(1), np.zeros(1), 0.01), np.zeros((1, 2))
    rows = Blocks(X, np.empty(0), np.zeros(3), np.zeros((1, 3, 3)), RUN)
    steps = step_in_blocks(np.arange(1), rows, 3, Y, mass, u, *settings, w, w)
    assert steps == 2
    np.testing.assert_array_equal(u[:, 0], [-2.0, -1.0, 0.0])


@pytest.mark.parametrize(("n", "d", "k"), [(1, 1, 1), (2, 5, 3), (7, 40, 4), (2000, 300, 5), (999, 700, 8)])
def test_scores_of_dense_rows_are_products(n, d, k, rng):
    X, w = rng.standard_normal((n, d)), rng.standard_normal((d, k))
    rows, V = DenseRows(Scaled.of(X), np.sum(X**2, axis=1)), rng.standard_normal((n, k))
    V[rng.random(n) < 0.5] = 0
    scores, field = rows.scores(w), rows.field(V)
    assert scores.flags.c_contiguous
    assert field.flags.c_contiguous
    np.testing.assert_allclose(scores, X @ w, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(field, X.T @ V, rtol=1e-11, atol=1e-11)
    with parallel.limited(3):
        assert rows.scores(w).tobytes() == scores.tobytes()
        assert rows.field(V).tobytes() == field.tobytes()


@pytest.mark.parametrize(("n", "d", "k"), [(1, 1, 1), (7, 40, 4), (2000, 300, 5)])
def test_rows_in_16_bits_have_the_products_of_what_they_stand_for(n, d, k, rng):
    X = in_16_bits(rng.standard_normal((n, d)).astype(np.float32))
    w, V = rng.standard_normal((d, k)).astype(np.float32), rng.standard_normal((n, k)).astype(np.float32)
    rows, wide = DenseRows(X, np.sum(X[:] ** 2, axis=1)), X[:].astype(np.float64)
    np.testing.assert_allclose(rows.scores(w), wide @ w, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(rows.field(V), wide.T @ V, rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(rows.take(np.array([0])).X[:], X[:1])
    np.testing.assert_allclose(rows.gram(), wide @ wide.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("intercept", [False, True])
def test_sweeps_that_read_rounded_rows_find_the_solution_of_the_rows_themselves(intercept, monkeypatch):
    X, y = overlapping(600)
    X = X.astype(np.float32)
    problem = mp.Problem(mp.Gram.linear(X), in_folds(y), intercept=intercept)
    assert problem.gram.rounded is not None
    path = mp.run(mp.SolutionPath(tol=1e-3), problem, 20, observe=["gap"])
    assert np.max(path["gap"][1:]) <= 1e-3
    monkeypatch.setattr(problem.gram, "rounded", None)
    exact = mp.run(mp.SolutionPath(tol=1e-3), problem, 20).last
    assert path.last.u.tobytes() != exact.u.tobytes()
    rounded, exact = (
        float(np.sum(-u) - np.sum((X.T @ (y * u)) ** 2) / 2) for u in (path.last.u[:, -1], exact.u[:, -1])
    )
    assert rounded == pytest.approx(exact, rel=2e-3)


def test_sweeps_over_rounded_rows_end_at_the_w_of_the_rows_themselves():
    X, y = overlapping(600)
    problem = mp.Problem(mp.Gram.linear(X.astype(np.float32)), in_folds(y))
    last = mp.run(mp.SolutionPath(tol=1e-2), problem, 12).last
    z = problem.Y * last.u
    exact, by_rounded = problem.gram.X.astype(float).T @ z, problem.gram.rounded[:].astype(float).T @ z
    off = np.max(np.abs(last.field - exact))
    assert off < 1e-5 * np.max(np.abs(exact))
    assert off < 0.2 * np.max(np.abs(by_rounded - exact))


def test_groups_of_columns_begin_a_step_in_the_same_order(monkeypatch):
    X, y = overlapping(2000)
    problem, sweep, first = mp.Problem(mp.Gram.linear(X), in_folds(y)), DenseRows.sweep, {}

    def noted(self, group, rng):
        if len(self.X) == len(X) and id(group) not in first:
            first[id(group)] = group, rng.bit_generator.state["state"]
        return sweep(self, group, rng)

    monkeypatch.setattr(DenseRows, "sweep", noted)
    mp.run(mp.SolutionPath(), problem, 2)
    states = [state for _, state in first.values()]
    assert len(states) == 4  # two groups, in each of two steps
    assert all(states.count(state) == 2 for state in states)


def test_features_that_lie_by_columns_have_the_same_path():
    X, y = overlapping()
    by_rows, by_columns = (
        mp.run(mp.SolutionPath(), mp.Problem(mp.Gram.linear(x), y), 12).last.u
        for x in (np.ascontiguousarray(X), np.asfortranarray(X))
    )
    np.testing.assert_allclose(by_columns, by_rows, rtol=1e-6, atol=1e-9)


@KINDS
def test_a_gap_that_is_not_reached_is_told(kind):
    X, y = overlapping()
    problem = mp.Problem(mp.Gram.linear(kind(X)), y, intercept=True)
    path = mp.run(mp.SolutionPath(tol=1e-9, rounds=1), problem, 15, observe=["gap"])
    assert path["gap"][-1] > 1e-9


@KINDS
def test_the_intercept_is_found_where_classes_are_far_from_balanced(kind):
    X, y = overlapping(2000, positive=0.01)
    problem = mp.Problem(mp.Gram.linear(kind(X + 10)), y, intercept=True)
    path = mp.run(mp.SolutionPath(), problem, 20, observe=["gap"])
    assert np.max(path["gap"][1:]) <= 1.001e-3


@KINDS
def test_few_rows_are_solved_on_their_kernel_values(kind, monkeypatch):
    monkeypatch.setattr("marginpath.solvers.solution_path.solver.FEW", 300)
    X, y = overlapping()
    gram = mp.Gram.linear(kind(X.astype(np.float32)))
    path = mp.run(mp.SolutionPath(), mp.Problem(gram, in_folds(y), intercept=True), 36, observe=["gap"])
    assert np.max(path["gap"][1:]) <= 1.01e-3  # also where C is 3,000
    assert path.last.field.shape == (300, 6)
    assert gram.stored.dtype == np.float64


@KINDS
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_kernel_values_are_as_precise_as_the_gap_asks_for(kind, tol, monkeypatch):
    monkeypatch.setattr("marginpath.solvers.solution_path.solver.FEW", 300)
    monkeypatch.setattr("marginpath.gram.linear._VERY_FEW", 100)
    X, y = overlapping()
    gram = mp.Gram.linear(kind(X.astype(np.float64)))
    problem = mp.Problem(gram, in_folds(y), intercept=True)
    path = mp.run(mp.SolutionPath(tol=tol), problem, 20, observe=["gap"])
    assert np.max(path["gap"][1:]) <= 1.01 * tol
    rough = tol > 1e-4
    exact = problem.scores(path.last.u) + path.last.offset
    rounding = (
        8 * np.finfo(np.float32 if rough else np.float64).eps * np.abs(X) @ (np.abs(X).T @ -path.last.u)
    )
    assert np.all(np.abs(path.last.scores - exact) <= rounding)
    assert ("roughly_stored" in vars(gram), "stored" in vars(gram)) == (rough, not rough)
    assert not rough or gram.roughly_stored.dtype == np.float32
