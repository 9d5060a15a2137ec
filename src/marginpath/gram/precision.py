"""Precision on a GPU: what is rounded in a stored kernel matrix, and how it is multiplied."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import Any

import array_api_compat

from ..arrays import Array, namespace

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

    def squared(self, F: Array, V: Array) -> Array:
        """Return F (Fᵀ V)."""
        return F @ (F.T @ V)

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

    def squared(self, F: Array, V: Array) -> Array:
        """Return F (Fᵀ V), each factor in the order in which it is stored."""
        if V.ndim == 1:
            return F @ (F.T @ V)
        with self.multiplying():
            return (F @ (_as_rows(V) @ F).T)[:, : V.shape[1]].contiguous()

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
        torch, k = import_module("torch"), V[:, None].shape[-1] if V.ndim == 1 else V.shape[1]
        half = -(-2 * k // _COLUMNS) * _COLUMNS // 2
        parts = torch.zeros((V.shape[0], 2 * half), dtype=K.dtype, device=V.device)
        parts[:, :k] = V.reshape(-1, k)
        parts[:, half : half + k] = V.reshape(-1, k) - parts[:, :k].float()
        product = _float32_sums(torch, K, parts)
        return (product[:, :k] + product[:, half : half + k]).reshape(V.shape)


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
    torch, k = import_module("torch"), V.shape[1]
    rows = torch.zeros((-(-k // _COLUMNS) * _COLUMNS, V.shape[0]), dtype=V.dtype, device=V.device)
    rows[:k] = V.T
    return rows


@contextmanager
def _tf32(torch: Any) -> Iterator[None]:
    """Let float32 products of torch use TF32, here only."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _float32_sums(torch: Any, K: Array, V: Array) -> Array:
    """Multiply bfloat16 matrices into a float32 one; the processor has no such product."""
    if K.device.type == "cpu":
        return K.float() @ V.float()
    return torch.mm(K, V, out_dtype=torch.float32)
