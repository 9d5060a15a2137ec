import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold, StratifiedKFold

import marginpath as mp
from marginpath.estimators import racing
from marginpath.estimators.choices import ByFolds
from marginpath.estimators.path_fit import Follower
from marginpath.validation.cross_validation import PathValidation
from marginpath.validation.proper import log_loss
from marginpath.validation.race import part_of_rows, race_widths
from marginpath.validation.short_path import LARGEST, short_path

WIDTHS = mp.default_widths(np.array([[-1.0], [1.0]]))


class Counted:
    """Scores by width, with the widths that were asked for."""

    def __init__(self, scores):
        self.scores, self.asked = dict(zip(WIDTHS.tolist(), scores, strict=True)), []

    def __call__(self, sigma):
        self.asked.append(sigma)
        return self.scores[sigma]


def hill(peak, slope=1.0):
    return [-slope * abs(k - peak) for k in range(11)]


@given(peak=st.floats(-1, 11), fraction=st.floats(0.1, 1))
def test_the_top_of_a_hill_is_found_from_every_second_width(peak, fraction):
    part = Counted([-fraction * (k - peak) ** 2 for k in range(11)])
    race = race_widths(WIDTHS, part)
    assert abs(race.winner - min(max(peak, 1), 9)) <= 0.5 + 1e-6
    assert len(part.asked) == len(set(part.asked)) == (5 if peak >= 6 else 4)
    np.testing.assert_array_equal(
        race.scores, [part.scores[x] if x in part.asked else np.nan for x in WIDTHS.tolist()]
    )


@given(scores=st.lists(st.integers(0, 5), min_size=11, max_size=11))
def test_the_winner_is_next_to_the_best(scores):
    """Whatever the scores, the parabola's top is nearer to the best than to those beside it."""
    race = race_widths(WIDTHS, Counted(scores))
    best = np.flatnonzero(race.scores == np.nanmax(race.scores))[-1]
    assert abs(race.winner - best) <= 1


@given(scores=st.lists(st.integers(0, 5), min_size=11, max_size=11))
def test_nothing_is_run_ahead_twice(scores):
    """Two threads would work on the same width, side by side."""
    told: list[float] = []
    score = Counted(scores)
    race_widths(WIDTHS, score, ahead=told.extend)
    assert told == score.asked[:4]
    assert len(set(score.asked)) == len(score.asked)


def test_more_rows_want_a_narrower_width():
    """By their fourth root: ten times as many by 1.8, one and a half places; and by no more."""
    winners = [race_widths(WIDTHS, Counted(hill(5)), times).winner for times in (1, 2, 4, 10, 1e9)]
    assert winners == [5, 5, 4, 4, 4]


def test_of_equal_scores_the_widest_counts():
    assert race_widths(WIDTHS, Counted([1.0] * 11)).winner == 9


@pytest.mark.parametrize(("turns", "winner"), [(0, 3), (2, 3), (3, 5), (4, 7), (5, 9)])
def test_without_time_the_best_so_far_wins(turns, winner):
    left = [turns]

    def in_time(sigma):
        left[0] -= 1
        return float(sigma) if left[0] >= 0 else np.nan

    assert race_widths(WIDTHS, in_time).winner == winner


def test_a_part_has_every_class_in_every_fold(rng):
    y = rng.permutation(np.repeat(["a", "b", "c"], [900, 570, 30]))
    held_out = [test for _, test in StratifiedKFold(5).split(y, y)]
    rows = part_of_rows(y, held_out, seed=3)
    for test in held_out:
        for label in "abc":
            cell, of_cell = np.sum(y[test] == label), np.sum(y[np.intersect1d(rows, test)] == label)
            assert of_cell == np.ceil(cell / 3)
    np.testing.assert_array_equal(rows, part_of_rows(y, held_out, seed=3))
    assert set(rows) != set(part_of_rows(y, held_out, seed=4))


def test_rows_without_weight_are_no_part(rng):
    y, weight = rng.integers(0, 2, 1000), rng.integers(0, 2, 1000)
    held_out = [test for _, test in StratifiedKFold(5).split(y, y)]
    assert np.all(weight[part_of_rows(y, held_out, weight)] > 0)


