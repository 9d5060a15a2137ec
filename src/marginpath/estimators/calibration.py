"""Probabilities and sets of classes from decision values, by what the folds said of samples they did not see.

Values f of samples that nobody held out are NaN, and do not count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.isotonic import IsotonicRegression

from ..arrays import blocks
from ..files.records import register
from ..parallel import available, for_all
from ..validation.columns import Columns, OneVsOne
from .likelihood import most_likely, pair_slopes, right_and_wrong

_BLOCK, _FEWEST = 4096, 256  # rows whose pairs are coupled together, at most and at least
_TINY = 1e-300
#: Keeps a class that loses every pair with certainty from making the matrix of a coupling singular.
RIDGE = 1e-10
_FOLDS = 5  # of the held-out samples, to compare two calibrations
_CERTAIN = -15.0  # log-odds against a class; beyond them, coupled probabilities are the ridge's


@register
@dataclass(frozen=True)
class Temperature:
    """The logits f/T − log w: one number, so that the order of the classes stays (Guo et al., ICML 2017).

    A classifier with class weights w is one of classes w times as frequent as they are; log w is taken off
    again, and the probabilities are those of the samples. Without weights it is 0.

    Examples
    --------
    >>> Temperature(1.0).probabilities(np.array([[0.0], [1.0]])).round(3)
    array([[0.5  , 0.5  ],
           [0.269, 0.731]])
    """

    temperature: float
    log_weight: np.ndarray | None = None

    @classmethod
    def fit(
        cls, values: np.ndarray, codes: np.ndarray, weight: np.ndarray, log_weight: np.ndarray | None = None
    ) -> Temperature:
        """Return the most likely T of held-out values (n, columns).

        Examples
        --------
        >>> f, codes = np.array([[2.0], [-2.0], [2.0], [-2.0]]), np.array([1, 0, 0, 1])
        >>> Temperature.fit(f, codes, np.ones(4)).temperature > 100  # they say nothing
        True
        """
        scale = float(np.average(np.mean(np.abs(values), axis=1), weights=weight)) or 1.0
        T = most_likely(lambda T: right_and_wrong(cls(T, log_weight).logits(values), codes), scale, weight)
        return cls(T, log_weight)

    def logits(self, values: np.ndarray) -> np.ndarray:
        """Return f/T − log w of every class, (n, classes)."""
        logits = _of_classes(values) / self.temperature
        return np.asarray(logits if self.log_weight is None else logits - self.log_weight)

    def probabilities(self, values: np.ndarray) -> np.ndarray:
        """Return the probability of every class, (n, classes)."""
        return _softmax(self.logits(values))

    def odds_against_own(self, values: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return those of :meth:`odds_against` for the class of every row alone, (n,).

        Examples
        --------
        >>> f, codes = np.array([[1.0, 0.5, -2.0], [0.0, 3.0, 1.0]]), np.array([0, 2])
        >>> base = Temperature(2.0)
        >>> bool(np.all(base.odds_against_own(f, codes) == base.odds_against(f)[[0, 1], codes]))
        True
        """
        logits = self.logits(values)
        if logits.shape[1] == 2:
            difference = logits[:, 1] - logits[:, 0]
            return np.asarray(np.where(codes == 0, difference, -difference))
        own = np.arange(logits.shape[1]) == codes[:, None]
        return np.asarray(logsumexp(logits[~own].reshape(len(logits), -1), axis=1) - logits[own])

    def odds_against(self, values: np.ndarray) -> np.ndarray:
        """Return log((1 − p)/p) of every class, (n, classes), as exact near p = 1 as elsewhere."""
        logits = self.logits(values)
        if logits.shape[1] == 2:
            return np.asarray(logits[:, ::-1] - logits)
        others = [logsumexp(np.delete(logits, c, axis=1), axis=1) for c in range(logits.shape[1])]
        return np.asarray(np.stack(others, axis=1) - logits)


