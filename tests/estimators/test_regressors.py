"""The regressors: scikit-learn's checks, what a grid search of SVR finds, the path afterwards."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.linear_model import Ridge
from sklearn.metrics import get_scorer, mean_absolute_error, mean_pinball_loss
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

import marginpath as mp
from marginpath.estimators import regressors
from marginpath.files.objects import load, save
from marginpath.validation.regression_path import regression_score

BOTH = [mp.MarginPathRegressor, mp.LinearMarginPathRegressor]
LOSSES = ["squared", "absolute", "huber", "epsilon_insensitive", "quantile"]
EXPECTED = dict.fromkeys(
    ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"],
    "solutions are equal to path_tol only, and folds depend on the number of rows",
)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [cls(random_state=0) for cls in BOTH],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_scikit_learn_compatible(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def friedman():
    X, y = make_friedman1(500, n_features=6, noise=1.0, random_state=0)
    X = StandardScaler().fit_transform(X)
    return X[:300], y[:300], X[300:], y[300:]


def test_as_good_as_a_grid_search(friedman):
    X, y, X_new, y_new = friedman
    grid = {"C": np.geomspace(1e-2, 1e4, 7), "epsilon": [0.05, 0.2, 0.8]}
    rival = GridSearchCV(SVR(), grid, cv=3, scoring="neg_mean_absolute_error").fit(X, y)
    ours = mp.MarginPathRegressor(random_state=0).fit(X, y)
    error = mean_absolute_error(y_new, ours.predict(X_new))
    assert error <= 1.02 * mean_absolute_error(y_new, rival.predict(X_new))
    assert error < 0.5 * mean_absolute_error(y_new, np.full(len(y_new), np.median(y)))


def test_a_step_is_svr_at_its_c(friedman):
    """SVR has an intercept that is not penalized, and ours a constant in the kernel: nearly the same."""
    X, y, X_new, _ = friedman
    ours = mp.MarginPathRegressor(epsilon=0.3, gamma=0.1, random_state=0).fit(X, y)
    for step in (5, ours.step_):
        rival = SVR(C=ours.at(step).C_, epsilon=0.3, gamma=0.1).fit(X, y)
        off = rival.predict(X_new) - ours.at(step).predict(X_new)
        assert np.sqrt(np.mean(off**2)) < 0.05 * np.std(y)


def test_ridge_is_scikit_learns(friedman):
    X, y, X_new, _ = friedman
    y = y - y.mean()
    ours = mp.LinearMarginPathRegressor(
        loss="squared", fit_intercept=False, stopping=None, max_iter=6, path_tol=1e-9, random_state=0
    ).fit(X, y)
    rival = Ridge(alpha=1 / ours.C_, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ours.coef_, rival.coef_, rtol=1e-3, atol=1e-3)
    assert ours.intercept_ == 0
    np.testing.assert_allclose(ours.predict(X_new), X_new @ ours.coef_, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("cls", BOTH)
def test_every_loss_beats_the_constant(cls, loss, friedman):
    X, y, X_new, y_new = friedman
    model = cls(loss=loss, random_state=0).fit(X, y)
    rival = mean_absolute_error(y_new, np.full(len(y_new), np.median(y)))
    assert mean_absolute_error(y_new, model.predict(X_new)) < 0.6 * rival
    assert 1 < model.step_ <= model.n_iter_
    assert model.cv_results_["mean_test_score"].argmax() + 1 <= model.n_iter_


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_quantiles_cover_what_is_asked(quantile, cls):
    """Within two points, of 10,000 new rows; 2,000 rows to learn from leave one point to chance alone."""
    X, y = make_friedman1(12_000, n_features=5, noise=2.0, random_state=1)
    X, y, X_new, y_new = X[:2000], y[:2000], X[2000:], y[2000:]
    predicted = cls(loss="quantile", quantile=quantile, random_state=0).fit(X, y).predict(X_new)
    assert np.mean(y_new <= predicted) == pytest.approx(quantile, abs=0.02)
    constant = np.full(len(y_new), np.quantile(y, quantile))
    error, rival = (mean_pinball_loss(y_new, values, alpha=quantile) for values in (predicted, constant))
    assert error < 0.7 * rival


@pytest.mark.heavy
@pytest.mark.parametrize(("cls", "quantile"), [(BOTH[0], 0.1), (BOTH[0], 0.9), (BOTH[1], 0.5)])
def test_quantiles_are_off_by_chance_alone(cls, quantile):
    """Over ten samples: a quantile of 400 numbers has a deviation of √(q(1 − q)/400), and no bias.

    The residuals of the rows of the fit are smaller than those of new rows: with them, a kernel's quantile
    is five points off.
    """
    off = []
    for seed in range(10):
        X, y = make_friedman1(5400, n_features=5, noise=2.0, random_state=seed)
        model = cls(loss="quantile", quantile=quantile, random_state=seed).fit(X[:400], y[:400])
        off.append(np.mean(y[400:] <= model.predict(X[400:])) - quantile)
    chance = np.sqrt(quantile * (1 - quantile) / 400)
    assert abs(np.mean(off)) < 3 * chance / np.sqrt(10)
    assert np.std(off, ddof=1) < 2 * chance


def test_robust_losses_withstand_outliers(friedman):
    X, y, X_new, y_new = friedman
    wrong = y.copy()
    wrong[::10] += 200.0
    errors = {
        loss: mean_absolute_error(
            y_new, mp.LinearMarginPathRegressor(loss=loss, random_state=0).fit(X, wrong).predict(X_new)
        )
        for loss in ("squared", "absolute", "huber", "epsilon_insensitive")
    }
    assert (
        max(errors[loss] for loss in ("absolute", "huber", "epsilon_insensitive")) < 0.3 * errors["squared"]
    )


@pytest.mark.parametrize("cls", BOTH)
def test_the_path_afterwards(cls, friedman):
    X, y, X_new, _ = friedman
    model = cls(random_state=0).fit(X, y)
    staged = list(model.staged_predict(X_new))
    assert len(staged) == model.n_iter_
    np.testing.assert_allclose(staged[model.step_ - 1], model.predict(X_new), rtol=1e-12)
    early = model.at(2)
    np.testing.assert_allclose(early.predict(X_new), staged[1], rtol=1e-12)
    assert early.C_ < model.C_
    assert early.step_ == 2
    assert model.step_ != 2
    with pytest.raises(ValueError, match="step must be"):
        model.at(0)
    assert np.all(np.diff(model.cv_results_["param_C"]) > 0)
    assert model.schedule_(model.step_) == pytest.approx(1 / model.C_)


@pytest.mark.parametrize("cls", BOTH)
def test_a_warm_start_goes_on_where_the_last_fit_was(cls, friedman):
    X, y, X_new, _ = friedman
    short = cls(max_iter=4, warm_start=True, random_state=0)
    with pytest.warns(UserWarning, match="max_iter=4"):
        short.fit(X, y)
    short.set_params(max_iter="auto").fit(X, y)
    whole = cls(random_state=0).fit(X, y)
    np.testing.assert_array_equal(short.predict(X_new), whole.predict(X_new))
    assert short.n_iter_ == whole.n_iter_
    with pytest.raises(ValueError, match="y differ"):
        short.fit(X, y + 1)


@pytest.mark.parametrize("cls", BOTH)
def test_files(cls, friedman, tmp_path):
    X, y, X_new, _ = friedman
    model = cls(random_state=0).fit(X, y)
    save(tmp_path / "model", model)
    loaded = load(tmp_path / "model", cls)
    for again in (loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(X_new), model.predict(X_new))
        np.testing.assert_array_equal(again.at(2).predict(X_new), model.at(2).predict(X_new))


SLIM = [
    mp.MarginPathRegressor(random_state=0),
    mp.MarginPathRegressor(landmarks=60, random_state=0),
    mp.MarginPathRegressor("precomputed", random_state=0),
    mp.LinearMarginPathRegressor(loss="squared", random_state=0),
]


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("model", SLIM, ids=["kernel", "landmarks", "precomputed", "linear"])
def test_a_slim_regressor_predicts_the_same(model, sparse, friedman, tmp_path):
    X, y, X_new, _ = friedman
    if getattr(model, "kernel", None) == "precomputed":
        X, X_new = X @ X.T, X_new @ X.T
    elif sparse:
        X, X_new = sp.csr_array(X), sp.csr_array(X_new)
    fitted = clone(model).fit(X, y)
    slim = fitted.slim()
    save(tmp_path / "slim", slim)
    for again in (slim, slim.slim(), load(tmp_path / "slim", type(model))):
        np.testing.assert_array_equal(again.predict(X_new), fitted.predict(X_new))
        assert again.fit_facts_["samples"] == 300
        assert again.fit_facts_["mean"] == fitted.cv_results_["mean_test_score"][fitted.step_ - 1]
        for use in (lambda: again.at(1), lambda: next(again.staged_predict(X_new))):  # noqa: B023
            with pytest.raises(AttributeError, match="has left behind"):
                use()
    assert len(pickle.dumps(slim)) < len(pickle.dumps(fitted)) / 3
    np.testing.assert_array_equal(slim.fit(X, y).at(2).predict(X_new), fitted.at(2).predict(X_new))


def test_many_rows_have_kernel_values_in_single_precision(friedman, monkeypatch):
    X, y, X_new, _ = friedman
    double = mp.MarginPathRegressor(random_state=0).fit(X, y)
    monkeypatch.setattr(regressors, "_DOUBLE", 100)
    single = mp.MarginPathRegressor(random_state=0).fit(X, y)
    assert single.step_ == double.step_
    assert single.path_.last.u.dtype == np.float64
    assert not np.array_equal(single.predict(X_new), double.predict(X_new))
    np.testing.assert_allclose(single.predict(X_new), double.predict(X_new), atol=0.02 * np.std(y))
    assert single.cv_results_["gap"].max() <= 1e-3


def test_a_path_ends_where_the_folds_agree_that_the_score_fell():
    """By twice its standard error: at twice the best C. By once: at four times it. Else at eight times it."""
    after = []
    for seed in range(5):
        X, y = make_friedman1(300, n_features=6, noise=6.0, random_state=seed)
        model = mp.MarginPathRegressor(random_state=seed, gamma=0.5).fit(StandardScaler().fit_transform(X), y)
        scores = np.stack([model.cv_results_[f"split{j}_test_score"] for j in range(5)], axis=1)
        best = int(scores.mean(axis=1).argmax())
        lost = scores[best] - scores[best + 1 :]
        over = lost.mean(axis=1) / (lost.std(axis=1, ddof=1) / np.sqrt(5))
        enough = [over[k] > wanted for k, wanted in enumerate((2, 1)) if k < len(over)]
        after.append(1 + (enough.index(True) if any(enough) else 2))
        assert len(lost) == after[-1]  # a step doubles C
    assert set(after) == {1, 2, 3}


@pytest.mark.parametrize("seed", [0, 48, 51])
def test_a_path_does_not_end_before_it_fits_anything(seed):
    """Features far from 0 hide for several steps what they tell, and the scores there are chance."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 4)) + 20
    y = X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(120)
    assert mp.LinearMarginPathRegressor(random_state=0).fit(X, y).score(X, y) > 0.8


