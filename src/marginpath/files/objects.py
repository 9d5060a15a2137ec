"""Records as JSON and arrays, so that a file can hold them and run nothing."""

from __future__ import annotations

import math
import os
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Literal, TypeVar

import numpy as np
import scipy.sparse as sp

from . import archive as storage
from .fields import check_fields
from .records import class_named, is_registered

FORMAT = 4
_SMALL = 16  # numbers that are stored as they are
_INLINE = 1024  # bytes that need no array of their own, which has some 240 bytes beside its numbers
_MANY = 64  # numbers, of which those that are not zero are stored alone
_SPARSE = {cls.__name__: cls for cls in (sp.csr_array, sp.csr_matrix)}
T = TypeVar("T")


def save(file: str | os.PathLike[str], record: Any) -> None:
    """Write a record to one file, whole or not at all."""
    description, arrays = pack(record)
    storage.write(file, {"format": FORMAT, "content": description}, arrays)


def load(file: str | os.PathLike[str], cls: type[T], what: str = "file", advice: str = "") -> T:
    """Read a record of that class; ``what`` such a file is called where this is none, and what to do then."""
    with open(file, "rb") as stream:
        try:
            header, arrays = storage.read(stream)
            version = header["format"]
            record = unpack(header["content"], arrays) if version == FORMAT else None
            if version == FORMAT and not isinstance(record, cls):
                raise ValueError(f"The file holds a {type(record).__name__}.")
        except Exception as error:  # whatever a file can do wrong
            raise ValueError(
                f"{os.fspath(file)} is not a marginpath {what}, or it is damaged.{advice}"
            ) from error
    if not isinstance(record, cls):
        raise ValueError(f"{os.fspath(file)} was written by another version of marginpath. Write it anew.")
    return record


