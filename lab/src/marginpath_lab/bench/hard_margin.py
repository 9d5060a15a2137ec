"""`hard-margin`: the maximum margin to a certified relative gap of 1e-6, kernel included.

The rivals have no certificate and an intercept: their margin is that of their own classifier, with its
intercept, which we do not have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import marginpath as mp
from marginpath.arrays import blocks
from marginpath.datasets import Dataset

from . import data as sets
from . import peers
from .measure import Benchmark, Contestant, Facts, Task

SIGMA, TOL = 3.4, 1e-6


def tasks(quick: bool) -> Iterator[Task]:
    """Yield MNIST 3 vs 5 and 4 vs 9."""
    for digits in ((3, 5), (4, 9)):
        whole = sets.mnist(*digits)
        data, ours = sets.sized(whole, quick), CertifiedMargin()
        contestants = [Contestant("marginpath", ours, ours.judge)]
        for name, find, target in (("SVC", peers.scikit_svc, 3), ("intelex SVC", peers.intelex_svc, 1)):
            fit = HardFit(find)
            contestants.append(Contestant(f"{name}, C = 1e8", fit, fit.judge, needs=find, target=target))
        small = sets.part(whole, sets.SMALL)
        yield Task(sets.title(data, f", σ = {SIGMA}"), data, small, contestants)


@dataclass(frozen=True)
class CertifiedMargin:
    """Ours: the kernel matrix, then `maximum_margin`."""

    def __call__(self, data: Dataset) -> Any:
        """Return the maximum-margin solution."""
        from marginpath.certificates.maximum_margin import maximum_margin

        gram = mp.Gram.from_kernel(data.X, mp.Gaussian(SIGMA))
        return maximum_margin(mp.Problem(gram, data.y), tol=TOL)

    def judge(self, model: Any, data: Dataset) -> Facts:
        """Return the certified margin and gap, and the test error."""
        lower, upper = (float(end) for end in model.margin_bounds)
        decision = mp.TiledGram(data.X, mp.Gaussian(SIGMA)).cross(data.X_test) @ (-data.y * model.u)
        return {
            "margin": lower,
            "certified gap": (upper - lower) / upper if upper > 0 else 0.0,
            "support": int(np.count_nonzero(model.u)),
            "test error": float(np.mean(np.where(decision > 0, 1, -1) != data.y_test)),
            "status": str(model.status),
        }


class HardFit(peers.Fit):
    """A rival with a C so large that no sample is at its bound."""

    def __init__(self, find: Any) -> None:
        settings = {"C": 1e8, "tol": TOL, "gamma": peers.gamma(SIGMA), "cache_size": peers.CACHE_MB}
        super().__init__(find, settings)

    def judge(self, model: Any, data: Dataset) -> Facts:
        """Return the margin min_i y_i (⟨w, x_i⟩ + b)/‖w‖ of its classifier, in float64."""
        a, S = np.asarray(model.dual_coef_).ravel(), np.asarray(model.support_)
        X, kernel = data.X.astype(np.float64), mp.Gaussian(SIGMA)
        rows = blocks(len(X), 1024)
        scores = np.concatenate([kernel(X[i:j], X[S]) @ a for i, j in rows])
        smallest = float(np.min(data.y * (scores + np.asarray(model.intercept_).ravel()[0])))
        return {
            "margin": smallest / float(np.sqrt(a @ scores[S])),
            "support": len(S),
            "test error": float(np.mean(model.predict(data.X_test) != data.y_test)),
        }


BENCHMARK = Benchmark("hard-margin", "how long to the maximum margin, certified to 1e-6?", tasks)
