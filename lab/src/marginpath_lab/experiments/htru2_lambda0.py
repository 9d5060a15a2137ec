"""Why our HTRU2 differs from the paper's plot: who leads in margin, for several λ0 and scales of columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import marginpath as mp

from .drawing import BLACK, empty_figure, legend_above, picture_files, readable_logarithm, tidy
from .observing import At
from .real_runs import largest_eigenvalue, load
from .settings import PROGRAM, Settings
from .tables import csv_text, markdown_table, terminal_table

LAMBDA0S = (1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0)
STEPS, LOOKED_AT = 300, 200
#: What is tried: the program's columns and width first, then standardized ones, with either reading of "4".
WAYS = {
    "raw columns, σ = 4": PROGRAM,
    "standardized, σ = 4": replace(PROGRAM, htru2_standardized=True),
    "standardized, σ² = 4": replace(PROGRAM, htru2_standardized=True, htru2_sigma=2.0),
}
MIRROR = "mirror descent"


@dataclass(frozen=True, eq=False)
class Way:
    """Margins after every update, and test errors at one: of mirror descent, and of Algorithm 2 by λ0."""

    name: str
    lambda0s: tuple[float, ...]
    mirror: np.ndarray
    margins: np.ndarray
    mirror_error: float
    errors: np.ndarray

    def changes(self, column: int) -> list[int]:
        """Return the updates at which mirror descent takes the lead, loses it, takes it again."""
        leads = self.mirror[1:] > self.margins[1:, column]
        return (1 + np.flatnonzero(np.diff(leads.astype(int), prepend=0))).tolist()


def compute(
    watch: Callable[[str], Any] = lambda text: None,
    lambda0s: Sequence[float] = LAMBDA0S,
    steps: int = STEPS,
    samples: int | None = None,
) -> list[Way]:
    """Run both methods on all training samples, or the first so many, in every way."""
    ways = []
    for name, settings in WAYS.items():
        watch(name)
        data = load(settings, "HTRU2")
        data = replace(data, X=data.X[:samples], y=data.y[:samples])
        ways.append(_run(name, settings, data, tuple(lambda0s), steps))
    return ways


def _run(name: str, settings: Settings, data: Any, lambda0s: tuple[float, ...], steps: int) -> Way:
    """Run all λ0 as columns of one problem: a box that is 1/λ0 as large."""
    gram = mp.Gram.from_kernel(data.X, mp.Gaussian(sigma=settings.htru2_sigma))
    alone = mp.Problem(gram, data.y)
    labels = np.repeat(np.asarray(data.y)[:, None], len(lambda0s), axis=1)
    many = mp.Problem(gram, labels, box_scale=1 / np.array(lambda0s))
    schedule, step = settings.schedule(mp.PowerDecay(1.0)), 1 / largest_eigenvalue(gram)
    found = []
    for problem, solver in (
        (alone, mp.MirrorDescent(accelerated=True, first=1 + settings.offset)),
        (many, mp.DualDescent(schedule, settings.inertia(), step)),
    ):
        at = frozenset([min(LOOKED_AT, steps)])
        error = At(at, mp.HeldOutError(problem, data.X_test, data.y_test))
        path = mp.run(solver, problem, steps, observe={"margin": mp.metrics.margin, "error": error}, keep=0)
        found += [path["margin"], path["error"][min(at)]]
    mirror, mirror_error, margins, errors = found
    return Way(name, lambda0s, mirror, margins, float(mirror_error), errors)


def lead(changes: Sequence[int]) -> str:
    """Say when mirror descent leads.

    Examples
    --------
    >>> lead([134, 142, 169]), lead([7, 9]), lead([])
    ('134, back at 142, for good at 169', '7, back at 9', 'never')
    """
    if not changes:
        return "never"
    words = [str(changes[0])]
    for i, update in enumerate(changes[1:], 1):
        last = i == len(changes) - 1
        words.append(f"back at {update}" if i % 2 else f"for good at {update}" if last else f"at {update}")
    return ", ".join(words)


def _lines(table: list[Way]) -> list[list[str]]:
    return [
        [
            way.name,
            f"{lambda0:g}",
            lead(way.changes(j)),
            f"{100 * way.errors[j]:.1f} %",
            f"{100 * way.mirror_error:.1f} %",
        ]
        for way in table
        for j, lambda0 in enumerate(way.lambda0s)
    ]


def _head(steps: int) -> list[str]:
    looked = min(LOOKED_AT, steps)
    errors = [f"test error at {looked}, {name}" for name in ("Algorithm 2", MIRROR)]
    return ["columns", "λ0", f"{MIRROR} leads in margin from update, of {steps}", *errors]


def draw(table: list[Way]) -> Any:
    """Draw margins against updates, a panel for each way."""
    from matplotlib import colormaps

    figure = empty_figure(10.0, 3.8)
    panels = figure.subplots(1, len(table), squeeze=False)[0]
    lines = {}
    for panel, way in zip(panels, table, strict=True):
        shades = colormaps["viridis"](np.linspace(0, 0.9, len(way.lambda0s)))
        for j, lambda0 in enumerate(way.lambda0s):
            drawn = panel.plot(way.margins[:, j], color=shades[j], linewidth=1.6)
            lines[f"$\\lambda_0$ = {lambda0:g}"] = drawn[0]
        lines[MIRROR] = panel.plot(way.mirror, color=BLACK, linewidth=2, linestyle="--")[0]
        ends = [way.mirror[len(way.mirror) // 20 :].min(), way.mirror.max(), way.margins[-1].max()]
        panel.set(xscale="log", xlabel="updates $t$", ylim=(ends[0], max(ends[1:]) + 0.1 * np.ptp(ends)))
        panel.set_xlim(max(1, len(way.mirror) // 20), len(way.mirror) - 1)
        readable_logarithm(panel.xaxis)
        panel.set_title(way.name, loc="left", fontsize=10)
        tidy(panel)
    panels[0].set_ylabel("margin")
    legend_above(figure, lines, len(lines))
    return figure


def printed(table: list[Way]) -> Any:
    """Return who leads, for the terminal."""
    return terminal_table("HTRU2: who leads in margin", _head(len(table[0].mirror) - 1), _lines(table))


def files(table: list[Way]) -> dict[str, bytes]:
    """Return the margins, the page and the picture, by name of file."""
    head = ["columns", "step", MIRROR, *(f"lambda0 = {x:g}" for x in table[0].lambda0s)]
    rows = (
        (way.name, t, float(way.mirror[t]), *map(float, way.margins[t]))
        for way in table
        for t in range(1, len(way.mirror))
    )
    page = markdown_table(_head(len(table[0].mirror) - 1), _lines(table))
    text = {"htru2_lambda0.csv": csv_text(head, rows, digits=5), "htru2_lambda0.md": page}
    return {k: v.encode() for k, v in text.items()} | picture_files(draw(table), "htru2_lambda0")
