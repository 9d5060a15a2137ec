"""Stopping rules: a priori, discrepancy, leave-one-out, quasi-optimality."""

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marginpath_lab.experiments import stopping_rules
from naive import random_problem

import marginpath as mp
from marginpath import noise
from marginpath.path.stopping import (
    APriori,
    Discrepancy,
    LeaveOneOut,
    NoImprovement,
    QuasiOptimality,
    leave_one_out,
)

PUBLISHED = Path(__file__).parents[2] / "docs" / "_static" / "stopping"


def noisy_columns(levels, draws=1, n=60):
    """Two Gaussian classes with shares of flipped labels as columns, and the true labels."""
    data = mp.datasets.gaussian_mixture("program", n_samples=n, n_test=200)
    Y = np.stack(
        [noise.flip_exactly(data.y, round(p * n), seed=j) for p in levels for j in range(draws)], axis=1
    )
    return data, mp.Problem(mp.Gram.from_kernel(data.X, mp.Gaussian(sigma=0.3)), Y)


def test_a_priori_stops_every_column_at_its_step():
    _, problem = noisy_columns([0.0, 0.1, 0.2])
    path = mp.run(mp.DualDescent(mp.PowerDecay(1.0)), problem, 50, stop=APriori((3, 10, 7)))
    assert path.stop_steps.tolist() == [3, 10, 7]
    assert path.last.t == 10
    assert APriori(4).choose(path).tolist() == [4, 4, 4]
    assert APriori(40).choose(path).tolist() == [10, 10, 10]
    with pytest.raises(ValueError, match="at least 1"):
        APriori(0)


def test_discrepancy_stops_where_few_enough_labels_are_contradicted():
    levels = (0.1, 0.2)
    _, problem = noisy_columns(levels)
    rule = Discrepancy(levels)
    path = mp.run(mp.CoordinateDescent(), problem, 60, observe=["error"], stop=rule)
    assert all(status is mp.Status.STOPPED for status in path.status)
    for j, (t, p) in enumerate(zip(path.stop_steps, levels, strict=True)):
        assert path["error"][t, j] <= p + 1e-9
        assert np.all(path["error"][1:t, j] > p)
    np.testing.assert_array_equal(rule.choose(path), path.stop_steps)
    late = mp.run(mp.CoordinateDescent(), problem, 60, observe=rule.observed)
    np.testing.assert_array_equal(rule.choose(late), path.stop_steps)
    early = mp.run(mp.CoordinateDescent(), problem, 60, stop=Discrepancy(levels, factor=1.5))
    assert np.all(early.stop_steps <= path.stop_steps)


def test_discrepancy_counts_weights_and_leaves_out_zeros():
    K = np.eye(4)
    problem = mp.Problem(mp.Gram.from_matrix(K), [1, -1, 1, 0], sample_weight=[1, 1, 2, 5])
    state = mp.State(
        t=1, u=np.array([-1.0, -1.0, 0.0, 0.0]), scores=np.array([-1.0, 1.0, 0.0, 0.0]), bound=np.ones(())
    )
    # The third sample, weight 2 of 4, has margin 0: it is contradicted.
    path = mp.run(mp.DualDescent(mp.Constant(1.0)), problem, 1)
    assert Discrepancy(0.5)(problem, state, path)
    assert not Discrepancy(0.49)(problem, state, path)


def test_discrepancy_that_is_never_met_takes_the_least_contradicted_step():
    data = mp.datasets.gaussian_mixture(n_samples=60, n_test=0)  # overlapping classes
    problem = mp.Problem(mp.Gram.linear(data.X), data.y)
    rule = Discrepancy(0.0)
    path = mp.run(mp.DualDescent(mp.PowerDecay(1.0)), problem, 30, observe=rule.observed, stop=rule)
    assert path.status is mp.Status.STEPS
    assert path["error"][rule.choose(path)] == path["error"][1:].min() > 0


@pytest.mark.parametrize("bad", [-0.1, 1.0, 8, (0.1, 2.0)])
def test_discrepancy_refuses_counts(bad):
    with pytest.raises(ValueError, match="For N of n labels give N / n"):
        Discrepancy(bad)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), lam=st.floats(0.01, 5.0), kind=st.sampled_from(["linear", "kernel"]))
