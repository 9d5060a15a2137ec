"""A kernel matrix that is never stored, on a GPU; where the samples do not fit there, they are streamed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ..arrays import Array, as_floating, blocks, device, namespace, take_rows
from ..kernels.functions import Biased, Gaussian, Kernel, as_kernel
from . import fused
from .base import Gram
from .fingerprints import fingerprint, row_codes
from .gpu import is_out_of_memory, torch_device
from .precision import as_precision
from .tiled import kernel_product, kernel_roots, kernel_rounding, sides_of

_DIAGONAL = 256


class Tiles(Protocol):
    """How kernel values times columns are computed from two sets of samples."""

    def prepare(self, X: Array) -> Any:
        """Return the samples as :meth:`multiply` takes them."""
        ...

    def multiply(self, left: Any, right: Any, V: Array) -> Array:
        """Return k(left, right) V."""
        ...


class PlainTiles:
    """Any kernel: blocks of rows of at most so many bytes, in the dtype of the samples."""

    def __init__(self, kernel: Kernel, room: int) -> None:
        self.kernel, self.room = kernel, room

    def prepare(self, X: Array) -> Array:
        """Return the samples as they are."""
        return X

    def multiply(self, left: Array, right: Array, V: Array) -> Array:
        """Return the products of the blocks; they are summed in the dtype of V."""
        xp, n = namespace(V), left.shape[0]
        rows = max(1, self.room // (4 * int(xp.finfo(V.dtype).bits) // 8 * right.shape[0]))
        left, right, block = sides_of(self.kernel, left, right)
        parts = [xp.astype(block(left[a:b, :], right), V.dtype, copy=False) @ V for a, b in blocks(n, rows)]
        return parts[0] if len(parts) == 1 else xp.concat(parts)


class FusedTiles:
    """The Gaussian kernel, with a constant or without, in one pass; see :mod:`marginpath.gram.fused`."""

    def __init__(self, kernel: Gaussian, constant: float, centre: Array, precision: str) -> None:
        self.kernel, self.constant, self.centre, self.precision = kernel, constant, centre, precision

    def prepare(self, X: Array) -> fused.Samples:
        """Return the samples, centred and rounded."""
        return fused.prepare(X, self.centre, self.kernel.sigma, self.precision)

    def multiply(self, left: fused.Samples, right: fused.Samples, V: Array) -> Array:
        """Return the fused product."""
        product = fused.product(left, right, V, self.kernel.sigma)
        return product + self.constant * namespace(V).sum(V, axis=0) if self.constant else product


class DeviceTiledGram(Gram):
    """The kernel matrix of X, computed in every product by a GPU.

    Parameters
    ----------
    X : array (n, d)
        Samples on the GPU; with ``device``, a NumPy array, in memory or mapped from a file.
    kernel : Kernel, str or callable
        As in :meth:`Gram.from_kernel`; a callable is trusted to be positive semi-definite.
    precision : {None, "float32", "tf32", "bfloat16"}
        "tf32" and "bfloat16" round the samples, to 11 and 8 significant bits, and multiply them on the matrix
        units; with a Gaussian kernel, in one fused pass, unless that moves a sample by over σ/16 (kernel
        values by up to 0.08): such products stay in float32. Certificates take the samples as they are.
    device : str, optional
        Where to compute what a NumPy array holds, such as "cuda".
    rows : int, optional
        Stream so many samples at a time; None takes them all to the GPU.
    room : int
        Bytes for a block of kernel values, where the product is not fused.

    Examples
    --------
    >>> import array_api_strict as xp, marginpath as mp
    >>> X = xp.asarray([[0.0], [1.0], [3.0]])
    >>> DeviceTiledGram(X, mp.Gaussian(1.0)) @ xp.ones(3)
    Array([1.61763966, 1.74186594, 1.14644428], dtype=array_api_strict.float64)
    """

    def __init__(
        self,
        X: Array,
        kernel: str | Callable[..., Any],
        *,
        precision: str | None = None,
        device: str | None = None,
        rows: int | None = None,
        room: int = 2**31,
        **params: Any,
    ) -> None:
        self.kernel: Any = as_kernel(kernel, **params)
        X = as_floating(X, "X")
        self._n, self._d = X.shape
        self.rows_at_a_time = rows or self._n
        self._fetch = _mover(X, device)
        probe = self._fetch(0, 1)
        numbers = as_precision(precision, probe)
        self._X, self._numbers = X, numbers
        self._probe = numbers.samples(probe)
        if self.rows_at_a_time >= self._n:
            self._whole = numbers.samples(self._fetch(0, self._n))
        plain = PlainTiles(self.kernel, room)
        self._accurate, self._tiles = plain, self._fused_tiles() or plain
        self._prepared: dict[int, Any] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self._n, self._n

    @property
    def dtype(self) -> Any:
        """Floating-point type of the products."""
        return self._probe.dtype

    @property
    def xp(self) -> Any:
        """Array-API namespace of the products."""
        return namespace(self._probe)

    @property
    def device(self) -> Any:
        """Where products are computed."""
        return device(self._probe)

    @property
    def fused(self) -> bool:
        """Whether products take one pass."""
        return self._tiles is not self._accurate

    @cached_property
    def diagonal(self) -> Array:
        """The values k(x_i, x_i)."""
        if hasattr(self.kernel, "diagonal"):
            parts = [self.kernel.diagonal(self._part(a, b)) for a, b in blocks(self._n, self.rows_at_a_time)]
        else:
            parts = [self._corner(a, b) for a, b in blocks(self._n, _DIAGONAL)]
        return self.xp.concat(parts)

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """That of the samples, in the dtype in which kernel values are computed, and the kernel."""
        parts = [row_codes(self._part(a, b)) for a, b in blocks(self._n, self.rows_at_a_time)]
        rounded = self._numbers.name if self._numbers.product_rounding else None
        return fingerprint(np.concatenate(parts), self._d, self.kernel, self.rows, rounded)

    def __matmul__(self, V: Array) -> Array:
        """Return K V."""
        return self._product(self._tiles, V)

    def accurate_product(self, V: Array) -> Array:
        """Return K V from kernel values of the samples as they are, with float64 sums."""
        return self._product(self._accurate, self.xp.astype(V, self.xp.float64))

    @property
    def numbers(self) -> int:
        """The terms of all distances."""
        return int(self._n**2 * (self._d + 16))

    @cached_property
    def roots(self) -> np.ndarray:
        """√k(x_i, x_i), rounded up, in float64."""
        return kernel_roots(self.kernel, self._double, self._n)

    def product_with_error(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return K V for the kernel of the samples as they are, in float64, where V is not zero."""
        product = kernel_product(self.kernel, self._double, V)
        return product, np.outer(self.roots, kernel_rounding(self._n, self._d) * self.length(V))

    def _double(self, index: Any) -> Array:
        """Return some of the samples in float64, where products are computed."""
        some = self._moved(take_rows(self._X, index))
        return self.xp.astype(some, self.xp.float64, copy=False)

    def rows(self, index: Array) -> Array:
        """Return the rows K[index, :]."""
        some = self._numbers.samples(self._moved(take_rows(self._X, index)))
        parts = [self.kernel(some, self._part(a, b)) for a, b in blocks(self._n, self.rows_at_a_time)]
        return self.xp.concat(parts, axis=1)

    def cross(self, Z: Array) -> DeviceCross:
        """Return the kernel values between new rows and the samples, as an operator."""
        Z = as_floating(Z, "Z")
        if Z.shape[1] != self._d:
            raise ValueError(f"Z has {Z.shape[1]} columns, but {self._d} features are needed.")
        return DeviceCross(self, self._numbers.samples(self._moved(Z)))

    def multiply_rows(self, Z: Array, V: Array) -> Array:
        """Return k(Z, X) V."""
        return self._sum(self._tiles, self._tiles.prepare(Z), V)

    def _product(self, tiles: Tiles, V: Array) -> Array:
        columns, step = V if V.ndim == 2 else V[:, None], self.rows_at_a_time
        try:
            parts = [self._sum(tiles, self._ready(tiles, a, b), columns, a) for a, b in blocks(self._n, step)]
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            raise MemoryError(
                f"Tiles of {step:,} samples and {columns.shape[1]} columns do not fit into the memory left "
                f"on the GPU. Pass a smaller rows= or room=, fewer columns, or precision='bfloat16'."
            ) from error
        product = parts[0] if len(parts) == 1 else self.xp.concat(parts)
        return product if V.ndim == 2 else product[:, 0]

    def _sum(self, tiles: Tiles, left: Any, V: Array, start: int = -1) -> Array:
        """Return k(left, X) V, over the samples that are there at a time; ``left`` may be those at start."""
        parts = (
            tiles.multiply(left, left if c == start else self._ready(tiles, c, e), V[c:e, :])
            for c, e in blocks(self._n, self.rows_at_a_time)
        )
        return sum(parts, start=next(parts))

    def _part(self, a: int, b: int) -> Array:
        """Return some samples, on the GPU."""
        if self.rows_at_a_time >= self._n:
            return self._whole[a:b, :]
        return self._numbers.samples(self._fetch(a, b))

    def _ready(self, tiles: Tiles, a: int, b: int) -> Any:
        """Return some samples as the tiles take them; all of them are made ready once."""
        if self.rows_at_a_time < self._n:
            return tiles.prepare(self._part(a, b))
        if id(tiles) not in self._prepared:
            self._prepared[id(tiles)] = tiles.prepare(self._whole)
        return self._prepared[id(tiles)]

    def _moved(self, values: Array) -> Array:
        return self.xp.asarray(values, device=self.device)

    def _corner(self, a: int, b: int) -> Array:
        part = self._part(a, b)
        return self.xp.linalg.diagonal(self.kernel(part, part))

    def _fused_tiles(self) -> FusedTiles | None:
        biased = isinstance(self.kernel, Biased)
        kernel: Any = self.kernel.kernel if biased else self.kernel
        constant, name = float(self.kernel.constant) if biased else 0.0, self._numbers.name
        if not isinstance(kernel, Gaussian) or name is None or not fused.available(self._probe, name):
            return None
        xp, spans = self.xp, list(blocks(self._n, self.rows_at_a_time))
        sums = [xp.sum(self._part(a, b), axis=0, dtype=xp.float64) for a, b in spans]
        centre = xp.astype(sum(sums[1:], start=sums[0]) / self._n, self.dtype)
        norms = (xp.linalg.vector_norm(self._part(a, b) - centre, axis=1) for a, b in spans)
        if not fused.rounds_finely(max(float(xp.max(part)) for part in norms), kernel.sigma, name):
            return None
        return FusedTiles(kernel, constant, centre, name)


class DeviceCross:
    """Kernel values between new rows and the samples of a Gram matrix, never stored."""

    def __init__(self, gram: DeviceTiledGram, Z: Array) -> None:
        self.gram, self.Z = gram, Z

    def __matmul__(self, V: Array) -> Array:
        """Return k(Z, X) V."""
        product = self.gram.multiply_rows(self.Z, V if V.ndim == 2 else V[:, None])
        return product if V.ndim == 2 else product[:, 0]


def _mover(X: Array, name: str | None) -> Callable[[int, int], Array]:
    """Return what takes samples a … b to the device."""
    if name is None:
        return lambda a, b: X[a:b, :]
    torch, place = torch_device(name)
    return lambda a, b: torch.asarray(X[a:b, :], device=place)
