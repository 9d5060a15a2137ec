"""Systems with one principal submatrix after another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_solve, lapack, solve_triangular

from ..arrays import blocks
from ..gram.dense import principal

_EPS = float(np.finfo(np.float64).eps)
_SMALL, _PANEL = 4096, 256  # rows of a matrix that is factored at once, and of a panel of a larger one
_NEAR = 16  # a factor serves while one row in so many has changed: about half the work of a new one


def cholesky(M: np.ndarray, check: Callable[[], None]) -> np.ndarray | None:
    """Return the lower Cholesky factor, made in place; None where M is not positive definite.

    A large one goes by panels, with a check between two of them. What is above the diagonal means nothing.

    Examples
    --------
    >>> np.tril(cholesky(np.array([[4.0, 2.0], [2.0, 2.0]], order="F"), lambda: None))
    array([[2., 0.],
           [1., 1.]])
    """
    size = _PANEL if len(M) > _SMALL else max(1, len(M))
    for a, b in blocks(len(M), size):
        check()
        if a:
            M[a:, a:b] -= M[a:, :a] @ M[a:b, :a].T
        corner, failed = lapack.dpotrf(M[a:b, a:b], lower=True, clean=True)
        if failed:
            return None
        M[a:b, a:b] = corner
        if b < len(M):
            M[b:, a:b] = solve_triangular(corner, M[b:, a:b].T, lower=True, check_finite=False).T
    return M


class PrincipalSystems:
    """Solve M_SS z_S = h_S, with z = 0 elsewhere, for one set S after another; M = A + diag(E).

    A factor for a set O serves for the sets near it. Let T be the rows that came and R those that went. In

        M_OO z_O + M_OT z_T + μ = h_O,   M_TO z_O + M_TT z_T = h_T,   z_R = 0,   μ = 0 outside R,

    elimination of z_O leaves |T| + |R| equations for z_T and μ_R.

    ``check`` is called now and then; it may raise to end a long factorization.

    Examples
    --------
    >>> systems = PrincipalSystems(np.array([[3.0, 2.0], [2.0, 4.0]]), np.ones(2), np.array([4.0, 7.0]))
    >>> z, residual = systems.solve(np.array([True, False]))
    >>> z, residual
    (array([1., 0.]), array([0., 5.]))
    """

    def __init__(
        self, A: np.ndarray, E: np.ndarray, h: np.ndarray, check: Callable[[], None] = lambda: None
    ) -> None:
        self.A, self.E, self.h, self.check = A, E, h, check
        self.root, self.factored = np.sqrt(np.diag(A)), np.zeros(len(h), dtype=bool)

    def solve(self, S: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return z and h − M z by a new Cholesky factor, None where M_SS is not positive definite."""
        index = np.flatnonzero(S)
        M = principal(self.A, index)
        M.flat[:: len(index) + 1] += self.E[index]
        factor = cholesky(M.T, self.check)
        if factor is None:
            return None
        self.factored, self.old, self.factor = S, index, factor
        z = np.zeros_like(self.h)
        z[index] = self._solved(self.h[index])
        return z, self._residual(z)

    def update(self, S: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return z and h − M z by the last factor, None where S is not near or the residual too large."""
        came, went = np.flatnonzero(S & ~self.factored), np.flatnonzero(self.factored & ~S)
        if not 0 < _NEAR * (len(came) + len(went)) < np.count_nonzero(self.factored):
            return None
        old, new = self.old, len(came)
        F = np.concatenate([self.A[np.ix_(old, came)], old[:, None] == went], axis=1)
        X = self._solved(F)
        C = -F.T @ X
        C[:new, :new] += self.A[np.ix_(came, came)] + np.diag(self.E[came])
        z, r = np.zeros_like(self.h), self.h
        for _ in range(2):  # the second time for what rounding left
            x, g = self._solved(r[old]), np.concatenate([r[came], np.zeros(len(went))])
            s = lapack.dgesv(C, g - F.T @ x)[2]
            z[old] += x - X @ s
            z[came] += s[:new]
            z[went] = 0
            r = self._residual(z)
            if np.all(np.abs(r[S]) <= self.noise(z)[S]):
                return z, r
        return None

    def noise(self, z: np.ndarray) -> np.ndarray:
        """Return what rounding may leave of the residual h − M z."""
        return np.asarray(4 * _EPS * self.root * (self.root @ np.abs(z)))

    def _solved(self, B: np.ndarray) -> np.ndarray:
        return np.asarray(cho_solve((self.factor, True), B, check_finite=False))

    def _residual(self, z: np.ndarray) -> np.ndarray:
        return np.asarray(self.h - self.A @ z - self.E * z)
