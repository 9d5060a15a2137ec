"""Solvers that no classifier uses yet: tested like the others, but their interface may change."""

from ..files.records import register
from .screening.solver import Screened
from .screening.state import ScreenedState

__all__ = ["Screened", "ScreenedState"]

for _cls in (Screened, ScreenedState):
    register(_cls)