@pytest.mark.parametrize(("rows", "most"), [(300, 300), (500, 230), (3000, 1020), (50_000, 4020)])
def test_how_many_rows(rows, most):
    y = np.arange(rows) % 2
    held_out = [test for _, test in StratifiedKFold(5).split(y, y)]
    assert most - 30 <= len(part_of_rows(y, held_out)) <= most


def test_groups_stay_whole_in_a_part(rng):
    y, groups = rng.integers(0, 2, 900), rng.integers(0, 40, 900)
    held_out = [test for _, test in GroupKFold(3).split(y, y, groups)]
    rows = part_of_rows(y, held_out)
    part = Follower(None, "coordinate", 0, y, sample_weight=np.arange(900.0), groups=groups).on(
        rows, held_out
    )
    np.testing.assert_array_equal(part.y, y[rows])
    np.testing.assert_array_equal(part.sample_weight, rows)
    for train, test in part.folds:
        assert not set(groups[rows[train]]) & set(groups[rows[test]])
        assert len(train) + len(test) == len(rows)


@pytest.mark.parametrize("scoring", [None, "accuracy"])
def test_a_short_path_scores_as_the_path_does(scoring):
    """By the least log loss of its decisions, or by the scores that are asked for."""
    data = mp.datasets.gaussian_mixture(n_samples=300, seed=1)
    for sigma in (0.1, 0.5, 2.0):
        gram = mp.Gram.from_kernel(data.X, mp.Gaussian(sigma))
        short = short_path(PathValidation(gram, data.y, scoring=scoring, intercept=True, whole=False), 100)
        whole = PathValidation(gram, data.y, scoring=scoring, intercept=True)
        path = whole.run(mp.SolutionPath(), 4 * short.steps, stop=None)
        same = slice(1, 4 * short.steps - 2, 4)
        np.testing.assert_allclose(path["bound"][same], short.observed["bound"], rtol=0.5)
        decisions = [path.rows.where_kept("out_of_fold", int(t)) for t in path.steps[same]]
        by_loss = max(-log_loss(each, whole.signs) for each in decisions)
        best = by_loss if scoring is None else path["scores"][same].mean(axis=1).max()
        assert abs(short.score - best) < 0.02
        assert short.observed["scores"].shape[1] == 5


def test_a_short_path_ends_where_nothing_changes_any_more(rng):
    X, y = rng.standard_normal((80, 3)), np.arange(80) % 2
    narrow = mp.Gram.from_kernel(X, mp.Gaussian(0.02))  # nearly the identity: all are inside from C = 2 on
    short = short_path(PathValidation(narrow, y, intercept=True, whole=False), 100)
    assert short.steps <= 3
    wide = mp.Gram.from_kernel(X, mp.Gaussian(30.0))  # labels at random are never separated
    short = short_path(PathValidation(wide, y, intercept=True, whole=False), 100)
    assert np.all(short.observed["bound"] <= LARGEST)


def whole_paths(monkeypatch):
    """Count the paths that are followed to their end."""
    followed = []
    follow = Follower.follow
    monkeypatch.setattr(Follower, "follow", lambda self, gram: followed.append(gram) or follow(self, gram))
    return followed


def full_search(X, y, **settings):
    """Return gamma and mean score of a path for every width, the narrowest first."""
    rows = []
    for sigma in mp.default_widths(X):
        clf = mp.MarginPathClassifier(gamma=1 / (2 * sigma**2), **settings).fit(X, y)
        rows.append((clf.gamma_, clf.cv_results_["mean_test_score"][clf.step_ - 1]))
    return np.array(rows).T


def chessboard(rng, samples=420):
    X = rng.uniform(0, 4, (samples, 2))
    return X, np.floor(X).sum(axis=1).astype(int) % 2


def plane(rng, samples=420):
    X = rng.standard_normal((samples, 20))
    return X, (X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(samples) > 0).astype(int)


@pytest.mark.heavy
def test_a_clear_winner_wins(rng, monkeypatch):
    """Among wide kernels on a plane, 420 samples cannot tell: new samples tell what is lost."""
    X, y = plane(rng)
    X_new, y_new = plane(rng, 4000)
    gammas, scores = full_search(X, y, path_tol=0.01, random_state=0)
    assert scores.min() < scores.max() - 0.05
    best = mp.MarginPathClassifier(gamma=gammas[scores.argmax()], random_state=0).fit(X, y)
    followed = whole_paths(monkeypatch)
    clf = mp.MarginPathClassifier(gamma="tuned", random_state=0).fit(X, y)
    assert len(followed) == 1
    assert clf.score(X_new, y_new) >= best.score(X_new, y_new) - 0.005


