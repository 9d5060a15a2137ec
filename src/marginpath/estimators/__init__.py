"""The scikit-learn face: classifiers that choose their own amount of regularization."""

from .callbacks import watched
from .choices import as_choice
from .compressor import Compression
from .kernel import MarginPathClassifier
from .linear import LinearMarginPathClassifier

__all__ = ["Compression", "LinearMarginPathClassifier", "MarginPathClassifier", "as_choice", "watched"]
