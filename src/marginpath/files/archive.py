"""Files that cannot run code when loaded: a header of JSON, and plain arrays, in one npz."""

from __future__ import annotations

import json
import math
import os
import tempfile
import zipfile
import zlib
from pathlib import Path as FilePath
from typing import IO, Any

import numpy as np

_HEADER = "header.json"
_DENSEST = 16  # how many times smaller a header may be stored: a reader makes no more of it
_LARGE = 2**30  # bytes from which a part has longer fields for its size
_KINDS = "biufSU"  # of numbers and text: what needs no pickle
_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def write(file: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write header and arrays to one file, whole or not at all."""
    target = FilePath(file)
    packed = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream, zipfile.ZipFile(stream, "w") as stored:
            dense = len(zlib.compress(packed.tobytes())) * _DENSEST >= packed.size
            _write_array(stored, _HEADER, packed, zipfile.ZIP_DEFLATED if dense else zipfile.ZIP_STORED)
            for name, array in arrays.items():
                _write_array(stored, name, array, zipfile.ZIP_STORED)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _write_array(stored: zipfile.ZipFile, name: str, array: np.ndarray, compression: int) -> None:
    part = zipfile.ZipInfo(f"{name}.npy")
    part.compress_type = compression
    with stored.open(part, "w", force_zip64=array.nbytes > _LARGE) as stream:
        np.lib.format.write_array(stream, array, allow_pickle=False)


def _umask() -> int:
    """Return what the process takes from the mode of new files; it can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def read(stream: IO[bytes]) -> tuple[Any, dict[str, np.ndarray]]:
    """Read back what :func:`write` wrote; arrays take no more memory than the file has bytes.

    The header takes 16 times as much at most. A file that was not written so raises any kind of exception.
    """
    size = os.fstat(stream.fileno()).st_size
    with zipfile.ZipFile(stream) as stored:
        members = stored.infolist()
        room = sum(m.file_size // (_DENSEST if m.filename == f"{_HEADER}.npy" else 1) for m in members)
        if len({m.filename for m in members}) < len(members) or room > size:
            raise ValueError("Two parts of the file have the same name, or they are larger than the file.")
        arrays = {m.filename.removesuffix(".npy"): _read_array(stored, m) for m in members}
    return json.loads(arrays.pop(_HEADER).tobytes(), object_pairs_hook=_distinct), arrays


def _read_array(stored: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    """Read an array whose shape and dtype account for all the bytes that are there."""
    with stored.open(member) as stream:
        shape, _, dtype = _READERS[np.lib.format.read_magic(stream)](stream)
        declared = math.prod(shape) * dtype.itemsize
        if dtype.kind not in _KINDS or dtype.itemsize == 0 or min(shape, default=0) < 0:
            raise ValueError(f"An array of {dtype} and shape {shape} is no part of a marginpath file.")
        if declared != member.file_size - stream.tell():
            raise ValueError(f"An array says that it has {declared} bytes, and has others.")
    with stored.open(member) as stream:
        return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(values := dict(pairs)) < len(pairs):
        raise ValueError("A name occurs twice in the header.")
    return values
