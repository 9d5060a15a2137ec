import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from naive import hard_margin, random_problem, separable

import marginpath as mp
from marginpath.solvers.coordinate.spaces import PERIOD, RUN, order_by_runs


def naive_sweeps(K, y, weights, schedule, steps, seed=0, sweeps=1, period=1, tol=0.0, passes=1):
    """The diagonal process by coordinates, from its description, for one column.

    ``tol`` is a number or one for every sweep.
    """
    n = len(y)
    u, b = np.zeros(n), 0.0
    for t in range(1, steps + 1):
        at_bound = u == -b * weights
        b = 1 / schedule(t)
        u[at_bound] = -b * weights[at_bound]
        moved = np.zeros(n, dtype=bool)
        for sweep in range(sweeps):
            visited = weights > 0 if sweep % period == 0 else moved
            moved = np.zeros(n, dtype=bool)
            rng = np.random.default_rng([seed, t, sweep])
            order = rng.permutation(n) if passes == 1 else order_by_runs(n, rng)
            blocks = [order[a : a + 128] for a in range(0, n, 128)]
            for i in np.concatenate([np.tile(block, passes) for block in blocks]):
                gradient = y[i] * (K[i] @ (y * u)) + 1
                if visited[i] and abs(gradient) > np.broadcast_to(tol, sweeps)[sweep]:
                    old, u[i] = u[i], min(max(u[i] - gradient / K[i, i], -b * weights[i]), 0)
                    moved[i] = u[i] != old
    return u


