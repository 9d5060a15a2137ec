import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from marginpath.noise import flip_exactly, flip_near_boundary, flip_randomly

labels = hnp.arrays(
    dtype=st.sampled_from([np.int8, np.int64, np.float32, np.float64]),
    shape=st.integers(0, 60),
    elements=st.sampled_from([-1, 0, 1]),
).filter(lambda y: not (0 in y and 1 in y and -1 not in y))
seeds = st.integers(0, 2**32)


def flip_near(y, n_flips, *, seed):
    return flip_near_boundary(y, np.arange(1.0, len(y) + 1), n_flips, seed=seed)


def flip_at_rate(y, n_flips, *, seed):
    return flip_randomly(y, n_flips / max(1, len(y)), seed=seed)


@given(labels, seeds, st.data())
@pytest.mark.parametrize("flip", [flip_exactly, flip_near])
def test_hamming_distance_is_exact(flip, y, seed, data):
    n_flips = data.draw(st.integers(0, np.count_nonzero(y)))
    noisy = flip(y, n_flips, seed=seed)
    assert np.sum(noisy != y) == n_flips


@given(labels, seeds)
@pytest.mark.parametrize("flip", [flip_exactly, flip_near, flip_at_rate])
def test_a_flip_changes_a_sign_in_a_copy_and_nothing_else(flip, y, seed):
    before = y.copy()
    noisy = flip(y, np.count_nonzero(y) // 2, seed=seed)
    np.testing.assert_array_equal(y, before)
    assert not np.shares_memory(noisy, y)
    assert noisy.dtype == y.dtype
    np.testing.assert_array_equal(np.abs(noisy), np.abs(y))
    assert not np.signbit(noisy[y == 0]).any()


@pytest.mark.parametrize("flip", [flip_exactly, flip_near, flip_at_rate])
def test_seed_decides(flip):
    y = np.repeat([1, -1], 50)
    first = flip(y, 20, seed=3)
    np.testing.assert_array_equal(first, flip(y, 20, seed=3))
    np.testing.assert_array_equal(first, flip(y, 20, seed=np.random.default_rng(3)))
    assert np.any(first != flip(y, 20, seed=4))


@pytest.mark.parametrize("flip", [flip_exactly, flip_near, flip_at_rate])
def test_a_generator_moves_on(flip):
    y, rng = np.repeat([1, -1], 50), np.random.default_rng(0)
    assert np.any(flip(y, 20, seed=rng) != flip(y, 20, seed=rng))


def test_exact_flips_hit_every_label_alike():
    y, rng = np.ones(10, dtype=int), np.random.default_rng(0)
    counts = sum(flip_exactly(y, 3, seed=rng) == -1 for _ in range(4000))
    # Binomial(4000, 0.3): standard deviation 29.
    np.testing.assert_allclose(counts, 1200, atol=5 * 29)


def test_random_flips_have_the_rate():
    y = np.repeat([1, -1, 0], 20_000)
    noisy = flip_randomly(y, 0.2, seed=0)
    # Binomial(20000, 0.2): standard deviation 57.
    assert abs(np.sum(noisy[:20_000] == -1) - 4000) < 5 * 57
    assert abs(np.sum(noisy[20_000:40_000] == 1) - 4000) < 5 * 57
    np.testing.assert_array_equal(flip_randomly(y, 0, seed=0), y)
    np.testing.assert_array_equal(flip_randomly(y, 1, seed=0), -y)


def test_flips_near_the_boundary_follow_their_law():
    margins = np.array([0.0, -1.0, 2.0, 3.0])
    weights = np.exp(-np.abs(margins) / 1.5)
    y, rng = np.array([1, 1, -1, -1]), np.random.default_rng(0)
    draws = 8000
    counts = sum(flip_near_boundary(y, margins, 1, seed=rng, scale=1.5) != y for _ in range(draws))
    expected = draws * weights / weights.sum()
    np.testing.assert_allclose(counts, expected, atol=5 * np.sqrt(draws) / 2)


def test_second_draw_near_the_boundary_is_among_the_rest():
    margins, y = np.array([0.0, 0.0, 1.0]), np.ones(3, dtype=int)
    p = np.exp(-np.abs(margins))
    p /= p.sum()
    # The third is left alone when the first two are drawn, in either order.
    kept = p[0] * p[1] / (1 - p[0]) + p[1] * p[0] / (1 - p[1])
    rng = np.random.default_rng(1)
    count = sum(flip_near_boundary(y, margins, 2, seed=rng, scale=1.0)[2] == 1 for _ in range(8000))
    assert abs(count - 8000 * kept) < 5 * np.sqrt(8000) / 2


def test_default_scale_is_the_median_of_the_labels_in_use():
    y = np.array([1, -1, 1, -1, 0, 0, 0])
    margins = np.array([0.5, -1.0, 3.0, 6.0, np.nan, 1e9, 1e9])
    for seed in range(20):
        np.testing.assert_array_equal(
            flip_near_boundary(y, margins, 2, seed=seed),
            flip_near_boundary(y, margins, 2, seed=seed, scale=2.0),
        )


def test_far_points_do_not_underflow():
    noisy = flip_near_boundary([1, 1, -1], [0.0, 1e6, 2e6], 2, seed=0, scale=1.0)
    np.testing.assert_array_equal(noisy, [-1, -1, -1])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([[1, -1]], r"shape \(1, 2\).*one dimension"),
        ([1, 2, -1], "holds -1, 1, 2;.*only -1, "),
        ([1.0, np.nan], "holds 1.0, nan"),
        ([0, 1, 1], r"0 means left out.*2 \* y - 1"),
        ([True, False], "dtype bool; signed numbers"),
        (np.array([1, 1], dtype=np.uint8), "dtype uint8; signed numbers"),
        (["a", "b"], "dtype <U1; signed numbers"),
    ],
)
@pytest.mark.parametrize("flip", [flip_exactly, flip_near, flip_at_rate])
def test_wrong_labels_are_named(flip, y, message):
    with pytest.raises(ValueError, match=message):
        flip(y, 1, seed=0)


@pytest.mark.parametrize("flip", [flip_exactly, flip_near])
def test_wrong_counts_are_named(flip):
    with pytest.raises(ValueError, match="n_flips is 3; from 0 to 2 are possible"):
        flip([1, 0, -1], 3, seed=0)
    with pytest.raises(ValueError, match="n_flips is -1"):
        flip([1, 0, -1], -1, seed=0)
    with pytest.raises(TypeError, match=r"n_flips is 0\.1; an integer is needed.*round"):
        flip([1, 0, -1], 0.1, seed=0)


@pytest.mark.parametrize("rate", [-0.1, 1.1, np.nan])
def test_wrong_rates_are_named(rate):
    with pytest.raises(ValueError, match=f"rate is {rate}; a probability"):
        flip_randomly([1, -1], rate, seed=0)


def test_wrong_margins_and_scales_are_named():
    with pytest.raises(ValueError, match=r"margins has shape \(1,\) and y has \(2,\)"):
        flip_near_boundary([1, -1], [1.0], 1, seed=0)
    with pytest.raises(ValueError, match="NaN or inf"):
        flip_near_boundary([1, -1], [1.0, np.inf], 1, seed=0)
    with pytest.raises(ValueError, match="median cannot be the scale; give scale"):
        flip_near_boundary([1, -1, 1], [0.0, 0.0, 1.0], 1, seed=0)
    for scale in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match=f"scale is {scale}; a positive, finite"):
            flip_near_boundary([1, -1], [1.0, 2.0], 1, seed=0, scale=scale)
