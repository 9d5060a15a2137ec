"""A fit that goes on where the last one ended."""

import numpy as np
import pytest
from classifiers import BOTH, decisions
from naive import far_apart

import marginpath as mp


def test_warm_start_goes_on(moons):
    X, y = moons
    whole = mp.MarginPathClassifier(stopping=None, max_iter=12, random_state=0).fit(X, y)
    part = mp.MarginPathClassifier(stopping=None, max_iter=5, random_state=0, warm_start=True).fit(X, y)
    first = part.at(5)
    part.set_params(max_iter=12).fit(X, y)
    np.testing.assert_array_equal(decisions(part, X), decisions(whole, X))
    assert (part.n_iter_, first.n_iter_) == (12, 5)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("stopping", [None, "cv"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_warm_start_refuses_other_data(cls, stopping):
    (X, replaced, y), moved = far_apart(), far_apart()[0]
    kernel = {"gamma": 1.0} if cls is mp.MarginPathClassifier else {}
    part = cls(stopping=stopping, max_iter=3, random_state=0, warm_start=True, **kernel).fit(X, y)
    before = decisions(part, X)
    moved[77, 1] = np.nextafter(moved[77, 1], 9.0)
    weights, others = np.where(np.arange(200) < 9, 2.0, 1.0), y[::-1].copy()
    part.set_params(max_iter=6)
    for name, data in {
        "X": (replaced, y),
        "X ": (moved, y),
        "X, y": (X[:-1], y[:-1]),
        "y": (X, others),
        "sample_weight": (X, y, weights),
    }.items():
        with pytest.raises(ValueError, match=f"same samples and classes .* but {name.strip()} differ"):
            part.fit(*data)
    np.testing.assert_array_equal(decisions(part, X), before)  # what was refused has changed nothing
    assert part.fit(X.copy(), y).n_iter_ == 6


def test_warm_start_sees_samples_that_were_changed_in_place():
    X, y = np.random.default_rng(0).standard_normal((40, 2)), np.arange(40) % 2
    part = mp.MarginPathClassifier(stopping=None, max_iter=3, random_state=0, warm_start=True).fit(X, y)
    X[7] = 0
    with pytest.raises(ValueError, match="but X differ"):
        part.set_params(max_iter=6).fit(X, y)


@pytest.mark.parametrize(
    "changed",
    [
        {"gamma": 0.7},
        {"kernel": "laplacian"},
        {"degree": 2, "kernel": "poly"},
        {"class_weight": {0: 2.0, 1: 1.0}},
        {"class_weight": "balanced"},
        {"fit_intercept": False},
        {"intercept_scaling": 2.0},
        {"method": "inertial"},
        {"schedule": mp.PowerDecay(1.0)},
        {"stopping": "cv"},
        {"cv": [(np.arange(9), np.arange(9, 12))]},
        {"random_state": 1},
    ],
)
def test_warm_start_refuses_other_settings(changed, moons):
    X, y = moons
    part = mp.MarginPathClassifier(stopping=None, max_iter=3, random_state=0, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=f"but {', '.join(changed)} differ"):
        part.set_params(max_iter=6, **changed).fit(X, y)


def test_warm_start_lets_the_limits_change(moons):
    X, y = moons
    part = mp.MarginPathClassifier(
        stopping=None, max_iter=3, random_state=0, warm_start=True, class_weight={0: 2.0, 1: 1.0}
    ).fit(X, y)
    part.set_params(max_iter=6, time_limit=100.0, tol=1e-3, verbose=0, n_jobs=1, cache_size=0.01)
    assert part.set_params(class_weight={0: 2.0, 1: 1.0}).fit(X, y).n_iter_ == 6


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_without_warm_start_is_not_gone_on_with(moons):
    X, y = moons
    late = mp.MarginPathClassifier(random_state=0, max_iter=3).fit(X, y)
    late.set_params(warm_start=True, max_iter=6).fit(X, y)
    whole = mp.MarginPathClassifier(random_state=0, max_iter=6).fit(X, y)
    np.testing.assert_array_equal(decisions(late, X), decisions(whole, X))
    assert late.n_iter_ == 6


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_warm_start_of_cross_validation(moons):
    X, y = moons
    whole = mp.MarginPathClassifier(random_state=0).fit(X, y)
    part = mp.MarginPathClassifier(random_state=0, max_iter=3, warm_start=True).fit(X, y)
    part.set_params(max_iter="auto").fit(X, y)
    assert part.step_ == whole.step_
    np.testing.assert_array_equal(decisions(part, X), decisions(whole, X))
    np.testing.assert_array_equal(part.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"])
