"""The scikit-learn face: classifiers that choose their own amount of regularization."""

from .kernel import MarginPathClassifier
from .linear import LinearMarginPathClassifier

__all__ = ["LinearMarginPathClassifier", "MarginPathClassifier"]
