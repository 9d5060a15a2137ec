"""How far a path of solutions goes on."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.preprocessing import StandardScaler

import marginpath as mp
from marginpath.path.observed import Rows
from marginpath.validation.columns import OneVsRest
from marginpath.validation.cross_validation import PathValidation
from marginpath.validation.patience import Patience
from marginpath.validation.scores import OutOfFold


def stops(scores, hinge, C, **settings):
    """Return whether the rule stops a path that has seen these values."""
    rows = Rows(scores=[0.5, *scores], hinge=[1.0, *hinge], bound=[0.0, *C])
    path = SimpleNamespace(rows=rows, solver=None)
    return bool(Patience(**settings)(SimpleNamespace(shape=(9,)), None, path))


def test_a_score_that_rests_is_waited_for_while_the_loss_falls():
    C, scores = 2.0 ** np.arange(6), [0.5, 0.8, 0.79, 0.79, 0.79, 0.79]
    assert stops(scores, [1.0, 0.6, 0.6, 0.6, 0.6, 0.6], C)
    assert not stops(scores, [1.0, 0.9, 0.8, 0.7, 0.6, 0.5], C)
    assert not stops(scores, [1.0, 0.9, 0.8, 0.7, 0.5, 0.5], C)  # it stopped falling just now
    assert stops(scores, [1.0, 0.9, 0.5, 0.498, 0.497, 0.496], C)  # that is next to nothing
    assert stops(scores, [1.0, 0.9, 0.8, 0.7, 0.6, 0.5], C, steps=4)


def test_a_loss_that_is_lowest_is_waited_for_while_the_score_is_young():
    C, hinge = 2.0 ** np.arange(6), [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert not stops([0.5, 0.6, 0.7, 0.7, 0.7, 0.7], hinge, C)
    assert stops([0.5, 0.7, 0.7, 0.7, 0.7, 0.7], hinge, C)


def test_a_score_that_chance_explains_is_waited_for_ten_times_as_long():
    C, scores, hinge = 4.0 ** np.arange(6), [0.5, 0.52, 0.51, 0.5, 0.51, 0.5], [0.95, *[1.0] * 5]
    assert stops(scores[:4], hinge[:4], C[:4])
    assert not stops(scores[:4], hinge[:4], C[:4], chance=0.53)
    assert stops(scores, hinge, C, chance=0.53)
    assert stops(scores[:4], [0.9, 1.0, 1.0, 1.0], C[:4], chance=0.53)  # noise is learned
    assert stops(scores[:4], hinge[:4], C[:4], chance=0.51)  # which one of them is over


def test_a_score_that_is_better_by_luck_is_not_waited_for():
    """Five folds, whose best mean has a standard error of 0.01."""
    folds, C, hinge = np.array([-2, -1, 0, 1, 2]) * 2**0.5 / 100, 2.0 ** np.arange(6), [0.9, *[1.0] * 5]
    for better, is_end in ((0.0009, True), (0.0011, False)):
        means = np.array([0.5, 0.8, 0.79, 0.8 + better, 0.79, 0.78])
        assert stops(means[:, None] + folds, hinge, C) == is_end
        assert not stops((means - 0.3 * (means > 0.6))[:, None] + folds, hinge, C)  # 0.5 is where they begin


def test_a_score_that_never_changes_is_waited_for_much_longer():
    for C in (10.0 ** np.arange(-1, 9), np.append(0, 10.0 ** np.arange(9))):
        for end in range(2, 11):
            assert stops(np.zeros(end), np.ones(end), C[:end], chance=-np.inf) == (
                C[end - 1] >= 1e8 * C[C > 0][0]
            )
    falling = np.append(np.ones(9), 0.98)
    assert not stops(np.zeros(10), falling, 10.0 ** np.arange(10))


@pytest.mark.parametrize("scoring", ["f1", "balanced_accuracy"])
def test_a_plateau_at_the_start_is_no_end_whatever_is_scored(rng, scoring):
    """A quarter of the samples are on nine islands: at a small C all are given to the sea."""
    X = rng.uniform(0, 6, (900, 2))
    y = np.all(X.astype(int) % 2 == 0, axis=1).astype(int)
    clf = mp.MarginPathClassifier(scoring=scoring, random_state=0).fit(X, y)
    assert clf.score(X, y) > 0.9


@pytest.mark.parametrize("weight", [None, np.full(90, 3.0)])
def test_chance_is_two_standard_errors_above_the_largest_class(rng, weight):
    gram, y = mp.Gram.from_kernel(rng.standard_normal((90, 2)), mp.Gaussian(1.0)), np.arange(90) % 3 // 2
    judge = PathValidation(gram, y, score_weight=weight).judge
    np.testing.assert_allclose(judge.chance, 2 / 3 + 2 * (2 / 9 / 90) ** 0.5)
    assert PathValidation(gram, y, scoring="roc_auc").judge.chance == -np.inf


def test_rows_that_count_little_leave_more_to_chance(rng):
    gram, y = mp.Gram.from_kernel(rng.standard_normal((90, 2)), mp.Gaussian(1.0)), np.arange(90) % 2
    every_third = np.where(np.arange(90) % 3, 0.0, 1.0)
    few = PathValidation(gram, y, score_weight=every_third, cv=[(np.arange(60), np.arange(60, 90))]).judge
    np.testing.assert_allclose(few.chance, 0.5 + 2 * (0.25 / 10) ** 0.5)


def parity(rng, samples):
    """Return whether an even number of the first three features is negative; the others tell nothing."""
    X = rng.standard_normal((samples, 5))
    return X, (np.prod(X[:, :3], axis=1) > 0).astype(int)


def test_a_path_goes_on_while_it_knows_nothing(rng):
    """No half of the space has more of a class: with a wide kernel, it takes a large C to see any of it."""
    X, y = parity(rng, 420)
    X_new, y_new = parity(rng, 2000)
    wide = 1 / (2 * mp.default_widths(X)[8] ** 2)
    clf = mp.MarginPathClassifier(gamma=wide, random_state=0).fit(X, y)
    assert clf.score(X_new, y_new) > 0.85


@pytest.mark.filterwarnings("ignore:No step has a better accuracy:UserWarning")
def test_a_path_that_never_learns_ends(rng):
    X = rng.standard_normal((420, 5))
    for y in (rng.permutation(420) % 2, rng.permutation(420) % 20 == 0):
        assert mp.MarginPathClassifier(random_state=0).fit(X, y).path_["bound"][-1] < 1e4


@pytest.mark.parametrize("weight", [None, np.arange(60.0) % 4])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_the_loss_is_that_of_the_held_out_decisions(rng, weight, multi_class):
    X, y = rng.standard_normal((60, 2)), np.arange(60) % 3
    gram = mp.Gram.from_kernel(X, mp.Gaussian(1.0))
    validation = PathValidation(
        gram, y, cv=3, multi_class=multi_class, intercept=True, sample_weight=weight, score_weight=weight
    )
    path = validation.run(mp.SolutionPath(), 5, stop=None)
    signs, share = validation.signs, np.ones(60) if weight is None else weight
    for decision, loss in zip(path.rows["out_of_fold"][1:], path["hinge"][1:], strict=True):
        losses = [
            (share[i], share[i] * max(0.0, 1 - signs[i, c] * decision[i, c])) for i, c in np.argwhere(signs)
        ]
        mass, sums = np.sum(losses, axis=0)
        np.testing.assert_allclose(loss, sums / mass, rtol=1e-5)


def test_samples_that_nobody_held_out_have_no_loss(rng):
    X, y = rng.standard_normal((50, 2)), np.arange(50) % 2
    gram = mp.Gram.from_kernel(X, mp.Gaussian(1.0))
    folds = [(np.arange(10, 50), np.arange(10))]
    path = PathValidation(gram, y, cv=folds, intercept=True).run(mp.SolutionPath(), 3, stop=None)
    own = path.rows["out_of_fold"][3][:10, 0] * np.where(y[:10] == 1, 1, -1)
    np.testing.assert_allclose(path["hinge"][3], np.maximum(0, 1 - own).mean())


def test_a_path_goes_on_past_a_score_that_rests():
    """With a wide kernel, the line between two moons is learned first and their shape much later."""
    X, y = make_moons(2400, noise=0.2, random_state=0)
    X = StandardScaler().fit(X[:400]).transform(X)
    noisy = y[:400].copy()
    noisy[np.random.default_rng(0).permutation(400)[:40]] ^= 1
    wide = 1 / (2 * mp.default_widths(X[:400])[7] ** 2)
    clf = mp.MarginPathClassifier(gamma=wide, random_state=0).fit(X[:400], noisy)
    assert clf.score(X[400:], y[400:]) > 0.92


def judge_of(labels, weight=None):
    y = np.asarray(labels)
    splits = [np.arange(len(y))[j::2] for j in range(2)]
    return OutOfFold(splits, OneVsRest(2), y, np.unique(y), None, weight)


def test_decisions_are_beaten_where_many_more_are_lost_than_won():
    y = np.tile([0, 1], 50)
    right = np.where(y == 1, 1.0, -1.0)[:, None]
    judge = judge_of(y)
    for lost, won, beaten in ((6, 0, False), (7, 0, True), (30, 15, False), (40, 15, True), (0, 20, False)):
        now, best = right.copy(), right.copy()
        now[:lost] *= -1
        best[lost : lost + won] *= -1
        assert judge.is_beaten(now, best) == beaten, (lost, won)


def test_what_has_no_weight_beats_nobody():
    y = np.tile([0, 1], 50)
    right, weight = np.where(y == 1, 1.0, -1.0)[:, None], np.ones(100)
    wrong = right.copy()
    wrong[:20] *= -1
    weight[:20] = 0
    assert judge_of(y).is_beaten(wrong, right)
    assert not judge_of(y, weight).is_beaten(wrong, right)


def test_a_path_ends_early_where_a_step_is_beaten_and_the_loss_is_not_low():
    C, scores, hinge = [1.0, 2.0, 4.0, 7.0], [0.5, 0.9, 0.8, 0.8], [1.0, 0.5, 0.6, 0.7]
    rows = Rows(scores=[0.5, *scores], hinge=[1.0, *hinge], bound=[0.0, *C], out_of_fold=list("abcde"))
    path, problem, asked = SimpleNamespace(rows=rows, solver=None), SimpleNamespace(shape=(9,)), []
    assert not Patience()(problem, None, path)
    assert not Patience(is_beaten=lambda now, best: asked.append((now, best)) or False)(problem, None, path)
    assert asked == [("e", "c")]  # the last step, and that of the best score
    assert Patience(is_beaten=lambda *_: True)(problem, None, path)
    rows["bound"][-1] = 5.0  # less than three times that of the least loss
    assert not Patience(is_beaten=lambda *_: True)(problem, None, path)
