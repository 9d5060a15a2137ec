"""Where the lowest and the largest of many numbers are, found side by side.

A compiler keeps the one lowest number so far, and every comparison waits for the last. Here each of many
lanes keeps its own, and a processor compares several at once; then the lanes are compared. Of equal numbers
the first in the first lane is taken: that depends on their places alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .part import compiled, extremal

LANES = 64


@compiled
def lowest(values: Any, closed: Any, lane: Any) -> int:
    """Return the place of the lowest of values + closed, −1 where none is a number."""
    _lowest_of_lanes(values, closed, lane)
    k = 0
    for other in range(1, LANES):
        if lane[other] < lane[k]:
            k = other
    for c in range(k, values.size, LANES):
        if values[c] + closed[c] == lane[k]:
            return c
    return -1


@compiled
def largest(values: Any, lane: Any) -> int:
    """Return the place of the largest value, −1 where none is a number over 0."""
    _largest_of_lanes(values, lane)
    k = 0
    for other in range(1, LANES):
        if lane[other] > lane[k]:
            k = other
    for c in range(k, values.size, LANES):
        if values[c] == lane[k]:
            return c
    return -1


@compiled
def highest(values: Any, closed: Any, lane: Any) -> float:
    """Return the highest of values − closed."""
    _highest_of_lanes(values, closed, lane)
    best = -np.inf
    for k in range(LANES):
        best = max(best, lane[k])
    return best


@extremal
def _lowest_of_lanes(values: Any, closed: Any, lane: Any) -> None:
    lane[:] = np.inf
    for a in range(0, values.size, LANES):
        x, y = values[a : a + LANES], closed[a : a + LANES]
        for k in range(x.size):
            lane[k] = min(lane[k], x[k] + y[k])


@extremal
def _highest_of_lanes(values: Any, closed: Any, lane: Any) -> None:
    lane[:] = -np.inf
    for a in range(0, values.size, LANES):
        x, y = values[a : a + LANES], closed[a : a + LANES]
        for k in range(x.size):
            lane[k] = max(lane[k], x[k] - y[k])


@extremal
def _largest_of_lanes(values: Any, lane: Any) -> None:
    lane[:] = 0.0
    for a in range(0, values.size, LANES):
        x = values[a : a + LANES]
        for k in range(x.size):
            lane[k] = max(lane[k], x[k])
