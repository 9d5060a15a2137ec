"""Precision on a GPU: what is rounded in a stored kernel matrix, and how it is multiplied."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import Any

import array_api_compat
import numpy as np

from ..arrays import Array, all_finite, namespace

_COLUMNS = 64  # matrix products of few columns are as fast as memory from a multiple of this on


class Precision:
    """Numbers as the samples have them: nothing is rounded beyond their dtype.

    Attributes
    ----------
    name : str or None
        What users call it.
    rounding : float
        Largest relative rounding of a stored entry beyond float32.
    product_rounding : float
        The same for a term of :meth:`product`.
    noise : float
        Unit roundoff of :meth:`careful`; 0 where it is that of the dtype.
    """

    name: str | None = None
    rounding: float = 0.0
    product_rounding: float = 0.0
    noise: float = 0.0

    def samples(self, X: Array) -> Array:
        """Return the samples in the dtype in which the kernel is computed."""
        return X

    def storage(self, X: Array) -> Any:
        """Return the dtype of the stored matrix."""
        return X.dtype

    def widen(self, entries: Array) -> Array:
        """Return stored entries in the dtype of the samples."""
        return entries

    def product(self, K: Array, V: Array) -> Array:
        """Return K V for the symmetric matrix K."""
        return K @ V

    def careful(self, K: Array, V: Array) -> Array:
        """Return K V as accurately as the stored matrix allows at the same speed for one column."""
        return self.product(K, V)

    def transposed(self, F: Array, V: Array) -> Array:
        """Return Fᵀ V for features F."""
        return F.T @ V

    def times(self, F: Array, W: Array) -> Array:
        """Return F W for features F."""
        return F @ W

    def multiplying(self) -> AbstractContextManager[None]:
        """Return within what plain products of matrices are of this precision."""
        return nullcontext()


class Float32(Precision):
    """float32 throughout."""

    name = "float32"

    def samples(self, X: Array) -> Array:
        """Return the samples in float32."""
        xp = namespace(X)
        return xp.astype(X, xp.float32, copy=False)


class TF32(Float32):
    """A float32 matrix, multiplied with operands of 11 significant bits and float32 sums."""

    name = "tf32"
    product_rounding = 2.0**-10  # half of it by each operand

    def product(self, K: Array, V: Array) -> Array:
        """Return K V as (Vᵀ K)ᵀ, which reads K in the order in which it is stored."""
        if V.ndim == 1:
            return K @ V  # as fast in float32: what counts is reading K
        with self.multiplying():
            return (_as_rows(V) @ K)[: V.shape[1]].T.contiguous()

    def careful(self, K: Array, V: Array) -> Array:
        """Return K V in float32."""
        return K @ V

    def transposed(self, F: Array, V: Array) -> Array:
        """Return Fᵀ V as (Vᵀ F)ᵀ, which reads F in the order in which it is stored."""
        if V.ndim == 1:
            return F.T @ V
        with self.multiplying():
            return (_as_rows(V) @ F)[: V.shape[1]].T

    def times(self, F: Array, W: Array) -> Array:
        """Return F W."""
        if W.ndim == 1:
            return F @ W
        with self.multiplying():
            return (F @ _as_rows(W).T)[:, : W.shape[1]].contiguous()

    def multiplying(self) -> AbstractContextManager[None]:
        """Return within what plain products of torch are of this precision."""
        return _tf32(import_module("torch"))


class BFloat16(Float32):
    """A bfloat16 matrix (8 significant bits), multiplied with float32 sums by float32 columns cut in two."""

    name = "bfloat16"
    rounding = 2.0**-9
    product_rounding = 2.0**-9 + 2.0**-17
    noise = 2.0**-17

    def storage(self, X: Array) -> Any:
        """Return bfloat16."""
        return import_module("torch").bfloat16

    def widen(self, entries: Array) -> Array:
        """Return stored entries in float32."""
        return entries.float()

    def product(self, K: Array, V: Array) -> Array:
        """Return K V₁ + K V₂ in one product, where V₁ is V in bfloat16 and V₂ what that rounding left."""
        parts, k = _in_two(V, K.dtype)
        product = _float32_sums(K, parts.T)
        return (product[:, :k] + product[:, k : 2 * k]).reshape((K.shape[0], *V.shape[1:]))

    def transposed(self, F: Array, V: Array) -> Array:
        """Return Fᵀ V₁ + Fᵀ V₂ in one product, which reads F in the order in which it is stored."""
        parts, k = _in_two(V, F.dtype)
        product = _float32_sums(parts, F)
        return (product[:k] + product[k : 2 * k]).T.reshape((F.shape[1], *V.shape[1:]))

    def times(self, F: Array, W: Array) -> Array:
        """Return F W₁ + F W₂ in one product."""
        return self.product(F, W)

    def multiplying(self) -> AbstractContextManager[None]:
        """Return within what plain products of torch are as fine as what is stored, and finer."""
        return _tf32(import_module("torch"))


#: The precisions by name; None is that of the samples.
PRECISIONS: dict[str | None, Precision] = {p.name: p for p in (Precision(), Float32(), TF32(), BFloat16())}
#: From the coarsest to the finest: where to go when numbers overflow.
LADDER = ("bfloat16", "tf32", "float32", "float64")


def as_precision(name: str | None, X: Array) -> Precision:
    """Return the precision of that name; refuse one that the samples cannot have.

    Examples
    --------
    >>> import numpy as np
    >>> as_precision("tf32", np.ones((2, 2)))
    Traceback (most recent call last):
        ...
    ValueError: precision='tf32' is for torch tensors on a GPU, and X is a ndarray. Leave precision=None, or
    pass torch.asarray(X, device='cuda').
    """
    if name not in PRECISIONS:
        known = ", ".join(repr(p) for p in PRECISIONS)
        raise ValueError(f"precision must be one of {known}, got {name!r}.")
    cupy = array_api_compat.is_cupy_array(X)
    if name is not None and not (array_api_compat.is_torch_array(X) or (cupy and name == "float32")):
        move = "torch.from_dlpack(X), which copies nothing" if cupy else "torch.asarray(X, device='cuda')"
        raise ValueError(
            f"precision={name!r} is for torch tensors on a GPU, and X is a {type(X).__name__}. Leave "
            f"precision=None, or pass {move}."
        )
    return PRECISIONS[name]


def next_finer(name: str | None, X: Array) -> str | None:
    """Return the next finer precision than that name, or than the dtype of X; None where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> next_finer("bfloat16", np.ones(2)), next_finer(None, np.ones(2))
    ('tf32', None)
    """
    now = name or str(X.dtype).rpartition(".")[2]
    return LADDER[LADDER.index(now) + 1] if now in LADDER[:-1] else None


def _as_rows(V: Array) -> Array:
    """Return the columns of V as rows, and rows of zeros up to a good number."""
    rows = _zero_rows(V.shape[1], V, V.dtype)
    rows[: V.shape[1]] = V.T
    return rows


def _in_two(V: Array, dtype: Any) -> tuple[Array, int]:
    """Return the columns of V as rows of a coarser dtype, then what that rounding left; and how many."""
    columns = V.reshape(V.shape[0], -1).T
    k = columns.shape[0]
    rows = _zero_rows(2 * k, V, dtype)
    rows[:k] = columns
    rows[k : 2 * k] = columns - rows[:k].float()
    return rows, k


def _zero_rows(count: int, V: Array, dtype: Any) -> Array:
    """Return rows of zeros beside V, as long as its columns: so many at least, and a good number."""
    torch, count = import_module("torch"), -(-count // _COLUMNS) * _COLUMNS
    return torch.zeros((count, V.shape[0]), dtype=dtype, device=V.device)


@contextmanager
def _tf32(torch: Any) -> Iterator[None]:
    """Let float32 products of torch use TF32, here only."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _float32_sums(left: Array, right: Array) -> Array:
    """Multiply bfloat16 matrices into a float32 one; the processor has no such product."""
    if left.device.type == "cpu":
        return left.float() @ right.float()
    torch = import_module("torch")
    return torch.mm(left, right, out_dtype=torch.float32)


def is_finite(result: Any) -> bool:
    """Whether nothing has overflowed in the last state of a path, or in what a short path has observed."""
    if (observed := getattr(result, "observed", None)) is not None:
        return all(np.isfinite(values).all() for values in observed.values())
    state = getattr(result, "path", result).last
    return all_finite(state.u) and all_finite(state.scores)
