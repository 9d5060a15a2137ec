"""Step sizes and settings of the methods that the paper compares with."""

import numpy as np
import pytest
from naive import separable

import marginpath as mp
from marginpath.losses import Exponential, Hinge
from marginpath.solvers import (
    GradientDescent,
    HomotopicSubgradient,
    MirrorDescent,
    NormalizedGradient,
    Pegasos,
    Subgradient,
)


def test_exponential_step_holds_from_a_start():
    """The step bound is that of the level set of the start, so a large step from a good start is safe."""
    X, y = separable(0, 30, 5)
    problem = mp.Problem(mp.Gram.linear(X), y)
    warm = mp.run(MirrorDescent(), problem, 200).last.u
    loss = lambda p, s: np.sum(np.exp(-p.margins(s.scores)))  # noqa: E731
    path = mp.run(GradientDescent(), problem, 200, observe={"loss": loss}, start=warm)
    assert np.all(np.diff(path["loss"]) <= 0)
    assert path.last.step_size > 1 / (30 * problem.gram.diagonal.max())
    assert np.isfinite(GradientDescent().init(problem, 1e6 * warm).step_size)  # its loss is 0 in float64
    worst = np.where(np.arange(30) == np.argmin(problem.scores(warm) * -y), -1e6, 0.0)
    with pytest.raises(ValueError, match="too large for the dtype"):
        GradientDescent().init(problem, worst)


def test_step_sizes():
    X, y = separable(0, 30, 5)
    problem = mp.Problem(mp.Gram.linear(X), y)
    κ2 = problem.gram.diagonal.max()
    assert GradientDescent(step_size=0.01 / κ2).init(problem).step_size == 0.01 / κ2
    for solver in (GradientDescent(step_size=1.0), MirrorDescent(step_size=2 / κ2)):
        with pytest.warns(UserWarning, match="up to which the method is proved to converge"):
            solver.init(problem)
    for make in (GradientDescent, NormalizedGradient, MirrorDescent, Subgradient):
        for bad in (0, -1.0, np.nan, np.inf):
            with pytest.raises(ValueError, match="step_size must be a positive finite number"):
                make(step_size=bad)


def test_wrong_settings():
    with pytest.raises(TypeError, match="For the hinge loss use Subgradient"):
        GradientDescent(Hinge())
    with pytest.raises(ValueError, match="first must be a positive"):
        NormalizedGradient(first=0)
    with pytest.raises(ValueError, match="first must be a positive"):
        MirrorDescent(first=0)
    with pytest.raises(ValueError, match="lambda0 must be a positive"):
        HomotopicSubgradient(lambda0=0.0)
    with pytest.raises(ValueError, match="lambda0 must be a positive"):
        Pegasos(lambda0=-1.0)
    with pytest.raises(ValueError, match="seed must be a whole number"):
        Pegasos(lambda0=1.0, seed=-1)


def test_default_loss_of_gradient_descent_is_the_exponential():
    assert GradientDescent().loss == Exponential()