def test_leave_one_out_bounds_the_error_of_really_leaving_out(seed, lam, kind):
    """Jaakkola and Haussler's bound, for the exact solution at one λ: every sample left out in its column."""
    n = 10
    _, K, y = random_problem(seed, n, kind)
    gram = mp.Gram.from_matrix(K)
    whole, without = mp.Problem(gram, y), np.tile(y[:, None], n)
    np.fill_diagonal(without, 0)
    state = mp.Tikhonov([lam]).solve(whole).state(whole, 0)
    left = mp.Problem(gram, without)
    decisions = -left.scores(mp.Tikhonov([lam]).solve(left).u[0])
    wrong = y * np.diag(decisions) <= -1e-7
    assert wrong.mean() <= leave_one_out(whole, state) + 1e-9


def test_leave_one_out_of_weights_is_that_of_copies():
    X, _, y = random_problem(0, 8, "kernel")
    weights = np.array([1, 2, 3, 1, 1, 2, 1, 1])
    repeated = np.repeat(np.arange(8), weights)
    found = []
    for problem in (
        mp.Problem(mp.Gram.from_kernel(X[repeated], mp.Gaussian(0.7)), y[repeated]),
        mp.Problem(mp.Gram.from_kernel(X, mp.Gaussian(0.7)), y, sample_weight=weights),
    ):
        γ = 0.5 / 20
        path = mp.run(
            mp.DualDescent(mp.Constant(0.5), step_size=γ), problem, 300, observe={"l": leave_one_out}
        )
        found.append(path["l"])
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)


def test_leave_one_out_stops_after_its_best_step_and_keeps_that():
    data, problem = noisy_columns([0.0, 0.1, 0.2, 0.3], draws=2, n=100)
    rule = LeaveOneOut()
    test = mp.HeldOutError(problem, data.X_test, data.y_test)
    observe = {**rule.observed, "test": test}
    path = mp.run(mp.CoordinateDescent(), problem, 80, observe=observe, stop=rule)
    assert all(status is mp.Status.STOPPED for status in path.status)
    chosen, columns = rule.choose(path), np.arange(problem.shape[1])
    loo = path["leave_one_out"]
    np.testing.assert_array_equal(loo[chosen, columns], loo[1:].min(axis=0))
    grown = path["bound"][path.stop_steps, columns] / path["bound"][chosen, columns]
    assert np.all(grown >= 10 * (1 - 1e-6))
    full = mp.run(mp.CoordinateDescent(), problem, 80, observe={"test": test})
    assert np.mean(path["test"][chosen, columns]) < np.mean(full["test"][-1]) - 0.03


def test_rules_say_what_they_need_of_a_path():
    _, problem = noisy_columns([0.1])
    path = mp.run(mp.CoordinateDescent(), problem, 3)
    for rule in (LeaveOneOut(), Discrepancy(0.1)):
        with pytest.raises(ValueError, match=r"pass observe=rule\.observed"):
            rule.choose(path)
    with pytest.raises(ValueError, match=r"pass observe=rule\.observed"):
        mp.run(mp.CoordinateDescent(), problem, 3, stop=LeaveOneOut())
    with pytest.raises(ValueError, match="no two steps"):
        QuasiOptimality().choose(mp.run(mp.CoordinateDescent(), problem, 1), problem)
    with pytest.raises(ValueError, match="no step yet"):
        LeaveOneOut().choose(mp.run(mp.CoordinateDescent(), problem, 0, observe=LeaveOneOut().observed))


def test_quasi_optimality_takes_the_smallest_change_on_its_grid():
    _, problem = noisy_columns([0.0, 0.2])
    path = mp.run(mp.DualDescent(mp.PowerDecay(1.0)), problem, 64)
    assert QuasiOptimality().grid(64) == [1, 2, 4, 8, 16, 32, 64]
    states = [path.state(t) for t in (1, 2, 4, 8, 16, 32, 64)]
    changes = np.array(
        [np.sqrt(problem.squared_norm(b.u - a.u, b.scores - a.scores)) for a, b in itertools.pairwise(states)]
    )
    expected = np.array([1, 2, 4, 8, 16, 32])[2 + changes[2:].argmin(axis=0)]
    np.testing.assert_array_equal(QuasiOptimality(skip=2).choose(path, problem), expected)
    replayed = mp.run(mp.DualDescent(mp.PowerDecay(1.0)), problem, 64, keep=0)
    np.testing.assert_array_equal(QuasiOptimality(skip=2).choose(replayed, problem), expected)


