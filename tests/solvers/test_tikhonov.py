"""Tikhonov regularization: exact at every λ, and what the paper's lemma says of λ → 0."""

import array_api_strict
import naive_rivals as naive
import numpy as np
import pytest
from naive import hard_margin, random_problem, separable

import marginpath as mp
from marginpath.losses import Exponential, Hinge, Logistic, SquaredHinge
from marginpath.solvers import Tikhonov

LOSSES = [Hinge(), SquaredHinge(), Logistic(), Exponential()]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)


@every_loss
@pytest.mark.parametrize("kind", ["linear", "kernel"])
@pytest.mark.parametrize("seed", range(3))
def test_duality_gap_is_closed(loss, kind, seed):
    X, K, y = random_problem(seed, 25, kind)
    problem = mp.Problem(mp.Gram.linear(X) if kind == "linear" else mp.Gram.from_matrix(K), y)
    lambdas = np.geomspace(1e3, 1e-4, 15)
    found = Tikhonov(lambdas, loss).solve(problem)
    for j, λ in enumerate(lambdas):
        state = found.state(problem, j)
        m = problem.margins(state.scores)
        primal = float(mp.metrics.norm(problem, state)) ** 2 / 2 + np.sum(loss.value(m)) / λ
        dual = float(mp.metrics.norm(problem, state)) ** 2 / 2 + np.sum(loss.conjugate(λ * state.u)) / λ
        assert -1e-12 * primal <= primal + dual <= 2e-10 * primal
        assert found.gaps[j] == pytest.approx(primal + dual, abs=1e-12 * primal)


