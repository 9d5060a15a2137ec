"""Finished pieces of long work, kept so that an interrupted run goes on where it was."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Memory

Arrays = dict[str, np.ndarray]


class Pieces:
    """Results by key: in memory, and in a folder if there is one.

    A piece in the folder is taken up only if the same code made it. Whoever has all that was to be made
    clears the folder.

    Parameters
    ----------
    folder : Path, optional
        Made when the first piece is asked for.

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
        self._in_memory: dict[str, Arrays] = {}

    def get(self, key: str, make: Callable[[], Arrays]) -> Arrays:
        """Return the piece of that key, made if it is not there."""
        if key not in self._in_memory:
            self._in_memory[key] = self._in_folder(_code(), key, make)
        return self._in_memory[key]

    def __contains__(self, key: str) -> bool:
        """Whether a piece is there already, and whole."""
        try:
            self.get(key, _not_there)
        except LookupError:
            return False
        return True

    def clear(self) -> None:
        """Remove the folder: all that was to be made is."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    @cached_property
    def _in_folder(self) -> Any:
        return Memory(self.folder, verbose=0).cache(_made, ignore=["make"])


def _not_there() -> Arrays:
    raise LookupError


def _made(code: str, key: str, make: Callable[[], Arrays]) -> Arrays:
    return make()


@cache
def _code() -> str:
    """Return a digest of this package."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
