"""How several classes become columns of ±1, and the decision values of columns those of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, TypeAlias

import numpy as np

from ..arrays import Array, beside, namespace
from ..files.records import register


@register
@dataclass(frozen=True)
class OneVsRest:
    """A column for each class against all others; two classes share one column.

    Examples
    --------
    >>> OneVsRest(3).signs(np.array([0, 1, 2]))
    array([[ 1., -1., -1.],
           [-1.,  1., -1.],
           [-1., -1.,  1.]])
    """

    n_classes: int
    in_pairs: ClassVar[bool] = False

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return 1 if self.n_classes == 2 else self.n_classes

    def names(self, classes: Sequence[str]) -> list[str]:
        """Return what each column decides: a class against the rest, or which of two."""
        return [" or ".join(classes)] if self.n_columns == 1 else list(classes)

    def signs(self, codes: np.ndarray) -> np.ndarray:
        """Return the labels (n, columns) of classes 0, 1, …."""
        return class_signs(codes, self.n_classes)

    def values(self, decision: Array) -> Array:
        """Return the decision values of the classes: those of the columns."""
        return decision

    def enclosed(self, decision: np.ndarray, bound: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest values of classes whose columns differ by the bound at most."""
        return decision - bound, decision + bound


@register
@dataclass(frozen=True)
class OneVsOne:
    """A column for each pair of classes a < b, the first with −1 and the second with +1, all others with 0.

    Examples
    --------
    >>> pairs = OneVsOne(3)
    >>> pairs.signs(np.array([0, 1, 2]))
    array([[-1., -1.,  0.],
           [ 1.,  0., -1.],
           [ 0.,  1.,  1.]])
    >>> pairs.values(np.array([[-0.5, -1.0, 2.0]])).round(2)  # 0 beats 1 and 2, and 2 beats 1
    array([[ 2.2 , -0.24,  1.17]])
    """

    n_classes: int
    in_pairs: ClassVar[bool] = True

    @property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The first and the second class of every column."""
        return _pairs(self.n_classes)

    @property
    def n_columns(self) -> int:
        """The number of pairs."""
        return self.n_classes * (self.n_classes - 1) // 2

    def names(self, classes: Sequence[str]) -> list[str]:
        """Return what each column decides: which of two classes."""
        return [f"{classes[a]} or {classes[b]}" for a, b in zip(*self.pairs, strict=True)]

    def signs(self, codes: np.ndarray) -> np.ndarray:
        """Return the labels (n, columns) of classes 0, 1, …."""
        first, second = self.pairs
        return np.where(codes[:, None] == second, 1.0, np.where(codes[:, None] == first, -1.0, 0.0))

    def values(self, decision: Array) -> Array:
        """Return how many pairs each class wins, and as a part of one, between −1/3 and 1/3, by how much.

        As in scikit-learn: equal numbers of wins are decided by the sums of the decision values.
        """
        xp = namespace(decision)
        # A copy: torch takes no array that must not be written to.
        turned = xp.astype(beside(_turned(self.n_classes).copy(), decision), decision.dtype)
        # Of so many pairs a class is the first; counted down, as torch knows no array that is turned round.
        firsts = xp.astype(beside(np.arange(self.n_classes - 1, -1, -1), decision), decision.dtype)
        wins = xp.astype(decision > 0, decision.dtype) @ turned + firsts
        lead = decision @ turned
        return wins + lead / (3 * (xp.abs(lead) + 1))

    def enclosed(self, decision: np.ndarray, bound: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the largest values of classes whose columns differ by the bound at most.

        A pair with |f| ≤ bound may be won by either class. What rounding does to the values is in it too.

        Examples
        --------
        >>> f = np.array([[-0.5, -1.0, 2.0]])
        >>> low, high = OneVsOne(3).enclosed(f, np.array([[0.1, 0.1, 3.0]]))
        >>> low.round(), high.round()  # 0 wins both its pairs in any case
        (array([[ 2., -0., -0.]]), array([[2., 1., 1.]]))
        """
        first, second = (np.eye(self.n_classes)[side] for side in self.pairs)
        eps, f = float(np.finfo(decision.dtype).eps), decision.astype(np.float64)
        lead, own = f @ (second - first), first + second
        reach = bound @ own + 4 * self.n_classes * eps * ((np.abs(f) + bound) @ own)
        low, high = lead - reach, lead + reach
        won, lost, slack = f > bound, f < -bound, 4 * self.n_classes * eps  # in any case
        least, most = won @ second + lost @ first, ~lost @ second + ~won @ first
        return (
            least + low / (3 * (np.abs(low) + 1)) - slack,
            most + high / (3 * (np.abs(high) + 1)) + slack,
        )


