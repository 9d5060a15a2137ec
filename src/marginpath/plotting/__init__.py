"""Pictures of a fitted classifier, in the manner of scikit-learn's displays: data, and what draws them."""

from .compression import CompressionDisplay
from .margin import MarginDisplay
from .path import PathDisplay

__all__ = ["CompressionDisplay", "MarginDisplay", "PathDisplay"]
