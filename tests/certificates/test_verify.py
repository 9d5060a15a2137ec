"""The verifier of certificates can fail, and the certificates do not."""

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from naive import hard_margin, random_problem
from verify import fuzz, kernels
from verify.cases import draw_case
from verify.claims import vector_claims
from verify.exact import ExactGram, exact_interval, status_violations, violations

import marginpath as mp

ONES = [1.0, 1.0]


def test_exact_arithmetic_shares_no_code_with_the_package():
    lines = "import sys, verify.exact; assert not {'numpy', 'marginpath'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", lines], cwd=fuzz.__file__.rpartition("/verify/")[0], check=True)


@pytest.mark.parametrize("seed", range(5))
def test_the_numbers_are_those_of_the_definitions(seed):
    rng = np.random.default_rng(seed)
    X, v = rng.standard_normal((6, 3)), rng.exponential(size=6) * 10.0 ** rng.integers(-30, 30, 6)
    y, weight = np.array([1, -1, 0, 1, -1, 1]), np.array([1, 2.5, 1, 0, 1, 1])
    counts = [0, 1, 4, 5]
    w = [sum(int(y[i]) * Fraction(v[i]) * Fraction(X[i, j]) for i in counts) for j in range(3)]
    m = [int(y[i]) * sum(Fraction(X[i, j]) * w[j] for j in range(3)) for i in counts]
    expected = min(m), sum(a * a for a in w), sum(Fraction(v[i]) for i in counts)
    assert exact_interval(X, y, weight, v, rows=True) == expected
    assert ExactGram.from_rows(X).proof(y, weight, -v).cap == min(sum(map(_square, X[i])) for i in counts)


def _square(a):
    return Fraction(a) ** 2


def test_kernels_of_exact_numbers():
    X = [[0.5, -1.0], [2.0, 0.25]]
    for exact, package in (
        (kernels.gaussian(1.5), mp.Gaussian(1.5)),
        (kernels.laplacian(1.5), mp.Laplacian(1.5)),
        (kernels.polynomial(3, 0.5, 1.0), mp.Polynomial(3, 0.5, 1.0)),
    ):
        gram = ExactGram.from_kernel(X, exact)
        K = [[float(Fraction(a, 2**gram.shift)) for a in row] for row in gram.k]
        np.testing.assert_allclose(K, package(np.array(X)), rtol=1e-14)
    digits = "0.367879441171442321595523770161460867445811131031767834507836801697461495744899803357147274346"
    e = ExactGram.from_kernel([[0.0], [1.0]], kernels.laplacian(1.0)).k[0][1]
    assert abs(Fraction(e, 2**400) - Fraction(digits)) < Fraction(1, 10**90)  # 1/e


def test_a_bound_that_is_off_by_one_part_in_1e15_is_rejected():
    proof = ExactGram.from_rows([[3.0, 4.0], [-3.0, -4.0]]).proof([1, -1], ONES, [-0.25, -0.25])
    assert violations(5.0, 5.0, proof, Fraction(25)) == []
    over, under = 5 * (1 + 1e-15), 5 * (1 - 1e-15)
    assert violations(under, over, proof, Fraction(25)) == []
    assert "lower is over what u proves" in violations(over, 6.0, proof)
    assert "lower is over the true margin" in violations(over, 6.0, proof, Fraction(25))
    assert "upper is under what u proves" in violations(4.0, under, proof)
    assert "upper is under the true margin" in violations(4.0, under, proof, Fraction(25))
    assert "lower is over upper" in violations(over, under, proof)


@pytest.mark.parametrize("u", [[-0.5, -0.5], [-0.5, -2.0], [-0.5, -0.25]])
def test_with_an_intercept_the_class_that_weighs_more_is_reduced(u):
    proof = ExactGram.from_rows([[3.0, 4.0], [9.0, 12.0]]).proof([-1, 1], ONES, u, intercept=True)
    assert proof.upper_squared == proof.lower_squared == Fraction(25)  # half of their distance
    assert violations(5.0, 5.0, proof, Fraction(25)) == []
    assert "lower is over what u proves" in violations(5 * (1 + 1e-15), 6.0, proof)
    assert "upper is under what u proves" in violations(4.0, 5 * (1 - 1e-15), proof)


