"""Whether the fields of a record hold what their annotations say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from numbers import Integral, Real
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from .records import is_registered


def check_fields(cls: type, values: Mapping[str, Any]) -> None:
    """Raise ValueError unless the values are those of all the fields of a dataclass, of the right types.

    Examples
    --------
    >>> from marginpath import PowerDecay
    >>> check_fields(PowerDecay, {"lambda0": "1", "power": 1.0})
    Traceback (most recent call last):
        ...
    ValueError: The field lambda0 of PowerDecay cannot be a str.
    """
    if set(values) != {field.name for field in fields(cls)}:
        raise ValueError(f"A {cls.__name__} has other fields than {', '.join(map(str, values))}.")
    hints = _hints(cls)
    for name, value in values.items():
        if not _fits(value, hints[name]):
            raise ValueError(f"The field {name} of {cls.__name__} cannot be a {type(value).__name__}.")


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _fits(value: Any, hint: Any) -> bool:
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind is Any:
        return True
    if kind in (Union, UnionType):
        return any(_fits(value, each) for each in inner)
    if kind is Callable:
        return callable(value)
    if kind in (int, float):
        return isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
    if getattr(kind, "_is_protocol", False):
        return is_registered(type(value))
    return isinstance(value, kind) and _parts_fit(value, kind, inner)


def _parts_fit(value: Any, kind: Any, inner: tuple[Any, ...]) -> bool:
    if kind is dict:
        return all(_fits(k, inner[0]) and _fits(v, inner[1]) for k, v in value.items())
    if kind in (list, tuple):  # a tuple is always one of any length here
        return all(_fits(item, inner[0]) for item in value)
    return True
