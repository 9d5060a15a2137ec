"""Whether a target looks like classes, and what to do with classes of very few rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .reading import NotThere, Table, Unusable

#: What ``--rare`` may be, and the class that rare ones are merged into.
RARE, OTHER = ("drop", "merge", "keep"), "other"


def with_rare(table: Table, how: str, below: int) -> Table:
    """Return a table without classes of fewer than ``below`` rows, or with all of them in one.

    Examples
    --------
    >>> import pandas as pd
    >>> y = np.array(["a", "a", "b", "b", "c"])
    >>> table = with_rare(Table("t", pd.DataFrame({"x": range(5)}), y, "kind"), "drop", 2)
    >>> table.y.tolist(), table.notes[0].partition(":")[0]
    (['a', 'a', 'b', 'b'], "The class 'c' has 1 row")
    """
    if how not in RARE:
        raise NotThere(f"--rare {how} is none of {', '.join(RARE)}.")
    assert table.y is not None
    classes, counts = np.unique(table.y, return_counts=True)
    rare = classes[counts < below]
    if how == "keep" or not len(rare):
        return table
    is_rare = np.isin(table.y, rare)
    named = ", ".join(repr(str(label)) for label in rare[:5]) + (", …" if len(rare) > 5 else "")
    share = f"The class {named} has {_rows(int(is_rare.sum()))}"
    if len(rare) > 1:
        share = f"The classes {named} have fewer than {below} rows each, {_rows(int(is_rare.sum()))} in all"
    if how == "merge":
        y = np.where(is_rare, OTHER, table.y.astype(str))
        return replace(table, y=y, notes=(*table.notes, f"{share}: merged into the class {OTHER!r}."))
    note = f"{share}: left out. --rare merge makes one class of all such, --rare keep keeps them."
    kept = table.rows(np.flatnonzero(~is_rare))
    return replace(kept, notes=(*kept.notes, note))


def check_target(table: Table, folds: int | None, held_out: float | None = None) -> None:
    """Raise unless the target looks like classes, of which every fold or a held-out share can have some."""
    assert table.y is not None
    classes, counts = np.unique(table.y, return_counts=True)
    if len(classes) < 2:
        every = f"is {classes[0]!s} in every row" if len(classes) else "has no class of enough rows"
        raise Unusable(f"The target {table.target!r} {every}; two classes are needed.")
    if len(classes) > max(20, len(table.y) // 5):
        quantity = "a quantity" if table.y.dtype.kind in "iuf" else "names"
        raise Unusable(
            f"The target {table.target!r} has {len(classes)} different values in {len(table.y)} "
            f"rows: {quantity} rather than classes. Is it the right column? A quantity can be cut into "
            f"classes first."
        )
    if folds and counts.max() < folds:
        raise Unusable(
            f"No class has as many rows as there are folds, {folds}: pass --cv {max(2, int(counts.max()))}, "
            f"or collect more rows."
        )
    if held_out is not None and (counts.min() < 2 or held_out * len(table.y) < len(classes)):
        rare, count = classes[np.argmin(counts)], int(counts.min())
        raise Unusable(
            f"{held_out:.0%} of {len(table.y)} rows cannot hold out some of each of the {len(classes)} "
            f"classes (the class {str(rare)!r} has {_rows(count)}): use --stopping cv, or --rare drop with "
            f"--rare-below {count + 1}."
        )


def _rows(count: int) -> str:
    return f"{count} row{'s' if count != 1 else ''}"
