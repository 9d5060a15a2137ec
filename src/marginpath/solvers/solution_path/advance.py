"""Columns on their way from one solution to the next, from working set to working set: see ``column.py``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .column import follow, improve, plan, survey
from .newton import no_inverse
from .part import compiled, empty_part, join

_FALLS, _IDLE = 0.99, 20  # rounds in which the gap does not fall: it is rounding that is left


class Asked(NamedTuple):
    """How far a solution is to go."""

    tied: Any
    tol: Any
    working_set: Any
    rounds: Any


class Duals(NamedTuple):
    """The columns of a problem: u before and after, (n, columns), K(Y∘u), (columns, n), bounds, offsets."""

    start: Any
    u: Any
    fields: Any
    before: Any
    bound: Any
    offset: Any


class Column(NamedTuple):
    """The samples of one column: K_ii, labels, low ≤ z ≤ high."""

    diagonal: Any
    y: Any
    low: Any
    high: Any
    z: Any


@compiled
def advance(
    rows: Any,
    memory: Any,
    samples: Any,
    diagonal: Any,
    signed: Any,
    first: int,
    duals: Any,
    asked: Any,
    stop: Any,
) -> None:
    """Bring neighbouring columns of one question to their solutions, one after the other.

    The rows are a stored matrix. The columns share what is gathered of it, in the memory; the last one, after
    the folds that of all the data, has most of it and comes first.
    """
    index, listed = np.empty(samples.size, np.int64), np.zeros(samples.size, np.bool_)
    part, m = empty_part(rows, memory, 0), 0
    for c in range(len(signed) - 1, -1, -1):
        j = first + c
        field, bounds = duals.fields[j], (duals.before[j], duals.bound[j])
        column = enter(samples, diagonal, signed[c], duals.start[:, j], field, bounds)
        duals.offset[j], part, m = solve(part, m, index, listed, memory, samples, column, field, asked, stop)
        leave(samples, column, duals.u[:, j])


@compiled
def enter(samples: Any, diagonal: Any, signed: Any, u: Any, field: Any, bounds: Any) -> Any:
    """Return the samples of a column under its new bound; the bounds are the one before and the new one.

    z and the field have been multiplied by the factor, from 1 to the ratio of the bounds, that lowers the
    dual objective most within the box.
    """
    n, (before, bound) = samples.size, bounds
    squares, y, low, high, z = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    total, squared = 0.0, 0.0
    for c in range(n):
        i, length = samples[c], bound * abs(signed[c])
        squares[c], y[c] = diagonal[i], np.sign(signed[c])
        low[c], high[c] = (-length, 0.0) if y[c] > 0 else (0.0, length)
        z[c] = y[c] * u[i]
        total += abs(z[c])
        squared += z[c] * field[i]
    grown = bound / before if before > 0 else bound
    best = total / squared if squared > 0 else (grown if grown < np.inf else 1.0)
    factor = min(max(best, 1.0), grown)
    if factor != 1:
        for c in range(n):
            rest = before * abs(signed[c])
            if factor == grown and rest > 0 and abs(z[c]) == rest:
                z[c] = -y[c] * (high[c] - low[c])
            else:
                z[c] = min(max(factor * z[c], low[c]), high[c])
        for i in range(field.size):
            field[i] *= factor
    return Column(squares, y, low, high, z)


@compiled
def leave(samples: Any, column: Any, u: Any) -> None:
    """Write the dual variable of the samples of a column."""
    for c in range(samples.size):
        u[samples[c]] = column.y[c] * column.z[c]


@compiled
def solve(
    part: Any,
    m: int,
    index: Any,
    listed: Any,
    memory: Any,
    samples: Any,
    column: Any,
    field: Any,
    asked: Any,
    stop: Any,
) -> Any:
    """Work on sets of samples until the gap is small. Return the offset, and the set with its m samples.

    All but the given samples are left out; the field is that of all. A set keeps its samples, what is known
    of their matrix and its inverse, while there is room for the new ones in the memory.
    """
    n, f, rows = samples.size, np.empty(samples.size), part.rows
    diagonal, y, low, high, z = column
    tied, tol, working_set, rounds = asked
    inverse, least_gap, idle = no_inverse(), np.inf, 0
    for _ in range(rounds):
        for i in range(n):
            f[i] = field[samples[i]]
        beta, wanted, eps, factor, gap = plan(y, low, high, z, f, tied, tol, working_set)
        idle, least_gap = (0 if gap < _FALLS * least_gap else idle + 1), min(gap, least_gap)
        if wanted.size == 0 or stop[0] or idle > _IDLE:
            if factor != 1:
                for i in range(field.size):
                    field[i] *= factor
            return beta, part, m
        fresh = wanted.size
        for i in wanted:
            fresh -= listed[i]
        if m + fresh > part.where.size:
            m, room = 0, min(2 * wanted.size, int(np.sqrt(memory.size)))
            part, inverse = empty_part(rows, memory, room), no_inverse()
            listed[:] = False
        for i in wanted:
            if not listed[i]:
                join(part, samples[i], m)
                listed[i], index[m] = True, i
                m += 1
        steps, inverse = improve(part, inverse, index[:m], diagonal, y, low, high, z, f, tied, eps)
        moved, count = np.empty(m, np.int64), 0
        for c in range(m):
            if steps[c] != 0:
                moved[count], steps[count] = part.where[c], steps[c]
                count += 1
        follow(rows, moved[:count], steps, field)
    for i in range(n):
        f[i] = field[samples[i]]
    return survey(y, low, high, z, f, tied)[0], part, m


@compiled
def transpose(fields: Any, offset: Any, scores: Any, first: int) -> None:
    """Write fields + offset, (columns, n), into scores, (rows, columns), which are samples from first on."""
    k, n = offset.size, len(scores)
    for a in range(0, n, 32):  # rows that stay near the core meanwhile
        for j in range(k):
            for i in range(a, min(a + 32, n)):
                scores[i, j] = fields[j, first + i] + offset[j]


@compiled
def add_kinds(kinds: Any, sums: Any, out: Any) -> None:
    """Write Σ_k kinds[k, j] sums[k] into row j of out, in the order of the kinds."""
    for j in range(len(out)):
        for i in range(out.shape[1]):
            out[j, i] = 0.0
        for k in range(len(kinds)):
            factor = np.float64(kinds[k, j])
            if factor != 0:
                for i in range(out.shape[1]):
                    out[j, i] += factor * sums[k, i]


@compiled
def add_rows_of_kinds(rows: Any, kind: Any, sums: Any, first: int, last: int) -> None:
    """Add row i to the sum of its kind, for all i one after the other; of the columns first to last."""
    for i in range(kind.size):
        row, total = rows[i], sums[kind[i]]
        for c in range(first, last):
            total[c] += np.float64(row[c])
