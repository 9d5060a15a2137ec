import numpy as np
import pytest
from naive import separable

import marginpath as mp


@pytest.fixture
def setting():
    X, y = separable(0, 20, 3)
    weights = np.arange(20) % 3 + 1.0
    y = np.where(np.arange(20) < 18, y, 0)
    problem = mp.Problem(mp.Gram.linear(X), y, sample_weight=weights)
    solver = mp.DualDescent(mp.PowerDecay(0.5))
    state = mp.run(solver, problem, 30).last
    return X, y, weights, problem, state, -X.T @ (y * state.u)


def test_metrics_are_their_definitions(setting):
    X, y, weights, problem, state, w = setting
    m = (y * (X @ w))[y != 0]
    primal = w @ w / 2 + 60 * weights[y != 0] @ np.maximum(0, 1 - m)
    assert m.min() > 0
    expected = {
        "margin": m.min() / np.linalg.norm(w),
        "normalized_margin": m.min() / np.linalg.norm(w),
        "functional_margin": m.min(),
        "norm": np.linalg.norm(w),
        "error": weights[y != 0][m <= 0].sum() / weights[y != 0].sum(),
        "dual_objective": w @ w / 2 + state.u.sum(),
        "regularized_dual_objective": w @ w / 2 + state.u.sum(),
        "duality_gap": w @ w + state.u.sum() + 60 * weights[y != 0] @ np.maximum(0, 1 - m),
        "gap": 1 - -(w @ w / 2 + state.u.sum()) / min(primal, w @ w / 2 / m.min() ** 2),
        "support": np.count_nonzero(state.u),
    }
    for name, value in expected.items():
        assert float(mp.metrics.METRICS[name](problem, state)) == pytest.approx(value, rel=1e-10), name
    bounds = {f"{prefix}margin_{end}" for prefix in ("", "estimated_") for end in ("lower", "upper")}
    assert set(mp.metrics.METRICS) == {*expected, *bounds, "bound"}


def test_distances_to_a_reference(setting):
    _, _, _, problem, state, w = setting
    best = mp.run(mp.DualDescent(mp.PowerDecay(0.5), mp.Inertia(3)), problem, 5000, every=5000).last
    w_star = -problem.gram.X.T @ (problem.Y * best.u)
    reference = mp.Reference(problem, best.u)
    unit, unit_star = w / np.linalg.norm(w), w_star / np.linalg.norm(w_star)
    assert float(reference.distance(problem, state)) == pytest.approx(np.linalg.norm(w - w_star))
    assert float(reference.normalized_distance(problem, state)) == pytest.approx(
        np.linalg.norm(unit - unit_star)
    )
    assert float(reference.angle_gap(problem, state)) == pytest.approx(1 - unit @ unit_star, rel=1e-6)
    gap = mp.metrics.margin(problem, best) - mp.metrics.margin(problem, state)
    assert float(reference.margin_gap(problem, state)) == pytest.approx(float(gap))
    assert float(reference.distance(problem, best)) == 0
    assert float(reference.angle_gap(problem, best)) == pytest.approx(0, abs=1e-15)


def test_the_zero_vector_has_margin_zero(setting):
    _, _, _, problem, state, _ = setting
    start = mp.DualDescent(mp.PowerDecay(1.0)).init(problem)
    reference = mp.Reference(problem, state.u)
    assert float(mp.metrics.margin(problem, start)) == 0
    assert float(mp.metrics.error(problem, start)) == 1
    assert float(reference.angle_gap(problem, start)) == 1
    assert float(reference.normalized_distance(problem, start)) == pytest.approx(1)


def test_small_distances_keep_their_digits():
    X, y = separable(1, 10, 4)
    problem = mp.Problem(mp.Gram.linear(X), y)
    u = -np.linspace(1, 2, 10)
    reference = mp.Reference(problem, u)
    moved = u.copy()
    moved[0] -= 1e-12
    state = mp.run(mp.DualDescent(mp.Constant(1e-3)), problem, 0, start=moved).last
    assert float(reference.distance(problem, state)) == pytest.approx(1e-12 * np.linalg.norm(X[0]), rel=1e-2)


def test_regularized_objective_is_infinite_outside_the_box(setting):
    problem = setting[3]
    path = mp.run(mp.DualDescent(mp.Constant(1.0)), problem, 0, start=np.full(20, -5.0))
    assert float(mp.metrics.regularized_dual_objective(problem, path.last)) == np.inf


def test_held_out_error_counts_columns():
    X, y = separable(2, 30, 2)
    Y = np.stack([y, -y], axis=1)[:20]
    problem = mp.Problem(mp.Gram.linear(X[:20]), Y)
    error = mp.HeldOutError(problem, X[20:], y[20:])
    path = mp.run(mp.DualDescent(mp.PowerDecay(0.1)), problem, 200, observe={"error": error})
    assert path["error"][0].tolist() == [1, 1]
    assert path["error"][-1, 0] <= 0.1
    assert path["error"][-1, 1] == 1 - path["error"][-1, 0]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("columns", [None, 3])
@pytest.mark.parametrize("bound", [0.7, np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_of_many_samples_the_gap_is_summed_up_by_compiled_code(
    intercept, columns, bound, dtype, rng, monkeypatch
):
    n, shape = 500, (500,) if columns is None else (500, columns)
    y = rng.choice([-1, 0, 1], shape, p=[0.4, 0.2, 0.4])
    gram = mp.Gram.linear(rng.standard_normal((n, 4)).astype(dtype))
    problem = mp.Problem(gram, y, np.arange(n) % 3 + 1.0, intercept=intercept)
    u = (-rng.random(shape) * (y != 0)).astype(dtype)
    scores = problem.scores(u) - 3 * problem.Y * (bound == np.inf)
    state = mp.State(t=1, u=u, scores=scores, bound=problem.box_size(bound))
    usual = mp.metrics.gap_and_sums(problem, state)
    monkeypatch.setattr("marginpath.metrics._MANY", 0)
    monkeypatch.setattr("marginpath.metrics._BLOCK", 64)
    compiled = mp.metrics.gap_and_sums(problem, state)
    rtol = 1e-12 if dtype == np.float64 else 1e-4
    for one, other in zip([usual[0], *usual[1]], [compiled[0], *compiled[1]], strict=True):
        assert one.shape == other.shape == shape[1:]
        np.testing.assert_allclose(other, one, rtol=rtol, atol=rtol)
