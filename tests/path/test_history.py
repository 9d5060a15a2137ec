"""One history: what a path keeps along it, a resumed path continues it, an exact solution ends it."""

from dataclasses import replace

import array_api_strict as strict
import numpy as np
import pytest

import marginpath as mp
from marginpath.path.models import ModelHistory, PackedDual
from marginpath.validation.cross_validation import PathValidation

SOLVER = mp.CoordinateDescent(mp.PowerDecay(4.0), seed=0)
INERTIAL = mp.DualDescent(mp.PowerDecay(4.0), mp.Inertia(3))


def toy_problem(k=0):
    data = mp.datasets.toy()
    flipped = [mp.noise.flip_exactly(data.y, 3 * j, seed=j) for j in range(k)]
    return mp.Problem(mp.Gram.linear(data.X), np.stack(flipped, axis=1) if k else data.y)


def exact_path(**settings):
    problem = toy_problem()
    observe = ["bound", "error", "margin", "estimated_margin_lower", "estimated_margin_upper"]
    path = mp.run(SOLVER, problem, 6, observe=observe, models=True, **settings)
    return problem, path, mp.maximum_margin(problem, tol=1e-13)


def assert_same_history(one, other):
    np.testing.assert_array_equal(one.steps, other.steps)
    assert one.models.steps == other.models.steps == one.steps.tolist()
    for step in one.models.steps:
        np.testing.assert_array_equal(one.models.u(step), other.models.u(step))
        assert one.models.bound(step) == other.models.bound(step)
    assert set(one.rows) == set(other.rows)
    for name in set(one.rows) - {"seconds"}:
        np.testing.assert_array_equal(one[name], other[name])


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("solver", [SOLVER, INERTIAL])
def test_the_models_are_those_of_the_recorded_steps(solver, every):
    problem, columns = toy_problem(4), np.array([0, 3])
    start = -0.01 * np.abs(problem.Y) if solver is INERTIAL else None  # sweeps take none
    path = mp.run(solver, problem, 10, every=every, models=columns, start=start, keep=0)
    assert path.models.steps == path.steps.tolist() == [*range(0, 10, every), 10]
    for step in path.models.steps:
        np.testing.assert_array_equal(path.models.u(step), path.state(step, problem).u[:, columns])
    if every == 3:
        with pytest.raises(ValueError, match="No model of step 4 was kept, but of 5 steps up to 10"):
            path.models.u(4)


def test_nothing_is_kept_unless_asked_for():
    assert mp.run(SOLVER, toy_problem(), 3).models is None
    for models in ("all", 1, None, [0.5]):
        with pytest.raises(ValueError, match="models must be True, False or the numbers of the columns"):
            mp.run(SOLVER, toy_problem(2), 3, models=models)


@pytest.mark.parametrize("every", [1, 3])
def test_a_resumed_path_continues_its_models_and_leaves_the_first_alone(every):
    problem = toy_problem(4)
    settings = {"observe": ["margin"], "every": every}
    part = mp.run(SOLVER, problem, 4, models=True, **settings)
    before = part.copy()
    longer = mp.resume(part, problem, 6)
    assert_same_history(longer, mp.run(SOLVER, problem, 10, models=True, **settings))
    assert_same_history(part, before)
    assert part.end == 4


@pytest.mark.parametrize("asarray", [np.asarray, strict.asarray])
def test_a_file_holds_the_models(asarray, tmp_path):
    data = mp.datasets.toy()
    problem = mp.Problem(mp.Gram.linear(asarray(data.X)), asarray(data.y))
    path = mp.run(INERTIAL, problem, 5, observe=["margin"], models=True)
    path.save(tmp_path / "path.npz")
    loaded = mp.Path.load(tmp_path / "path.npz")
    assert all(type(each) is PackedDual for each in loaded.models.packed)
    assert_same_history(loaded, path)
    assert_same_history(mp.resume(loaded, problem, 4), mp.resume(path, problem, 4))


