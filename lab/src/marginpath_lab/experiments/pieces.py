"""Finished pieces of long work, kept so that an interrupted run goes on where it was."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

Arrays = dict[str, np.ndarray]


class Pieces:
    """Results by key: in memory, and in a folder if there is one.

    A piece in the folder is taken up only if the same code made it. Whoever has all that was to be made
    clears the folder.

    Parameters
    ----------
    folder : Path, optional
        Made when the first piece is done.

    Examples
    --------
    >>> pieces = Pieces()
    >>> pieces.get("squares", lambda: {"values": np.arange(3) ** 2})["values"]
    array([0, 1, 4])
    >>> pieces.get("squares", lambda: {})["values"]
    array([0, 1, 4])
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._known: dict[str, Arrays] = {}

    def get(self, key: str, make: Callable[[], Arrays]) -> Arrays:
        """Return the piece of that key, made if it is not there."""
        if key not in self._known:
            found = self._read(key)
            self._known[key] = self._write(key, make()) if found is None else found
        return self._known[key]

    def __contains__(self, key: str) -> bool:
        """Whether a piece is there already."""
        if key not in self._known and (found := self._read(key)) is not None:
            self._known[key] = found
        return key in self._known

    def clear(self) -> None:
        """Remove the folder: all that was to be made is."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _file(self, key: str) -> Path | None:
        name = hashlib.sha256(f"{_code()} {key}".encode()).hexdigest()[:24]
        return None if self.folder is None else self.folder / f"{name}.npz"

    def _read(self, key: str) -> Arrays | None:
        file = self._file(key)
        if file is None or not file.is_file():
            return None
        try:
            with np.load(file) as arrays:
                return {name: arrays[name] for name in arrays.files}
        except (OSError, ValueError, zipfile.BadZipFile):
            return None

    def _write(self, key: str, arrays: Arrays) -> Arrays:
        file = self._file(key)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            buffer = io.BytesIO()
            np.savez(buffer, **arrays)  # type: ignore[arg-type]
            part = file.with_suffix(".part")
            part.write_bytes(buffer.getvalue())
            os.replace(part, file)
        return arrays


@cache
def _code() -> str:
    """Return a digest of this package."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
