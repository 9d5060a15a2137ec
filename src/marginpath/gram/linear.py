"""The matrix X Xᵀ, kept as X."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Array, as_floating, beside, blocks, device, namespace, take_rows, to_numpy, with_columns
from ..kernels.centred import CentredLinear
from ..kernels.functions import Linear, squared_norms
from ..mapped import MEMORY, Room, in_file
from ..parallel import for_each
from .base import SLACK, Enclosure, Gram, matching
from .compensated import compensated_product, relative_error
from .fingerprints import fingerprint, row_codes
from .products import product, transposed_product
from .scaled import Scaled, in_16_bits

_EPS = float(np.finfo(np.float64).eps)
_TINY = 4 * float(np.finfo(np.float64).smallest_subnormal)
_VERY_FEW = 4096  # rows, whose matrix takes 128 MB in float64
_ROWS = 128  # of a block that coordinate sweeps step through
#: Neighbours that come into the same block.
RUN = 16
_BLOCK, _DEVICE_BLOCK = 2**19, 2**26  # numbers that are made float64 at a time, here and elsewhere


class LinearGram(Gram):
    """The matrix X Xᵀ, kept as X: a product costs two passes over X."""

    space = "features"
    room: Room = MEMORY  #: where copies of features lie, and what sweeps need beside them
    row_rounding: float = 0.0  #: how far rows may be from those that certificates speak of, over their length

    def __init__(self, X: Array) -> None:
        self.X = X

    @property
    def features(self) -> Array:
        """X as an array."""
        return self.X

    @property
    def is_sparse(self) -> bool:
        """Whether X is a sparse matrix."""
        return bool(sp.issparse(self.X))

    @property
    def _is_here(self) -> bool:
        """Whether X are dense rows of NumPy."""
        return isinstance(self.X, np.ndarray)

    def in_double(self) -> LinearGram:
        """Return the matrix of X in float64."""
        gram = LinearGram(self._double)
        gram.room, gram.row_rounding = self.room, self.row_rounding
        return gram

    @property
    def _double(self) -> Array:
        X, xp = self.features, self.xp
        if isinstance(X, np.ndarray):
            return self.room.cast(X, np.float64)
        return X.astype(np.float64) if sp.issparse(X) else xp.astype(X, xp.float64, copy=False)

    @cached_property
    def diagonal(self) -> Array:
        """The squared norms of the rows, in float32 at least."""
        X = self.X
        if sp.issparse(X) or isinstance(X, np.ndarray):
            return squared_norms(X)
        xp, some = namespace(X), max(1, _DEVICE_BLOCK // max(X.shape[1], 1))
        wide = xp.result_type(X.dtype, xp.float32)
        parts = (xp.astype(X[a:b, :], wide, copy=False) for a, b in blocks(X.shape[0], some))
        return xp.concat([squared_norms(part) for part in parts])

    @cached_property
    def stored(self) -> Gram:
        """The same matrix as kernel values, which pay for few rows; of very few, in float64."""
        return Gram.from_kernel(self._double if self.X.shape[0] <= _VERY_FEW else self.features, Linear())

    @cached_property
    def roughly_stored(self) -> Gram:
        """The same in float32, but of very few rows: half the memory, and less time to read it."""
        if self.X.shape[0] <= _VERY_FEW or self.X.dtype == np.float32:
            return self.stored
        return Gram.from_kernel(self.features.astype(np.float32), Linear())

    @cached_property
    def by_rows(self) -> Scaled:
        """X, with the numbers of a row side by side: a copy where they are not."""
        return Scaled.of(np.ascontiguousarray(self.X))

    @cached_property
    def rounded(self) -> Scaled | None:
        """The same in 16 bits, for sweeps to read, where that changes little."""
        return in_16_bits(self.by_rows.numbers)

    @cached_property
    def interleaved(self) -> np.ndarray:
        """The Gram matrices of blocks of dense rows: see :func:`interleaved_blocks`."""
        return interleaved_blocks(self.by_rows, self.room)

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """That of the samples with the linear kernel."""
        return fingerprint(self._row_codes, self.X.shape[1], Linear(), self.rows)

    @property
    def _row_codes(self) -> np.ndarray:
        return row_codes(self.X)

    def __matmul__(self, V: Array) -> Array:
        """Return X (Xᵀ V)."""
        return self.times(self.transposed_times(V))

    def times(self, W: Array) -> Array:
        """Return X W."""
        return product(self.X, W) if self._is_here else self.X @ W

    def transposed_times(self, V: Array) -> Array:
        """Return Xᵀ V."""
        return transposed_product(self.X, V) if self._is_here else self.X.T @ V

    def _operator(self, root: np.ndarray) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
        """Return v → XᵀW X v where there are fewer features than rows: as many eigenvalues that are not 0."""
        return feature_operator(self, root, self.X.shape) or super()._operator(root)

    def rows(self, index: Array) -> Array:
        """Return X[index] Xᵀ."""
        return Linear()(take_rows(self.X, index), self.X)

    def block(self, index: Array) -> Array:
        """Return the products of these rows with each other."""
        X = take_rows(self.X, index)
        return Linear()(X, X)

    @cached_property
    def roots(self) -> np.ndarray:
        """‖x_i‖, rounded up, in float64; rows are scaled, so that nothing under- or overflows."""
        if self._stays:
            return to_numpy(self.roots_there)
        out = np.empty(self.X.shape[0])

        def write(rows: slice, part: Any, exponent: np.ndarray) -> None:
            with np.errstate(over="ignore"):
                out[rows] = np.ldexp(_norms(part), exponent)

        self._for_parts(write)
        return out * (1 + 2 * self.row_rounding)

    @cached_property
    def roots_there(self) -> Array | None:  # type: ignore[override]
        """The same where X is, unless that is NumPy, or X is in float64, whose squares may overflow."""
        if not self._stays:
            return None
        return self.xp.concat([_rounded_up_norms(part) for part in self._parts_there()])

    @cached_property
    def _stays(self) -> bool:
        here = self._is_here or sp.issparse(self.X)
        return not here and bool(self.dtype == self.xp.float32)

    def length(self, V: Array) -> np.ndarray:
        """Return ``Σ_i ‖x_i‖ |V_i|`` per column, rounded up."""
        return (
            super().length(V)
            if isinstance(V, np.ndarray)
            else np.asarray(SLACK * to_numpy(self.roots_there @ abs(V)))
        )

    @property
    def resolution(self) -> float:
        """0: X Xᵀ is what X says it is."""
        return 0.0

    @property
    def numbers(self) -> int:
        """The non-zeros of X, twice."""
        return 2 * int(self.X.nnz if sp.issparse(self.X) else self.X.shape[0] * self.X.shape[1])

    def accurate_product(self, V: Array) -> Array:
        """Return X (Xᵀ V) in float64."""
        w = self._compensated(V)
        return product(self.X, w) if self._is_here else self._double @ w

    def _compensated(self, V: Array) -> Array:
        """Return Xᵀ V in float64."""
        return compensated_product(self.X, V)

    def product_with_error(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return those of :meth:`enclose`."""
        return self.enclose(V)[:2]

    def enclose(self, V: Array) -> Enclosure:
        """Return X w and ‖w‖ for a compensated w = Xᵀ V.

        w is off by ``lost`` in norm at most, ⟨x_i, w⟩ by ‖x_i‖ times that, beside the rounding of its sum and
        that of x_i.
        """
        w = to_numpy(self._compensated(self.xp.asarray(V, device=self.device)))
        lost = (relative_error(V.shape[0]) + self.row_rounding) * self.length(V)
        spread = lost + ((self.X.shape[1] + 2) * _EPS + self.row_rounding) * norm_bounds(w, lost)[1]
        if not isinstance(V, np.ndarray):
            there, roots, xp = beside(w, V), self.roots_there, self.xp
            assert roots is not None
            scores = xp.concat([part @ there for part in self._parts_there()])
            error = roots[:, None] * beside(spread, V)[None, :] + _TINY
            return Enclosure(scores, error, *norm_bounds(w, lost))
        products, errors = np.empty(V.shape), np.empty(V.shape)

        def write(rows: slice, part: Any, exponent: np.ndarray) -> None:
            products[rows] = np.ldexp(_scores(part, w), exponent[:, None])
            errors[rows] = np.ldexp(np.outer(_norms(part), spread), exponent[:, None]) + _TINY

        self._for_parts(write)
        return Enclosure(products, errors, *norm_bounds(w, lost))

    def _parts_there(self) -> Iterator[Array]:
        """Yield X in blocks of rows, in float64, where it is."""
        xp = self.xp
        for rows in self._slices(_DEVICE_BLOCK):
            yield xp.astype(self.X[rows, :], xp.float64)

    def _for_parts(self, task: Callable[[slice, Any, np.ndarray], None]) -> None:
        """Call the task, in threads, with blocks of rows in float64, scaled to entries of about 1.

        It takes which rows they are, the rows, and their exponents. Numbers in float32 need no scaling.
        """
        wide = self.dtype == self.xp.float64

        def call(rows: slice) -> None:
            part = self.X[rows, :]
            part = part.astype(np.float64) if sp.issparse(part) else to_numpy(part).astype(np.float64)
            task(rows, *(_scaled(part) if wide else (part, np.zeros(part.shape[0], dtype=int))))

        slices = self._slices(_BLOCK)
        for_each(call, slices, parallel=len(slices) > 1)

    def _slices(self, room: int) -> list[slice]:
        return [slice(a, b) for a, b in self._ends(room)]

    def _ends(self, room: int) -> Iterator[tuple[int, int]]:
        """Cut the rows into blocks of so many numbers."""
        n, d = self.X.shape
        width = -(-self.X.nnz // n) if sp.issparse(self.X) else d
        return blocks(n, max(1, room // max(width, 1)))

    def cross(self, Z: Array) -> LinearCross:
        """Return Z Xᵀ as an operator."""
        return LinearCross(matching(as_floating(Z, "Z"), self.X.shape[1], "features"), self)


class LinearCross:
    """The matrix Z Xᵀ between new rows Z and the samples, kept as its two factors."""

    def __init__(self, Z: Array, gram: LinearGram) -> None:
        self.Z, self.gram = Z, gram

    def __matmul__(self, V: Array) -> Array:
        """Return Z Xᵀ V."""
        return self.Z @ self.gram.transposed_times(V)


def linear_gram(X: Array, kernel: Any, constant: float = 0.0) -> LinearGram:
    """Return the matrix of a linear kernel, plus a constant, about 0 or another centre.

    Examples
    --------
    >>> linear_gram(np.array([[1.0], [2.0]]), Linear(), constant=4.0).X
    array([[1., 2.],
           [2., 2.]])
    """
    if kernel.centre is not None:
        return centred_gram(X, kernel, constant)
    return Gram.linear(with_columns(X, constant**0.5) if constant else X)


def centred_gram(X: np.ndarray, kernel: CentredLinear, constant: float = 0.0) -> LinearGram:
    """Return the matrix of that kernel, plus a constant: of a copy of X, in a file where X is in one.

    The differences are rounded; certificates are of those that are not, and so of X, wherever 0 is.

    Examples
    --------
    >>> centred_gram(np.array([[999.0], [1001.0]]), CentredLinear(np.array([1000.0]))).X
    array([[-1.],
           [ 1.]])
    """
    n, d = X.shape
    room = Room(0.0, "Set TMPDIR to a folder on a disk that has room.") if in_file(X) else MEMORY
    rows = room.zeros((n, d + (constant > 0)), X.dtype, "A copy of the features about their mean")
    rows[:, d:] = constant**0.5
    for a, b in blocks(n, max(1, _BLOCK // d)):
        rows[a:b, :d] = kernel.about(X[a:b])
    gram = LinearGram(rows)
    gram.row_rounding = float(np.finfo(X.dtype).eps) / 2
    return gram


def feature_operator(
    gram: Any, root: np.ndarray, shape: tuple[int, ...]
) -> tuple[Callable[[np.ndarray], np.ndarray], int] | None:
    """Return v → XᵀW X v for weights with these roots, and the length of v; None unless rows are more.

    ``gram`` takes products with X and Xᵀ.
    """
    if shape[1] >= shape[0]:
        return None
    weights = root**2

    def multiply(v: np.ndarray) -> np.ndarray:
        scores = gram.times(gram.xp.asarray(v, dtype=gram.dtype, device=gram.device))
        if weights.ndim:
            scores = scores * gram.xp.asarray(weights, dtype=gram.dtype, device=gram.device)
        return to_numpy(gram.transposed_times(scores)).astype(np.float64)

    return multiply, shape[1]


def interleaved_blocks(X: np.ndarray | Scaled, room: Room = MEMORY) -> np.ndarray:
    """Return the Gram matrices of m blocks of rows, of so many that they take no more memory than X.

    A block has every m-th run of :data:`RUN` rows: rows far apart, as neighbours are often alike, and yet
    few to find in memory. Where blocks have fewer rows than others, the last rows and columns are 0.

    Examples
    --------
    >>> interleaved_blocks(np.array([[1.0], [2.0], [3.0]])).tolist()
    [[[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]]]
    """
    n, runs = len(X), -(-len(X) // RUN)
    m = max(1, -(-runs * RUN // (_ROWS if X.shape[1] >= _ROWS else _ROWS // 2)))
    size = min(n, -(-runs // m) * RUN)
    blocks = room.zeros((m, size, size), X.dtype, "The file of the blocks of features")

    def multiply(c: int) -> None:
        rows = X[interleaved_rows(n, m, c)]
        blocks[c, : len(rows), : len(rows)] = rows @ rows.T

    for_each(multiply, range(m), parallel=m > 1)
    return blocks


def interleaved_rows(n: int, m: int, c: int) -> np.ndarray:
    """Return which of n rows are in block c of m.

    Examples
    --------
    >>> first, second = interleaved_rows(40, 2, 0), interleaved_rows(40, 2, 1)
    >>> [int(i) for i in first[[0, 15, 16, -1]]], [int(i) for i in second[[0, -1]]]
    ([0, 15, 32, 39], [16, 31])
    """
    rows = (np.arange(c * RUN, n, m * RUN)[:, None] + np.arange(RUN)).ravel()
    return rows[rows < n]


def norm_bounds(w: np.ndarray, lost: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds on the norm, per column, of what is off by ``lost`` at most; tiny squares underflow."""
    norm = np.sqrt(np.sum(w * w, axis=0))
    rounding = (len(w) + 4) * _EPS * norm + lost + 1e-150
    return np.maximum(norm - rounding, 0), norm + rounding


def _scaled(part: Any) -> tuple[Any, np.ndarray]:
    """Return rows by powers of 2 that bring their largest entries to about 1, and the exponents."""
    if sp.issparse(part):
        exponent = np.frexp(np.asarray(abs(part).max(axis=1).todense()).ravel())[1]
        part.data = np.ldexp(part.data, -np.repeat(exponent, np.diff(part.indptr)))
        return part, exponent
    exponent = np.frexp(np.abs(part).max(axis=1))[1]
    return np.ldexp(part, -exponent[:, None]), exponent


def _scores(part: Any, w: np.ndarray) -> np.ndarray:
    """Return the products of rows with w."""
    if isinstance(part, np.ndarray):
        return product(part, w)
    return part @ w if sp.issparse(part) else to_numpy(part @ namespace(part).asarray(w, device=device(part)))


def _norms(part: Any) -> np.ndarray:
    """Return the norms of scaled rows, rounded up."""
    return to_numpy(_rounded_up_norms(part))


def _rounded_up_norms(part: Any) -> Array:
    """Do the same where they are."""
    squares = squared_norms(part)
    return namespace(squares).sqrt(squares) * (1 + (part.shape[1] + 4) * _EPS)
