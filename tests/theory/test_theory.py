"""The theorems: constants, bounds on many small problems, and the counterexamples to the printed forms."""

import csv
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from marginpath_lab.experiments import theory_bounds, theory_page
from naive import random_problem, separable

import marginpath as mp
from marginpath import theory

STEPS, SIZE, COUNT = 5000, 7, 100
PUBLISHED = Path(__file__).parents[2] / "docs" / "_static" / "theory"


def small_problem(seed):
    """(K, y) of a separable problem of seven samples, ‖K‖ = 1: linear in 1 … 4 dimensions, or a kernel."""
    if seed % 2:
        X, y = separable(seed, SIZE, 1 + seed // 2 % 4)
        K = X @ X.T
    else:
        _, K, y = random_problem(seed, SIZE, "kernel")
    return K / np.linalg.norm(K, 2), y


class Family:
    """A hundred problems as one of block-diagonal K, so that one run of the package makes all their paths."""

    def __init__(self):
        self.K, self.y = map(np.array, zip(*map(small_problem, range(COUNT)), strict=True))
        problems = [mp.Problem(mp.Gram.from_matrix(K), y) for K, y in zip(self.K, self.y, strict=True)]
        self.u = np.array([mp.maximum_margin(problem, tol=1e-13).u for problem in problems])
        self.problems = problems
        values, vectors = np.linalg.eigh(self.K)
        roots = vectors * np.sqrt(np.maximum(values, 0))[:, None]
        whole = sp.csr_array(sp.block_diag([sp.coo_array(root) for root in roots]))
        self.problem = mp.Problem(mp.Gram.linear(whole), self.y.ravel())
        self.start = -np.random.default_rng(0).exponential(size=self.u.shape)

    def constants(self, start=None):
        starts = self.start if start is not None else np.zeros_like(self.u)
        return [
            theory.constants(problem, solution=u, start=u0)
            for problem, u, u0 in zip(self.problems, self.u, starts, strict=True)
        ]

    def gaps(self, momentum=None, step_size=1.0, start=None, steps=STEPS):
        """Return ‖w_t − w*‖, angle gap and margin gap, each (steps + 1, COUNT)."""
        solver = mp.DualDescent(mp.Constant(1 / np.abs(self.u).max()), momentum, step_size)
        observe = {"u": lambda problem, state: state.u, "S": lambda problem, state: state.scores}
        first = None if start is None else start.ravel()
        path = mp.run(solver, self.problem, steps, observe=observe, keep=0, start=first)
        v, S = (self.y * path[name].reshape(-1, COUNT, SIZE) for name in ("u", "S"))
        star = self.y * self.u
        S_star = np.einsum("pij,pj->pi", self.K, star)

        def length(a, b):
            return np.sqrt(np.maximum(np.sum(a * b, axis=-1), 0))

        S = self.y * S  # K(Y∘u)
        norm, best = length(v, S), length(star, S_star)
        safe = np.where(norm > 0, norm, 1.0)
        apart = [a / safe[..., None] - b / best[:, None] for a, b in ((v, star), (S, S_star))]
        direction = length(*apart)
        margin = np.min(-self.y * S, axis=-1) / safe
        return length(v - star, S - S_star), np.where(norm > 0, direction**2 / 2, 1.0), 1 / best - margin


@pytest.fixture(scope="module")
def family():
    return Family()


def assert_bounded(gaps, bounds, constants):
    """All three quantities, at every step; return the tightest ratios of bound to truth."""
    t = np.arange(len(gaps[0]))
    tightest = []
    for values, name in zip(gaps, ("distance", "angle_gap", "margin_gap"), strict=True):
        bound = np.stack([getattr(b, name)(t) for b in bounds], axis=1)
        scale = np.array([c.w_norm if name == "distance" else 1.0 for c in constants])
        assert np.all(values <= bound * (1 + 1e-9) + 1e-6 * scale), name
        telling = (values > 1e-4 * scale) & np.isfinite(bound)
        tightest.append(float(np.min(bound[telling] / values[telling])))
    return tightest


@pytest.mark.parametrize("product", [pytest.param(0.5, marks=pytest.mark.heavy), 1.0, 1.5])
def test_theorem_1_holds_at_every_step(family, product):
    constants = family.constants()
    if product > 1:
        with pytest.warns(UserWarning, match="over 1/‖K‖"):
            gaps = family.gaps(step_size=product)
    else:
        gaps = family.gaps(step_size=product)
    tightest = assert_bounded(gaps, [theory.Theorem1(c, product) for c in constants], constants)
    print(f"γL = {product}: tightest bound/actual (distance, angle, margin) {np.round(tightest, 2)}")
    assert tightest[0] < 1.2
    assert max(tightest) < 4


def test_theorem_1_holds_from_any_start(family):
    constants = family.constants(family.start)
    assert_bounded(
        family.gaps(start=family.start, steps=500), [theory.Theorem1(c, 1.0) for c in constants], constants
    )


@pytest.mark.parametrize("alpha", [3.0, pytest.param(10.0, marks=pytest.mark.heavy)])
def test_theorem_2_holds_at_every_step(family, alpha):
    constants = family.constants()
    bounds = [theory.Theorem2(c, 1.0, alpha) for c in constants]
    tightest = assert_bounded(family.gaps(mp.Inertia(alpha)), bounds, constants)
    print(f"α = {alpha}: tightest bound/actual (distance, angle, margin) {np.round(tightest, 2)}")
    assert tightest[0] < 2


def test_theorem_2_holds_from_any_start(family):
    constants = family.constants(family.start)
    bounds = [theory.Theorem2(c, 1.0) for c in constants]
    assert_bounded(family.gaps(mp.Inertia(3), start=family.start, steps=500), bounds, constants)


def test_half_of_the_problems_need_hoffmans_constant(family):
    singular = [c.smallest == 0 for c in family.constants()]
    assert 40 <= sum(singular) <= 60
    assert all(np.isnan(c.tau) != s for c, s in zip(family.constants(), singular, strict=True))


def test_a_box_too_small_at_first_starts_the_bound_later(family):
    problem, u = family.problems[1], family.u[1]
    γ, schedule = 1.0, mp.PowerDecay(20 / np.abs(u).max())
    path = mp.run(mp.DualDescent(schedule, step_size=γ), problem, 400)
    first = next(t for t in range(1, 400) if 1 / schedule(t) >= np.abs(u).max())
    assert first > 10
    bounds = theory.Theorem1(theory.constants(problem, solution=u, start=path.state(first).u), γ)
    reference = mp.Reference(problem, u)
    for t in range(first, 401):
        assert reference.distance(problem, path.state(t)) <= bounds.distance(t - first) + 1e-6


def test_the_printed_mu_is_far_smaller(family):
    ratios = [c.mu / c.printed_mu for c in family.constants() if c.tau == c.tau and c.printed + c.rise >= 0]
    assert len(ratios) > 10
    assert np.median(ratios) > 30


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["linear", "kernel"]), product=st.floats(0.05, 1.9))
def test_with_the_worst_coupling_the_a_priori_time_is_one(seed, kind, product):
    _, K, y = random_problem(seed, 8, kind)
    c = theory.constants(mp.Problem(mp.Gram.from_matrix(K), y))
    for N in range(1, 5):
        assert theory.Theorem3(c, product / c.L, N).stopping_step == 1
    assert theory.Theorem3(c, product / c.L, 0).stopping_step == math.inf


