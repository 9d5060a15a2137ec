"""The same input gives the same bits: wherever arrays lie, whoever else computes, resumed or not."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from memory_layouts import placements
from sklearn.datasets import make_moons
from threadpoolctl import threadpool_info

import marginpath as mp
from marginpath import parallel
from marginpath.gram.products import product, transposed_product


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [37, 301])
def test_kernel_sweeps_do_not_see_where_arrays_lie(n, dtype, rng):
    from marginpath.solvers.coordinate.compiled import kernel_sweep

    X = rng.standard_normal((n, 3))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2)).astype(dtype)
    Y = np.sign(rng.standard_normal((3, n))).astype(dtype)
    mass, b, u = np.ones_like(Y), np.full(3, 5.0, dtype=dtype), np.zeros_like(Y)
    f, g = np.zeros(Y.shape), (Y @ K).astype(np.float64)
    bits = set()
    for K_, Y_, mass_, b_, u_, f_, g_ in placements(n, K, Y, mass, b, u, f, g):
        order = np.arange(n)
        kernel_sweep(order, order, K_, np.diag(K), Y_, mass_, b_, 0.0, 3, u_, f_, g_)
        bits.add((u_.tobytes(), f_.tobytes(), g_.tobytes()))
    assert len(bits) == 1
    assert np.any(u_ != 0)


def test_feature_sweeps_do_not_see_where_arrays_lie(rng):
    from marginpath.solvers.coordinate.compiled import WIDTH, feature_scores, feature_sweep

    n, d = 60, 23
    X = rng.standard_normal((n, d))
    data, indices, indptr = X.ravel(), np.tile(np.arange(d), n), d * np.arange(n + 1)
    Y = np.sign(rng.standard_normal((n, WIDTH)))
    moving, u, f, g = Y != 0, np.zeros_like(Y), np.zeros((d, WIDTH)), X.T @ Y
    bits = set()
    for data_, Y_, u_, f_, g_, out in placements(1, data, Y, u, f, g, np.zeros_like(Y)):
        diagonal, b, ones = (X * X).sum(axis=1), np.full(WIDTH, 2.0), np.ones_like(Y)
        csr = data_, indices, indptr
        feature_sweep(np.arange(n), *csr, diagonal, b, 0.0, moving.copy(), Y_, ones, u_, f_, g_)
        feature_scores(*csr, f_, out)
        bits.add((u_.tobytes(), f_.tobytes(), g_.tobytes(), out.tobytes()))
    assert len(bits) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compensated_products_do_not_see_where_arrays_lie(dtype, rng):
    from marginpath.gram.compensated_compiled import add_rows

    rows, V = rng.standard_normal((96, 1100)).astype(dtype), rng.standard_normal((3, 96))
    bits = set()
    for rows_, V_, out in placements(2, rows, V, np.zeros((3, 1100))):
        add_rows(rows_, np.arange(96), V_, 32, out, 0, 1100)
        bits.add(out.tobytes())
    assert len(bits) == 1


@pytest.mark.parametrize("columns", [1, 7])
def test_products_do_not_see_the_number_of_threads(columns, rng):
    K, V = rng.standard_normal((1500, 1500)), rng.standard_normal((1500, columns))
    bits = set()
    for number in (1, 2, 3):
        with parallel.limited(number):
            bits.add((product(K, V).tobytes(), transposed_product(K, V).tobytes()))
    assert len(bits) == 1
    np.testing.assert_allclose(product(K, V), K @ V, rtol=0, atol=1e-10)
    np.testing.assert_allclose(transposed_product(K, V), K.T @ V, rtol=0, atol=1e-10)


def test_blas_gets_its_threads_back_when_the_last_one_leaves():
    def count():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before, inside, gone = count(), threading.Event(), threading.Event()

    def stay():
        with parallel.one_blas_thread():
            inside.set()
            gone.wait(10)

    with ThreadPoolExecutor() as pool:
        with parallel.one_blas_thread():
            other = pool.submit(stay)
            assert inside.wait(10)
            assert set(count()) == {1}
        assert set(count()) == {1}  # the other one is still there
        gone.set()
        other.result()
    assert count() == before


def fitted_bits(seed=0):
    X, y = make_moons(240, noise=0.3, random_state=3)
    out = []
    for clf in (
        mp.MarginPathClassifier(random_state=seed),
        mp.MarginPathClassifier(method="inertial", max_iter=60, random_state=seed),
        mp.LinearMarginPathClassifier(random_state=seed),
        mp.MarginPathClassifier(cache_size=0.1, random_state=seed),
    ):
        clf.fit(X, y)
        out.append(
            clf.decision_function(X).tobytes() + clf.margin_bounds_[0].tobytes() + clf.models_.u(5).tobytes()
        )
    return out


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_gives_the_same_bits_again_and_beside_others():
    alone = fitted_bits()
    rubbish = [np.empty(size) for size in np.random.default_rng(0).integers(1, 5000, 200)]
    with ThreadPoolExecutor(3) as pool:
        beside = list(pool.map(lambda _: fitted_bits(), range(3)))
    assert all(bits == alone for bits in beside)
    del rubbish
    assert fitted_bits() == alone


SCRIPT = """
import json, warnings
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
import marginpath as mp
warnings.simplefilter("ignore")
X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
out = []
for clf in (
    mp.MarginPathClassifier(path_tol=1e-12, random_state=0),
    mp.MarginPathClassifier(method="inertial", max_iter=100, random_state=0),
    mp.LinearMarginPathClassifier(path_tol=1e-12, random_state=0),
):
    clf.fit(X, y)
    out.append([clf.step_, clf.predict(X).tolist(), clf.decision_function(X).tolist(),
                np.ravel(clf.margin_bounds_).tolist()])
print(json.dumps(out))
"""


def other_process(**environment):
    settings = {"OMP_NUM_THREADS": "1", **environment}
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(result.stdout)


@pytest.mark.heavy
def test_another_processor_changes_the_last_digits_at_most():
    """With the BLAS of another processor, labels and the chosen step are equal, numbers to 1e-10."""
    here = other_process()
    for environment in (
        {"OMP_NUM_THREADS": "2"},
        {"OPENBLAS_CORETYPE": "Haswell"},
        {"OPENBLAS_CORETYPE": "Nehalem"},
    ):
        for ours, theirs in zip(here, other_process(**environment), strict=True):
            assert ours[:2] == theirs[:2]
            for a, b in zip(ours[2:], theirs[2:], strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


def test_threads_alone_change_no_bit():
    assert other_process() == other_process(OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2")
