"""What a fit was asked for, and the fit of a table with its progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from .options import KERNELS, KINDS, LOSSES, SELECTIONS, STOPPING
from .talking import tell

if TYPE_CHECKING:
    from ..modelfile import Model
    from ..tables import Table
    from .groups import Columns, Reading, ShortPath

#: Seconds between two lines of progress where there is no terminal to draw on.
SECONDS = 5.0


@dataclass(frozen=True)
class Settings:
    """What a fit was asked for."""

    kernel: str = "auto"
    gamma: str | None = None
    degree: int = 3
    stopping: str = "cv"
    cv: int = 5
    selection: str = "smooth"
    scoring: Any = None
    positive: str | None = None
    noise_level: float | None = None
    balanced: bool = False
    max_iter: int | None = None
    time_limit: float | None = None
    seed: int = 0
    no_scale: bool = False
    kinds: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    rare: str = "drop"
    rare_below: int = 2
    loss: str = "epsilon_insensitive"
    quantile: float = 0.5

    def __post_init__(self) -> None:
        """Refuse words that are none of those known, before anything is read."""
        from ..tables.reading import NotThere

        for name, value, words in (
            ("--kernel", self.kernel, KERNELS),
            ("--stopping", self.stopping, STOPPING),
            ("--selection", self.selection, SELECTIONS),
            ("--loss", self.loss, LOSSES),
        ):
            if value not in words:
                raise NotThere(f"{name} {value} is none of {', '.join(words)}.")
        _gamma(self.gamma)

    @classmethod
    def of(cls, reading: Reading, columns: Columns, path: ShortPath) -> Self:
        """Return what the groups of options say together."""
        return cls(
            **vars(path),
            kinds=kinds(columns.categorical, columns.as_kind),
            missing=tuple(reading.missing or ()),
            rare=columns.rare,
            rare_below=columns.rare_below,
        )

    @property
    def gamma_value(self) -> str | float:
        """Gamma, as the estimators take it."""
        return _gamma(self.gamma)

    def classifiers(self, features: Any) -> list[Any]:
        """Return the classifiers that the folds choose from, not fitted yet."""
        from ...estimators import LinearMarginPathClassifier, MarginPathClassifier
        from ...tables.classifier import KERNEL_ROWS, wide_gamma

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
        linear = LinearMarginPathClassifier(**common)
        automatic = self.kernel == "auto"
        sparse = hasattr(features, "tocsr")
        if self.kernel == "linear" or (automatic and (sparse or features.shape[0] > KERNEL_ROWS)):
            return [linear]
        judged = self.stopping in ("cv", "holdout")
        gamma = wide_gamma(features) if automatic and self.gamma is None else _gamma(self.gamma)
        kernel = "rbf" if automatic else self.kernel
        curved = MarginPathClassifier(kernel, gamma=gamma, degree=self.degree, coef0=1.0, **common)
        return [linear, curved] if automatic and judged else [curved]


def kinds(categorical: list[str] | None, asked: list[str] | None) -> tuple[tuple[str, str], ...]:
    """Return what columns are said to be, by --categorical and --as.

    Examples
    --------
    >>> kinds(["zip"], ["note=text"])
    (('zip', 'category'), ('note', 'text'))
    """
    from ..tables.reading import NotThere

    split = (word.rpartition("=") for word in asked or ())
    pairs = [(name, kind) for name, _, kind in split]
    for name, kind in pairs:
        if not name or kind not in KINDS:
            raise NotThere(f"--as {name}={kind}: it takes COLUMN=KIND, of the kinds {', '.join(KINDS)}.")
    return (*((name, "category") for name in categorical or ()), *pairs)


def fit_table(table: Table, settings: Settings) -> Model:
    """Fit, with remarks on the rows and the progress of the path."""
    from ..modelfile import Model
    from ..tables import NotThere, check_target, with_rare
    from .advice import advice

    table = with_rare(table, settings.rare, settings.rare_below)
    for note in table.notes:
        tell(f"Note: {note}")
    check_target(
        table,
        settings.cv if settings.stopping == "cv" else None,
        0.1 if settings.stopping == "holdout" else None,
    )
    if not table.is_sparse and (
        lacking := [name for name, _ in settings.kinds if name not in table.X.columns]
    ):
        raise NotThere(f"There is no column {lacking[0]!r} in {table.name}.")
    settings = with_positive(settings, table)
    with progress() as watch:
        model = Model.fit(
            table,
            candidates=settings.classifiers,
            kinds=dict(settings.kinds),
            scale=not settings.no_scale,
            missing=settings.missing,
            watch=watch,
        )
    return replace(model, advice=tuple(advice(model, table, settings)))


def with_positive(settings: Settings, table: Table) -> Settings:
    """Return settings whose score knows its positive class, where it needs one."""
    import numpy as np
    from sklearn.metrics import get_scorer_names

    from ...tables.scoring import OF_ONE_CLASS, PositiveScore
    from ..tables import NotThere

    assert table.y is not None
    classes, counts = np.unique(table.y, return_counts=True)
    names = [str(label) for label in classes]
    if settings.positive is not None and settings.positive not in names:
        raise NotThere(f"--positive {settings.positive} is none of the classes {', '.join(names[:8])}.")
    if settings.scoring is not None and settings.scoring not in get_scorer_names():
        raise NotThere(
            f"--scoring {settings.scoring} is none of scikit-learn's scores: accuracy, balanced_accuracy, "
            f"roc_auc, f1, f1_macro, average_precision, neg_log_loss, …"
        )
    if settings.scoring not in OF_ONE_CLASS:
        if settings.positive is not None:
            raise NotThere(f"--positive goes with --scoring {', '.join(OF_ONE_CLASS)}.")
        return settings
    if len(names) > 2:
        raise NotThere(
            f"--scoring {settings.scoring} is about two classes and there are {len(names)}: use "
            f"--scoring f1_macro or balanced_accuracy."
        )
    positive = settings.positive or names[int(np.argmin(counts))]
    if settings.positive is None:
        tell(f"Note: --scoring {settings.scoring} is that of the rarer class {positive!r}; else --positive.")
    return replace(settings, scoring=PositiveScore(settings.scoring, positive))


def _gamma(text: str | None) -> str | float:
    from ..tables.reading import NotThere

    if text is None:
        return "scale"
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
def progress() -> Iterator[Callable[..., None]]:
    """Show step, error and the margin, as estimated: on the last line of a terminal, else now and then."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    terminal = Console(stderr=True)
    begin = last = time.monotonic()
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as bar:
        task = bar.add_task("preparing", total=None)

        def watch(problem: Any, state: Any, path: Any) -> None:
            nonlocal last
            line = progress_line(path)
            bar.update(task, description=line)
            if not terminal.is_terminal and time.monotonic() - last >= SECONDS:
                last = time.monotonic()
                tell(f"{last - begin:.0f} s: {line}")

        yield watch


def progress_line(path: Any) -> str:
    """Return where a path stands, in a line."""
    import numpy as np

    if "scores" in path.rows:
        error = f"cv error {1 - float(np.mean(path['scores'][-1])):.1%}"
    else:
        error = f"training error {float(np.mean(path['error'][-1])):.1%}"
    bounds = path["estimated_margin_bounds"].reshape(len(path.steps), 2, -1)
    lower, upper = bounds[:, 0].max(axis=0).min(), bounds[:, 1].min(axis=0).min()
    return f"step {path.steps[-1]}  {error}  maximum margin in about [{lower:.3g}, {upper:.3g}]"