def test_with_all_labels_flipped_the_a_priori_time_is_infinite():
    """A stays as it was, so that nothing grows: the path goes to −w*, which the second term covers."""
    K, y = small_problem(2)
    problem = mp.Problem(mp.Gram.from_matrix(K), y)
    c = theory.constants(problem)
    bound = theory.Theorem3(c, 1 / c.L, flips=SIZE)
    assert bound.C1 == 0
    assert bound.stopping_step == math.inf
    assert bound.distance(10**9) >= 2 * c.w_norm
    assert theory.Theorem3(c, 1 / c.L, flips=SIZE - 1).stopping_step == 1


def algorithm_1(K, y, steps, γ, box):
    u, path = np.zeros(len(y)), []
    for t in range(steps + 1):
        path.append(u)
        u = np.clip(u - γ * (y * (K @ (y * u)) + 1), -box * (t + 1), 0)
    return np.array(path)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("probability", [0.01, 0.2, 0.5, 0.9])
def test_the_bound_for_random_flips_holds_for_the_exact_expectation(seed, probability):
    """All 2^7 ways to flip, each with its probability."""
    K, y = small_problem(seed)
    problem = mp.Problem(mp.Gram.from_matrix(K), y)
    γ, box, steps = 1 / np.linalg.eigvalsh(K)[-1], 3.0, 60
    solution = mp.maximum_margin(problem).u
    bound = theory.random_flips(problem, algorithm_1(K, y, steps, γ, box), solution, probability, γ)
    expected = np.zeros(steps + 1)
    for signs in itertools.product((1, -1), repeat=SIZE):
        noisy = y * np.array(signs)
        N = signs.count(-1)
        off = algorithm_1(K, noisy, steps, γ, box) * noisy - solution * y
        distance = np.sqrt(np.maximum(np.sum(off * (off @ K), axis=1), 0))
        expected += probability**N * (1 - probability) ** (SIZE - N) * distance
    assert np.all(expected <= bound * (1 + 1e-12))
    if probability < 0.1:
        assert np.any(expected[1:5] > bound[1:5] / 2)  # a bound that is half as large would fail


