"""What the package claims of a case: by any vector, along runs, of the hard margin, by classifiers."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

import marginpath as mp

from .cases import Case
from .exact import ExactGram

_SHARES = [0.2, 0.2, 0.2, 0.2, 0.15, 0.05]


@dataclass(frozen=True)
class Claim:
    """That the maximum margin of a column lies from lower to upper, by u, where it is said which."""

    traits: dict[str, str]  # who says so, and where u comes from
    column: int
    lower: float
    upper: float
    u: list[float] | None = None
    status: str | None = None
    epsilon: float = 0.0
    tol: float = 0.0


def vector_claims(case: Case, rng) -> Iterator[Claim]:
    """Yield the bounds by random vectors, also nonzero where a sample does not count."""
    shape, dtype = case.problem.shape, case.problem.Y.dtype
    decades = 30 if dtype == np.float32 else 140
    for kind in rng.choice(
        ["random", "sparse", "ratios", "extremes", "equal", "zero"], 3, p=_SHARES, replace=False
    ):
        v = {
            "random": rng.exponential(size=shape),
            "sparse": rng.exponential(size=shape) * (rng.random(shape) < 0.4),
            "ratios": 10.0 ** rng.uniform(-8, 8, shape),
            "extremes": 10.0 ** rng.uniform(-2 * decades, 2 * decades, shape),
            "equal": np.ones(shape),
            "zero": np.zeros(shape),
        }[kind]
        if kind in ("random", "sparse") and rng.random() < 0.3:
            v = v * 10.0 ** rng.integers(-decades, decades)
        v = v.astype(rng.choice([dtype, np.float64]))
        v[~np.isfinite(v)] = np.finfo(v.dtype).max
        if rng.random() < 0.5:  # else something remains where a sample does not count
            v = v * (np.asarray(case.problem.mass) > 0)
        yield from bounds_of(case, -v, {"u": f"any, {kind}"})


def intercept_claims(case: Case, rng) -> Iterator[Claim]:
    """Yield the bounds for classifiers with an intercept: by any vectors, balanced ones, and along a path."""
    for claim in vector_claims(case, rng):
        yield replace(claim, traits=claim.traits | {"claim": "with intercept"})
    Y = np.asarray(case.problem.Y, dtype=np.float64)
    v = rng.exponential(size=Y.shape) * (np.asarray(case.problem.mass) > 0)
    v = v / np.where(Y > 0, np.sum(v * (Y > 0), axis=0), np.sum(v * (Y < 0), axis=0))
    yield from bounds_of(case, -v, {"claim": "with intercept", "u": "any, balanced"})
    if case.problem.gram.space == "samples":
        path = mp.run(mp.SolutionPath(ratio=3.0, rounds=20), case.problem, 9, keep=2**30)
        for t in (1, 4, 9):
            yield from bounds_of(case, path.state(t).u, {"claim": "with intercept", "u": "SolutionPath"})


def bounds_of(case: Case, u, traits: dict[str, str]) -> Iterator[Claim]:
    """Yield margin_bounds(problem, u), a claim for each column."""
    lower, upper = mp.margin_bounds(case.problem, u)
    yield from _by_column({"claim": "margin_bounds"} | traits, lower, upper, u)


def run_claims(case: Case, rng) -> Iterator[Claim]:
    """Yield what is observed along a run, and margin_bounds of the same u."""
    solver, traits = _solver(case, rng)
    steps = int(rng.choice([12, 60], p=[0.7, 0.3]))
    path = mp.run(solver, case.problem, steps, observe=["margin_lower", "margin_upper"], every=steps // 3)
    for i, t in enumerate(path.steps):
        u = np.minimum(path.state(int(t), case.problem).u, 0)
        yield from _by_column({"claim": "path"} | traits, path["margin_lower"][i], path["margin_upper"][i], u)
        yield from bounds_of(case, u, traits)


def hard_margin_claims(case: Case, rng) -> Iterator[Claim]:
    """Yield what maximum_margin says, and the bounds by its u."""
    tol = float(rng.choice([1e-3, 1e-10]))
    result = mp.maximum_margin(case.problem, tol=tol)
    words = result.status if isinstance(result.status, tuple) else (result.status,)
    claims = _by_column({"claim": "maximum_margin"}, *result.margin_bounds, result.u)
    for claim, word, epsilon in zip(claims, words, np.ravel(result.epsilon), strict=True):
        traits = claim.traits | {"status": str(word.value)}
        yield replace(claim, traits=traits, status=str(word.value), epsilon=float(epsilon), tol=tol)
    yield from bounds_of(case, result.u, {"u": "maximum_margin"})


def classifier_case(case: Case, rng):
    """Fit a classifier to the first column; return the case of what it saw, and the classifier."""
    used = np.flatnonzero(case.columns[0])
    y, weight = np.array(case.columns[0])[used], np.array(case.weight)[used]
    settings = {
        "stopping": rng.choice([None, "margin"]),
        "method": str(rng.choice(["coordinate", "inertial", "gradient"])),
        "fit_intercept": bool(rng.choice([False, True])),
        "max_iter": 20,
        "random_state": 0,
    }
    given = None if case.traits["weights"] == "none" else weight
    if case.traits["storage"] in ("dense", "csr"):
        clf = mp.LinearMarginPathClassifier(**settings).fit(case.numbers[used], y, sample_weight=given)
        numbers = _with_constant(case.numbers[used], clf.constant_)
        gram, exact = mp.Gram.linear(numbers), ExactGram.from_rows(numbers)
    else:
        numbers = np.ascontiguousarray(case.numbers[np.ix_(used, used)])
        free = settings["method"] == "coordinate" and settings["stopping"] is None  # no constant is needed
        settings["fit_intercept"] &= free
        clf = mp.MarginPathClassifier(kernel="precomputed", **settings).fit(numbers, y, sample_weight=given)
        gram, exact = mp.Gram.from_matrix(numbers), ExactGram.from_matrix(numbers)
    truth = None if clf.fit_intercept else case.truths[0]
    intercept = clf.fit_intercept and clf.constant_ == 0
    problem = mp.Problem(gram, y, given, intercept=intercept)
    return Case(problem, exact, numbers, [y.tolist()], weight.tolist(), [truth], case.traits, intercept), clf


def classifier_claims(case: Case, clf) -> Iterator[Claim]:
    """Yield what a fitted classifier says; it names no u, so one that is near the solution goes before."""
    if case.intercept:
        u, source = mp.run(mp.SolutionPath(ratio=10.0), case.problem, 9).last.u, "SolutionPath"
    else:
        u, source = mp.maximum_margin(case.problem).u, "maximum_margin"
    yield from bounds_of(case, u, {"u": source})
    for claim in _by_column(
        {"claim": "margin_bounds_", "u": f"classifier, {clf.method}"}, *clf.margin_bounds_
    ):
        yield replace(claim, status="inseparable" if clf.separable_ is False else None)


def _with_constant(X, square):
    """Append the constant feature of a linear classifier."""
    if not square:
        return X
    column = np.full((X.shape[0], 1), square**0.5, dtype=X.dtype)
    return sp.hstack([X, column], format="csr") if sp.issparse(X) else np.hstack([X, column])


def _by_column(traits, lower, upper, u=None) -> Iterator[Claim]:
    """Yield a claim for each column; a u that overflowed is none."""
    lower, upper = (np.asarray(x, dtype=np.float64).ravel().tolist() for x in (lower, upper))
    U = np.full((len(lower), 1), np.nan) if u is None else np.asarray(u).reshape(len(u), -1).T
    for j, (low, high, column) in enumerate(zip(lower, upper, U, strict=True)):
        yield Claim(traits, j, low, high, column.tolist() if np.all(np.isfinite(column)) else None)


def _solver(case: Case, rng):
    """Draw a solver, its settings in the scale of the data, and say which."""
    size = float(np.max(np.asarray(case.problem.gram.diagonal, dtype=np.float64)))
    λ0 = float(np.clip((size or 1.0) * 10.0 ** rng.uniform(-3, 1), 1e-290, 1e290))
    schedules = [mp.PowerDecay(λ0), mp.LogDecay(λ0), mp.GeometricDecay(λ0, 2.0), mp.Constant(λ0)]
    schedule = schedules[rng.integers(len(schedules))]
    descent = mp.DualDescent(schedule, [None, mp.Inertia(3), mp.GradientRestart()][rng.integers(3)])
    scheduled = {"CoordinateDescent": mp.CoordinateDescent(schedule), "DualDescent": descent}
    if hasattr(case.problem.gram, "K"):
        scheduled["Screened"] = mp.experimental.Screened(
            mp.DualDescent(schedule, descent.momentum and mp.Inertia(3))
        )
    if rng.random() < 0.5:
        name = str(rng.choice(list(scheduled)))
        return scheduled[name], {"u": name, "schedule": type(schedule).__name__}
    own = {
        f"CoordinateDescent, ratio {ratio}": mp.CoordinateDescent(ratio=ratio)
        for ratio in (1.1, 1.5, 2.0, 3.0)
    }
    smooth = bool(rng.random() < 0.5)
    rivals = [mp.Perceptron(smooth), mp.MirrorDescent(smooth), mp.NormalizedGradient(), mp.GradientDescent()]
    rivals += [mp.Pegasos(λ0), mp.Subgradient(), mp.HomotopicSubgradient()]
    own |= {type(rival).__name__: rival for rival in rivals}
    name = str(rng.choice(list(own)))
    return own[name], {"u": name}
