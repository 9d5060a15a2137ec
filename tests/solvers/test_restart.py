"""Adaptive restart: what it does to a path, and that its memory is in the state."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marginpath_lab.experiments import restart
from naive import random_problem

import marginpath as mp
from marginpath.momentum import FunctionRestart, GradientRestart

BOTH = [GradientRestart(), FunctionRestart()]
γ_PART = 0.9
PUBLISHED = Path(__file__).parents[2] / "docs" / "_static" / "restart"


def naive_restart(K, y, b, steps, γ, scheme, α=3.0):
    """Algorithm 2 with restarts for one column; u_0, u_1, … and the steps of the restarts."""
    A = np.outer(y, y) * K
    path, previous, age, restarts = [np.zeros(len(y))], np.zeros(len(y)), 0, []
    for t in range(1, steps + 1):
        u, age = path[-1], age + 1
        q = u + age / (age + α) * (u - previous)
        after = np.clip(q - γ * (A @ q + 1), -b, 0)
        slope = A @ (u + after) / 2 + 1
        uphill = (q - after) @ (after - u) if scheme == "gradient" else slope @ (after - u)
        previous = u
        path.append(after)
        if uphill > 0:
            previous, age = after, 0
            restarts.append(t)
    return path, restarts


@pytest.mark.parametrize("kind", ["linear", "kernel"])
@pytest.mark.parametrize(("scheme", "momentum"), [("gradient", BOTH[0]), ("function", BOTH[1])])
def test_agrees_with_the_naive_reference(scheme, momentum, kind):
    _, K, y = random_problem(4, 12, kind)
    γ = γ_PART / np.linalg.eigvalsh(K)[-1]
    path = mp.run(mp.DualDescent(mp.Constant(0.01), momentum, γ), mp.Problem(mp.Gram.from_matrix(K), y), 300)
    expected, restarts = naive_restart(K, y, 100.0, 300, γ, scheme)
    assert restarts
    for t in (1, restarts[0], restarts[0] + 1, restarts[0] + 2, 150):
        np.testing.assert_allclose(path.state(t).u, expected[t], rtol=1e-9, atol=1e-11)
    assert path.state(restarts[0]).age == 0
    assert path.state(restarts[0] + 1).age == 1


@pytest.mark.parametrize("momentum", BOTH)
def test_resume_save_and_replay_are_bit_equal(momentum, tmp_path):
    _, K, y = random_problem(4, 12, "kernel")
    Y = np.stack([y, np.roll(y, 1)], axis=1)
    problem = mp.Problem(mp.Gram.from_matrix(K), Y)
    solver = mp.DualDescent(mp.PowerDecay(1.0), momentum)
    whole = mp.run(solver, problem, 200, observe=["margin"])
    part = mp.run(solver, problem, 77, observe=["margin"])
    part.save(tmp_path / "path.npz")
    loaded = mp.Path.load(tmp_path / "path.npz")
    assert loaded.solver == solver
    for start in (part, loaded):
        resumed = mp.resume(start, problem, 123)
        np.testing.assert_array_equal(resumed.last.u, whole.last.u)
        np.testing.assert_array_equal(resumed.last.age, whole.last.age)
        np.testing.assert_array_equal(resumed["margin"], whole["margin"])
    sparse = mp.run(solver, problem, 200, keep=0)
    np.testing.assert_array_equal(sparse.state(150, problem).u, whole.state(150).u)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 4), momentum=st.sampled_from(BOTH))
def test_columns_restart_by_themselves(seed, k, momentum):
    rng = np.random.default_rng(seed)
    _, K, _ = random_problem(seed, 12, "kernel")
    Y = rng.permuted(np.repeat([[1.0], [-1.0], [0.0]], [5, 5, 2], axis=0).repeat(k, axis=1), axis=0)
    gram = mp.Gram.from_matrix(K)
    solver = mp.DualDescent(mp.Constant(0.1), momentum)
    together = mp.run(solver, mp.Problem(gram, Y), 60)
    for j in range(k):
        alone = mp.run(solver, mp.Problem(gram, Y[:, j]), 60)
        np.testing.assert_allclose(together.last.u[:, j], alone.last.u, rtol=1e-7, atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), momentum=st.sampled_from(BOTH))
def test_weight_two_is_the_sample_twice(seed, momentum):
    rng = np.random.default_rng(seed)
    X, _, y = random_problem(seed, 10, "kernel")
    weights = rng.integers(0, 4, 10)
    weights[:2] = 1
    y[:2] = 1, -1
    repeated = np.repeat(np.arange(10), weights)
    copies = mp.Problem(mp.Gram.from_kernel(X[repeated], mp.Gaussian(0.7)), y[repeated])
    weighted = mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(0.7)), y, sample_weight=weights)
    solver = mp.DualDescent(mp.Constant(0.1), momentum, 0.9 / copies.norm_bounds()[1])
    u = np.zeros(10)
    np.add.at(u, repeated, mp.run(solver, copies, 40).last.u)
    np.testing.assert_allclose(mp.run(solver, weighted, 40).last.u, u, rtol=1e-7, atol=1e-9)


def test_the_dual_falls_along_function_restarts_but_for_single_steps():
    _, K, y = random_problem(1, 20, "kernel")
    problem = mp.Problem(mp.Gram.from_matrix(K), y)
    rises = {}
    for momentum in (mp.Inertia(3), FunctionRestart()):
        path = mp.run(mp.DualDescent(mp.Constant(1e-3), momentum), problem, 500, observe="dual_objective")
        up = np.diff(path["dual_objective"]) > 1e-9
        rises[type(momentum)] = (up.sum(), (up[1:] & up[:-1]).sum())
    assert rises[mp.Inertia][1] > 5
    assert rises[FunctionRestart][1] == 0


def test_torch_columns_restart_too():
    torch = pytest.importorskip("torch")
    _, K, y = random_problem(4, 12, "kernel")
    Y = np.stack([y, np.roll(y, 1)], axis=1)
    solver = mp.DualDescent(mp.Constant(0.1), GradientRestart(), 0.9 / np.linalg.eigvalsh(K)[-1])
    ours = mp.run(solver, mp.Problem(mp.Gram.from_matrix(K), Y), 80).last
    theirs = mp.run(solver, mp.Problem(mp.Gram.from_matrix(torch.asarray(K)), torch.asarray(Y)), 80).last
    np.testing.assert_allclose(np.asarray(theirs.u), ours.u, rtol=1e-8, atol=1e-10)
    assert theirs.age.shape == (2,)


def test_float32_stays_float32():
    _, K, y = random_problem(4, 12, "kernel")
    problem = mp.Problem(mp.Gram.from_matrix(K.astype(np.float32)), y)
    last = mp.run(mp.DualDescent(mp.Constant(0.1), GradientRestart()), problem, 30).last
    assert last.u.dtype == last.scores.dtype == np.float32


def test_refusals():
    with pytest.raises(TypeError, match="FunctionRestart needs the dual of the hinge loss"):
        mp.DualDescent(mp.Constant(1.0), FunctionRestart(), loss=mp.Logistic())
    with pytest.raises(ValueError, match="alpha must be a positive"):
        GradientRestart(0)
    with pytest.raises(TypeError, match="depends on the iterates, not on t = 3 alone"):
        GradientRestart()(3)
    mp.DualDescent(mp.Constant(1.0), GradientRestart(), loss=mp.Logistic())


@pytest.mark.heavy
def test_the_experiment_from_problems_to_files():
    table = restart.compute(problems=["wide"], steps=400)
    assert table.ratio("wide") <= 1.2
    assert table.row("wide", "gradient restart").law.kind == "linear"
    assert table.row("wide", "gradient restart").law.rate < table.row("wide", "Algorithm 1").law.rate
    assert 0 < table.problems[0].slow < 0.1
    assert table.problems[0].proved
    files = restart.files(table)
    assert len(files["restart.csv"].decode().splitlines()) == 1 + len(restart.METHODS)
    for name in ("certified", "fitted"):
        assert f"<!-- begin {name} -->" in files["restart.md"].decode()
    assert files["restart.png"].startswith(b"\x89PNG")
    assert "wide" in str(restart.printed(table).columns[0]._cells)


def test_the_published_numbers_say_what_the_page_says():
    """Restart is certified within 20 % of the best fixed α on every problem, and it is linear on all."""
    with (PUBLISHED / "restart.csv").open(encoding="utf-8") as file:
        lines = {(line["problem"], line["method"]): line for line in csv.DictReader(file)}
    assert len({problem for problem, _ in lines}) == len(restart.SUITE) >= 5
    for problem in restart.SUITE:
        fixed = [int(lines[problem, name]["certified"] or 10**9) for name in restart.FIXED]
        for scheme in restart.RESTARTS:
            assert int(lines[problem, scheme]["certified"]) <= min(fixed)
        assert lines[problem, "gradient restart"]["law"] == "linear"
        best = restart.FIXED[int(np.argmin(fixed))]
        assert lines[problem, best]["law"] == "linear"
        ours, proved = float(lines[problem, "gradient restart"]["rate"]), lines[problem, best]["proved_share"]
        assert ours < 1 - float(proved)
