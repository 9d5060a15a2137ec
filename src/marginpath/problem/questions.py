"""The samples that count in columns which ask the same question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Question(NamedTuple):
    """Neighbouring columns from ``first`` on, and the samples that count in any of them.

    ``signed`` has a row for each of the columns, in float64: the labels of these samples times their weights.
    """

    first: int
    samples: np.ndarray
    signed: np.ndarray


class PackedQuestions(NamedTuple):
    """Questions one after the other in few arrays, for compiled loops over all of them.

    The samples of question q are ``samples[ends[q]:ends[q + 1]]``, m of them, and ``signed`` has, from
    ``together * ends[q]`` on, m numbers for each of its columns.
    """

    ends: np.ndarray
    samples: np.ndarray
    signed: np.ndarray
    together: int


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


def packed(questions: Sequence[Question]) -> PackedQuestions:
    """Put questions with equally many columns one after the other.

    Examples
    --------
    >>> signed = np.array([[0.0, 1, -1], [0, 2, 0], [1, 0, 0], [-1, 0, 0]])
    >>> packed([question(signed, 0, 2), question(signed, 2, 2)])[:3]
    (array([0, 2, 3]), array([1, 2, 0], dtype=uint32), array([ 1., -1.,  2.,  0.,  1., -1.]))
    """
    sizes = [len(question.samples) for question in questions]
    return PackedQuestions(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate([question.samples for question in questions]).astype(np.uint32),
        np.concatenate([question.signed.ravel() for question in questions]),
        len(questions[0].signed),
    )
