"""Held-out decision values, who wins by them, and their losses, in compiled loops (import late)."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from .proper import CLOSE, FLAT, ROUNDS

_jit = numba.njit(nogil=True, cache=True, boundscheck=False, error_model="numpy", fastmath={"contract"})
# For sums that write nothing meanwhile: their order depends on the processor, and not on addresses.
_summed = numba.njit(
    nogil=True,
    cache=True,
    boundscheck=False,
    error_model="numpy",
    fastmath={"contract", "reassoc", "nsz", "arcp"},
)
_FAR = 80.0  # log-odds beyond which e^−|z| is nothing beside 1


@_jit
def least_losses(
    decision: Any, signs: Any, weight: Any, first: int, last: int, losses: Any, mass: Any
) -> None:
    """Write the least loss and the mass of the columns first to last, which are rows here."""
    n = weight.size
    f, target, own = np.empty(n), np.empty(n), np.empty(n)
    for j in range(first, last):
        m, total, positive = 0, 0.0, 0.0
        for i in range(n):
            if signs[j, i] != 0 and weight[i] != 0 and np.isfinite(decision[j, i]):
                f[m], target[m], own[m] = decision[j, i], signs[j, i], weight[i]
                total += own[m]
                positive += own[m] if target[m] > 0 else 0.0
                m += 1
        high, low = (positive + 1) / (positive + 2), 1 / (total - positive + 2)
        for i in range(m):
            target[i] = high if target[i] > 0 else low
        mass[j] = total
        losses[j] = 0.0
        if m > 0:
            _standardize(f, own, total, m)
            losses[j] = _platt_loss(f, target, own, total, m)


@_jit
def hinge_sums(decision: Any, signs: Any, weight: Any) -> Any:
    """Return Σ w max(0, 1 − y f) and Σ w over the columns, which are rows here, and samples that count."""
    loss, mass = 0.0, 0.0
    for j in range(len(decision)):
        for i in range(weight.size):
            if signs[j, i] != 0 and not np.isnan(decision[j, i]):
                loss += weight[i] * max(1 - signs[j, i] * decision[j, i], 0.0)
                mass += weight[i]
    return loss, mass


@_jit
def held_out_values(outside: Any, offset: Any, watched: Any, begins: Any, values: Any) -> None:
    """Write minus the scores of watched samples: a row for as many columns as there are lists of them."""
    lists = begins.size - 1
    for q in range(len(values)):
        for k in range(lists):
            for w in range(begins[k], begins[k + 1]):
                values[q, watched[w]] = -(outside[q, w] + offset[q * lists + k])


@_jit
def winners(decision: Any, n_classes: int) -> Any:
    """Return the class that wins most pairs, which are rows here, of every sample: ``OneVsOne.values``."""
    n, q = decision.shape[1], 0
    wins, lead, winner = np.zeros((n_classes, n)), np.zeros((n_classes, n)), np.zeros(n, np.int64)
    for a in range(n_classes):
        for b in range(a + 1, n_classes):
            for i in range(n):
                f = decision[q, i]
                lead[a, i] -= f
                lead[b, i] += f
                wins[a, i] += 0.0 if f > 0 else 1.0
                wins[b, i] += 1.0 if f > 0 else 0.0
            q += 1
    for a in range(n_classes):
        for i in range(n):
            wins[a, i] += lead[a, i] / (3 * (abs(lead[a, i]) + 1))
    for a in range(1, n_classes):
        for i in range(n):
            winner[i] = a if wins[a, i] > wins[winner[i], i] else winner[i]
    return winner


@_jit
def _standardize(f: Any, own: Any, total: float, m: int) -> None:
    mean, square = 0.0, 0.0
    for i in range(m):
        mean += own[i] * f[i] / total
    for i in range(m):
        f[i] -= mean
        square += own[i] * f[i] * f[i] / total
    if square > 0:
        for i in range(m):
            f[i] /= np.sqrt(square)


@_jit
def _platt_loss(f: Any, target: Any, own: Any, total: float, m: int) -> Any:
    """Return the least Σ mass (log(1 + e^z) − target z), z = a f + b, over a ≥ 0 and b, by Newton's method.

    A step that does not lower the sum is halved.
    """
    mean = 0.0
    for i in range(m):
        mean += own[i] * target[i] / total
    a, b, length = 0.0, np.log(mean / (1 - mean)), 1.0
    flat, ga, gb, haa, hab, hbb = _sums(f, target, own, m, a, b)
    least = flat
    for _ in range(ROUNDS):
        determinant = haa * hbb - hab * hab + (FLAT * total) ** 2
        to_a = a - length * (hbb * ga - hab * gb) / determinant
        to_b = b - length * (haa * gb - hab * ga) / determinant
        there = _sums(f, target, own, m, to_a, to_b)
        change = abs(least - there[0])
        if there[0] < least:
            a, b, length = to_a, to_b, 1.0
            least, ga, gb, haa, hab, hbb = there
        else:
            length /= 2
        if change <= CLOSE * total:
            break
    return least if a > 0 else flat


@_summed
def _sums(f: Any, target: Any, own: Any, m: int, a: float, b: float) -> Any:
    """Return the loss at a and b, its gradient and its second derivatives."""
    loss, ga, gb, haa, hab, hbb = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(m):
        z = a * f[i] + b
        e = _power(max(-abs(z), -_FAR))
        chance = (1.0 if z > 0 else e) / (1 + e)
        loss += own[i] * (_logarithm(e) + max(z, 0.0) - target[i] * z)
        rest, curve = own[i] * (chance - target[i]), own[i] * chance * (1 - chance)
        ga += rest * f[i]
        gb += rest
        haa += curve * f[i] * f[i]
        hab += curve * f[i]
        hbb += curve
    return loss, ga, gb, haa, hab, hbb


@_summed
def _power(x: float) -> Any:
    """Return e^x = (e^(x/256))^256 for −80 ≤ x ≤ 0, to some 1e-13.

    A series, as is that of the logarithm: a processor takes several samples at a time through it.
    """
    x = x / 256
    e = 1 + x / 8 * (1 + x / 9 * (1 + x / 10 * (1 + x / 11)))
    e = 1 + x / 4 * (1 + x / 5 * (1 + x / 6 * (1 + x / 7 * e)))
    e = 1 + x * (1 + x / 2 * (1 + x / 3 * e))
    e = (e * e) * (e * e)
    e = (e * e) * (e * e)
    e = (e * e) * (e * e)
    return (e * e) * (e * e)


@_summed
def _logarithm(e: float) -> Any:
    """Return log(1 + e) = 2 artanh(e / (2 + e)) for 0 ≤ e ≤ 1, to some 1e-15."""
    s = e / (2 + e)
    w = s * s
    t = 1 / 21 + w * (1 / 23 + w * (1 / 25 + w * (1 / 27 + w / 29)))
    t = 1 / 13 + w * (1 / 15 + w * (1 / 17 + w * (1 / 19 + w * t)))
    t = 1 / 5 + w * (1 / 7 + w * (1 / 9 + w * (1 / 11 + w * t)))
    return 2 * s * (1 + w * (1 / 3 + w * t))