def test_where_a_part_teaches_nothing_all_rows_race(rng, monkeypatch):
    X, y = rng.standard_normal((420, 5)), np.arange(420) % 2  # labels at random: no part knows more
    rows = []
    run_one = racing.Heat._run
    monkeypatch.setattr(
        racing.Heat, "_run", lambda heat, *args: rows.append(len(heat.fit.y)) or run_one(heat, *args)
    )
    mp.MarginPathClassifier(gamma="tuned", random_state=0).fit(X, y)
    assert set(rows) == {200, 420}
    assert rows.count(420) >= 4


def test_scores_of_a_part_stay_where_all_rows_have_no_time(rng, monkeypatch):
    X, y = rng.standard_normal((420, 5)), np.arange(420) % 2
    runs, run_one = [], racing.Heat._run
    monkeypatch.setattr(racing.Heat, "_run", lambda heat, *args: runs.append(1) or run_one(heat, *args))
    monkeypatch.setattr(
        Follower, "late", property(lambda self: len(runs) >= 8)
    )  # each is made ready, and run
    clf = mp.MarginPathClassifier(gamma="tuned", n_jobs=1, max_iter=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf.fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(clf.width_results_["score"])), [1, 3, 5, 7])


@pytest.mark.heavy
def test_widths_that_never_learn_do_not_win(rng):
    """Scores of good widths on 420 samples differ by chance: new samples tell what is lost."""
    X, y = chessboard(rng)
    X_new, y_new = chessboard(rng, 4000)
    gammas, scores = full_search(X, y, random_state=0)
    assert scores.min() < scores.max() - 0.35
    best = mp.MarginPathClassifier(gamma=gammas[scores.argmax()], random_state=0).fit(X, y)
    clf = mp.MarginPathClassifier(gamma="tuned", random_state=0).fit(X, y)
    assert clf.score(X_new, y_new) >= best.score(X_new, y_new) - 0.02


def test_a_short_path_goes_on_while_it_knows_nothing(rng):
    """A wide kernel sees nothing of the product of three signs before C = 100."""
    X = rng.standard_normal((420, 5))
    gram = mp.Gram.from_kernel(X, mp.Gaussian(mp.default_widths(X)[7]))
    validation = PathValidation(gram, np.prod(X[:, :3], axis=1) > 0, intercept=True, whole=False)
    short = short_path(validation, 100)
    assert short.score > -0.45
    some = short.observed["bound"] < 50
    assert short.observed["scores"][some].mean(axis=1).max() < validation.judge.chance


@pytest.mark.heavy
def test_the_table_of_widths(monkeypatch):
    X, y = make_blobs(700, centers=4, cluster_std=2.5, random_state=0)
    followed = whole_paths(monkeypatch)
    clf = mp.MarginPathClassifier(gamma="tuned", random_state=0).fit(X, y)
    table = clf.width_results_
    assert [gram.shape for gram in followed] == [(700, 700)]
    np.testing.assert_allclose(table["param_gamma"], 1 / (2 * mp.default_widths(X) ** 2))
    assert table["param_gamma"][table["chosen"]] == [clf.gamma_]
    assert 4 <= np.sum(~np.isnan(table["score"])) <= 6
    np.testing.assert_array_equal(np.unique(clf.cv_results_["param_gamma"]), [clf.gamma_])
    again = mp.MarginPathClassifier(gamma="tuned", random_state=0).fit(X, y)
    np.testing.assert_equal(again.width_results_, table)
    assert not hasattr(again.set_params(gamma="scale").fit(X, y), "width_results_")