@pytest.mark.parametrize("seed", range(0, 8, 2))  # kernels, which separate any labels
def test_no_step_on_labels_between_two_is_nearer_to_both_than_half_their_distance(seed):
    K, y = small_problem(seed)
    apart, between = y.copy(), y.copy()
    apart[:2], between[0] = -y[:2], -y[0]  # one flip from either, two from each other
    gram = mp.Gram.from_matrix(K)
    problems = [mp.Problem(gram, labels) for labels in (y, apart)]
    ends = [mp.maximum_margin(problem).u for problem in problems]
    bound = theory.two_point_bound(problems[0], ends[0], problems[1], ends[1])
    path = algorithm_1(K, between, 300, 1 / np.linalg.eigvalsh(K)[-1], 3.0) * between

    def distances(coefficients):
        off = [coefficients - p.Y * u for p, u in zip(problems, ends, strict=True)]
        return [np.sqrt(np.maximum(np.sum(x * (x @ K), axis=-1), 0)) for x in off]

    assert np.all(np.maximum(*distances(path)) >= bound * (1 - 1e-9))
    middle = (problems[0].Y * ends[0] + problems[1].Y * ends[1]) / 2
    assert max(distances(middle)) == pytest.approx(bound)  # no larger one holds for every method


def test_random_flips_are_bounded_far_below_the_worst_case():
    """Where Theorem 3 says less than w = 0 does, the bound on the mean does not."""
    X, y = separable(5, 40, 3)
    problem = mp.Problem(mp.Gram.linear(X), y)
    c = theory.constants(problem, tau=10.0)
    u = algorithm_1(X @ X.T, y, 50, 1 / c.L, 1.0)
    worst = theory.Theorem3(c, 1 / c.L, flips=1).distance(np.arange(1, 51))
    mean = theory.random_flips(problem, u, mp.maximum_margin(problem).u, 1 / 40, 1 / c.L)[1:]
    assert mean.min() < c.w_norm < worst.min() / 3


def test_the_a_priori_time_of_known_flips_minimises_the_bound():
    """A flipped sample that is nearly orthogonal to the others moves the path little: stop late."""
    K = np.eye(4)
    K[0, 1:] = K[1:, 0] = 1e-4
    problem = mp.Problem(mp.Gram.from_matrix(K), [1, -1, 1, -1])
    c = theory.constants(problem)
    bound = theory.Theorem3(c, 1 / c.L, 1, theory.coupling(problem, [0]))
    t = np.arange(1, 200)
    assert 3 < bound.stopping_step == t[np.argmin(bound.distance(t))]


def test_the_printed_a_priori_time_changes_with_the_scale():
    """C1 has no γ in it: data a million times smaller have another t*(N), and the same path."""
    times = []
    for scale in (1.0, 1e-6):
        _, K, y = random_problem(0, 8, "kernel")
        c = theory.constants(mp.Problem(mp.Gram.from_matrix(scale**2 * K), y))
        times.append(theory.PrintedTheorem3(c, 1 / c.L, 1, C=c.C, mu=c.mu).stopping_step)
    assert times[0] == 1
    assert times[1] > 10


