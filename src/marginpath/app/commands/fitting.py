"""The options of a fit, and the fit of a table with its progress bar."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ...estimators import LinearMarginPathClassifier, MarginPathClassifier
from ...estimators.choices import CHOICES
from ...validation.cross_validation import SELECTIONS
from ..modelfile import Model
from ..tables import Columns, NotThere, Table, Unusable, check_target, remarks
from .talking import tell

KERNELS = ("rbf", "linear", "poly", "laplacian", "cosine")
STOPPING = (*CHOICES, "none")

_DATA, _PATH = "Columns", "Path"

Target = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", metavar="COLUMN", help="The column with the classes.", rich_help_panel=_DATA
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop", metavar="COLUMN", help="Leave a column out. Repeat it for more.", rich_help_panel=_DATA
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical",
        metavar="COLUMN",
        help="Take the numbers of a column as categories (codes, not quantities).",
        rich_help_panel=_DATA,
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="WORD",
        help="A word that stands for a missing value in a csv file, beside NA, nan and nothing at all.",
        rich_help_panel=_DATA,
    ),
]
Impute = Annotated[
    bool,
    typer.Option(
        "--impute",
        help="Fill missing values: the median of numbers, the most frequent category.",
        rich_help_panel=_DATA,
    ),
]
NoScale = Annotated[
    bool,
    typer.Option(
        "--no-scale",
        help="Take numbers as they are; by default each column gets mean 0 and deviation 1.",
        rich_help_panel=_DATA,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="csv, parquet, svmlight or npz, where the ending does not tell.",
        rich_help_panel=_DATA,
    ),
]
Kernel = Annotated[
    str, typer.Option("--kernel", metavar="KERNEL", help=f"{', '.join(KERNELS)}.", rich_help_panel=_PATH)
]
Gamma = Annotated[
    str,
    typer.Option(
        "--gamma",
        metavar="GAMMA",
        help="Of rbf, poly and laplacian: scale, auto, a number; or tuned (rbf): chosen by the folds.",
        rich_help_panel=_PATH,
    ),
]
Degree = Annotated[int, typer.Option("--degree", min=1, help="Of poly.", rich_help_panel=_PATH)]
Stopping = Annotated[
    str,
    typer.Option(
        "--stopping",
        metavar="RULE",
        help="What chooses the step: cv, holdout, margin, discrepancy (with --noise-level), none.",
        rich_help_panel=_PATH,
    ),
]
Folds = Annotated[
    int, typer.Option("--cv", min=2, help="Folds of the cross-validation.", rich_help_panel=_PATH)
]
Selection = Annotated[
    str,
    typer.Option(
        "--selection",
        metavar="HOW",
        help="The best score of neighbouring steps together (smooth), of a step by itself (best), or the "
        "first step within a standard error of the best (one_se).",
        rich_help_panel=_PATH,
    ),
]
Scoring = Annotated[
    str | None,
    typer.Option(
        "--scoring",
        metavar="SCORE",
        help="What the folds score, by scikit-learn's names: balanced_accuracy, f1, roc_auc, …",
        rich_help_panel=_PATH,
    ),
]
NoiseLevel = Annotated[
    float | None,
    typer.Option(
        "--noise-level", min=0, max=1, help="Share of labels to take for wrong.", rich_help_panel=_PATH
    ),
]
Balanced = Annotated[
    bool, typer.Option("--balanced", help="Let rare classes weigh as much as others.", rich_help_panel=_PATH)
]
MaxIter = Annotated[
    int | None, typer.Option("--max-iter", min=1, help="At most so many steps.", rich_help_panel=_PATH)
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit", metavar="SECONDS", help="Keep the best step so far then.", rich_help_panel=_PATH
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Of everything that is drawn.", rich_help_panel=_PATH)]


@dataclass(frozen=True)
class Settings:
    """What a fit was asked for."""

    kernel: str = "rbf"
    gamma: str = "scale"
    degree: int = 3
    stopping: str = "cv"
    cv: int = 5
    selection: str = "smooth"
    scoring: str | None = None
    noise_level: float | None = None
    balanced: bool = False
    max_iter: int | None = None
    time_limit: float | None = None
    seed: int = 0
    impute: bool = False
    no_scale: bool = False
    categorical: tuple[str, ...] = ()

    def classifier(self) -> Any:
        """Return the classifier, not fitted yet."""
        for name, value, known in (
            ("--kernel", self.kernel, KERNELS),
            ("--stopping", self.stopping, STOPPING),
            ("--selection", self.selection, SELECTIONS),
        ):
            if value not in known:
                raise NotThere(f"{name} {value} is none of {', '.join(known)}.")
        common: dict[str, Any] = {
            "stopping": None if self.stopping == "none" else self.stopping,
            "cv": self.cv,
            "selection": self.selection,
            "scoring": self.scoring,
            "noise_level": self.noise_level,
            "class_weight": "balanced" if self.balanced else None,
            "max_iter": self.max_iter or "auto",
            "time_limit": self.time_limit,
            "random_state": self.seed,
        }
        if self.kernel == "linear":
            return LinearMarginPathClassifier(**common)
        return MarginPathClassifier(
            self.kernel, gamma=_gamma(self.gamma), degree=self.degree, coef0=1.0, **common
        )


def fit_table(table: Table, settings: Settings, rows: np.ndarray | None = None) -> Model:
    """Fit, with remarks on the columns and a progress bar on a terminal."""
    classifier = settings.classifier()
    check_target(table, settings.cv if settings.stopping == "cv" else None)
    if not table.is_sparse:
        for remark in remarks(table, Columns.of(table, settings.categorical)):
            tell(f"Note: {remark}")
    with _progress(classifier) as watch:
        return Model.fit(
            table,
            classifier,
            categorical=settings.categorical,
            impute=settings.impute,
            scale=not settings.no_scale,
            watch=watch,
            rows=rows,
        )


def _gamma(text: str) -> str | float:
    if text in ("scale", "auto", "tuned"):
        return text
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise NotThere(f"--gamma {text} is neither scale, auto or tuned nor a positive number.")
    return value


@contextmanager
def _progress(classifier: Any) -> Iterator[Any]:
    """Show step, error and the margin, as estimated, on the last line of the terminal while the fit runs."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    terminal = Console(stderr=True)
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as progress:
        task = progress.add_task("preparing", total=None)

        def watch(problem: Any, state: Any, path: Any) -> None:
            progress.update(task, description=progress_line(path))

        yield watch


def progress_line(path: Any) -> str:
    """Return where a path stands, in a line."""
    if "scores" in path.rows:
        error = f"cv error {1 - float(np.mean(path['scores'][-1])):.1%}"
    else:
        error = f"training error {float(np.mean(path['error'][-1])):.1%}"
    bounds = path["estimated_margin_bounds"].reshape(len(path.steps), 2, -1)
    lower, upper = bounds[:, 0].max(axis=0).min(), bounds[:, 1].min(axis=0).min()
    return f"step {path.steps[-1]}  {error}  maximum margin in about [{lower:.3g}, {upper:.3g}]"


__all__ = ["Settings", "Unusable", "fit_table", "progress_line"]
