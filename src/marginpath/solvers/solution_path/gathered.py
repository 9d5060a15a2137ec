"""What of K is among the samples that are worked on, in 16 bits, kept from step to step of a path.

From one step to the next, nearly the same samples are between their bounds. So they stay, and others join
them; those that are not worked on for now, and those of no use any more, rest. What is computed on it must
not depend on who joined when: see ``order``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...gram.base import Gram
from .kernel_columns import Share
from .part import compiled

LARGEST = 32_000  # the number that the largest K_ii becomes; by rounding, others may be over it
_ROOM = 1.125  # for samples that join later
_WORKING = 0.75  # of the members: where fewer work, the others have to leave
_KEPT = 0.5  # of the bytes of K: what may be kept of all questions
_CHUNK = 256  # rows that a thread writes at a time


class Gathered:
    """The matrix among the members, samples in the order in which they joined, in units of ``unit``."""

    def __init__(self, rows: np.ndarray, diagonal: np.ndarray) -> None:
        self.rows, self.unit = rows, float(np.max(diagonal)) / LARGEST
        self.place = np.full(len(rows), -1)  # of each sample, among the members
        self.members, self._memory = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int16)
        self._begin(0)

    @property
    def bytes(self) -> int:
        """The memory that it takes."""
        return self._memory.nbytes

    def order(self, working: np.ndarray) -> np.ndarray:
        """Return the places of the samples, in their own order and not in that in which they joined."""
        return np.asarray(self.place[working], dtype=np.uint32)

    def include(self, working: np.ndarray, limit: int, share: Share) -> bool:
        """Let samples, in ascending order, be members; return whether there is room, which has a limit."""
        fresh = working[self.place[working] < 0]
        if self.members.size + fresh.size > min(len(self.matrix), working.size / _WORKING):
            if working.size > limit:
                return False
            self._begin(min(int(_ROOM * working.size), limit))
            fresh = working
        known, m = self.members.size, self.members.size + fresh.size
        self.members, self.place[fresh] = np.concatenate((self.members, fresh)), np.arange(known, m)
        where = self.members.astype(np.uint32)  # with a sign, every number would be asked for it
        share(
            lambda a: gather(self.rows, where, self.matrix, 1 / self.unit, a, min(a + _CHUNK, m)),
            range(known, m, _CHUNK),
        )
        if fresh.size:
            share(lambda a: mirror(self.matrix, known, m, a, min(a + _CHUNK, known)), range(0, known, _CHUNK))
        return True

    def _begin(self, room: int) -> None:
        """Let all members leave, and have room for so many."""
        if self._memory.size < room**2:
            self._memory = np.empty(room**2, dtype=np.int16)
        self.matrix = self._memory[: room**2].reshape(room, room)
        self.place[self.members], self.members = -1, self.members[:0]


#: Of each Gram matrix, by the first column of a question, what was gathered for it and is not in use.
_idle: WeakKeyDictionary[Gram, dict[int, Gathered]] = WeakKeyDictionary()


@contextmanager
def gathered(gram: Any, first: int) -> Iterator[Gathered]:
    """Lend what was gathered for the question at the step before, or an empty one."""
    idle = _idle.setdefault(gram, {})
    known = idle.pop(first, None) or Gathered(gram.matrix, gram.diagonal)
    yield known
    if known.bytes + sum(other.bytes for other in list(idle.values())) <= _KEPT * gram.matrix.nbytes:
        idle[first] = known


@compiled
def gather(rows: Any, where: Any, matrix: Any, per_unit: float, first: int, last: int) -> None:
    """Write the rows first to last of the matrix among the samples ``where``."""
    factor, near = rows.dtype.type(per_unit), np.empty(where.size, rows.dtype)
    for c in range(first, last):
        row, out = rows[where[c]], matrix[c]
        for d in range(where.size):
            near[d] = row[where[d]]
        for d in range(where.size):  # apart from the others, these are many at a time
            out[d] = np.int16(np.rint(near[d] * factor))


@compiled
def mirror(matrix: Any, known: int, m: int, first: int, last: int) -> None:
    """Write what the rows known to m tell of the rows first to last: the matrix is symmetric."""
    for c in range(first, last):
        out = matrix[c]
        for d in range(known, m):
            out[d] = matrix[d, c]
