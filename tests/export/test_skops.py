"""Persistence: what is loaded is what was saved, whole, and as small as it can be."""

import io
import pickle
import warnings

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import marginpath as mp
from marginpath.export.skops import SKOPS_TRUSTED
from marginpath.files.records import registered
from marginpath.path import stopping

SETTINGS = [
    {},
    {"method": "inertial"},
    {"method": "gradient"},
    {"stopping": "margin"},
    {"stopping": "holdout", "calibration": "isotonic", "class_weight": "balanced"},
    {"stopping": "discrepancy", "noise_level": 0.1},
    {"stopping": None, "schedule": mp.PowerDecay(10.0)},
    {"stopping": None, "schedule": mp.LogDecay(10.0)},
    {"stopping": None, "schedule": mp.Constant(1.0)},
    {"stopping": stopping.APriori(3)},
    {"stopping": stopping.CertifiedMargin(0.5)},
    {"stopping": stopping.Discrepancy(0.1)},
    {"stopping": stopping.LeaveOneOut()},
    {"stopping": stopping.QuasiOptimality()},
    {"warm_start": True, "random_state": np.random.RandomState(0)},
]
KERNELS = [
    {"kernel": "poly"},
    {"gamma": "tuned"},
    *(
        {"kernel": k}
        for k in (mp.Gaussian(2.0), mp.Laplacian(2.0), mp.Polynomial(2), mp.Linear(), mp.Cosine())
    ),
]


def fitted(settings):
    """Return classifiers with these settings: the kernel one, and with the first ones the linear one."""
    X, y = load_iris(return_X_y=True)
    kinds = [mp.MarginPathClassifier]
    if settings in SETTINGS[:4]:
        kinds.append(mp.LinearMarginPathClassifier)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # short paths end before their rule is met
        return [kind(**{"random_state": 0, "max_iter": 8, **settings}).fit(X[::2], y[::2]) for kind in kinds]


def assert_equal(loaded, saved):
    X = load_iris().data
    assert np.array_equal(loaded.decision_function(X), saved.decision_function(X))
    assert loaded.step_ == saved.step_
    middle = (saved.n_iter_ + 1) // 2
    assert np.array_equal(loaded.at(middle).decision_function(X), saved.at(middle).decision_function(X))
    assert np.array_equal(next(loaded.staged_decision_function(X)), next(saved.staged_decision_function(X)))
    assert np.array_equal(loaded.path_["bound"], saved.path_["bound"])
    assert np.array_equal(loaded.margin_bounds_, saved.margin_bounds_)
    assert hasattr(loaded, "predict_proba") == hasattr(saved, "predict_proba")
    if hasattr(saved, "predict_proba"):
        assert np.array_equal(loaded.predict_proba(X), saved.predict_proba(X))


@pytest.mark.parametrize("settings", SETTINGS[:4])
def test_joblib_brings_everything_back(settings):
    for clf in fitted(settings):
        file = io.BytesIO()
        joblib.dump(clf, file)
        assert_equal(joblib.load(file), clf)


@pytest.mark.heavy
def test_skops_needs_to_trust_records_and_nothing_else():
    skops = pytest.importorskip("skops.io", reason="install marginpath[skops] to test it")
    asked = set()
    for settings in [*SETTINGS, *KERNELS]:
        for clf in fitted(settings):
            dumped = skops.dumps(clf)
            asked |= set(skops.get_untrusted_types(data=dumped))
            assert_equal(skops.loads(dumped, trusted=SKOPS_TRUSTED), clf)
    assert asked < set(SKOPS_TRUSTED)
    ours = {f"{cls.__module__}.{cls.__qualname__}" for cls in registered()}
    assert set(SKOPS_TRUSTED) <= ours


def test_skops_holds_a_pipeline(tmp_path):
    skops = pytest.importorskip("skops.io", reason="install marginpath[skops] to test it")
    X, y = load_iris(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), mp.MarginPathClassifier(random_state=0)).fit(X, y)
    skops.dump(pipe, tmp_path / "model.skops")
    with pytest.raises(TypeError, match="marginpath"):
        skops.load(tmp_path / "model.skops")
    loaded = skops.load(tmp_path / "model.skops", trusted=SKOPS_TRUSTED)
    assert np.array_equal(loaded.predict_proba(X), pipe.predict_proba(X))


def test_a_path_goes_on_after_loading():
    X, y = load_iris(return_X_y=True)
    clf = mp.MarginPathClassifier(stopping=None, max_iter=5, warm_start=True, random_state=0).fit(X, y)
    loaded = pickle.loads(pickle.dumps(clf)).set_params(max_iter=9).fit(X, y)
    once = mp.MarginPathClassifier(stopping=None, max_iter=9, random_state=0).fit(X, y)
    assert loaded.n_iter_ == 9
    assert np.array_equal(loaded.decision_function(X), once.decision_function(X))


@pytest.mark.parametrize("settings", [{}, {"stopping": "margin"}, {"gamma": "tuned"}, {"method": "inertial"}])
@pytest.mark.parametrize("classes", [2, 4])
def test_a_file_holds_the_samples_and_the_states(settings, classes):
    X, y = make_classification(
        400, 20, n_informative=4, n_redundant=0, n_clusters_per_class=1, n_classes=classes, random_state=0
    )
    clf = mp.MarginPathClassifier(random_state=0, **settings).fit(X, y)
    states = clf.path_.last.nbytes + sum(state.nbytes for state in clf.path_.kept.values())
    packed = sum(
        each.resting.nbytes + each.index.nbytes + each.values.nbytes + each.bound.nbytes
        for each in clf.models_.packed
    )
    columns = 1 if classes == 2 else classes
    results = 6 * 8 * len(X) * columns  # labels, weights, out-of-fold values, support and its coefficients
    table = len(pickle.dumps((clf.path_.rows, getattr(clf, "cv_results_", None))))
    wrapping = 10_000 + 600 * clf.n_iter_  # of some arrays a step
    size = len(pickle.dumps(clf))
    assert size <= X.nbytes + states + packed + results + table + wrapping
    assert size < X.nbytes + states + packed + len(X) ** 2 * 8 / 4  # the kernel matrix is not in it
