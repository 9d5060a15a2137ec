"""Arrays that memory is too small for: they lie in a file without a name, which is mapped.

The system keeps of it what there is room for, and reads the rest when it is asked for.
"""

from __future__ import annotations

import errno
import math
import mmap
import os
import shutil
import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np

_AT_ONCE = 2**22  # bytes that are copied at a time
_NEAR = 2**16  # bytes between rows that are read together: a disk takes longer to find them


def mapped_array(
    shape: tuple[int, ...],
    dtype: Any,
    what: str,
    advice: str,
    folder: str | os.PathLike[str] | None = None,
) -> np.memmap:
    """Return zeros in a temporary file without a name, which is gone when nobody uses the array any more.

    Its room is taken at once: on a full disk, writing to the array would end the process.

    Parameters
    ----------
    shape, dtype
        Those of the array.
    what, advice : str
        What the error names where the disk has no room, and a sentence on what to do then.
    folder : path, optional
        Where the file lies; that of the system for temporary files by default.

    Examples
    --------
    >>> mapped_array((2, 3), np.float32, "The sum", "Add less.").sum()
    np.float32(0.0)
    >>> mapped_array((10**9, 10**9), np.float32, "The sum", "Add less.")
    Traceback (most recent call last):
        ...
    OSError: The sum takes 4e+09 GB, and ... has ... GB left. Add less.
    """
    place, size = os.fspath(folder or tempfile.gettempdir()), math.prod(shape) * np.dtype(dtype).itemsize
    free = shutil.disk_usage(place).free
    with tempfile.TemporaryFile(dir=place) as file:  # the mapping outlives it
        if size > free or not _reserved(file, size):
            raise OSError(
                f"{what} takes {size / 1e9:.3g} GB, and {place} has {free / 1e9:.3g} GB left. {advice}"
            )
        return np.memmap(file, dtype=dtype, mode="r+", shape=shape)


def _reserved(file: Any, size: int) -> bool:
    """Take so many bytes of the disk, and return whether it has them."""
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                return False
    file.truncate(size)  # where the system cannot reserve
    return True


@dataclass(frozen=True)
class Room:
    """Where new arrays lie: in memory up to so many bytes each, larger ones in files.

    Attributes
    ----------
    most : float
        Bytes of an array in memory at most.
    advice : str
        What to do where the disk has no room.

    Examples
    --------
    >>> room = Room(most=100, advice="Add less.")
    >>> few, many = (room.zeros((n, 2), np.float32, "The sum") for n in (12, 13))
    >>> in_file(few), in_file(many)
    (False, True)
    """

    most: float = math.inf
    advice: str = ""

    def zeros(self, shape: tuple[int, ...], dtype: Any, what: str) -> np.ndarray:
        """Return an array of zeros."""
        if self._holds(shape, dtype):
            return np.zeros(shape, dtype=dtype)
        return np.asarray(mapped_array(shape, dtype, what, self.advice))

    def rows(self, X: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Return X[index]; what lies in a file is read in its order."""
        if not in_file(X):
            return np.asarray(X[index])
        out = self.zeros((len(index), *X.shape[1:]), X.dtype, "A copy of some features")
        order, some = np.argsort(index, kind="stable"), _rows_at_once(X)
        read_ahead(X, index[order[:some]])
        for a in range(0, len(order), some):
            read_ahead(X, index[order[a + some : a + 2 * some]])
            out[order[a : a + some]] = X[index[order[a : a + some]]]
        return out

    def cast(self, X: np.ndarray, dtype: Any) -> np.ndarray:
        """Return X in another dtype, or X itself where it has that."""
        if X.dtype == dtype or self._holds(X.shape, dtype):
            return X.astype(dtype, copy=False)
        out, some = self.zeros(X.shape, dtype, "A copy of the features"), _rows_at_once(X)
        for a in range(0, len(X), some):
            out[a : a + some] = X[a : a + some]
        return out

    def _holds(self, shape: tuple[int, ...], dtype: Any) -> bool:
        return bool(math.prod(shape) * np.dtype(dtype).itemsize <= self.most)


#: All of it, whatever an array takes.
MEMORY = Room()


def in_file(array: np.ndarray) -> bool:
    """Whether an array lies in a file that is mapped."""
    return _mapping(array) is not None


def read_ahead(array: np.ndarray, index: np.ndarray) -> None:
    """Let the system read these rows soon, in increasing order, where the array lies in a file.

    Left to itself it reads far around every row that it lacks: up to 8 MB, as disks are set.
    """
    mapping = _mapping(array)
    if mapping is None or not len(index) or not hasattr(mapping, "madvise"):
        return
    first = array.ctypes.data - np.frombuffer(mapping, dtype=np.uint8).ctypes.data
    step = array.strides[0]
    gaps = np.flatnonzero(np.diff(index) * step > step + _NEAR)
    starts = first + step * index[np.concatenate([[0], gaps + 1])]
    ends = first + step * (index[np.concatenate([gaps, [len(index) - 1]])] + 1)
    for start, end in zip((starts // mmap.PAGESIZE * mmap.PAGESIZE).tolist(), ends.tolist(), strict=True):
        mapping.madvise(mmap.MADV_WILLNEED, start, end - start)


def _mapping(array: Any) -> mmap.mmap | None:
    """Return the file that an array lies in; None in memory."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array if isinstance(array, mmap.mmap) else None


def _rows_at_once(X: np.ndarray) -> int:
    return max(1, _AT_ONCE // max(1, X[:1].nbytes))
