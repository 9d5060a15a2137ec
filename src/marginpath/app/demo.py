"""The demo: one path on data that ships with scikit-learn, with its certificate, a table and a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import train_test_split

import marginpath as mp
from marginpath.app import report
from marginpath.app.modelfile import Model
from marginpath.app.tables import Table
from marginpath.certificates.bounds import state_margin_bounds
from marginpath.extras import require
from marginpath.parallel import limited

if TYPE_CHECKING:
    from rich.table import Table as PrintedTable

SIGMA, STEPS, FLIPPED, SEED = 1.2, 2000, 0.1, 0

# Okabe and Ito's colours, told apart by all kinds of colour vision.
_BLUE, _VERMILION, _GREEN, _GREY = "#0072B2", "#D55E00", "#009E73", "#5A5A5A"


@dataclass(frozen=True, eq=False)
class Demo:
    """Numbers along the path: entry i of every array belongs to step i, the start being step 0."""

    C: np.ndarray
    train_error: np.ndarray
    held_out_error: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    support: np.ndarray
    certificate: tuple[float, float]
    n_train: int
    n_held_out: int
    n_flipped: int
    seconds: float

    @property
    def last(self) -> int:
        """The last step."""
        return len(self.C) - 1

    @property
    def best(self) -> int:
        """The first step of the lowest held-out error."""
        return int(np.argmin(self.held_out_error))


def compute() -> Demo:
    """Tell odd from even digits with a tenth of the training labels flipped, and observe the whole path.

    With λ0 = ‖K‖ the first step puts every sample at its bound: the path starts where all count alike.
    """
    digits = load_digits()
    X, y = digits.data / 16, np.where(digits.target % 2 == 1, 1, -1)
    X, X_held_out, y, y_held_out = train_test_split(X, y, test_size=0.5, stratify=y, random_state=SEED)
    n_flipped = round(FLIPPED * len(y))

    problem = mp.Problem(
        mp.Gram.from_kernel(X, mp.Gaussian(SIGMA)), mp.noise.flip_exactly(y, n_flipped, seed=SEED)
    )
    _, norm = problem.norm_bounds()
    solver = mp.DualDescent(mp.PowerDecay(norm), momentum=mp.Inertia(alpha=3))
    observe: dict[str, mp.metrics.Metric] = {
        "C": lambda problem, state: state.bound,
        "train_error": mp.metrics.error,
        "held_out_error": mp.HeldOutError(problem, X_held_out, y_held_out),
        "support": mp.metrics.support,
        "margin": lambda problem, state: np.stack(state_margin_bounds(problem, state)),  # one proof, two ends
    }
    with limited(1):  # for products this small, threads wait more than they work
        path = mp.run(solver, problem, STEPS, observe=observe)
    lower, upper = path["margin"].T
    return Demo(
        **{name: path[name] for name in observe if name != "margin"},
        lower=lower,
        upper=upper,
        certificate=(float(lower[-1]), float(upper[-1])),
        n_train=len(y),
        n_held_out=len(y_held_out),
        n_flipped=n_flipped,
        seconds=path.seconds,
    )


def rows(demo: Demo) -> list[int]:
    """Return about a dozen steps, 1, 2, 5, 10, …, with the best and the last among them."""
    round_steps = {m * 10**k for k in range(len(str(demo.last))) for m in (1, 2, 5)}
    return sorted({s for s in round_steps if s <= demo.last} | {demo.best, demo.last})


def table(demo: Demo) -> PrintedTable:
    """Return the path as a table for the terminal; the row of the best step stands out."""
    from rich.table import Table as PrintedTable

    wrong = f"{demo.n_flipped} of {demo.n_train} training labels wrong"
    printed = PrintedTable(
        title=f"Odd and even digits, {wrong}, {demo.n_held_out} held out", title_justify="left"
    )
    for name in ("step", "C = 1/λ", "training\nerror", "held-out\nerror", "maximum margin\nis in", "support"):
        printed.add_column(name, justify="right")
    for s in rows(demo):
        printed.add_row(
            str(s),
            f"{demo.C[s]:.3f}",
            f"{demo.train_error[s]:.1%}",
            f"{demo.held_out_error[s]:.1%}",
            interval(demo.lower[s], demo.upper[s]),
            str(demo.support[s]),
            style="bold green" if s == demo.best else "",
        )
    return printed


def summary(demo: Demo) -> str:
    """Say in three lines where to stop, what is proved, and how long it took."""
    errors = demo.held_out_error
    return (
        f"Best step: {demo.best} (C = {demo.C[demo.best]:.2f}), {errors[demo.best]:.1%} held-out error; "
        f"at the last step {errors[-1]:.1%}.\n"
        f"Certified at the last step: the maximum margin is in {interval(*demo.certificate)}.\n"
        f"{demo.last} steps took {demo.seconds:.1f} s."
    )


def interval(lower: float, upper: float) -> str:
    """Print an interval with five decimals, rounded outwards so that it stays true.

    Examples
    --------
    >>> interval(0.123456, 0.2)
    '[0.12345, 0.20000]'
    """
    return f"[{math.floor(lower * 1e5) / 1e5:.5f}, {math.ceil(upper * 1e5) / 1e5:.5f}]"


def write(demo: Demo, folder: Path) -> Path:
    """Write the picture to path.png in the folder, which is made if need be."""
    figure = draw(demo)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "path.png", dpi=130)
    return folder / "path.png"


def write_page(folder: Path) -> Path:
    """Write the interactive page of two moons with a tenth of the labels wrong to report.html."""
    rng = np.random.default_rng(SEED)
    X, moon = make_moons(300, noise=0.22, random_state=1)
    wrong = rng.choice(len(moon), round(FLIPPED * len(moon)), replace=False)
    moon[wrong] = 1 - moon[wrong]
    X_new, moon_new = make_moons(1000, noise=0.22, random_state=2)
    table, held_out = (
        _moons("two moons, a tenth of the labels wrong", X, moon),
        _moons("1,000 new rows", X_new, moon_new),
    )
    classifier = mp.MarginPathClassifier(
        gamma=14, method="inertial", n_iter_no_change=900, random_state=SEED
    )  # long past the best step, to where the wrong labels are learnt too
    model = Model.fit(table, classifier)
    return report.write(model, folder / "report.html", held_out)


def _moons(name: str, X: np.ndarray, moon: np.ndarray) -> Table:
    pd = require("pandas", extra="frame", what="Pages")
    return Table(name, pd.DataFrame(X, columns=["x", "y"]), np.array(["upper", "lower"])[moon], "moon")


def draw(demo: Demo) -> Any:
    """Draw the errors, and the certified interval that closes, along the steps: a matplotlib figure."""
    Figure = require("matplotlib.figure", extra="plot", what="Pictures").Figure
    figure = Figure(figsize=(11, 4.2), layout="constrained", facecolor="white")
    figure.get_layout_engine().set(wspace=0.06)
    left, right = figure.subplots(1, 2)
    _draw_errors(left, demo)
    left.yaxis.set_major_formatter(lambda share, position: f"{share:.0%}")
    _draw_margins(right, demo)
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xlim(1, demo.last)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlabel("step $t$")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#E6E6E6", linewidth=0.8)
        axes.set_axisbelow(True)
    return figure


def _draw_errors(axes: Any, demo: Demo) -> None:
    t, best, share = np.arange(1, demo.last + 1), demo.best, demo.n_flipped / demo.n_train
    train, held_out = demo.train_error, demo.held_out_error
    axes.axhline(share, color=_GREY, linewidth=1, linestyle="--", zorder=1)
    axes.plot(t, train[1:], color=_BLUE, linewidth=2, clip_on=False)
    axes.plot(t, held_out[1:], color=_VERMILION, linewidth=2)
    axes.plot(best, held_out[best], "o", color=_VERMILION, markersize=9, markeredgecolor="white")
    axes.set_ylim(0, 1.12 * train[1])
    axes.set_ylabel("error (share of samples)")
    axes.set_title("Stopping in time ignores the wrong labels", loc="left", fontweight="bold")
    axes.text(demo.last, share, "training labels that are wrong", color=_GREY, ha="right", va="bottom")
    axes.text(4.5, train[4], "training error", color=_BLUE, va="bottom")
    axes.text(4.5, held_out[4], "held-out error", color=_VERMILION, va="bottom")
    axes.annotate(
        f"best: {held_out[best]:.1%}\nat step {best}",
        (best, held_out[best]),
        xytext=(0, 45),
        textcoords="offset points",
        color=_VERMILION,
        ha="center",
        arrowprops={"arrowstyle": "-", "color": _VERMILION, "shrinkB": 4},
    )


def _draw_margins(axes: Any, demo: Demo) -> None:
    t, lower, upper = np.arange(1, demo.last + 1), demo.lower, demo.upper
    axes.fill_between(t, lower[1:], upper[1:], color=_GREEN, alpha=0.15, linewidth=0)
    axes.plot(t, upper[1:], color=_GREEN, linewidth=2)
    axes.plot(t, lower[1:], color=_GREEN, linewidth=2)
    axes.set_ylabel(r"margin  $\mathrm{min}_i \; y_i \, f(x_i) \, / \, \|w\|$")
    axes.set_title("Every step bounds the maximum margin", loc="left", fontweight="bold")
    axes.text(5, upper[5] + 0.01, "no classifier has a larger margin", color=_GREEN, va="bottom")
    axes.text(20, lower[20] - 0.01, "margin of the classifier at step $t$", color=_GREEN, va="top")
    axes.text(1.4, (lower[1] + upper[1]) / 2, "the maximum margin\nis in here", color=_GREY, va="center")
    axes.annotate(
        f"after {demo.last} steps\n{interval(*demo.certificate)}",
        (demo.last, upper[-1]),
        xytext=(0, 8),
        textcoords="offset points",
        color=_GREEN,
        ha="right",
    )
