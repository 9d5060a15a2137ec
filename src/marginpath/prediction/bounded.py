"""Sums of Gaussians by products in float32, and how far they may be off.

Most labels do not depend on the last digits. Two matrix products and an exponential in float32 are quicker
than any sum that keeps its digits, and the bound tells which rows need that one.
"""

from __future__ import annotations

import numpy as np

from .. import parallel
from ..arrays import blocks

_UNIT = float(np.finfo(np.float32).eps) / 2  # the rounding of one operation
_TINY = 1e-37  # over what is lost where a float32 is too small to be normal
_ROWS, _VECTORS = 256, 1024  # of a block, which fits a core's cache
_ROUNDINGS = 16  # of an exponential and a coefficient


class BoundedSums:
    """Sums Σ_j coef[k, j] exp(−‖x − z_j‖²/(2σ²)) in float32, with a bound on what that changes.

    With u the unit of float32 and rows centred and in units of σ, an exponent ⟨x, z⟩ − ‖x‖²/2 − ‖z‖²/2 is off
    by at most δ = u (2d + 10) (‖x‖² + ‖z‖²)/2: d + 2 products, summed in any order, of numbers that were
    rounded once. Its exponential is off by e^δ − 1 + 16u of it, a sum over m of them by another mu of the
    sum of their sizes. What :class:`Gaussians` sums is off from the same truth, too: in float64 by 2⁻²⁹ of
    that, and in float32, where width and rows are rounded once more, by less than twice as much. The bound is
    on the difference of both.

    Parameters
    ----------
    vectors : ndarray (m, d)
        The samples z_j.
    sigma : float
    coef : ndarray (columns, m)

    Examples
    --------
    >>> sums = BoundedSums(np.array([[0.0], [1.0]]), 1.0, np.array([[1.0, -1.0]]))
    >>> value, bound = sums(np.array([[0.0]]))
    >>> bool(abs(value[0, 0] - (1 - np.exp(-0.5))) <= bound[0, 0] < 1e-4)
    True
    """

    def __init__(self, vectors: np.ndarray, sigma: float, coef: np.ndarray) -> None:
        m = len(vectors)
        self.dtype, self.sigma = vectors.dtype, sigma
        with np.errstate(all="ignore"):  # of what is not finite, the bound is not either
            # Where all vectors agree, a centre of what they have makes every product 0: it is left out.
            varied = np.any(vectors != vectors[0], axis=0)
            self.centre = np.where(varied, vectors.mean(axis=0, dtype=np.float64), vectors[0])
            self.kept = np.flatnonzero(varied)
            scaled = (vectors[:, varied] - self.centre[varied]) / sigma
            halves = np.einsum("ij,ij->i", scaled, scaled) / 2
            self.factors = np.concatenate([scaled.T, np.ones((1, m)), -halves[None]]).astype(np.float32)
            largest = np.abs(coef).max(axis=0)
            self.coef = np.concatenate([coef, largest[None]]).T.astype(np.float32)
        self.room = _ROWS * (len(self.factors) + min(m, _VECTORS))
        self.spare: list[np.ndarray] = []  # of threads that came before: to find memory takes long
        self.farthest, self.lost = float(halves.max()), _TINY * (m + float(largest.sum()))

    def __call__(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums (n, columns) and the bounds (n, 1), in blocks of rows that threads share."""
        out, halves = np.empty((len(X), self.coef.shape[1])), np.empty(len(X))

        def write(part: slice) -> None:
            memory = self.spare.pop() if self.spare else np.empty(self.room, np.float32)
            with np.errstate(all="ignore"):
                self._sum(X[part], memory, halves[part], out[part])
            self.spare.append(memory)

        parallel.for_each(write, [slice(*ends) for ends in blocks(len(X), _ROWS)], parallel=True)
        with np.errstate(all="ignore"):
            bound = self._share(halves) * out[:, -1] + self.lost
        return out[:, :-1].astype(self.dtype, copy=False), bound[:, None]

    def _sum(self, X: np.ndarray, memory: np.ndarray, halves: np.ndarray, out: np.ndarray) -> None:
        """Write ‖x‖²/2 of some rows, their sums, and those of their terms' sizes."""
        from .gaussian_compiled import scale_in_single

        d, m = self.factors.shape
        rows, room = memory[: len(X) * d].reshape(len(X), d), memory[len(X) * d :]
        X = np.require(X, np.float64, ["C", "W"])
        scale_in_single(X, self.kept, self.centre, self.sigma, rows, halves)
        out[...] = 0
        for a, b in blocks(m, _VECTORS):
            values = room[: len(X) * (b - a)].reshape(len(X), b - a)
            np.matmul(rows, self.factors[:, a:b], out=values)
            np.exp(values, out=values)
            out += values @ self.coef[a:b]

    def _share(self, halves: np.ndarray) -> np.ndarray:
        """Return by which share of the sum of the terms' sizes a row's sums may be off."""
        d, both = (len(self.kept), 1.01) if self.dtype == np.float64 else (len(self.centre), 3)
        m = min(_VECTORS, len(self.coef))
        off = np.expm1(_UNIT * (2 * d + 10) * (halves + self.farthest)) + (m + _ROUNDINGS) * _UNIT
        return np.asarray(both * off * (1 + off))  # the sum of the sizes is off by that share itself
