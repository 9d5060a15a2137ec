"""The samples that count in columns which ask the same question."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Question(NamedTuple):
    """Neighbouring columns from ``first`` on, and the samples that count in any of them.

    ``signed`` has a row for each of the columns, in float64: the labels of these samples times their weights.
    """

    first: int
    samples: np.ndarray
    signed: np.ndarray


def question(signed: np.ndarray, first: int, together: int) -> Question:
    """Return the question of some of the rows of Y∘mass, (columns, n).

    Examples
    --------
    >>> question(np.array([[0.0, 1, -1], [0, 2, 0]]), 0, 2).samples
    array([1, 2])
    """
    part = signed[first : first + together]
    samples = np.flatnonzero(part.any(axis=0))
    return Question(first, samples, np.ascontiguousarray(part[:, samples]))
