"""Compiled loops over packed columns, and between them and whole ones (numba loads slowly: import late).

What is packed, and how, says ``packed.py``. A whole column is a row here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .part import compiled


@compiled
def collect(ends: Any, samples: Any, together: int, columns: Any, rows: Any, packed: Any) -> None:
    """Copy the numbers of own samples from a row for each of the columns."""
    for r in range(columns.size):
        q, c = columns[r] // together, columns[r] % together
        a, m = ends[q], ends[q + 1] - ends[q]
        for b in range(m):
            packed[together * a + c * m + b] = rows[r, samples[a + b]]


@compiled
def spread(ends: Any, samples: Any, signed: Any, together: int, columns: Any, packed: Any, rows: Any) -> None:
    """Copy the numbers of the samples that count into a row for each of the columns."""
    for r in range(columns.size):
        q, c = columns[r] // together, columns[r] % together
        a, m = ends[q], ends[q + 1] - ends[q]
        s = together * a + c * m
        for b in range(m):
            if signed[s + b] != 0:
                rows[r, samples[a + b]] = packed[s + b]


@compiled
def collect_watched(watched: Any, begins: Any, columns: Any, rows: Any, outside: Any) -> None:
    """Copy the numbers of watched samples from a row for each of the columns."""
    lists = begins.size - 1
    for r in range(columns.size):
        field, k = outside[columns[r] // lists], columns[r] % lists
        for w in range(begins[k], begins[k + 1]):
            field[w] = rows[r, watched[w]]


@compiled
def spread_watched(watched: Any, begins: Any, columns: Any, outside: Any, rows: Any) -> None:
    """Copy the numbers of watched samples into a row for each of the columns."""
    lists = begins.size - 1
    for r in range(columns.size):
        field, k = outside[columns[r] // lists], columns[r] % lists
        for w in range(begins[k], begins[k + 1]):
            rows[r, watched[w]] = field[w]


@compiled
def add_kinds(layout: Any, kinds: Any, sums: Any, first: int, last: int, fields: Any, outside: Any) -> None:
    """Write Σ_k kinds[k, j] sums[k], in the order of the kinds, for own and watched samples of columns j.

    The columns are those of the questions first to last.
    """
    ends, samples, _, together, watched, begins = layout
    lists, count = begins.size - 1, 0
    own, weights = np.empty(len(kinds), np.int64), np.empty(len(kinds))
    for q in range(first, last):
        a, m = ends[q], ends[q + 1] - ends[q]
        for c in range(together):
            j, s, count = q * together + c, together * a + c * m, 0
            for k in range(len(kinds)):
                if kinds[k, j] != 0:
                    own[count], weights[count] = k, kinds[k, j]
                    count += 1
            field, k = outside[j // lists], j % lists
            for b in range(m):
                fields[s + b] = 0.0
            for w in range(begins[k], begins[k + 1]):
                field[w] = 0.0
            for p in range(count):
                row, weight = sums[own[p]], weights[p]
                for b in range(m):
                    fields[s + b] += weight * row[samples[a + b]]
                for w in range(begins[k], begins[k + 1]):
                    field[w] += weight * row[watched[w]]


@compiled
def largest_first(signed: Any, ends: Any, together: int, fields: Any, scale: Any) -> float:
    """Return max y_i f_i s_j over the samples that count in their columns, s being the box scale."""
    largest = 0.0
    for q in range(ends.size - 1):
        a, m = ends[q], ends[q + 1] - ends[q]
        for c in range(together):
            j, s = q * together + c, together * a + c * m
            for b in range(m):
                if signed[s + b] != 0:
                    largest = max(largest, np.sign(signed[s + b]) * fields[s + b] * scale[j])
    return largest


@compiled
def is_any_at_bound(ends: Any, signed: Any, together: int, u: Any, bound: Any) -> bool:
    """Whether any sample is at the bound of its box."""
    for q in range(ends.size - 1):
        a, m = ends[q], ends[q + 1] - ends[q]
        for c in range(together):
            s = together * a + c * m
            for b in range(m):
                if signed[s + b] != 0 and u[s + b] == -bound[q * together + c] * abs(signed[s + b]):
                    return True
    return False
