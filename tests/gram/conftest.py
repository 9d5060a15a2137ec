"""A Dask cluster and its samples; dask is imported only where a test asks for them."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def cluster():
    from clusters import make_cluster

    with make_cluster() as made:
        yield made


@pytest.fixture(scope="module")
def client(cluster):
    import distributed

    with distributed.Client(cluster) as made:
        yield made


@pytest.fixture(scope="module")
def samples():
    """Labels follow three directions; two classes are missing from the first chunk of column 0."""
    from clusters import CHUNKS, D, N

    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.5)
    Y = np.where(X[:, :3] + 0.5 * rng.normal(size=(N, 3)) > 0, 1.0, -1.0)
    Y[: CHUNKS[0], 0] = 1.0
    return X, Y
