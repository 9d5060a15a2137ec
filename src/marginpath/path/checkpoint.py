"""A file that a long run can go on from."""

from __future__ import annotations

import os
import time

from .path import Path


class Checkpoint:
    """A callback of :func:`run` that saves the path to a file now and then.

    Parameters
    ----------
    file : path
        Overwritten, whole or not at all.
    seconds : float
        At least so long between two writes; 0 writes at every recorded step.

    Examples
    --------
    >>> import tempfile, marginpath as mp
    >>> data = mp.datasets.toy()
    >>> problem = mp.Problem(mp.Gram.linear(data.X), data.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saving = Checkpoint(f"{folder}/run.npz", seconds=0)
    ...     path = mp.run(mp.DualDescent(mp.PowerDecay(4.0)), problem, 5, callbacks=[saving])
    ...     mp.Path.load(f"{folder}/run.npz").last.t
    5
    """

    def __init__(self, file: str | os.PathLike[str], seconds: float = 60.0) -> None:
        self.file, self.seconds = file, seconds
        self._due = time.monotonic() + seconds

    def __call__(self, problem: object, state: object, path: Path) -> None:
        """Save the path if it is time."""
        if time.monotonic() >= self._due:
            path.save(self.file)
            self._due = time.monotonic() + self.seconds
