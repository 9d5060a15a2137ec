"""Algorithm 2 without an α to choose: adaptive restart against fixed α, and how fast all of them are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import marginpath as mp
from marginpath import theory
from marginpath.momentum import FunctionRestart, GradientRestart

from .drawing import picture_files
from .problems import PROBLEMS, random_problem
from .restart_page import markdown, printed, rows_csv
from .restart_picture import draw
from .trajectories import FLOOR, Law, fitted_law

__all__ = ["METHODS", "SUITE", "Known", "Row", "Table", "compute", "draw", "files", "printed"]

STEPS = 15_000
TARGET = 1e-8
_END = 1e-9  # relative width of the certified interval at which a run ends
_DRAWS = 1_000  # sets of samples for a bound on Hoffman's constant where it cannot be computed

#: name → momentum.
METHODS: dict[str, Any] = {
    "Algorithm 1": None,
    "α = 3": mp.Inertia(3),
    "α = 10": mp.Inertia(10),
    "α = 30": mp.Inertia(30),
    "α = 50": mp.Inertia(50),
    "gradient restart": GradientRestart(),
    "function restart": FunctionRestart(),
}
FIXED = ("α = 3", "α = 10", "α = 30", "α = 50")
RESTARTS = ("gradient restart", "function restart")


def digits_problem(kernel: Any) -> mp.Problem:
    """Return the digits 3 and 5 that ship with scikit-learn, pixels between 0 and 1."""
    from sklearn.datasets import load_digits

    data = load_digits()
    chosen = np.isin(data.target, (3, 5))
    y = np.where(data.target[chosen] == 3, 1, -1)
    return mp.Problem(mp.Gram.from_kernel(data.data[chosen] / 16, kernel), y)


def iris_problem() -> mp.Problem:
    """Return setosa against the other irises, with a constant feature."""
    from sklearn.datasets import load_iris

    data = load_iris()
    X = np.column_stack([data.data, np.ones(len(data.data))])
    return mp.Problem(mp.Gram.linear(X), np.where(data.target == 0, 1, -1))


#: name → title and maker: the separable problems.
SUITE: dict[str, tuple[str, Callable[[], mp.Problem]]] = {
    **PROBLEMS,
    "wide": ("Random samples, $n$ = 60, $d$ = 80", lambda: random_problem(60, 80, 1)),
    "tall": ("Random samples, $n$ = 200, $d$ = 20", lambda: random_problem(200, 20, 2)),
    "iris": ("Iris, setosa, $n$ = 150, $d$ = 5", iris_problem),
    "digits": ("Digits 3 and 5, linear, $n$ = 365", lambda: digits_problem(mp.Linear())),
    "digits, kernel": ("Digits 3 and 5, Gaussian kernel", lambda: digits_problem(mp.Gaussian(sigma=2.0))),
}


@dataclass(frozen=True, eq=False)
class Known:
    """A problem with its maximum margin, and what Theorem 1 proves of an update.

    Attributes
    ----------
    slow : float
        1 − √(1 − ρ): an update of Algorithm 1 shrinks the bound by this share.
    proved : bool
        Whether ``slow`` is the proved number; if not, Hoffman's constant is known from below only, and the
        proved number is at most ``slow``.
    """

    name: str
    title: str
    problem: mp.Problem
    margin: float
    slow: float
    proved: bool


@dataclass(frozen=True, eq=False)
class Row:
    """What a method did on a problem.

    Attributes
    ----------
    certified : int, optional
        The first update whose certified interval is narrower than the target, relative to its upper end.
    law : Law, optional
        The fitted rate of the margin gap.
    gaps : array
        The margin gap after every update.
    """

    problem: str
    method: str
    certified: int | None
    law: Law | None
    gaps: np.ndarray


@dataclass(frozen=True, eq=False)
class Table:
    """A row for every method on every problem."""

    problems: tuple[Known, ...]
    rows: list[Row] = field(default_factory=list)

    def row(self, problem: str, method: str) -> Row:
        """Return that row."""
        return next(row for row in self.rows if (row.problem, row.method) == (problem, method))

    def best_fixed(self, problem: str) -> Row:
        """Return the row of the fixed α that is certified first."""
        rows = [self.row(problem, method) for method in FIXED]
        return min(rows, key=lambda row: np.inf if row.certified is None else row.certified)

    def ratio(self, problem: str, method: str = RESTARTS[0]) -> float:
        """Return the updates of a restart scheme over those of the best fixed α."""
        ours, best = self.row(problem, method).certified, self.best_fixed(problem).certified
        return np.inf if ours is None else np.nan if best is None else ours / best


def compute(
    problems: Sequence[str] = tuple(SUITE),
    steps: int = STEPS,
    watch: Callable[[str], Any] = lambda text: None,
) -> Table:
    """Run all methods on all problems."""
    with threadpool_limits(1, user_api="blas"):
        known = []
        for name in problems:
            watch(f"{name}: maximum margin and constants")
            known.append(_known(name))
        table = Table(tuple(known))
        for one in known:
            for method, momentum in METHODS.items():
                watch(f"{one.name}: {method}")
                table.rows.append(_measure(one, method, momentum, steps))
    return table


def files(table: Table) -> dict[str, bytes]:
    """Return tables, pieces of a page and the picture, by name of file."""
    text = {"restart.csv": rows_csv(table), "restart.md": markdown(table)}
    return {name: content.encode() for name, content in text.items()} | picture_files(draw(table), "restart")


def _known(name: str) -> Known:
    title, make = SUITE[name]
    problem = make()
    found = mp.maximum_margin(problem, tol=1e-12)
    proved = True
    try:
        constants = theory.constants(problem, solution=found.u)
    except ValueError:
        proved = False
        τ = theory.hoffman_lower_bound(problem, _DRAWS)
        constants = theory.constants(problem, solution=found.u, tau=τ)
    rate = theory.Theorem1(constants, 1 / problem.norm_bounds()[1]).log_factor
    lower, upper = found.margin_bounds
    return Known(name, title, problem, float(lower + upper) / 2, float(-np.expm1(-rate / 2)), proved)


def _measure(known: Known, method: str, momentum: Any, steps: int) -> Row:
    def width(problem: mp.Problem, state: mp.State) -> Any:
        lower, upper = mp.metrics.margin_lower(problem, state), mp.metrics.margin_upper(problem, state)
        return np.where(lower > 0, 1 - lower / upper, np.inf)

    path = mp.run(
        mp.DualDescent(mp.PowerDecay(1.0), momentum),
        known.problem,
        steps,
        observe={"margin": mp.metrics.margin, "width": width},
        stop=lambda problem, state, path: np.asarray(path.rows["width"][-1] <= _END),
        keep=0,
    )
    if path.ended is mp.Status.INTERRUPTED:
        raise KeyboardInterrupt
    reached = np.flatnonzero(path["width"] <= TARGET)
    gaps = np.maximum(known.margin - path["margin"], FLOOR)
    return Row(known.name, method, int(reached[0]) if reached.size else None, fitted_law(gaps), gaps)