@cache
def _pairs(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.triu_indices(n_classes, 1)
    first.flags.writeable = second.flags.writeable = False
    return first, second


@cache
def _turned(n_classes: int) -> np.ndarray:
    """Return −1 for the first class of every pair and +1 for the second, (pairs, classes)."""
    first, second = (np.eye(n_classes)[side] for side in _pairs(n_classes))
    turned = second - first
    turned.flags.writeable = False
    return np.asarray(turned)


_CLOSE = 2**16  # whole numbers that are counted one by one

Columns: TypeAlias = OneVsRest | OneVsOne


def columns_for(n_classes: int, multi_class: str) -> Columns:
    """Return the columns by name; two classes are one pair anyway.

    Examples
    --------
    >>> columns_for(4, "ovo").n_columns, columns_for(2, "ovo")
    (6, OneVsRest(n_classes=2))
    """
    if multi_class not in MULTI_CLASS:
        raise ValueError(f"multi_class must be one of {', '.join(MULTI_CLASS)}, got {multi_class!r}.")
    return OneVsOne(n_classes) if multi_class == "ovo" and n_classes > 2 else OneVsRest(n_classes)


def settled(columns: Columns, decision: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Return for every row whether its class is the same for all values that differ by the bound at most.

    Examples
    --------
    >>> settled(OneVsRest(2), np.array([[0.3], [-0.1]]), np.array([[0.2], [0.2]]))
    array([ True, False])
    """
    if decision.shape[1] == 1:
        return np.asarray(np.abs(decision[:, 0]) > bound[:, 0])
    values = columns.values(decision)
    sure = np.zeros(len(values), dtype=bool)
    if columns.in_pairs:  # no pair changes, and a class wins one more than all others: quick to see
        lead = np.diff(np.partition(values, -2, axis=1)[:, -2:], axis=1)[:, 0]
        sure = (lead > 0.7) & np.all(np.abs(decision) > bound, axis=1)
    others = np.flatnonzero(~sure)
    low, high = columns.enclosed(decision[others], bound[others])
    first = values[others].argmax(axis=1)[:, None]
    np.put_along_axis(high, first, -np.inf, axis=1)
    sure[others] = np.take_along_axis(low, first, axis=1)[:, 0] > high.max(axis=1)
    return sure


#: What the columns of several classes may be.
MULTI_CLASS = ("ovr", "ovo")


def class_codes(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes, sorted, and the number of that of every label; close whole numbers are counted.

    Examples
    --------
    >>> class_codes(np.array([7, 3, 7]))
    (array([3, 7]), array([1, 0, 1]))
    """
    whole = np.can_cast(labels.dtype, np.int64) and labels.dtype != bool and labels.ndim == 1
    if not (whole and len(labels)) or int(labels.max()) - (least := int(labels.min())) >= _CLOSE:
        classes, codes = np.unique(labels, return_inverse=True)
        return classes, codes
    places = labels.astype(np.int64) - least
    present = np.bincount(places) > 0
    classes = (np.flatnonzero(present) + least).astype(labels.dtype)
    return classes, (np.cumsum(present) - 1)[places]


def class_signs(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return labels ±1, a column for each class against the rest; two classes share one column.

    Examples
    --------
    >>> class_signs(np.array([0, 1, 1]), 2).T
    array([[-1.,  1.,  1.]])
    """
    signs = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    return signs[:, 1:] if n_classes == 2 else signs


def fold_columns(signs: np.ndarray, splits: list[np.ndarray], whole: bool = True) -> np.ndarray:
    """Return labels (n, columns × (folds + 1)): each column's folds with their test rows 0, then all.

    The last are left out for whole=False.
    """
    columns = np.repeat(signs[:, :, None], len(splits) + whole, axis=2)
    for j, test in enumerate(splits):
        columns[test, :, j] = 0
    return columns.reshape(len(signs), -1)
