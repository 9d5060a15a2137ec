"""What a fit would change: a short list, with the option for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...tables.encodings import Number
from ...tables.parsing import as_number
from ..quality import is_constant
from ..tables.reading import Table

if TYPE_CHECKING:
    from ..modelfile import Model
    from .fitting import Settings

#: A class with a smaller share of the rows than this part of an equal one is rare enough for --balanced.
MINORITY = 0.2
#: And than this part, so rare that a constant model may be due to it.
UNEVEN = 0.6
#: Spreads of unscaled columns that differ by more than this hide the smaller ones.
UNSCALED = 10.0


def advice(model: Model, table: Table, settings: Settings) -> list[str]:
    """Return a sentence for everything that another option would probably make better."""
    return [
        *_on_classes(model, settings),
        *([] if model.is_sparse else _on_columns(model, table, settings)),
    ]


def _on_classes(model: Model, settings: Settings) -> list[str]:
    clf = model.classifier
    counts = np.bincount(clf.codes_, minlength=len(clf.classes_))
    rare, share = model.classes[int(counts.argmin())], counts.min() / counts.sum()
    score = "" if settings.scoring else ", --scoring balanced_accuracy"
    if is_constant(model):
        usual = model.classes[int(counts.argmax())]
        uneven = share < UNEVEN / len(counts) and not settings.balanced
        return [
            f"The model predicts {usual!r} for nearly every row: it has not learnt to tell the classes apart."
            + (f" Consider --balanced{score}." if uneven else " Perhaps no column tells them apart.")
        ]
    if share < MINORITY / len(counts) and not settings.balanced:
        return [f"{share:.1%} minority, class {rare!r}: consider --balanced{score}."]
    return []


def _on_columns(model: Model, table: Table, settings: Settings) -> list[str]:
    said = _left_out(model)
    for name, column in model.columns.items():
        if column.kind == "text" and "component" in model.prepare.encodings_[name].features(name)[0]:
            said.append(
                f"Column {name!r} is free text, taken in {column.n_features} components beside the others. "
                f"By itself it would be taken word by word: try the text alone too."
            )
        elif column.kind in ("category", "names") and (odd := _odd_ones(table.X[name])):
            said.append(
                f"Column {name!r} has numbers and also {', '.join(map(repr, odd))}, so each value is taken "
                f"as a category. If that means a missing value: --missing {_quoted(odd[0])}"
            )
        elif column.kind == "number" and _is_code(name, table.X[name]):
            said.append(
                f"Column {name!r} may hold codes rather than quantities: --categorical {_quoted(name)}"
            )
    return said + (_unscaled(model) if settings.no_scale else [])


def _left_out(model: Model) -> list[str]:
    names = [
        f"{name!r} ({column.why.partition(':')[0]})"
        for name, column in model.columns.items()
        if column.kind == "left out" and column.why != "asked for"
    ]
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return [f"Left out: {', '.join(names[:5])}{more}. To keep one: --as COLUMN=category"] if names else []


def _unscaled(model: Model) -> list[str]:
    X = model.classifier.X_fit_
    spread = {
        name: float(np.std(X[:, place]))
        for name, (place, scaling) in model.number_features.items()
        if isinstance(scaling, Number)
    }
    spread = {name: value for name, value in spread.items() if value > 0}
    if len(spread) < 2 or max(spread.values()) < UNSCALED * min(spread.values()):
        return []
    large, small = max(spread, key=spread.__getitem__), min(spread, key=spread.__getitem__)
    return [
        f"Unscaled columns: the spread of {large!r} is {spread[large] / spread[small]:,.0f} times that of "
        f"{small!r}, which hardly counts. Leave --no-scale out."
    ]


def _odd_ones(column: Any) -> list[str]:
    """Return what is no number in a column of text where nearly everything is."""
    words = [str(value).strip() for value in column.dropna()]
    bad = [word for word in words if as_number(word) is None]
    mostly = len(bad) < 0.2 * len(words) and len(words) >= 10
    return sorted(set(bad))[:3] if mostly else []


def _is_code(name: str, column: Any) -> bool:
    words = {*name.lower().replace("-", "_").replace(" ", "_").split("_"), name.lower()}
    return bool(words & {"zip", "zipcode", "postcode", "plz", "code"}) and column.nunique() > 10


def _quoted(name: str) -> str:
    return name if str(name).replace("_", "").replace("-", "").isalnum() else f'"{name}"'