def test_models_of_another_path_are_refused():
    path = mp.run(SOLVER, toy_problem(), 3, models=True)
    for models in (ModelHistory(), mp.run(SOLVER, toy_problem(), 4, models=True).models):
        with pytest.raises(ValueError, match="do not belong together"):
            replace(path, models=models)


@pytest.mark.parametrize("every", [1, 4])
def test_the_exact_solution_is_a_recorded_step(every, tmp_path):
    problem, path, exact = exact_path(every=every)
    assert path.finish(problem, exact.u, seconds=2.0) == path.end == path.steps[-1] == 7
    assert path["bound"][-1] == np.inf
    assert path["error"][-1] == 0
    for name in ("margin", "estimated_margin_lower", "estimated_margin_upper"):
        assert path[name][-1] == pytest.approx(2**0.5, rel=1e-12)
        assert len(path[name]) == len(path.steps)
    assert path["seconds"][-1] == path.seconds + 2.0
    np.testing.assert_array_equal(path.models.u(7), exact.u)
    assert "7 steps" in repr(path)
    path.save(tmp_path / "path.npz")
    assert_same_history(mp.Path.load(tmp_path / "path.npz"), path)


def test_the_state_of_the_exact_solution_needs_problem_and_models():
    problem, path, exact = exact_path()
    path.finish(problem, exact.u)
    state = path.state(7, problem)
    np.testing.assert_array_equal(state.u, exact.u)
    np.testing.assert_allclose(state.scores, problem.scores(exact.u), rtol=1e-14)
    assert path.state(6) is path.last
    with pytest.raises(ValueError, match="Step 7 is the exact solution"):
        path.state(7)
    with pytest.raises(ValueError, match="the steps 0 … 7, not 8"):
        path.state(8, problem)


@pytest.mark.parametrize("every", [1, 4])
def test_a_solver_goes_on_without_the_exact_solution(every):
    problem, path, exact = exact_path(every=every)
    plain = path.copy()
    path.finish(problem, exact.u)
    assert_same_history(mp.resume(path, problem, 5), mp.resume(plain, problem, 5))
    assert path["bound"][-1] == np.inf  # the path that was gone on with still ends so
    assert len(path.models) == len(path.steps)


def overlapping_folds():
    """Return as many columns as samples: five folds and all of the six."""
    X, y = np.arange(6.0)[:, None] - 2.5, np.array([0, 1, 0, 1, 0, 1])
    splits = [(np.arange(6), np.array([j])) for j in range(5)]
    return PathValidation(mp.Gram.linear(X), y, cv=splits)


def test_the_path_keeps_what_the_folds_decide():
    validation = overlapping_folds()
    path = validation.run(INERTIAL, 4, stop=None)
    assert path["out_of_fold"].shape == (5, 6, 1)
    for t in path.steps:
        scores = path.state(t, validation.problem).scores
        np.testing.assert_array_equal(path["out_of_fold"][t, :5, 0], -scores[np.arange(5), np.arange(5)])
    assert np.isnan(path["out_of_fold"][:, 5]).all()
    chosen = validation.choose(path)
    np.testing.assert_array_equal(chosen.out_of_fold, path["out_of_fold"][chosen.step, :, 0])
    assert "out_of_fold" not in chosen.path.rows
    assert "out_of_fold" in path.rows


def test_what_the_folds_decide_is_no_column_of_the_frame():
    pytest.importorskip("pandas")
    path = overlapping_folds().run(INERTIAL, 2, stop=None)
    assert set(path.to_frame()) == {"step", "column", "seconds", "bound", "gap"}


def test_a_validated_path_goes_on_with_all_it_kept():
    part = overlapping_folds().run(INERTIAL, 2, stop=None)
    before = part.copy()
    longer = overlapping_folds().resume(part, 3, stop=None)
    assert_same_history(longer, overlapping_folds().run(INERTIAL, 5, stop=None))
    assert_same_history(part, before)
    with pytest.raises(ValueError, match="goes on observing what it observed"):
        overlapping_folds().resume(part.without("out_of_fold"), 3, stop=None)
