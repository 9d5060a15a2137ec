"""Columns in which few samples count, with the numbers of these and of watched samples, and no others.

Of pairs of many classes, whole columns would be zeros for the most part, and every step would copy them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...problem import Problem


class Layout(NamedTuple):
    """Where packed numbers belong: questions as in ``PackedQuestions``, and lists of watched samples.

    Numbers of own samples lie as the labels ``signed`` do. Those of watched samples have a row for as many
    columns as there are lists, and in it the lists one after the other: ``watched[begins[k]:begins[k + 1]]``.
    """

    ends: np.ndarray
    samples: np.ndarray
    signed: np.ndarray
    together: int
    watched: np.ndarray
    begins: np.ndarray

    @property
    def lists(self) -> int:
        """How many lists of watched samples there are."""
        return len(self.begins) - 1

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return (len(self.ends) - 1) * self.together

    def is_like(self, other: Layout) -> bool:
        """Whether the numbers of another layout lie as these do."""
        if self is other:
            return True
        return self.together == other.together and all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ("ends", "samples", "signed", "watched", "begins")
        )

    def empty(self) -> tuple[np.ndarray, np.ndarray]:
        """Return arrays for numbers of own samples and of watched ones."""
        return np.empty(len(self.signed)), np.empty((self.columns // self.lists, len(self.watched)))

    def collect(self, columns: np.ndarray, rows: np.ndarray, own: np.ndarray) -> None:
        """Take the numbers of own samples from whole columns, a row each."""
        from .packing import collect

        collect(self.ends, self.samples, self.together, columns, rows, own)

    def collect_watched(self, columns: np.ndarray, rows: np.ndarray, outside: np.ndarray) -> None:
        """Take the numbers of watched samples."""
        from .packing import collect_watched

        collect_watched(self.watched, self.begins, columns, rows, outside)

    def spread(self, n: int, columns: np.ndarray, own: np.ndarray, outside: np.ndarray | None) -> np.ndarray:
        """Return whole columns of n samples, a row each; what is not known is 0."""
        from .packing import spread, spread_watched

        rows = np.zeros((len(columns), n))
        if outside is not None:
            spread_watched(self.watched, self.begins, columns, outside, rows)
        spread(self.ends, self.samples, self.signed, self.together, columns, own, rows)
        return rows


def layout_of(problem: Problem) -> Layout:
    """Return where the numbers of a problem's columns lie, made once: also for other Gram matrices."""
    known: Layout | None = problem.__dict__.get("_layout")
    if known is None:
        watched = problem.watched or (np.arange(len(problem.Y)),)
        begins = np.concatenate([[0], np.cumsum([len(each) for each in watched])]).astype(np.int64)
        known = Layout(*problem.packed_questions, np.concatenate(watched).astype(np.uint32), begins)
        problem.__dict__["_layout"] = known
    return known


@dataclass(frozen=True)
class PackedColumns:
    """Where columns stand: u and its field of own samples, the field of watched ones, and the offsets.

    At the start, where u = 0, the field is that of Y∘mass: see ``SolutionPathState``.
    """

    layout: Layout
    shape: tuple[int, ...]
    u: np.ndarray
    fields: np.ndarray
    outside: np.ndarray
    offset: np.ndarray
    is_start: bool = False

    @property
    def of_state(self) -> dict[str, Any]:
        """What a state has of it: the arrays are made when they are asked for."""
        return {"offset": self.offset.reshape(self.shape[1:]), "packed": self}

    def whole(self, name: str) -> np.ndarray:
        """Return ``"u"``, ``"field"`` or ``"scores"`` of all columns, in the shape of the labels."""
        every = np.arange(self.layout.columns)
        if name == "scores" and self.is_start:
            return np.zeros(self.shape)
        own, outside = (self.u, None) if name == "u" else (self.fields, self.outside)
        rows = self.layout.spread(self.shape[0], every, own, outside)
        if name == "scores":
            rows += self.offset[:, None]
        return np.asarray(rows.T.reshape(self.shape, order="A"))

    def duals(self, columns: np.ndarray | None) -> np.ndarray:
        """Return u of some columns, or of all, (n, columns)."""
        every = np.arange(self.layout.columns) if columns is None else columns
        return self.layout.spread(self.shape[0], every, self.u, None).T

    def sums_of_gap(self, bound: np.ndarray) -> np.ndarray:
        """Return what the duality gap of each column consists of: ``sums_of_questions``."""
        from ...problem.sums_compiled import sums_of_questions

        fields = np.zeros_like(self.fields) if self.is_start else self.fields
        ends, _, signed, together, *_ = self.layout
        return np.asarray(sums_of_questions(ends, signed, together, self.u, fields, self.offset, bound))

    def is_any_at(self, bound: np.ndarray) -> bool:
        """Whether any sample is at the bound of its column."""
        from .packing import is_any_at_bound

        ends, _, signed, together, *_ = self.layout
        return bool(is_any_at_bound(ends, signed, together, self.u, bound))
