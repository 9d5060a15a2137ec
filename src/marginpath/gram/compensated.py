"""Products whose rounding is known: short float64 sums, added up with what rounding takes from each sum.

A sum of m terms t_j, in any order, is off by at most m u Σ |t_j| to first order, u = 2⁻⁵³ being the unit
roundoff. Sums of 32 terms, added up by Knuth's two-sum, are off by little more than 32 u Σ |t_j|, however
many they are; terms added up so one by one, as those of sparse rows are, by little more than 2 u Σ |t_j|.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import parallel
from ..arrays import Array, blocks, device, namespace, to_numpy
from ..parallel import for_all

#: Terms of a sum that is not compensated.
SHORT = 32

_AT_ONCE = 2**27  # numbers that rows and their short sums take, each
_NEAR = 2**16  # sums that a core works on at a time: few columns of V, and wide parts of the rows
_SHARED = 2**21  # products of numbers from which on threads gain more than they wait for each other


def relative_error(n: int) -> float:
    """Return how far off a product with n terms may be, over the sum of the absolute values of its terms."""
    return (min(SHORT, n) + 4) * float(np.finfo(np.float64).eps)


def compensated_product(rows: Array, V: Array) -> Array:
    """Return rowsᵀ V in float64, over the rows where V is not zero.

    Examples
    --------
    >>> rows = np.zeros((96, 1))
    >>> rows[[0, 32, 64], 0] = 1e16, 1.0, -1e16
    >>> compensated_product(rows, np.ones(96)), rows.sum()
    (array([1.]), np.float64(0.0))
    """
    if isinstance(rows, np.ndarray):
        support = np.flatnonzero(np.any(to_numpy(V).reshape(V.shape[0], -1) != 0, axis=1))
        return _compiled(rows, support, np.asarray(V))
    if sp.issparse(rows):
        return _compiled_sparse(sp.csr_array(rows), np.asarray(V))
    return _elsewhere(rows, V)


def _elsewhere(rows: Array, V: Array) -> Array:
    """Do the same with arrays of another library: many short sums at a time, added up two and two."""
    xp, m, k = namespace(V), rows.shape[1], int(np.prod(V.shape[1:]))
    columns = xp.reshape(V, (-1, k))
    (support,) = xp.nonzero(xp.any(columns != 0, axis=1))
    total = xp.zeros((m, k), dtype=xp.float64, device=device(V))
    lost = xp.zeros_like(total)
    for a, b in blocks(support.shape[0], SHORT * max(1, _AT_ONCE // (m * max(k, SHORT)))):
        filler = xp.zeros((a - b) % SHORT, dtype=support.dtype, device=device(V))
        index = xp.concat([support[a:b], filler])
        real = (xp.arange(index.shape[0], device=device(V)) < b - a)[:, None]
        factors = xp.astype(xp.take(columns, index, axis=0), xp.float64)
        factors = xp.reshape(xp.where(real, factors, 0 * factors), (-1, SHORT, k))
        part = xp.reshape(xp.astype(xp.take(rows, index, axis=0), xp.float64), (-1, SHORT, m))
        sums, errors = _added(xp, xp.permute_dims(part, (0, 2, 1)) @ factors)
        total, error = _two_sum(total, sums)
        lost = lost + (errors + error)
    return xp.reshape(total + lost, (m, *V.shape[1:]))


def _added(xp: Any, terms: Array) -> tuple[Array, Array]:
    """Return the sum of the terms, and what rounding took from it."""
    lost = xp.zeros_like(terms[0, ...])
    while (half := terms.shape[0] // 2) > 0:
        sums, errors = _two_sum(terms[:half, ...], terms[half : 2 * half, ...])
        lost = lost + xp.sum(errors, axis=0)
        terms = xp.concat([sums, terms[2 * half :, ...]])
    return terms[0, ...], lost


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a + b as rounded, and what that rounding took."""
    total = a + b
    share = total - a
    return total, (a - (total - share)) + (b - share)


def _compiled(rows: np.ndarray, support: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Do the same in one pass over the rows for all columns of V; the threads share their columns."""
    from .compensated_compiled import add_rows

    chosen, count = V.reshape(len(V), -1)[support], len(support)
    order = _together(chosen)
    Vt = np.zeros((chosen.shape[1], -(-count // 4) * 4))
    Vt[:, :count] = chosen[order].T
    support = np.concatenate([support[order], np.zeros(-count % 4, support.dtype)])
    out = np.empty((len(Vt), rows.shape[1]))
    few = Vt.size * rows.shape[1] < _SHARED
    workers, room = 1 if few else parallel.available(), max(512, _NEAR // max(1, len(Vt)))
    parts = workers * -(-rows.shape[1] // (workers * room))
    ends = np.linspace(0, rows.shape[1], parts + 1).astype(int).tolist()

    def part(number: int) -> None:
        add_rows(rows, support, Vt, SHORT, out, ends[number], ends[number + 1])

    for_all(part, range(parts), workers)
    return out.T.reshape((rows.shape[1], *V.shape[1:]), order="F")


def _together(V: np.ndarray) -> np.ndarray:
    """Return an order in which rows with the same zeros follow each other, such as those of one class.

    Four at a time are left out of a column that has zeros there: of pairs of ten classes, four fifths are.
    """
    if V.shape[1] == 1 or 2 * np.count_nonzero(V) > V.size:
        return np.arange(len(V))
    return np.lexsort(np.packbits(V != 0, axis=1).T)


def _compiled_sparse(rows: sp.csr_array, V: np.ndarray) -> np.ndarray:
    """Add up the non-zeros one by one: short sums of them would be as long as there are columns."""
    from .compensated_compiled import WIDTH, add_sparse_rows

    columns = V.reshape(len(V), -1).astype(np.float64)
    out = np.empty((rows.shape[1], columns.shape[1]))

    def part(ends: tuple[int, int]) -> None:
        factors = np.zeros((len(columns), WIDTH))
        factors[:, : ends[1] - ends[0]] = columns[:, slice(*ends)]
        add_sparse_rows(rows.data, rows.indices, rows.indptr, factors, out, *ends)

    for_all(part, list(blocks(columns.shape[1], WIDTH)), parallel.available())
    return out.reshape((rows.shape[1], *V.shape[1:]))
