"""Compiled decision values: as accurate as differences in float64, and the same bits in any company."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import marginpath as mp
from marginpath import parallel
from marginpath.estimators.deciding import is_plain
from marginpath.prediction import gaussian_compiled, predictor_of, weights_of


def naive(X, vectors, sigma, coef):
    """Σ_j coef_j exp(−‖x − z_j‖²/(2σ²)) from differences in float64, in units of Σ |coef_j|."""
    X, vectors = (np.asarray(part.todense() if sp.issparse(part) else part, float) for part in (X, vectors))
    return np.exp(-cdist(X, vectors, "sqeuclidean") / (2 * sigma**2)) @ coef.T


def rows(n, d, dtype=np.float64, seed=0, offset=0.0):
    return (np.random.default_rng(seed).standard_normal((n, d)) + offset).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("d", "m", "sigma"), [(1, 1, 1.0), (3, 65, 0.01), (20, 130, 3.0), (200, 64, 12.0)])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_sums_of_gaussians_are_those_of_differences(dtype, d, m, sigma, offset):
    vectors = rows(m, d, dtype, offset=offset)
    X = np.concatenate([vectors[: m // 2], rows(9, d, dtype, seed=1, offset=offset)])
    coef = rows(2, m, seed=2)
    values = predictor_of(vectors, mp.Gaussian(sigma))(X, coef)
    assert values.dtype == dtype
    tolerance = (40 + 2 * d**0.5) * np.finfo(dtype).eps * np.abs(coef).sum(axis=1)
    assert np.all(np.abs(values - naive(X, vectors, sigma, coef)) <= tolerance)


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="exp has to be known to more digits")
def test_the_polynomial_of_the_exponential_is_as_near_as_it_says():
    r = np.linspace(-0.34658, 0.34658, 20_001, dtype=np.longdouble)  # ln 2 / 2, and what rounding adds
    assert np.all(np.abs(gaussian_compiled._near_one.py_func(r) / np.exp(r) - 1) <= 1.15e-17)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_vectors_that_are_themselves_rows_and_those_far_away(dtype):
    """What is far from the centre is doubtful in some blocks of vectors alone."""
    vectors = rows(200, 4, dtype)
    vectors[130:] *= 1e3
    X, coef = np.concatenate([vectors, 7e3 * rows(9, 4, dtype, seed=1)]), rows(1, 200, seed=2)
    values = predictor_of(vectors, mp.Gaussian(0.5))(X, coef)
    tolerance = 44 * np.finfo(dtype).eps * np.abs(coef).sum(axis=1)
    assert np.all(np.abs(values - naive(X, vectors, 0.5, coef)) <= tolerance)


@pytest.mark.parametrize("sigma", [2.0, 1e-3])
def test_sparse_rows_and_vectors(sigma):
    vectors, X = (sp.random_array((n, 90), density=0.1, format="csr", rng=n) for n in (70, 33))
    X = sp.csr_array(sp.vstack([X, vectors[:5], sp.csr_array((1, 90))]))  # equal rows, and an empty one
    coef, unit = rows(3, 70), 60 * np.finfo(float).eps
    expected = naive(X, vectors, sigma, coef)
    for given_rows in (X, X.toarray()):
        for given_vectors in (vectors, vectors.toarray()):
            values = predictor_of(given_vectors, mp.Gaussian(sigma))(given_rows, coef)
            assert np.all(np.abs(values - expected) <= unit * np.abs(coef).sum(axis=1))


def test_sparse_rows_in_any_order_and_with_entries_twice():
    vectors = sp.random_array((20, 30), density=0.3, format="csr", rng=0)
    untidy = sp.csr_array((np.array([1.0, 2.0, 3.0]), np.array([7, 2, 7]), np.array([0, 3])), shape=(1, 30))
    predict, coef = predictor_of(vectors, mp.Gaussian(1.5)), rows(1, 20)
    assert predict(untidy, coef) == predict(sp.csr_array(untidy.toarray()), coef)
    broken = sp.csr_array((1, 30))
    broken.data, broken.indices, broken.indptr = np.ones(1), np.array([10**9]), np.array([0, 1])
    with pytest.raises(ValueError, match="indices"):
        predict(broken, coef)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_weights(dtype):
    coef, X = rows(3, 37, dtype), rows(50, 37, dtype, seed=1)
    predict = weights_of(coef)
    unit = 40 * np.finfo(dtype).eps * (np.abs(X) @ np.abs(coef.T))
    for given_rows in (X, sp.csr_array(X)):
        assert np.all(np.abs(predict(given_rows, coef) - X.astype(float) @ coef.T.astype(float)) <= unit)


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 80),
    d=st.integers(1, 9),
    m=st.integers(1, 140),
    shift=st.integers(0, 7),
    dtype=st.sampled_from([np.float64, np.float32]),
    sparse=st.booleans(),
    seed=st.integers(0, 99),
)
def test_the_bits_of_a_row_do_not_depend_on_its_company_or_its_place(n, d, m, shift, dtype, sparse, seed):
    vectors, X, coef = rows(m, d, dtype, seed), rows(n, d, dtype, seed + 1), rows(2, m, seed=seed)
    kind = sp.csr_array if sparse else np.asarray
    predict = predictor_of(kind(vectors), mp.Gaussian(1.0))
    together = predict(kind(X), coef)
    elsewhere = np.zeros(X.size + shift, dtype)[shift:].reshape(X.shape)
    elsewhere[:] = X
    assert np.array_equal(predict(kind(elsewhere), coef), together)
    alone = np.concatenate([predict(kind(elsewhere[i : i + 1]), coef) for i in range(n)])
    assert np.array_equal(alone, together)


def test_threads_share_the_rows_without_a_trace():
    vectors, X, coef = rows(900, 40), rows(3001, 40, seed=1), rows(1, 900)
    predict = predictor_of(vectors, mp.Gaussian(5.0))
    with parallel.limited(1):
        alone = predict(X, coef)
    with parallel.limited(3):
        assert np.array_equal(predict(X, coef), alone)


@pytest.mark.parametrize("kernel", [mp.Laplacian(1.0), mp.Polynomial(2), None, lambda X, Z: X @ Z.T])
def test_there_is_none_for_other_kernels(kernel):
    assert predictor_of(rows(3, 2), kernel) is None
    assert predictor_of(rows(3, 2).astype(int), mp.Gaussian(1.0)) is None
    assert predictor_of(rows(0, 2), mp.Gaussian(1.0)) is None


@pytest.fixture
def fitted(blobs):
    X, y = blobs
    return mp.MarginPathClassifier(random_state=0).fit(X, y), X


@pytest.fixture
def blobs():
    X = rows(90, 3)
    return X, (X[:, 0] * X[:, 1] + 0.3 * rows(90, 1, seed=5)[:, 0] > 0).astype(int)


def test_the_classifier_decides_by_it(fitted):
    clf, X = fitted
    kernel = mp.Gaussian((2 * clf.gamma_) ** -0.5)
    expected = kernel(X, clf.support_vectors_) @ clf.dual_coef_.T + clf.intercept_
    assert np.allclose(clf.decision_function(X), expected[:, 0], rtol=0, atol=1e-11)
    row_by_row = [clf.decision_function(X[i : i + 1])[0] for i in range(len(X))]
    assert np.array_equal(row_by_row, clf.decision_function(X))


def test_what_is_packed_stays_behind(fitted, blobs):
    clf, X = fitted
    size, names = len(pickle.dumps(clf)), set(vars(clf))
    values = clf.decision_function(X)
    assert len(pickle.dumps(clf)) == size
    assert set(vars(clf)) == names
    assert np.array_equal(pickle.loads(pickle.dumps(clf)).decision_function(X), values)


def test_it_is_packed_anew_for_another_step_and_another_fit(fitted, blobs):
    clf, X = fitted
    clf.decision_function(X)
    stages = list(clf.staged_decision_function(X))
    assert np.allclose(clf.at(1).decision_function(X), stages[0], rtol=0, atol=1e-11)
    clf.fit(X, 1 - blobs[1])
    again = mp.MarginPathClassifier(random_state=0).fit(X, 1 - blobs[1])
    assert np.array_equal(clf.decision_function(X), again.decision_function(X))


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        (lambda X: np.where(X > 1, np.nan, X), "NaN"),
        (lambda X: np.where(X > 1, np.inf, X), "infinity"),
        (lambda X: X[:, :2], "3 features"),
        (lambda X: X[:0], "0 sample"),
        (lambda X: X[0], "2D array"),
    ],
)
def test_bad_rows_still_have_their_messages(fitted, spoilt, message):
    clf, X = fitted
    with pytest.raises(ValueError, match=message):
        clf.predict(spoilt(X))


def test_rows_that_overflow_a_sum_are_finite(fitted):
    clf, _ = fitted
    huge = np.full((1, 3), 1e308)
    assert is_plain(clf, huge)
    assert clf.decision_function(huge) == clf.intercept_


@pytest.mark.parametrize("row", [0, 9_999])
def test_bad_rows_are_found_among_many(fitted, row):
    clf, _ = fitted
    X = rows(10_000, 3)
    X[row, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        clf.predict(X)
