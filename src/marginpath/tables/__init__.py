"""Raw tables: what each column is, how it becomes numbers, and a classifier that takes them as they come."""

from .classifier import TablePathClassifier
from .encoder import TableEncoder
from .importance import Importance, permutation_importance
from .scoring import PositiveScore

__all__ = ["Importance", "PositiveScore", "TableEncoder", "TablePathClassifier", "permutation_importance"]
