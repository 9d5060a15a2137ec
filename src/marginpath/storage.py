"""Files that cannot run code when loaded: settings as JSON, arrays as npz."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np

_HEADER = "header.json"
_CALLABLE = "callable"


def describe(record: Any) -> Any:
    """Turn a record of settings into JSON values; a plain callable leaves a mark."""
    if is_dataclass(record) and not isinstance(record, type):
        values = {f.name: describe(getattr(record, f.name)) for f in fields(record)}
        return {"type": type(record).__name__, **values}
    if isinstance(record, (list, tuple)):
        return [describe(item) for item in record]
    return {"type": _CALLABLE} if callable(record) else record


def restore(description: Any, known: Iterable[type]) -> Any:
    """Rebuild a record from its description, with the classes given and no others."""
    if not isinstance(description, dict):
        return description
    classes = {cls.__name__: cls for cls in known}
    values = dict(description)
    name = values.pop("type", None)
    if name == _CALLABLE:
        raise ValueError(
            "A plain callable was among the settings, which no file holds: pass solver=… to load."
        )
    if name not in classes:
        raise ValueError(f"The file names {name!r}, which this version of marginpath does not know.")
    return classes[name](**{key: restore(value, known) for key, value in values.items()})


def write(file: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write header and arrays to one file, whole or not at all."""
    target = FilePath(file)
    packed = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            np.savez(stream, allow_pickle=False, **{_HEADER: packed, **arrays})
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    """Return what the process takes from the mode of new files; it can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def read(file: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read back what :func:`write` wrote; ``kind`` is what the header must call itself."""
    try:
        with open(file, "rb") as stream, np.load(stream, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        header = json.loads(arrays.pop(_HEADER).tobytes())
    except (
        ValueError,
        KeyError,
        EOFError,
        zipfile.BadZipFile,
        UnicodeDecodeError,
        AttributeError,
    ) as error:
        raise ValueError(f"{os.fspath(file)} is not a marginpath file, or it is damaged.") from error
    if not isinstance(header, dict) or header.get("kind") != kind:
        raise ValueError(f"{os.fspath(file)} is not a marginpath {kind} file.")
    return header, arrays