def test_targets_without_a_rule_end_the_path_too(rng):
    X, y = rng.standard_normal((200, 5)), rng.standard_normal(200)
    for cls in BOTH:
        assert cls(random_state=0).fit(X, y).n_iter_ < 20


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_the_intercept_is_hardly_penalized(C, rng):
    """Skewed targets want another intercept than their median; that of SVR has no penalty."""
    X = rng.standard_normal((200, 3))
    y = np.exp(X[:, 0]) + 0.1 * rng.standard_normal(200)
    settings = {"stopping": None, "max_iter": 1, "schedule": lambda t: 1 / C, "path_tol": 1e-6}
    ours = mp.MarginPathRegressor(epsilon=0.1, **settings).fit(X, y)
    free = SVR(C=C, epsilon=0.1, tol=1e-6).fit(X, y)
    assert np.std(ours.predict(X) - free.predict(X)) < 1e-2 * np.std(y)
    assert abs(np.mean(ours.predict(X) - free.predict(X))) < 1e-2 * np.std(y)


def test_sparse_rows_weights_groups_and_kernels(friedman):
    X, y, X_new, _ = friedman
    dense, csr = (mp.LinearMarginPathRegressor(random_state=0).fit(rows, y) for rows in (X, sp.csr_array(X)))
    np.testing.assert_allclose(csr.predict(sp.csr_array(X_new)), dense.predict(X_new), rtol=1e-6)
    half = np.arange(300) % 2 == 0
    groups = np.arange(300) % 7
    for cls in BOTH:
        by_groups = cls(cv=GroupKFold(3), random_state=0).fit(X, y, groups=groups)
        assert by_groups.path_["scores"].shape[1] == 3
        left_out = cls(stopping=None, max_iter=8, random_state=0)
        weighted = clone(left_out).fit(X, y, sample_weight=half.astype(float))
        alone = clone(left_out).set_params(schedule=weighted.schedule_).fit(X[half], y[half])
        if cls is mp.LinearMarginPathRegressor:
            np.testing.assert_allclose(weighted.coef_, alone.coef_, atol=5e-2 * np.abs(alone.coef_).max())
        assert not np.any(weighted.coefficients(8)[~half])
    K = np.exp(-0.2 * ((X[:, None] - X) ** 2).sum(axis=2))
    given = mp.MarginPathRegressor("precomputed", random_state=0).fit(K, y)
    made = mp.MarginPathRegressor(gamma=0.2, random_state=0).fit(X, y)
    np.testing.assert_allclose(given.predict(K), made.predict(X), rtol=1e-3, atol=1e-2)
    for kernel in ("linear", "poly", "laplacian"):
        assert mp.MarginPathRegressor(kernel, random_state=0).fit(X, y).score(X, y) > 0.5


