"""Solvers, one method a file; base.py has the protocol."""

from .base import Solver, State
from .dual_descent import DualDescent, DualDescentState

__all__ = ["DualDescent", "DualDescentState", "Solver", "State"]
