"""What of K is kept from step to step, in 16 bits."""

import numpy as np
import pytest
from solution_paths import overlapping

import marginpath as mp
from marginpath.solvers.solution_path import gathered


def kernel(n):
    """A kernel matrix."""
    return mp.Gaussian(0.7)(overlapping(n)[0])


def serial(task, items):
    """Run a task on every item."""
    for item in items:
        task(item)


def assert_holds(known, K):
    """Every member is at its place, with K rounded to the unit."""
    m = known.members.size
    np.testing.assert_array_equal(known.place[known.members], np.arange(m))
    assert np.count_nonzero(known.place >= 0) == m
    expected = K[np.ix_(known.members, known.members)]
    np.testing.assert_allclose(known.unit * known.matrix[:m, :m], expected, atol=0.51 * known.unit)


def test_samples_join_those_that_were_gathered(rng):
    K = kernel(400)
    known = gathered.Gathered(K, np.ones(400))
    first = np.arange(0, 300, 2)
    assert known.include(first, 400, serial)
    matrix = known.matrix
    assert known.include(np.union1d(first, [3, 301, 77]), 400, serial)
    assert known.matrix is matrix  # nothing was gathered twice
    assert known.members.size == 153
    assert_holds(known, K)
    np.testing.assert_array_equal(known.order(np.array([3, 4])), [150, 2])


@pytest.mark.parametrize(("others", "members"), [(range(260), 260), (range(40), 40)])
def test_who_rests_has_to_leave_where_there_are_too_many_or_no_room(others, members):
    K = kernel(400)
    known = gathered.Gathered(K, np.ones(400))
    known.include(np.arange(200), 400, serial)
    assert known.include(np.array(others), 400, serial)
    assert known.members.size == members
    assert_holds(known, K)


def test_more_than_the_limit_are_refused_and_change_nothing():
    K = kernel(400)
    known = gathered.Gathered(K, np.ones(400))
    known.include(np.arange(100), 150, serial)
    assert not known.include(np.arange(151), 150, serial)
    assert_holds(known, K)
    assert known.members.size == 100


def test_what_was_gathered_is_lent_to_one_at_a_time_and_not_kept_beyond_its_share(monkeypatch):
    gram = mp.Gram.from_matrix(kernel(100))
    with gathered.gathered(gram, 0) as known:
        known.include(np.arange(50), 100, serial)
        with gathered.gathered(gram, 0) as other:
            assert other is not known
    with gathered.gathered(gram, 0) as again:
        assert again is known
        monkeypatch.setattr(gathered, "_KEPT", 0.0)
    with gathered.gathered(gram, 0) as new:
        assert new is not known
