"""Columns on very different scales: the warning comes where scaling helps, and only there."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

import marginpath as mp
from marginpath.estimators.scales import warn_of_scales

BOTH = pytest.mark.parametrize(
    "make", [mp.LinearMarginPathClassifier, mp.MarginPathClassifier], ids=["linear", "rbf"]
)


def warned(make, X, y, **settings):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", mp.UnscaledDataWarning)
        make(max_iter=1, stopping=None, **settings).fit(X, y)
    return [str(w.message) for w in caught if w.category is mp.UnscaledDataWarning]


def beans(rng, n=120):
    """Return an area in pixels, which hides the roundness that tells the kinds apart."""
    y = rng.integers(0, 2, n)
    return np.stack([rng.normal(50_000, 9000, n), rng.normal(0.8, 0.05, n) + 0.1 * y], axis=1), y


def glasses(rng, n=120):
    """Return shares of oxides, each about its own mean: one of 73 %, most of nearly none."""
    y = rng.integers(0, 2, n)
    return rng.normal([73.0, 13.0, 9.0, 0.2], 0.4, (n, 4)) + 0.5 * y[:, None], y


@BOTH
def test_a_column_that_is_hidden_is_named_with_what_hides_it(make, rng):
    X, y = beans(rng)
    (sentence,) = warned(make, pd.DataFrame(X, columns=["area", "roundness"]), y)
    assert sentence.startswith("The spread of area is ")
    assert "times that of roundness, which tells more about the classes" in sentence
    assert f"make_pipeline(StandardScaler(), {make.__name__}(...))" in sentence
    assert "The spread of column 0 is " in warned(make, X, y)[0]


@BOTH
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_real_tables_that_need_scaling(make, load):
    X, y = load(return_X_y=True)
    assert len(warned(make, X, y)) == 1
    assert warned(make, StandardScaler().fit_transform(X), y) == []


@BOTH
def test_what_is_told_helps(make):
    """On average: a path that goes far enough may find the hidden column by itself."""
    gains = []
    for seed in range(3):
        X, y = beans(np.random.default_rng(seed))
        with pytest.warns(mp.UnscaledDataWarning):
            raw = make(random_state=0).fit(X, y)
        scaled = make(random_state=0).fit(StandardScaler().fit_transform(X), y)
        gains.append(scaled.cv_results_["mean_test_score"].max() - raw.cv_results_["mean_test_score"].max())
    assert np.mean(gains) > 0.1


@pytest.mark.parametrize(
    ("make", "settings"),
    [(mp.LinearMarginPathClassifier, {"method": "inertial"}), (mp.MarginPathClassifier, {})],
    ids=["linear", "rbf"],
)
def test_columns_that_lie_far_apart(make, settings, rng):
    X, y = glasses(rng)
    (sentence,) = warned(make, X, y, **settings)
    assert sentence.startswith("The means of the columns differ far more than the values in each: ")
    assert warned(make, X - X.mean(axis=0), y, **settings) == []


def test_where_columns_lie_is_no_matter_with_a_free_intercept(rng):
    assert warned(mp.LinearMarginPathClassifier, *glasses(rng)) == []


def test_a_gamma_of_ones_own_knows_where_the_columns_lie(rng):
    X, y = glasses(rng)
    assert warned(mp.MarginPathClassifier, X, y, gamma=0.5) == []


def counts(rng):
    """Return counts of a few frequent and very many rare words, of which one tells the classes apart."""
    y = rng.integers(0, 2, 400)
    X = rng.poisson(np.geomspace(20, 0.01, 60), (400, 60)).astype(float)
    X[:, -1] = rng.random(400) < 0.2 * y
    return X, y


def levels(rng):
    """Return columns of zeros and ones, some rare, beside scaled numbers."""
    y = rng.integers(0, 2, 400)
    rare = rng.random((400, 20)) < np.geomspace(0.5, 0.005, 20)
    rare[:, -1] = (y == 1) & (rng.random(400) < 0.1)
    return np.hstack([rng.normal(size=(400, 3)), rare]), y


def pictures(rng):
    X, y = load_digits(return_X_y=True)
    return np.hstack([X, (rng.random((len(X), 1)) < 0.002) * 1.0]), y


@BOTH
@pytest.mark.parametrize("kind", [counts, levels, pictures])
def test_rare_words_levels_and_pixels_are_no_matter_of_scale(make, kind, rng):
    assert warned(make, *kind(rng)) == []


@BOTH
def test_what_else_is_left_alone(make, rng):
    X, y = beans(rng)
    assert warned(make, sp.csr_array(X), y) == []
    assert warned(make, X[:, 1:], y) == []
    assert warned(make, *load_iris(return_X_y=True)) == []
    assert warned(make, X, rng.permutation(y)) == []  # no column tells anything


def test_kernels_that_the_user_knows_alone(rng):
    X, y = beans(rng)
    assert warned(mp.MarginPathClassifier, X @ X.T, y, kernel="precomputed") == []
    assert warned(mp.MarginPathClassifier, X, y, kernel=lambda A, B: A @ B.T) == []


def test_a_table_is_scaled_already(rng):
    X, y = beans(rng)
    assert warned(lambda **_: mp.TablePathClassifier(random_state=0), X, y) == []


def test_some_rows_of_a_large_array_are_enough(monkeypatch, rng):
    X, y = beans(rng, 4000)
    looked_at = []
    median = np.median
    monkeypatch.setattr(np, "median", lambda a, **axis: looked_at.append(a.shape) or median(a, **axis))
    monkeypatch.setattr("marginpath.estimators.scales.NUMBERS", 1000)
    with pytest.warns(mp.UnscaledDataWarning):
        warn_of_scales(X, y, None, hidden=10.0, apart=True, who="it")
    assert looked_at[0] == (500, 1)
