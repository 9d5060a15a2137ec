"""What a file of a fitted classifier contains: the types that skops has to be told to trust."""

from .. import estimators, tables  # noqa: F401  with them, all that a classifier can hold is registered
from ..files.records import registered

__all__ = ["SKOPS_TRUSTED"]

#: All records of this package, to give to ``skops.io.load(…, trusted=…)``.
SKOPS_TRUSTED = tuple(
    sorted(
        f"{cls.__module__}.{cls.__qualname__}"
        for cls in registered()
        if cls.__module__.startswith("marginpath.")
    )
)
