"""The claims about λ_0 and the decay of λ_t on the noisy mixture, Figures 3 and 4."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np

import marginpath as mp

from .mixture_figure import plain
from .mixture_runs import ALGORITHMS, NOISE, MixtureRuns
from .observing import average
from .settings import Settings
from .verdicts import NEGATIVE, POSITIVE, Claim, Part, best_part, mean_part, share_part

SAME_MARGIN = 0.1  # of the range that the margin runs through
SAME_ERROR = 0.005  # 3 of 600 test samples
RADICAL_ERROR = 0.01
LARGE, TEN, ONE, SMALL = range(4)  # λ_0 of Figure 3
LOG, ROOT, LINEAR, SQUARE, EXPONENTIAL = range(5)  # decays of Figure 4
CLEAN, MODERATE, STRONG = range(3)
BOTH, NOISY, ALL = (0, 1), (MODERATE, STRONG), (CLEAN, MODERATE, STRONG)


@dataclass(frozen=True, eq=False)
class Averages:
    """Margin and test error averaged over all updates, (draws, 2 algorithms, 3 noise levels, series).

    Margins are in units of the range that the margin runs through for λ_0 = 1 or the decay 1/t.
    """

    name: str
    series: tuple[str, ...]
    margin: np.ndarray
    error: np.ndarray

    @classmethod
    def of(cls, runs: MixtureRuns) -> Averages:
        """Average the runs of a figure; series 2 gives the unit of the margin in both."""
        middle = runs.margin[:, :, :, 2]
        unit = middle.max(axis=-1) - middle.min(axis=-1)
        margin = average(runs.steps, runs.margin) / unit[..., None]
        return cls(runs.title, tuple(map(plain, runs.series)), margin, average(runs.steps, runs.error))

    def difference(self, what: str, a: int, p: int, first: int, second: int) -> np.ndarray:
        """Return the first series less the second, in every draw."""
        values: np.ndarray = getattr(self, what)[:, a, p]
        return np.asarray(values[:, first] - values[:, second])

    def parts(
        self,
        what: str,
        pairs: Iterable[tuple[int, int]],
        claimed: tuple[float, float],
        noise: Iterable[int] = ALL,
        algorithms: Iterable[int] = BOTH,
    ) -> list[Part]:
        """Compare pairs of series."""
        return [
            mean_part(
                f"{what}, {ALGORITHMS[a]}, {NOISE[p]:.0%} noise, {self.series[i]} less {self.series[j]}",
                self.difference(what, a, p, i, j),
                claimed,
            )
            for a, p, (i, j) in product(algorithms, noise, list(pairs))
        ]

    def spread(self, what: str, a: int, p: int, series: Iterable[int]) -> np.ndarray:
        """Return the largest less the smallest of some series, in every draw."""
        values: np.ndarray = getattr(self, what)[:, a, p][:, list(series)]
        return np.asarray(values.max(axis=1) - values.min(axis=1))


def mixture_claims(settings: Settings, fig3: MixtureRuns, fig4: MixtureRuns) -> list[Claim]:
    """Judge the claims on the draws of both figures."""
    third, fourth = Averages.of(fig3), Averages.of(fig4)
    return [
        _not_separable(settings, len(fig3.margin)),
        *_slow_and_good(third, fourth),
        *_robust(third, fourth),
        _small_is_good(third, fourth),
        *_moderate(third, fourth),
        _trade_off(third, fourth),
    ]


def _not_separable(settings: Settings, draws: int) -> Claim:
    proved = []
    for draw in range(draws):
        data = mp.datasets.gaussian_mixture(settings.name, n_test=0, seed=draw)
        proof = mp.nonseparability(data.X, data.y, intercept=True)
        proved.append(proof is not None and proof.holds(data.X, data.y))
    return Claim(
        "not linearly separable",
        "Section 6.1",
        "the training points of the mixture are not linearly separable",
        "share of draws with a proof in rational arithmetic that no line separates them, through the origin "
        "or not (a positive combination of the y_i (x_i, 1) that is exactly 0), claimed to be over one half",
        [share_part("share", proved, (0.5, math.inf))],
    )


def _slow_and_good(third: Averages, fourth: Averages) -> list[Claim]:
    large, slow = third.series[LARGE], f"{fourth.series[LOG]} and {fourth.series[ROOT]}"
    slower = [(LOG, LINEAR), (ROOT, LINEAR)]
    return [
        Claim(
            "larger λ0, slower margin",
            "Section 6.1, Figure 3",
            "a larger λ0 leads to slower margin convergence",
            f"average margin over the path, {large} less {third.series[TEN]}, claimed to be negative",
            third.parts("margin", [(LARGE, TEN)], NEGATIVE),
        ),
        Claim(
            "larger λ0, better test error under noise",
            "Section 6.1, Figure 3",
            "a larger λ0 generalizes better where labels are wrong",
            f"average test error over the path, {large} less λ0 = 10 and less λ0 = 1, claimed to be negative",
            third.parts("error", [(LARGE, TEN), (LARGE, ONE)], NEGATIVE, NOISY),
        ),
        Claim(
            "especially under noise",
            "Section 6.1, Figures 3 and 4",
            "the better generalization shows especially in the presence of errors",
            "what the average test error gains by the largest λ0 (over λ0 = 1) and by the slowest "
            "decay (over "
            "1/t): at 20 % noise less at none, claimed to be positive",
            [
                mean_part(
                    f"{ALGORITHMS[a]}, {figure.series[i]}",
                    figure.difference("error", a, STRONG, j, i) - figure.difference("error", a, CLEAN, j, i),
                    POSITIVE,
                )
                for a in BOTH
                for figure, i, j in ((third, LARGE, ONE), (fourth, LOG, LINEAR))
            ],
        ),
        Claim(
            "slower decay, slower margin",
            "Section 6.1, Figure 4",
            "a slower decay of λ_t leads to slower margin convergence",
            f"average margin over the path, {slow} less the decay 1/t, claimed to be negative",
            fourth.parts("margin", slower, NEGATIVE),
        ),
        Claim(
            "slower decay, better test error under noise",
            "Section 6.1, Figure 4",
            "a slower decay of λ_t generalizes better where labels are wrong",
            f"average test error over the path, {slow} less the decay 1/t, claimed to be negative",
            fourth.parts("error", slower, NEGATIVE, NOISY),
        ),
    ]


def _robust(third: Averages, fourth: Averages) -> list[Claim]:
    everything = [(third, range(4)), (fourth, range(5))]
    usual = [(third, (TEN, ONE, SMALL)), (fourth, (LINEAR, SQUARE, EXPONENTIAL))]
    tolerance = {"margin": SAME_MARGIN, "error": RADICAL_ERROR}
    return [
        Claim(
            "Algorithm 1 is the more robust one",
            "Section 6.1, Figures 3 and 4",
            "Algorithm 1 is more robust to changes of λ_t than Algorithm 2",
            "average margin, and average test error: the largest less the smallest over all λ_t, Algorithm 2 "
            "less Algorithm 1, claimed to be positive",
            [
                mean_part(
                    f"{figure.name}, {what}, {NOISE[p]:.0%} noise",
                    figure.spread(what, 1, p, series) - figure.spread(what, 0, p, series),
                    POSITIVE,
                )
                for (figure, series), what, p in product(everything, ("margin", "error"), ALL)
            ],
        ),
        Claim(
            "Algorithm 1 does not change radically",
            "Section 6.1, Figures 3 and 4",
            "margin and test error of Algorithm 1 hardly depend on λ_t unless λ0 is very large or "
            "the decay very "
            "slow",
            "Algorithm 1, largest less smallest over λ0 ≤ 10, and over the decays from 1/t on, "
            "claimed to be "
            f"under {SAME_MARGIN:.0%} of the margin's range and {RADICAL_ERROR:g} in the test error",
            [
                mean_part(
                    f"{figure.name}, {what}, {NOISE[p]:.0%} noise",
                    figure.spread(what, 0, p, series),
                    (-math.inf, tolerance[what]),
                )
                for (figure, series), what, p in product(usual, ("margin", "error"), ALL)
            ],
        ),
        Claim(
            "Algorithm 2 does change",
            "Section 6.1, Figures 3 and 4",
            "Algorithm 2 is sensitive to the choice of λ_t, in margin and in test error",
            "the same numbers for Algorithm 2, claimed to be over those tolerances",
            [
                mean_part(
                    f"{figure.name}, {what}, {NOISE[p]:.0%} noise",
                    figure.spread(what, 1, p, series),
                    (tolerance[what], math.inf),
                )
                for (figure, series), what, p in product(usual, ("margin", "error"), ALL)
            ],
        ),
    ]


def _small_is_good(third: Averages, fourth: Averages) -> Claim:
    return Claim(
        "small λ_t is a good policy without noise",
        "Section 6.1, Figures 3 and 4, first row",
        "without noise a small λ_t, or one that decays moderately fast, is a good policy",
        "no noise: the average margin of λ0 = 1 less that of the largest λ0, and of 1/t less that of the "
        "slowest decay, claimed to be positive; of the average test errors, claimed to be under "
        f"{SAME_ERROR:g}",
        [
            *third.parts("margin", [(ONE, LARGE)], POSITIVE, [CLEAN]),
            *fourth.parts("margin", [(LINEAR, LOG)], POSITIVE, [CLEAN]),
            *third.parts("error", [(ONE, LARGE)], (-math.inf, SAME_ERROR), [CLEAN]),
            *fourth.parts("error", [(LINEAR, LOG)], (-math.inf, SAME_ERROR), [CLEAN]),
        ],
    )


def _moderate(third: Averages, fourth: Averages) -> list[Claim]:
    no_gain_margin, no_gain_error = (-math.inf, SAME_MARGIN), (-SAME_ERROR, math.inf)
    same_margin, same_error = (-SAME_MARGIN, SAME_MARGIN), (-SAME_ERROR, SAME_ERROR)
    fast = [(SQUARE, LINEAR), (EXPONENTIAL, LINEAR)]
    return [
        Claim(
            "too small a λ0 brings nothing",
            "Section 6.1, Figure 3, first row",
            "without noise, too small a λ0 has no significant advantage over a moderate one",
            "no noise, λ0 = 0.01 less λ0 = 1: gain in average margin claimed to be under "
            f"{SAME_MARGIN:.0%} of its "
            f"range, gain in average test error under {SAME_ERROR:g}",
            [
                *third.parts("margin", [(SMALL, ONE)], no_gain_margin, [CLEAN]),
                *third.parts("error", [(SMALL, ONE)], no_gain_error, [CLEAN]),
            ],
        ),
        Claim(
            "too fast a decay brings nothing",
            "Section 6.1, Figure 4, first row",
            "without noise, too fast a decay has no significant advantage over a moderate one",
            "no noise, 1/t² and 2^−t less 1/t: gain in average margin claimed to be under "
            f"{SAME_MARGIN:.0%} of its "
            f"range, gain in average test error under {SAME_ERROR:g}",
            [
                *fourth.parts("margin", fast, no_gain_margin, [CLEAN]),
                *fourth.parts("error", fast, no_gain_error, [CLEAN]),
            ],
        ),
        Claim(
            "λ0 = 1 and 0.01 are the same",
            "Figure 3",
            "λ0 = 1 and λ0 = 0.01 give the same curves",
            f"difference of the averages, claimed to be within {SAME_MARGIN:.0%} of the margin's "
            "range and within "
            f"{SAME_ERROR:g} in the test error",
            [
                *third.parts("margin", [(SMALL, ONE)], same_margin),
                *third.parts("error", [(SMALL, ONE)], same_error),
            ],
        ),
    ]


def _trade_off(third: Averages, fourth: Averages) -> Claim:
    pairs = (
        (third, TEN, SMALL),
        (third, ONE, SMALL),
        (fourth, LINEAR, EXPONENTIAL),
        (fourth, ROOT, EXPONENTIAL),
    )
    candidates = {
        f"{ALGORITHMS[a]}, {NOISE[p]:.0%} noise, {figure.series[i]}": _trade(figure, a, p, i, j)
        for a, p in product(BOTH, NOISY)
        for figure, i, j in pairs
    }
    return Claim(
        "a better trade-off under noise",
        "Section 6.1, Figures 3 and 4",
        "under noise, a larger λ0 (10 or 1) or a slower decay (1/t or 1/√t) may offer a better "
        "trade-off between margin and test error",
        '"may": in one case at least. Against λ0 = 0.01, and against 2^−t: how far the gain in average test '
        f"error is over {SAME_ERROR:g}, or the loss in average margin under {SAME_MARGIN:.0%} of its range, "
        "the smaller of the two in units of these tolerances, claimed to be positive for the best case",
        [best_part(candidates, POSITIVE)],
    )


def _trade(figure: Averages, a: int, p: int, i: int, j: int) -> np.ndarray:
    """Return the smaller of two rooms, each over its tolerance: gain in error, loss in margin."""
    gained = figure.difference("error", a, p, j, i) / SAME_ERROR - 1
    kept = 1 - figure.difference("margin", a, p, j, i) / SAME_MARGIN
    return np.asarray(np.minimum(gained, kept))
