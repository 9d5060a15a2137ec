"""The scikit-learn face: classifiers that choose their own amount of regularization."""

from .callbacks import watched
from .choices import as_choice
from .kernel import MarginPathClassifier
from .linear import LinearMarginPathClassifier

__all__ = ["LinearMarginPathClassifier", "MarginPathClassifier", "as_choice", "watched"]