@pytest.mark.heavy
@pytest.mark.parametrize(
    "settings",
    [
        {"multi_class": "ovr"},
        {"multi_class": "ovo", "class_weight": "balanced", "scoring": "balanced_accuracy"},
        {"stopping": "holdout"},
        {"landmarks": 60},
        {"cache_size": 0.5},
        {"max_iter": 8, "selection": "one_se"},
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_setting_races(settings):
    X, y = make_blobs(500, centers=[[0, 0], [8, 0], [0, 8]], cluster_std=2.0, random_state=0)
    clf = mp.MarginPathClassifier(gamma="tuned", random_state=0, **settings).fit(X, y, np.arange(500) % 3)
    assert clf.score(X, y) > 0.9
    assert np.sum(clf.width_results_["chosen"]) == 1


def test_many_rows_race_on_a_part(monkeypatch):
    monkeypatch.setattr(racing, "ENOUGH", 200)
    X, y = make_blobs(660, centers=[[0, 0], [4, 4]], cluster_std=3.0, random_state=0)
    rows = []
    shorts = ByFolds.shorts

    def counted(self, fit):
        short = shorts(self, fit)
        return lambda gram: rows.append(len(fit.y)) or short(gram)

    monkeypatch.setattr(ByFolds, "shorts", counted)
    clf = mp.MarginPathClassifier(gamma="tuned", random_state=0).fit(X, y)
    assert 220 <= min(rows) == max(rows) < 250
    results = clf.width_results_
    assert len(rows) == np.sum(~np.isnan(results["score"]))
    assert len(clf.codes_) == 660


def test_what_is_known_of_the_folds_serves_other_widths():
    data = mp.datasets.gaussian_mixture()
    narrow, wide = (mp.Gram.from_kernel(data.X, mp.Gaussian(sigma)) for sigma in (0.2, 1.0))
    anew = short_path(PathValidation(wide, data.y, intercept=True, whole=False), 100)
    known = PathValidation(narrow, data.y, intercept=True, whole=False)
    before = short_path(known, 100)
    again = short_path(known.on(wide), 100)
    assert again.score == anew.score != before.score
    for name, values in again.observed.items():
        np.testing.assert_array_equal(values, anew.observed[name])


def test_algorithm_2_has_no_race():
    X, y = make_blobs(60, centers=2, cluster_std=2.0, random_state=0)
    clf = mp.MarginPathClassifier(gamma="tuned", method="inertial", random_state=0).fit(X, y)
    assert len(np.unique(clf.cv_results_["param_gamma"])) == 11
    assert not hasattr(clf, "width_results_")


def test_a_rare_class_is_told_once():
    X, y = make_blobs([400, 300, 3], cluster_std=2.0, random_state=0)
    with pytest.warns(UserWarning, match=r"Fewer than 5 samples.*class 2 \(3\)") as told:
        mp.MarginPathClassifier(gamma="tuned", random_state=0).fit(X, y)
    assert len(told) == 1


@pytest.mark.parametrize("gamma", ["scale", "tuned"])
def test_what_a_scoring_says_of_folds_without_a_class_is_not_told(gamma):
    """Of whole fits, as threads catch warnings for each other."""
    rng = np.random.default_rng(0)
    for sizes in ([21, 2, 1], [30, 3, 2], [40, 1]):
        y = np.repeat(np.arange(len(sizes)), sizes)
        X = rng.standard_normal((len(y), 2)) + y[:, None]
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            mp.MarginPathClassifier(gamma=gamma, scoring="balanced_accuracy", random_state=0).fit(X, y)
        assert len(told) <= 2
        assert all("Fewer than" in str(w.message) or "No step" in str(w.message) for w in told)


def test_groups_and_a_splitter(rng):
    X, y = make_blobs(600, centers=[[0, 0], [4, 4]], cluster_std=3.0, random_state=0)
    clf = mp.MarginPathClassifier(gamma="tuned", cv=GroupKFold(4), random_state=0)
    clf.fit(X, y, groups=rng.integers(0, 30, 600))
    assert clf.path_["scores"].shape[1] == 4
    assert np.sum(~np.isnan(clf.width_results_["score"])) >= 4


def test_a_time_limit_leaves_a_model():
    X, y = make_blobs(600, centers=[[0, 0], [4, 4]], cluster_std=3.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        clf = mp.MarginPathClassifier(gamma="tuned", time_limit=1e-6, random_state=0).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(clf.width_results_["chosen"]), [3])
    assert np.isnan(clf.width_results_["score"]).all()
    assert clf.score(X, y) > 0.5
