"""The scikit-learn face: classifiers and regressors that choose their own amount of regularization."""

from .callbacks import watched
from .choices import as_choice
from .compressor import Compression
from .kernel import MarginPathClassifier
from .linear import LinearMarginPathClassifier
from .regressors import LinearMarginPathRegressor, MarginPathRegressor
from .scales import UnscaledDataWarning

__all__ = [
    "Compression",
    "LinearMarginPathClassifier",
    "LinearMarginPathRegressor",
    "MarginPathClassifier",
    "MarginPathRegressor",
    "UnscaledDataWarning",
    "as_choice",
    "watched",
]
