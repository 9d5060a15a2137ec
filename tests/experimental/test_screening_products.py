"""Products with parts of the matrix, and when rows are packed."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginpath.experimental.screening import compiled as passes
from marginpath.experimental.screening.state import best_horizon
from marginpath.experimental.screening.stored import Block, StoredMatrix
from marginpath.gram import DenseGram


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 40),
    k=st.sampled_from([(), (1,), (3,)]),
    share=st.floats(0, 1),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_products_with_parts_of_the_matrix(seed, n, k, share, dtype):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    K, V = (X @ X.T).astype(dtype), rng.standard_normal((n, *k)).astype(dtype)
    free = rng.random(n) < share
    V[~free] = 0
    tolerance = {"rtol": 0, "atol": 1e-4 if dtype == np.float32 else 1e-12}
    product = StoredMatrix(DenseGram(K)).product(V)
    assert product.dtype == dtype
    np.testing.assert_allclose(product, K @ V, **tolerance)
    block = Block.pack(K, np.flatnonzero(free))
    np.testing.assert_allclose(block.product(V[free]), (K @ V)[free], **tolerance)


def test_products_in_threads():
    rng = np.random.default_rng(0)
    K = rng.standard_normal((3001, 3001)).astype(np.float32)
    K, v = K + K.T, rng.standard_normal(3001).astype(np.float32)
    np.testing.assert_allclose(StoredMatrix(DenseGram(K)).product(v), K @ v, atol=2e-2)
    block = Block.pack(K, np.arange(3001))
    np.testing.assert_allclose(block.product(v), K @ v, atol=2e-2)
    np.testing.assert_array_equal(block.product(v), block.product(v))


def test_the_horizon_weighs_a_smaller_block_against_more_packing():
    support, all_rows = np.arange(1000) < 300, np.full(1000, True)
    never, short, long = np.zeros(1000), np.where(support, 0.0, 2.0), np.where(support, 0.0, 200.0)
    assert best_horizon(never, support, all_rows)[0] == 0
    mixed = np.where(np.arange(1000) < 400, short, long)  # a hundred rows that last two steps only
    for horizon, first in [(long, 300), (mixed, 400)]:
        H, free = best_horizon(horizon, support, all_rows)
        assert H == 200
        np.testing.assert_array_equal(free, np.arange(1000) < first)


def test_rows_stay_packed_unless_many_of_them_could_rest():
    support = np.arange(1000) < 300
    for size, after in [(310, 310), (900, 300)]:
        H, free = best_horizon(np.where(support, 0.0, 20.0), support, np.arange(1000) < size)
        assert (H, np.count_nonzero(free)) == (20, after)


def test_a_row_that_moves_now_leaves_no_packed_block_as_it_is():
    support = np.arange(1000) < 300
    H, free = best_horizon(np.where(support, 0.0, 200.0), support, (np.arange(1000) < 299))
    assert H == 200
    np.testing.assert_array_equal(free, support)


PLACES = [(gap, order) for gap in (0, 8, 16, 24, 64, 4096) for order in range(6)]


def placed(arrays, gap, order):
    """Copies of arrays in one buffer, so many bytes apart, in one of their orders."""
    orders = list(permutations(range(len(arrays))))
    chosen, room = orders[order * len(orders) // 6], sum(x.nbytes + gap for x in arrays)
    buffer, copies, at = np.empty(room + gap, dtype=np.uint8), {}, gap
    for i in chosen:
        x = arrays[i]
        copies[i] = buffer[at : at + x.nbytes].view(x.dtype).reshape(x.shape)
        copies[i][...] = x
        at += x.nbytes + gap
    return [copies[i] for i in range(len(arrays))]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [3, 40, 203])
@pytest.mark.parametrize("k", [1, 3])
def test_equal_numbers_give_equal_bits_wherever_the_arrays_lie(dtype, n, k):
    rng = np.random.default_rng(n)
    K, V = rng.standard_normal((n, n)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    packed, out = rng.standard_normal((n + 2) ** 2 // 2).astype(dtype), np.ones((k, n), dtype=dtype)
    index = np.flatnonzero(rng.random(n) < 0.5)
    rows = np.ascontiguousarray(V[:, index])
    for add, arrays in [
        (passes.add_packed, [packed, V, out]),
        (passes.add_half, [K, V, out]),
        (passes.add_rows, [K, index, rows, out]),
    ]:
        expected = [x.copy() for x in arrays]
        add(*expected, 0, n)
        for gap, order in PLACES:
            copies = placed(arrays, gap, order)
            add(*copies, 0, n)
            np.testing.assert_array_equal(copies[-1], expected[-1], strict=True)


def test_no_compiled_sum_may_be_regrouped():
    compiled = [f for f in vars(passes).values() if hasattr(f, "py_func")]
    assert len(compiled) >= 4
    assert not any(f.targetoptions.get("fastmath") for f in compiled)
