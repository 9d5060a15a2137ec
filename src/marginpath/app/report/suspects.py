"""Points that are probably mislabelled: contradicted by their fold, and long at the bound of the dual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..modelfile import Model


@dataclass(frozen=True, eq=False)
class Suspicion:
    """What speaks against the label of every training row.

    Attributes
    ----------
    contradiction : array (n,)
        By how much another class is preferred at the chosen step, by the fold that did not see the row where
        there are folds; negative where the label is confirmed.
    suggested : array (n,)
        The class that is preferred.
    steps_at_bound : array (n,)
        For how many steps the row stayed at the bound C of its dual weight.
    weight : array (n,)
        The dual weight at the last step.
    """

    contradiction: np.ndarray
    suggested: np.ndarray
    steps_at_bound: np.ndarray
    weight: np.ndarray

    def ranked(self, most: int) -> np.ndarray:
        """Return the rows whose label is contradicted, the most suspicious first."""
        order = np.lexsort((-self.weight, -self.contradiction))
        return order[self.contradiction[order] > 0][:most]


def suspicion(model: Model) -> Suspicion:
    """Judge every row that the model was fitted on."""
    clf = model.classifier
    codes, n_classes = clf.codes_, len(clf.classes_)
    decision = getattr(clf, "out_of_fold_", None)
    if decision is None:
        decision = clf.decision_function(clf.X_fit_)
    contradiction, suggested = _contradiction(np.nan_to_num(decision), codes, n_classes)
    weights = -clf.models_.u(clf.n_iter_)
    if clf.columns_.in_pairs:  # a row is in many pairs
        own, weight = None, weights.max(axis=1)
    else:
        own = np.zeros_like(codes) if n_classes == 2 else codes
        weight = weights[np.arange(len(codes)), own]
    at_bound = sum(states(clf, step, own) == 2 for step in range(1, clf.n_iter_ + 1))
    return Suspicion(contradiction, suggested, np.asarray(at_bound), weight)


def states(clf: Any, step: int, own: np.ndarray | None = None) -> np.ndarray:
    """Return 0, 1 or 2 for every row: no support vector, one, one at the bound; ``own`` picks columns."""
    u, mass, bound = -clf.models_.u(step), clf.models_.mass, clf.models_.bound(step)
    if own is not None:
        rows = np.arange(len(u))
        u = u[rows, own]
        mass = mass[rows, own] if mass.ndim == 2 else mass
    elif mass.ndim == 1:
        mass = mass[:, None]
    full = (u > 0) & (u >= np.where(mass > 0, bound, 0) * mass * (1 - 4 * np.finfo(u.dtype).eps))
    state = np.where(full, 2, np.where(u > 0, 1, 0))
    return np.asarray(state if state.ndim == 1 else state.max(axis=1), dtype=np.uint8)


def _contradiction(decision: np.ndarray, codes: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    if n_classes == 2:
        return np.where(codes == 1, -decision, decision), (decision > 0).astype(int)
    rows = np.arange(len(codes))
    others = decision.copy()
    others[rows, codes] = -np.inf
    return others.max(axis=1) - decision[rows, codes], decision.argmax(axis=1)
