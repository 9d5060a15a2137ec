"""Coordinate sweeps on a cluster: every shard sweeps its own samples, and the steps are added up safely."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...arrays import Array
from ...gram.cluster.rows import Rows, total
from ...gram.linear import LinearGram
from ...problem import Problem
from ...schedules import Schedule
from ..starting import check_settings, require_zero
from .descent import CoordinateDescentState
from .spaces import Sweeps, SweepState, raise_bound, space_of, summed_anew


@dataclass(frozen=True, kw_only=True)
class ClusterSweepsState(CoordinateDescentState):
    """A state with its field and aggregate (d, k) in float64, and where its schedule starts and stands."""


@dataclass(frozen=True)
class ClusterSweeps:
    """Coordinate descent along the path for features on a cluster, in rounds of sweeps that are added up.

    Step t raises the bound of the box to b_t = 1/λ_t and carries the samples at the bound along, as
    ``CoordinateDescent`` does. Then, in each round, every one of the m shards takes the coordinate steps

        u_i ← clip(u_i − (y_i ⟨x_i, f + σ ΔF⟩ + 1) / (σ K_ii), −b_t, 0)

    from the common field f = Xᵀ(Y∘u), where ΔF = Xᵀ(Y∘Δu) is what this shard has changed so far; then f grows
    by the ΔF of all shards. This is CoCoA+ (Ma et al., ICML 2015): steps are added, not averaged, and σ ≥ m
    makes that safe, because ‖Σ_j ΔF_j‖² ≤ m Σ_j ‖ΔF_j‖²: no round raises the dual objective. Averages would
    leave the samples strictly inside the box, none at the bound and none exactly 0. σ is the next power of
    two, so that scaling by it costs no digit.

    ``duality_gap`` and ``margin_bounds`` certify every state, as those of any other solver.

    Parameters
    ----------
    schedule, ratio, tol, refresh, seed
        As for ``CoordinateDescent``.
    rounds : int
        Rounds at each λ_t; a round sends f to the workers and their changes back.

    Examples
    --------
    >>> ClusterSweeps(rounds=2).rounds
    2
    """

    schedule: Schedule | None = None
    ratio: float = 1.5
    rounds: int = 4
    tol: float = 0.0
    refresh: int = 50
    seed: int = 0

    def __post_init__(self) -> None:
        check_settings(self, "rounds", "refresh")

    def init(self, problem: Problem, start: Array | None = None) -> ClusterSweepsState:
        """Start at u = 0, where every sample is at the bound of the empty box."""
        require_zero(self, start)
        features = _features(problem)
        aggregate = _field(features, problem.Y * problem.mass)
        scores = features.product(aggregate.astype(features.dtype))
        return ClusterSweepsState.at_zero(problem, aggregate, scores)

    def step(self, problem: Problem, state: ClusterSweepsState) -> ClusterSweepsState:
        """Raise the bound to b_{t+1}, then sweep in rounds."""
        t, features = state.t + 1, _features(problem)
        size, bound = state.next_box(problem, self.schedule, self.ratio)

        u, f, g = (np.array(x) for x in (state.u, state.field, state.aggregate))
        raise_bound(u, f, g, problem.mass, state.bound, bound)
        for number in range(self.rounds):
            u, f, g = self._round(problem, features, (self.seed, t, number), bound, u, f, g)
        refresh, field = t % self.refresh == 0, partial(_field, features)
        f = field(problem.Y * u) if refresh else f
        g, counted = summed_anew(field, problem, u, bound, g, state.counted, refresh)
        return ClusterSweepsState(
            t=t,
            u=u,
            scores=features.product(f.astype(features.dtype)),
            bound=bound,
            field=f,
            aggregate=g,
            counted=counted,
            start=state.start,
            size=size,
        )

    def _round(
        self,
        problem: Problem,
        features: Rows,
        seed: tuple[int, ...],
        bound: Array,
        u: Array,
        f: Array,
        g: Array,
    ) -> tuple[Array, Array, Array]:
        """Let every shard sweep from the same field; add up what they changed."""
        m = len(features.shards)
        weights = problem.sample_weight
        found = features.run(
            _sweep,
            features.cut(problem.Y.astype(np.int8)),
            [None] * m if weights is None else features.cut(weights),
            features.cut(u),
            [(*seed, j) for j in range(m)],
            f=f,
            g=g,
            bound=bound,
            scale=2.0 ** np.ceil(np.log2(m)),
            tol=self.tol,
        )
        parts, changes, crossings = zip(*found, strict=True)
        return features.joined(parts), total([f, *changes]), total([g, *crossings])


def _sweep(
    shard: list[Array],
    labels: list[np.ndarray],
    weights: list[np.ndarray] | None,
    parts: list[np.ndarray],
    seed: tuple[int, ...],
    f: np.ndarray,
    g: np.ndarray,
    bound: np.ndarray,
    scale: float,
    tol: float,
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Sweep the blocks of a shard once; return u, and the changes of the field and of the aggregate.

    With v = σu in the box [−σb, 0] the step is a plain one: v_i ← clip(v_i − (y_i S_i + 1) / K_ii, −σb, 0).
    """
    box: Any = (scale * bound).astype(bound.dtype)
    field, aggregate, out = f, g, []
    for number, (X, signs, u) in enumerate(zip(shard, labels, parts, strict=True)):
        Y = signs.astype(u.dtype)
        weight = 1 if weights is None else weights[number].reshape(-1, *(1 for _ in Y.shape[1:]))
        samples: Any = SimpleNamespace(Y=Y, mass=np.abs(Y) * weight, shape=Y.shape)
        v = (scale * u).astype(u.dtype)
        counted = np.zeros(Y.shape[1:])
        local = SweepState(t=0, u=v, scores=v, bound=box, field=field, aggregate=aggregate, counted=counted)
        order = np.random.default_rng([*seed, number]).permutation(len(Y))
        once = Sweeps([order], tol)
        v, field, aggregate = space_of(LinearGram(X)).advance(samples, local, box, once, 1)
        out.append((v / scale).astype(u.dtype))
    return out, (field - f) / scale, aggregate - g


def _field(features: Rows, V: Array) -> np.ndarray:
    return features.transposed_product(V.astype(np.float64))


def _features(problem: Problem) -> Rows:
    if problem.gram.space != "cluster":
        raise TypeError(
            f"ClusterSweeps sweeps features on a cluster, but this Gram matrix is a "
            f"{type(problem.gram).__name__}. Use Gram.from_dask(X) without a kernel, or DualDescent."
        )
    rows: Rows = problem.gram.features
    return rows
