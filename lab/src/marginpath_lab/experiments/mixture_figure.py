"""Figures 3 and 4: margin and test error on the noisy mixture for several λ_0, and several decays of λ_t."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from .drawing import picture_files
from .mixture_picture import draw_bands, draw_first
from .mixture_runs import ALGORITHMS, DRAWS, NOISE, MixtureRuns, mixture_runs
from .pieces import Pieces
from .settings import PROGRAM, Settings
from .tables import csv_text, terminal_table


@dataclass(frozen=True)
class MixtureFigure:
    """One of the two figures, as an experiment: they differ in the schedules alone."""

    figure: Literal["fig3", "fig4"]

    def compute(
        self,
        settings: Settings = PROGRAM,
        pieces: Pieces | None = None,
        watch: Callable[[str], Any] = lambda text: None,
        draws: int = DRAWS,
        n: int = 600,
    ) -> MixtureRuns:
        """Run both algorithms for every schedule and noise level; the first draw is the paper's figure."""
        return mixture_runs(settings, self.figure, pieces or Pieces(), draws, n, watch)

    def draw(self, table: MixtureRuns) -> Any:
        """Draw the first draw, as the paper does."""
        return draw_first(table)

    def printed(self, table: MixtureRuns) -> Any:
        """Return the means over all draws at the end of the runs as a table for the terminal."""
        draws, last = len(table.margin), table.steps[-1]
        title = f"{table.title}: margin and test error after {last:,} updates, mean of {draws} draws"
        margin, error = table.margin[..., -1].mean(axis=0), table.error[..., -1].mean(axis=0)
        lines = []
        for (a, algorithm), (p, noise) in product(enumerate(ALGORITHMS), enumerate(NOISE)):
            cells = zip(margin[a, p], error[a, p], strict=True)
            lines.append([algorithm, f"{noise:.0%}", *(f"{m:+.3f}  {e:.3f}" for m, e in cells)])
        return terminal_table(title, ["algorithm", "noise", *map(plain, table.series)], lines, words=2)

    def files(self, table: MixtureRuns) -> dict[str, bytes]:
        """Return the first draw and the summary of all, each as a table and a picture."""
        return (
            {file: content.encode() for file, content in mixture_tables(table).items()}
            | picture_files(draw_first(table), table.figure)
            | picture_files(draw_bands(table), f"{table.figure}_draws")
        )


def mixture_tables(table: MixtureRuns) -> dict[str, str]:
    """Return the tables alone."""
    name, ids = table.figure, ["algorithm", "noise", "lambda_t", "step"]
    spread = [f"{what}_{how}" for what in ("margin", "error") for how in ("mean", "sd", "10", "90")]
    return {
        f"{name}.csv": csv_text([*ids, "margin", "error"], _rows(table, _first(table))),
        f"{name}_draws.csv": csv_text([*ids, *spread], _rows(table, _summary(table))),
    }


def plain(label: str) -> str:
    r"""Return a mathematical label without its markup.

    Examples
    --------
    >>> plain(r"$8/\sqrt{t}$"), plain(r"$\lambda_0 = 0.01$")
    ('8/√t', 'λ0 = 0.01')
    """
    label = label.replace(r"\lambda_0", "λ0").replace(r"\log", "log").replace(r"\sqrt", "√")
    return re.sub(r"[${}]", "", label)


def _first(table: MixtureRuns) -> np.ndarray:
    return np.stack([table.margin[0], table.error[0]], axis=-1)


def _summary(table: MixtureRuns) -> np.ndarray:
    columns = []
    for values in (table.margin, table.error):
        deviation = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1:])
        columns += [values.mean(axis=0), deviation, *np.quantile(values, (0.1, 0.9), axis=0)]
    return np.stack(columns, axis=-1)


def _rows(table: MixtureRuns, values: np.ndarray) -> Iterator[tuple[Any, ...]]:
    """Yield a line for every entry of values (algorithms, noise, series, steps, numbers)."""
    for a, p, k, i in np.ndindex(values.shape[:-1]):
        names = ALGORITHMS[a], NOISE[p], plain(table.series[k]), int(table.steps[i])
        yield (*names, *values[a, p, k, i])
