"""Screening changes what is computed, not what comes out."""

import pickle

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import dual_descent, random_problem, separable

import marginpath as mp
from marginpath.experimental import Screened
from marginpath.experimental.screening.state import BOUND, FREE, ZERO, all_rest, distance, slack
from marginpath.losses import Logistic

SCHEDULES = [
    mp.PowerDecay(4.0),
    mp.PowerDecay(40.0, power=0.5),
    mp.LogDecay(8.0),
    mp.GeometricDecay(8.0),
    mp.GeometricDecay(8.0, ratio=1.01),
    mp.Constant(0.3),
    mp.Constant(5.0),
]
MOMENTA = [None, mp.Inertia(3), mp.Inertia(30), lambda t: 0.4, lambda t: 0.9 * (t % 50 > 0)]


def noisy_problem(seed, n, kind, flipped=0.1, dtype=np.float64, **settings):
    """Some labels flipped, so that coordinates rest at both ends of the box."""
    X, K, y = random_problem(seed, n, kind)
    if kind == "kernel":
        X = 1.5 * X
        K, y = np.exp(-(((X[:, None] - X) ** 2).sum(-1)) / 2), np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
    y = y * np.where(np.random.default_rng(seed).random(n) < flipped, -1, 1)
    y[:2] = 1, -1
    return mp.Problem(mp.Gram.from_matrix(K.astype(dtype)), y, **settings)


def largest_difference(solver, problem, steps):
    """Largest distance between the iterates over the path, and the states of the screened run."""
    screened, states, worst = Screened(solver), [], 0.0
    a, b = solver.init(problem), screened.init(problem)
    for _ in range(steps):
        a, b = solver.step(problem, a), screened.step(problem, b)
        worst = max(worst, float(np.abs(a.u - b.u).max() / max(1.0, np.abs(a.u).max())))
        states.append(b)
    np.testing.assert_allclose(b.scores, a.scores, rtol=1e-9, atol=1e-9)
    return worst, states


@pytest.mark.heavy
@settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(10, 60),
    kind=st.sampled_from(["linear", "kernel"]),
    schedule=st.sampled_from(SCHEDULES),
    momentum=st.sampled_from(MOMENTA),
    flipped=st.sampled_from([0.0, 0.1]),
)
def test_iterates_are_those_of_the_plain_solver(seed, n, kind, schedule, momentum, flipped):
    problem = noisy_problem(seed, n, kind, 0.0 if schedule in SCHEDULES[3:5] else flipped)
    worst, _ = largest_difference(mp.DualDescent(schedule, momentum), problem, 2000)
    assert worst <= 1e-10


@pytest.mark.heavy
@pytest.mark.parametrize("momentum", [None, mp.Inertia(3)])
@pytest.mark.parametrize("schedule", [mp.PowerDecay(40.0, power=0.5), mp.LogDecay(8.0), mp.Constant(0.3)])
@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_coordinates_rest_at_both_ends(momentum, schedule, kind):
    problem = noisy_problem(1, 60, kind)
    worst, states = largest_difference(mp.DualDescent(schedule, momentum), problem, 1000)
    assert worst <= 1e-11
    roles = np.array([s.role for s in states])
    assert np.mean(np.any(roles == ZERO, axis=1)) > 0.3  # of the steps
    assert np.mean(np.any(roles == BOUND, axis=1)) > 0.3
    assert np.mean(roles[-1] == FREE) < 0.5
    for s in states:
        np.testing.assert_array_equal(s.u[s.role == ZERO], 0)
        np.testing.assert_array_equal(s.u[s.role == BOUND], -s.bound)


