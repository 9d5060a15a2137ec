"""A classifier has one history, its path: models, out-of-fold values and the exact maximum margin."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

import marginpath as mp
from marginpath.app.commands.summary import steps_table
from marginpath.app.modelfile import Model
from marginpath.app.report.content import content
from marginpath.app.report.suspects import states
from marginpath.app.tables import Table
from marginpath.files.objects import load, save

BOTH = [mp.MarginPathClassifier, mp.LinearMarginPathClassifier]


@pytest.fixture(scope="module")
def moons():
    return make_moons(60, noise=0.3, random_state=0)


@pytest.fixture(scope="module", params=[2, 3])
def blobs(request):
    return make_blobs(60, 4, centers=request.param, cluster_std=0.5, random_state=0)


def assert_same_path(one, other):
    np.testing.assert_array_equal(one.path_.steps, other.path_.steps)
    assert set(one.path_.rows) == set(other.path_.rows)
    for name in set(one.path_.rows) - {"seconds"}:
        np.testing.assert_array_equal(one.path_[name], other.path_[name])
    for step in one.path_.steps:
        np.testing.assert_array_equal(one.models_.u(step), other.models_.u(step))


@pytest.mark.parametrize("cls", BOTH)
def test_the_exact_maximum_margin_is_the_last_step_of_the_path(cls, blobs):
    X, y = blobs
    clf = cls(stopping="margin", random_state=0).fit(X, y)
    path = clf.path_
    assert path.models is clf.models_
    assert clf.step_ == clf.n_iter_ == path.end == path.last.t + 1
    np.testing.assert_array_equal(path.steps, np.arange(clf.n_iter_ + 1))
    np.testing.assert_array_equal(np.isinf(path["bound"]).all(axis=1), path.steps == clf.n_iter_)
    assert not path["error"][-1].any()
    lower, upper = path["estimated_margin_bounds"][-1]
    np.testing.assert_allclose(lower, clf.margin_bounds_[0], rtol=1e-6)
    np.testing.assert_allclose(upper, clf.margin_bounds_[1], rtol=1e-6)
    assert clf.C_ == clf.at(clf.n_iter_).C_ == np.inf
    *_, last = clf.staged_decision_function(X)
    np.testing.assert_allclose(last, clf.decision_function(X), rtol=1e-9, atol=1e-12)


def test_the_margin_of_samples_in_single_precision_is_proved_in_double(blobs):
    X, y = blobs
    clf = mp.MarginPathClassifier(stopping="margin", random_state=0).fit(X.astype(np.float32), y)
    lower, upper = clf.margin_bounds_
    assert np.all(upper - lower <= 1e-9 * upper)
    assert clf.models_.u(clf.n_iter_).dtype == np.float64
    assert clf.path_["error"].shape == (clf.n_iter_ + 1, len(lower))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_warm_start_goes_on_before_the_exact_solution(blobs):
    X, y = blobs
    settings = {"stopping": "margin", "tol": 1e-9, "random_state": 0, "warm_start": True}
    part = mp.MarginPathClassifier(max_iter=3, **settings).fit(X, y)
    first, rows = part.path_, {name: list(values) for name, values in part.path_.rows.items()}
    part.set_params(max_iter=7).fit(X, y)
    assert_same_path(part, mp.MarginPathClassifier(max_iter=7, **settings).fit(X, y))
    assert (part.n_iter_, first.end, len(first.models)) == (8, 4, 5)
    for name, values in rows.items():
        np.testing.assert_array_equal(first[name], values)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("stored", ["not", "pickle", "file"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_warm_start_goes_on_with_the_out_of_fold_values(cls, stored, moons, tmp_path):
    X, y = moons
    part = cls(max_iter=3, random_state=0, warm_start=True).fit(X, y)
    if stored == "pickle":
        part = pickle.loads(pickle.dumps(part))
    elif stored == "file":
        save(tmp_path / "part", part)
        part = load(tmp_path / "part", cls)
    part.set_params(max_iter=8).fit(X, y)
    whole = cls(max_iter=8, random_state=0, warm_start=True).fit(X, y)
    assert_same_path(part, whole)
    np.testing.assert_array_equal(part.out_of_fold_, part.path_["out_of_fold"][part.step_, :, 0])
    np.testing.assert_array_equal(part.out_of_fold_, whole.out_of_fold_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_no_fit_will_go_on_with_is_not_kept(moons):
    clf = mp.MarginPathClassifier(max_iter=3, random_state=0).fit(*moons)
    observed = {"bound", "gap", "offset", "scores", "hinge", "estimated_margin_bounds"}
    assert set(clf.path_.rows) == {"step", "seconds", *observed}
    assert clf.path_.observers == {}
    kept = {name for name, value in vars(clf).items() if np.size(value) > len(moons[1])}
    assert kept == {"X_fit_", "out_of_fold_proba_"}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_failed_warm_start_can_be_tried_again(moons):
    X, y = moons
    clf = mp.MarginPathClassifier(max_iter=3, random_state=0, warm_start=True).fit(X, y)

    def fails(problem, state, path):
        if state.t == 5:
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"), mp.estimators.watched(fails):
        clf.set_params(max_iter=8).fit(X, y)
    clf.fit(X, y)
    assert_same_path(clf, mp.MarginPathClassifier(max_iter=8, random_state=0, warm_start=True).fit(X, y))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_after_a_failed_fit_of_other_data_a_warm_start_begins_anew(moons):
    X, y = moons
    clf = mp.MarginPathClassifier(max_iter=3, random_state=0, warm_start=True).fit(X, y)
    with pytest.raises(ZeroDivisionError), mp.estimators.watched(lambda *step: 1 / 0):
        clf.set_params(warm_start=False).fit(X + 1, y)
    clf.set_params(warm_start=True, max_iter=8).fit(X, y)
    assert_same_path(clf, mp.MarginPathClassifier(max_iter=8, random_state=0, warm_start=True).fit(X, y))


def test_report_and_table_show_the_exact_solution_as_any_step():
    pd = pytest.importorskip("pandas")
    X, y = make_blobs(60, 2, centers=2, cluster_std=0.5, random_state=0)
    table = Table("blobs", pd.DataFrame(X, columns=["a", "b"]), y.astype(str), "class")
    model = Model.fit(table, mp.MarginPathClassifier(stopping="margin", random_state=0))
    clf, shown = model.classifier, content(model)
    assert shown["steps"] == clf.path_.steps[1:].tolist()
    assert [C is None for C in shown["C"]] == (clf.path_.steps[1:] == clf.n_iter_).tolist()
    assert shown["support"]["bound"][-1] == 0 < shown["support"]["all"][-1]
    assert list(steps_table(model).columns[1].cells)[-1] == "∞"


def test_no_sample_is_at_an_infinite_bound():
    X, y = make_blobs(60, 2, centers=2, cluster_std=0.5, random_state=0)
    clf = mp.MarginPathClassifier(stopping="margin", random_state=0)
    clf.fit(X, y, sample_weight=np.arange(60) % 3)
    np.testing.assert_array_equal(states(clf, clf.n_iter_), clf.coefficients(clf.n_iter_).any(axis=1))