def pack(value: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """Return a description of JSON values and the arrays that it names.

    Examples
    --------
    >>> description, arrays = pack({"a": np.arange(3), "b": (1, None)})
    >>> unpack(description, arrays)
    {'a': array([0, 1, 2]), 'b': (1, None)}
    """
    packer = _Packer()
    return packer.describe(value), packer.arrays


def unpack(description: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return the value again; raise any kind of exception where it is not described as :func:`pack` does."""
    return _Unpacker(arrays).restore(description)


class _Packer:
    """Describes values one after the other, and gathers their arrays."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.names: dict[int, str] = {}
        self.shorter: dict[int, tuple[np.ndarray, np.ndarray | None]] = {}  # by id, with that array

    def stored(self, array: np.ndarray) -> str:
        """Name an array; one that comes again has its name, and stays in ``arrays``, so that its id does."""
        name = self.names.setdefault(id(array), f"array{len(self.arrays)}")
        self.arrays[name] = array
        return name

    def describe(self, value: Any) -> Any:
        """Return what JSON can hold of a value."""
        kind = type(value)
        if value is None or kind in (bool, int, float, str):
            return value
        if kind in (list, tuple):
            return [kind.__name__, [self.describe(item) for item in value]]
        if kind is dict:
            return ["dict", [[self.describe(key), self.describe(item)] for key, item in value.items()]]
        if isinstance(value, np.ndarray):
            if value.dtype.kind == "O":
                return ["objects", list(value.shape), [self.describe(item) for item in value.ravel()]]
            return self._numbers(value)
        if isinstance(value, np.generic):
            return ["scalar", self.stored(np.asarray(value))]
        if isinstance(value, slice):
            return ["slice", [value.start, value.stop, value.step]]
        if isinstance(value, np.dtype):
            return ["dtype", value.str]
        if isinstance(value, type) and issubclass(value, np.generic):
            return ["type", np.dtype(value).str]
        if kind.__name__ in _SPARSE:
            parts = [self.stored(part) for part in (value.data, value.indices, value.indptr)]
            return ["sparse", kind.__name__, parts, list(value.shape)]
        return self._record(value)

    def _numbers(self, value: np.ndarray) -> Any:
        if _is_mostly_zero(value):
            order: Literal["C", "F"] = "C" if value.flags.c_contiguous else "F"
            flat = value.ravel(order=order)
            used = flat.view(np.uint64) != 0
            parts = [self._whole(part) for part in (np.packbits(used), flat[used])]
            return ["few", list(value.shape), order, *parts]
        return self._whole(value)

    def _whole(self, value: np.ndarray) -> Any:
        if id(value) not in self.shorter:
            self.shorter[id(value)] = (value, narrowed(value))
        small = self.shorter[id(value)][1]
        kept, wide = (value, []) if small is None else (small, [value.dtype.str])
        if kept.nbytes <= _INLINE and kept.dtype.kind in "biuf" and kept.flags.c_contiguous:
            return ["bytes", kept.dtype.str, list(kept.shape), b64encode(kept.tobytes()).decode(), *wide]
        return ["wide" if wide else "array", self.stored(kept), *wide]

    def _record(self, value: Any) -> Any:
        cls = type(value)
        if not is_registered(cls):
            raise TypeError(
                f"A file cannot hold an object of the class {cls.__module__}.{cls.__qualname__}. For a class "
                f"of your own use the decorator marginpath.files.records.register."
            )
        if isinstance(value, Enum):
            return ["enum", cls.__name__, value.value]
        if isinstance(value, dict):
            return ["columns", cls.__name__, {name: self.stored(np.asarray(x)) for name, x in value.items()}]
        names = [f.name for f in fields(value)] if is_dataclass(value) else list(vars(value))
        return ["record", cls.__name__, {name: self.describe(getattr(value, name)) for name in names}]


class _Unpacker:
    """Makes values of their descriptions, and of arrays."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self.arrays = arrays
        self.makers: dict[str, Callable[..., Any]] = {
            "list": self._items,
            "tuple": lambda items: tuple(self._items(items)),
            "dict": lambda items: {self.restore(key): self.restore(item) for key, item in items},
            "array": lambda name: arrays[name],
            "bytes": _from_bytes,
            "few": lambda shape, order, *parts: _from_few(shape, order, *self._items(parts)),
            "wide": lambda name, dtype: _widened(arrays[name], dtype),
            "scalar": lambda name: _scalar(arrays[name]),
            "objects": lambda shape, items: _objects(shape, self._items(items)),
            "slice": _slice,
            "dtype": _dtype,
            "type": lambda name: _dtype(name).type,
            "sparse": lambda cls, parts, shape: _sparse(cls, [arrays[part] for part in parts], shape),
            "enum": self._enum,
            "columns": self._columns,
            "record": self._record,
        }

    def restore(self, description: Any) -> Any:
        """Return the value that was described."""
        if not isinstance(description, list):
            if isinstance(description, dict):
                raise ValueError("A value is described by names alone.")
            return description
        kind, *rest = description
        return self.makers[kind](*rest)

    def _items(self, descriptions: Iterable[Any]) -> list[Any]:
        return [self.restore(each) for each in descriptions]

    def _record(self, name: Any, values: dict[str, Any]) -> Any:
        cls: type[Any] = class_named(name)
        state = {key: self.restore(value) for key, value in values.items()}
        if is_dataclass(cls):
            check_fields(cls, state)
            return cls(**state)
        if issubclass(cls, (Enum, dict)) or set(cls._get_param_names()) - set(state):
            raise ValueError(f"This is no description of a {name}.")
        value = object.__new__(cls)
        value.__dict__.update(state)
        return value

    def _columns(self, name: Any, columns: dict[str, Any]) -> Any:
        cls = class_named(name)
        if not issubclass(cls, dict):
            raise ValueError(f"A {name} has no columns.")
        return cls({key: list(self.arrays.pop(array)) for key, array in columns.items()})  # at most once each

    def _enum(self, name: Any, value: Any) -> Any:
        cls = class_named(name)
        if not issubclass(cls, Enum):
            raise ValueError(f"{name} has no words.")
        return cls(value)


def narrowed(array: np.ndarray) -> np.ndarray | None:
    """Return numbers in a shorter type that holds every one of them exactly; None where there is none.

    Examples
    --------
    >>> narrowed(np.arange(100)).dtype, narrowed(np.linspace(0, 1, 100)) is None
    (dtype('uint8'), True)
    """
    if array.size < _SMALL or array.dtype not in (np.float64, np.int64):
        return None
    if array.dtype == np.int64:
        dtype = np.result_type(np.min_scalar_type(array.min()), np.min_scalar_type(array.max()))
        return array.astype(dtype) if dtype.kind in "iu" and dtype.itemsize < 8 else None
    with np.errstate(over="ignore"):
        small = array.astype(np.float32)
    return small if np.array_equal(small, array) else None  # NaN stays as it is


def _is_mostly_zero(array: np.ndarray) -> bool:
    """Whether a map of zeros and the other numbers take less room: coefficients of pairs of classes do."""
    if array.dtype != np.float64 or not array.flags.forc or array.size < _MANY:
        return False
    return bool(2 * np.count_nonzero(array) < array.size)


def _from_bytes(dtype: Any, shape: list[int], text: str, wide: Any = None) -> np.ndarray:
    if (kind := _dtype(dtype)).kind not in "biuf":
        raise ValueError(f"Numbers are not of the type {dtype!r}.")
    array = np.frombuffer(b64decode(text, validate=True), dtype=kind).reshape(shape).copy()
    return array if wide is None else _widened(array, wide)


def _from_few(shape: list[int], order: Any, bits: np.ndarray, values: np.ndarray) -> np.ndarray:
    if values.dtype != np.float64 or bits.dtype != np.uint8 or len(bits) != -(-math.prod(shape) // 8):
        raise ValueError("A map of zeros does not fit its shape.")
    flat = np.zeros(math.prod(shape))
    flat[np.unpackbits(bits, count=flat.size).astype(bool)] = values
    return flat.reshape(shape, order=order)


def _widened(array: np.ndarray, dtype: Any) -> np.ndarray:
    if dtype not in (np.dtype(np.float64).str, np.dtype(np.int64).str):
        raise ValueError(f"Numbers are not stored in a shorter type than {dtype!r}.")
    return array.astype(dtype)


def _scalar(array: np.ndarray) -> Any:
    if array.ndim:
        raise ValueError("A scalar is an array without dimensions.")
    return array[()]


def _objects(shape: list[int], items: list[Any]) -> np.ndarray:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(shape)


def _slice(ends: list[Any]) -> slice:
    if not all(end is None or type(end) is int for end in ends):
        raise ValueError("A slice has whole ends.")
    return slice(*ends)


def _dtype(name: Any) -> np.dtype[Any]:
    if not isinstance(name, str) or (dtype := np.dtype(name)).kind not in "biufSUO":
        raise ValueError(f"{name!r} is no plain dtype.")
    return dtype


def _sparse(cls: str, parts: list[np.ndarray], shape: list[int]) -> Any:
    matrix = _SPARSE[cls](tuple(parts), shape=tuple(shape))
    matrix.check_format(full_check=True)  # compiled products read wherever the indices point
    return matrix
