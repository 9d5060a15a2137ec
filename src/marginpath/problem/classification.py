"""The dual problem: a Gram matrix, signed labels, sample weights.

With Z = diag(y) X, A = Z Zᵀ = diag(y) K diag(y) and w = −Zᵀu, the dual of the hinge-loss SVM is

    min D_λ(u) = ½ ‖Zᵀu‖² + Σ_i u_i   over   u ∈ [−1/λ, 0]ⁿ,

and D_∞, over u ≤ 0, is the dual of the hard-margin problem min ‖w‖ s.t. y_i⟨w, x_i⟩ ≥ 1. With an intercept
that is not penalized, y_i (⟨w, x_i⟩ + b), the dual has the constraint Σ y_i u_i = 0.
"""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Array, all_finite, is_numpy, to_numpy
from ..gram.base import Gram
from ..losses import Loss, ResidualLoss
from .checks import check_classes, check_labels, checked_rows, checked_weights, representable, require_gram
from .questions import PackedQuestions, Question, packed, question


class Problem:
    """One or many binary problems on the same samples, a column each.

    Parameters
    ----------
    gram : Gram
        The kernel matrix of the n samples.
    y : array (n,) or (n, k)
        Labels −1 and +1; 0 leaves a sample out of that column. All results have the shape of y.
    sample_weight : array (n,), optional
        Multiplicities: weight 2 is the sample twice.
    box_scale : float or array (k,), optional
        Column j lives in the box [−s_j/λ_t, 0], so that one run carries several λ0 (that of column j
        is λ0/s_j).
    intercept : bool
        Whether the classifier has an intercept, which is not penalized, as in scikit-learn's SVC. Only
        :class:`SolutionPath` solves this problem.
    together : int
        So many neighbouring columns ask the same question, of other parts of the samples, as the folds of a
        cross-validation do. It is a hint: solvers may let them share what they have gathered.
    watched : sequence of arrays of int, optional
        The samples without a label whose scores are read nevertheless, one array for each of the columns that
        are together, or for each column. It is a hint, too: solvers need not know the scores of others.

    Examples
    --------
    >>> import numpy as np, marginpath as mp
    >>> X = np.array([[2.0, 0.0], [0.0, 2.0], [-2.0, 0.0]])
    >>> problem = mp.Problem(mp.Gram.linear(X), [1, 1, -1])
    >>> u = np.array([-0.25, -0.25, 0.0])
    >>> problem.margins(problem.scores(u))
    array([1., 1., 1.])
    """

    def __init__(
        self,
        gram: Gram,
        y: Array,
        sample_weight: Array | None = None,
        box_scale: Array | float | None = None,
        *,
        intercept: bool = False,
        together: int = 1,
        watched: Sequence[np.ndarray] | None = None,
    ) -> None:
        require_gram(gram)
        labels = to_numpy(y)
        check_labels(labels, gram.shape[0])
        mass = np.abs(labels)
        if sample_weight is not None:
            weights = checked_weights(sample_weight, gram.shape[0])
            mass = mass * (weights if labels.ndim == 1 else weights[:, None])
        check_classes(labels, mass)
        scale = np.ones(labels.shape[1:]) if box_scale is None else to_numpy(box_scale)
        if scale.shape not in ((), labels.shape[1:]) or not np.all((scale > 0) & np.isfinite(scale)):
            raise ValueError(
                f"box_scale must be positive, one number or one for each of the columns of y "
                f"(shape {labels.shape[1:]}), got {box_scale!r}."
            )
        if together < 1 or math.prod(labels.shape[1:]) % together:
            raise ValueError(
                f"together must be a number that the columns of y can be divided by (shape "
                f"{labels.shape[1:]}), got {together!r}."
            )
        if watched is not None and len(watched) not in (together, math.prod(labels.shape[1:])):
            raise ValueError(
                f"watched must be {together} arrays, one for each of the columns that are together, or one "
                f"for each column, got {len(watched)}."
            )
        self.gram, self.intercept, self.together = gram, bool(intercept), together
        self.watched = None if watched is None else tuple(checked_rows(each, len(labels)) for each in watched)
        self.Y = self._array(labels)
        self.mass = self._array(mass if sample_weight is None else representable(mass, self.Y.dtype, gram.xp))
        self.box_scale = self._array(scale * np.ones(labels.shape[1:]))
        self.sample_weight = None if sample_weight is None else self._array(weights)

    def _array(self, values: Any) -> Array:
        xp, dtype, where = self.gram.xp, self.gram.dtype, self.gram.device
        if np.asarray(values).dtype == np.int8:  # labels of many columns: few bytes go to a GPU
            return xp.astype(xp.asarray(values, device=where), dtype)
        return xp.asarray(np.asarray(values, dtype=np.float64), dtype=dtype, device=where)

    @property
    def xp(self) -> Any:
        """Array-API namespace of all arrays here."""
        return self.gram.xp

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of y."""
        return tuple(self.Y.shape)

    def scores(self, u: Array) -> Array:
        """Return S = K(Y∘u): one product. The decision values of the samples are −S."""
        return self.gram @ self.signed(u)

    def signed(self, u: Array) -> Array:
        """Return Y∘u; beside NumPy, where no u is changed, that of the last u is known."""
        if is_numpy(u):
            return self.Y * u
        if self._signed is None or self._signed[0] is not u:
            self._signed = u, self.Y * u
        return self._signed[1]

    _signed: tuple[Array, Array] | None = None
    watched: tuple[np.ndarray, ...] | None = None

    def margins(self, scores: Array) -> Array:
        """Return m = Z w = −Y∘S, the margins y_i f(x_i)."""
        return self._opposite * scores

    def decision(self, u: Array, X: Array, offset: Array | float = 0.0) -> Array:
        """Return f(x) = −Σ_i y_i u_i k(x_i, x) − offset of new samples, per column; its sign is the class."""
        return self.gram.cross(X) @ (-self.Y * u) - offset

    def squared_norm(self, u: Array, scores: Array) -> Array:
        """Return ‖w‖² = uᵀ A u, per column."""
        return self.xp.sum(self.Y * u * scores, axis=0)

    def smallest(self, values: Array) -> Array:
        """Return the minimum over the samples that count, per column."""
        return self.xp.min(self.xp.where(self.counts, values, self.number(math.inf)), axis=0)

    def smallest_margin(self, margins: Array) -> Array:
        """Return min_i m_i per column, of margins without an intercept: with it, at its best value.

        The best intercept makes the smallest margins of the two classes equal.

        Examples
        --------
        >>> import numpy as np, marginpath as mp
        >>> gram = mp.Gram.linear(np.array([[3.0], [1.0]]))
        >>> margins = np.array([3.0, -1.0])  # of w = 1, with labels 1 and −1
        >>> [float(mp.Problem(gram, [1, -1], intercept=b).smallest_margin(margins)) for b in (False, True)]
        [-1.0, 1.0]
        """
        if not self.intercept:
            return self.smallest(margins)
        infinity = self.number(math.inf)
        up, down = (
            self.smallest(self.xp.where(side, margins, infinity)) for side in (self.Y > 0, self.Y < 0)
        )
        return (up + down) / 2

    def dual_objective(self, u: Array, scores: Array) -> Array:
        """Return D_∞(u) = ½ ‖Zᵀu‖² + Σ u_i, per column; it equals D_λ(u) inside the box."""
        return self.squared_norm(u, scores) / 2 + self.xp.sum(u, axis=0)

    def check_loss(self, loss: Any) -> None:
        """Refuse a loss of the residual."""
        if isinstance(loss, ResidualLoss):
            raise TypeError(
                f"Classification needs a loss of the margin, such as Hinge(), got {loss!r}. Losses of the "
                f"residual are for RegressionProblem."
            )

    def prox(self, loss: Loss | ResidualLoss, p: Array, step: Array, box: Array) -> Array:
        """Return argmin_u b ℓ*(u/b) + (u − p)² / (2 step), for boxes of size b."""
        return loss.prox_conjugate(p, step, box)

    def loss_terms(self, loss: Any, u: Array, scores: Array, box: Array) -> Array:
        """Return b ℓ(m) + b ℓ*(u/b) of every sample, for boxes of size b; 0 where b is."""
        xp = self.xp
        b = xp.where(box > 0, box, xp.ones_like(box))
        terms = b * (loss.value(self.margins(scores)) + loss.conjugate(u / b))
        return xp.where(box > 0, terms, xp.zeros_like(terms))

    def box(self, size: Array) -> Array:
        """Return the lengths of the box, size × weight, also where the size is infinite."""
        return self.xp.where(self.counts, size * self._mass_or_one, self.mass)

    @cached_property
    def counts(self) -> Array:
        """Which samples count in which column."""
        return self.mass > 0

    @cached_property
    def total_mass(self) -> Array:
        """The sum of the weights of every column, in float64."""
        return self.xp.sum(self.mass, axis=0, dtype=self.xp.float64)

    @cached_property
    def _opposite(self) -> Array:
        return -self.Y

    @cached_property
    def _mass_or_one(self) -> Array:
        return self.xp.where(self.counts, self.mass, self.number(1.0))

    def number(self, value: float) -> Array:
        """Return a number as an array of no dimension, made once: it costs no pass over the samples."""
        made: dict[float, Array] = self.__dict__.setdefault("_made", {})
        if value not in made:
            made[value] = self.xp.full((), value, dtype=self.gram.dtype, device=self.gram.device)
        return made[value]

    def box_size(self, size: float) -> Array:
        """Return b_t s_j for every column, infinite where the dtype cannot hold it."""
        return self.box_scale * (size if size < self._largest_size else math.inf)

    @cached_property
    def roots(self) -> Array:
        """√K_ii = ‖x_i‖ in float64, spread over the columns."""
        xp = self.xp
        roots = xp.sqrt(xp.astype(self.gram.diagonal, xp.float64))
        return roots if self.Y.ndim == 1 else xp.broadcast_to(roots[:, None], self.Y.shape)

    @cached_property
    def smallest_root(self) -> Array:
        """The smallest √K_ii of the samples that count, per column."""
        return self.smallest(self.roots)

    @cached_property
    def largest_margin(self) -> Array:
        """What no margin is over, whatever w with ‖w‖ = 1, per column."""
        return self.smallest_margin(self.roots)

    @cached_property
    def _largest_size(self) -> float:
        """The largest b_t that the dtype can hold in every column; asked once, as it waits for a GPU."""
        return float(self.xp.finfo(self.gram.dtype).max) / float(self.xp.max(self.box_scale))

    def check_range(self) -> None:
        """Raise where a k(x_i, x_i) overflows: margins can be proved then, but not computed with."""
        if not all_finite(self.gram.diagonal):
            finite = np.isfinite(to_numpy(self.gram.diagonal))
            raise ValueError(
                f"k(x, x) of sample {int(np.argmin(finite))} is more than {self.gram.dtype} can hold. Scale "
                f"the samples, for example by sklearn.preprocessing.StandardScaler, or pass float64 ones."
            )

    def norm_bounds(self) -> tuple[float, float]:
        """Return bounds on the Lipschitz constant of the dual gradient, ‖W^½ K W^½‖."""
        return self.gram.norm_bounds(self.sample_weight)

    def columns(self, index: Array) -> Problem:
        """Return the problem of some of the columns, on the same Gram matrix."""
        part = object.__new__(Problem)
        part.gram, part.sample_weight, part.intercept = self.gram, self.sample_weight, self.intercept
        part.together, watched = 1, self.watched
        if watched is not None:
            watched = tuple(watched[int(j) % len(watched)] for j in np.atleast_1d(to_numpy(index)))
        part.watched = watched
        for name in ("Y", "mass", "box_scale"):
            setattr(part, name, self.xp.take(getattr(self, name), index, axis=-1))
        return part

    def on(self, gram: Gram) -> Problem:
        """Return the same problem on another Gram matrix of the same samples."""
        other = copy.copy(self)
        for name in ("roots", "smallest_root", "largest_margin", "_largest_size", "_made"):
            other.__dict__.pop(name, None)
        other.gram = gram
        return other

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """The questions that the columns ask, ``together`` of them the same one, with the samples that count.

        Examples
        --------
        >>> import numpy as np, marginpath as mp
        >>> Y = np.array([[1, 1, 0], [-1, 0, 0], [0, -1, 1], [0, 0, -1]])
        >>> problem = mp.Problem(mp.Gram.from_matrix(np.eye(4)), Y)
        >>> [question.samples.tolist() for question in problem.questions]
        [[0, 1], [0, 2], [2, 3]]
        """
        signed = np.atleast_2d(np.multiply(self.Y, self.mass, dtype=np.float64).T)
        return tuple(question(signed, j, self.together) for j in range(0, len(signed), self.together))

    @cached_property
    def filled(self) -> float:
        """The share of samples that count, over all columns; of NumPy's problems."""
        return float(np.count_nonzero(self.mass) / max(1, math.prod(self.shape)))

    @cached_property
    def packed_questions(self) -> PackedQuestions:
        """The same in few arrays."""
        return packed(self.questions)

    def fingerprint(self) -> dict[str, Any]:
        """Return what tells this problem from another: shape, labels, weights, and every bit of the data.

        Samples that are equal bit for bit, with the same kernel, are the same problem in any storage: a
        matrix, tiles, on a GPU or on a cluster. In another dtype they are another one.

        Examples
        --------
        >>> import numpy as np, marginpath as mp
        >>> X, y, kernel = np.array([[0.0], [1.0], [3.0]]), [1, -1, -1], mp.Gaussian(1.0)
        >>> stored = mp.Problem(mp.Gram.from_kernel(X, kernel), y).fingerprint()
        >>> stored == mp.Problem(mp.TiledGram(X, kernel), y).fingerprint()
        True
        >>> X[1] = 1.5
        >>> stored == mp.Problem(mp.TiledGram(X, kernel), y).fingerprint()
        False
        """
        return {
            "shape": list(self.shape),
            "dtype": str(self.gram.dtype).rpartition(".")[2],
            "labels": self._labels_digest,
            **self.gram.fingerprint,
        }

    @cached_property
    def _labels_digest(self) -> str:
        """A hash of all but the Gram matrix."""
        digest = hashlib.sha256()
        for values in (self.Y, self.mass, self.box_scale):
            digest.update(np.ascontiguousarray(to_numpy(values)).data)
        digest.update(b"intercept" * self.intercept)
        for rows in self.watched or ():  # the scores of others are not those of u
            digest.update(b"watched" + np.ascontiguousarray(rows).tobytes())
        return digest.hexdigest()