@pytest.mark.parametrize("seed", range(5))
def test_with_an_intercept_the_proof_is_that_of_the_definitions(seed):
    rng = np.random.default_rng(seed)
    X, v, y = rng.standard_normal((6, 2)), rng.exponential(size=6), np.array([1, -1, 1, -1, 1, 1])
    balanced = np.where(y > 0, v * v[y < 0].sum() / v[y > 0].sum(), v)
    m, w = y * (X @ (X.T @ (y * v))), X.T @ (y * balanced)
    nearest = min(np.sum((X[i] - X[j]) ** 2) / 4 for i in (0, 2, 4, 5) for j in (1, 3))
    proof = ExactGram.from_rows(X).proof(y, np.ones(6), -v, intercept=True)
    assert float(proof.smallest) == pytest.approx((m[y > 0].min() + m[y < 0].min()) / 2, rel=1e-12)
    assert float(proof.squared) == pytest.approx(v @ m, rel=1e-12)
    assert float(proof.upper_squared) == pytest.approx(min(nearest, w @ w / balanced.sum() ** 2), rel=1e-10)


def test_the_two_floats_around_a_root_are_told_apart():
    proof = ExactGram.from_matrix([[2.0, -2.0], [-2.0, 2.0]]).proof([1, -1], ONES, [-0.1, -0.1])
    above = math.sqrt(2)  # rounded up
    below = math.nextafter(above, 0)
    assert violations(below, above, proof, Fraction(2)) == []
    assert violations(above, above, proof) == ["lower is over what u proves"]
    assert violations(below, below, proof) == ["upper is under what u proves"]


@pytest.mark.parametrize(
    "ends", [(math.nan, 1.0), (0.0, math.nan), (math.inf, math.inf), (-1.0, -0.5), (-9.0, -math.inf)]
)
def test_what_is_no_interval_is_rejected(ends):
    proof = ExactGram.from_matrix([[1.0, 0.0], [0.0, 1.0]]).proof([1, -1], ONES, [-1.0, -1.0])
    assert violations(*ends, proof)
    assert violations(-math.inf, math.inf, proof) == []


def test_without_a_dual_vector_only_one_sample_bounds_from_above():
    gram = ExactGram.from_matrix([[4.0, 0.0], [0.0, 9.0]])
    for u in ([0.0, 0.0], [1.0, -2.0]):
        proof = gram.proof([1, -1], ONES, u)
        assert violations(0.0, 2.0, proof) == []
        assert violations(0.0, math.nextafter(2.0, 0), proof) == ["upper is under what u proves"]
        assert violations(5e-324, 2.0, proof) == ["lower is over what u proves"]


def test_words_that_say_too_much_are_rejected():
    good = {
        "lower": 0.5,
        "upper": 0.5 + 1e-11,
        "epsilon": 1e-7,
        "tol": 1e-10,
        "least_squared": Fraction(1, 4),
        "cap": 1,
    }
    assert status_violations("exact", **good) == []
    assert status_violations("exact", **good | {"tol": 1e-12}) == ["exact with a gap over tol"]
    assert status_violations("exact", **good | {"lower": 0.0}) == ["exact without bounds on either side"]
    none = {
        "lower": 0.0,
        "upper": 1e-8,
        "epsilon": 1e-7,
        "tol": 1e-10,
        "least_squared": Fraction(0),
        "cap": 1,
    }
    assert status_violations("certified", **none) == []
    assert len(status_violations("certified", **none | {"least_squared": Fraction(1, 10**13)})) == 1
    assert len(status_violations("certified", **none | {"upper": 1e-6})) == 1
    assert len(status_violations("certified", **none | {"lower": 1e-9})) == 1
    assert len(status_violations("inseparable", **good)) == len(status_violations("zero_rows", **good)) == 1
    assert (
        status_violations("inseparable", **none) == status_violations("zero_rows", **none | {"cap": 0}) == []
    )


