"""A kernel matrix of low rank, by landmarks: K̃ = C K_LL⁻¹ Cᵀ with C = k(X, L), kept as its features.

With K_LL = R Rᵀ the features are F = C R⁻ᵀ, and K̃ = F Fᵀ is the Nyström approximation: no larger than K, and
equal to it on the landmarks. A product costs two passes over F, as on any features.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array, as_floating, namespace, take_columns, take_rows
from ..kernels.functions import Kernel, as_kernel, squared_norms
from ..mapped import MEMORY, Room
from ..parallel import for_each
from .base import Gram
from .compensated import compensated_product
from .features import landmark_features, mean_of, rounded_features, row_blocks, squares_of
from .fingerprints import row_codes
from .linear import LinearCross, LinearGram
from .pivots import chosen_points
from .precision import as_precision
from .products import product, transposed_product
from .scaled import Scaled
from .tiled import kernel_diagonal


class LandmarkGram(LinearGram):
    """The kernel matrix as its landmarks see it; see :meth:`Gram.landmarks`.

    Attributes
    ----------
    chosen : array of int (m,)
        The rows that are landmarks. They may be fewer than asked for: those that the others determine, such
        as equal rows, are left out.
    trace_error : float
        tr(K − K̃) / tr(K) over all rows: 0 where nothing is lost.
    """

    rounded = None  # sweeps read X itself, in memory as in a file

    def __init__(
        self,
        X: Array,
        kernel: Kernel,
        chosen: np.ndarray,
        points: Array,
        root: Array,
        constant: float,
        precision: str | None = None,
        centred: bool = False,
        room: Room = MEMORY,
        features: Any = None,
    ) -> None:
        self.room = room
        self.kernel, self.constant, self._numbers = kernel, constant, as_precision(precision, X)
        self.chosen, self.points, self.root, self._noise = chosen, points, root, self._numbers.noise
        self._multiplied: tuple[Array, Array] | None = None
        if features is None:
            features = landmark_features(X, points, kernel, root, constant, self._numbers, room)
        trace = float(np.sum(kernel_diagonal(X, kernel)))
        self.trace_error = max(0.0, 1 - self._trace_of(features) / trace)
        self.mean = mean_of(features[:, : root.shape[1]]) if centred else None
        super().__init__(self._about_the_mean(features))

    def _trace_of(self, features: Any) -> float:
        """Return the sum of the squares of those by landmarks."""
        own = features[:, : self.root.shape[1]]
        return float(sum(squares_of(own[a:b, :]) for a, b in row_blocks(own)))

    def __matmul__(self, V: Array) -> Array:
        """Return F (Fᵀ V)."""
        W = self.transposed_times(V)
        if not isinstance(V, np.ndarray):
            self._multiplied = V, W
        return self.times(W)

    def times(self, W: Array) -> Array:
        """Return F W."""
        return super().times(W) if isinstance(W, np.ndarray) else self._numbers.times(self.X, W)

    def transposed_times(self, V: Array) -> Array:
        """Return Fᵀ V."""
        if isinstance(V, np.ndarray):
            return super().transposed_times(V)
        return self._numbers.transposed(self.X, V)

    def on_landmarks(self, V: Array, columns: np.ndarray | None = None) -> Array:
        """Return B, and b as its last row, with K̃ V = k(X, L) B + b: what f = K̃ V is, by the landmarks.

        Of all columns of V, or of some.

        Examples
        --------
        >>> import numpy as np, marginpath as mp
        >>> X = np.random.default_rng(0).standard_normal((50, 2))
        >>> gram = mp.Gram.landmarks(X, mp.Gaussian(1.0), 20)
        >>> V = np.ones((50, 1))
        >>> *B, b = gram.on_landmarks(V)
        >>> values = mp.Gaussian(1.0)(X, X[gram.chosen]) @ B + b
        >>> bool(np.allclose(values, gram @ V, atol=1e-4))
        True
        """
        if self._is_here:
            some = V if columns is None else take_columns(V, columns)
            W = transposed_product(self.X, some.astype(self.X.dtype))
        else:
            W = self._transposed(V)
            W = W if columns is None else take_columns(W, columns)
        return self.of_weights(W)

    def of_weights(self, W: Array) -> Array:
        """Return the same for W = Fᵀ V."""
        xp, m = namespace(self.root), self.root.shape[1]
        W = xp.astype(W, xp.float64)
        own, bias = W[:m, ...], self.constant**0.5 * xp.sum(W[m : m + 1, ...], axis=0)
        if self.mean is not None:
            bias = bias - xp.astype(self.mean, xp.float64) @ own
        return xp.concat([self.root @ own, bias[None, ...]])

    def _about_the_mean(self, features: Any) -> Any:
        """Take the mean of the samples' features off, where they are centred; in place."""
        if self.mean is not None:
            for a, b in row_blocks(features):
                features[a:b, : self.root.shape[1]] -= self.mean
        return features

    def _transposed(self, V: Array) -> Array:
        """Return Fᵀ V, which is known of what was multiplied last: a pass over F less."""
        if self._multiplied is not None:
            last, W = self._multiplied
            if last is V or (last.shape == V.shape and bool(namespace(V).all(last == V))):
                return W
        return self.transposed_times(V)

    def cross(self, Z: Array) -> LinearCross:
        """Return K̃ between new rows and the samples as an operator."""
        Z = as_floating(Z, "Z")
        features = landmark_features(Z, self.points, self.kernel, self.root, self.constant, self._numbers)
        return LinearCross(self._about_the_mean(features), self)


