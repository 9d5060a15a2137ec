"""New rows on a Dask cluster: decisions, labels and features."""

import numpy as np
import pytest

import marginpath as mp

pytest.importorskip("dask")
pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
pytest.importorskip("dask.dataframe")

from clusters import CHUNKS, N, chunked, close, sparse_chunks  # noqa: E402

from marginpath.gram import cluster as mc  # noqa: E402


@pytest.mark.parametrize("kernel", [None, mp.Gaussian(5.0)], ids=["linear", "kernel"])
def test_decisions_on_dask_arrays_are_lazy_and_chunked(client, samples, kernel):
    X, Y = samples
    problem = mp.Problem(mp.Gram.from_dask(chunked(X), kernel), Y)
    u = -np.random.default_rng(2).random((N, 3))
    decision = problem.decision(u, chunked(X))
    assert isinstance(decision, da.Array)
    assert decision.chunks == (CHUNKS, (3,))
    close(decision.compute(), problem.decision(u, X))
    one = mp.Problem(problem.gram, Y[:, 0]).decision(u[:, 0], chunked(X))
    close(one.compute(), problem.decision(u, X)[:, 0])


@pytest.mark.heavy
def test_nystroem_features_feed_the_linear_path(client, samples):
    from sklearn.kernel_approximation import Nystroem

    X, Y = samples
    unknown = chunked(X)[chunked(X)[:, 0] > -10]
    fitted = mc.fit_on_sample(Nystroem(gamma=0.02, n_components=N, random_state=0), unknown, rows=N)
    features = mc.map_rows(fitted.transform, unknown, columns=N)
    gram = mp.Gram.from_dask(features)
    exact = mp.Gram.from_kernel(X, mp.Gaussian(sigma=5.0))
    close(gram @ Y, exact @ Y, tol=1e-6)  # with all the samples as components it is the kernel itself
    small = mc.fit_on_sample(Nystroem(n_components=5, random_state=0), sparse_chunks(X), rows=40)
    assert mc.map_rows(small.transform, sparse_chunks(X), columns=5).compute().shape == (N, 5)


@pytest.mark.heavy
def test_what_an_estimator_needs(client, samples):
    X, Y = samples
    rows, weight = mc.load_rows(chunked(X)), np.random.default_rng(3).integers(0, 4, N)
    sparse = mc.load_rows(sparse_chunks(X))
    close(rows[10:13], X[10:13])
    close(rows.T @ Y, X.T @ Y)
    for kernel in (None, mp.Gaussian(5.0)):
        here = mp.Gram.from_kernel(X, kernel or mp.Linear())
        close(mc.gram_of(rows, kernel, constant=0.25) @ Y, here @ Y + 0.25 * Y.sum(axis=0))
    close(mc.gram_of(sparse, constant=4.0) @ Y, X @ (X.T @ Y) + 4 * Y.sum(axis=0))
    for one in (rows, sparse):
        close(one.variance(), X.var())
        close(one.variance(weight), np.repeat(X, weight, axis=0).var())
