"""What a dual vector proves of the maximum margin, and the maximum margin itself."""

from .bounds import (
    MarginProofs,
    contradictory,
    duality_gap,
    estimated_margin_bounds,
    margin_bounds,
    state_margin_bounds,
)

__all__ = [
    "MarginProofs",
    "contradictory",
    "duality_gap",
    "estimated_margin_bounds",
    "margin_bounds",
    "state_margin_bounds",
]
