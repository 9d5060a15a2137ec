"""Experiments: every table and figure again, by one command; a module for each (fig3 and fig4 share one)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Protocol, cast

#: The figures and claims of the paper's Section 6; their settings come in two named sets.
PAPER = ("losses", "fig1", "fig2", "fig3", "fig4", "fig5", "claims")
#: The experiments that ``marginpath reproduce`` knows.
NAMES = ("rates", "restart", "theory_bounds", "stopping_rules", "htru2_lambda0", *PAPER)


class Experiment(Protocol):
    """What an experiment has, most often a module: numbers first, then what is made of them."""

    def compute(self, *, watch: Callable[[str], Any], **options: Any) -> Any:
        """Return the table; ``watch`` is told what is being run.

        Those of the paper also take ``settings``, and ``pieces``, which keeps what is finished.
        """
        ...

    def draw(self, table: Any) -> Any:
        """Return the table as a matplotlib figure; nothing is computed here."""
        ...

    def printed(self, table: Any) -> Any:
        """Return a short form of the table for the terminal."""
        ...

    def files(self, table: Any) -> Mapping[str, bytes]:
        """Return all that is to be written, by name of file."""
        ...


def find(name: str) -> Experiment:
    """Return the experiment of that name.

    Examples
    --------
    >>> find("rates").__name__
    'marginpath_lab.experiments.rates'
    """
    if name not in NAMES:
        raise ValueError(f"There is no experiment {name!r}; there are {', '.join(NAMES)}.")
    if name in ("fig3", "fig4"):
        return cast(Experiment, import_module(".mixture_figure", __name__).MixtureFigure(name))
    return cast(Experiment, import_module(f".{name}", __name__))
