"""Files of an experiment: all of them whole, or none."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def make_folder(folder: Path) -> None:
    """Make a folder that files can be written to, or say why not; to be asked before long work."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(
            f'Nothing can be written to the folder "{folder}" ({error.strerror}); choose another one.'
        ) from None


def write_files(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write files to a folder; each takes the place of an old one only when all are written.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_files(Path(folder), {"a.csv": b"1", "b.csv": b"2"})]
    ['a.csv', 'b.csv']
    """
    parts = {folder / name: folder / f".{name}.part" for name in files}
    try:
        for (target, part), content in zip(parts.items(), files.values(), strict=True):
            part.write_bytes(content)
            if target.is_dir():
                raise OSError(f'"{target}" is a folder; a file of that name is to be written. Move it away.')
        for target, part in parts.items():
            os.replace(part, target)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)
    return list(parts)
