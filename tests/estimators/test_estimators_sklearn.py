"""The classifiers among scikit-learn's tools: its own checks, meta-estimators, callbacks, threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_moons
from sklearn.ensemble import StackingClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import marginpath as mp
from marginpath import parallel

BOTH = [mp.MarginPathClassifier, mp.LinearMarginPathClassifier]

#: Why a check does not hold; the same would be said of scikit-learn's own sweeps over samples.
EXPECTED = dict.fromkeys(
    ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"],
    "solutions are equal to path_tol only, and the random order of sweeps depends on the samples",
)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:Fewer than")
@parametrize_with_checks(
    [cls(random_state=0) for cls in BOTH], expected_failed_checks=lambda estimator: EXPECTED
)
def test_scikit_learn_compatible(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("cls", "settings"),
    [(cls, {"method": method}) for cls in BOTH for method in ("inertial", "gradient")]
    + [(mp.MarginPathClassifier, {"path_tol": 1e-8})],
)
def test_a_weight_is_a_number_of_samples(cls, settings):
    """The two checks that random sweeps cannot pass hold for the paper's algorithms, and for solutions."""
    for check in (
        estimator_checks.check_sample_weight_equivalence_on_dense_data,
        estimator_checks.check_sample_weight_equivalence_on_sparse_data,
    ):
        check(cls.__name__, cls(random_state=0, **settings))


@pytest.fixture(scope="module")
def moons():
    return make_moons(100, noise=0.25, random_state=0)


@pytest.mark.parametrize("cls", BOTH)
def test_meta_estimators(cls, moons):
    X, y = moons
    quick = cls(cv=3, random_state=0)
    assert cross_val_score(make_pipeline(StandardScaler(), quick), X, y, cv=3).mean() > 0.75
    for meta in (
        CalibratedClassifierCV(quick, cv=2),
        StackingClassifier([("path", quick), ("log", LogisticRegression())], cv=2),
        OneVsOneClassifier(quick),
    ):
        assert meta.fit(X, y).score(X, y) > 0.75
    fitted = quick.fit(X, y)
    assert permutation_importance(fitted, X, y, n_repeats=2, random_state=0).importances_mean.max() > 0
    assert clone(fitted).get_params() == fitted.get_params()


def test_grid_search_over_the_kernel(moons):
    X, y = moons
    grid = {"gamma": [1e6, 1.0], "kernel": ["rbf"]}
    search = GridSearchCV(mp.MarginPathClassifier(cv=3, random_state=0), grid, cv=2, n_jobs=2).fit(X, y)
    assert search.best_params_["gamma"] == 1.0
    assert search.best_score_ > 0.8


def test_boundary_display(moons):
    pytest.importorskip("matplotlib").use("Agg")
    from sklearn.inspection import DecisionBoundaryDisplay

    X, y = moons
    fitted = mp.MarginPathClassifier(random_state=0).fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(fitted, X, response_method="decision_function")
    assert np.isfinite(display.response).all()


def test_feature_names(moons):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(moons[0], columns=["a", "b"])
    fitted = mp.MarginPathClassifier(cv=3, random_state=0).fit(X, moons[1])
    assert fitted.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(X.rename(columns={"a": "c"}))


def test_metadata_routing(moons):
    X, y = moons
    groups, weight = np.arange(100) % 9, np.linspace(1, 2, 100)
    with sklearn.config_context(enable_metadata_routing=True):
        splitter = GroupKFold(3).set_split_request(groups=True)
        inner = mp.MarginPathClassifier(cv=splitter, random_state=0).set_fit_request(sample_weight=True)
        inner.set_score_request(sample_weight=False)
        scores = cross_val_score(
            inner, X, y, cv=GroupKFold(3), params={"groups": groups, "sample_weight": weight}
        )
        assert scores.mean() > 0.75
        alone = inner.fit(X, y, sample_weight=weight, groups=groups)
    assert "split2_test_score" in alone.cv_results_


def test_several_fits_at_once(moons):
    X, y = moons
    alone = [mp.MarginPathClassifier(cv=3, random_state=s).fit(X, y) for s in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda s: mp.MarginPathClassifier(cv=3, random_state=s).fit(X, y), range(4)))
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))


def test_the_number_of_threads_changes_nothing():
    X, y = load_iris(return_X_y=True)
    one, two = (mp.MarginPathClassifier(n_jobs=n, random_state=0).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def test_threads_in_joblib_workers(monkeypatch):
    import joblib

    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    inside = joblib.Parallel(n_jobs=2, backend="threading")(
        joblib.delayed(parallel.available)() for _ in range(2)
    )
    assert inside == [1, 1]
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert parallel.available() == 1


class TestCallbacks:
    @pytest.fixture(autouse=True)
    def _needs_callbacks(self):
        pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")

    def test_scores_along_the_path(self, moons):
        from sklearn.callback import ScoringMonitor

        X, y = moons
        monitor = ScoringMonitor(scoring="accuracy")
        fitted = mp.MarginPathClassifier(cv=3, random_state=0).set_callbacks(monitor).fit(X, y)
        log = monitor.get_logs()
        log = log[0] if isinstance(log, list) else log
        scores = [row["accuracy"] for row in log.data if row["task_name"] == "step"]
        expected = [np.mean(p == y) for p in fitted.staged_predict(X)]
        np.testing.assert_allclose(scores, expected)

    def test_a_callback_may_stop(self, moons):
        class StopAt:
            def setup(self, estimator, context):
                self.steps = 0

            def teardown(self, estimator, context):
                pass

            def on_fit_task_begin(self, estimator, context):
                pass

            def on_fit_task_end(self, estimator, context):
                self.steps += context.task_name == "step"
                return self.steps == 4

        fitted = mp.MarginPathClassifier(random_state=0).set_callbacks(StopAt()).fit(*moons)
        assert fitted.n_iter_ == 4

    def test_progress_bar(self, moons, capsys):
        pytest.importorskip("rich")
        from sklearn.callback import ProgressBar

        mp.LinearMarginPathClassifier(cv=3, random_state=0).set_callbacks(ProgressBar()).fit(*moons)
        assert "LinearMarginPathClassifier" in capsys.readouterr().out


def test_verbose_tells_every_step(moons, capsys):
    fitted = mp.MarginPathClassifier(cv=3, random_state=0, verbose=1).fit(*moons)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == fitted.n_iter_
    assert lines[0].startswith("[marginpath] step 1: C = ")