@register
@dataclass(frozen=True)
class Coupling:
    """Of each pair of classes the log-odds a f/T − log(w_b/w_a), and the probabilities nearest to them all.

    Every pair has its own slope a > 0: values of classes that overlap and of classes far apart are not on one
    scale. T is that of all, for what coupling makes of them. With r_ab the probability of a where it is a or
    b: min Σ_{a<b} (r_ba p_a − r_ab p_b)² over Σ p_a = 1, the second method of Wu, Lin and Weng (JMLR 2004).

    Examples
    --------
    >>> f = np.log([[0.25 / 0.5, 0.25 / 0.5, 0.25 / 0.25]])  # of the pairs 01, 02, 12
    >>> Coupling(1.0, 3).probabilities(f).round(6)
    array([[0.5 , 0.25, 0.25]])
    """

    temperature: float
    n_classes: int
    log_weight: np.ndarray | None = None
    slopes: np.ndarray | None = None

    @classmethod
    def fit(
        cls, values: np.ndarray, codes: np.ndarray, weight: np.ndarray, log_weight: np.ndarray | None = None
    ) -> Coupling:
        """Return the most likely slopes of held-out values (n, pairs), and then the most likely T."""
        k = round((1 + (1 + 8 * values.shape[1]) ** 0.5) / 2)
        slopes = pair_slopes(values, codes, weight, cls(1.0, k, log_weight).shift)
        T = most_likely(lambda T: cls(T, k, log_weight, slopes).right_and_wrong(values, codes), 1.0, weight)
        return cls(T, k, log_weight, slopes)

    def probabilities(self, values: np.ndarray) -> np.ndarray:
        """Return the probability of every class, (n, classes)."""
        chance = np.empty((len(values), self.n_classes))

        def couple(ends: tuple[int, int]) -> None:
            chance[slice(*ends)] = self._coupled(values[slice(*ends)].astype(np.float64))

        for_all(couple, _shares(len(values)), available())
        return chance

    def right_and_wrong(self, values: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what :func:`right_and_wrong` does, without the probabilities of all classes."""
        from .coupling_compiled import coupled_chances

        found, pairs = np.empty((2, len(codes))), values.shape[1]
        given = values, 1 / self.temperatures, np.broadcast_to(self.shift, pairs), codes, RIDGE
        for_all(lambda ends: coupled_chances(*given, *ends, found), _shares(len(codes)), available())
        return found[0], found[1]

    def odds_against(self, values: np.ndarray) -> np.ndarray:
        """Return log((1 − p)/p) of every class, (n, classes).

        Of a class that is as good as certain they go on with the log-odds of its closest rival.
        """
        chance = self.probabilities(values)
        against = np.log(np.maximum(chance @ (1 - np.eye(self.n_classes)), _TINY)) - np.log(
            np.maximum(chance, _TINY)
        )
        (first, second), odds = OneVsOne(self.n_classes).pairs, self._odds(values)
        rival = [
            np.max(np.where(second == c, -odds, odds)[:, (first == c) | (second == c)], axis=1)
            for c in range(self.n_classes)
        ]
        beyond = _CERTAIN - np.logaddexp(0, _CERTAIN - np.stack(rival, axis=1))  # the rival's, below it
        return np.where(against > _CERTAIN, against, beyond)

    def odds_against_own(self, values: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return those for the class of every row alone, (n,)."""
        return np.asarray(self.odds_against(values)[np.arange(len(codes)), codes])

    def _odds(self, values: np.ndarray) -> np.ndarray:
        """Return the log-odds of the second class of every pair, (n, pairs)."""
        return np.asarray(values / self.temperatures - self.shift)

    @property
    def temperatures(self) -> np.ndarray:
        """T/a of every pair."""
        slopes = np.ones(OneVsOne(self.n_classes).n_columns) if self.slopes is None else self.slopes
        return self.temperature / slopes

    @property
    def shift(self) -> np.ndarray | float:
        """The log-odds that class weights have given to the second class of every pair."""
        first, second = OneVsOne(self.n_classes).pairs
        return 0.0 if self.log_weight is None else self.log_weight[second] - self.log_weight[first]

    def _coupled(self, values: np.ndarray) -> np.ndarray:
        from .coupling_compiled import couple

        chance = np.empty((len(values), self.n_classes))
        couple(np.ascontiguousarray(self._odds(values)), self.n_classes, RIDGE, chance)
        return chance


@register
@dataclass(frozen=True)
class Isotonic:
    """An increasing step function of the probability of each class, scaled to a sum of 1.

    Of two classes it is that of the second. The least and largest values are so far from 0 and 1 as one
    sample more would put them.

    Examples
    --------
    >>> f, codes = np.array([[-2.0], [-1.0], [1.0], [2.0]] * 9), np.array([0, 1, 0, 1] * 9)
    >>> fitted = Isotonic.fit(Temperature(1.0), f, codes, np.ones(36))
    >>> fitted.probabilities(np.array([[-2.0], [0.0], [2.0]]))[:, 1].round(2)
    array([0.05, 0.5 , 0.95])
    """

    base: Any
    thresholds: tuple[np.ndarray, ...]
    chances: tuple[np.ndarray, ...]

    @classmethod
    def fit(cls, base: Base, values: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> Isotonic:
        """Return the functions that fit held-out values best, by squares."""
        chance = base.probabilities(values)
        n_classes = chance.shape[1]
        functions = []
        for c in [1] if n_classes == 2 else range(n_classes):
            count = weight[codes == c].sum()
            least, most = 1 / (weight.sum() - count + 2), (count + 1) / (count + 2)
            isotonic = IsotonicRegression(y_min=min(least, most), y_max=max(least, most))
            isotonic.fit(chance[:, c], (codes == c).astype(float), sample_weight=weight)
            functions.append((isotonic.X_thresholds_, isotonic.y_thresholds_))
        thresholds, chances = zip(*functions, strict=True)
        return cls(base, tuple(thresholds), tuple(chances))

    def probabilities(self, values: np.ndarray) -> np.ndarray:
        """Return the probability of every class, (n, classes)."""
        before = self.base.probabilities(values)
        functions = list(zip(self.thresholds, self.chances, strict=True))
        if len(functions) == 1:
            positive = np.interp(before[:, 1], *functions[0])
            return np.stack([1 - positive, positive], axis=1).astype(before.dtype)
        chance = np.stack([np.interp(p, *each) for p, each in zip(before.T, functions, strict=True)], axis=1)
        return np.asarray(chance / chance.sum(axis=1, keepdims=True), dtype=before.dtype)


Base: TypeAlias = Temperature | Coupling
Calibrator: TypeAlias = Base | Isotonic


def base_for(columns: Columns) -> type[Base]:
    """Return what makes probabilities of the decision values of such columns.

    Examples
    --------
    >>> base_for(OneVsOne(3)).__name__
    'Coupling'
    """
    return Coupling if columns.in_pairs else Temperature


@register
@dataclass(frozen=True)
class ConformalScores:
    """The log-odds against the class of every held-out sample, sorted, and the weights so far.

    ``new`` is the weight of a new sample, that of the mean.

    A new sample is like one of them: with a class in its set where the log-odds against it are at most their
    quantile, the set contains the right class as often as is asked for (Vovk et al., 2005). Probabilities
    would do but where they are all 1 up to rounding: then no quantile tells their samples apart.

    Examples
    --------
    >>> scores = ConformalScores.of(np.array([0.4, -1.0, -60.0, -50.0]), np.ones(4))
    >>> scores.threshold(0.5), scores.threshold(0.9)
    (-1.0, inf)
    """

    scores: np.ndarray
    mass: np.ndarray
    new: float

    @classmethod
    def of(cls, scores: np.ndarray, weight: np.ndarray) -> ConformalScores:
        """Sort the scores; where all weights are 1, as they are by default, without their order."""
        if np.all(weight == 1):
            return cls(np.sort(scores), np.arange(1.0, len(scores) + 1), 1.0)
        order = np.argsort(scores, kind="stable")
        return cls(scores[order], np.cumsum(weight[order]), float(weight.mean()))

    def rounded(self, levels: int = 128) -> ConformalScores:
        """Return so many quantiles, each the next one up: sets cover what is asked for, and 1/levels more."""
        if len(self.scores) <= levels:
            return self
        counts = np.arange(1, levels + 1)
        rows = np.minimum(np.searchsorted(self.mass, counts / levels * self.mass[-1]), len(self.mass) - 1)
        above = np.nextafter(self.scores[rows].astype(np.float32), np.float32(np.inf)).astype(np.float64)
        return ConformalScores(above, counts, self.new * levels / float(self.mass[-1]))

    def threshold(self, coverage: float) -> float:
        """Return the quantile, with a new sample at the very end; ∞ where there are too few to say."""
        row = np.searchsorted(self.mass, coverage * (self.mass[-1] + self.new) * (1 - 1e-12))
        return float(self.scores[row]) if row < len(self.scores) else np.inf


def fit_calibrator(
    kind: str, base: Base, values: np.ndarray, codes: np.ndarray, weight: np.ndarray
) -> Calibrator:
    """Return the base, its isotonic version, or for "auto" that with the lower cross-fitted Brier score."""
    if kind == "temperature":
        return base
    fitted = Isotonic.fit(base, values, codes, weight)
    if kind == "isotonic":
        return fitted
    chance = np.empty((len(codes), base.probabilities(values[:1]).shape[1]))
    for j in range(_FOLDS):
        test = np.arange(len(codes)) % _FOLDS == j
        if test.any() and not test.all():
            part = Isotonic.fit(base, values[~test], codes[~test], weight[~test])
            chance[test] = part.probabilities(values[test])
    better = brier(chance, codes, weight) < brier(base.probabilities(values), codes, weight)
    return fitted if better else base


def brier(chance: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> float:
    """Return the mean squared distance of the probabilities from what happened.

    Examples
    --------
    >>> brier(np.array([[0.5, 0.5]]), np.array([1]), np.ones(1))
    0.5
    """
    happened = codes[:, None] == np.arange(chance.shape[1])
    return float(np.average(np.sum((chance - happened) ** 2, axis=1), weights=weight))


def _shares(rows: int) -> Iterable[tuple[int, int]]:
    """Return which rows threads couple at a time: no more memory is needed with more threads."""
    return blocks(rows, max(_FEWEST, -(-min(_BLOCK, rows) // available())))


def _softmax(logits: np.ndarray) -> np.ndarray:
    """Return e^z / Σ e^z of every row; of two classes column by column, as rows of two are slow to reduce."""
    if logits.shape[1] != 2:
        return np.asarray(softmax(logits, axis=1))
    powers = np.exp(logits - np.maximum(logits[:, 0], logits[:, 1])[:, None])
    powers /= (powers[:, 0] + powers[:, 1])[:, None]
    return np.asarray(powers)


def _of_classes(values: np.ndarray) -> np.ndarray:
    """Return a value for each class; two classes share a column, which is that of the second."""
    return np.hstack([np.zeros_like(values), values]) if values.shape[1] == 1 else values