def test_a_tuned_width_is_no_worse():
    X, y = load_diabetes(return_X_y=True)
    tuned = mp.MarginPathRegressor(gamma="tuned", random_state=0).fit(X[:300], y[:300])
    plain = mp.MarginPathRegressor(random_state=0).fit(X[:300], y[:300])
    assert tuned.cv_results_["mean_test_score"].max() >= plain.cv_results_["mean_test_score"].max() - 0.5
    with pytest.raises(ValueError, match="tuned"):
        mp.MarginPathRegressor("linear", gamma="tuned").fit(X, y)


def test_landmarks(friedman, tmp_path):
    """So many landmarks as rows are the kernel itself; few of them are nearly as good, in all uses."""
    X, y, X_new, y_new = friedman
    exact = mp.MarginPathRegressor(random_state=0).fit(X, y)
    assert exact.landmarks_ is None
    every = mp.MarginPathRegressor(landmarks=300, schedule=exact.schedule_, random_state=0).fit(X, y)
    np.testing.assert_allclose(every.at(8).predict(X_new), exact.at(8).predict(X_new), atol=0.05 * np.std(y))
    few = mp.MarginPathRegressor(landmarks=60, gamma="tuned", random_state=0).fit(X, y)
    assert len(few.landmarks_) <= 60
    assert set(few.support_) <= set(few.landmarks_)
    error = mean_absolute_error(y_new, few.predict(X_new))
    assert error < 1.15 * mean_absolute_error(y_new, exact.predict(X_new))
    by_hand = few.kernel_(X_new, few.support_vectors_) @ few.dual_coef_[0] + few.intercept_
    np.testing.assert_allclose(few.predict(X_new), by_hand, rtol=1e-5, atol=1e-5)
    save(tmp_path / "model", few)
    np.testing.assert_array_equal(
        load(tmp_path / "model", type(few)).at(3).predict(X_new), few.at(3).predict(X_new)
    )
    swept = mp.MarginPathRegressor(landmarks=40, loss="squared", random_state=0).fit(
        np.tile(X, (8, 1)), np.tile(y, 8)
    )
    assert swept.score(X_new, y_new) > 0.6


