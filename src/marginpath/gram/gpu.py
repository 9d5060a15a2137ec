"""What the package needs to know of a GPU: which arrays live there, and how much memory is free."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import array_api_compat

from ..arrays import Array
from ..extras import require


def on_gpu(array: Array) -> bool:
    """Whether an array lives on a GPU."""
    if array_api_compat.is_torch_array(array):
        return bool(array.device.type != "cpu")
    return bool(array_api_compat.is_cupy_array(array))


def free_bytes(array: Array) -> int:
    """Return the memory that a new array beside this one can take, on its GPU.

    What the libraries hold back for reuse is free too.
    """
    if array_api_compat.is_cupy_array(array):
        cupy = import_module("cupy")
        free = cupy.cuda.runtime.memGetInfo()[0]
        return int(free + cupy.get_default_memory_pool().free_bytes())
    cuda = import_module("torch").cuda
    held_back = cuda.memory_reserved(array.device) - cuda.memory_allocated(array.device)
    return int(cuda.mem_get_info(array.device)[0] + held_back)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on the GPU or beside it."""
    return isinstance(error, MemoryError) or type(error).__name__ in ("OutOfMemoryError", "CUDAMemoryError")


def release(array: Array) -> None:
    """Give what is held back for reuse to whoever asks next; nothing in use is touched."""
    if array_api_compat.is_cupy_array(array):
        import_module("cupy").get_default_memory_pool().free_all_blocks()
    elif on_gpu(array):
        import_module("torch").cuda.empty_cache()


def torch_device(name: str) -> tuple[Any, Any]:
    """Return torch and one of its devices; say what is missing where there is none.

    Examples
    --------
    >>> torch_device("abacus")
    Traceback (most recent call last):
        ...
    ValueError: device must be 'cuda', 'cuda:1', … or 'cpu', got 'abacus'.
    """
    kind = str(name).partition(":")[0]
    if kind not in ("cuda", "cpu"):
        raise ValueError(f"device must be 'cuda', 'cuda:1', … or 'cpu', got {name!r}.")
    processor = "Leave device=None to compute on the processor."
    torch = require("torch", extra="torch", what=f"Computations on device={name!r}", otherwise=processor)
    if kind == "cuda" and not torch.cuda.is_available():
        raise RuntimeError(
            f"device={name!r}, but torch {torch.__version__} sees no GPU: it needs an NVIDIA driver and a "
            f"build of torch with CUDA. {processor}"
        )
    return torch, torch.device(name)
