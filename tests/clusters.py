"""What the tests on a Dask cluster share."""

import logging

import dask
import dask.array as da
import distributed
import numpy as np
import scipy.sparse as sp

import marginpath as mp

ALGORITHMS = {
    "Algorithm 1": mp.DualDescent(mp.PowerDecay(1.0)),
    "Algorithm 2": mp.DualDescent(mp.PowerDecay(1.0), mp.Inertia(3)),
}
CHUNKS = (70, 30, 0, 90, 50)  # ragged, one of them empty
N, D = sum(CHUNKS), 60


def make_cluster(workers=2, **settings):
    """Processes of one thread; a killed one may take its time to come back on a busy machine."""
    dask.config.set({"distributed.deploy.lost-worker-timeout": "300s"})
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
        **settings,
    )


def chunked(X, columns=(D,)):
    return da.from_array(X, chunks=(CHUNKS, columns))


def sparse_chunks(X):
    return chunked(X).map_blocks(sp.csr_array)


def close(found, wanted, tol=1e-10):
    np.testing.assert_allclose(found, wanted, rtol=tol, atol=tol * max(1, np.max(np.abs(wanted))))
