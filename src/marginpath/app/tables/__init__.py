"""Tables from files: csv, parquet, svmlight and npz, and whether their targets are classes."""

from .reading import FORMATS, NotThere, Table, Unusable, format_of, read
from .targets import check_target, with_rare

__all__ = [
    "FORMATS",
    "NotThere",
    "Table",
    "Unusable",
    "check_target",
    "format_of",
    "read",
    "with_rare",
]
