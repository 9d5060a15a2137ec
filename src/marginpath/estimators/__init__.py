"""The scikit-learn face: classifiers and regressors that choose their own amount of regularization."""

from .callbacks import watched
from .choices import as_choice
from .kernel import MarginPathClassifier
from .linear import LinearMarginPathClassifier
from .regressors import LinearMarginPathRegressor, MarginPathRegressor

__all__ = [
    "LinearMarginPathClassifier",
    "LinearMarginPathRegressor",
    "MarginPathClassifier",
    "MarginPathRegressor",
    "as_choice",
    "watched",
]