def test_quasi_optimality_does_not_choose_where_a_column_stands_still():
    _, problem = noisy_columns([0.1, 0.2])
    path = mp.run(mp.DualDescent(mp.PowerDecay(1.0)), problem, 64, stop=APriori((16, 64)))
    assert QuasiOptimality(skip=0).choose(path, problem)[0] <= 8


def test_leave_one_out_refuses_an_intercept_that_is_not_penalized():
    """It moves when a sample is left out: the error was above the bound in 7 of 80 problems."""
    rng = np.random.default_rng(19)
    X = rng.standard_normal((20, 2)) + 2
    gram, y = mp.Gram.from_kernel(X, mp.Linear()), np.where(X[:, 0] > 2, 1, -1)
    problem, solver = mp.Problem(gram, y, intercept=True), mp.SolutionPath(mp.Constant(1.0))
    with pytest.raises(ValueError, match=r"not penalized.*Use intercept=False and a kernel plus a constant"):
        leave_one_out(problem, mp.run(solver, problem, 20).last)
    with pytest.raises(ValueError, match="not penalized"):
        mp.run(solver, problem, 20, observe=LeaveOneOut().observed, stop=LeaveOneOut())
    without = mp.Problem(gram, y)
    assert 0 <= leave_one_out(without, mp.run(solver, without, 20).last) <= 1


def observed(schedule, rule, steps):
    """Return a path over two noisy columns that observes what every rule here reads."""
    _, problem = noisy_columns([0.1, 0.2])
    observe = {
        "bound": mp.metrics.bound,
        "score": lambda problem, state: -leave_one_out(problem, state),
        "leave_one_out": leave_one_out,
    }
    return mp.run(mp.DualDescent(schedule), problem, steps, observe=observe, stop=rule)


PATIENCE = [NoImprovement("score", growth=10), NoImprovement("score", steps=7), LeaveOneOut()]


@pytest.mark.parametrize("rule", PATIENCE)
def test_steps_with_an_empty_box_only_delay_a_rule(rule):
    """0 is not ten times 0: where λ is infinite for three steps, all that follows is three steps later."""
    schedule = mp.PowerDecay(20.0)
    path = observed(schedule, rule, 400)
    late = observed(lambda t: schedule(t - 3) if t > 3 else np.inf, rule, 403)
    np.testing.assert_array_equal(path["bound"][1:], late["bound"][4:])
    assert np.all(path.stop_steps > 1)
    np.testing.assert_array_equal(late.stop_steps, path.stop_steps + 3)


@pytest.mark.parametrize("schedule", [mp.LogDecay(100.0), mp.Constant(1.0), lambda t: 0.0])
@pytest.mark.parametrize("rule", [PATIENCE[0], PATIENCE[2]])
def test_a_bound_that_hardly_grows_takes_all_the_steps(schedule, rule):
    """Nor is ∞ ten times ∞, where λ is 0."""
    path = observed(schedule, rule, 20)
    assert path.last.t == 20
    assert np.all(path.running())


def test_a_step_with_an_empty_box_is_never_chosen():
    problem = mp.Problem(mp.Gram.from_matrix(np.eye(2)), [1, -1])
    rule = LeaveOneOut()  # no sample tells of the other: every step misses all that is left out
    path = mp.run(mp.DualDescent(mp.LogDecay(1.0)), problem, 5, observe=rule.observed, stop=rule)
    np.testing.assert_array_equal(path["leave_one_out"], 1.0)
    assert int(rule.choose(path)) == 2


def test_a_rule_names_what_the_path_did_not_observe():
    _, problem = noisy_columns([0.1])
    with pytest.raises(ValueError, match="reads 'accuracy', which this path did not observe"):
        mp.run(mp.CoordinateDescent(), problem, 2, observe=["bound"], stop=NoImprovement("accuracy"))


