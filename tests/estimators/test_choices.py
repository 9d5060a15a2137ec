"""What decides the step, and what a fitted classifier shows of itself."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from classifiers import close, solved
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import StratifiedKFold

import marginpath as mp
from marginpath.estimators import as_choice, choices, watched

ROOT = Path(__file__).parents[2]
REASONS = {
    "cv": (
        {"selection": "smooth"},
        r"a smoothed cross-validated error .*, \d+\.\d% ± \d+\.\d% over 5 folds, and of such the least log",
    ),
    "best": ({"selection": "best"}, r"the lowest cross-validated error, .* over 5 folds\."),
    "one_se": (
        {"selection": "one_se"},
        r"the first within one standard error of the lowest cross-validated e",
    ),
    "scoring": ({"scoring": "roc_auc", "cv": 3}, r"smoothed cross-validated 1 − roc_auc .* over 3 folds, "),
    "holdout": ({"stopping": "holdout"}, r"the lowest smoothed error on the 10% of the rows set aside, \d"),
    "holdout one_se": ({"stopping": "holdout", "selection": "one_se"}, r"the lowest smoothed error on the"),
    "holdout best": ({"stopping": "holdout", "selection": "best"}, r"the lowest error on the 10% of the row"),
    "margin": ({"stopping": "margin"}, r"the maximum margin was asked for, and this step is the closest to"),
    "discrepancy": (
        {"stopping": "discrepancy", "noise_level": 0.1},
        r"than a share of 10% wrong ones allows",
    ),
    "rule": ({"stopping": mp.LeaveOneOut()}, r"the choice of LeaveOneOut\("),
    "none": ({"stopping": None, "max_iter": 5}, r"the last one, since no stopping rule was asked for\."),
}


@pytest.fixture(scope="module")
def moons():
    return make_moons(60, noise=0.1, random_state=0)


@pytest.mark.parametrize(("settings", "sentence"), REASONS.values(), ids=REASONS)
def test_every_choice_says_why(settings, sentence, moons):
    clf = mp.MarginPathClassifier(random_state=0, **settings).fit(*moons)
    choice = as_choice(clf)
    assert re.match(rf"Step {clf.step_} is kept: .*{sentence}", choice.reason)
    assert choice.has_probabilities == hasattr(clf, "predict_proba") == (choice.error is not None)


def test_errors_of_held_out_samples_are_those_of_the_table(moons):
    clf = mp.MarginPathClassifier(random_state=0).fit(*moons)
    mean, spread = as_choice(clf).error
    np.testing.assert_allclose(1 - mean, clf.cv_results_["mean_test_score"], rtol=1e-12)
    np.testing.assert_allclose(spread, clf.cv_results_["std_test_score"], rtol=1e-12)


def test_a_rule_may_lack_a_hash(moons):
    @dataclass
    class Third:
        last: int = 3

        def __call__(self, problem, state, path):
            return np.full(problem.shape[1:], state.t >= self.last)

    clf = mp.MarginPathClassifier(stopping=Third(), random_state=0).fit(*moons)
    assert clf.step_ == 3
    assert isinstance(as_choice(clf), choices.ByRule)


def test_watchers_add_up_and_end_with_the_block(moons):
    seen = []
    clf = mp.MarginPathClassifier(stopping=None, max_iter=2)
    with watched(lambda problem, state, path: seen.append(f"outer {state.t}")):
        with watched(lambda problem, state, path: seen.append(f"inner {state.t}")):
            clf.fit(*moons)
        with pytest.raises(ValueError, match="one class"):
            clf.fit(moons[0], np.zeros(60))
    assert seen == ["outer 1", "inner 1", "outer 2", "inner 2"]
    clf.fit(*moons)
    assert len(seen) == 4


@pytest.mark.parametrize("cls", [mp.MarginPathClassifier, mp.LinearMarginPathClassifier])
def test_the_public_parts_make_the_decision(cls, moons):
    X, y = moons
    clf = cls(stopping=None, max_iter=5, random_state=0).fit(X, np.where(y == 1, "up", "down"))
    np.testing.assert_array_equal(clf.X_fit_, X)
    np.testing.assert_array_equal(clf.classes_[clf.codes_], np.where(y == 1, "up", "down"))
    np.testing.assert_array_equal(np.abs(clf.coefficients(3)), np.abs(clf.models_.u(3)))
    coef, at_3 = clf.coefficients(3)[:, 0], clf.at(3)
    free = clf.path_["offset"][3]
    np.testing.assert_allclose(clf.constant_ * coef.sum() + free, at_3.intercept_, rtol=1e-12)
    assert clf.constant_ == 0
    assert np.all(free != 0)
    kernel = mp.Linear() if cls is mp.LinearMarginPathClassifier else mp.Gaussian((2 * clf.gamma_) ** -0.5)
    expected = (kernel(X, X) + clf.constant_) @ coef + free
    np.testing.assert_allclose(at_3.decision_function(X), expected, rtol=1e-10, atol=1e-12)
    for step in (0, 6, -1, 2.5):
        with pytest.raises(ValueError, match="from 1 to n_iter_ = 5"):
            clf.coefficients(step)


def test_nobody_else_reads_private_parts(moons):
    fitted = [
        cls(warm_start=True).fit(*moons) for cls in (mp.MarginPathClassifier, mp.LinearMarginPathClassifier)
    ]
    private = {name for clf in fitted for name in dir(clf) if re.match("_[^_]", name)}
    assert {"_definition", "_attributes_at"} <= private
    read = re.compile(rf"(?<!self)\.({'|'.join(sorted(private))})\b")
    package = ROOT / "src" / "marginpath"
    readers = [
        *(package / "plotting").rglob("*.py"),
        *(package / "app").rglob("*.py"),
        *(package / "export").rglob("*.py"),
    ]
    readers += (ROOT / "lab").rglob("*.py")
    assert len(readers) > 40
    assert [f"{file}: {hit[0]}" for file in readers for hit in read.finditer(file.read_text("utf-8"))] == []


@pytest.mark.parametrize(("multi_class", "growth"), [("ovo", 10), ("ovr", 100)])
def test_a_class_against_the_rest_is_followed_for_longer(multi_class, growth):
    """Its score may fall before it rises, and its loss is the least where everything is the rest."""
    X, y = load_digits(return_X_y=True)
    clf = mp.MarginPathClassifier(multi_class=multi_class, random_state=0).fit(X[:300], y[:300])
    scores, C, loss = clf.path_["scores"][1:].mean(axis=1), clf.path_["bound"][1:], clf.path_["hinge"][1:]
    lowest = int(np.argmax(loss <= 1.01 * loss.min()))
    waited = min(C[-1] / C[np.argmax(scores)] / growth, C[-1] / C[lowest] / 3)
    assert 1 <= waited < 1.5


def test_folds_that_can_be_gone_through_once(moons):
    """A race goes through them, and then the path of who wins."""
    X, y = moons
    folds = list(StratifiedKFold(4).split(X, y))
    once, often = (
        mp.MarginPathClassifier(gamma="tuned", cv=cv, random_state=0).fit(X, y) for cv in (iter(folds), folds)
    )
    assert once.step_ == often.step_
    np.testing.assert_array_equal(once.path_["scores"], often.path_["scores"])


@pytest.mark.parametrize("settings", [{}, {"gamma": "tuned"}, {"landmarks": 20}])
def test_a_score_that_is_no_number_names_its_fold(settings, rng):
    X = rng.standard_normal((60, 2))
    y = np.isin(np.arange(60), [25, 30]).astype(int)
    folds = [(np.setdiff1d(np.arange(60), test), test) for test in (np.arange(40, 60), np.arange(20))]
    clf = mp.MarginPathClassifier(cv=folds, scoring=nan_without_both, random_state=0, **settings)
    with pytest.raises(ValueError, match=r"no number for fold 0, which holds out 20 samples of class 0"):
        clf.fit(X, y)


def nan_without_both(estimator, X, y):
    return np.nan if len(np.unique(y)) < 2 else float(np.mean(estimator.predict(X) == y))


def test_samples_without_weight_are_in_no_fold(moons):
    """They are as good as absent: the other samples are cut into folds as they would be alone."""
    X, y = moons
    n = len(y) // 2
    weight = np.where(np.arange(len(y)) < n, 1.0, 0.0)
    settings = {"gamma": 1.0, "random_state": 0, **solved(1e-9)}
    with_them = mp.MarginPathClassifier(**settings).fit(X, y, sample_weight=weight)
    alone = mp.MarginPathClassifier(**settings).fit(X[:n], y[:n])
    assert np.isnan(with_them.out_of_fold_[n:]).all()
    assert with_them.step_ == alone.step_
    close(with_them.out_of_fold_[:n], alone.out_of_fold_, 1e-3)
    close(with_them.predict_proba(X), alone.predict_proba(X), 1e-3)


@pytest.mark.parametrize("gamma", ["scale", "tuned"])
def test_folds_that_are_listed_lose_samples_without_weight(gamma, moons):
    X, y = moons
    folds = list(StratifiedKFold(4).split(X, y))
    weight = np.ones(len(y))
    weight[folds[1][1][::2]] = 0
    clf = mp.MarginPathClassifier(gamma=gamma, cv=folds, random_state=0).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(np.isnan(clf.out_of_fold_), weight == 0)
    weight[folds[1][1]] = 0
    with pytest.raises(ValueError, match=r"Fold 1 holds out no sample that could be scored"):
        clf.fit(X, y, sample_weight=weight)
