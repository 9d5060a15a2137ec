"""Tables from files: csv, parquet, svmlight and npz, and how their columns become numbers."""

from .columns import Columns, check_target, remarks
from .reading import FORMATS, NotThere, Table, Unusable, format_of, read

__all__ = [
    "FORMATS",
    "Columns",
    "NotThere",
    "Table",
    "Unusable",
    "check_target",
    "format_of",
    "read",
    "remarks",
]
