import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from sklearn.datasets import load_iris
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold

import marginpath as mp
from marginpath.certificates.bounds import estimated_margin_bounds
from marginpath.validation.columns import fold_columns
from marginpath.validation.cross_validation import PathValidation
from marginpath.validation.proper import log_loss
from marginpath.validation.selection import smoothed


@pytest.fixture(scope="module")
def noisy():
    data = mp.datasets.gaussian_mixture(n_samples=300, n_test=600, seed=1)
    y = mp.noise.flip_exactly(data.y, 45, seed=0)
    return data, y, mp.Gram.from_kernel(data.X, mp.Gaussian(0.5))


def test_a_fold_is_the_column_run_alone(noisy):
    _, y, gram = noisy
    cv = StratifiedKFold(4)
    for solver in (
        mp.CoordinateDescent(mp.GeometricDecay(300.0, 1.5)),
        mp.DualDescent(mp.GeometricDecay(300.0, 1.5)),
    ):
        found = mp.cross_validate_path(solver, gram, y, cv=cv)
        row = int(np.flatnonzero(found.steps == found.step)[0])
        for j, (_, test) in enumerate(cv.split(y, y)):
            labels = y.copy()
            labels[test] = 0
            alone = mp.run(solver, mp.Problem(gram, labels), found.step).last
            np.testing.assert_allclose(found.out_of_fold[test], -alone.scores[test], rtol=1e-9, atol=1e-9)
            accuracy = np.mean(np.where(-alone.scores[test] > 0, 1, -1) == y[test])
            assert found.split_scores[row, j] == accuracy
        whole = mp.run(solver, mp.Problem(gram, y), found.step).last
        np.testing.assert_allclose(found.u, whole.u, rtol=1e-9, atol=1e-9)
        assert float(whole.bound) == found.C


def test_the_chosen_step_predicts_well(noisy):
    data, y, gram = noisy
    found = mp.cross_validate_path(None, gram, y)
    models = np.hstack([found.models.u(t) for t in found.steps[1:]])
    decisions = gram.cross(data.X_test) @ (-y[:, None] * models)
    errors = np.mean(decisions * data.y_test[:, None] <= 0, axis=0)
    assert errors[found.step - 1] <= errors.min() + 0.02
    assert errors[found.step - 1] <= errors[-1]


def test_a_step_of_the_best_score_is_chosen(noisy):
    _, y, gram = noisy
    found = mp.cross_validate_path(None, gram, y, selection="best")
    mean = found.mean_scores[1:]
    assert mean[found.step - 1] >= mean.max() - 1e-7
    assert found.best_score == mean[found.step - 1]
    assert found.path["bound"][found.step] == found.C


@pytest.mark.parametrize("folds", [4, 1], ids=["folds", "one split"])
def test_of_scores_within_half_a_standard_error_the_least_log_loss_chooses(noisy, folds):
    """What no score can tell apart, the held-out values do; one split has no error, and its best is kept."""
    _, y, gram = noisy
    cv = [(np.flatnonzero(np.arange(len(y)) % 4 != j), np.arange(j, len(y), 4)) for j in range(folds)]
    validation = PathValidation(gram, y, cv=cv)
    path = validation.run(mp.CoordinateDescent(), 20, stop=None)
    scores, kept = path["scores"][1:], path.rows["out_of_fold"][1:]
    mean = smoothed(scores.mean(axis=1), path["bound"][1:])
    error = scores[mean.argmax()].std(ddof=1) / folds**0.5 if folds > 1 else 0
    among = np.flatnonzero(mean >= mean.max() - max(error / 2, 1e-7))
    losses = np.array([log_loss(kept[t], validation.signs) for t in among])
    found = validation.choose(path)
    assert found.step == 1 + among[losses.argmin()]
    if folds > 1:
        assert len(among) > np.sum(mean >= mean.max() - 1e-7)
        assert found.step != 1 + mean.argmax()


def test_a_lonely_spike_does_not_beat_a_hill():
    hill = np.array([0.5, 0.5, 0.9, 0.5, 0.5, 0.7, 0.8, 0.8, 0.8, 0.7])
    assert smoothed(hill, 1.5 ** np.arange(10)).argmax() == 7


