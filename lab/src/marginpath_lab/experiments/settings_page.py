"""The two named settings side by side, for a page."""

from __future__ import annotations

from collections.abc import Callable

from .settings import PROGRAM, TEXT, Settings
from .tables import markdown_table, page_text

_LINES: tuple[tuple[str, Callable[[Settings], str]], ...] = (
    ("λ of update t", lambda s: "λ_t" if s.offset == 0 else f"λ at t + {s.offset}"),
    ("inertia of update t", lambda s: _inertia(s)),
    ("toy set: other points", lambda s: "uniform on a square" if s.name == "text" else "N(±(2, 2), 0.45² I)"),
    ("toy set: inertia", lambda s: "t/(t + α)" if s.name == "text" else "(t − 1 − α/4)/(t + 3α/4)"),
    ("toy set: λ0; step of Algorithm 1", lambda s: f"{s.toy_lambda0:g}; {_step(s.toy_step)}"),
    ("mixture: standard deviation", lambda s: "√0.4" if s.name == "text" else "0.4"),
    ("Figure 3: σ; λ0", lambda s: f"{s.fig3_sigma:.3g}; {', '.join(f'{x:g}' for x in s.fig3_lambda0s)}"),
    ("Figure 4: σ; λ0", lambda s: f"{s.fig4_sigma:.3g}; {s.fig4_lambda0:g}"),
    ("MNIST: pixels; σ", lambda s: f"{_scale(s.mnist_standardized, '/255')}; {s.mnist_sigma:.3g}"),
    (
        "MNIST: steps of Algorithms 1, 2; start",
        lambda s: f"{_step(s.mnist_step_1)}, {_step(s.mnist_step_2)}; {_start(s.mnist_start)}",
    ),
    ("HTRU2: columns; σ", lambda s: f"{_scale(s.htru2_standardized, 'raw')}; {s.htru2_sigma:.3g}"),
    ("first t of the other methods", lambda s: f"{1 + s.offset}"),
)


def settings_markdown() -> str:
    """Return a table of what differs."""
    rows = ([what, *(page_text(value(settings)) for settings in (TEXT, PROGRAM))] for what, value in _LINES)
    return markdown_table(["", "`--as text`", "`--as program`"], rows)


def _inertia(settings: Settings) -> str:
    numerator = "t" if settings.name == "text" else "(t − 1)"
    return f"{numerator}/(t + {settings.alpha:g})"


def _step(factor: float) -> str:
    return f"{factor:g}/L"


def _scale(standardized: bool, otherwise: str) -> str:
    return "standardized" if standardized else otherwise


def _start(deviation: float) -> str:
    return f"normal, deviation {deviation:g}" if deviation else "0"