class RoundedLandmarkGram(LandmarkGram):
    """The same with features of 16 bits: half the memory, and half the time that reading them takes.

    The matrix is that of the rounded features, to the bit, and so is what is proved of it.
    """

    X: Scaled
    _is_here = True

    def _trace_of(self, features: Scaled) -> float:
        self.diagonal = _of_rows(features, squared_norms)
        return float(np.sum(self.diagonal, dtype=np.float64))

    @cached_property
    def features(self) -> np.ndarray:
        """The features in float32: a copy, which no path of solutions asks for."""
        return self.X[:]

    @property
    def by_rows(self) -> Scaled:
        """The features."""
        return self.X

    @property
    def _row_codes(self) -> np.ndarray:
        return _of_rows(self.X, row_codes)

    def rows(self, index: Array) -> Array:
        """Return the products of some rows with all."""
        return product(self.X, take_rows(self.X, index).T).T

    def _compensated(self, V: Array) -> np.ndarray:
        """Return Xᵀ V in float64; units, powers of 2, round nothing."""
        sums = compensated_product(self.X.numbers, V)
        return np.asarray((sums.T * self.X.units.astype(np.float64)).T)


def _of_rows(rows: Scaled, ask: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return what is asked of every row, of some rows at a time, which the threads share."""
    ends = row_blocks(rows.numbers)
    parts: list[Any] = [None] * len(ends)

    def look(number: int) -> None:
        parts[number] = ask(rows[slice(*ends[number])])

    for_each(look, range(len(ends)), parallel=len(ends) > 1)
    return np.concatenate(parts)


def landmark_observer(gram: Gram, columns: np.ndarray | None = None) -> dict[str, Callable[..., Array]]:
    """Return what a path on this matrix keeps of some columns to predict by: what they are on landmarks."""
    if gram.chosen is None:
        return {}
    approximate: Any = gram

    def coefficients(problem: Any, state: Any) -> Array:
        weights = state.weights(approximate)
        if weights is None:
            return -approximate.on_landmarks(problem.signed(state.u), columns)
        return -approximate.of_weights(weights if columns is None else take_columns(weights, columns))

    return {"landmark_coef": coefficients}


def landmark_gram(
    X: Array,
    kernel: str | Callable[..., Any],
    landmarks: int | np.ndarray,
    *,
    seed: int = 0,
    constant: float = 0.0,
    precision: str | None = None,
    centred: bool = False,
    room: Room = MEMORY,
    rounded: Room | None = None,
    **params: Any,
) -> LandmarkGram:
    """Return the kernel matrix by landmarks; see :meth:`Gram.landmarks`.

    Centred, it is that of features about their mean, plus the constant: with an intercept, a model is the
    same sum, and the largest eigenvalue, which limits a gradient step, is no longer that of the mean.
    Features that there is no room for in memory lie in a file; their bits are the same. With room for rounded
    ones, they are whole numbers of 16 bits times a unit for each, which is half the memory, and half the time
    to read them: of NumPy's, not centred, and without a constant, where rounding loses little.
    """
    X, kernel = as_floating(X, "X"), as_kernel(kernel, **params)
    points = chosen_points(X, kernel, landmarks, seed)
    settings = constant, precision, centred
    if rounded is not None and isinstance(points[-1], np.ndarray) and constant == 0 and not centred:
        features = rounded_features(X, points[1], kernel, points[2], rounded)
        if features is not None:
            return RoundedLandmarkGram(X, kernel, *points, *settings, rounded, features)
    return LandmarkGram(X, kernel, *points, *settings, room)
