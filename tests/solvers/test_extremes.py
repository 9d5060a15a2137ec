"""The place of the lowest and of the largest, found in lanes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginpath.solvers.solution_path.extremes import LANES, highest, largest, lowest


@pytest.mark.parametrize("n", [1, 2, LANES - 1, LANES, LANES + 1, 5 * LANES + 7])
def test_they_are_numpys(n, rng):
    values, closed, lane = rng.normal(size=n), np.where(rng.random(n) < 0.3, 1e300, 0.0), np.empty(LANES)
    closed[rng.integers(n)] = 0.0
    assert lowest(values, closed, lane) == np.argmin(values + closed)
    assert highest(values, closed, lane) == np.max(values - closed)
    assert largest(np.abs(values), lane) == np.argmax(np.abs(values))


@given(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=1, max_size=4 * LANES), st.integers(0, 7))
def test_of_equal_numbers_the_place_decides_and_not_where_the_array_lies(values, offset):
    memory, lane = np.zeros(len(values) + 8), np.empty(LANES)
    moved = memory[offset : offset + len(values)]
    moved[:] = values
    places = np.flatnonzero(moved == moved.max())
    assert largest(moved, lane) == min(places, key=lambda c: (c % LANES, c))
    assert lowest(-moved, np.zeros(len(values)), lane) == largest(moved, lane)