def test_the_printed_optimum_is_no_bound_where_the_maximum_is_one():
    """Where max{1, ·} picks 1, the formula has the ln of less than 1: it is under the bound, even under 0."""
    _, K, y = random_problem(0, 8, "kernel")
    c = theory.constants(mp.Problem(mp.Gram.from_matrix(K), y))
    printed = theory.PrintedTheorem3(c, 1 / c.L, 2, C=c.C, mu=c.mu)
    assert printed.stopping_step == 1
    assert printed.optimum < printed.distance(1)
    assert printed.optimum < 0


def flipped_problem(seed, n, N, kind="kernel"):
    _, K, y = random_problem(seed, n, kind)
    gram = mp.Gram.from_matrix(K / np.linalg.norm(K, 2))
    flipped = np.random.default_rng(seed).permutation(n)[:N]
    noisy = y.copy()
    noisy[flipped] *= -1
    return gram, y, noisy, flipped


@pytest.mark.parametrize("kind", ["kernel", "linear"])
def test_theorem_3_holds_for_all_flips_and_steps(kind):
    """N = 1 … n/4, ten draws each, as columns; the bound with the worst coupling and with the true one."""
    n, draws, steps = 16, 10, 1000
    _, K, y = random_problem(3, n, kind)
    gram = mp.Gram.from_matrix(K / np.linalg.norm(K, 2))
    clean = mp.Problem(gram, y)
    u = mp.maximum_margin(clean, tol=1e-13).u
    c = theory.constants(clean, solution=u)
    Ns = [N for N in range(1, n // 4 + 1) for _ in range(draws)]
    noisy = [mp.noise.flip_exactly(y, N, seed=j) for j, N in enumerate(Ns)]
    problem = mp.Problem(gram, np.stack(noisy, axis=1))
    best = clean.scores(u)

    def distance(problem, state):
        difference = problem.Y * state.u - (y * u)[:, None]
        return np.sqrt(np.maximum(np.sum(difference * (state.scores - best[:, None]), axis=0), 0))

    solver = mp.DualDescent(mp.Constant(1 / c.u_max), step_size=1.0)
    path = mp.run(solver, problem, steps, observe={"d": distance}, keep=0)
    t = path.steps
    for j, N in enumerate(Ns):
        known = theory.coupling(clean, np.flatnonzero(noisy[j] != y))
        for B in (None, known):
            bound = theory.Theorem3(c, 1.0, N, B)
            assert np.all(path["d"][1:, j] <= bound.distance(t[1:]) + 1e-9)
        assert theory.Theorem3(c, 1.0, N, known).C1 <= theory.Theorem3(c, 1.0, N).C1 * (1 + 1e-9)


def test_hoffman_by_hand_and_its_refusal():
    rng = np.random.default_rng(0)
    X, y = separable(0, 9, 2)
    problem = mp.Problem(mp.Gram.linear(X), y)
    Z = y[:, None] * X
    E = np.vstack([Z.T, np.ones(9)])
    by_hand = max(
        1 / np.linalg.svd(E[:, F], compute_uv=False)[-1] for F in itertools.combinations(range(9), 3)
    )
    assert theory.hoffman_constant(problem) == pytest.approx(by_hand, rel=1e-6)
    assert theory.hoffman_lower_bound(problem, draws=5) <= by_hand * (1 + 1e-6)
    assert theory.hoffman_lower_bound(problem, draws=500) == pytest.approx(by_hand, rel=1e-6)
    big = mp.Problem(mp.Gram.linear(rng.standard_normal((60, 20))), np.where(np.arange(60) % 2, 1, -1))
    with pytest.raises(ValueError, match=r"C\(60, 21\) = .* over the limit of 500,000.*hoffman_lower_bound"):
        theory.hoffman_constant(big)


def test_constants_refuse_what_the_theorems_do_not_cover():
    _, K, y = random_problem(0, 8, "kernel")
    gram = mp.Gram.from_matrix(K)
    with pytest.raises(ValueError, match=r"one column.*\(8, 2\)"):
        theory.constants(mp.Problem(gram, np.stack([y, y], axis=1)))
    with pytest.raises(ValueError, match="know no weights"):
        theory.constants(mp.Problem(gram, y, sample_weight=np.arange(1, 9)))
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="separable"):
        theory.constants(mp.Problem(mp.Gram.linear(X), [1, -1, 1]))
    c = theory.constants(mp.Problem(gram, y))
    with pytest.raises(ValueError, match="0 < step_size < 2/L"):
        theory.Theorem1(c, 2 / c.L)
    with pytest.raises(ValueError, match="step_size ≤ 1/L"):
        theory.Theorem2(c, 1.1 / c.L)
    with pytest.raises(ValueError, match="alpha ≥ 3"):
        theory.Theorem2(c, 1 / c.L, 2.0)
    with pytest.raises(ValueError, match="flips must be from 0 to n = 8"):
        theory.Theorem3(c, 1 / c.L, 9)


def test_samples_left_out_do_not_count():
    _, K, y = random_problem(1, 8, "kernel")
    keep = np.arange(8) != 3
    whole = theory.constants(mp.Problem(mp.Gram.from_matrix(K), np.where(keep, y, 0)))
    part = theory.constants(mp.Problem(mp.Gram.from_matrix(K[np.ix_(keep, keep)]), y[keep]))
    assert whole.n == 7
    assert whole.mu == pytest.approx(part.mu)
    assert pytest.approx(part.C) == whole.C


@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_tikhonov_with_the_hinge_loss_ends_exactly_at_the_maximum_margin(kind):
    _, K, y = random_problem(2, 12, kind)
    problem = mp.Problem(mp.Gram.from_matrix(K), y)
    u = mp.maximum_margin(problem).u
    c = theory.constants(problem, solution=u, limit=10**6)
    side = theory.tikhonov_side(problem, np.geomspace(100, 0.9, 12) / c.u_max, solution=u)
    assert np.all(np.diff(side.norm) >= -1e-9)
    assert side.norm[-1] <= c.w_norm * (1 + 1e-6)
    assert side.distance[0] > 0.2 * c.w_norm
    assert side.distance[-1] < 1e-4 * c.w_norm


@pytest.mark.parametrize("loss", [mp.Logistic(), mp.Exponential()])
def test_tikhonov_with_an_exponential_tail_diverges_in_norm_and_converges_in_direction(loss):
    _, K, y = random_problem(2, 12, "kernel")
    problem = mp.Problem(mp.Gram.from_matrix(K), y)
    side = theory.tikhonov_side(problem, [1e-2, 1e-4, 1e-8, 1e-12], loss)
    w_norm = theory.constants(problem).w_norm
    growth = np.diff(side.norm) / np.log([1e2, 1e4, 1e4])
    assert np.all(growth > 0.4 * w_norm)  # ‖w_λ‖ ≈ ‖w*‖ ln(1/λ)
    assert side.norm[-1] > 10 * w_norm
    assert np.all(np.diff(side.angle_gap) < 0)
    assert side.angle_gap[-1] < 1e-2


@pytest.mark.heavy
def test_the_experiment_on_a_small_scale():
    table = theory_bounds.compute(steps=40, draws=3, count=4)
    for run in (*table.theorem1, *table.theorem2):
        for name in theory_bounds.QUANTITIES:
            assert np.all(run.measured[name] <= run.proved[name] + 1e-6)
    assert all(one.ratio > 1 for one in table.stability)
    page = theory_page.markdown(table)
    for name in ("constants", "inertia", "tightest", "stability", "fits"):
        piece = page.partition(f"<!-- begin {name} -->")[2].partition(f"<!-- end {name} -->")[0]
        assert piece.count("\n|") >= 3


@pytest.mark.heavy
def test_the_experiment_from_problems_to_files():
    files = theory_bounds.files(theory_bounds.compute())
    for name in ("theorem1", "theorem2", "theorem3", "tikhonov"):
        assert files[f"{name}.png"].startswith(b"\x89PNG")
        assert b"<svg" in files[f"{name}.svg"][:1000]


def test_the_published_numbers_say_what_the_pages_say():
    with (PUBLISHED / "theory_stability.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    for problem in {line["problem"] for line in lines}:
        own = [line for line in lines if line["problem"] == problem]
        assert [int(line["flips"]) for line in own] == list(range(1, 11))
        best, steps = ([float(line[key]) for line in own] for key in ("best", "step_median"))
        assert np.all(np.diff(best) > 0)
        assert np.all(np.diff(steps) <= 0)
        assert steps[0] > 5 * steps[-1]
        assert 0.2 < np.polyfit(np.log(range(1, 11)), np.log(best), 1)[0] <= 0.5
        assert all(float(line["bound_1"]) > 10 for line in own)
