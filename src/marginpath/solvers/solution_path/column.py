"""What a column does with a working set, and how it finds the next one.

All functions speak of one column, in signed dual variables z = y∘u and their gradient e = K z + y:

    min ½ zᵀK z + yᵀz   over   low ≤ z ≤ high,   and Σ z_i = 0 where the classifier has an intercept ("tied").

A sample can rise where z_i < high_i, and fall where z_i > low_i. At the solution there is an offset β, the
intercept with its sign turned, such that e_i + β ≥ 0 for all that can rise and ≤ 0 for all that can fall.

There is no BLAS in it, whose sums depend on the processor and the threads. No sum is reordered, and the order
of minima and maxima does not matter: the bits of a result do not depend on which loop, vector or scalar, is
taken for arrays that lie here or there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..coordinate.compiled import add_rows
from .part import compiled
from .steps import solve_part

_PIECE = 2048  # entries of a field that stay near the core meanwhile
CLOSE = 1e-15  # what rounding may take from a margin of 1
LEAST = 0.01  # of the objective, by which a gap is judged where nearly all of that is losses
_ROOM, MOST = 1.25, 4  # a set has room for all free samples and some more, but not without end
_SHARE = 0.3  # of the violation that is left of a working set
_SPARE = 0.5  # of the gap asked for that a working set may keep
_FEW = 1024  # samples of which another set is as cheap as a better offset
_HALVINGS = 7  # of the violation, to find that


@compiled
def plan(y: Any, low: Any, high: Any, z: Any, f: Any, tied: bool, tol: float, working_set: int) -> Any:
    """Return the offset, the samples to work on next, and to which violation; none where the gap is small.

    Then z and f have been multiplied by a factor, which is returned too; the gap is the last.
    """
    beta, violation, gap, scale, factor = survey(y, low, high, z, f, tied)
    middle = beta
    if tied and gap > tol * scale and z.size > _FEW:
        beta, gap, scale, factor = sharpen(y, low, high, z, f, middle, violation)
    if gap <= tol * scale:
        for i in range(z.size):
            z[i] *= factor
            f[i] *= factor
        return factor * beta, np.empty(0, np.int64), 0.0, factor, gap
    most, total = room_for(low, high, z, working_set), 0.0
    for i in range(z.size):
        total += abs(z[i])
    eps = min(max(_SHARE * violation, _SPARE * tol * scale / max(scale, total)), violation / 2)
    return beta, choose(y, low, high, z, f, middle, most), eps, 1.0, gap


@compiled
def room_for(low: Any, high: Any, z: Any, working_set: int) -> int:
    """Return how many samples a set has room for: all that are between their bounds, and some more."""
    return min(max(int(_ROOM * count_free(low, high, z)), working_set), MOST * working_set)


@compiled
def count_free(low: Any, high: Any, z: Any) -> int:
    """Return how many samples are between their bounds."""
    free = 0
    for i in range(z.size):
        free += low[i] < z[i] < high[i]
    return free


@compiled
def survey(y: Any, low: Any, high: Any, z: Any, f: Any, tied: bool) -> Any:
    """Return the offset β, the largest violation, the duality gap, the scale it is judged by, and a factor.

    The offset is in the middle of who can rise and who can fall: see ``sharpen`` for a better one.
    """
    rise, fall = ends(y, low, high, z, f)
    if tied and (rise == np.inf or fall == -np.inf):  # an empty box
        return 0.0, 0.0, 0.0, 0.0, 1.0
    beta = -(rise + fall) / 2 if tied else 0.0
    violation = fall - rise if tied else max(fall, -rise)
    gap, scale, factor = judge(y, low, high, z, f, tied, beta)
    return beta, violation, gap, scale, factor


@compiled
def sharpen(y: Any, low: Any, high: Any, z: Any, f: Any, middle: float, violation: float) -> Any:
    """Return the offset that makes the losses least, the gap, its scale and factor, as of ``survey``.

    With the offset in the middle, the gap hangs on the two samples that are farthest off.
    """
    beta = least_loss(y, low, high, f, middle - violation / 2, middle + violation / 2)
    gap, scale, factor = judge(y, low, high, z, f, True, beta)
    return beta, gap, scale, factor


@compiled
def least_loss(y: Any, low: Any, high: Any, f: Any, least: float, most: float) -> float:
    """Return the offset β, from the least to the most, where the losses are about least: by bisection.

    Their slope is Σ y_i (high_i − low_i) over the samples with margins under 1.
    """
    slopes, offsets, count, always = np.empty(y.size), np.empty(y.size), 0, 0.0
    for i in range(y.size):
        slope, offset = y[i] * (high[i] - low[i]), -y[i] - f[i]  # at which its margin is 1
        if least < offset < most:
            slopes[count], offsets[count] = slope, offset
            count += 1
        elif (slope > 0) == (offset <= least):
            always += slope
    for _ in range(_HALVINGS):
        beta, total = (least + most) / 2, always
        for c in range(count):
            total += max(slopes[c], 0.0) if beta > offsets[c] else min(slopes[c], 0.0)
        if total > 0:
            most = beta
        else:
            least = beta
    return (least + most) / 2


@compiled
def ends(y: Any, low: Any, high: Any, z: Any, f: Any) -> Any:
    """Return the least e of who can rise, and the largest of who can fall; infinite where nobody can."""
    rise, fall = np.inf, -np.inf
    for i in range(z.size):
        if low[i] < high[i]:
            e = f[i] + y[i]
            if z[i] < high[i] and e < rise:
                rise = e
            if z[i] > low[i] and e > fall:
                fall = e
    return rise, fall


@compiled
def judge(y: Any, low: Any, high: Any, z: Any, f: Any, tied: bool, beta: float) -> Any:
    """Return the duality gap with the offset β, the scale it is judged by, and a factor.

    The scale is the primal objective, or 2 ‖w‖² where that is less: at a small C the losses are nearly all of
    the objective, and say little of w.

    The gap is ‖w‖² − Σ |z_i| + Σ_i (high_i − low_i) max(0, 1 − m_i), with margins m_i = −y_i (f_i + β). It is
    that of z times the factor, which makes all margins 1 where the box allows it and the gap is smaller so.
    """
    squared, total, loss, excess, least, filled = 0.0, 0.0, 0.0, 0.0, np.inf, 0.0
    for i in range(z.size):
        if low[i] < high[i]:
            squared += z[i] * f[i]
            total += abs(z[i])
            excess += z[i]
            filled = max(filled, abs(z[i]) / (high[i] - low[i]))
            margin = -y[i] * (f[i] + beta)
            least = min(least, margin)
            if margin < 1:
                loss += (high[i] - low[i]) * (1 - margin)
    primal, factor, gap = squared / 2 + loss, 1.0, squared - total + loss
    scale = min(primal, max(2 * squared, LEAST * primal))
    if 0 < filled < least < 1:
        without_loss = (1 + CLOSE) / least
        if without_loss * (without_loss * squared - total) < gap:
            factor, gap = without_loss, without_loss * (without_loss * squared - total)
            scale = min(scale, without_loss * without_loss * squared / 2)  # the objective there
    off = abs(excess) / total * scale if tied and total > 0 else 0.0
    return max(gap, off), scale, factor


@compiled
def choose(y: Any, low: Any, high: Any, z: Any, f: Any, beta: float, most: int) -> Any:
    """Return the samples to work on: those between their bounds and those that violate, the worst first."""
    index, ranks, count = np.empty(z.size, np.int64), np.empty(z.size), 0
    for i in range(z.size):
        rises, falls, e = z[i] < high[i], z[i] > low[i], f[i] + y[i] + beta
        if (rises and falls) or (rises and e < 0) or (falls and e > 0):
            index[count], ranks[count] = i, abs(e)
            count += 1
    if count <= most:
        return index[:count]
    least, kept = _threshold(ranks[:count], most), 0
    for c in range(count):
        if ranks[c] >= least and kept < most:
            index[kept] = index[c]
            kept += 1
    return index[:kept]


@compiled
def _threshold(values: Any, most: int) -> float:
    """Return a number that at least, and nearly at most, so many of the values reach: by bisection."""
    low, high = 0.0, 0.0
    for c in range(values.size):
        high = max(high, values[c])
    for _ in range(50):
        middle, count = (low + high) / 2, 0
        for c in range(values.size):
            count += values[c] >= middle
        if count == most:
            return middle
        if count > most:
            low = middle
        else:
            high = middle
    return low


@compiled
def improve(
    part: Any,
    inverse: Any,
    index: Any,
    diagonal: Any,
    y: Any,
    low: Any,
    high: Any,
    z: Any,
    f: Any,
    tied: bool,
    eps: float,
) -> Any:
    """Solve the problem of some samples to violations of at most eps; return how z changed there.

    The part is their matrix, its inverse is returned too; the field f is not yet that of the new z.
    """
    m = index.size
    # One by one: rows of an array of six may have strides, for all that a compiler knows.
    squares, least, most = np.empty(m), np.empty(m), np.empty(m)
    own, e, steps = np.empty(m), np.empty(m), np.empty(m)
    for c in range(m):
        i = index[c]
        squares[c], least[c], most[c], own[c], e[c] = diagonal[i], low[i], high[i], z[i], f[i] + y[i]
    inverse = solve_part(part, inverse, squares, least, most, own, e, tied, eps)
    for c in range(m):
        i = index[c]
        steps[c], z[i] = own[c] - z[i], own[c]
    return steps, inverse


@compiled
def follow(rows: Any, where: Any, steps: Any, f: Any) -> None:
    """Bring the field up to date: add the rows ``where``, each times the step of its sample."""
    for a in range(0, f.size, _PIECE):
        add_rows(rows, where, steps, f[a : a + _PIECE], a)


@compiled
def gather(index: Any, where: Any, rows: Any, matrix: Any) -> None:
    """Copy the columns ``index`` of the rows ``where`` into the matrix."""
    for c in range(where.size):
        row, out = rows[where[c]], matrix[c]
        for d in range(index.size):
            out[d] = row[index[d]]
