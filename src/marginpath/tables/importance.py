"""Which columns matter: how much worse the folds judge the rows they did not see, one column shuffled.

The models of the folds are there already, beside that of all the rows: nothing is fitted again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import get_scorer

from ..arrays import is_numpy
from ..files.records import register
from ..path.models import PackedDual
from ..path.path import Path
from ..problem import Problem
from ..solvers.base import State
from .scoring import Answers

#: Rows of all folds together that are judged; more would only make the spread smaller.
ROWS = 2000


@register
@dataclass(frozen=True, eq=False)
class Importance:
    """By how much the score of held-out rows falls where a column is shuffled.

    Attributes
    ----------
    names : tuple of str
        The columns, the most important first.
    mean, spread : arrays
        Mean and standard deviation of the loss of score over the folds and the repetitions.
    score : str
        Which score.
    """

    names: tuple[str, ...]
    mean: np.ndarray
    spread: np.ndarray
    score: str

    def __str__(self) -> str:
        """Return a line for each column."""
        width = max(map(len, self.names))
        lines = zip(self.names, self.mean, self.spread, strict=True)
        return "\n".join(f"{name:<{width}}  {mean:+.4f} ± {spread:.4f}" for name, mean, spread in lines)


@register
@dataclass(frozen=True, eq=False)
class FoldModels:
    """The classifiers of the folds at the kept step, and which of them did not see which row.

    Attributes
    ----------
    coefficients : array (n, folds, columns)
        f(x) = Σ_i coef_i k(x_i, x) + intercept for every fold.
    intercepts : array (folds, columns)
    held_out_by : array of int (n,)
        The fold that held a row out; −1 where none did.
    """

    coefficients: np.ndarray
    intercepts: np.ndarray
    held_out_by: np.ndarray

    def decisions(self, classifier: Any, X: Any, fold: int) -> np.ndarray:
        """Return the decision values of the classes by a fold's model, (rows,) for two classes."""
        return np.asarray(classifier.decisions_of(X, self.coefficients[:, fold], self.intercepts[fold]))

    def agree(self, classifier: Any) -> bool:
        """Whether they say of the rows they did not see what the fit says that they do."""
        out_of_fold = np.asarray(classifier.out_of_fold_)
        for fold in range(len(self.intercepts)):
            rows = np.flatnonzero(self.held_out_by == fold)[:20]
            expected = out_of_fold[rows]
            values = self.decisions(classifier, classifier.X_fit_[rows], fold)
            if values.shape != expected.shape or not np.allclose(values, expected, rtol=1e-3, atol=1e-3):
                return False
        return True


@dataclass
class FoldWatch:
    """A callback of a run that packs what the folds are at every step.

    A fit may run several paths, of several widths or precisions; ``kept`` finds the one that it kept.
    """

    runs: list[dict[int, tuple[PackedDual, np.ndarray]]] = field(default_factory=list)
    problems: list[tuple[np.ndarray, np.ndarray, int]] = field(default_factory=list)

    def __call__(self, problem: Problem, state: State, path: Path) -> None:
        """Keep a step."""
        if "scores" not in path.rows or not is_numpy(state.u):
            return
        if not self.runs or state.t in self.runs[-1]:
            folds = int(np.shape(path.rows.at("scores", -1))[0])
            self.runs.append({})
            self.problems.append((np.asarray(problem.Y, dtype=np.int8), np.asarray(problem.mass), folds))
        packed = PackedDual.pack(state.u, state.bound, self.problems[-1][1])
        self.runs[-1][state.t] = packed, np.array(getattr(state, "offset", np.zeros_like(state.bound)))

    def kept(self, classifier: Any) -> FoldModels | None:
        """Return the folds of a fitted classifier at its step; None where they are not there in this form."""
        if not hasattr(classifier, "out_of_fold_"):
            return None
        for steps, (Y, mass, folds) in zip(self.runs, self.problems, strict=True):
            if classifier.step_ not in steps or Y.shape[1] % (folds + 1):
                continue
            packed, offset = steps[classifier.step_]
            coefficients = (-Y * packed.unpack(mass)).reshape(len(Y), -1, folds + 1)
            offset = np.broadcast_to(offset, Y.shape[1]).reshape(-1, folds + 1)
            all_rows = np.asarray(classifier.coefficients(classifier.step_))
            if all_rows.shape != coefficients[..., -1].shape or np.any(all_rows != coefficients[..., -1]):
                continue
            models = _folds(classifier, Y, coefficients[..., :-1], offset[:, :-1])
            return models if models.agree(classifier) else None
        return None


def permutation_importance(
    classifier: Any,
    folds: FoldModels,
    blocks: Mapping[str, slice],
    *,
    scoring: Any = None,
    n_repeats: int = 5,
    seed: int = 0,
) -> Importance:
    """Shuffle each block of features among the rows that a fold held out, and let that fold judge them.

    Parameters
    ----------
    classifier : fitted classifier
    folds : FoldModels
    blocks : mapping of str → slice
        The features of each column of the table.
    scoring : str or callable, optional
        That of the classifier by default, or the accuracy.
    n_repeats : int
        How often each column is shuffled.
    seed : int
    """
    rng = np.random.default_rng(seed)
    scoring = scoring or classifier.scoring or "accuracy"
    n_folds, losses = len(folds.intercepts), []
    names = [name for name, block in blocks.items() if block.stop > block.start]
    for fold in range(n_folds):
        rows = np.flatnonzero(folds.held_out_by == fold)
        if len(rows) > (most := ROWS // n_folds):
            rows = np.sort(rng.choice(rows, most, replace=False))
        X, y = classifier.X_fit_[rows], classifier.classes_[classifier.codes_[rows]]

        def score(X: Any, fold: int = fold, y: np.ndarray = y) -> float:
            answers = Answers(folds.decisions(classifier, X, fold), classifier.classes_)
            return float(get_scorer(scoring)(answers, X, y))

        whole = score(X)
        losses += [
            [whole - score(_shuffled(X, blocks[name], rng.permutation(len(rows)))) for name in names]
            for _ in range(n_repeats)
        ]
    mean, spread = np.mean(losses, axis=0), np.std(losses, axis=0)
    order = np.argsort(-mean, kind="stable")
    return Importance(tuple(names[j] for j in order), mean[order], spread[order], str(scoring))


def _shuffled(X: Any, block: slice, order: np.ndarray) -> Any:
    if not sp.issparse(X):
        changed = np.array(X)
        changed[:, block] = X[order, block]
        return changed
    parts = [X[:, : block.start], X[order][:, block], X[:, block.stop :]]
    return sp.csr_array(sp.hstack([part for part in parts if part.shape[1]], format="csr"))


def _folds(classifier: Any, Y: np.ndarray, coefficients: np.ndarray, offset: np.ndarray) -> FoldModels:
    columns = coefficients.reshape(len(Y), -1)
    intercepts = np.asarray(classifier.intercept_of(columns, -offset.ravel())).reshape(offset.shape)
    absent = (Y.reshape(*coefficients.shape[:2], -1)[..., :-1] == 0).all(axis=1)
    held_out_by = np.where(absent.any(axis=1), absent.shape[1] - 1 - absent[:, ::-1].argmax(axis=1), -1)
    return FoldModels(coefficients.transpose(0, 2, 1).copy(), intercepts.T.copy(), held_out_by)