def _outwards(problem, u, cases):
    """Certificates from the exact numbers themselves, rounded outwards."""
    case = cases[problem]
    ends = []
    for column, v in zip(case.columns, np.asarray(u).reshape(len(u), -1).T, strict=True):
        proof = case.exact.proof(column, case.weight, v.tolist())
        ends.append((_root(proof.lower_squared, down=True), _root(proof.upper_squared, down=False)))
    return np.array(ends).T


def _root(square, down):
    """Return a float on the asked side of √square."""
    shift = max(0, 200 - square.numerator.bit_length() + square.denominator.bit_length())
    shift += shift % 2
    whole = math.isqrt((square.numerator << shift) // square.denominator)
    root = Fraction(whole, 1 << shift // 2)
    for _ in range(3):
        near = float(root)
        if (Fraction(near) ** 2 <= square) if down else (Fraction(near) ** 2 >= square):
            return near
        root = Fraction(math.nextafter(near, 0 if down else math.inf))
    raise AssertionError(square)


def _plain(problem, u):
    """The bounds by the formula, with no thought of rounding."""
    K, Y, counts = problem.gram.rows(range(len(u))).astype(np.float64), problem.Y, problem.mass > 0
    v = np.where(counts, -np.asarray(u, dtype=np.float64), 0)
    m = Y * (K @ (Y * v))
    norm, total = np.sqrt(np.maximum(np.sum(v * m, axis=0), 0)), np.sum(v, axis=0)
    roots = np.sqrt(np.diag(K)).reshape(-1, *[1] * (v.ndim - 1))
    cap, smallest = (np.where(counts, x, np.inf).min(axis=0) for x in (roots, m))
    lower = np.where(norm > 0, smallest / np.where(norm > 0, norm, 1), 0)
    return lower, np.minimum(np.where(total > 0, norm / np.where(total > 0, total, 1), cap), cap)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("honest", [True, False])
def test_the_fuzz_tells_honest_certificates_from_plain_arithmetic(monkeypatch, honest):
    tally, cases = fuzz.Tally(), {}
    monkeypatch.setattr(mp, "margin_bounds", (lambda p, u: _outwards(p, u, cases)) if honest else _plain)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        case = draw_case(rng)
        cases[case.problem] = case
        fuzz.check_claims(seed, case, vector_claims(case, rng), tally)
    assert tally.certificates > 150
    assert tally.violations == 0 if honest else tally.violations > 20


def _faults(X, y, u, truth, bounds, weight=None):
    proof = ExactGram.from_rows(X).proof(y, np.ones(len(y)) if weight is None else weight, u)
    return violations(*bounds, proof, truth)


@pytest.mark.parametrize(
    "solver",
    [mp.CoordinateDescent(), mp.CoordinateDescent(mp.GeometricDecay(8.0)), mp.CoordinateDescent(ratio=3.0)],
)
def test_fields_that_drift_prove_nothing(solver):
    toy = mp.datasets.toy()
    problem = mp.Problem(mp.Gram.linear(toy.X), toy.y)
    path = mp.run(solver, problem, 49, observe=["margin_lower", "margin_upper"])
    for t in range(1, 50):
        ends = path["margin_lower"][t], path["margin_upper"][t]
        assert _faults(toy.X, toy.y, path.state(t).u, Fraction(2), ends) == []


@pytest.mark.parametrize("d", [2000, 20_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_wide_data(d, dtype):
    X = np.full((2, d), 1 / 3, dtype=dtype)
    X[1] *= -1
    truth = d * Fraction(float(X[0, 0])) ** 2
    problem = mp.Problem(mp.Gram.linear(X), [1, -1])
    u = np.full(2, -0.5 / float(truth), dtype=dtype)
    assert _faults(X, [1, -1], u, truth, mp.margin_bounds(problem, u)) == []
    best = mp.maximum_margin(problem, tol=1e-14)
    assert _faults(X, [1, -1], best.u, truth, best.margin_bounds) == []
    path = mp.run(mp.DualDescent(mp.PowerDecay(1e-6)), problem, 30, observe=["margin_lower", "margin_upper"])
    for t in range(31):
        ends = path["margin_lower"][t], path["margin_upper"][t]
        assert _faults(X, [1, -1], path.state(t).u, truth, ends) == []


@pytest.mark.parametrize("length", [1e7, 1e9])
def test_a_far_sample_does_not_hide_a_margin(length):
    X = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -3.0], [length, 0.0]])  # the margin is 1, along (1, 0)
    best = mp.maximum_margin(mp.Problem(mp.Gram.linear(X), [1, -1, 1, 1]))
    assert _faults(X, [1, -1, 1, 1], best.u, Fraction(1), best.margin_bounds) == []
    ends = *best.margin_bounds, best.epsilon
    assert status_violations(best.status, *ends, 1e-10, Fraction(1), Fraction(1)) == []
    assert best.margin_bounds[0] > 0


@pytest.mark.parametrize(("y", "weight"), [([1, -1, 0], None), ([1, -1, 1], [1, 1, 0])])
def test_samples_that_do_not_count_prove_nothing(y, weight):
    X, u = np.array([[1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0]]), np.array([-0.5, -0.5, -9.0])
    bounds = mp.margin_bounds(mp.Problem(mp.Gram.linear(X), y, weight), u)
    assert _faults(X, y, u, Fraction(1), bounds, weight) == []


@pytest.mark.parametrize("kind", ["linear", "kernel"])
@pytest.mark.parametrize("seed", range(5))
def test_an_independent_solver_agrees(seed, kind):
    X, K, y = random_problem(seed, 12, kind)
    _, margin = hard_margin(K, y)
    gram = mp.Gram.linear(X) if kind == "linear" else mp.Gram.from_matrix(K)
    best = mp.maximum_margin(mp.Problem(gram, y))
    proof = (ExactGram.from_rows(X) if kind == "linear" else ExactGram.from_matrix(K)).proof(
        y, np.ones(12), best.u
    )
    assert violations(*best.margin_bounds, proof) == []
    assert best.margin_bounds[0] <= margin * (1 + 1e-7)
    assert best.margin_bounds[1] >= margin * (1 - 1e-7)
    assert float(proof.lower_squared) ** 0.5 == pytest.approx(margin, rel=1e-7)


def _assert_no_violation(tally, count):
    assert tally.certificates >= count
    assert tally.violations == 0, str(tally)
    assert sum(tally.refused.values()) < count / 100, str(tally)


def test_a_thousand_certificates():
    _assert_no_violation(fuzz.fuzz(1000, seed=1), 1000)


@pytest.mark.heavy
def test_a_hundred_thousand_certificates():
    _assert_no_violation(fuzz.fuzz(100_000, seed=0, processes=2), 100_000)


def test_numbers_that_are_no_gram_matrix_are_told():
    """Of an indefinite matrix there is no maximum margin: two vectors may prove what contradicts."""
    X = np.random.default_rng(0).standard_normal((6, 3))
    assert ExactGram.from_rows(X).is_positive_semidefinite()
    assert ExactGram.from_rows(np.zeros((2, 1))).is_positive_semidefinite()
    for K in ([[1.0, 1.0], [1.0, 1.0 - 2.0**-53]], [[0.0, 1e-300], [1e-300, 1.0]], [[-1e-300]]):
        assert not ExactGram.from_matrix(np.array(K)).is_positive_semidefinite()
