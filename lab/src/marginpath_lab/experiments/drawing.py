"""What the pictures of all experiments share: colours, an empty figure, files of it."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from marginpath.extras import require

# Okabe and Ito's colours, told apart by all kinds of colour vision.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#5A5A5A"


def empty_figure(width: float, height: float) -> Any:
    """Return a white figure of that many inches; without matplotlib, say which extra to install."""
    Figure = require("matplotlib.figure", extra="plot", what="Pictures").Figure
    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def picture_files(figure: Any, name: str) -> dict[str, bytes]:
    """Return name.svg and name.png; equal figures give equal files."""
    import matplotlib

    vectors, pixels = io.BytesIO(), io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(vectors, format="svg", metadata={"Date": None})
        figure.savefig(pixels, format="png", dpi=130)
    return {f"{name}.svg": vectors.getvalue(), f"{name}.png": with_palette(pixels)}


def with_palette(picture: io.BytesIO) -> bytes:
    """Return a png of 128 colours: a third of the bytes, and of curves on white nobody sees a difference."""
    from PIL import Image

    colours = Image.open(picture).convert("RGB")
    # k-means moves the colours of the median cut to where lines and bands have theirs.
    few = colours.quantize(128, kmeans=1, dither=Image.Dither.NONE)
    few.save(compact := io.BytesIO(), format="png", optimize=True)
    return compact.getvalue()


def tidy(panel: Any) -> None:
    """Give a panel a light grid and no frame on the right and on top."""
    panel.grid(color="#E6E6E6", linewidth=0.8)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def legend_above(figure: Any, lines: Mapping[str, Any], columns: int) -> None:
    """Name lines above all panels, where they hide nothing."""
    figure.legend(
        list(lines.values()),
        list(lines),
        loc="outside upper center",
        ncols=columns,
        frameon=False,
        handlelength=2.6,
        columnspacing=1.6,
    )


def readable_logarithm(axis: Any) -> None:
    """Write 0.01, 0.02, 0.05 at a logarithmic axis that covers few powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def spread(wanted: Sequence[float], distance: float, lowest: float) -> list[float]:
    """Return heights at least ``distance`` apart and not under ``lowest``, near the wanted ones.

    Parameters
    ----------
    wanted : floats, the largest first
        Where labels would stand if there were one alone.

    Examples
    --------
    >>> spread([1.0, 1.0, 0.0], distance=0.5, lowest=0.0)
    [1.25, 0.75, 0.0]
    """
    groups: list[tuple[float, int]] = []  # centre and number of labels that touch
    for height in wanted:
        groups.append((height, 1))
        while len(groups) > 1 and _overlap(groups[-2], groups[-1], distance):
            (a, m), (b, n) = groups.pop(-2), groups.pop()
            groups.append(((a * m + b * n) / (m + n), m + n))
    heights = [c + distance * ((n - 1) / 2 - i) for c, n in groups for i in range(n)]
    for i in range(len(heights) - 1, -1, -1):  # lift what is too low
        below = heights[i + 1] + distance if i + 1 < len(heights) else lowest
        heights[i] = max(heights[i], below)
    return heights


def _overlap(upper: tuple[float, int], lower: tuple[float, int], distance: float) -> bool:
    return upper[0] - lower[0] < distance * (upper[1] + lower[1]) / 2
