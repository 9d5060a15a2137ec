"""Out-of-fold decisions and accuracies where the scores are: nothing of size n leaves a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array, device, namespace
from .columns import Columns


class HeldOut:
    """Which fold held out which sample, beside the scores of a path over all folds.

    Parameters
    ----------
    splits : list of arrays
        The test samples of every fold.
    codes : array (n,)
        The classes of the samples, as 0, 1, ….
    columns : Columns
        What the columns of a fold stand for.
    weight : array (n,), optional
        Of the samples in the accuracy.
    like : array (n, columns × (folds + 1))
        The scores, for their library and device.

    Examples
    --------
    >>> import array_api_strict as xp
    >>> from marginpath.validation.columns import OneVsRest
    >>> scores = xp.asarray([[-1.0, 2.0, 0.0], [3.0, -4.0, 0.0]])  # two folds, then all the data
    >>> held = HeldOut([np.array([0]), np.array([1])], np.array([1, 0]), OneVsRest(2), None, scores)
    >>> held.decisions(scores), held.accuracies(scores)
    (Array([[1.],
       [4.]], dtype=array_api_strict.float64), Array([1., 0.], dtype=array_api_strict.float64))
    """

    def __init__(
        self,
        splits: list[np.ndarray],
        codes: np.ndarray,
        columns: Columns,
        weight: np.ndarray | None,
        like: Array,
    ) -> None:
        xp, n, folds = namespace(like), len(codes), len(splits)
        self.columns, self.shape = columns, (n, columns.n_columns, folds + 1)
        last, held = np.full(n, -1), np.zeros((n, folds), dtype=bool)
        for j, test in enumerate(splits):
            last[test], held[test, j] = j, True

        def moved(values: Any) -> Array:
            return xp.asarray(values, device=device(like))

        self._last = moved(last[:, None] == np.arange(folds))
        self._never = moved(last[:, None] < 0) if np.any(last < 0) else None
        share = xp.astype(moved(held), xp.float64)
        if weight is not None:
            share = share * moved(weight.astype(np.float64)[:, None])
        self._share, self._codes = share / xp.sum(share, axis=0), moved(codes[:, None])
        self._second, self._nothing = self._codes == 1, xp.zeros_like(share[0, 0])

    def decisions(self, scores: Array) -> Array:
        """Return the decision value of every sample by the last fold that held it out, or NaN."""
        xp = namespace(scores)
        held = self._folds(scores)
        zero = xp.zeros_like(held[:, 0, 0])[:, None, None]
        found = -xp.sum(xp.where(self._last[:, None, :], held, zero), axis=2)
        return (
            found if self._never is None else xp.where(self._never, xp.full_like(found, float("nan")), found)
        )

    def accuracies(self, scores: Array) -> Array:
        """Return the share of the held-out samples of every fold that get their class."""
        xp = namespace(scores)
        if self.shape[1] == 1:
            right = (self._folds(scores)[:, 0, :] < 0) == self._second  # decision values are −S
        else:
            values = self.columns.values(-xp.permute_dims(self._folds(scores), (0, 2, 1)))
            right = xp.argmax(values, axis=2) == self._codes
        return xp.sum(xp.where(right, self._share, self._nothing), axis=0)

    def _folds(self, scores: Array) -> Array:
        """View the scores as (n, columns, folds), without the models of all the data."""
        return namespace(scores).reshape(scores, self.shape)[:, :, :-1]
