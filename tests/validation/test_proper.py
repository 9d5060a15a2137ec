"""The log loss that decides between equal scores."""

import array_api_strict
import numpy as np
import pytest
from scipy.optimize import minimize

import marginpath as mp
from marginpath.validation.cross_validation import PathValidation
from marginpath.validation.proper import log_loss


@pytest.fixture(scope="module")
def two_columns():
    rng = np.random.default_rng(0)
    signs = np.where(rng.random((300, 2)) < [0.1, 0.5], 1.0, -1.0)
    return signs + rng.normal(size=(300, 2)) * [2.0, 0.5], signs


def naive(f, y, weight):
    """Return the sum of the losses of one column, by a general minimizer."""
    positive, negative = weight[y > 0].sum(), weight[y < 0].sum()
    target = np.where(y > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))

    def loss(ab):
        z = ab[0] * f + ab[1]
        return weight @ (np.logaddexp(0, z) - target * z)

    return minimize(loss, [0.0, 0.0], bounds=[(0, None), (None, None)], tol=1e-14).fun


def test_is_the_least_loss_over_scale_and_shift(two_columns):
    f, signs = two_columns
    weight = np.random.default_rng(1).random(300)
    expected = sum(naive(f[:, j], signs[:, j], weight) for j in range(2)) / (2 * weight.sum())
    assert log_loss(f, signs, weight) == pytest.approx(expected, rel=1e-7)


def test_does_not_depend_on_scale_and_shift_and_left_out_samples(two_columns):
    f, signs = two_columns
    assert log_loss(1e9 * f + 1e7, signs) == pytest.approx(log_loss(f, signs), rel=1e-9)
    more = np.vstack([f, np.full((2, 2), np.nan), np.zeros((2, 2))])
    assert log_loss(more, np.vstack([signs, np.ones((2, 2)), np.zeros((2, 2))])) == pytest.approx(
        log_loss(f, signs), rel=1e-12
    )


def test_pairs_of_many_classes_count_their_own_samples(two_columns):
    """Columns with different few samples each, of different weights, are as good as each by itself."""
    f, signs = two_columns
    rng = np.random.default_rng(2)
    weight = rng.random(300)
    own = np.zeros_like(signs)
    for j, count in enumerate((100, 60)):
        rows = rng.choice(300, count, replace=False)
        own[rows, j] = signs[rows, j]
    parts = [(f[c, j], own[c, j], weight[c]) for j in range(2) for c in [own[:, j] != 0]]
    expected = sum(naive(*part) for part in parts) / sum(part[2].sum() for part in parts)
    assert log_loss(f, own, weight) == pytest.approx(expected, rel=1e-7)


def test_columns_with_very_different_numbers_of_samples(two_columns):
    """They are packed in groups; one without a sample counts nowhere."""
    f, signs = (np.repeat(part[:, :1], 5, axis=1) for part in two_columns)
    own = np.zeros_like(signs)
    for j, count in enumerate((3, 300, 0, 40, 5)):
        own[-count or len(own) :, j] = signs[-count or len(own) :, j]
    parts = [(f[c, j], own[c, j], np.ones(c.sum())) for j in (0, 1, 3, 4) for c in [own[:, j] != 0]]
    expected = sum(naive(*part) for part in parts) / np.count_nonzero(own)
    assert log_loss(f, own) == pytest.approx(expected, rel=1e-7)


def test_the_wrong_order_is_worth_as_much_as_none(two_columns):
    f, signs = two_columns
    assert log_loss(-f, signs) == pytest.approx(log_loss(np.zeros_like(f), signs), rel=1e-12)
    assert log_loss(f, signs) < log_loss(np.zeros_like(f), signs)


def test_separated_values_have_a_finite_loss():
    signs = np.repeat([1.0, -1.0], 20)[:, None]
    assert 0 < log_loss(signs, signs) < 0.3


@pytest.mark.parametrize("selection", ["best", "smooth"])
def test_equal_scores_are_decided_by_what_the_values_tell(selection):
    """All steps have the score of one answer for all; the values of step 4 put the classes in order."""
    data = mp.datasets.gaussian_mixture(n_samples=60)
    validation = PathValidation(
        mp.Gram.from_kernel(data.X, mp.Gaussian(0.5)), data.y, selection=selection, intercept=True
    )
    path = validation.run(mp.SolutionPath(), 8, stop=None)
    rng = np.random.default_rng(0)
    for t in range(1, 9):
        path.rows["scores"][t] = np.full(5, 0.5)
        path.rows["out_of_fold"][t] = rng.normal(size=(60, 1)) - 9
    path.rows["out_of_fold"][4] += data.y[:, None]
    assert validation.choose(path).step == 4


def test_steps_that_tell_the_same_are_decided_by_the_first():
    """At the start all samples are at the bound, and a step's values are a multiple of those before."""
    data = mp.datasets.gaussian_mixture(n_samples=60)
    validation = PathValidation(mp.Gram.from_kernel(data.X, mp.Gaussian(0.5)), data.y, selection="best")
    path = validation.run(mp.CoordinateDescent(), 5, stop=None)
    for t in range(1, 6):
        path.rows["scores"][t] = np.full(5, 0.5)
        path.rows["out_of_fold"][t] = path.rows["out_of_fold"][1] * 3.7**t
    assert validation.choose(path).step == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_loss_is_the_same_in_any_library(two_columns, dtype, rng):
    decision, signs = two_columns[0].astype(dtype), two_columns[1] * (rng.random((300, 2)) < 0.9)
    decision[rng.random((300, 2)) < 0.1] = np.nan
    none = np.full((300, 1), np.nan, dtype=dtype)  # a column that nobody was held out of
    decision, signs = np.hstack([decision, none]), np.hstack([signs, signs[:, :1]])
    weight = rng.random(300)
    there = log_loss(array_api_strict.asarray(decision), signs, weight)
    assert there == pytest.approx(log_loss(decision, signs, weight), rel=1e-9)
