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
        last, share = np.full(n, -1), np.zeros((n, folds))
        for j, test in enumerate(splits):
            last[test] = j
            share[test, j] = 1.0 if weight is None else weight[test]
        share /= share.sum(axis=0)

        def moved(values: Any) -> Array:
            return xp.asarray(values, device=device(like))

        self._last = moved(last[:, None] == np.arange(folds))
        self._never = moved(last[:, None] < 0)
        self._share, self._codes = moved(share), moved(codes[:, None])

    def decisions(self, scores: Array) -> Array:
        """Return the decision value of every sample by the last fold that held it out, or NaN."""
        xp = namespace(scores)
        held = self._folds(scores)
        zero = xp.zeros_like(held[:, 0, 0])[:, None, None]
        found = -xp.sum(xp.where(self._last[:, None, :], held, zero), axis=2)
        return xp.where(self._never, xp.full_like(found, float("nan")), found)

    def accuracies(self, scores: Array) -> Array:
        """Return the share of the held-out samples of every fold that get their class."""
        xp = namespace(scores)
        values = self.columns.values(-xp.permute_dims(self._folds(scores), (0, 2, 1)))
        index = xp.argmax(values, axis=2) if self.shape[1] > 1 else xp.astype(values[:, :, 0] > 0, xp.int64)
        right = xp.astype(index == self._codes, xp.float64)
        return xp.sum(right * self._share, axis=0)

    def _folds(self, scores: Array) -> Array:
        """View the scores as (n, columns, folds), without the models of all the data."""
        return namespace(scores).reshape(scores, self.shape)[:, :, :-1]
