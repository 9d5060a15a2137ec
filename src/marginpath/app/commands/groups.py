"""The options of a fit in groups, a record each, which commands share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from ..tables.reading import read
from . import options

if TYPE_CHECKING:
    from ..tables import Table


@dataclass(frozen=True)
class Reading:
    """How a table is read."""

    target: options.Target = None
    drop: options.Drop = None
    missing: options.Missing = None
    format: options.Format = None
    encoding: options.Encoding = None

    def read(self, file: Path) -> Table:
        """Return the table that a file holds."""
        return read(
            file,
            self.target,
            drop=self.drop or (),
            missing=self.missing or (),
            format=self.format,
            encoding=self.encoding,
        )


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are, and which rows are left out."""

    categorical: options.Categorical = None
    as_kind: options.As = None
    rare: options.Rare = "drop"
    rare_below: options.RareBelow = 2
    impute: options.Impute = False


@dataclass(frozen=True)
class ShortPath:
    """What is most often asked of a path."""

    kernel: options.Kernel = "auto"
    gamma: options.Gamma = None
    cv: options.Folds = 5
    balanced: options.Balanced = False
    seed: options.Seed = 0


@dataclass(frozen=True)
class WholePath(ShortPath):
    """All that can be asked of a path."""

    no_scale: options.NoScale = False
    degree: options.Degree = 3
    loss: options.Loss = options.LOSSES[0]
    quantile: options.Quantile = 0.5
    stopping: options.Stopping = "cv"
    selection: options.Selection = "smooth"
    scoring: options.Scoring = None
    positive: options.Positive = None
    noise_level: options.NoiseLevel = None
    max_iter: options.MaxIter = None
    time_limit: options.TimeLimit = None


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Spread the records that a command takes over the command line: every field is an option of its own.

    Examples
    --------
    >>> def fit(data: str, reading: Reading) -> None: ...
    >>> list(signature(with_groups(fit)).parameters)
    ['data', 'target', 'drop', 'missing', 'format', 'encoding']
    """
    hints = get_type_hints(command, include_extras=True)
    taken = signature(command).parameters
    groups = {name: hints[name] for name in taken if is_dataclass(hints[name])}

    def spread(**given: Any) -> None:
        made = {name: cls(**{f.name: given.pop(f.name) for f in fields(cls)}) for name, cls in groups.items()}
        command(**given, **made)

    parameters: list[Parameter] = []
    for name, parameter in taken.items():
        if name in groups:
            own = get_type_hints(groups[name], include_extras=True)
            parameters += [_named(f.name, own[f.name], f.default) for f in fields(groups[name])]
        else:
            parameters.append(_named(name, hints[name], parameter.default))
    spread.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
    spread.__name__, spread.__doc__ = command.__name__, command.__doc__
    return spread


def _named(name: str, annotation: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
