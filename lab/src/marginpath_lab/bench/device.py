"""What a GPU can do, and how long it takes: by its own events, after a warm-up."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from marginpath.extras import require


def need_gpu() -> None:
    """Raise ImportError where there is no GPU, or no torch that sees it."""
    torch = require("torch", extra="torch", what="Measurements on a GPU")
    if not has_gpu():
        raise ImportError(f"Measurements on a GPU need one, but torch {torch.__version__} sees none.")


@cache
def has_gpu() -> bool:
    """Whether torch is there and sees a GPU."""
    try:
        return bool(import_module("torch").cuda.is_available())
    except ImportError:
        return False


def described() -> str:
    """Return the name of the GPU and the versions of what drives it."""
    torch = import_module("torch")
    parts = [torch.cuda.get_device_name(), f"torch {torch.__version__}", f"CUDA {torch.version.cuda}"]
    return ", ".join(parts)


def wait() -> None:
    """Let the GPU finish, where there is one."""
    if has_gpu():
        import_module("torch").cuda.synchronize()


def forget_peak() -> None:
    """Count the peak of its memory from here on."""
    if has_gpu():
        import_module("torch").cuda.reset_peak_memory_stats()


def peak() -> float:
    """Return the peak of its memory, in bytes."""
    return float(import_module("torch").cuda.max_memory_allocated())


def seconds_of(work: Callable[[], Any], times: int = 9) -> float:
    """Return the median time of the work by the events of the GPU, after a warm-up."""
    cuda = import_module("torch").cuda
    work()
    taken = []
    for _ in range(times):
        begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        cuda.synchronize()
        taken.append(begin.elapsed_time(end) / 1e3)
    return float(np.median(taken))


@cache
def ceilings() -> dict[str, float]:
    """Measure a copy (bytes read and written) and large matrix products."""
    torch = import_module("torch")
    found = {"copy, TB/s": _copy_rate(torch, 2**31)}
    before = torch.get_float32_matmul_precision()
    try:
        for name, dtype, setting in (
            ("bfloat16", torch.bfloat16, "highest"),
            ("tf32", torch.float32, "high"),
            ("float32", torch.float32, "highest"),
        ):
            torch.set_float32_matmul_precision(setting)
            found[f"{name} products, TFLOP/s"] = _product_rate(torch, dtype, 8192)
    finally:
        torch.set_float32_matmul_precision(before)
    return found


def _copy_rate(torch: Any, size: int) -> float:
    source = torch.randn(size, device="cuda")
    target = torch.empty_like(source)
    return 8 * size / seconds_of(lambda: target.copy_(source)) / 1e12


def _product_rate(torch: Any, dtype: Any, n: int) -> float:
    A, B = (torch.randn((n, n), device="cuda").to(dtype) for _ in range(2))
    return 2 * n**3 / seconds_of(lambda: A @ B) / 1e12
