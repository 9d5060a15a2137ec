"""Coordinate sweeps on a Dask cluster."""

import numpy as np
import pytest
import scipy.sparse as sp

import marginpath as mp

pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
pytest.importorskip("dask.dataframe")

from clusters import D, N, chunked, close, make_cluster, sparse_chunks  # noqa: E402

from marginpath import ClusterSweeps  # noqa: E402


@pytest.mark.heavy
@pytest.mark.parametrize("make", [chunked, sparse_chunks], ids=["dense", "sparse"])
def test_sweeps_reach_the_solution_with_a_certificate(client, samples, make):
    X, Y = samples
    problem = mp.Problem(mp.Gram.from_dask(make(X)), Y, sample_weight=1 + np.arange(N) % 2)
    here = mp.Problem(mp.Gram.linear(X), Y, sample_weight=1 + np.arange(N) % 2)
    solver = ClusterSweeps(mp.Constant(100.0), rounds=8, refresh=2)
    path = mp.run(solver, problem, 4, observe={"gap": mp.duality_gap, "objective": dual_objective})
    objective = path["objective"][1:]
    assert np.all(np.diff(objective, axis=0) <= 1e-13 * np.abs(objective[:-1]))  # but for rounding
    assert np.all(path["gap"][-1] <= 1e-3 * -path["objective"][-1])
    close(path.last.scores, here.scores(path.last.u))
    assert np.any(path.last.u == 0)
    assert np.any(path.last.u == -problem.box(path.last.bound))
    close(mp.duality_gap(problem, path.last), mp.duality_gap(here, path.last))


def dual_objective(problem, state):
    return problem.dual_objective(state.u, state.scores)


def test_sweeps_keep_their_field_while_the_bound_rises(client, samples):
    X, Y = samples
    problem = mp.Problem(mp.Gram.from_dask(chunked(X)), Y)
    last = mp.run(ClusterSweeps(rounds=2), problem, 8).last
    at_bound = np.where(last.u == -last.bound, 1.0, 0.0)
    close(last.field, X.T @ (Y * last.u))
    close(last.aggregate, X.T @ (Y * at_bound))
    again = mp.run(ClusterSweeps(rounds=2), problem, 8).last
    assert np.array_equal(last.u, again.u)


def test_numbers_that_travelled_to_any_byte_have_the_same_product(samples):
    from marginpath.gram.cluster.faults import at_home
    from marginpath.gram.cluster.rows import _product, _transposed_product

    X, Y = samples
    expected = _transposed_product([X], [Y], accurate=False), _product([X], X[:D, :3])[0]
    for byte in range(9):
        there, labels, W = (at_byte(byte, A) for A in (X, Y, X[:D, :3]))
        assert np.array_equal(expected[0], at_home(_transposed_product, [there], [labels], accurate=False))
        assert np.array_equal(expected[1], at_home(_product, [there], W=W)[0])


def at_byte(byte, A):
    return np.frombuffer(bytes(byte) + A.tobytes(), dtype=A.dtype, offset=byte).reshape(A.shape)


@pytest.mark.heavy
def test_a_round_never_raises_the_dual_objective(client, samples):
    """Also where all shards hold the same samples, the worst case for adding up their steps."""
    X = np.tile(samples[0][:30], (8, 1))
    y = np.tile(samples[1][:30, 1], 8)
    problem = mp.Problem(mp.Gram.from_dask(da.from_array(X, chunks=(30, D))), y)
    path = mp.run(ClusterSweeps(mp.Constant(0.1), rounds=1), problem, 10, observe={"d": dual_objective})
    assert np.all(np.diff(path["d"][1:]) < 0)  # the first step raised the bound


@pytest.mark.heavy
def test_sweeps_are_as_accurate_as_on_one_machine():
    from marginpath_lab.bench import data as sets
    from marginpath_lab.bench.dask import relative_gap

    data = sets.mnist(3, 5)
    X, X_test = (sets.with_constant(sp.csr_array(x)) for x in (data.X, data.X_test))
    here = mp.Problem(mp.Gram.linear(X), data.y)
    lazy = da.from_array(X.toarray(), chunks=(3000, X.shape[1])).map_blocks(sp.csr_array)
    errors = {}
    with make_cluster(4) as made, distributed.Client(made):
        there = mp.Problem(mp.Gram.from_dask(lazy), data.y)
        for solver, problem in ((mp.CoordinateDescent(sweeps=4), here), (ClusterSweeps(), there)):
            last = mp.run(solver, problem, 16, keep=0).last
            errors[type(solver)] = np.mean(np.sign(here.decision(last.u, X_test)) != data.y_test)
            assert relative_gap(problem, last) < 0.02
    assert abs(errors[ClusterSweeps] - errors[mp.CoordinateDescent]) <= 0.002
