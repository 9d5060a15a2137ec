"""What bad input is told."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from classifiers import BOTH
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold

import marginpath as mp


@pytest.mark.parametrize("cls", BOTH)
class TestBadInput:
    def test_one_class(self, cls, moons):
        with pytest.raises(ValueError, match="at least 2 classes"):
            cls().fit(moons[0], np.ones(120))

    def test_not_numbers(self, cls, moons):
        X = moons[0].copy()
        X[3, 1] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            cls().fit(X, moons[1])

    def test_shapes(self, cls, moons):
        X, y = moons
        with pytest.raises(ValueError, match="1D array"):
            cls().fit(X[:, 0], y)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            cls().fit(X, y[:-1])
        with pytest.raises(ValueError, match="features"):
            cls(stopping=None, max_iter=2).fit(X, y).predict(X[:, :1])

    def test_weights(self, cls, moons):
        X, y = moons
        with pytest.raises(ValueError, match=r"[Nn]egative"):
            cls().fit(X, y, sample_weight=np.where(np.arange(120) == 7, -1.0, 1.0))
        with pytest.raises(ValueError, match="zero"):
            cls().fit(X, y, sample_weight=np.zeros(120))
        names = np.array(["dog", "cat"])[y]
        with pytest.raises(ValueError, match="all of class 'dog' weigh 0"):
            cls(stopping=None).fit(X, names, sample_weight=y.astype(float))
        with pytest.raises(ValueError, match="all of class 'cat' weigh 0"):
            cls(class_weight={"dog": 1, "cat": 0}).fit(X, names)

    def test_unknown_names(self, cls, moons):
        with pytest.raises(ValueError, match=r"'stopping'.*'cv'"):
            cls(stopping="luck").fit(*moons)
        with pytest.raises(ValueError, match=r"'method'.*'coordinate'"):
            cls(method="magic").fit(*moons)
        if cls is mp.MarginPathClassifier:
            with pytest.raises(ValueError, match=r"'kernel'.*'rbf'"):
                cls(kernel="quantum").fit(*moons)

    def test_a_splitter_that_leaves_a_class_out(self, cls, moons):
        X, y = moons
        order = np.argsort(y, kind="stable")
        with pytest.raises(ValueError, match="Fold 0 leaves no sample of class 0 to train on"):
            cls(cv=KFold(2)).fit(X[order], y[order])

    def test_constant_features(self, cls, moons):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            with pytest.warns(UserWarning, match=r"than class 1 for all of them, 66\.7%"):
                fitted = cls().fit(np.ones((90, 3)), np.repeat([0, 1, 1], 30))
        assert set(fitted.predict(np.ones((4, 3)))) == {1}

    def test_not_fitted(self, cls, moons):
        with pytest.raises(NotFittedError):
            cls().predict(moons[0])
        with pytest.raises(NotFittedError):
            cls().at(1)

    def test_settings_that_belong_together(self, cls, moons):
        with pytest.raises(ValueError, match="needs noise_level"):
            cls(stopping="discrepancy").fit(*moons)
        if cls is mp.MarginPathClassifier:
            with pytest.raises(ValueError, match="gamma='tuned'"):
                cls(gamma="tuned", stopping=None).fit(*moons)
            with pytest.raises(TypeError, match=r"[Ss]parse"):
                cls(kernel=rbf_kernel).fit(sp.csr_array(moons[0]), moons[1])


def test_scores_that_need_probabilities_are_refused(moons):
    with pytest.raises(ValueError, match="neg_log_loss"):
        mp.MarginPathClassifier(scoring="neg_log_loss").fit(*moons)
