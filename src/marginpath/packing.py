"""Objects of a few known classes as JSON and arrays, so that a file can hold them and run nothing."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

#: Gives the class behind a name, or None where it is not to be made.
Known: TypeAlias = Callable[[str], type | None]
_SPARSE = {cls.__name__: cls for cls in (sp.csr_array, sp.csr_matrix)}


def pack(value: Any, known: Known) -> tuple[Any, dict[str, np.ndarray]]:
    """Return a description of JSON values and the arrays that it names.

    Examples
    --------
    >>> description, arrays = pack({"a": np.arange(3), "b": (1, None)}, lambda name: None)
    >>> unpack(description, arrays, lambda name: None)
    {'a': array([0, 1, 2]), 'b': (1, None)}
    """
    arrays: dict[str, np.ndarray] = {}

    def stored(array: np.ndarray) -> str:
        key = f"array{len(arrays)}"
        arrays[key] = array
        return key

    def describe(value: Any) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, float, str):
            return value
        if kind in (list, tuple):
            return [kind.__name__, [describe(item) for item in value]]
        if kind is dict:
            return ["dict", [[describe(key), describe(item)] for key, item in value.items()]]
        if isinstance(value, np.ndarray):
            if value.dtype.kind == "O":
                return ["objects", list(value.shape), [describe(item) for item in value.ravel()]]
            return ["array", stored(value)]
        if isinstance(value, np.generic):
            return ["scalar", stored(np.asarray(value))]
        if isinstance(value, slice):
            return ["slice", [value.start, value.stop, value.step]]
        if isinstance(value, np.dtype):
            return ["dtype", value.str]
        if isinstance(value, type) and issubclass(value, np.generic):
            return ["type", np.dtype(value).str]
        if kind.__name__ in _SPARSE:
            parts = [stored(part) for part in (value.data, value.indices, value.indptr)]
            return ["sparse", kind.__name__, parts, list(value.shape)]
        return described_object(value)

    def described_object(value: Any) -> Any:
        name = f"{type(value).__module__}.{type(value).__qualname__}"
        if known(name) is not type(value):
            raise TypeError(f"A file cannot hold an object of the class {name}.")
        if isinstance(value, Enum):
            return ["enum", name, value.value]
        items = describe(dict(value.items())) if isinstance(value, dict) else None
        return ["object", name, describe(dict(vars(value))), items]

    return describe(value), arrays


def unpack(description: Any, arrays: dict[str, np.ndarray], known: Known) -> Any:
    """Return the value again; raise ValueError for a class that is not known."""

    def restore(description: Any) -> Any:
        if not isinstance(description, list):
            return description
        kind, *rest = description
        return makers[kind](*rest)

    def restored_class(name: str) -> type:
        if (cls := known(name)) is None:
            raise ValueError(f"The file names {name}, which is no part of a model.")
        return cls

    def restored_object(name: str, state: Any, items: Any) -> Any:
        cls: Any = restored_class(name)
        value = cls.__new__(cls)
        value.__dict__.update(restore(state))
        if items is not None:
            value.update(restore(items))
        return value

    def restored_objects(shape: list[int], items: list[Any]) -> np.ndarray:
        array = np.empty(len(items), dtype=object)
        array[:] = [restore(item) for item in items]
        return array.reshape(shape)

    makers: dict[str, Callable[..., Any]] = {
        "list": lambda items: [restore(item) for item in items],
        "tuple": lambda items: tuple(restore(item) for item in items),
        "dict": lambda items: {restore(key): restore(item) for key, item in items},
        "array": lambda key: arrays[key],
        "scalar": lambda key: arrays[key][()],
        "objects": restored_objects,
        "slice": lambda ends: slice(*ends),
        "dtype": np.dtype,
        "type": lambda name: np.dtype(name).type,
        "sparse": lambda cls, parts, shape: _SPARSE[cls](tuple(arrays[p] for p in parts), shape=tuple(shape)),
        "enum": lambda name, value: restored_class(name)(value),
        "object": restored_object,
    }
    return restore(description)
