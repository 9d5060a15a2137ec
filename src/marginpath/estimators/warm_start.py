"""What a warm start must find again: the data and the settings of the fit that it goes on with."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from ..gram.fingerprints import data_digest
from ..gram.samples import samples_of

#: Settings that say how far to go, what to keep and with what means; all others define the path.
MAY_CHANGE = (
    "max_iter",
    "time_limit",
    "tol",
    "n_iter_no_change",
    "selection",
    "calibration",
    "cache_size",
    "n_jobs",
    "verbose",
)


def defined_by(
    settings: dict[str, Any], X: Any, classes: np.ndarray, codes: np.ndarray, weight: Any, groups: Any
) -> dict[str, Any]:
    """Return what defines the path of a fit: its settings as they are, its data as digests of all their bits.

    Examples
    --------
    >>> labels, codes = np.array(["cat", "dog"]), np.array([0, 1])
    >>> fit = defined_by({"gamma": 0.5, "verbose": 0}, np.eye(2), labels, codes, None, None)
    >>> require_same(fit, {**fit, "gamma": 0.7})
    Traceback (most recent call last):
        ...
    ValueError: warm_start=True goes on with the same samples and classes and the same settings, but gamma
    differ(s) from the last fit. Only max_iter, time_limit, tol, n_iter_no_change, selection, calibration,
    cache_size, n_jobs, verbose may change; set warm_start=False to begin anew.
    """
    kept = {name: _copied(value) for name, value in settings.items() if name not in MAY_CHANGE}
    return {
        **kept,
        "X": data_digest(samples_of(X).codes(), X.shape[1]),
        "y": [_digest(codes), *map(str, classes)],
        "sample_weight": None if weight is None else _digest(weight),
        "groups": None if groups is None else _digest(np.unique(groups, return_inverse=True)[1]),
    }


def require_same(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise where anything that defines the path differs."""
    changed = [name for name in now if not _equal(before.get(name), now[name])]
    if changed:
        raise ValueError(
            f"warm_start=True goes on with the same samples and classes and the same settings, but "
            f"{', '.join(changed)} differ(s) from the last fit. Only {', '.join(MAY_CHANGE)} may change; set "
            f"warm_start=False to begin anew."
        )


def _copied(value: Any) -> Any:
    return dict(value) if isinstance(value, dict) else value


def _digest(values: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(values).data).hexdigest()


def _equal(one: Any, other: Any) -> bool:
    if one is other or type(one) is not type(other):
        return one is other
    try:
        return bool(np.all(one == other))
    except ValueError:  # arrays of other shapes, or within lists
        return False
