"""Pictures of fitted estimators, in the manner of scikit-learn's displays: data, and what draws them."""

from .compression import CompressionDisplay
from .margin import MarginDisplay
from .path import PathDisplay
from .regression import RegressionPathDisplay

__all__ = ["CompressionDisplay", "MarginDisplay", "PathDisplay", "RegressionPathDisplay"]
