"""Labels by sums in float32: the bounds hold, and no label is another than that of the decision value."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import marginpath as mp
from marginpath.estimators import deciding
from marginpath.prediction import predictor_of
from marginpath.validation.columns import OneVsOne, OneVsRest, settled


def naive(X, vectors, sigma, coef):
    """Σ_j coef_j exp(−‖x − z_j‖²/(2σ²)) from differences in float64."""
    return np.exp(-cdist(X.astype(float), vectors.astype(float), "sqeuclidean") / (2 * sigma**2)) @ coef.T


@settings(deadline=None, max_examples=60)
@given(
    d=st.integers(1, 40),
    m=st.sampled_from([1, 5, 300, 1100]),
    sigma=st.sampled_from([1e-2, 0.3, 1.0, 30.0, 1e6]),
    offset=st.sampled_from([0.0, 1e3, -1e7]),
    dtype=st.sampled_from([np.float64, np.float32]),
    seed=st.integers(0, 2**20),
)
@example(d=784, m=1100, sigma=20.0, offset=0.0, dtype=np.float64, seed=0)
def test_the_bound_holds(d, m, sigma, offset, dtype, seed):
    rng = np.random.default_rng(seed)
    vectors = (offset + rng.standard_normal((m, d))).astype(dtype)
    near = vectors[rng.integers(m, size=40)] * (1 + 1e-6 * rng.standard_normal((40, d)))
    X = np.concatenate([near, offset + 4 * rng.standard_normal((40, d))]).astype(dtype)
    coef = rng.standard_normal((3, m)) * 10.0 ** rng.integers(-3, 4, size=(3, m))
    predictor = predictor_of(vectors, mp.Gaussian(sigma))
    sums, bound = predictor.bounded(X, coef)(X)
    assert bound.shape == (80, 1)
    assert np.all(np.abs(sums - predictor(X, coef)) <= bound)
    slack = 1e-12 * np.abs(coef).sum()
    assert np.all(np.abs(sums - naive(X, vectors, sigma, coef)) <= bound + slack)


def test_the_bound_is_near_enough_to_be_of_use():
    rng = np.random.default_rng(0)
    vectors, coef = rng.standard_normal((500, 20)), rng.standard_normal((1, 500))
    X = rng.standard_normal((500, 20))
    sums, bound = predictor_of(vectors, mp.Gaussian(4.0)).bounded(X, coef)(X)
    assert np.all(bound < 1e-2 * np.abs(sums).mean())


def test_features_in_which_all_vectors_agree_count():
    rng = np.random.default_rng(0)
    vectors, X = rng.standard_normal((50, 6)), rng.standard_normal((80, 6))
    vectors[:, [1, 4]] = 0.1, 1e5
    X[:, 4] += 1e5
    coef = rng.standard_normal((2, 50))
    sums, bound = predictor_of(vectors, mp.Gaussian(2.0)).bounded(X, coef)(X)
    difference = np.abs(sums - naive(X, vectors, 2.0, coef))
    assert np.all(difference <= bound)
    assert np.all(difference < 1e-3 * np.abs(sums).mean())


@pytest.mark.parametrize("far", [1e30, 1e300])
def test_what_overflows_has_no_bound(far):
    vectors = np.random.default_rng(0).standard_normal((5, 2))
    X = np.full((100, 2), far)
    bound = predictor_of(vectors, mp.Gaussian(1.0)).bounded(X, np.ones((1, 5)))(X)[1]
    assert not np.any(bound < np.inf)


def test_other_coefficients_are_packed_anew():
    vectors, X = np.eye(3), np.random.default_rng(0).standard_normal((70, 3))
    predictor, coef = predictor_of(vectors, mp.Gaussian(1.0)), np.ones((1, 3))
    before = predictor.bounded(X, coef)(X)[0]
    coef *= 2  # in place
    assert np.allclose(predictor.bounded(X, coef)(X)[0], 2 * before)


@settings(deadline=None, max_examples=60)
@given(n_classes=st.integers(2, 6), in_pairs=st.booleans(), seed=st.integers(0, 2**20))
def test_what_is_settled_no_values_within_the_bound_change(n_classes, in_pairs, seed):
    columns = OneVsOne(n_classes) if in_pairs and n_classes > 2 else OneVsRest(n_classes)
    rng = np.random.default_rng(seed)
    decision = rng.standard_normal((200, columns.n_columns)).round(1)  # some are 0, and many are equal
    bound = rng.choice([0.0, 0.01, 0.3, np.nan], size=decision.shape)
    sure = settled(columns, decision, bound)
    label = _label(columns, decision)
    assert not np.any(sure & np.isnan(bound).any(axis=1)) or n_classes > 2
    for _ in range(20):
        moved = decision + np.nan_to_num(bound) * rng.choice([-1.0, 0.0, 1.0], size=decision.shape)
        assert np.array_equal(_label(columns, moved)[sure], label[sure])


def _label(columns, decision):
    values = columns.values(decision)
    return values[:, 0] > 0 if values.shape[1] == 1 else values.argmax(axis=1)


@pytest.fixture(scope="module", params=["two", "rest", "pairs", "float32"])
def fitted(request):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 4))
    y = (X[:, 0] * X[:, 1] > 0) + (X[:, 2] > 0.5) * (request.param in ("rest", "pairs"))
    X = X.astype(np.float32 if request.param == "float32" else np.float64)
    multi_class = "ovr" if request.param == "rest" else "auto"
    clf = mp.MarginPathClassifier(multi_class=multi_class, random_state=0).fit(X, y.astype(int))
    return clf, _between(clf, X)


def _between(clf, X):
    """Return rows, and rows so near to where labels change that float32 cannot tell the sides apart."""
    label = clf.predict(X)
    first, second = X[:150], X[np.random.default_rng(0).integers(len(X), size=150)]
    differs = clf.predict(second) != label[:150]
    low, high = first[differs], second[differs]
    for _ in range(60):
        middle = (low + high) / 2
        same = clf.predict(middle) == label[:150][differs]
        low, high = np.where(same[:, None], middle, low), np.where(same[:, None], high, middle)
    return np.concatenate([X, low, high, X + 0.1])


def test_labels_are_those_of_the_decision_values(fitted):
    clf, X = fitted
    values = clf.decision_function(X)
    expected = clf.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]
    labels = clf.predict(X)
    assert np.array_equal(labels, expected)
    assert np.array_equal(labels, np.concatenate([clf.predict(X[i : i + 1]) for i in range(len(X))]))


def test_most_labels_are_settled_in_float32(fitted, monkeypatch):
    clf, X = fitted
    again = []
    decide = type(clf)._decide
    monkeypatch.setattr(
        type(clf), "_decide", lambda self, rows: again.append(rows.X.shape[0]) or decide(self, rows)
    )
    clf.predict(X)
    assert 0 < sum(again) < len(X) / 2


@pytest.mark.parametrize("off", [0.0, np.inf])
def test_where_few_are_settled_no_more_are_tried(off):
    tried = []

    def quick(X):
        tried.append(len(X))
        return X[:, :1].copy(), np.full((len(X), 1), off)

    X = np.random.default_rng(0).standard_normal((2000, 1))
    values = deciding.settled_decisions(X, quick, lambda X: 2 * X[:, :1], OneVsRest(2))
    assert sum(tried) == (2000 if off == 0 else 512)
    assert np.array_equal(values, X if off == 0 else 2 * X)


@pytest.mark.parametrize("kind", [np.asfortranarray, lambda X: X[::-1][::-1], lambda X: X.astype(np.float32)])
def test_rows_of_any_layout(fitted, kind):
    clf, X = fitted
    rows = kind(X)
    rows.flags.writeable = False
    values = clf.decision_function(rows)
    expected = clf.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]
    assert np.array_equal(clf.predict(rows), expected)
