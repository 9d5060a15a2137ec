"""What is observed along a path: names for what is asked for, and the values by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..arrays import is_numpy, to_numpy
from ..files.records import register
from ..metrics import METRICS, Metric

Observe: TypeAlias = str | Metric | Sequence[str | Metric] | Mapping[str, Metric]


@register
class Rows(dict[str, list[Any]]):
    """Observed values by name; those on a GPU come over when they are read, so that a run waits for none."""

    def add(self, row: Mapping[str, Any]) -> None:
        """Append a value to every list."""
        for name, value in row.items():
            self.setdefault(name, []).append(value)

    def drop(self) -> None:
        """Take the last value from every list."""
        for values in dict.values(self):
            values.pop()

    def copy(self) -> Rows:
        """Return lists that can grow without changing these; what is on a GPU stays there."""
        return Rows((name, list(values)) for name, values in dict.items(self))

    def at(self, name: str, row: int) -> np.ndarray:
        """Return one of the values under that name, and leave the others where they are."""
        return to_numpy(super().__getitem__(name)[row])

    def where_kept(self, name: str, row: int) -> Any:
        """Return one of the values under that name where it is."""
        return super().__getitem__(name)[row]

    def __getitem__(self, name: str) -> list[Any]:
        """Return the values under that name, as NumPy arrays and numbers."""
        values = super().__getitem__(name)
        for i in range(len(values) - 1, -1, -1):
            if not hasattr(values[i], "device") or is_numpy(values[i]):
                break
            values[i] = to_numpy(values[i])
        return values

    def values(self) -> Any:
        """Return the lists."""
        return [self[name] for name in self]

    def items(self) -> Any:
        """Return the names and the lists."""
        return [(name, self[name]) for name in self]


def as_observers(observe: Observe) -> dict[str, Metric]:
    """Give every observed quantity a name."""
    if isinstance(observe, Mapping):
        named: list[tuple[str, Any]] = list(observe.items())
    else:
        items: Iterable[Any] = [observe] if isinstance(observe, str) or callable(observe) else observe
        named = [(x if isinstance(x, str) else getattr(x, "__name__", type(x).__name__), x) for x in items]
    found: dict[str, Metric] = {}
    for name, item in named:
        if not callable(item) and item not in METRICS:
            raise ValueError(f"{item!r} cannot be observed; known are {', '.join(METRICS)}, or a callable.")
        if name in found or name in ("step", "seconds"):
            raise ValueError(f"The name {name!r} is taken: pass a mapping that gives each its own name.")
        found[name] = item if callable(item) else METRICS[item]
    return found