@pytest.mark.parametrize("schedule", [mp.PowerDecay(1.0), mp.GeometricDecay(4.0, 1.3), mp.Constant(0.5)])
@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_the_naive_reference(schedule, weighted):
    _, K, y = random_problem(0, 14, "kernel")
    weights = np.arange(14) % 3 + 1.0 if weighted else np.ones(14)
    problem = mp.Problem(mp.Gram.from_matrix(K), y, weights)
    path = mp.run(mp.CoordinateDescent(schedule, refresh=7), problem, 40)
    np.testing.assert_allclose(path.last.u, naive_sweeps(K, y, weights, schedule, 40), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(path.last.scores, K @ (y * path.last.u), rtol=1e-10, atol=1e-10)
    at_bound = path.last.u == -path.last.bound * weights
    np.testing.assert_allclose(path.last.aggregate, K @ (y * weights * at_bound), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("sweeps", "passes", "falling"),
    [(1, 3, [1]), (2, 1, [1, 1]), (3, 2, [2, 1, 1]), (6, 1, [8, 8, 4, 2, 1, 1])],
)
def test_passes_and_tolerances(sweeps, passes, falling):
    rng, n = np.random.default_rng(7), 300
    X, y = rng.standard_normal((n, 3)), np.where(rng.random(n) < 0.5, -1.0, 1.0)
    K, schedule, tol = mp.Gaussian(1.0)(X), mp.GeometricDecay(30.0, 2.0), 0.02
    folds = np.stack([y, np.where(np.arange(n) % 3, y, 0)], axis=1)
    solver = mp.CoordinateDescent(schedule, sweeps=sweeps, passes=passes, tol=tol)
    last = mp.run(solver, mp.Problem(mp.Gram.from_matrix(K), folds), 8).last
    settings = {"sweeps": sweeps, "passes": passes, "tol": tol * np.array(falling)}
    for j in range(2):
        wanted = naive_sweeps(K, folds[:, j], np.abs(folds[:, j]), schedule, 8, **settings)
        np.testing.assert_allclose(last.u[:, j], wanted, rtol=1e-9, atol=1e-11)
    tiled = mp.run(solver, mp.Problem(mp.TiledGram(X, mp.Gaussian(1.0), cache_bytes=10**5), folds), 8).last
    for state in (last, tiled):
        np.testing.assert_allclose(state.scores, K @ (folds * state.u), rtol=1e-9, atol=1e-9)


@given(seed=st.integers(0, 10**6), λ=st.sampled_from([0.3, 5.0]), kind=st.sampled_from(["linear", "kernel"]))
def test_reaches_the_solution_at_a_fixed_lambda(seed, λ, kind):
    X, K, y = random_problem(seed, 15, kind)
    gram = mp.Gram.linear(X) if kind == "linear" else mp.Gram.from_matrix(K)
    path = mp.run(
        mp.CoordinateDescent(mp.Constant(λ), sweeps=1000), mp.Problem(gram, y), 3, observe="duality_gap"
    )
    assert path["duality_gap"][-1] <= 1e-3 * (1 + abs(path.last.u).sum())


@pytest.mark.parametrize("n", [1, 40, 128, 300, 1000])
def test_runs_are_neighbours(n):
    orders = [order_by_runs(n, np.random.default_rng(seed)) for seed in range(3)]
    for order in orders:
        assert np.array_equal(np.sort(order), np.arange(n))
        for a in range(0, n, RUN):
            run = np.sort((order[a : a + RUN] - order[a : a + RUN].min()) % n)
            gaps = np.diff(np.append(run, run[0] + n))
            assert np.count_nonzero(gaps > 1) <= 1  # neighbours on the circle
    assert n == 1 or any(not np.array_equal(orders[0], other) for other in orders[1:])


def test_linear_grams_take_the_same_steps():
    X, y = separable(1, 40, 6)
    X[:, 2] *= np.random.default_rng(0).random(40) < 0.3
    X[5] = 0
    Y = np.stack([y, np.where(np.arange(40) % 4, y, 0), -y], axis=1)
    solver = mp.CoordinateDescent(mp.GeometricDecay(3.0, 1.4))
    grams = [mp.Gram.from_kernel(X, mp.Linear()), mp.Gram.linear(X), mp.Gram.linear(sp.csr_array(X))]
    paths = [mp.run(solver, mp.Problem(gram, Y), 15, observe=["margin", "error"]) for gram in grams]
    for path in paths[1:]:
        np.testing.assert_allclose(path.last.u, paths[0].last.u, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(path.last.scores, paths[0].last.scores, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(path["margin"], paths[0]["margin"], atol=1e-9)


@pytest.mark.parametrize("sweeps", [2, PERIOD, PERIOD + 3])
def test_most_sweeps_over_features_visit_only_what_moved(sweeps):
    X, K, y = random_problem(5, 60, "linear")
    folds = np.stack([np.where(np.arange(60) % 5 == j, 0, y) for j in range(10)], axis=1)  # two cache lines
    schedule = mp.GeometricDecay(20.0, 2.0)
    solver = mp.CoordinateDescent(schedule, sweeps=sweeps, tol=0.01)
    u = mp.run(solver, mp.Problem(mp.Gram.linear(X), folds), 6).last.u
    settings = {"sweeps": sweeps, "period": PERIOD, "tol": 0.01}
    for j in range(10):
        wanted = naive_sweeps(K, folds[:, j], np.abs(folds[:, j]), schedule, 6, **settings)
        np.testing.assert_allclose(u[:, j], wanted, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("kind", ["linear", "kernel"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_threads_and_order_do_not_matter(kind, dtype):
    rng = np.random.default_rng(0)
    X, _, y = random_problem(3, 60, "kernel")
    X = X.astype(dtype)
    gram = mp.Gram.linear(X) if kind == "linear" else mp.Gram.from_kernel(X, mp.Gaussian(0.7))
    Y = rng.permuted(np.repeat(y[:, None], 5, axis=1), axis=0)
    schedule = mp.GeometricDecay(10.0, 1.5)
    runs = [
        mp.run(mp.CoordinateDescent(schedule, threads=threads), mp.Problem(gram, Y), 20)
        for threads in (1, 2, 3)
    ]
    for path in runs[1:]:
        np.testing.assert_array_equal(path.last.u, runs[0].last.u, strict=True)
    for j in range(5):
        alone = mp.run(mp.CoordinateDescent(schedule), mp.Problem(gram, Y[:, j]), 20).last
        assert alone.u.dtype == dtype
        tolerance = 1e-12 if dtype == np.float64 or kind == "kernel" else 1e-6
        np.testing.assert_allclose(runs[0].last.u[:, j], alone.u, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", ["linear", "kernel"])
@pytest.mark.parametrize("cut", [0, 3, 10, 11])
def test_resume_is_bit_equal(kind, cut, tmp_path):
    X, K, y = random_problem(0, 20, kind)
    gram = mp.Gram.linear(X) if kind == "linear" else mp.Gram.from_matrix(K)
    problem = mp.Problem(gram, np.stack([y, -y], axis=1))

    def stop(problem, state, path):
        return np.array([state.t >= 12, False])

    solver = mp.CoordinateDescent(refresh=5)
    whole = mp.run(solver, problem, 20, stop=stop, observe="margin")
    mp.run(solver, problem, cut, stop=stop, observe="margin").save(tmp_path / "p.npz")
    resumed = mp.resume(mp.Path.load(tmp_path / "p.npz"), problem, 20 - cut, stop=stop)
    np.testing.assert_array_equal(resumed.last.u, whole.last.u, strict=True)
    np.testing.assert_array_equal(resumed["margin"], whole["margin"])


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["linear", "kernel"]))
def test_the_default_schedule_starts_where_the_path_begins(seed, kind):
    X, K, y = random_problem(seed, 12, kind)
    problem = mp.Problem(mp.Gram.linear(X) if kind == "linear" else mp.Gram.from_matrix(K), y)
    path = mp.run(mp.CoordinateDescent(), problem, 2)
    first, second = path.state(1), path.state(2)
    λ = np.max(y * (K @ y))
    np.testing.assert_allclose(first.u, -1 / λ, rtol=1e-12)  # the solution at λ_max: all at the bound
    assert float(second.bound) == pytest.approx(1.5 / λ)
    assert np.any(second.u != -second.bound)
    scaled = mp.run(mp.CoordinateDescent(), mp.Problem(problem.gram, y, box_scale=4.0), 1).last
    np.testing.assert_allclose(scaled.u, -1 / λ, rtol=1e-12)


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["linear", "kernel"]))
def test_the_path_ends_at_the_maximum_margin(seed, kind):
    X, K, y = random_problem(seed, 12, kind)
    gram = mp.Gram.linear(X) if kind == "linear" else mp.Gram.from_matrix(K)
    problem = mp.Problem(gram, y)
    path = mp.run(mp.CoordinateDescent(sweeps=50), problem, 300, stop=mp.CertifiedMargin(1e-3))
    lower, upper = mp.margin_bounds(problem, path.last.u)
    _, margin = hard_margin(K, y)
    assert lower <= margin * (1 + 1e-7)
    assert upper >= margin * (1 - 1e-7)
    assert path.status == "stopped"


def test_float32_scores_do_not_drift():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2)).astype(np.float32)
    y = np.where(rng.random(400) < 0.5, 1, -1)  # pure noise: large coefficients that cancel
    problem = mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(1.0)), y)
    path = mp.run(mp.CoordinateDescent(refresh=1000), problem, 45)
    exact = problem.gram.K.astype(float) @ (y * path.last.u.astype(float))
    assert path.last.u.min() < -1e3
    np.testing.assert_allclose(path.last.scores, exact, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_of_dense_features_take_the_steps_of_sparse_rows(dtype, rng):
    """Three blocks of samples, two groups of columns, samples left out, and weights."""
    X = rng.standard_normal((300, 20)).astype(dtype)
    Y = np.where(rng.random((300, 5)) < 0.2, 0, np.sign(X[:, :5] + rng.standard_normal((300, 5))))
    weights = rng.integers(0, 4, 300).astype(float)
    # Rounding is not to decide who is left alone, nor who leaves the bound where the default schedule starts.
    solver = mp.CoordinateDescent(mp.GeometricDecay(300.0, 1.5), sweeps=3, tol=0.01)
    dense, sparse = (mp.Problem(mp.Gram.linear(kind(X)), Y, weights) for kind in (np.asarray, sp.csr_array))
    for steps in (1, 12):
        ours, theirs = (mp.run(solver, problem, steps).last for problem in (dense, sparse))
        tolerance = 1e-9 if dtype == np.float64 else 1e-4
        for name in ("u", "scores", "field", "aggregate"):
            one, other = getattr(ours, name), getattr(theirs, name)
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def test_fields_of_dense_float32_features_do_not_drift(rng):
    X = rng.standard_normal((400, 6)).astype(np.float32)
    y = np.where(rng.random(400) < 0.5, 1, -1)  # pure noise: large coefficients that cancel
    path = mp.run(mp.CoordinateDescent(refresh=1000), mp.Problem(mp.Gram.linear(X), y), 45)
    wide = X.astype(np.float64)
    exact = wide.T @ (y * path.last.u.astype(np.float64))
    assert path.last.u.min() < -1e3
    np.testing.assert_allclose(path.last.field, exact, rtol=1e-6, atol=1e-6 * np.abs(path.last.u).max())
    np.testing.assert_allclose(path.last.scores, wide @ path.last.field, rtol=1e-6, atol=1e-5)


def test_tolerance_leaves_settled_coordinates_alone():
    _, K, y = random_problem(1, 30, "kernel")
    problem = mp.Problem(mp.Gram.from_matrix(K), y)
    exact = mp.run(mp.CoordinateDescent(mp.Constant(0.1)), problem, 400).last
    loose = mp.run(mp.CoordinateDescent(mp.Constant(0.1), tol=0.05), problem, 400).last
    gradient = problem.Y * loose.scores + 1
    violation = np.where(loose.u == 0, np.maximum(gradient, 0), np.abs(gradient))
    violation = np.where(loose.u == -loose.bound, np.maximum(-gradient, 0), violation)
    assert not np.array_equal(exact.u, loose.u)
    assert violation.max() <= 0.05 + 1e-12


def test_masks_zero_rows_and_infinite_boxes():
    X, y = separable(0, 12, 3)
    X[4] = 0
    y[7] = 0
    for gram in (mp.Gram.linear(X), mp.Gram.from_kernel(X, mp.Linear())):
        path = mp.run(mp.CoordinateDescent(mp.GeometricDecay(1.0)), mp.Problem(gram, y), 1200, keep=0)
        assert path.last.u[7] == 0
        assert np.isfinite(path.last.u).all()
        assert np.isfinite(path.last.scores).all()


def test_bad_settings():
    import array_api_strict

    for bad in ({"ratio": 1.0}, {"sweeps": 0}, {"refresh": 0}, {"tol": -1.0}):
        with pytest.raises(ValueError, match=f"{next(iter(bad))} must be"):
            mp.CoordinateDescent(**bad)
    _, K, y = random_problem(0, 6, "kernel")
    with pytest.raises(ValueError, match="starts at u = 0"):
        mp.run(mp.CoordinateDescent(), mp.Problem(mp.Gram.from_matrix(K), y), 1, start=np.zeros(6))
    strict = mp.Problem(mp.Gram.from_matrix(array_api_strict.asarray(K)), y)
    with pytest.raises(TypeError, match=r"NumPy arrays.*Use DualDescent"):
        mp.run(mp.CoordinateDescent(), strict, 1)


@pytest.mark.parametrize("kind", ["features", "kernel", "tiled"])
@pytest.mark.parametrize("settings", [{}, {"ratio": 3.0}, {"schedule": mp.GeometricDecay(8.0)}])
def test_no_rounding_grows_with_the_box(kind, settings):
    """At step 49 of λ = 8/2ᵗ the box is 7e13: what is multiplied by it must not be rounding."""
    data = mp.datasets.toy()
    gram = {
        "features": lambda: mp.Gram.linear(data.X),
        "kernel": lambda: mp.Gram.from_kernel(data.X, mp.Linear()),
        "tiled": lambda: mp.TiledGram(data.X, mp.Linear()),
    }[kind]()
    problem = mp.Problem(gram, np.stack([data.y, -data.y], axis=1))
    path = mp.run(mp.CoordinateDescent(**settings), problem, 49)
    scores = gram.accurate_product(problem.Y * path.last.u)
    np.testing.assert_allclose(path.last.scores, scores, rtol=0, atol=1e-11)
    np.testing.assert_allclose(mp.metrics.margin(problem, path.last), 2**0.5, rtol=1e-6)


def test_the_aggregate_is_that_of_the_samples_at_the_bound():
    """Where most samples have left it, and where some come back."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((120, 2)), np.where(rng.random(120) < 0.5, 1, -1)
    problem = mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(0.5)), y)
    solver = mp.CoordinateDescent(ratio=1.7, refresh=1000)
    state, counted = solver.init(problem), []
    for _ in range(40):
        state = solver.step(problem, state)
        resting = state.u == -state.bound
        exact = problem.gram.accurate_product(problem.Y * resting)
        np.testing.assert_allclose(state.aggregate, exact, rtol=0, atol=1e-13)
        counted.append(int(state.counted))
        assert np.count_nonzero(resting) <= counted[-1]
    assert len(set(counted)) > 2
    assert counted[-1] < 8 or np.count_nonzero(resting) > counted[-1] / 8
