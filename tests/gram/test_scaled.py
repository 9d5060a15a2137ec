"""Rows in 16 bits: what they stand for, and Gram matrices of such features."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import marginpath as mp
from marginpath.gram.landmarks import RoundedLandmarkGram, landmark_gram
from marginpath.gram.scaled import Scaled, in_16_bits, units_of
from marginpath.mapped import MEMORY

#: Of 0.0001 and more: squares of much smaller numbers are 0, and such rows are not rounded.
VALUES = st.integers(-40_000, 40_000).map(lambda k: k / 10_000)
NUMBERS = arrays(np.float32, st.tuples(st.integers(1, 9), st.integers(1, 5)), elements=VALUES)


@pytest.fixture
def gram(rng):
    X = rng.standard_normal((300, 3)).astype(np.float32)
    return landmark_gram(X, mp.Gaussian(1.0), 40, rounded=MEMORY)


@given(NUMBERS)
def test_rounding_moves_no_number_by_more_than_half_a_unit(X):
    rows = in_16_bits(X)
    units = units_of(np.abs(X).max(axis=0))
    if rows is None:  # rows that are short beside the largest
        lost = np.linalg.norm(np.rint(X / units) * units - X, axis=1)
        assert np.max(lost / np.maximum(np.linalg.norm(X, axis=1), 1e-30)) > 1e-4
        return
    np.testing.assert_array_equal(rows.units, units)
    assert np.all(np.abs(rows[:] - X) <= units / 2)


@given(st.floats(1e-20, 1e20))
def test_a_unit_is_the_least_power_of_2_that_does(largest):
    (unit,) = units_of(np.array([largest])).astype(float)
    assert np.log2(unit) == np.round(np.log2(unit))
    assert largest <= 32767 * unit
    assert largest > 32767 * unit / 2


def test_what_stands_for_numbers_is_read_like_them(rng):
    numbers, units = rng.integers(-9, 9, (7, 3)).astype(np.int16), np.array([0.5, 1, 4], dtype=np.float32)
    rows, X = Scaled(numbers, units), (numbers * units).astype(np.float32)
    assert (len(rows), rows.shape, rows.dtype) == (7, (7, 3), np.float32)
    for index in (slice(2, 5), np.array([6, 0]), 3, (slice(1, 4), slice(None))):
        assert rows[index].dtype == np.float32
        np.testing.assert_array_equal(rows[index], X[index])
    np.testing.assert_array_equal(rows.take(np.array([5, 5, 1]))[:], X[[5, 5, 1]])
    with pytest.raises(IndexError, match="all of their columns"):
        rows[:, :2]
    assert Scaled.of(X)[:] is not X
    np.testing.assert_array_equal(Scaled.of(X)[:], X)


@pytest.mark.parametrize("X", [np.ones((3, 2)), np.array([[1e-6], [1e6]], dtype=np.float32)])
def test_float64_and_numbers_of_all_sizes_stay_as_they_are(X):
    assert in_16_bits(X) is None


def test_a_matrix_of_rounded_features_is_that_of_what_they_stand_for(gram, rng):
    plain, V = mp.Gram.linear(gram.X[:]), rng.standard_normal((300, 4))
    assert isinstance(gram, RoundedLandmarkGram)
    index = np.array([7, 0, 299])
    np.testing.assert_allclose(
        gram @ V.astype(np.float32), plain @ V.astype(np.float32), rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(gram.diagonal, plain.diagonal, rtol=1e-6)
    np.testing.assert_allclose(gram.rows(index), plain.rows(index), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(gram.block(index), plain.block(index))
    np.testing.assert_array_equal(gram.accurate_product(V), plain.accurate_product(V))
    for ours, theirs in zip(gram.enclose(V), plain.enclose(V), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert gram.fingerprint == plain.fingerprint
    assert gram.norm_bounds() == pytest.approx(plain.norm_bounds(), rel=1e-5)
    np.testing.assert_array_equal(gram.interleaved, plain.interleaved)
    assert gram.in_double().X.dtype == np.float64


def test_rounded_features_are_next_to_the_others(rng):
    X = rng.standard_normal((6000, 3)).astype(np.float32)
    rounded, exact = (landmark_gram(X, mp.Gaussian(1.0), 40, rounded=r) for r in (MEMORY, None))
    assert np.max(np.abs(rounded.X[:] - exact.features)) < 2e-4
    assert rounded.trace_error == pytest.approx(exact.trace_error, abs=1e-5)
    Z, V = X[:5], rng.standard_normal((6000, 2)).astype(np.float32)
    np.testing.assert_allclose(rounded.cross(Z) @ V, exact.cross(Z) @ V, atol=0.05)
    np.testing.assert_allclose(rounded.on_landmarks(V)[-1], 0)


@pytest.mark.parametrize("settings", [{"constant": 1.0}, {"centred": True}, {"rounded": None}])
def test_features_with_a_constant_or_about_their_mean_are_float32(settings, rng):
    gram = landmark_gram(
        rng.standard_normal((60, 2)), mp.Gaussian(1.0), 10, **{"rounded": MEMORY, **settings}
    )
    assert not isinstance(gram, RoundedLandmarkGram)
    assert gram.X.dtype == np.float32


def test_a_classifier_makes_no_copy_of_its_features_in_float32(monkeypatch, rng):
    monkeypatch.setattr("marginpath.solvers.solution_path.solver.FEW", 0)
    monkeypatch.setattr("marginpath.gram.choose._SWEPT", 0)
    X = rng.standard_normal((1500, 3)).astype(np.float32)
    y = np.where(np.sum(X**2, axis=1) > 2.4, 1, 0)

    def copied(self):
        raise AssertionError("all features in float32")

    monkeypatch.setattr(RoundedLandmarkGram, "features", property(copied))
    clf = mp.MarginPathClassifier(landmarks=60, random_state=0).fit(X, y)
    assert clf.score(X, y) > 0.95
    assert clf.at(clf.step_ - 1).score(X, y) > 0.9


def test_rows_that_few_are_like_keep_their_features(rng):
    X = rng.standard_normal((9000, 2)).astype(np.float32)
    X[4001:4004] += 50
    landmarks = np.union1d(rng.choice(9000, 30, replace=False), [4002])
    gram = landmark_gram(X, mp.Gaussian(1.0), landmarks, rounded=MEMORY)
    assert isinstance(gram, RoundedLandmarkGram)
    np.testing.assert_allclose(gram.diagonal[gram.chosen], 1, atol=1e-3)


@pytest.mark.parametrize("width", [0.5, 4.0])
def test_no_landmark_is_cut(width, rng):
    X = rng.standard_normal((12_000, 5)).astype(np.float32)
    gram = landmark_gram(X, mp.Gaussian(width), 100, rounded=MEMORY)
    np.testing.assert_allclose(gram.diagonal[gram.chosen], 1, atol=2e-3)


def test_features_of_all_sizes_are_not_rounded(rng):
    X = np.exp(2 * rng.standard_normal((6000, 4))).astype(np.float32)
    gram = landmark_gram(X, mp.Polynomial(degree=3, gamma=1.0, coef0=1.0), 30, rounded=MEMORY)
    assert not isinstance(gram, RoundedLandmarkGram)


def test_numbers_that_are_not_finite_are_not_rounded():
    X = np.ones((3, 2), dtype=np.float32)
    X[1, 1] = np.inf
    assert in_16_bits(X) is None
    X[1, 1] = np.nan
    assert in_16_bits(X) is None


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")  # in any thread
def test_a_kernel_that_float32_cannot_hold_is_an_error_still(rng):
    X = rng.standard_normal((12_000, 3)).astype(np.float32)
    y = np.where(X[:, 0] > 0, 1, 0)
    X[7001] = 3e13
    gram = landmark_gram(X, mp.Polynomial(3, gamma=1.0), np.arange(20), rounded=MEMORY)
    with pytest.raises(ValueError, match="float32"):
        mp.run(mp.SolutionPath(), mp.Problem(gram, y * 2 - 1), 1)


def test_a_copy_in_16_bits_is_made_for_those_who_read_it():
    X = np.random.default_rng(0).standard_normal((9000, 3)).astype(np.float32)
    problem = mp.Problem(mp.Gram.linear(X), np.where(X[:, 0] > 0, 1.0, -1.0))
    mp.run(mp.SolutionPath(tol=1e-4), problem, 2)
    assert "rounded" not in problem.gram.__dict__
    mp.run(mp.SolutionPath(tol=1e-2), problem, 2)
    assert "rounded" in problem.gram.__dict__
