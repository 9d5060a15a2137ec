"""The classifiers on dask arrays and dataframes: the same models as on one machine, lazily applied."""

from itertools import islice

import numpy as np
import pytest

pytest.importorskip("dask", reason="the extra dask is not installed")
distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import pandas as pd  # noqa: E402
from sklearn.datasets import load_iris, make_moons  # noqa: E402

import marginpath as mp  # noqa: E402
from marginpath.estimators.path_fit import on_cluster  # noqa: E402

BOTH = [mp.MarginPathClassifier, mp.LinearMarginPathClassifier]


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as made,
    ):
        yield made


@pytest.mark.parametrize("cls", [BOTH[0], pytest.param(BOTH[1], marks=pytest.mark.heavy)])
def test_pairs_of_classes_and_sets(client, cls):
    X, y = load_iris(return_X_y=True)
    settings = {"multi_class": "ovo", "method": "inertial", "random_state": 0}
    here = cls(**settings).fit(X, y)
    there = cls(**settings).fit(da.from_array(X, chunks=(40, 4)), da.from_array(y, chunks=50))
    far = da.from_array(X, chunks=(60, 4))
    for method in ("decision_function", "predict_proba"):
        np.testing.assert_allclose(getattr(there, method)(far).compute(), getattr(here, method)(X), atol=1e-6)
    np.testing.assert_array_equal(there.predict_set(far).compute(), here.predict_set(X))


@pytest.mark.parametrize("cls", [BOTH[0], pytest.param(BOTH[1], marks=pytest.mark.heavy)])
@pytest.mark.parametrize("data", [load_iris(return_X_y=True), make_moons(90, noise=0.3, random_state=0)])
def test_the_same_model_lazily(client, cls, data):
    X, y = data
    far = da.from_array(X, chunks=(40, X.shape[1]))
    here = cls(method="inertial", random_state=0).fit(X, y)
    there = cls(method="inertial", random_state=0).fit(far, da.from_array(y, chunks=50))
    assert there.step_ == here.step_
    for name in ("decision_function", "predict", "predict_proba", "predict_log_proba"):
        lazy = getattr(there, name)(far)
        assert isinstance(lazy, da.Array)
        np.testing.assert_allclose(lazy.compute(), getattr(here, name)(X), atol=1e-10)
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=1e-10)
    np.testing.assert_array_equal(there.at(3).predict(X), here.at(3).predict(X))
    third = (next(islice(clf.staged_predict(Z), 2, None)) for clf, Z in ((there, far), (here, X)))
    np.testing.assert_array_equal(*third)
    with pytest.raises(ValueError, match=f"1 features, but .* is expecting {X.shape[1]} features"):
        there.predict(far[:, :1])
    with pytest.raises(ValueError, match=f"{len(X)} rows, but y has 3 labels"):
        cls().fit(far, [0, 1, 1])


@pytest.mark.heavy
def test_sweeps_on_the_cluster(client):
    X, y = make_moons(90, noise=0.3, random_state=0)
    fitted = mp.LinearMarginPathClassifier(random_state=0).fit(da.from_array(X, chunks=(30, 2)), y)
    assert fitted.method_ == "coordinate"
    assert fitted.separable_ is None  # the rows are not brought here to be compared
    assert on_cluster(mp.CoordinateDescent(seed=3, tol=0.01)) == mp.ClusterSweeps(seed=3, tol=0.01)
    assert fitted.score(X, y) > mp.LinearMarginPathClassifier(random_state=0).fit(X, y).score(X, y) - 0.05


def test_a_dataframe_keeps_its_names(client):
    X, y = make_moons(60, noise=0.3, random_state=0)
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]), npartitions=2)
    fitted = mp.LinearMarginPathClassifier(method="inertial", stopping=None, max_iter=5).fit(frame, y)
    assert fitted.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_allclose(
        fitted.decision_function(frame).compute(), fitted.decision_function(frame.compute())
    )


def test_columns_of_other_names_are_refused(client):
    X, y = make_moons(60, noise=0.3, random_state=0)
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]), npartitions=2)
    fitted = mp.LinearMarginPathClassifier(method="inertial", stopping=None, max_iter=5).fit(frame, y)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(frame[["b", "a"]])


@pytest.mark.heavy
def test_labels_that_are_words_come_back_lazily(client):
    X, y = load_iris(return_X_y=True)
    words, far = np.array(["setosa", "versicolor", "virginica"])[y], da.from_array(X, chunks=(40, 4))
    settings = {"method": "inertial", "stopping": None, "max_iter": 30}
    here, there = (mp.LinearMarginPathClassifier(**settings).fit(Z, words) for Z in (X, far))
    assert there.predict(far).dtype == words.dtype
    np.testing.assert_array_equal(there.predict(far).compute(), here.predict(X))


def test_weights_count_in_the_width_there_too(client):
    X, y = make_moons(60, noise=0.3, random_state=0)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    settings = {"method": "inertial", "stopping": None, "max_iter": 2}
    here = mp.MarginPathClassifier(**settings).fit(X, y, sample_weight=weight)
    there = mp.MarginPathClassifier(**settings).fit(da.from_array(X, chunks=(20, 2)), y, sample_weight=weight)
    assert there.gamma_ == pytest.approx(here.gamma_, rel=1e-12)


@pytest.mark.heavy
def test_the_width_is_tuned_there_too(client):
    X, y = make_moons(60, noise=0.3, random_state=0)
    settings = {"gamma": "tuned", "method": "inertial", "random_state": 0}
    here = mp.MarginPathClassifier(**settings).fit(X, y)
    there = mp.MarginPathClassifier(**settings).fit(da.from_array(X, chunks=(20, 2)), y)
    assert there.gamma_ == pytest.approx(here.gamma_, rel=1e-12)
    assert there.step_ == here.step_
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=1e-10)


@pytest.mark.heavy
def test_landmarks_travel_and_the_rows_stay(client):
    X, y = load_iris(return_X_y=True)
    far = da.from_array(X, chunks=((40, 0, 70, 40), (4,)))
    settings = {"landmarks": 10, "method": "inertial", "stopping": None, "max_iter": 12, "random_state": 0}
    here = mp.MarginPathClassifier(**settings).fit(X, y)
    there = mp.MarginPathClassifier(**settings).fit(far, y)
    np.testing.assert_array_equal(there.landmarks_, here.landmarks_)
    assert there.trace_error_ == pytest.approx(here.trace_error_, abs=1e-5)
    np.testing.assert_allclose(there.decision_function(far).compute(), here.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(there.at(3).decision_function(X), here.at(3).decision_function(X), atol=1e-4)
    shares = [clf.disagreement(X, n_rows=100, random_state=0) for clf in (there, here)]
    assert shares[0] == pytest.approx(shares[1], abs=0.02)
    lost = there.trace_error_
    assert there.refine(far, y, landmarks=30).trace_error_ < lost
    with pytest.raises(ValueError, match="whose features are X itself"):
        mp.MarginPathClassifier(kernel="linear", landmarks=5).fit(far, y)
