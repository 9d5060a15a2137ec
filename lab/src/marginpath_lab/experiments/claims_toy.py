"""The claims about the toy set, Figures 1 and 2."""

from __future__ import annotations

import math

import numpy as np

import marginpath as mp

from .pieces import Pieces
from .settings import Settings
from .toy_runs import SOLUTION, ToyRuns, toy_runs
from .trajectories import FLOOR, fitted_law, line, reached, settled
from .verdicts import POSITIVE, Claim, mean_part, share_part

OVERLAP = 0.5  # degrees: lines closer than this are one line in a figure
COARSE, MIDDLE, FINE = 1e-2, 1e-3, 1e-6  # normalized errors to be reached
DECADE = 1.0  # of the figure's logarithmic axis
LOOKED_AT = (200, 500, 1000)  # updates
PLATEAU = 200  # updates until the samples that do not count have left the dual solution


def toy_claims(settings: Settings, pieces: Pieces, draws: int) -> list[Claim]:
    """Judge the claims on that many toy sets."""
    runs = [toy_runs(settings, pieces, draw) for draw in range(draws)]
    return [
        _solution(settings, draws),
        _overlap(runs),
        _inertia_is_faster(runs),
        _alpha_decides(runs),
        _alpha_and_time(runs),
        _rates(runs),
    ]


def _paper_schemes(runs: list[ToyRuns]) -> list[int]:
    return [i for i, name in enumerate(runs[0].schemes) if name != "Algorithm 2, restarted"]


def _updates(runs: list[ToyRuns], target: float) -> np.ndarray:
    """Return updates until the error is at most the target for good, at most T, (draws, schemes)."""
    T = int(runs[0].steps[-1])

    def when(errors: np.ndarray) -> int:
        found = reached(errors, target)
        return T if found is None else found + 1

    return np.array([[when(errors) for errors in run.error()] for run in runs])


def _solution(settings: Settings, draws: int) -> Claim:
    distances = []
    for draw in range(draws):
        data = mp.datasets.toy(settings.name, seed=draw)
        found = mp.maximum_margin(mp.Problem(mp.Gram.linear(data.X), data.y))
        w = -(data.X.T @ (data.y * np.asarray(found.u)))
        distances.append(float(np.linalg.norm(w - SOLUTION)))
    return Claim(
        "toy solution",
        "Section 6.1, Figure 1",
        "w* = (1/2, 1/2) is the maximum-margin solution, whatever the other points are",
        "distance of the exact solution from (1/2, 1/2), claimed to be under 1e-8 "
        "(with x4 = −(3/2, 1/2), which the paper misprints)",
        [mean_part("distance", distances, (-math.inf, 1e-8))],
    )


def _overlap(runs: list[ToyRuns]) -> Claim:
    angles = np.array([np.degrees(2 * np.arcsin(run.error()[:, -1] / 2)) for run in runs])
    claimed = (-math.inf, OVERLAP)
    return Claim(
        "last iterates overlap",
        "Figure 1",
        "the separating lines of the last iterates of all schemes overlap with that of w*",
        f"degrees between w_T and w*, claimed to be under {OVERLAP:g}",
        [mean_part(runs[0].schemes[i], angles[:, i], claimed) for i in _paper_schemes(runs)],
    )


def _inertia_is_faster(runs: list[ToyRuns]) -> Claim:
    updates = np.log2(_updates(runs, MIDDLE))
    return Claim(
        "Algorithm 2 faster than its bound",
        "Section 6.1, Figure 2",
        "that the bound of Algorithm 1 is the better one is not reflected in practice: Algorithm 2 is faster",
        f"log2 of the updates to a normalized error of {MIDDLE:g}, Algorithm 1 less Algorithm 2, "
        "claimed to be positive",
        [
            mean_part(runs[0].schemes[i], updates[:, 0] - updates[:, i], POSITIVE)
            for i in _paper_schemes(runs)[1:]
        ],
    )


def _alpha_decides(runs: list[ToyRuns]) -> Claim:
    errors = np.log10(np.maximum([run.error()[_paper_schemes(runs)[1:]] for run in runs], FLOOR))
    last = errors.shape[-1]
    spread = errors.max(axis=1) - errors.min(axis=1)
    return Claim(
        "α decides",
        "Section 6.1, Figure 2",
        "the choice of α decisively affects Algorithm 2",
        "log10 of the normalized error at a given update, the worst α less the best, claimed to be over "
        f"{DECADE:g}: a decade of the figure's axis",
        [
            mean_part(f"at update {t}", spread[:, t - 1], (DECADE, math.inf))
            for t in sorted({min(t, last) for t in LOOKED_AT})
        ],
    )


def _alpha_and_time(runs: list[ToyRuns]) -> Claim:
    inertial = _paper_schemes(runs)[1:]
    early, late = (_updates(runs, target)[:, inertial].argmin(axis=1) for target in (COARSE, FINE))
    return Claim(
        "the best α depends on when to stop",
        "Section 6.1",
        "the effect of α is related to the stopping time",
        f"share of draws in which the fastest α to {COARSE:g} is not the fastest to {FINE:g}, "
        "claimed to be over one half",
        [share_part("share", early != late, (0.5, math.inf))],
    )


def _rates(runs: list[ToyRuns]) -> Claim:
    schemes = _paper_schemes(runs)
    parts = [share_part(runs[0].schemes[0], [_is_linear(run.error()[0]) for run in runs], (0.5, math.inf))]
    for i in schemes[1:]:
        laws = [fitted_law(run.error()[i]) for run in runs]
        as_proved = [law is None or law.kind == "linear" or law.rate >= 1 for law in laws]
        parts.append(share_part(runs[0].schemes[i], as_proved, (0.5, math.inf)))
    return Claim(
        "rates of the theorems",
        "Section 6.1, Figure 2",
        "the errors fall as the theorems have it: linearly for Algorithm 1, like 1/t or faster for "
        "Algorithm 2",
        f"share of draws, claimed to be over one half: Algorithm 1, in which a line in t explains more of "
        f"the log error from update {PLATEAU} on than a line in log t; Algorithm 2, whose law fitted to the "
        "last decade is linear or a power of at least 1",
        parts,
    )


def _is_linear(errors: np.ndarray) -> bool:
    """Whether r^t fits better than t^−p, from the end of the plateau to the floor."""
    t, largest = np.arange(1, len(errors) + 1), settled(errors)
    kept = (t >= min(PLATEAU, len(errors) // 2)) & (largest > 10 * FLOOR)
    if np.count_nonzero(kept) < 3:
        return True  # the floor was reached before the plateau's end
    logs = np.log(largest[kept])
    return line(t[kept].astype(float), logs)[1] > line(np.log(t[kept]), logs)[1]