@pytest.mark.parametrize(
    "make",
    [lambda: LeaveOneOut(1.0), lambda: QuasiOptimality(0.5), lambda: QuasiOptimality(skip=-1)],
)
def test_bad_settings_are_refused(make):
    with pytest.raises(ValueError, match="must"):
        make()


def test_discrepancy_refuses_a_factor_of_zero():
    with pytest.raises(ValueError, match="factor must be positive"):
        Discrepancy(0.1, 0)


def test_the_experiment_from_data_to_files(monkeypatch):
    monkeypatch.setitem(stopping_rules.DATA, "mixture", lambda: stopping_rules.mixture(n_test=200))
    table = stopping_rules.compute(data=["mixture"], levels=(0.0, 0.2), draws=2, steps=12)
    assert table.error.shape == (1, 2, 2, len(stopping_rules.RULES))
    assert np.all(table.excess >= 0)
    rules = list(stopping_rules.RULES)
    assert np.all(table.step[..., rules.index("last step")] == 12)
    assert np.all(table.step[0, 1, :, rules.index("a priori, t*(N)")] == 1)
    files = stopping_rules.files(table)
    assert len(files["stopping_rules.csv"].decode().splitlines()) == 1 + 2 * 2 * len(rules)
    assert files["stopping_rules.png"].startswith(b"\x89PNG")
    page = files["stopping_rules.md"].decode()
    assert page.count("5-fold cross-validation") == 2


def test_held_out_samples_are_drawn_apart_from_the_flips():
    y = np.where(np.arange(200) % 2, 1, -1)
    noisy = np.stack([noise.flip_exactly(y, 40, seed=j) for j in range(3)], axis=1)
    held, labels = stopping_rules._held_out(noisy)
    assert np.all((labels == 0) == held)
    for j in range(3):
        folds = held[:, 6 * j : 6 * j + 5]
        assert np.all(folds.sum(axis=1) == 1)
        wrong = (noisy[:, j] != y)[held[:, 6 * j + 5]].mean()
        assert 0 < wrong < 0.6


def test_the_published_numbers_say_what_the_page_says():
    with (PUBLISHED / "stopping_rules.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    excess = {}
    for line in lines:
        key = line["rule"], line["data"], line["flips"]
        excess.setdefault(key, []).append(100 * float(line["excess"]))
    assert {len(values) for values in excess.values()} == {10}
    assert len(excess) == len(stopping_rules.RULES) * 15
    mean = {key: np.mean(values) for key, values in excess.items()}
    overall = {rule: [v for key, v in mean.items() if key[0] == rule] for rule in stopping_rules.RULES}
    folds, loo = overall["5-fold cross-validation"], overall["leave-one-out bound"]
    assert np.mean(folds) == min(map(np.mean, overall.values())) < 0.3
    assert max(folds) == min(map(max, overall.values()))
    assert np.mean(loo) < 0.6
    assert max(loo) < 1.5
    known = {rule: values for rule, values in overall.items() if rule.startswith("discrepancy")}
    assert all(np.mean(values) > np.mean(folds) for values in known.values())
    htru = [mean["discrepancy, p", "HTRU2", level] for level in ("0", "0.05", "0.1", "0.2", "0.3")]
    assert max(htru) < 0.2
    assert mean["quasi-optimality", "MNIST 3 vs 5", "0.3"] > 10
    assert min(mean["quasi-optimality", "HTRU2", level] for level in ("0", "0.3")) > 3


def test_steps_without_the_gap_that_is_promised_are_no_better():
    """Rounding keeps gaps open in the end; scores that go on by chance would let a path go on for ever."""
    problem = mp.Problem(mp.Gram.linear(np.array([[1.0], [-1.0]])), [1, -1])
    last = {}

    def gap(problem, state):
        return np.where(state.t <= last["solved"], 0.0, 1.0)

    for last["solved"], end in ((5, 8), (30, 20)):
        path = mp.run(
            mp.SolutionPath(mp.GeometricDecay(1.0, 1.5)),
            problem,
            20,
            observe={"bound": mp.metrics.bound, "gap": gap, "score": lambda problem, state: 1.0 * state.t},
            stop=NoImprovement("score", steps=3),
        )
        assert path.last.t == end
