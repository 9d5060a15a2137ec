"""Figure 3: margin and test error on the noisy mixture for λ_t = λ_0/t and several λ_0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .mixture_page import mixture_files, mixture_printed
from .mixture_picture import draw_first as draw
from .mixture_runs import DRAWS, MixtureRuns, mixture_runs
from .pieces import Pieces
from .settings import PROGRAM, Settings

__all__ = ["compute", "draw", "files", "printed"]


def compute(
    settings: Settings = PROGRAM,
    pieces: Pieces | None = None,
    watch: Callable[[str], Any] = lambda text: None,
    draws: int = DRAWS,
    n: int = 600,
) -> MixtureRuns:
    """Run both algorithms for every λ_0 and noise level; the first draw is the paper's figure."""
    return mixture_runs(settings, "fig3", pieces or Pieces(), draws, n, watch)


def printed(table: MixtureRuns) -> Any:
    """Return margins and errors at the end for the terminal."""
    return mixture_printed(table, "Figure 3")


def files(table: MixtureRuns) -> dict[str, bytes]:
    """Return the tables and the pictures, by name of file."""
    return mixture_files(table)
