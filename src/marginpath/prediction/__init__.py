"""Decision values at the speed of the machine: compiled, for one row and for many."""

from .predictors import Predictor, predictor_of, weights_of

__all__ = ["Predictor", "predictor_of", "weights_of"]