@pytest.mark.parametrize("loss", LOSSES[1:], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("λ", [10.0, 0.5])
def test_smooth_losses_agree_with_a_primal_solver(loss, λ):
    X, y = separable(0, 20, 4)
    found = Tikhonov([λ], loss).solve(mp.Problem(mp.Gram.linear(X), y))
    w = naive.tikhonov_smooth(X, y, λ, loss.value, loss.derivative)
    np.testing.assert_allclose(-X.T @ (y * found.u[0]), w, rtol=0, atol=1e-5 * np.linalg.norm(w))


@pytest.mark.parametrize("λ", [100.0, 3.0, 0.2])
def test_hinge_agrees_with_an_independent_solver(λ):
    X, K, y = random_problem(1, 30, "linear")
    found = Tikhonov([λ]).solve(mp.Problem(mp.Gram.linear(X), y))
    w = X.T @ (y * naive.tikhonov_hinge(K, y, λ))
    np.testing.assert_allclose(-X.T @ (y * found.u[0]), w, rtol=0, atol=1e-4 * np.linalg.norm(w))


@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_hinge_solutions_converge_to_the_maximum_margin(kind):
    X, K, y = random_problem(2, 20, kind)
    problem = mp.Problem(mp.Gram.linear(X) if kind == "linear" else mp.Gram.from_matrix(K), y)
    u_star, _ = hard_margin(K, y)
    reference = mp.Reference(problem, u_star)
    found = Tikhonov(np.geomspace(1e2, 0.5 / np.abs(u_star).max(), 8)).solve(problem)
    distances = [float(reference.distance(problem, found.state(problem, j))) for j in range(8)]
    assert np.all(np.diff(distances) < 1e-6)
    assert distances[-1] < 1e-5 * float(reference.norm)  # w_λ = w* as soon as 1/λ ≥ ‖u*‖_∞


@pytest.mark.parametrize("loss", [Logistic(), Exponential()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_other_solutions_diverge_and_converge_in_direction(loss, kind):
    X, K, y = random_problem(2, 20, kind)
    problem = mp.Problem(mp.Gram.linear(X) if kind == "linear" else mp.Gram.from_matrix(K), y)
    reference = mp.Reference(problem, hard_margin(K, y)[0])
    found = Tikhonov(10.0 ** -np.arange(0, 13, 2), loss).solve(problem)
    states = [found.state(problem, j) for j in range(7)]
    norms = np.array([float(mp.metrics.norm(problem, s)) for s in states])
    gaps = np.array([float(reference.margin_gap(problem, s)) for s in states])
    # In the end the margins grow like log(1/λ): two decades add nearly 2 log 10 times ‖w*‖ to ‖w‖.
    growth = np.diff(norms) / (2 * np.log(10) * float(reference.norm))
    assert np.all(np.diff(growth) > 0)
    assert 0.93 < growth[-1] < 1
    assert np.all(np.diff(gaps[2:]) < 0)
    assert gaps[-1] < 0.03 / float(reference.norm)


def test_columns_weights_masks_and_box_scale():
    _, K, y = random_problem(4, 12, "kernel")
    gram = mp.Gram.from_matrix(K)
    other = np.where(np.arange(12) < 2, 0, np.roll(y, 1))
    weights = np.array([1, 2, 3, 1, 1, 1, 2, 1, 1, 0, 1, 1])
    lambdas = [2.0, 0.3]
    for loss in LOSSES:
        both = mp.Problem(gram, np.stack([y, other], axis=1), weights, box_scale=[1.0, 4.0])
        found = Tikhonov(lambdas, loss).solve(both)
        assert found.u.shape == (2, 12, 2)
        assert found.gaps.shape == (2, 2)
        for j, labels in enumerate([y, other]):
            copies = np.repeat(np.arange(12), weights * np.abs(labels).astype(int))
            alone = mp.Problem(mp.Gram.from_matrix(K[np.ix_(copies, copies)]), labels[copies])
            single = Tikhonov(np.array(lambdas) / (1.0, 4.0)[j], loss).solve(alone)
            for row in range(2):
                decision = K @ (labels * found.u[row, :, j])
                expected = K[:, copies] @ (labels[copies] * single.u[row])
                np.testing.assert_allclose(decision, expected, rtol=0, atol=3e-5 * np.abs(expected).max())
                np.testing.assert_array_equal(found.u[row, weights * labels == 0, j], 0)


def test_arrays_and_dtypes_are_kept():
    _, K, y = random_problem(4, 12, "kernel")
    gram = mp.Gram.from_matrix(array_api_strict.asarray(K.astype(np.float32)))
    problem = mp.Problem(gram, y)
    found = Tikhonov([1.0]).solve(problem)
    assert found.u.dtype == array_api_strict.float32
    assert found.state(problem, 0).scores.dtype == array_api_strict.float32


@every_loss
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_scales_and_tiny_lambda(loss, scale):
    """A hinge solution at λ far below 1/‖u*‖_∞ still has a gap at the level of rounding."""
    X, y = separable(0, 30, 5)
    problem = mp.Problem(mp.Gram.linear(scale * X), y)
    lambdas = scale**2 * np.geomspace(10, 1e-9, 6)
    found = Tikhonov(lambdas, loss).solve(problem)
    assert np.isfinite(found.u).all()
    assert np.all(found.u <= 0)


@every_loss
def test_data_that_nothing_separates(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    problem = mp.Problem(mp.Gram.linear(X), np.sign(X[:, 0] + rng.standard_normal(60)))
    found = Tikhonov([10.0, 1e-2, 1e-5], loss).solve(problem)  # without a warning: the gaps are closed
    assert np.isfinite(found.u).all()
    assert float(mp.metrics.margin(problem, found.state(problem, 2))) < 0


def test_duplicates_and_zero_rows():
    X, y = separable(0, 10, 3)
    X, y = np.concatenate([X, X, np.zeros((1, 3))]), np.concatenate([y, y, [1.0]])
    for loss in LOSSES:
        found = Tikhonov([1.0, 0.01], loss).solve(mp.Problem(mp.Gram.linear(X), y))
        np.testing.assert_allclose(
            X[:10].T @ (y[:10] * found.u[0, :10]),
            X[:10].T @ (y[:10] * found.u[0, 10:20]),
            rtol=0,
            atol=1e-3,
        )


def test_a_gap_that_is_not_closed_is_said(monkeypatch):
    monkeypatch.setattr(mp.solvers.tikhonov, "MAX_NEWTON_STEPS", 2)
    X, y = separable(0, 30, 5)
    with pytest.warns(UserWarning, match="A duality gap of"):
        Tikhonov([1e-3]).solve(mp.Problem(mp.Gram.linear(X), y))


def test_wrong_settings():
    with pytest.raises(ValueError, match="at least one λ"):
        Tikhonov([])
    with pytest.raises(ValueError, match="Each λ must be a positive"):
        Tikhonov([1.0, 0.0])
    with pytest.raises(TypeError, match="second derivative"):
        Tikhonov([1.0], loss=object())
