"""How far a path of solutions goes on."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.preprocessing import StandardScaler

import marginpath as mp
from marginpath.path.observed import Rows
from marginpath.validation.cross_validation import PathValidation
from marginpath.validation.patience import Patience


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