@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_distances_and_slacks_are_those_of_the_nearest_point_of_the_line(kind):
    problem, solver = noisy_problem(1, 60, kind), mp.DualDescent(mp.LogDecay(8.0), mp.Inertia(3))
    K, Y, α, seen = problem.gram.K, problem.Y, 0.9, 0
    state = Screened(solver).init(problem)
    for _ in range(400):
        state = Screened(solver).step(problem, state)
        if not np.any(state.role == BOUND) or state.t == state.since:
            continue
        seen += 1
        q = state.u + α * (state.u - state.previous_u)
        ρ, τ = distance(problem, state, α)
        distances = []
        for s in (τ - 1e-2, τ, τ + 1e-2):
            x = Y * (q - state.reference - s * state.direction)
            distances.append(np.sqrt(x @ K @ x))
        assert distances[1] <= min(distances) * (1 + 1e-6) + 1e-9
        assert distances[1] <= ρ <= distances[1] * (1 + 1e-4) + 1e-6
        scores = K @ (Y * (state.reference + τ * state.direction))
        np.testing.assert_allclose(state.reference_scores + τ * state.direction_scores, scores, atol=1e-9)
        over, rests = -Y * scores - 1, state.role != FREE
        left = np.where(state.role == BOUND, -over - 0.1, over)
        np.testing.assert_allclose(slack(problem, state.role == BOUND, scores, 0.1), left, atol=1e-9)
        reach = (left / problem.roots)[rests].min()
        assert all_rest(problem, state, reach - 1e-6, τ, 0.1)
        assert not all_rest(problem, state, reach + 1e-6, τ, 0.1)
    assert seen > 100


