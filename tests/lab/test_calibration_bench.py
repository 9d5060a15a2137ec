"""The benchmark of probabilities and sets of classes."""

from types import SimpleNamespace

import numpy as np
import pytest
from marginpath_lab.bench import calibration
from marginpath_lab.bench.measure import Entry

from marginpath.datasets import Dataset


class Fixed:
    """A model that always has the same probabilities, and the same set of classes."""

    classes_ = np.array(["a", "b", "c"])

    def __init__(self, chance, members):
        self.chance, self.members = np.array(chance), np.array(members)

    def predict_proba(self, X):
        return np.tile(self.chance, (len(X), 1))

    def predict_set(self, X, coverage):
        return np.tile(self.members, (len(X), 1))


def drawn(labels):
    y = np.array(labels)
    return Dataset("", None, None, np.zeros((len(y), 1)), y, ())


def test_probabilities_and_sets_are_scored_by_hand():
    scores = calibration.forecast_scores(Fixed([0.5, 0.3, 0.2], [True, True, False]), drawn(["a", "c"]))
    assert scores["Brier"] == pytest.approx((0.25 + 0.09 + 0.04 + 0.25 + 0.09 + 0.64) / 2)
    assert scores["log loss"] == pytest.approx(-(np.log(0.5) + np.log(0.2)) / 2)
    assert scores["covered of 90%"] == 50


def test_a_forecaster_is_compared_split_by_split_without_the_one_that_warmed_up():
    certain, even = Fixed([1.0, 0.0, 0.0], [True] * 3), Fixed([1 / 3] * 3, [True] * 3)
    ours, theirs = calibration.Forecaster(lambda data: certain), calibration.Forecaster(lambda data: even)
    theirs.rival = ours
    rounds = [drawn(["b"]), drawn(["a"]), drawn(["a", "b"])]
    for data in rounds:
        ours.run([data])
        theirs.run([data])
    assert ours.judge([], [])["Brier"] == pytest.approx((0 + 1) / 2)
    facts = theirs.judge([], [])
    assert facts["ours − theirs"] == pytest.approx((0 + 1) / 2 - 2 / 3)
    assert facts["±"] == pytest.approx(0.5)


def test_tables_without_a_rival_do_not_count():
    facts = {"Brier": 0.2, "log loss": 0.3, "ours − theirs": 0.0, "±": 0.0}
    covered = {f"covered of {asked:.0%}": 100 * asked for asked in calibration.COVERAGES}
    names = (calibration.OURS, calibration.AUTO, *calibration.THEIRS.values())
    entries = [Entry("both", name, (1.0,), facts={**facts, **covered}) for name in names]
    entries.append(Entry("ours alone", names[0], (1.0,), facts={**facts, **covered, "Brier": 9.0}))
    lines = calibration.conclude(entries)
    assert lines["tables"] == 1
    assert lines["mean Brier, marginpath"] == pytest.approx(0.2)
    assert lines["covered where 90% is asked for (wanted: within a point)"].startswith("90.0 % on average")
    assert calibration.conclude(entries[-1:]) == {}


def test_the_rival_is_told_what_ours_found_and_has_fewer_folds_for_rare_classes():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [30, 30, 3])
    data = Dataset("", y[:, None] + 0.1 * rng.standard_normal((63, 2)), y, None, None, ())
    ours = calibration.Forecaster(lambda data: SimpleNamespace(C_=3.5))
    ours.run([data])
    model = calibration.CalibratedSVC("sigmoid", ours)(data)
    assert len(model.calibrated_classifiers_) == 3
    assert {each.estimator.C for each in model.calibrated_classifiers_} == {3.5}
