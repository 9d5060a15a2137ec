"""Columns of few samples for which pair steps take too long: Newton's method on all of these samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from .few_desk import cleared, desk_for
from .few_samples import closeness, copy_row, enter, leave, open_ends
from .newton import no_inverse
from .part import Part, compiled
from .steps import solve_part

_CLOSER = 0.1  # of the violation may be left until the gap is looked at again
_ROUNDS = 20  # of that, after which rounding is all that is left


@compiled
def finish_few(few: Any, duals: Any, asked: Any, solved: Any) -> None:
    """Bring the columns that are not solved to their solutions, from where pair steps left them."""
    for q in range(few.ends.size - 1):
        left = False
        for c in range(few.together):
            left = left or not solved[q * few.together + c]
        if left:
            own = cleared(desk_for(few, q, q + 1), few, q)
            a, m = few.ends[q], few.ends[q + 1] - few.ends[q]
            for i in range(m):
                own.known[i] = True
                copy_row(own.inside, few.rows, few.samples, a, m, i)
            for c in range(few.together):
                j = q * few.together + c
                if not solved[j]:
                    enter(own, few, q, c, duals.u, duals.fields, (duals.bound[j], duals.bound[j]))
                    duals.offset[j], factor = _finish(own, few, m, asked)
                    leave(own, few, q, c, (1.0, factor), duals)
                    solved[j] = True


@compiled
def _finish(desk: Any, few: Any, m: int, asked: Any) -> Any:
    """Solve a column; return its offset and a factor for z and f."""
    y, z, f = desk.y[:m], desk.z[:m], desk.f[:m]
    part, inverse = Part(np.arange(m), few.rows, desk.inside, desk.known), no_inverse()
    open_ends(desk)
    beta, violation, gap, scale, factor, _ = closeness(desk)
    rounds = 0
    while gap > asked.tol * scale and rounds < _ROUNDS:
        e = f + y
        eps = _CLOSER * violation
        inverse = solve_part(part, inverse, desk.squares[:m], desk.low[:m], desk.high[:m], z, e, True, eps)
        for b in range(m):
            f[b] = e[b] - y[b] if desk.low[b] < desk.high[b] else 0.0
        open_ends(desk)
        beta, violation, gap, scale, factor, _ = closeness(desk)
        rounds += 1
    if gap > asked.tol * scale:
        factor = 1.0
    return factor * beta, factor