def test_agrees_with_the_naive_reference():
    problem = noisy_problem(2, 30, "kernel")
    K, y, γ = problem.gram.K, problem.Y, 0.9 / np.linalg.eigvalsh(problem.gram.K)[-1]
    solver = mp.DualDescent(mp.PowerDecay(3.0), mp.Inertia(3), γ)
    last = mp.run(Screened(solver), problem, 1000).last
    expected = dual_descent(K, y, solver.schedule, 1000, γ, solver.momentum)[-1]
    np.testing.assert_allclose(last.u, expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(last.scores, K @ (y * last.u), rtol=1e-11, atol=1e-11)


@pytest.mark.heavy
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 5), momentum=st.sampled_from([None, mp.Inertia(3)]))
def test_columns_equal_separate_runs(seed, k, momentum):
    rng = np.random.default_rng(seed)
    whole = noisy_problem(seed, 40, "kernel")
    Y = np.where(rng.random((40, k)) < 0.2, 0, whole.Y[:, None])  # zeros leave samples out
    Y[:2] = [[1], [-1]]
    weights, scale = rng.integers(0, 4, 40), rng.uniform(0.2, 5, k)
    weights[:2] = 1
    solver = Screened(mp.DualDescent(mp.PowerDecay(2.0), momentum))
    together = mp.run(
        solver, mp.Problem(whole.gram, Y, weights, scale), 500, observe=["margin", "error"], every=50
    )
    plain = mp.run(solver.solver, mp.Problem(whole.gram, Y, weights, scale), 500)
    np.testing.assert_allclose(together.last.u, plain.last.u, rtol=1e-10, atol=1e-10)
    assert np.all(together.last.u[np.broadcast_to(weights == 0, (k, 40)).T | (Y == 0)] == 0)
    for j in range(k):
        problem = mp.Problem(whole.gram, Y[:, j], weights, scale[j])
        alone = mp.run(solver, problem, 500, observe=["margin", "error"], every=50)
        np.testing.assert_allclose(together.last.u[:, j], alone.last.u, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(together["margin"][:, j], alone["margin"], rtol=0, atol=1e-10)


def random_columns(seed):
    """Two or three columns of their own labels, with noise, left-out samples and boxes of several sizes."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(10, 40)), int(rng.integers(2, 4))
    X = rng.standard_normal((n, 2))
    Y = np.sign(X @ rng.standard_normal((2, k)))
    Y = np.where(rng.random(Y.shape) < 0.15, -Y, Y) * (rng.random(Y.shape) >= 0.1)
    Y[:2] = [[1], [-1]]
    gram = mp.Gram.from_kernel(X, mp.Linear() if seed % 2 else mp.Gaussian(sigma=1.0))
    return mp.Problem(gram, Y, box_scale=rng.uniform(0.3, 3, k))


@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 200), marks=pytest.mark.heavy)])
def test_columns_of_their_own_labels_are_those_of_the_plain_solver(seeds):
    split = 0
    for seed in seeds:
        problem, momentum = random_columns(seed), mp.Inertia(3) if seed % 4 < 2 else None
        solver = mp.DualDescent(mp.PowerDecay(float(problem.norm_bounds()[1])), momentum)
        last, plain = (mp.run(s, problem, 200, every=200, keep=0).last for s in (Screened(solver), solver))
        np.testing.assert_allclose(last.u, plain.u, rtol=0, atol=1e-11 * np.abs(plain.u).max())
        np.testing.assert_allclose(last.scores, plain.scores, rtol=0, atol=1e-11 * np.abs(plain.scores).max())
        split += np.any((last.role == BOUND).any(axis=1) & (last.role == ZERO).any(axis=1))
    assert split > 0.2 * len(seeds)  # problems with a row at the bound in one column and at 0 in another


def columns_problem(k, n=40):
    rng = np.random.default_rng(0)
    problem = noisy_problem(0, n, "kernel")
    if k is None:
        return problem
    Y = np.where(rng.random((n, k)) < 0.1, 0, problem.Y[:, None])
    Y[:2] = [[1], [-1]]
    return mp.Problem(problem.gram, Y)


def stop_one_after_the_other(problem, state, path):
    """Column j is done at step 100 (j + 1), the last column never."""
    k = problem.shape[1]
    return (state.t >= 100 * (np.arange(k) + 1)) & (np.arange(k) < k - 1)


def same(a, b):
    for name in set(a.rows) - {"seconds"}:
        np.testing.assert_array_equal(a[name], b[name], strict=True)
    for x, y in zip(a.last.arrays().values(), b.last.arrays().values(), strict=True):
        np.testing.assert_array_equal(x, y, strict=True)


@pytest.mark.heavy
@pytest.mark.parametrize("k", [None, 1, 3])
@pytest.mark.parametrize("momentum", [None, mp.Inertia(3)])
@pytest.mark.parametrize("cut", [0, 1, 150, 333])
def test_resume_is_bit_equal(k, momentum, cut, tmp_path):
    problem, solver = columns_problem(k), Screened(mp.DualDescent(mp.PowerDecay(2.0), momentum))
    stop = None if k is None else stop_one_after_the_other
    settings = {"observe": ["margin", "margin_upper"], "every": 25, "keep": 20_000}
    whole = mp.run(solver, problem, 400, stop=stop, **settings)
    part = mp.run(solver, problem, cut, stop=stop, **settings)
    same(mp.resume(part, problem, 400 - cut, stop=stop), whole)
    part.save(tmp_path / "path.npz")
    loaded = mp.Path.load(tmp_path / "path.npz", solver=solver)
    same(loaded, part)
    same(mp.resume(loaded, problem, 400 - cut, stop=stop), whole)


@pytest.mark.parametrize("k", [None, 3])
def test_any_state_is_replayed_exactly(k):
    problem, solver = columns_problem(k), Screened(mp.DualDescent(mp.PowerDecay(2.0), mp.Inertia(3)))
    stop = None if k is None else stop_one_after_the_other
    path = mp.run(solver, problem, 300, keep=30_000, stop=stop, every=10)
    assert len(path.kept) < 50
    for t in (7, 111, 288):
        expected = mp.run(solver, problem, t, stop=stop, every=10).last
        np.testing.assert_array_equal(path.state(t, problem).u, expected.u, strict=True)
        np.testing.assert_array_equal(path.state(t, problem).scores, expected.scores, strict=True)


def test_finished_columns_keep_their_state():
    problem, solver = columns_problem(3), mp.DualDescent(mp.PowerDecay(2.0), mp.Inertia(3))
    path = mp.run(Screened(solver), problem, 400, observe="margin", every=10, stop=stop_one_after_the_other)
    free = mp.run(solver, problem, 400)
    assert path.stop_steps.tolist() == [100, 200, -1]
    for j, t in enumerate([100, 200, 400]):
        np.testing.assert_allclose(path.last.u[:, j], free.state(t, problem).u[:, j], atol=1e-12)
    assert len(set(path["margin"][10:, 0])) == len(set(path["margin"][20:, 1])) == 1
    np.testing.assert_allclose(path.last.scores, problem.scores(path.last.u), rtol=1e-11, atol=1e-12)


def test_scores_are_whole_when_someone_looks_and_only_then():
    problem, solver = (
        noisy_problem(3, 60, "kernel"),
        Screened(mp.DualDescent(mp.PowerDecay(4.0), mp.Inertia(3))),
    )
    blind = mp.run(solver, problem, 300, every=10**6, keep=10**8)
    assert sum("scores" in s.__dict__ for s in blind.kept.values()) == 0
    assert sum(not s.free.all() for s in blind.kept.values()) > 100
    watched = mp.run(solver, problem, 300, observe=list(mp.metrics.METRICS), keep=10**8)
    for t in range(0, 301, 7):
        a, b = blind.state(t), watched.state(t)
        np.testing.assert_array_equal(a.u, b.u, strict=True)
        np.testing.assert_array_equal(a.scores, b.scores, strict=True)
        np.testing.assert_allclose(a.scores, problem.scores(a.u), rtol=1e-11, atol=1e-12)
    plain = mp.run(solver.solver, problem, 300, observe=list(mp.metrics.METRICS))
    for name in mp.metrics.METRICS:
        np.testing.assert_allclose(watched[name], plain[name], rtol=1e-8, atol=1e-9)


def test_a_pickled_state_leaves_the_kernel_matrix_behind():
    problem = noisy_problem(0, 400, "kernel")
    path = mp.run(Screened(mp.DualDescent(mp.PowerDecay(4.0), mp.Inertia(3))), problem, 400)
    assert not path.last.free.all()
    file = pickle.dumps(path.last)
    assert len(file) < problem.gram.K.nbytes / 20
    copy = pickle.loads(file)
    np.testing.assert_array_equal(copy.scores, path.last.scores)
    after = Screened(path.solver.solver).step(problem, copy)
    np.testing.assert_array_equal(after.u, path.solver.step(problem, path.last).u)


def test_the_states_of_a_run_share_one_block():
    problem = noisy_problem(0, 60, "kernel")
    path = mp.run(Screened(mp.DualDescent(mp.PowerDecay(4.0), mp.Inertia(3))), problem, 200, keep=10**8)
    assert len({id(s.matrix) for s in path.kept.values()}) == 1
    free = np.flatnonzero(path.last.free)
    assert free.size < 60
    block = path.last.matrix.block(free)
    assert path.last.matrix.block(free.copy()) is block
    assert path.last.matrix.block(free[1:]) is not block


@pytest.mark.parametrize("k", [None, 3])
def test_a_step_changes_no_state_whatever_was_stepped_before(k):
    problem, solver = columns_problem(k), Screened(mp.DualDescent(mp.PowerDecay(2.0), mp.Inertia(3)))
    stop = None if k is None else stop_one_after_the_other
    kept = mp.run(solver, problem, 300, every=100, keep=10**8, stop=stop).kept
    assert any(not kept[t].free.all() for t in (7, 111, 288))
    for t in np.random.default_rng(0).permutation([7, 111, 150, 199, 288]):
        state = kept[t]
        before = {name: x.copy() for name, x in state.arrays().items()}
        first, again = solver.step(problem, state), solver.step(problem, state)
        alone = solver.step(problem, pickle.loads(pickle.dumps(state)))
        for name, x in state.arrays().items():
            np.testing.assert_array_equal(x, before[name], strict=True)
        for name, x in first.arrays().items():
            np.testing.assert_array_equal(x, again.arrays()[name], strict=True)
            np.testing.assert_array_equal(x, alone.arrays()[name], strict=True)
        if k is None:
            np.testing.assert_array_equal(first.u, kept[t + 1].u, strict=True)


def test_columns_that_were_done_can_go_on():
    problem, plain = columns_problem(3), mp.DualDescent(mp.PowerDecay(2.0), mp.Inertia(3))
    a, b = (
        mp.run(s, problem, 300, every=100, stop=stop_one_after_the_other).last
        for s in (plain, Screened(plain))
    )
    assert b.mixed
    for _ in range(50):
        a, b = plain.step(problem, a), Screened(plain).step(problem, b)
        np.testing.assert_allclose(b.u, a.u, rtol=0, atol=1e-11)
    np.testing.assert_allclose(b.scores, a.scores, rtol=0, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_dtype_and_memory_order(dtype, order):
    problem = noisy_problem(5, 60, "kernel", dtype=dtype)
    K = np.array(problem.gram.K, order=order)
    K.flags.writeable = False
    problem = mp.Problem(mp.Gram.from_matrix(K), problem.Y)
    solver = mp.DualDescent(mp.PowerDecay(4.0), mp.Inertia(3))
    last, plain = mp.run(Screened(solver), problem, 500).last, mp.run(solver, problem, 500).last
    exact = mp.run(solver, noisy_problem(5, 60, "kernel"), 500).last
    floating = {x.dtype for name, x in last.arrays().items() if name != "role"}
    assert floating == {np.dtype(dtype)}
    assert not last.free.all()
    rounding = np.abs(plain.u - exact.u).max()
    assert np.abs(last.u - plain.u).max() <= 2 * rounding + 1e-11


@pytest.mark.heavy
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fast_decay_neither_overflows_nor_underflows(scale, dtype):
    X, y = separable(0, 30, 5)
    problem = mp.Problem(mp.Gram.from_kernel((X * scale).astype(dtype), mp.Linear()), y)
    path = mp.run(Screened(mp.DualDescent(mp.GeometricDecay(8.0), mp.Inertia(3))), problem, 1500)
    assert np.all(path.last.role != BOUND)
    assert mp.metrics.margin(problem, path.last) > 0.9 * mp.margin_bounds(problem, path.last.u)[1] > 0


def test_empty_boxes_zero_rows_and_starts():
    problem = noisy_problem(5, 20, "linear")
    path = mp.run(Screened(mp.DualDescent(mp.LogDecay(1.0))), problem, 2)
    np.testing.assert_array_equal(path.state(1).u, 0)
    assert np.any(path.last.u < 0)
    zero = mp.Problem(mp.Gram.from_matrix(np.zeros((4, 4))), [1, -1, 1, -1])
    path = mp.run(Screened(mp.DualDescent(mp.PowerDecay(1.0))), zero, 20)
    np.testing.assert_array_equal(path.last.u, mp.run(path.solver.solver, zero, 20).last.u)
    X, y = separable(0, 20, 3)
    X[3:6], weights = 0, np.ones(20)
    weights[3:8] = 0
    zero = mp.Problem(mp.Gram.from_kernel(X, mp.Linear()), y, weights)
    path = mp.run(Screened(mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3))), zero, 300)
    np.testing.assert_allclose(path.last.u, mp.run(path.solver.solver, zero, 300).last.u, atol=1e-12)
    np.testing.assert_array_equal(path.last.role[3:8], ZERO)
    start = np.linspace(-3, 1, 20)
    solver = mp.DualDescent(mp.Constant(1.0), mp.Inertia(3))
    a, b = mp.run(solver, problem, 300, start=start), mp.run(Screened(solver), problem, 300, start=start)
    np.testing.assert_allclose(b.last.u, a.last.u, atol=1e-11)


def test_what_is_refused():
    X, y = separable(0, 10, 3)
    solver = Screened(mp.DualDescent(mp.PowerDecay(1.0)))
    for gram, kind in [
        (mp.Gram.linear(X), "LinearGram of numpy"),
        (mp.TiledGram(X, mp.Linear()), "TiledGram of numpy"),
        (mp.Gram.from_kernel(array_api_strict.asarray(X), mp.Linear()), "DenseGram of array_api_strict"),
    ]:
        with pytest.raises(TypeError, match=f"stored by NumPy, got a {kind} arrays"):
            mp.run(solver, mp.Problem(gram, y), 5)
    with pytest.raises(TypeError, match="DualDescent with the hinge loss"):
        Screened(mp.DualDescent(mp.PowerDecay(1.0), loss=Logistic()))
    with pytest.raises(TypeError, match="DualDescent with the hinge loss"):
        Screened(mp.PowerDecay(1.0))


@pytest.mark.heavy
def test_mnist_iterates_are_those_of_the_plain_solver():
    data = mp.datasets.load_mnist((3, 5), dtype=np.float64)
    chosen = np.random.default_rng(0).permutation(len(data.y))[:3000]
    problem = mp.Problem(mp.Gram.from_kernel(data.X[chosen], mp.Gaussian(3.4)), data.y[chosen])
    solver = mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3))
    worst, states = largest_difference(solver, problem, 2000)
    assert worst <= 1e-10
    assert np.mean(states[-1].role == FREE) < 0.6