def test_steps_without_regularization_are_neighbours_of_each_other_only():
    """λ = 0 makes C infinite."""
    scores = smoothed(np.array([0.2, 0.4, 0.6, 0.8]), np.array([1.0, 1.0, np.inf, np.inf]))
    np.testing.assert_allclose(scores, [0.3, 0.3, 0.7, 0.7])
    data = mp.datasets.gaussian_mixture(n_samples=60)
    gram = mp.Gram.from_kernel(data.X, mp.Gaussian(0.5))
    found = mp.cross_validate_path(mp.CoordinateDescent(lambda t: max(0.0, 3.0 - t)), gram, data.y, steps=6)
    assert found.best_score >= found.mean_scores[1:].max() - 0.1


@pytest.mark.parametrize("selection", ["smooth", "best", "one_se"])
def test_a_step_with_an_empty_box_is_not_chosen(selection):
    """λ0/log t is infinite at t = 1, where u = 0 gives every sample to the first class."""
    np.testing.assert_allclose(
        smoothed(np.array([0.9, 0.2, 0.4]), np.array([0.0, 1.0, 1.0])), [0.9, 0.3, 0.3]
    )
    data = mp.datasets.gaussian_mixture(n_samples=60, seed=2)
    y = np.where(np.random.default_rng(0).random(60) < 0.85, 0, 1)  # nothing to learn: most are of class 0
    gram = mp.Gram.from_kernel(data.X, mp.Gaussian(0.1))
    solver = mp.DualDescent(mp.LogDecay(5.0))
    found = mp.cross_validate_path(solver, gram, y, selection=selection, steps=20)
    assert found.mean_scores[1] == found.mean_scores[1:].max()
    assert found.step > 1
    assert found.C > 0
    assert found.path.last.t == 20


@given(hnp.arrays(float, st.integers(1, 12), elements=st.floats(0, 1)), st.floats(1, 4))
def test_smoothed_scores_stay_among_their_neighbours(scores, ratio):
    C = ratio ** np.arange(len(scores))
    near = np.lib.stride_tricks.sliding_window_view(np.pad(scores, 2, constant_values=np.nan), 5)
    assert np.all(smoothed(scores, C) >= np.nanmin(near, axis=1) - 1e-12)
    assert np.all(smoothed(scores, C) <= np.nanmax(near, axis=1) + 1e-12)
    np.testing.assert_allclose(smoothed(scores, C)[::-1], smoothed(scores[::-1], C), atol=1e-12)
    if ratio >= 3:
        np.testing.assert_array_equal(smoothed(scores, C), scores)


def test_one_standard_error_is_earlier_and_not_much_worse(noisy):
    _, y, gram = noisy
    best, simple = (mp.cross_validate_path(None, gram, y, selection=s) for s in ("best", "one_se"))
    row = int(np.flatnonzero(best.steps == best.step)[0])
    error = best.split_scores[row].std(ddof=1) / np.sqrt(5)
    assert simple.step <= best.step
    assert simple.best_score >= best.best_score - error
    assert np.all(best.mean_scores[1 : simple.step] < best.best_score - error)


def test_the_plateau_at_the_start_is_not_the_end():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    y = np.where(X[:, 0] + 0.1 * rng.standard_normal(400) > 1.7, 1, -1)  # 5 % positives
    found = mp.cross_validate_path(None, mp.Gram.from_kernel(X, mp.Gaussian(1.0)), y)
    plateau = np.flatnonzero(found.mean_scores[1:] != found.mean_scores[1])[0]
    assert found.path.last.bound[0] > 0
    assert plateau > 6  # growth 10 at ratio 1.5 would have given up here
    assert found.best_score > max(np.mean(y == -1), 0.96)


