"""Data of the tests of the classifiers."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification, make_moons
from sklearn.preprocessing import StandardScaler


@pytest.fixture(scope="module")
def moons():
    return make_moons(120, noise=0.3, random_state=0)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def separable():
    X, y = make_classification(
        80, 4, n_informative=4, n_redundant=0, n_clusters_per_class=1, class_sep=3, random_state=0
    )
    return X, y