def test_among_other_tools():
    X, y = load_diabetes(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), mp.LinearMarginPathRegressor(random_state=0))
    assert cross_val_score(pipe, X, y, cv=3).mean() > 0.4
    scored = mp.MarginPathRegressor(scoring="r2", selection="one_se", random_state=0).fit(X, y)
    best = scored.cv_results_["mean_test_score"].argmax() + 1
    assert scored.step_ <= best
    assert 0.3 < scored.cv_results_["mean_test_score"].max() < 0.7


@pytest.mark.parametrize("scoring", ["neg_mean_squared_error", "neg_mean_absolute_error", "r2"])
def test_scores_are_scikit_learns(scoring, rng):
    predicted, y, weight = rng.standard_normal((3, 20))
    scorer, model = get_scorer(scoring), FixedPredictions(predicted)
    for weights in (None, np.abs(weight)):
        score = regression_score(predicted, y, mp.Absolute(), scoring, weights)
        assert score == pytest.approx(scorer(model, None, y, sample_weight=weights), rel=1e-12)


class FixedPredictions(RegressorMixin, BaseEstimator):
    """A regressor that is fitted to say this."""

    def __init__(self, predicted):
        self.predicted = predicted

    def predict(self, X):
        return self.predicted


def test_limits():
    X, y = make_friedman1(800, noise=1.0, random_state=0)
    with pytest.warns(UserWarning, match="time limit"):
        model = mp.MarginPathRegressor(time_limit=1e-6, random_state=0).fit(X, y)
    assert model.n_iter_ == 1
    constant = mp.MarginPathRegressor(random_state=0).fit(X[:20], np.full(20, 3.0))
    np.testing.assert_allclose(constant.predict(X[20:30]), 3.0)