def test_many_classes_and_string_labels():
    X, y = load_iris(return_X_y=True)
    gram = mp.Gram.from_kernel((X - X.mean(0)) / X.std(0), mp.Gaussian(1.5))
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    found = mp.cross_validate_path(None, gram, names)
    assert found.classes.tolist() == ["setosa", "versicolor", "virginica"]
    assert found.u.shape == found.out_of_fold.shape == (150, 3)
    assert found.best_score >= 0.95
    assert np.mean(found.classes[found.out_of_fold.argmax(1)] == names) == pytest.approx(found.best_score)
    single = mp.cross_validate_path(None, gram, y)
    np.testing.assert_array_equal(single.u, found.u)


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "f1", "roc_auc", "average_precision"])
def test_scorers_of_scikit_learn(noisy, scoring):
    from sklearn import metrics

    _, y, gram = noisy
    found = mp.cross_validate_path(None, gram, y, scoring=scoring)
    row = int(np.flatnonzero(found.steps == found.step)[0])
    _, test = next(iter(StratifiedKFold(5).split(y, y)))
    decision = found.out_of_fold[test]
    given = decision if scoring in ("roc_auc", "average_precision") else np.where(decision > 0, 1, -1)
    name = {"f1": "f1_score", "roc_auc": "roc_auc_score"}.get(scoring, f"{scoring}_score")
    assert found.split_scores[row, 0] == pytest.approx(getattr(metrics, name)(y[test], given))
    if scoring == "accuracy":
        np.testing.assert_array_equal(found.split_scores, mp.cross_validate_path(None, gram, y).split_scores)


def test_splitters(noisy):
    _, y, gram = noisy
    groups = np.arange(len(y)) % 7
    found = mp.cross_validate_path(None, gram, y, cv=GroupKFold(7), groups=groups)
    assert found.split_scores.shape[1] == 7
    shuffled = mp.cross_validate_path(None, gram, y, cv=ShuffleSplit(3, test_size=0.2, random_state=0))
    assert shuffled.split_scores.shape[1] == 3
    assert np.isnan(shuffled.out_of_fold).any()


def test_fold_columns():
    signs = np.array([[1.0, -1], [-1, 1], [1, -1]])
    columns = fold_columns(signs, [np.array([0]), np.array([1, 2])])
    np.testing.assert_array_equal(
        columns.T, [[0, -1, 1], [1, 0, 0], [1, -1, 1], [0, 1, -1], [-1, 0, 0], [-1, 1, -1]]
    )


def test_bad_input(noisy):
    _, y, gram = noisy
    with pytest.raises(ValueError, match=r"'neg_log_loss' needs more than decision values.*predict_proba"):
        mp.cross_validate_path(None, gram, y, scoring="neg_log_loss")
    with pytest.raises(ValueError, match="selection must be one of smooth, best, one_se, got 'first'"):
        mp.cross_validate_path(None, gram, y, selection="first")
    with pytest.raises(
        ValueError, match=r"300 samples and at least two classes, got shape \(300,\) and 1 class"
    ):
        mp.cross_validate_path(None, gram, np.ones(300))
    with pytest.raises(ValueError, match=r"got shape \(299,\)"):
        mp.cross_validate_path(None, gram, y[:299])
    with pytest.raises(ValueError, match=r"Fold 0 leaves no sample of class 1 to train on \(9 in all\)"):
        mp.cross_validate_path(None, gram, np.where(np.arange(300) < 9, 1, -1), cv=KFold(5))
    with pytest.raises(ValueError, match="growth must be over 1"):
        mp.cross_validate_path(None, gram, y, growth=1.0)


def test_limits_end_the_run_with_what_there_is(noisy):
    _, y, gram = noisy
    assert mp.cross_validate_path(None, gram, y, steps=3).step <= 3
    assert mp.cross_validate_path(None, gram, y, time_limit=1e-9).step == 1


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("many", [False, True])
def test_margins_are_estimated_from_the_sums_of_the_gap(many, intercept, monkeypatch):
    """By temporary arrays or in a compiled pass, they are those of the states of the models."""
    monkeypatch.setattr("marginpath.metrics._MANY", 0 if many else 2**30)
    data = mp.datasets.gaussian_mixture(n_samples=90, seed=2)
    labels = np.where(data.X[:, 0] > 1, 2, data.y)
    gram = mp.Gram.from_kernel(data.X, mp.Gaussian(0.5))
    validation = PathValidation(gram, labels, intercept=intercept)
    problem, models = validation.problem, validation.model_columns
    path = validation.run(mp.SolutionPath(), 9, stop=None)
    last = path.last
    alone = mp.State(
        t=9,
        u=last.u[:, models],
        scores=(last.scores - last.offset)[:, models],
        bound=last.bound[models],
    )
    expected = estimated_margin_bounds(problem.columns(models), alone)
    np.testing.assert_allclose(path["estimated_margin_bounds"][-1], expected, rtol=1e-9, atol=1e-9)
