"""The theorems' tables as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .tables import csv_text, markdown_table, page_pieces, page_text, terminal_table

if TYPE_CHECKING:
    from .theory_bounds import Convergence, Stability, TheoryBounds


def printed(table: TheoryBounds) -> Any:
    """Return the tightest ratios as a table for the terminal."""
    lines = ([name, inequality, f"{ratio:.2f}"] for name, (inequality, ratio) in table.tightest.items())
    title = "The tightest bound/actual of each constant"
    return terminal_table(title, ["constant", "inequality", "ratio"], lines, words=2)


def markdown(table: TheoryBounds) -> str:
    """Return the pieces of the pages, each between two comments that name it."""
    pieces = {
        "constants": _constants((*table.theorem1,)),
        "inertia": _inertia(table.theorem2),
        "tightest": markdown_table(
            ["constant", "inequality", "smallest bound/actual"],
            ([name, page_text(text), f"{ratio:.2f}"] for name, (text, ratio) in table.tightest.items()),
        ),
        "stability": "\n".join(_stability(one) for one in table.stability),
        "fits": _fits(table.stability),
    }
    return page_pieces(pieces)


def stability_csv(table: TheoryBounds) -> str:
    """Return one line a problem and number of flips."""
    lines = [
        [one.title.replace("$", ""), int(N), *_row(one, i)]
        for one in table.stability
        for i, N in enumerate(one.flips)
    ]
    return csv_text(["problem", "flips", "best", "step_median", "step_10", "step_90", "bound_1"], lines)


def _constants(runs: tuple[Convergence, ...]) -> str:
    head = ["", *(_plain(run.title) for run in runs)]
    c = [run.constants for run in runs]
    lines = [
        ["L = ‖K‖", *(f"{x.L:.3g}" for x in c)],
        ["‖w\\*‖ = C", *(f"{x.w_norm:.3g}" for x in c)],
        ["‖u\\*‖<sub>∞</sub>", *(f"{x.u_max:.3g}" for x in c)],
        ["λ<sub>min</sub>(A)", *(f"{x.smallest:.3g}" for x in c)],
        ["τ", *("not needed" if np.isnan(x.tau) else f"{x.tau:.3g}" for x in c)],
        ["μ", *(f"{x.mu:.3g}" for x in c)],
        ["μ as printed, Z read for X", *(_printed_mu(run) for run in runs)],
        ["ρ at γ = 1/L", *(f"{run.bounds.rho:.3g}" for run in runs)],  # type: ignore[attr-defined]
        ["t\\*", *(f"{run.bounds.first_step:.0f}" for run in runs)],
    ]
    return markdown_table(head, lines)


def _printed_mu(run: Convergence) -> str:
    from dataclasses import replace

    c = run.constants
    if np.isnan(c.tau):
        return "needs τ"
    return f"{replace(c, printed=c.w0_norm**2 - c.w_norm**2).printed_mu:.3g}"


def _inertia(runs: tuple[Convergence, ...]) -> str:
    head = ["", *(_plain(run.title) for run in runs)]
    lines = [
        ["C, α = 3", *(f"{run.bounds.C:.3g}" for run in runs)],  # type: ignore[attr-defined]
        ["t\\*", *(f"{run.bounds.first_step:.0f}" for run in runs)],
        *(
            [f"distance after {t:,}, bound / measured", *(_pair(run, t) for run in runs)]
            for t in (10, 100, 1_000)
        ),
    ]
    return markdown_table(head, lines)


def _pair(run: Convergence, t: int) -> str:
    t = min(t, len(run.measured["distance"]) - 1)
    return f"{run.proved['distance'][t]:.2g} / {run.measured['distance'][t]:.2g}"


def _stability(one: Stability) -> str:
    head = [
        "N",
        "smallest distance / ‖w\\*‖, mean",
        "at step: median (10 %, 90 %)",
        "bound at t\\*(N) = 1, / ‖w\\*‖",
    ]
    lines = []
    for i, N in enumerate(one.flips):
        best, median, low, high, bound = _row(one, i)
        lines.append([str(N), f"{best:.3f}", f"{median:.0f} ({low:.0f}, {high:.0f})", f"{bound:.1f}"])
    return f"### {_plain(one.title).capitalize()}\n\n{markdown_table(head, lines)}"


def _row(one: Stability, i: int) -> list[float]:
    low, median, high = np.percentile(one.when[i], (10, 50, 90))
    return [float(x) for x in (one.best[i].mean(), median, low, high, one.bound[i, 1])]


def _fits(runs: tuple[Stability, ...]) -> str:
    head = ["problem", *map(page_text, runs[0].exponents), "√N", "smallest bound/actual"]
    lines = [
        [_plain(one.title), *(f"{p:.2f}" for p in one.exponents.values()), "0.50", f"{one.ratio:.1f}"]
        for one in runs
    ]
    return markdown_table(head, lines)


def _plain(title: str) -> str:
    return title.replace("$", "")
